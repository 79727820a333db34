/* SPDX-License-Identifier: MIT */
/* measure_rect.c: measuring one rectangle with the loops of an instruction set, and where its
 * extrema first occur. */
#include "cpu/loop_common.h"
#include "cpu/reference.h"

/* Bytes that stay in the nearest caches while several loops read them. */
enum { BLOCK_BYTES = 1 << 16 };
/* Samples that are searched at once for a key that occurs. */
enum { FIND_BLOCK = 256 };

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

/* Packs the samples of a channel that are not masked and, of wide types, not nodata; counts the
 * others. */
static size_t pack(const Target *to, const CpuBlock *block, uint16_t channel)
{
    const ImagePro *image = to->image;
    const size_t bytes = sample_bits(image->sample) / 8, stride = bytes * image->channels;
    const bool nodata = image->has_nodata && !sample_is_narrow(image->sample);
    const unsigned char *from = block->pixels + channel * bytes;
    unsigned char *into = to->planar;
    Tally *tally = &to->tally[channel];
    size_t n = 0;
    for (size_t i = 0; i < block->n; i++, from += stride) {
        const bool masked = block->mask && !block->mask[i];
        const uint64_t raw = load_raw(from, bytes);
        const bool empty = nodata && !masked && sample_key(image->sample, raw) == image->nodata_key;
        switch (bytes) { /* sizes that compilers know */
        case 1:
            into[n] = *from;
            break;
        case 2:
            memcpy(into + 2 * n, from, 2);
            break;
        case 4:
            memcpy(into + 4 * n, from, 4);
            break;
        default:
            memcpy(into + 8 * n, from, 8);
        }
        n += !masked && !empty;
        tally->masked += masked;
        tally->nodata += empty;
    }
    return n;
}

static void add_integers(const Target *to, const CpuBlock *block)
{
    const ImagePro *image = to->image;
    const size_t bytes = sample_bits(image->sample) / 8;
    const bool whole = image->channels <= LOOP_CHANNELS && !block->mask &&
                       (sample_is_narrow(image->sample) || !image->has_nodata);
    const size_t across = whole ? image->channels : 1;
    const size_t step = BLOCK_BYTES / bytes / across;
    for (size_t i = 0, n; i < block->n; i += n) {
        n = least(block->n - i, step);
        const CpuBlock part = block_part(block, i, n, bytes * image->channels);
        if (whole) {
            add_block(to, &part, part.pixels, n * image->channels, image->channels, 0);
            continue;
        }
        for (uint16_t c = 0; c < image->channels; c++)
            add_block(to, &part, to->planar, pack(to, &part, c), 1, c);
    }
}

/* Adds a piece with samples that are not valid. They take the pivot's place: distances of +0 add
 * nothing. */
static void add_mixed_piece(const Target *to, const CpuBlock *block, uint16_t channel)
{
    const ImagePro *image = to->image;
    const ImgstatSample sample = image->sample;
    const size_t bytes = sample_bits(sample) / 8, stride = bytes * image->channels;
    const unsigned char *at = block->pixels + channel * bytes;
    const uint64_t ninf = sample_key_infinity(sample, true),
                   pinf = sample_key_infinity(sample, false);
    Tally *tally = &to->tally[channel];
    uint64_t min = UINT64_MAX, max = 0, pivot_raw = 0;
    uint32_t valid = 0;

    for (size_t i = 0; i < block->n; i++, at += stride) {
        const uint64_t raw = load_raw(at, bytes), key = sample_key(sample, raw);
        uint64_t put = pivot_raw;
        if (block->mask && !block->mask[i]) {
            tally->masked++;
        } else if (image->has_nodata && key == image->nodata_key) {
            tally->nodata++;
        } else if (key > ninf && key < pinf) {
            for (size_t k = 0; valid == 0 && k < i; k++) /* samples before the first valid one */
                memcpy(to->planar + k * bytes, at, bytes);
            pivot_raw = put = valid++ == 0 ? raw : put;
            put = raw;
            min = key < min ? key : min;
            max = key > max ? key : max;
            if (to->counting == COUNT_LEADING)
                to->words.wide[channel * (size_t)COUNTERS32_STRIDE + (key >> (8 * bytes - 16))]++;
        } else if (key == pinf) {
            tally->pinf++;
        } else if (key == ninf) {
            tally->ninf++;
        } else {
            tally->nan++;
        }
        store_raw(to->planar + i * bytes, bytes, put);
    }
    if (valid == 0)
        return;
    LoopPiece piece;
    tally->n += valid;
    to->loops->piece(sample, to->planar, block->n, 1, NULL, &piece);
    piece_add(tally, valid, piece.pivot, piece.d, piece.q);
    extrema_add(&to->extrema[channel], block, min, max);
}

static void add_floats(const Target *to, const CpuBlock *block)
{
    const ImagePro *image = to->image;
    const size_t bytes = sample_bits(image->sample) / 8, channels = image->channels;
    const uint64_t *nodata = image->has_nodata ? &image->nodata_key : NULL;
    LoopPiece piece[LOOP_CHANNELS];
    for (size_t i = 0, n; i < block->n; i += n) {
        n = block->n - i < PIECE ? block->n - i : PIECE;
        const CpuBlock part = block_part(block, i, n, bytes * channels);
        const bool whole = channels <= LOOP_CHANNELS && !block->mask &&
                           to->loops->piece(image->sample, part.pixels, n * channels,
                                            (unsigned)channels, nodata, piece);
        for (uint16_t c = 0; c < channels; c++) {
            if (!whole) {
                add_mixed_piece(to, &part, c);
                continue;
            }
            to->tally[c].n += n;
            piece_add(&to->tally[c], (uint32_t)n, piece[c].pivot, piece[c].d, piece[c].q);
            extrema_add(&to->extrema[c], &part, piece[c].min, piece[c].max);
        }
        if (whole)
            count(to, part.pixels, n * channels, (unsigned)channels, 0);
    }
}

void cpu_measure_rect(const CpuLoops *loops, CpuThread *thread, const CpuRect *rect,
                      CpuCounting counting)
{
    const ImagePro *image = rect->image;
    const size_t bytes = sample_bits(image->sample) / 8, stride = bytes * image->channels;
    const bool floats = sample_is_float(image->sample) && !sample_is_narrow(image->sample);
    const uint32_t width = rect->x1 - rect->x0;
    const bool packed = !image->mask && image->pitch == width * stride;
    unsigned char *const scratch = thread->scratch;
    const bool in_words = counting == COUNT_WORDS || counting == COUNT_LEADING;
    const bool in_bytes = counting == COUNT_BYTES || counting == COUNT_PAIRS;
    Target to = {.loops = loops,
                 .image = image,
                 .counting = counting,
                 .tally = thread->tally,
                 .extrema = thread->extrema,
                 .choice = &thread->choice,
                 .planar = scratch,
                 .leading = (uint16_t *)(void *)(scratch + CPU_SCRATCH / 4)};
    if (in_bytes)
        to.bytes = cpu_byte_counters(thread->counts, image->channels, counting);
    if (in_words)
        to.words = cpu_word_counters(thread->counts, image->channels);
    const uint32_t rows =
        packed && !floats ? rect->y1 - rect->y0 : 1; /* rows without gaps are one */
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
