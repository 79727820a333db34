/* SPDX-License-Identifier: MIT */
/* loop_extrema.h: extrema of samples of at most 16 bits. */
#ifndef IMGSTAT_CPU_LOOP_EXTREMA_H
#define IMGSTAT_CPU_LOOP_EXTREMA_H

#include "cpu/loop_common.h"

enum {
    EXTREMA_BLOCK = 256, /* samples a channel: a power of two */
    EXTREMA_TURN = 8     /* blocks: accumulators are loaded and stored once for all of them */
};

FORCE_INLINE void extrema8_of(ImgstatSample sample, const uint8_t *x, size_t n, unsigned channels,
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

/* Neither nodata nor, of floats, infinite or undefined. */
FORCE_INLINE bool is_valid16(uint16_t key, bool is_float, bool has_nodata, uint16_t nodata)
{
    const uint16_t below = 0x03FF, above = 0xFC00; /* keys of the infinities of binary16 */
    return !((has_nodata & (key == nodata)) | (is_float & ((key <= below) | (key >= above))));
}

FORCE_INLINE void extrema16_of(ImgstatSample sample, const Mem16 *x, size_t n, unsigned channels,
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

/* A nodata key wider than the samples is none. */
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

#endif
