/* SPDX-License-Identifier: MIT */
/* cpu_loops_narrow.h: loops over samples of at most 16 bits: extrema, and counting words. */
#ifndef IMGSTAT_CPU_LOOPS_NARROW_H
#define IMGSTAT_CPU_LOOPS_NARROW_H

#include "cpu_loops_keys.h"

enum {
    EXTREMA_BLOCK = 256, /* samples a channel */
    EXTREMA_TURN = 8     /* blocks: accumulators are loaded and stored once for all of them */
};

LOOP void extrema8_of(ImgstatSample sample, const uint8_t *x, size_t n, unsigned channels,
                      bool has_nodata, uint8_t nodata, uint64_t *min, uint64_t *max)
{
    uint8_t lo[EXTREMA_BLOCK * LOOP_CHANNELS], hi[EXTREMA_BLOCK * LOOP_CHANNELS];
    const size_t block = (size_t)EXTREMA_BLOCK * channels;
    const uint8_t flip = sample == IMGSTAT_I8 ? 0x80 : 0;
    size_t at = 0;
    memset(lo, 0xFF, sizeof lo);
    memset(hi, 0, sizeof hi);
    for (; n - at >= EXTREMA_TURN * block; at += EXTREMA_TURN * block) {
        for (size_t j = 0; j < block; j++) {
            uint8_t least_key = lo[j], most_key = hi[j];
            for (size_t k = 0; k < EXTREMA_TURN; k++) {
                const uint8_t key = x[at + k * block + j] ^ flip;
                const uint8_t low = has_nodata && key == nodata ? 0xFF : key;
                const uint8_t high = has_nodata && key == nodata ? 0 : key;
                least_key = low < least_key ? low : least_key;
                most_key = high > most_key ? high : most_key;
            }
            lo[j] = least_key;
            hi[j] = most_key;
        }
    }
    for (; at < n; at += block) {
        const size_t m = least(block, n - at);
        for (size_t j = 0; j < m; j++) {
            const uint8_t key = x[at + j] ^ flip;
            const uint8_t low = has_nodata && key == nodata ? 0xFF : key;
            const uint8_t high = has_nodata && key == nodata ? 0 : key;
            lo[j] = low < lo[j] ? low : lo[j];
            hi[j] = high > hi[j] ? high : hi[j];
        }
    }
    for (unsigned c = 0; c < channels; c++) {
        min[c] = 0xFF;
        max[c] = 0;
        for (size_t j = c; j < block; j += channels) {
            min[c] = lo[j] < min[c] ? lo[j] : min[c];
            max[c] = hi[j] > max[c] ? hi[j] : max[c];
        }
    }
}

/* Neither nodata nor, of floats, infinite or undefined. */
LOOP bool is_valid16(uint16_t key, bool is_float, bool has_nodata, uint16_t nodata)
{
    const uint16_t below = 0x03FF, above = 0xFC00; /* keys of the infinities of binary16 */
    return !((has_nodata & (key == nodata)) | (is_float & ((key <= below) | (key >= above))));
}

LOOP void extrema16_of(ImgstatSample sample, const Mem16 *x, size_t n, unsigned channels,
                       bool has_nodata, uint16_t nodata, uint64_t *min, uint64_t *max)
{
    uint16_t lo[EXTREMA_BLOCK * LOOP_CHANNELS], hi[EXTREMA_BLOCK * LOOP_CHANNELS];
    const size_t block = (size_t)EXTREMA_BLOCK * channels;
    const bool is_float = sample == IMGSTAT_F16;
    size_t at = 0;
    memset(lo, 0xFF, sizeof lo);
    memset(hi, 0, sizeof hi);
    for (; n - at >= EXTREMA_TURN * block; at += EXTREMA_TURN * block) {
        for (size_t j = 0; j < block; j++) {
            uint16_t least_key = lo[j], most_key = hi[j];
            for (size_t k = 0; k < EXTREMA_TURN; k++) {
                const uint16_t key = key16(sample, x[at + k * block + j]);
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
    for (; at < n; at += block) {
        const size_t m = least(block, n - at);
        for (size_t j = 0; j < m; j++) {
            const uint16_t key = key16(sample, x[at + j]);
            const bool in = is_valid16(key, is_float, has_nodata, nodata);
            const uint16_t low = in ? key : 0xFFFF;
            const uint16_t high = in ? key : 0;
            lo[j] = low < lo[j] ? low : lo[j];
            hi[j] = high > hi[j] ? high : hi[j];
        }
    }
    for (unsigned c = 0; c < channels; c++) {
        min[c] = 0xFFFF;
        max[c] = 0;
        for (size_t j = c; j < block; j += channels) {
            min[c] = lo[j] < min[c] ? lo[j] : min[c];
            max[c] = hi[j] > max[c] ? hi[j] : max[c];
        }
    }
}

/* A nodata key wider than the samples is none. */
LOOP void extrema_of(ImgstatSample sample, const void *x, size_t n, unsigned channels,
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

/* 16 equal pairs of words are two additions: else each waits for the counter that the one before it
 * stored. For the same reason neighbours go to two tables. */
LOOP void count_words_2(const Mem16 *x, size_t words, uint32_t *counts)
{
    const Mem64 *x64 = (const Mem64 *)(const void *)x;
    uint32_t *const other = counts + LOOP_TABLE;
    size_t i = 0;
    for (; i + 32 <= words; i += 32, x64 += 8) {
        const uint64_t first = x64[0];
        uint64_t differ = first ^ (first << 32 | first >> 32);
        for (int k = 1; k < 8; k++)
            differ |= first ^ x64[k];
        if (differ == 0) {
            counts[first & 0xFFFF] += 16;
            other[first >> 16 & 0xFFFF] += 16;
            continue;
        }
        for (int k = 0; k < 8; k++) {
            const uint64_t four = x64[k];
            counts[four & 0xFFFF]++;
            other[four >> 16 & 0xFFFF]++;
            counts[four >> 32 & 0xFFFF]++;
            other[four >> 48]++;
        }
    }
    for (; i < words; i++)
        counts[i % 2 * LOOP_TABLE + x[i]]++;
}

LOOP void count_words_n(const Mem16 *x, size_t words, unsigned tables, uint32_t *counts)
{
    size_t i = 0;
    for (; i + tables <= words; i += tables) {
        for (unsigned t = 0; t < tables; t++)
            counts[t * (size_t)LOOP_TABLE + x[i + t]]++;
    }
    for (unsigned t = 0; i < words; i++, t++)
        counts[t * (size_t)LOOP_TABLE + x[i]]++;
}

LOOP void count_words_any(const void *x, size_t words, unsigned tables, uint32_t *counts)
{
    switch (tables) {
    case 1:
        count_words_n(x, words, 1, counts);
        break;
    case 2:
        count_words_2(x, words, counts);
        break;
    case 3:
        count_words_n(x, words, 3, counts);
        break;
    case 4:
        count_words_n(x, words, 4, counts);
        break;
    default:
        count_words_n(x, words, tables, counts);
    }
}

#endif
