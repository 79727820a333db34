/* SPDX-License-Identifier: MIT */
/* measure_rect.c: measuring one rectangle with the loops of an instruction set, and where its
 * extrema first occur. */
#include "cpu/loop_common.h"
#include "cpu/reference.h"

/* Bytes that stay in the nearest caches while several loops read them. Where channels are taken out
 * of more of them: bytes that stay in the next cache, but at least so many pixels. */
enum { BLOCK_BYTES = 1 << 16, SPAN_BYTES = 1 << 18, SPAN_PIXELS = 256 };
enum { FIND_BLOCK = 256 }; /* samples that are searched at once for a key that occurs */

/* Where the blocks of a rectangle are added. */
typedef struct Target {
    const CpuLoops *loops;
    const ImagePro *image;
    CpuCounting counting;
    Tally *tally;
    CpuExtrema *extrema;
    LoopBytes bytes; /* counters of bytes, or */
    LoopWords words; /* of words or leading bits */
    LoopChoice *choice;
    unsigned char *planar; /* a chunk of samples of one channel */
    uint16_t *leading;     /* leading bits of a chunk */
} Target;

/* ---- Where extrema first occur ---- */

/* Returns the raster index of pixel i of a block. */
static uint64_t place(const CpuBlock *block, size_t i)
{
    if (block->gap == 0 || i < block->left)
        return block->at + i;
    return block->at + i + ((i - block->left) / block->width + 1) * block->gap;
}

/* Returns pixels [i, i + n) of a block. */
static CpuBlock block_part(const CpuBlock *block, size_t i, size_t n, size_t pixel_bytes)
{
    CpuBlock part = *block;
    part.pixels += i * pixel_bytes;
    part.mask = block->mask ? block->mask + i : NULL;
    part.at = place(block, i);
    part.n = n;
    if (block->gap)
        part.left = i < block->left ? block->left - (uint32_t)i
                                    : block->width - (uint32_t)((i - block->left) % block->width);
    return part;
}

/* Returns the index of the first of n bytes, `stride` apart, that equals `byte` and is not masked;
 * n if none does. */
static size_t find_byte(const unsigned char *at, size_t n, size_t stride, const uint8_t *mask,
                        unsigned char byte)
{
    size_t i = 0;
    if (stride == 1 && !mask) {
        const unsigned char *const found = memchr(at, byte, n);
        return found ? (size_t)(found - at) : n;
    }
    while (i < n && (at[i * stride] != byte || (mask && !mask[i])))
        i++;
    return i;
}

/* Returns how many of the first samples at x, n at most, can be skipped because they do not have
 * this key. */
static size_t skip_words(ImgstatSample sample, const Mem16 *x, size_t n, uint64_t key)
{
    const uint16_t word = (uint16_t)sample_raw(sample, key);
    /* -0 has the key of +0 */
    const uint16_t care = sample == IMGSTAT_F16 && word == 0 ? 0x7FFF : 0xFFFF;
    size_t done = 0;
    for (; n - done >= FIND_BLOCK; done += FIND_BLOCK) {
        uint16_t found = 0;
        for (size_t i = 0; i < FIND_BLOCK; i++)
            found |= ((x[done + i] ^ word) & care) == 0;
        if (found)
            break;
    }
    return done;
}

/* Returns the raster index of the first sample of the block with this key, which occurs. */
static uint64_t find(const ImagePro *image, const CpuBlock *block, uint16_t channel, uint64_t key)
{
    const size_t bytes = sample_bits(image->sample) / 8, stride = bytes * image->channels;
    const unsigned char *const at = block->pixels + channel * bytes;
    const size_t last = block->n - 1;
    size_t i = 0;
    if (bytes == 1)
        return place(block, find_byte(at, block->n, stride, block->mask,
                                      (unsigned char)sample_raw(image->sample, key)));
    while (i < last) {
        if (bytes == 2)
            i += skip_words(image->sample, (const Mem16 *)(const void *)(at + i * stride),
                            (last - i) * image->channels, key) /
                 image->channels;
        const size_t end = i + least(last - i, FIND_BLOCK);
        for (; i < end; i++)
            if (sample_key(image->sample, load_raw(at + i * stride, bytes)) == key &&
                (!block->mask || block->mask[i]))
                return place(block, i);
    }
    return place(block, i);
}

void extrema_begin(CpuExtrema *extrema, uint16_t channels)
{
    for (uint16_t c = 0; c < channels; c++)
        extrema[c] = (CpuExtrema){.min = UINT64_MAX};
}

/* Adds the extrema of a channel in a block; min > max if no sample is valid. Blocks come in raster
 * order, so only a better value changes a position. */
static void extrema_add(CpuExtrema *extrema, const CpuBlock *block, uint64_t min, uint64_t max)
{
    if (min > max)
        return;
    if (extrema->min_block.n == 0 || min < extrema->min) {
        extrema->min = min;
        extrema->min_block = *block;
    }
    if (extrema->max_block.n == 0 || max > extrema->max) {
        extrema->max = max;
        extrema->max_block = *block;
    }
}

void extrema_end(CpuExtrema *extrema, const ImagePro *image, Tally *tally)
{
    for (uint16_t c = 0; c < image->channels; c++, extrema++, tally++) {
        const uint64_t min = extrema->min, max = extrema->max;
        if (extrema->max_block.n == 0)
            continue;
        if (min < tally->min_key ||
            (min == tally->min_key && extrema->min_block.at < tally->min_at)) {
            const uint64_t at = find(image, &extrema->min_block, c, min);
            tally->min_at = min < tally->min_key || at < tally->min_at ? at : tally->min_at;
            tally->min_key = min;
        }
        if (max > tally->max_key ||
            (max == tally->max_key && extrema->max_block.at < tally->max_at)) {
            const uint64_t at = find(image, &extrema->max_block, c, max);
            tally->max_at = max > tally->max_key || at < tally->max_at ? at : tally->max_at;
            tally->max_key = max;
        }
        extrema_begin(extrema, 1);
    }
}

/* ---- Blocks of a rectangle ---- */

static void add_sums32(Tally *tally, const LoopSums *part)
{
    const uint64_t negative = (uint64_t)((int64_t)part->sum >> 63);
    uint64_t before = tally->sum[0];
    tally->sum[0] += part->sum;
    tally->sum[1] += negative + (tally->sum[0] < before);

    const unsigned __int128 square = ((unsigned __int128)part->high << 32) + part->low;
    const unsigned __int128 sum2 =
        (((unsigned __int128)tally->sum2[1] << 64) | tally->sum2[0]) + square;
    tally->sum2[0] = (uint64_t)sum2;
    tally->sum2[1] = (uint64_t)(sum2 >> 64);
    tally->sum2[2] += sum2 < square;
}

/* Computes sums and extrema of every `stride`th of the n 64-bit integers at x. */
static void sums64(bool is_signed, const unsigned char *x, size_t n, size_t stride, Tally *tally,
                   uint64_t *min, uint64_t *max)
{
    unsigned __int128 sum = ((unsigned __int128)tally->sum[1] << 64) | tally->sum[0];
    unsigned __int128 sum2 = ((unsigned __int128)tally->sum2[1] << 64) | tally->sum2[0];
    uint64_t carries = 0, lo = UINT64_MAX, hi = 0;
    const uint64_t flip = is_signed ? (uint64_t)1 << 63 : 0;
    for (size_t i = 0; i < n; i += stride, x += stride * sizeof(uint64_t)) {
        uint64_t raw;
        memcpy(&raw, x, sizeof raw);
        const uint64_t sign = is_signed ? (uint64_t)((int64_t)raw >> 63) : 0, key = raw ^ flip;
        const uint64_t size = (raw ^ sign) - sign;
        const unsigned __int128 square = (unsigned __int128)size * size;
        sum += ((unsigned __int128)sign << 64) | raw;
        sum2 += square;
        carries += sum2 < square;
        lo = key < lo ? key : lo;
        hi = key > hi ? key : hi;
    }
    tally->sum[0] = (uint64_t)sum;
    tally->sum[1] = (uint64_t)(sum >> 64);
    tally->sum2[0] = (uint64_t)sum2;
    tally->sum2[1] = (uint64_t)(sum2 >> 64);
    tally->sum2[2] += carries;
    *min = lo;
    *max = hi;
}

/* Counts n interleaved samples that begin with channel `first`. */
static void count(const Target *to, const unsigned char *x, size_t n, unsigned channels,
                  uint16_t first)
{
    LoopBytes bytes = to->bytes;
    LoopWords words = to->words;
    switch (to->counting) {
    case COUNT_NOTHING:
    case COUNT_EXTREMA:
        return;
    case COUNT_BYTES:
    case COUNT_PAIRS:
        bytes.bytes += first * (size_t)BYTE_COUNTERS;
        to->loops->count_bytes(x, n, channels, &bytes, to->choice);
        return;
    default:
        words.wide += first * (size_t)COUNTERS32_STRIDE;
        words.low += first * (size_t)COUNTERS8_TABLES * COUNTERS8_STRIDE;
        if (to->counting == COUNT_LEADING) {
            to->loops->leading(to->image->sample, x, n, to->leading);
            x = (const unsigned char *)to->leading;
        }
        to->loops->count_words(x, n, channels, &words, to->choice);
    }
}

/* Adds n integers or narrow samples at x, taken from the block: `channels` interleaved channels
 * from `first` on. All are unmasked and, of wide types, valid. */
static void add_block(const Target *to, const CpuBlock *block, const unsigned char *x, size_t n,
                      unsigned channels, uint16_t first)
{
    const ImagePro *image = to->image;
    uint64_t min[LOOP_CHANNELS], max[LOOP_CHANNELS];
    if (n == 0)
        return;
    for (unsigned c = 0; c < channels; c++)
        to->tally[first + c].n += n / channels;
    if (sample_is_narrow(image->sample)) {
        to->loops->extrema(image->sample, x, n, channels,
                           image->has_nodata ? &image->nodata_key : NULL, min, max);
    } else if (sample_bits(image->sample) == 32) {
        LoopSums sums[LOOP_CHANNELS];
        to->loops->sums32(image->sample, x, n, channels, sums);
        for (unsigned c = 0; c < channels; c++) {
            add_sums32(&to->tally[first + c], &sums[c]);
            min[c] = sums[c].min;
            max[c] = sums[c].max;
        }
    } else {
        for (unsigned c = 0; c < channels; c++)
            sums64(image->sample == IMGSTAT_I64, x + c * sizeof(uint64_t), n, channels,
                   &to->tally[first + c], &min[c], &max[c]);
    }
    for (unsigned c = 0; c < channels; c++)
        extrema_add(&to->extrema[first + c], block, min[c], max[c]);
    count(to, x, n, channels, first);
}

/* Takes back n counts of the sample at x. Counters are modulo 2^32: others may have what goes. */
static void uncount(const Target *to, const unsigned char *x, uint16_t channel, uint32_t n)
{
    const ImgstatSample sample = to->image->sample;
    const uint64_t raw = load_raw(x, sample_bits(sample) / 8);
    if (to->counting == COUNT_BYTES || to->counting == COUNT_PAIRS)
        to->bytes.bytes[channel * (size_t)BYTE_COUNTERS + raw] -= n;
    if (to->counting == COUNT_WORDS)
        to->words.wide[channel * (size_t)COUNTERS32_STRIDE + raw] -= n;
    if (to->counting == COUNT_LEADING)
        to->words.wide[channel * (size_t)COUNTERS32_STRIDE +
                       (sample_key(sample, raw) >> (sample_bits(sample) - 16))] -= n;
}

typedef struct Packing {
    const Target *to;
    const CpuBlock *block;
    uint16_t channel;
    size_t *valid; /* how many are packed */
} Packing;

FORCE_INLINE void pack_of(ImgstatSample sample, const Packing *p, const uint8_t *mask)
{
    const ImagePro *const image = p->to->image;
    const size_t bytes = sample_bits(sample) / 8, stride = bytes * image->channels;
    const unsigned char *const from = p->block->pixels + p->channel * bytes;
    unsigned char *const into = p->to->planar;
    const bool has_nodata = image->has_nodata;
    const uint64_t nodata = image->nodata_key;
    Tally *const tally = &p->to->tally[p->channel];
    size_t n = 0, masked = 0;
    for (size_t i = 0; i < p->block->n; i++) {
        const uint64_t raw = load_raw(from + i * stride, bytes);
        const bool in = !mask || mask[i];
        store_raw(into + n * bytes, bytes, raw);
        n += in & !(has_nodata & (sample_key(sample, raw) == nodata));
        masked += !in;
    }
    tally->masked += masked;
    tally->nodata += p->block->n - masked - n;
    *p->valid = n;
}

FORCE_INLINE void pack_call(ImgstatSample sample, const void *call)
{
    const Packing *const p = call;
    if (p->block->mask)
        pack_of(sample, p, p->block->mask);
    else
        pack_of(sample, p, NULL);
}

/* Packs the samples of a channel of wide integers that are not masked and not nodata; counts the
 * others. */
static size_t pack(const Target *to, const CpuBlock *block, uint16_t channel)
{
    size_t valid;
    const Packing packing = {to, block, channel, &valid};
    for_wide_sample(to->image->sample, pack_call, &packing);
    return valid;
}

/* Copies `size` bytes of n pixels that are `stride` bytes apart, pixel `other` in the place of
 * those that are masked. Where that cannot read beyond the last pixel it copies `bytes`, a number
 * that compilers know; the next copy covers what is too much. */
FORCE_INLINE void take_bytes(const unsigned char *from, size_t n, size_t stride, size_t size,
                             size_t bytes, const uint8_t *mask, size_t other, unsigned char *into)
{
    const size_t quick = other + LOOP_CHANNELS < n ? n - LOOP_CHANNELS : 0;
    size_t i = 0;
    for (; !mask && i < quick; i++)
        memcpy(into + i * size, from + i * stride, bytes);
    for (; i < quick; i++)
        memcpy(into + i * size, from + (mask[i] ? i : other) * stride, bytes);
    for (; i < n; i++)
        memcpy(into + i * size, from + (!mask || mask[i] ? i : other) * stride, size);
}

/* Returns the samples of `across` <= LOOP_CHANNELS channels of a block, from `first` on; a copy
 * where there are others, or a mask: pixel `other` in the place of those that are masked. */
static const unsigned char *take(const Target *to, const CpuBlock *block, uint16_t first,
                                 unsigned across, const uint8_t *mask, size_t other)
{
    const size_t bytes = sample_bits(to->image->sample) / 8, stride = bytes * to->image->channels;
    const unsigned char *const from = block->pixels + first * bytes;
    if (across == to->image->channels && !mask)
        return from;
    const size_t size = across * bytes, n = block->n;
    switch (bytes) {
    case 1:
        take_bytes(from, n, stride, size, LOOP_CHANNELS, mask, other, to->planar);
        break;
    case 2:
        take_bytes(from, n, stride, size, 2 * LOOP_CHANNELS, mask, other, to->planar);
        break;
    case 4:
        take_bytes(from, n, stride, size, 4 * LOOP_CHANNELS, mask, other, to->planar);
        break;
    default:
        take_bytes(from, n, stride, size, 8 * LOOP_CHANNELS, mask, other, to->planar);
    }
    return to->planar;
}

/* Adds channels of a block. Of narrow types samples may be masked: pixel `other`, which is not,
 * takes their place, and is taken back. */
static void add_channels(const Target *to, const CpuBlock *block, uint16_t first, unsigned across,
                         uint32_t masked, size_t other)
{
    const size_t bytes = sample_bits(to->image->sample) / 8, stride = bytes * to->image->channels;
    if (masked < block->n)
        add_block(to, block, take(to, block, first, across, masked ? block->mask : NULL, other),
                  block->n * across, across, first);
    for (uint16_t c = first; masked > 0 && c < first + across; c++) {
        to->tally[c].masked += masked;
        if (masked == block->n)
            continue;
        to->tally[c].n -= masked;
        uncount(to, block->pixels + other * stride + c * bytes, c, masked);
    }
}

static void add_integers(const Target *to, const CpuBlock *block)
{
    const ImagePro *image = to->image;
    const size_t bytes = sample_bits(image->sample) / 8, stride = bytes * image->channels;
    const bool narrow = sample_is_narrow(image->sample);
    const bool whole = narrow || (!block->mask && !image->has_nodata);
    const size_t across = whole ? least(image->channels, LOOP_CHANNELS) : 1;
    const size_t span = SPAN_BYTES / stride > SPAN_PIXELS ? SPAN_BYTES / stride : SPAN_PIXELS;
    const size_t step = least(BLOCK_BYTES / bytes / across, span);
    for (size_t i = 0, n; i < block->n; i += n) {
        n = least(block->n - i, step);
        const CpuBlock part = block_part(block, i, n, stride);
        uint32_t masked = 0;
        size_t other = 0; /* the first pixel that is not masked, or n */
        if (narrow && part.mask)
            for (size_t k = 0; k < n; k++)
                masked += part.mask[k] == 0;
        while (masked > 0 && other < n && part.mask[other] == 0)
            other++;
        for (unsigned c = 0, m; c < image->channels; c += m) {
            m = (unsigned)least(image->channels - c, across);
            if (whole)
                add_channels(to, &part, (uint16_t)c, m, masked, other);
            else
                add_block(to, &part, to->planar, pack(to, &part, (uint16_t)c), 1, (uint16_t)c);
        }
    }
}

/* Adds a piece with samples that are not valid. They take the pivot's place: distances of +0 add
 * nothing. */
static void add_mixed_piece(const Target *to, const CpuBlock *block, uint16_t channel)
{
    const ImagePro *image = to->image;
    Tally *tally = &to->tally[channel];
    LoopGaps gaps;
    LoopPiece piece;
    to->loops->fill(image->sample, take(to, block, channel, 1, NULL, 0), block->n, block->mask,
                    image->has_nodata ? &image->nodata_key : NULL, to->planar, &gaps);
    tally->masked += gaps.masked;
    tally->nodata += gaps.nodata;
    tally->pinf += gaps.pinf;
    tally->ninf += gaps.ninf;
    tally->nan += gaps.nan;
    if (gaps.valid == 0)
        return;
    tally->n += gaps.valid;
    to->loops->piece(image->sample, to->planar, block->n, 1, NULL, &piece);
    piece_add(tally, gaps.valid, piece.pivot, piece.d, piece.q);
    extrema_add(&to->extrema[channel], block, piece.min, piece.max);
    count(to, to->planar, block->n, 1, channel);
    uncount(to, to->planar, channel, (uint32_t)block->n - gaps.valid);
}

static void add_floats(const Target *to, const CpuBlock *block)
{
    const ImagePro *image = to->image;
    const size_t stride = sample_bits(image->sample) / 8 * image->channels;
    const uint64_t *nodata = image->has_nodata ? &image->nodata_key : NULL;
    LoopPiece piece[LOOP_CHANNELS];
    for (size_t i = 0, n; i < block->n; i += n) {
        n = least(block->n - i, PIECE);
        const CpuBlock part = block_part(block, i, n, stride);
        const bool masked = part.mask && memchr(part.mask, 0, n);
        for (unsigned c = 0, m; c < image->channels; c += m) {
            m = (unsigned)least(image->channels - c, LOOP_CHANNELS);
            const unsigned char *const x = masked ? NULL : take(to, &part, (uint16_t)c, m, NULL, 0);
            const bool whole =
                !masked && to->loops->piece(image->sample, x, n * m, m, nodata, piece);
            for (unsigned k = 0; k < m; k++) {
                if (!whole) {
                    add_mixed_piece(to, &part, (uint16_t)(c + k));
                    continue;
                }
                to->tally[c + k].n += n;
                piece_add(&to->tally[c + k], (uint32_t)n, piece[k].pivot, piece[k].d, piece[k].q);
                extrema_add(&to->extrema[c + k], &part, piece[k].min, piece[k].max);
            }
            if (whole)
                count(to, x, n * m, m, (uint16_t)c);
        }
    }
}

void cpu_measure_rect(const CpuLoops *loops, CpuThread *thread, const CpuRect *rect,
                      CpuCounting counting)
{
    const ImagePro *image = rect->image;
    const size_t bytes = sample_bits(image->sample) / 8, stride = bytes * image->channels;
    const bool floats = sample_is_float(image->sample) && !sample_is_narrow(image->sample);
    const uint32_t width = rect->x1 - rect->x0;
    unsigned char *const scratch = thread->scratch;
    const bool packed = !image->mask && image->pitch == width * stride;
    Target to = {.loops = loops,
                 .image = image,
                 .counting = counting,
                 .tally = thread->tally,
                 .extrema = thread->extrema,
                 .choice = &thread->choice,
                 .planar = scratch,
                 .leading = (uint16_t *)(void *)(scratch + CPU_SCRATCH / 4)};
    if (counting == COUNT_BYTES || counting == COUNT_PAIRS)
        to.bytes = cpu_byte_counters(thread->counts, image->channels, counting);
    if (counting == COUNT_WORDS || counting == COUNT_LEADING)
        to.words = cpu_word_counters(thread->counts, image->channels);
    /* Rows without gaps are one. */
    const uint32_t rows = packed && !floats ? rect->y1 - rect->y0 : 1;
    for (uint32_t y = rect->y0; y < rect->y1; y += rows) {
        const uint8_t *mask = mask_row(image, y);
        const CpuBlock block = {.pixels = image_row(image, y) + rect->x0 * stride,
                                .mask = mask ? mask + rect->x0 : NULL,
                                .at = ((uint64_t)image->first_row + y) * image->width + rect->left +
                                      rect->x0,
                                .n = (size_t)rows * width,
                                .gap = rows > 1 ? image->width - width : 0,
                                .left = width,
                                .width = width};
        if (floats)
            add_floats(&to, &block);
        else
            add_integers(&to, &block);
    }
}
