/* SPDX-License-Identifier: MIT */
/* cpu_loops_body.h: the loops of cpu_loops.h in plain C, shaped so that compilers make vector code
 * of them: accumulators are arrays in which element j takes the samples j, j + K, j + 2K, ... with
 * K a multiple of the number of channels, so that interleaved channels need no taking apart. Each
 * file that includes this compiles them for one instruction set. */
#ifndef IMGSTAT_CPU_LOOPS_BODY_H
#define IMGSTAT_CPU_LOOPS_BODY_H

#include "cpu_loops.h"

#define LOOP static inline __attribute__((always_inline))

/* Samples in memory, at any alignment. */
typedef uint16_t __attribute__((aligned(1), may_alias)) Mem16;
typedef uint32_t __attribute__((aligned(1), may_alias)) Mem32;
typedef uint64_t __attribute__((aligned(1), may_alias)) Mem64;
typedef float __attribute__((aligned(1), may_alias)) MemF32;
typedef double __attribute__((aligned(1), may_alias)) MemF64;

enum { EXTREMA_BLOCK = 256, SUMS_BLOCK = 64 }; /* samples a channel */

LOOP size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

LOOP uint16_t key16(ImgstatSample sample, uint16_t raw)
{
    if (sample == IMGSTAT_U16)
        return raw;
    if (sample == IMGSTAT_I16)
        return raw ^ 0x8000u;
    const uint16_t key = raw ^ (uint16_t)(0x8000u | (raw & 0x8000u ? 0x7FFFu : 0));
    return raw == 0x8000u ? 0x8000u : key;
}

LOOP uint32_t key32(ImgstatSample sample, uint32_t raw)
{
    if (sample == IMGSTAT_U32)
        return raw;
    if (sample == IMGSTAT_I32)
        return raw ^ 0x80000000u;
    const uint32_t key = raw ^ (0x80000000u | (raw & 0x80000000u ? 0x7FFFFFFFu : 0));
    return raw == 0x80000000u ? 0x80000000u : key;
}

LOOP uint64_t key64(ImgstatSample sample, uint64_t raw)
{
    const uint64_t sign = (uint64_t)1 << 63;
    if (sample == IMGSTAT_U64)
        return raw;
    if (sample == IMGSTAT_I64)
        return raw ^ sign;
    const uint64_t key = raw ^ (sign | (raw & sign ? sign - 1 : 0));
    return raw == sign ? sign : key;
}

LOOP void extrema8_of(ImgstatSample sample, const uint8_t *x, size_t n, unsigned channels,
                      bool has_nodata, uint8_t nodata, uint64_t *min, uint64_t *max)
{
    uint8_t lo[EXTREMA_BLOCK * LOOP_CHANNELS], hi[EXTREMA_BLOCK * LOOP_CHANNELS];
    const size_t block = (size_t)EXTREMA_BLOCK * channels;
    const uint8_t flip = sample == IMGSTAT_I8 ? 0x80 : 0;
    memset(lo, 0xFF, sizeof lo);
    memset(hi, 0, sizeof hi);
    for (size_t at = 0; at < n; at += block) {
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

LOOP void extrema16_of(ImgstatSample sample, const Mem16 *x, size_t n, unsigned channels,
                       bool has_nodata, uint16_t nodata, uint64_t *min, uint64_t *max)
{
    uint16_t lo[EXTREMA_BLOCK * LOOP_CHANNELS], hi[EXTREMA_BLOCK * LOOP_CHANNELS];
    const size_t block = (size_t)EXTREMA_BLOCK * channels;
    const bool is_float = sample == IMGSTAT_F16;
    const uint16_t below = 0x03FF, above = 0xFC00; /* keys of the infinities of binary16 */
    memset(lo, 0xFF, sizeof lo);
    memset(hi, 0, sizeof hi);
    for (size_t at = 0; at < n; at += block) {
        const size_t m = least(block, n - at);
        for (size_t j = 0; j < m; j++) {
            const uint16_t key = key16(sample, x[at + j]);
            const bool out =
                (has_nodata & (key == nodata)) | (is_float & ((key <= below) | (key >= above)));
            const uint16_t low = out ? 0xFFFF : key;
            const uint16_t high = out ? 0 : key;
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

LOOP void sums32_of(ImgstatSample sample, const Mem32 *x, size_t n, unsigned channels,
                    LoopSums *out)
{
    enum { ALL = SUMS_BLOCK * LOOP_CHANNELS };
    uint64_t sum[ALL] = {0}, low[ALL] = {0}, high[ALL] = {0};
    uint32_t lo[ALL], hi[ALL] = {0};
    const size_t block = (size_t)SUMS_BLOCK * channels;
    memset(lo, 0xFF, sizeof lo);
    for (size_t at = 0; at < n; at += block) {
        const size_t m = least(block, n - at);
        for (size_t j = 0; j < m; j++) {
            const uint32_t raw = x[at + j], key = key32(sample, raw);
            const int32_t v = (int32_t)raw;
            const uint32_t size = sample == IMGSTAT_I32 && v < 0 ? 0u - raw : raw;
            const uint64_t square = (uint64_t)size * size;
            sum[j] += sample == IMGSTAT_I32 ? (uint64_t)(int64_t)v : raw;
            low[j] += square & 0xFFFFFFFFu;
            high[j] += square >> 32;
            lo[j] = key < lo[j] ? key : lo[j];
            hi[j] = key > hi[j] ? key : hi[j];
        }
    }
    for (unsigned c = 0; c < channels; c++) {
        out[c] = (LoopSums){.min = UINT32_MAX};
        for (size_t j = c; j < block; j += channels) {
            out[c].sum += sum[j];
            out[c].low += low[j];
            out[c].high += high[j];
            out[c].min = lo[j] < out[c].min ? lo[j] : out[c].min;
            out[c].max = hi[j] > out[c].max ? hi[j] : out[c].max;
        }
    }
}

LOOP void sums32_any(ImgstatSample sample, const void *x, size_t n, unsigned channels,
                     LoopSums *out)
{
    if (sample == IMGSTAT_I32)
        sums32_of(IMGSTAT_I32, x, n, channels, out);
    else
        sums32_of(IMGSTAT_U32, x, n, channels, out);
}

/* The lanes that fold reads when a channel has n samples: the power of two that covers n. */
LOOP size_t lanes_used(size_t n)
{
    size_t lanes = PIECE_LANES;
    while (lanes / 2 >= n && lanes > 1)
        lanes /= 2;
    return lanes;
}

/* Step 4 of docs/float-sums.md for channel c: adding lanes that no sample reached (+0) changes
 * nothing, so the fold starts with those in use. */
LOOP double fold(double *lane, unsigned channels, unsigned c, size_t lanes)
{
    for (size_t h = lanes / 2; h > 0; h /= 2) {
        for (size_t l = 0; l < h; l++)
            lane[l * channels + c] += lane[(l + h) * channels + c];
    }
    return lane[c];
}

LOOP bool piece_f32(const MemF32 *x, size_t n, unsigned channels, bool has_nodata, float nodata,
                    LoopPiece *out)
{
    enum { ALL = PIECE_LANES * LOOP_CHANNELS };
    double d[ALL], q[ALL], pivot[ALL];
    float lo[ALL], hi[ALL];
    uint32_t bad[ALL];
    const size_t block = (size_t)PIECE_LANES * channels, used = least(block, n);
    const size_t lanes = lanes_used(n / channels);
    memset(d, 0, lanes * channels * sizeof *d);
    memset(q, 0, lanes * channels * sizeof *q);
    for (size_t j = 0; j < used; j++) {
        const float first = j < channels ? x[j] : lo[j - channels];
        pivot[j] = (double)first + 0.0; /* +0 for -0 */
        lo[j] = hi[j] = first;
        bad[j] = 0;
    }
    for (size_t at = 0; at < n; at += block) {
        const size_t m = least(block, n - at);
        for (size_t j = 0; j < m; j++) {
            const float v = x[at + j];
            const double t = (double)v - pivot[j];
            uint32_t raw;
            memcpy(&raw, &v, sizeof raw);
            d[j] += t;
            q[j] += t * t;
            lo[j] = v < lo[j] ? v : lo[j];
            hi[j] = v > hi[j] ? v : hi[j];
            bad[j] |= (raw & 0x7F800000u) == 0x7F800000u ? 1u : 0u;
            if (has_nodata)
                bad[j] |= v == nodata ? 1u : 0u;
        }
    }
    uint32_t any = 0;
    for (size_t j = 0; j < used; j++)
        any |= bad[j];
    if (any)
        return false;
    for (unsigned c = 0; c < channels; c++) {
        float min = x[c], max = x[c];
        for (size_t j = c; j < used; j += channels) {
            min = lo[j] < min ? lo[j] : min;
            max = hi[j] > max ? hi[j] : max;
        }
        uint32_t low, high;
        memcpy(&low, &min, sizeof low);
        memcpy(&high, &max, sizeof high);
        out[c].min = key32(IMGSTAT_F32, low);
        out[c].max = key32(IMGSTAT_F32, high);
        out[c].pivot = pivot[c];
        out[c].d = fold(d, channels, c, lanes);
        out[c].q = fold(q, channels, c, lanes);
    }
    return true;
}

LOOP bool piece_f64(const MemF64 *x, size_t n, unsigned channels, bool has_nodata, double nodata,
                    LoopPiece *out)
{
    enum { ALL = PIECE_LANES * LOOP_CHANNELS };
    double d[ALL], q[ALL], pivot[ALL], lo[ALL], hi[ALL];
    uint64_t bad[ALL];
    const uint64_t exponent = (uint64_t)0x7FF << 52;
    const size_t block = (size_t)PIECE_LANES * channels, used = least(block, n);
    const size_t lanes = lanes_used(n / channels);
    memset(d, 0, lanes * channels * sizeof *d);
    memset(q, 0, lanes * channels * sizeof *q);
    for (size_t j = 0; j < used; j++) {
        const double first = j < channels ? x[j] : lo[j - channels];
        pivot[j] = first + 0.0; /* +0 for -0 */
        lo[j] = hi[j] = first;
        bad[j] = 0;
    }
    for (size_t at = 0; at < n; at += block) {
        const size_t m = least(block, n - at);
        for (size_t j = 0; j < m; j++) {
            const double v = x[at + j], t = v - pivot[j];
            uint64_t raw;
            memcpy(&raw, &v, sizeof raw);
            d[j] += t;
            q[j] += t * t;
            lo[j] = v < lo[j] ? v : lo[j];
            hi[j] = v > hi[j] ? v : hi[j];
            bad[j] |= (raw & exponent) == exponent ? 1u : 0u;
            if (has_nodata)
                bad[j] |= v == nodata ? 1u : 0u;
        }
    }
    uint64_t any = 0;
    for (size_t j = 0; j < used; j++)
        any |= bad[j];
    if (any)
        return false;
    for (unsigned c = 0; c < channels; c++) {
        double min = x[c], max = x[c];
        for (size_t j = c; j < used; j += channels) {
            min = lo[j] < min ? lo[j] : min;
            max = hi[j] > max ? hi[j] : max;
        }
        uint64_t low, high;
        memcpy(&low, &min, sizeof low);
        memcpy(&high, &max, sizeof high);
        out[c].min = key64(IMGSTAT_F64, low);
        out[c].max = key64(IMGSTAT_F64, high);
        out[c].pivot = pivot[c];
        out[c].d = fold(d, channels, c, lanes);
        out[c].q = fold(q, channels, c, lanes);
    }
    return true;
}

LOOP bool piece_any(ImgstatSample sample, const void *x, size_t n, unsigned channels,
                    const uint64_t *nodata, LoopPiece *out)
{
    if (sample == IMGSTAT_F32) {
        const uint32_t raw = nodata ? (uint32_t)sample_raw(sample, *nodata) : 0;
        float v;
        memcpy(&v, &raw, sizeof v);
        return nodata && *nodata <= UINT32_MAX ? piece_f32(x, n, channels, true, v, out)
                                               : piece_f32(x, n, channels, false, 0, out);
    }
    const uint64_t raw = nodata ? sample_raw(sample, *nodata) : 0;
    double v;
    memcpy(&v, &raw, sizeof v);
    return nodata ? piece_f64(x, n, channels, true, v, out)
                  : piece_f64(x, n, channels, false, 0, out);
}

LOOP void leading32(ImgstatSample sample, const Mem32 *x, size_t n, uint16_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint16_t)(key32(sample, x[i]) >> 16);
}

LOOP void leading64(ImgstatSample sample, const Mem64 *x, size_t n, uint16_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint16_t)(key64(sample, x[i]) >> 48);
}

LOOP void leading_any(ImgstatSample sample, const void *x, size_t n, uint16_t *out)
{
    switch (sample) {
    case IMGSTAT_U32:
        leading32(IMGSTAT_U32, x, n, out);
        break;
    case IMGSTAT_I32:
        leading32(IMGSTAT_I32, x, n, out);
        break;
    case IMGSTAT_F32:
        leading32(IMGSTAT_F32, x, n, out);
        break;
    case IMGSTAT_U64:
        leading64(IMGSTAT_U64, x, n, out);
        break;
    case IMGSTAT_I64:
        leading64(IMGSTAT_I64, x, n, out);
        break;
    default:
        leading64(IMGSTAT_F64, x, n, out);
    }
}

/* 32 equal words are two additions: else each waits for the counter that the one before it stored.
 * For the same reason neighbours go to two tables. */
LOOP void count_words_2(const Mem16 *x, size_t words, uint32_t *counts)
{
    const Mem64 *x64 = (const Mem64 *)(const void *)x;
    uint32_t *const other = counts + LOOP_TABLE;
    size_t i = 0;
    for (; i + 32 <= words; i += 32, x64 += 8) {
        const uint64_t first = x64[0];
        uint64_t differ = first ^ (first << 16 | first >> 48);
        for (int k = 1; k < 8; k++)
            differ |= first ^ x64[k];
        if (differ == 0) {
            counts[first & 0xFFFF] += 16;
            other[first & 0xFFFF] += 16;
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

/* One kind of sample. Most reads look for few keys: a block without one is passed over whole. */
enum { SELECT_BLOCK = 64 };

LOOP size_t select32(ImgstatSample sample, const Mem32 *x, size_t n, uint32_t lo, uint32_t span,
                     uint64_t *keys)
{
    size_t found = 0;
    for (size_t at = 0; at < n; at += SELECT_BLOCK) {
        const size_t m = least(SELECT_BLOCK, n - at);
        uint32_t any = 0;
        for (size_t j = 0; j < m; j++)
            any |= key32(sample, x[at + j]) - lo <= span ? 1u : 0u;
        for (size_t j = 0; any && j < m; j++) {
            const uint32_t key = key32(sample, x[at + j]);
            keys[found] = key;
            found += key - lo <= span;
        }
    }
    return found;
}

LOOP size_t select64(ImgstatSample sample, const Mem64 *x, size_t n, uint64_t lo, uint64_t span,
                     uint64_t *keys)
{
    size_t found = 0;
    for (size_t at = 0; at < n; at += SELECT_BLOCK) {
        const size_t m = least(SELECT_BLOCK, n - at);
        uint64_t any = 0;
        for (size_t j = 0; j < m; j++)
            any |= key64(sample, x[at + j]) - lo <= span ? 1u : 0u;
        for (size_t j = 0; any && j < m; j++) {
            const uint64_t key = key64(sample, x[at + j]);
            keys[found] = key;
            found += key - lo <= span;
        }
    }
    return found;
}

/* Interleaved channels, and narrow samples, whose bins leave little to read again. */
LOOP size_t select_each(ImgstatSample sample, const unsigned char *x, size_t n, size_t channels,
                        uint64_t lo, uint64_t hi, uint64_t *keys)
{
    const uint32_t bits = sample_bits(sample);
    size_t found = 0;
    for (size_t i = 0; i < n; i += channels) {
        uint64_t key = 0;
        if (bits == 64)
            key = key64(sample, ((const Mem64 *)(const void *)x)[i]);
        else if (bits == 32)
            key = key32(sample, ((const Mem32 *)(const void *)x)[i]);
        else if (bits == 16)
            key = key16(sample, ((const Mem16 *)(const void *)x)[i]);
        else
            key = x[i] ^ (sample == IMGSTAT_I8 ? 0x80u : 0u);
        keys[found] = key;
        found += key >= lo && key <= hi;
    }
    return found;
}

LOOP size_t select_any(ImgstatSample sample, const void *x, size_t n, size_t channels, uint64_t lo,
                       uint64_t hi, uint64_t *keys)
{
    const uint32_t bits = sample_bits(sample);
    const uint64_t most = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    hi = hi < most ? hi : most;
    if (lo > hi)
        return 0;
    if (channels == 1) {
        switch (sample) {
        case IMGSTAT_U32:
            return select32(IMGSTAT_U32, x, n, (uint32_t)lo, (uint32_t)(hi - lo), keys);
        case IMGSTAT_I32:
            return select32(IMGSTAT_I32, x, n, (uint32_t)lo, (uint32_t)(hi - lo), keys);
        case IMGSTAT_F32:
            return select32(IMGSTAT_F32, x, n, (uint32_t)lo, (uint32_t)(hi - lo), keys);
        case IMGSTAT_U64:
            return select64(IMGSTAT_U64, x, n, lo, hi - lo, keys);
        case IMGSTAT_I64:
            return select64(IMGSTAT_I64, x, n, lo, hi - lo, keys);
        case IMGSTAT_F64:
            return select64(IMGSTAT_F64, x, n, lo, hi - lo, keys);
        default:
            break;
        }
    }
    if (sample == IMGSTAT_F32)
        return select_each(IMGSTAT_F32, x, n, channels, lo, hi, keys);
    if (sample == IMGSTAT_F64)
        return select_each(IMGSTAT_F64, x, n, channels, lo, hi, keys);
    return select_each(sample, x, n, channels, lo, hi, keys);
}

#endif
