/* SPDX-License-Identifier: MIT */
/* measure_rect.c: measuring one rectangle with the loops of an instruction set. */
#include "cpu/count_summed.h"
#include "cpu/loop_common.h"
#include "cpu/reference.h"

/* Bytes that stay in the nearest caches while several loops read them. */
enum { CHUNK_BYTES = 1 << 16 };
/* Samples that are looked through at once for one that is there. */
enum { FIND_BLOCK = 256 };
/* Smaller images do not earn the emptying of tables of pairs. */
enum { PAIRS_FROM = 1 << 20 };

/* Words that a table of pairs takes, with the wide one. */
static const size_t PAIR_COUNTERS = LOOP_TABLE + LOOP_LOW / sizeof(uint32_t);
/* The same of a channel of words. */
static const size_t WORD_COUNTERS =
    LOOP_TABLE + LOOP_LOW_TABLES * (LOOP_LOW / sizeof(uint32_t)) + LOOP_SUMS_ROW;

/* What a rectangle's chunks are added to. */
typedef struct Target {
    const CpuLoops *loops;
    const ImagePro *image;
    CpuCounting counting;
    Tally *tally;
    CpuExtrema *extrema;
    LoopBytes bytes; /* counters of bytes, or */
    LoopWords words; /* of words or leading bits */
    LoopChoice *choice;
    unsigned char *planar; /* samples of one channel: a chunk */
    uint16_t *leading;     /* of a chunk */
} Target;

CpuCounting cpu_counting(const ImagePro *image, bool bins)
{
    const uint64_t samples = (uint64_t)image->width * image->height * image->channels;
    if (!bins)
        return COUNT_NOTHING;
    if (!sample_is_narrow(image->sample))
        return COUNT_LEADING;
    if (sample_bits(image->sample) == 16)
        return COUNT_WORDS;
    return image->channels <= LOOP_CHANNELS && !image->mask && samples >= PAIRS_FROM ? COUNT_PAIRS
                                                                                     : COUNT_BYTES;
}

size_t cpu_counters(const ImagePro *image, CpuCounting counting)
{
    const size_t channels = image->channels;
    switch (counting) {
    case COUNT_NOTHING:
        return 0;
    case COUNT_BYTES:
        return channels * LOOP_BYTES;
    case COUNT_PAIRS:
        return channels * LOOP_BYTES + loop_pair_tables(image->channels) * PAIR_COUNTERS;
    default:
        return channels * WORD_COUNTERS;
    }
}

LoopBytes cpu_byte_counters(uint32_t *counts, unsigned channels, CpuCounting counting)
{
    uint32_t *const wide = counts + channels * (size_t)LOOP_BYTES;
    if (counting != COUNT_PAIRS)
        return (LoopBytes){.bytes = counts};
    return (LoopBytes){.bytes = counts,
                       .pairs = (uint8_t *)(wide + loop_pair_tables(channels) * (size_t)LOOP_TABLE),
                       .wide = wide};
}

LoopWords cpu_word_counters(uint32_t *counts, unsigned channels)
{
    uint8_t *const low = (uint8_t *)(counts + channels * (size_t)LOOP_TABLE);
    uint8_t *const sums = low + channels * (size_t)LOOP_LOW_TABLES * LOOP_LOW;
    return (LoopWords){.wide = counts, .low = low, .sums = (uint32_t *)(void *)sums};
}

/* The raster index of pixel i of a run. */
static uint64_t place(const CpuRun *run, size_t i)
{
    if (run->gap == 0 || i < run->left)
        return run->at + i;
    return run->at + i + ((i - run->left) / run->width + 1) * run->gap;
}

/* Pixels [i, i + n) of a run. */
static CpuRun part_of(const CpuRun *run, size_t i, size_t n, size_t pixel_bytes)
{
    CpuRun part = *run;
    part.pixels += i * pixel_bytes;
    part.mask = run->mask ? run->mask + i : NULL;
    part.at = place(run, i);
    part.n = n;
    if (run->gap)
        part.left = i < run->left ? run->left - (uint32_t)i
                                  : run->width - (uint32_t)((i - run->left) % run->width);
    return part;
}

/* The first of n bytes, `stride` apart, that is this one and not masked; n if none is. */
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

/* Samples from x on, n at most, none of which has this key; nothing is known of the next ones. */
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

/* The raster index of the first sample of the run with this key; there is one. */
static uint64_t find(const ImagePro *image, const CpuRun *run, uint16_t channel, uint64_t key)
{
    const size_t bytes = sample_bits(image->sample) / 8, stride = bytes * image->channels;
    const unsigned char *const at = run->pixels + channel * bytes;
    const size_t last = run->n - 1;
    size_t i = 0;
    if (bytes == 1)
        return place(run, find_byte(at, run->n, stride, run->mask,
                                    (unsigned char)sample_raw(image->sample, key)));
    while (i < last) {
        if (bytes == 2)
            i += skip_words(image->sample, (const Mem16 *)(const void *)(at + i * stride),
                            (last - i) * image->channels, key) /
                 image->channels;
        const size_t end = i + least(last - i, FIND_BLOCK);
        for (; i < end; i++)
            if (sample_key(image->sample, cpu_load(at + i * stride, bytes)) == key &&
                (!run->mask || run->mask[i]))
                return place(run, i);
    }
    return place(run, i);
}

/* Runs are visited in raster order: only a better value moves a position. */
static void add_min(const Target *to, const CpuRun *run, uint16_t channel, uint64_t min)
{
    CpuExtrema *extrema = &to->extrema[channel];
    if (extrema->min_run.n > 0 && min >= extrema->min)
        return;
    extrema->min = min;
    extrema->min_run = *run;
}

static void add_max(const Target *to, const CpuRun *run, uint16_t channel, uint64_t max)
{
    CpuExtrema *extrema = &to->extrema[channel];
    if (extrema->max_run.n > 0 && max <= extrema->max)
        return;
    extrema->max = max;
    extrema->max_run = *run;
}

static void add_extrema(const Target *to, const CpuRun *run, uint16_t channel, uint64_t min,
                        uint64_t max)
{
    if (min > max)
        return;
    add_min(to, run, channel, min);
    add_max(to, run, channel, max);
}

void cpu_extrema_begin(CpuThread *thread, uint16_t channels)
{
    for (uint16_t c = 0; c < channels; c++)
        thread->extrema[c] = (CpuExtrema){.min = UINT64_MAX};
}

/* Looks the positions up where the thread has a better value, or the same one possibly sooner. */
void cpu_extrema_end(CpuThread *thread, const ImagePro *image)
{
    for (uint16_t c = 0; c < image->channels; c++) {
        const CpuExtrema *extrema = &thread->extrema[c];
        Tally *tally = &thread->tally[c];
        if (extrema->max_run.n == 0)
            continue;
        if (extrema->min < tally->min_key ||
            (extrema->min == tally->min_key && extrema->min_run.at < tally->min_at)) {
            const uint64_t at = find(image, &extrema->min_run, c, extrema->min);
            tally->min_at =
                extrema->min < tally->min_key || at < tally->min_at ? at : tally->min_at;
            tally->min_key = extrema->min;
        }
        if (extrema->max > tally->max_key ||
            (extrema->max == tally->max_key && extrema->max_run.at < tally->max_at)) {
            const uint64_t at = find(image, &extrema->max_run, c, extrema->max);
            tally->max_at =
                extrema->max > tally->max_key || at < tally->max_at ? at : tally->max_at;
            tally->max_key = extrema->max;
        }
    }
    cpu_extrema_begin(thread, image->channels);
}

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

/* Sums and extrema of every `stride`th of the n 64-bit integers at x. */
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

/* The counters of channels from `first` on. */
static LoopWords words_from(const Target *to, uint16_t first)
{
    return (LoopWords){.wide = to->words.wide + first * (size_t)LOOP_TABLE,
                       .low = to->words.low + first * (size_t)LOOP_LOW_TABLES * LOOP_LOW,
                       .sums = to->words.sums + first * (size_t)LOOP_SUMS_ROW};
}

/* Counts n samples that begin with channel `first`; channels of them are interleaved. */
static void count(const Target *to, const unsigned char *x, size_t n, unsigned channels,
                  uint16_t first)
{
    LoopBytes bytes = to->bytes;
    const LoopWords words = words_from(to, first);
    switch (to->counting) {
    case COUNT_NOTHING:
        return;
    case COUNT_LEADING:
        to->loops->leading(to->image->sample, x, n, to->leading);
        to->loops->count_words(to->leading, n, channels, &words, to->choice);
        return;
    case COUNT_WORDS:
        to->loops->count_words(x, n, channels, &words, to->choice);
        cpu_forget_sums(&words, channels);
        return;
    default:
        bytes.bytes += first * (size_t)LOOP_BYTES;
        to->loops->count_bytes(x, n, channels, &bytes, to->choice);
    }
}

/* Adds the 16-bit integers of a run, if they are counted best by sums. */
static bool add_summed(const Target *to, const CpuRun *run)
{
    const ImagePro *image = to->image;
    const size_t pixel_bytes = (size_t)image->channels * 2;
    SummedExtrema extrema[LOOP_CHANNELS];
    if (!cpu_measure_summed(image->sample, run->pixels, run->n * image->channels, image->channels,
                            &to->words, to->choice, extrema))
        return false;
    for (uint16_t c = 0; c < image->channels; c++) {
        const SummedExtrema *const e = &extrema[c];
        const CpuRun min_run =
            part_of(run, e->min_at, least(run->n - e->min_at, e->stretch), pixel_bytes);
        const CpuRun max_run =
            part_of(run, e->max_at, least(run->n - e->max_at, e->stretch), pixel_bytes);
        to->tally[c].n += run->n;
        add_min(to, &min_run, c, e->min);
        add_max(to, &max_run, c, e->max);
    }
    return true;
}

/* Adds integers or narrow samples of `channels` interleaved channels from `first` on: n of them at
 * x, taken from the run. All are unmasked; of wide types, valid. */
static void add_chunk(const Target *to, const CpuRun *run, const unsigned char *x, size_t n,
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
        add_extrema(to, run, (uint16_t)(first + c), min[c], max[c]);
    count(to, x, n, channels, first);
}

/* Packs the samples of a channel that are not masked and, of wide types, not nodata; adds up the
 * others. */
static size_t pack(const Target *to, const CpuRun *run, uint16_t channel)
{
    const ImagePro *image = to->image;
    const size_t bytes = sample_bits(image->sample) / 8, stride = bytes * image->channels;
    const bool nodata = image->has_nodata && !sample_is_narrow(image->sample);
    const unsigned char *from = run->pixels + channel * bytes;
    unsigned char *into = to->planar;
    Tally *tally = &to->tally[channel];
    size_t n = 0;
    for (size_t i = 0; i < run->n; i++, from += stride) {
        const bool masked = run->mask && !run->mask[i];
        const uint64_t raw = cpu_load(from, bytes);
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

static void add_integers(const Target *to, const CpuRun *run)
{
    const ImagePro *image = to->image;
    const size_t bytes = sample_bits(image->sample) / 8;
    const bool whole = image->channels <= LOOP_CHANNELS && !run->mask &&
                       (sample_is_narrow(image->sample) || !image->has_nodata);
    const size_t across = whole ? image->channels : 1;
    const size_t step = CHUNK_BYTES / bytes / across;
    const bool by_sums = /* all words are valid there */
        whole && to->counting == COUNT_WORDS && !image->has_nodata && image->sample != IMGSTAT_F16;
    size_t tried = 0; /* pixels for which sums have been thought of */
    for (size_t i = 0, n; i < run->n; i += n) {
        if (by_sums && i >= tried) {
            n = least(run->n - i, SUMMED_PIXELS);
            const CpuRun part = part_of(run, i, n, bytes * image->channels);
            tried = i + n;
            if (add_summed(to, &part))
                continue;
        }
        n = least(run->n - i, step);
        const CpuRun part = part_of(run, i, n, bytes * image->channels);
        if (whole) {
            add_chunk(to, &part, part.pixels, n * image->channels, image->channels, 0);
            continue;
        }
        for (uint16_t c = 0; c < image->channels; c++)
            add_chunk(to, &part, to->planar, pack(to, &part, c), 1, c);
    }
}

/* A piece of which some samples are not valid: they take the pivot's place, so that their
 * distances are +0, which adds nothing. */
static void add_mixed_piece(const Target *to, const CpuRun *run, uint16_t channel)
{
    const ImagePro *image = to->image;
    const ImgstatSample sample = image->sample;
    const size_t bytes = sample_bits(sample) / 8, stride = bytes * image->channels;
    const unsigned char *at = run->pixels + channel * bytes;
    const uint64_t ninf = sample_key_infinity(sample, true),
                   pinf = sample_key_infinity(sample, false);
    Tally *tally = &to->tally[channel];
    uint64_t min = UINT64_MAX, max = 0, pivot_raw = 0;
    uint32_t valid = 0;

    for (size_t i = 0; i < run->n; i++, at += stride) {
        const uint64_t raw = cpu_load(at, bytes), key = sample_key(sample, raw);
        uint64_t put = pivot_raw;
        if (run->mask && !run->mask[i]) {
            tally->masked++;
        } else if (image->has_nodata && key == image->nodata_key) {
            tally->nodata++;
        } else if (key > ninf && key < pinf) {
            for (size_t k = 0; valid == 0 && k < i; k++) /* those before the first valid one */
                memcpy(to->planar + k * bytes, at, bytes);
            pivot_raw = put = valid++ == 0 ? raw : put;
            put = raw;
            min = key < min ? key : min;
            max = key > max ? key : max;
            if (to->counting == COUNT_LEADING)
                to->words.wide[channel * (size_t)LOOP_TABLE + (key >> (8 * bytes - 16))]++;
        } else if (key == pinf) {
            tally->pinf++;
        } else if (key == ninf) {
            tally->ninf++;
        } else {
            tally->nan++;
        }
        cpu_store(to->planar + i * bytes, put, bytes);
    }
    if (valid == 0)
        return;
    LoopPiece piece;
    tally->n += valid;
    to->loops->piece(sample, to->planar, run->n, 1, NULL, &piece);
    piece_add(tally, valid, piece.pivot, piece.d, piece.q);
    add_extrema(to, run, channel, min, max);
}

static void add_floats(const Target *to, const CpuRun *run)
{
    const ImagePro *image = to->image;
    const size_t bytes = sample_bits(image->sample) / 8, channels = image->channels;
    const uint64_t *nodata = image->has_nodata ? &image->nodata_key : NULL;
    LoopPiece piece[LOOP_CHANNELS];
    for (size_t i = 0, n; i < run->n; i += n) {
        n = run->n - i < PIECE ? run->n - i : PIECE;
        const CpuRun part = part_of(run, i, n, bytes * channels);
        const bool whole = channels <= LOOP_CHANNELS && !run->mask &&
                           to->loops->piece(image->sample, part.pixels, n * channels,
                                            (unsigned)channels, nodata, piece);
        for (uint16_t c = 0; c < channels; c++) {
            if (!whole) {
                add_mixed_piece(to, &part, c);
                continue;
            }
            to->tally[c].n += n;
            piece_add(&to->tally[c], (uint32_t)n, piece[c].pivot, piece[c].d, piece[c].q);
            add_extrema(to, &part, c, piece[c].min, piece[c].max);
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
    const Target to = {.loops = loops,
                       .image = image,
                       .counting = counting,
                       .tally = thread->tally,
                       .extrema = thread->extrema,
                       .bytes = cpu_byte_counters(thread->counts, image->channels, counting),
                       .words = cpu_word_counters(thread->counts, image->channels),
                       .choice = &thread->choice,
                       .planar = scratch,
                       .leading = (uint16_t *)(void *)(scratch + CPU_SCRATCH / 4)};
    const uint32_t rows =
        packed && !floats ? rect->y1 - rect->y0 : 1; /* rows without gaps are one */
    for (uint32_t y = rect->y0; y < rect->y1; y += rows) {
        const uint8_t *mask = cpu_mask_row(image, y);
        const CpuRun run = {.pixels = image_row(image, y) + rect->x0 * stride,
                            .mask = mask ? mask + rect->x0 : NULL,
                            .at = ((uint64_t)image->first_row + y) * image->width + rect->x0,
                            .n = (size_t)rows * width,
                            .gap = rows > 1 ? image->width - width : 0,
                            .left = width,
                            .width = width};
        if (floats)
            add_floats(&to, &run);
        else
            add_integers(&to, &run);
    }
}
