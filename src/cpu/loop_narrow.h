/* SPDX-License-Identifier: MIT */
/* loop_narrow.h: extrema and counts of samples of at most 16 bits. */
#ifndef IMGSTAT_CPU_LOOP_NARROW_H
#define IMGSTAT_CPU_LOOP_NARROW_H

#include "cpu/loop_common.h"

/* ---- Extrema ---- */

enum {
    EXTREMA_BLOCK = 256, /* samples a channel: a power of two */
    EXTREMA_TURN = 8     /* blocks: accumulators are loaded and stored once for all of them */
};

/* Adds n samples from each of `turns` blocks of samples, sample j of each to lo[j] and hi[j]. */
FORCE_INLINE void extrema8_turn(const uint8_t *x, size_t n, size_t block, size_t turns,
                                uint8_t flip, bool has_nodata, uint8_t nodata, uint8_t *lo,
                                uint8_t *hi)
{
    for (size_t j = 0; j < n; j++) {
        uint8_t least_key = lo[j], most_key = hi[j];
        for (size_t k = 0; k < turns; k++) {
            const uint8_t key = x[k * block + j] ^ flip;
            const uint8_t low = has_nodata && key == nodata ? 0xFF : key;
            const uint8_t high = has_nodata && key == nodata ? 0 : key;
            least_key = low < least_key ? low : least_key;
            most_key = high > most_key ? high : most_key;
        }
        lo[j] = least_key;
        hi[j] = most_key;
    }
}

FORCE_INLINE void extrema8_of(ImgstatSample sample, const uint8_t *x, size_t n, unsigned channels,
                              bool has_nodata, uint8_t nodata, uint64_t *min, uint64_t *max)
{
    uint8_t lo[EXTREMA_BLOCK * LOOP_CHANNELS], hi[EXTREMA_BLOCK * LOOP_CHANNELS];
    const size_t block = (size_t)EXTREMA_BLOCK * channels;
    const uint8_t flip = sample == IMGSTAT_I8 ? 0x80 : 0;
    size_t at = 0;
    memset(lo, 0xFF, sizeof lo);
    memset(hi, 0, sizeof hi);
    for (; n - at >= EXTREMA_TURN * block; at += EXTREMA_TURN * block)
        extrema8_turn(x + at, block, block, EXTREMA_TURN, flip, has_nodata, nodata, lo, hi);
    for (; at < n; at += block)
        extrema8_turn(x + at, least(block, n - at), block, 1, flip, has_nodata, nodata, lo, hi);
    for (size_t half = block / 2; half >= channels; half /= 2) {
        LOOP_INDEPENDENT
        for (size_t j = 0; j < half; j++) {
            lo[j] = lo[j + half] < lo[j] ? lo[j + half] : lo[j];
            hi[j] = hi[j + half] > hi[j] ? hi[j + half] : hi[j];
        }
    }
    for (unsigned c = 0; c < channels; c++) {
        min[c] = lo[c];
        max[c] = hi[c];
    }
}

/* Whether a key is valid: not nodata and, for floats, finite. */
FORCE_INLINE bool is_valid16(uint16_t key, bool is_float, bool has_nodata, uint16_t nodata)
{
    const uint16_t below = 0x03FF, above = 0xFC00; /* keys of the infinities of binary16 */
    return !((has_nodata & (key == nodata)) | (is_float & ((key <= below) | (key >= above))));
}

/* Works as extrema8_turn, for words. */
FORCE_INLINE void extrema16_turn(ImgstatSample sample, const Mem16 *x, size_t n, size_t block,
                                 size_t turns, bool has_nodata, uint16_t nodata, uint16_t *lo,
                                 uint16_t *hi)
{
    const bool is_float = sample == IMGSTAT_F16;
    for (size_t j = 0; j < n; j++) {
        uint16_t least_key = lo[j], most_key = hi[j];
        for (size_t k = 0; k < turns; k++) {
            const uint16_t key = key16(sample, x[k * block + j]);
            const bool in = is_valid16(key, is_float, has_nodata, nodata);
            const uint16_t low = in ? key : 0xFFFF;
            const uint16_t high = in ? key : 0;
            least_key = low < least_key ? low : least_key;
            most_key = high > most_key ? high : most_key;
        }
        lo[j] = least_key;
        hi[j] = most_key;
    }
}

FORCE_INLINE void extrema16_of(ImgstatSample sample, const Mem16 *x, size_t n, unsigned channels,
                               bool has_nodata, uint16_t nodata, uint64_t *min, uint64_t *max)
{
    uint16_t lo[EXTREMA_BLOCK * LOOP_CHANNELS], hi[EXTREMA_BLOCK * LOOP_CHANNELS];
    const size_t block = (size_t)EXTREMA_BLOCK * channels;
    size_t at = 0;
    memset(lo, 0xFF, sizeof lo);
    memset(hi, 0, sizeof hi);
    for (; n - at >= EXTREMA_TURN * block; at += EXTREMA_TURN * block)
        extrema16_turn(sample, x + at, block, block, EXTREMA_TURN, has_nodata, nodata, lo, hi);
    for (; at < n; at += block)
        extrema16_turn(sample, x + at, least(block, n - at), block, 1, has_nodata, nodata, lo, hi);
    for (size_t half = block / 2; half >= channels; half /= 2) {
        LOOP_INDEPENDENT
        for (size_t j = 0; j < half; j++) {
            lo[j] = lo[j + half] < lo[j] ? lo[j + half] : lo[j];
            hi[j] = hi[j + half] > hi[j] ? hi[j + half] : hi[j];
        }
    }
    for (unsigned c = 0; c < channels; c++) {
        min[c] = lo[c];
        max[c] = hi[c];
    }
}

/* Finds extrema. A nodata key wider than the samples matches none. */
static void extrema(ImgstatSample sample, const void *x, size_t n, unsigned channels,
                    const uint64_t *nodata, uint64_t *min, uint64_t *max)
{
    const bool is8 = sample == IMGSTAT_U8 || sample == IMGSTAT_I8;
    const bool has = nodata && *nodata <= (is8 ? 0xFFu : 0xFFFFu);
    if (is8 && has)
        extrema8_of(sample, x, n, channels, true, (uint8_t)*nodata, min, max);
    else if (is8)
        extrema8_of(sample, x, n, channels, false, 0, min, max);
    else if (sample == IMGSTAT_F16 && has)
        extrema16_of(IMGSTAT_F16, x, n, channels, true, (uint16_t)*nodata, min, max);
    else if (sample == IMGSTAT_F16)
        extrema16_of(IMGSTAT_F16, x, n, channels, false, 0, min, max);
    else if (sample == IMGSTAT_I16)
        extrema16_of(IMGSTAT_I16, x, n, channels, has, has ? (uint16_t)*nodata : 0, min, max);
    else if (has)
        extrema16_of(IMGSTAT_U16, x, n, channels, true, (uint16_t)*nodata, min, max);
    else
        extrema16_of(IMGSTAT_U16, x, n, channels, false, 0, min, max);
}

/* ---- Counting bytes ---- */

/* Counts bytes in 32-bit counters, by one of two loops. Counting pairs of neighbours takes half as
 * many steps, in tables of 65,536 counters. Counting single bytes takes small tables; it is faster
 * if pairs spread over more cache lines than stay near, or if one pair is so frequent that each
 * step waits for the counter that the last one stored. */

enum {
    COUNT8_BLOCK = 1024, /* pixels */
    COUNT8_PARTS = 8, /* parts of a block that are counted side by side: neighbours are often equal
                         and go to one counter */
    COUNT8_CHOSEN = 1 << 18, /* bytes that are counted before the next choice */
    COUNT8_SAMPLED = 256     /* pairs that are looked at for a choice */
};

/* Counts n bytes of whole pixels. Neighbours of a channel go to different tables. */
FORCE_INLINE void count_singly(const uint8_t *x, size_t n, unsigned channels, uint32_t *bytes)
{
    const unsigned step = loop_byte_tables(channels) * channels;
    size_t at = 0;
    for (; n - at >= step; at += step) {
        prefetch(x, n + at);
#pragma GCC unroll 4
        for (unsigned t = 0; t < step; t += 8) {
            uint64_t eight = *(const Mem64 *)(const void *)(x + at + t);
#pragma GCC unroll 8
            for (unsigned i = t; i < t + 8; i++, eight >>= 8)
                bytes[i % channels * BYTE_COUNTERS + i / channels * BYTE_STRIDE + (eight & 0xFF)]++;
        }
    }
    for (size_t i = 0; at + i < n; i++)
        bytes[i % channels * BYTE_COUNTERS + i / channels * BYTE_STRIDE + x[at + i]]++;
}

/* Counts a block of pairs, and prefetches bytes `ahead` bytes after it. */
FORCE_INLINE void count_pairs(const uint8_t *x, unsigned channels, uint32_t *pairs, size_t ahead)
{
    const unsigned tables = loop_pair_tables(channels);
    const size_t part = (size_t)COUNT8_BLOCK / 2 / COUNT8_PARTS * channels;
    const Mem16 *const x16 = (const Mem16 *)(const void *)x;
    for (size_t k = 0; k < part; k += tables) {
        prefetch(x, ahead + 2 * COUNT8_PARTS * k);
#pragma GCC unroll 4
        for (unsigned t = 0; t < tables; t++) {
#pragma GCC unroll 8
            for (size_t i = 0; i < COUNT8_PARTS; i++)
                pairs[t * COUNTERS32_STRIDE + x16[i * part + k + t]]++;
        }
    }
}

/* Whether counting pairs is faster, judged by pairs sampled over n bytes. */
FORCE_INLINE bool choose_pairs(const uint8_t *x, size_t n, unsigned channels)
{
    /* More than SPREAD lines in the sample: pairs spread over more lines than the nearest caches
     * hold, where several tables share them. */
    enum { LINES = 65536 / 64, SPREAD = 230, FREQUENT = COUNT8_SAMPLED / 4 };
    uint16_t seen[LOOP_CHANNELS][LINES] = {0};
    const unsigned tables = loop_pair_tables(channels);
    const size_t step = (n / 2 / COUNT8_SAMPLED / tables * tables + 1) * 2; /* all tables in turn */
    unsigned all = 0, lines = 0, most = 0;
    for (size_t at = 0; at + 1 < n && all < COUNT8_SAMPLED; at += step, all++) {
        const unsigned pair = (unsigned)x[at + 1] << 8 | x[at],
                       times = ++seen[all % tables][pair / 64];
        lines += times == 1;
        most = times > most ? times : most;
    }
    return (tables == 1 || lines <= SPREAD) && most <= FREQUENT;
}

FORCE_INLINE void count_bytes_of(const uint8_t *x, size_t n, unsigned channels, const LoopBytes *to,
                                 LoopChoice *choice)
{
    const size_t block = (size_t)COUNT8_BLOCK * channels, whole = n / block * block;
    size_t at = 0;
    if (choice->left < n && whole > 0) {
        choice->pairs = to->pairs && choose_pairs(x, n, channels);
        choice->left = COUNT8_CHOSEN;
    }
    choice->left -= least(choice->left, n);
    if (choice->pairs)
        for (; at < whole; at += block)
            count_pairs(x + at, channels, to->pairs, n);
    if (loop_byte_tables(channels) > choice->tables)
        choice->tables = loop_byte_tables(channels);
    count_singly(x + at, n - at, channels, to->bytes);
}

static void count_bytes(const uint8_t *x, size_t n, unsigned channels, const LoopBytes *to,
                        LoopChoice *choice)
{
    switch (channels) {
    case 1:
        count_bytes_of(x, n, 1, to, choice);
        break;
    case 2:
        count_bytes_of(x, n, 2, to, choice);
        break;
    case 3:
        count_bytes_of(x, n, 3, to, choice);
        break;
    default:
        count_bytes_of(x, n, 4, to, choice);
    }
}

/* ---- Counting words ---- */

/* Counts 16-bit words, one channel after the other, so that one table is in use: 65,536 counters of
 * 8 bits, which nearly fit the nearest cache. If few values are so frequent that each step would
 * wait for the counter that the last one stored, neighbours go to several tables in turn. A sample
 * of the words decides. */

enum {
    /* Parts of a round are counted side by side, since neighbours are often equal. 64 KiB of one to
     * four channels are whole rounds but for a few pixels. */
    COUNT16_PARTS = 8,
    COUNT16_PART = 170,
    COUNT16_ROUND = COUNT16_PARTS * COUNT16_PART,
    COUNT16_BLOCK = 8 * COUNT16_ROUND, /* words of a channel */
    COUNT16_SAMPLED = 31
};

/* Counts every `stride`th word at x, n <= COUNT16_BLOCK of them, in the first `tables` tables.
 * Words whose 8-bit counters wrap are noted, and added to 32-bit counters together at the end,
 * since these are in no near cache. Prefetches as many words `ahead` bytes after x. */
FORCE_INLINE void count_block(const Mem16 *x, size_t n, size_t stride, unsigned tables,
                              uint8_t *low, uint32_t *wide, size_t ahead)
{
    uint16_t wrapped[COUNT16_BLOCK];
    size_t n_wrapped = 0, done = 0;
    const Mem16 *const start = x;
    for (; n - done >= COUNT16_ROUND; done += COUNT16_ROUND, x += COUNT16_ROUND * stride) {
        for (size_t k = 0; k < COUNT16_PART; k++) {
            prefetch(start, ahead + (done + COUNT16_PARTS * k) * sizeof *x);
#pragma GCC unroll 8
            for (size_t i = 0; i < COUNT16_PARTS; i++) {
                const uint16_t word = x[(i * COUNT16_PART + k) * stride];
                if (__builtin_expect(++low[i % tables * COUNTERS8_STRIDE + word] == 0, 0)) {
                    __builtin_prefetch(wide + word, 1);
                    wrapped[n_wrapped++] = word;
                }
            }
        }
    }
    for (size_t i = 0; i < n - done; i++) {
        const uint16_t word = x[i * stride];
        if (++low[i % tables * COUNTERS8_STRIDE + word] == 0)
            wrapped[n_wrapped++] = word;
    }
    for (size_t i = 0; i < n_wrapped; i++)
        wide[wrapped[i]] += 256;
}

/* Returns how many tables every `stride`th of n words needs: all of them if few values are
 * frequent. */
FORCE_INLINE unsigned choose_tables(const Mem16 *x, size_t n, size_t stride)
{
    enum { FREQUENT = COUNT16_SAMPLED / 4, HASHED = 256 };
    uint8_t seen[HASHED] = {0};
    unsigned most = 0;
    if (n < (size_t)2 * COUNT16_SAMPLED)
        return 1;
    const size_t step = ((n / (COUNT16_SAMPLED + 1) - 1) | 1) *
                        stride; /* odd, so that a sample of two alternating values has both */
    for (size_t i = 0; i < COUNT16_SAMPLED; i++) {
        const unsigned word = x[i * step], times = ++seen[(word ^ word >> 8) % HASHED];
        most = times > most ? times : most;
    }
    return most > FREQUENT ? COUNTERS8_TABLES : 1;
}

FORCE_INLINE void count_words_of(const Mem16 *x, size_t n, unsigned channels, const LoopWords *to,
                                 LoopChoice *choice)
{
    const size_t pixels = n / channels;
    for (unsigned c = 0; c < channels; c++) {
        const unsigned tables = choose_tables(x + c, pixels, channels);
        uint8_t *const low = to->low + c * (size_t)COUNTERS8_TABLES * COUNTERS8_STRIDE;
        uint32_t *const wide = to->wide + c * (size_t)COUNTERS32_STRIDE;
        choice->tables = tables > choice->tables ? tables : choice->tables;
        for (size_t i = 0, m; i < pixels; i += m) {
            const Mem16 *const from = x + i * channels + c;
            /* the block's share of what follows the n words */
            const size_t ahead = (n + c * pixels + i - i * channels - c) * sizeof *x;
            m = least(pixels - i, COUNT16_BLOCK);
            if (tables > 1)
                count_block(from, m, channels, COUNTERS8_TABLES, low, wide, ahead);
            else
                count_block(from, m, channels, 1, low, wide, ahead);
        }
    }
}

static void count_words(const void *x, size_t n, unsigned channels, const LoopWords *to,
                        LoopChoice *choice)
{
    switch (channels) {
    case 1:
        count_words_of(x, n, 1, to, choice);
        break;
    case 2:
        count_words_of(x, n, 2, to, choice);
        break;
    case 3:
        count_words_of(x, n, 3, to, choice);
        break;
    default:
        count_words_of(x, n, 4, to, choice);
    }
}

#endif
