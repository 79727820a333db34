/* SPDX-License-Identifier: MIT */
/* loop_select.h: loops of further reads: finding keys, distances from a center and their
 * powers. */
#ifndef IMGSTAT_CPU_LOOP_SELECT_H
#define IMGSTAT_CPU_LOOP_SELECT_H

#include "cpu/loop_common.h"
#include "transfer/map.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

/* Most reads look for few keys: a block without one is passed over whole. */
enum { SELECT_BLOCK = 32 };

/* Every `stride`th of the samples at x, n of them. */
FORCE_INLINE size_t select32(ImgstatSample sample, const Mem32 *x, size_t n, size_t stride,
                             uint32_t lo, uint32_t span, uint64_t *keys)
{
    size_t found = 0;
    for (size_t at = 0; at < n; at += SELECT_BLOCK) {
        const Mem32 *const block = x + at * stride;
        const size_t m = least(SELECT_BLOCK, n - at);
        uint32_t any = 0;
        for (size_t j = 0; j < m; j++)
            any |= key32(sample, block[j * stride]) - lo <= span ? 1u : 0u;
        for (size_t j = 0; any && j < m; j++) {
            const uint32_t key = key32(sample, block[j * stride]);
            keys[found] = key;
            found += key - lo <= span;
        }
    }
    return found;
}

FORCE_INLINE size_t select64(ImgstatSample sample, const Mem64 *x, size_t n, size_t stride,
                             uint64_t lo, uint64_t span, uint64_t *keys)
{
    size_t found = 0;
    for (size_t at = 0; at < n; at += SELECT_BLOCK) {
        const Mem64 *const block = x + at * stride;
        const size_t m = least(SELECT_BLOCK, n - at);
        uint64_t any = 0;
        for (size_t j = 0; j < m; j++)
            any |= key64(sample, block[j * stride]) - lo <= span ? 1u : 0u;
        for (size_t j = 0; any && j < m; j++) {
            const uint64_t key = key64(sample, block[j * stride]);
            keys[found] = key;
            found += key - lo <= span;
        }
    }
    return found;
}

/* Strides known to the compiler, so that it loads vectors and shuffles them. */
FORCE_INLINE size_t select_wide(ImgstatSample sample, const void *x, size_t n, size_t stride,
                                uint64_t lo, uint64_t span, uint64_t *keys)
{
    if (sample_bits(sample) == 64)
        return stride == 1   ? select64(sample, x, n, 1, lo, span, keys)
               : stride == 3 ? select64(sample, x, n, 3, lo, span, keys)
                             : select64(sample, x, n, stride, lo, span, keys);
    const uint32_t lo32 = (uint32_t)lo, span32 = (uint32_t)span;
    switch (stride) {
    case 1:
        return select32(sample, x, n, 1, lo32, span32, keys);
    case 2:
        return select32(sample, x, n, 2, lo32, span32, keys);
    case 3:
        return select32(sample, x, n, 3, lo32, span32, keys);
    case 4:
        return select32(sample, x, n, 4, lo32, span32, keys);
    default:
        return select32(sample, x, n, stride, lo32, span32, keys);
    }
}

/* Narrow samples, whose bins leave little to read again. */
FORCE_INLINE size_t select_narrow(ImgstatSample sample, const unsigned char *x, size_t n,
                                  size_t stride, uint64_t lo, uint64_t span, uint64_t *keys)
{
    const bool words = sample_bits(sample) == 16;
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t key = words ? key16(sample, ((const Mem16 *)(const void *)x)[i * stride])
                                   : x[i * stride] ^ (sample == IMGSTAT_I8 ? 0x80u : 0u);
        keys[found] = key;
        found += key - lo <= span;
    }
    return found;
}

FORCE_INLINE size_t select_any(ImgstatSample sample, const void *x, size_t n, size_t channels,
                               uint64_t lo, uint64_t hi, uint64_t *keys)
{
    const uint32_t bits = sample_bits(sample);
    const uint64_t most = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    hi = hi < most ? hi : most;
    if (lo > hi)
        return 0;
    const size_t pixels = n ? (n - 1) / channels + 1 : 0;
    switch (sample) {
    case IMGSTAT_U32:
        return select_wide(IMGSTAT_U32, x, pixels, channels, lo, hi - lo, keys);
    case IMGSTAT_I32:
        return select_wide(IMGSTAT_I32, x, pixels, channels, lo, hi - lo, keys);
    case IMGSTAT_F32:
        return select_wide(IMGSTAT_F32, x, pixels, channels, lo, hi - lo, keys);
    case IMGSTAT_U64:
        return select_wide(IMGSTAT_U64, x, pixels, channels, lo, hi - lo, keys);
    case IMGSTAT_I64:
        return select_wide(IMGSTAT_I64, x, pixels, channels, lo, hi - lo, keys);
    case IMGSTAT_F64:
        return select_wide(IMGSTAT_F64, x, pixels, channels, lo, hi - lo, keys);
    default:
        return select_narrow(sample, x, pixels, channels, lo, hi - lo, keys);
    }
}

#if defined(__AVX512F__)

/* The order keys of 16 samples of 32 bits. */
FORCE_INLINE __m512i keys_16(ImgstatSample sample, __m512i raw)
{
    const __m512i sign = _mm512_set1_epi32(INT32_MIN);
    if (sample == IMGSTAT_U32)
        return raw;
    if (sample == IMGSTAT_I32)
        return _mm512_xor_si512(raw, sign);
    const __mmask16 minus_zero = _mm512_cmpeq_epi32_mask(raw, sign); /* has the key of +0 */
    const __m512i flip = _mm512_or_si512(_mm512_srai_epi32(raw, 31), sign);
    return _mm512_mask_mov_epi32(_mm512_xor_si512(raw, flip), minus_zero, sign);
}

/* select_any for 32-bit samples that are neighbours; span = hi - lo. The keys found move together
 * in a register. */
static size_t select_packed(ImgstatSample sample, const Mem32 *x, size_t n, uint32_t lo,
                            uint32_t span, uint64_t *keys)
{
    const __m512i first = _mm512_set1_epi32((int)lo);
    const __m512i most = _mm512_set1_epi32((int)span);
    size_t found = 0, i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m512i key = keys_16(sample, _mm512_loadu_si512(x + i));
        const __mmask16 in = _mm512_cmple_epu32_mask(_mm512_sub_epi32(key, first), most);
        if (in == 0)
            continue;
        const __m512i packed = _mm512_maskz_compress_epi32(in, key);
        const unsigned here = (unsigned)__builtin_popcount(in);
        _mm512_mask_storeu_epi64(keys + found, (__mmask8)_bzhi_u32(0xFF, here),
                                 _mm512_cvtepu32_epi64(_mm512_castsi512_si256(packed)));
        if (here > 8)
            _mm512_mask_storeu_epi64(keys + found + 8, (__mmask8)_bzhi_u32(0xFF, here - 8),
                                     _mm512_cvtepu32_epi64(_mm512_extracti32x8_epi32(packed, 1)));
        found += here;
    }
    return found + select_any(sample, x + i, n - i, 1, lo, (uint64_t)lo + span, keys + found);
}

#endif

static size_t select_keys(ImgstatSample sample, const void *x, size_t n, size_t channels,
                          uint64_t lo, uint64_t hi, uint64_t *keys)
{
#if defined(__AVX512F__)
    if (sample_bits(sample) == 32 && channels == 1 && lo <= hi && lo <= UINT32_MAX) {
        const uint64_t most = hi < UINT32_MAX ? hi : UINT32_MAX;
        return select_packed(sample, x, n, (uint32_t)lo, (uint32_t)(most - lo), keys);
    }
#endif
    return select_any(sample, x, n, channels, lo, hi, keys);
}

/* ---- Counting between edges ------------------------------------------------------------------ */

/* The value of a wide sample. */
FORCE_INLINE double value_of(ImgstatSample sample, uint64_t raw)
{
    const uint32_t low = (uint32_t)raw;
    float f32;
    double f64;
    switch (sample) {
    case IMGSTAT_U32:
        return (double)low;
    case IMGSTAT_I32:
        return (double)(int32_t)low;
    case IMGSTAT_F32:
        memcpy(&f32, &low, sizeof f32);
        return (double)f32;
    case IMGSTAT_U64:
        return (double)raw;
    case IMGSTAT_I64:
        return (double)(int64_t)raw;
    default:
        memcpy(&f64, &raw, sizeof f64);
        return f64;
    }
}

/* Calls the loop with the sample type as a constant, so that it is compiled for each. */
FORCE_INLINE void for_wide_sample(ImgstatSample sample,
                                  void (*loop)(ImgstatSample sample, const void *call),
                                  const void *call)
{
    switch (sample) {
    case IMGSTAT_U32:
        loop(IMGSTAT_U32, call);
        break;
    case IMGSTAT_I32:
        loop(IMGSTAT_I32, call);
        break;
    case IMGSTAT_F32:
        loop(IMGSTAT_F32, call);
        break;
    case IMGSTAT_U64:
        loop(IMGSTAT_U64, call);
        break;
    case IMGSTAT_I64:
        loop(IMGSTAT_I64, call);
        break;
    default:
        loop(IMGSTAT_F64, call);
    }
}

/* Guesses in a block, which the compiler makes vectors of, then corrects each. */
FORCE_INLINE void count_bins_of(ImgstatSample sample, const void *x, size_t n, size_t stride,
                                const LoopBins *bins, uint32_t *counts)
{
    enum { BLOCK = 64 };
    const Mem32 *const x32 = x;
    const Mem64 *const x64 = x;
    const uint64_t *const edge = bins->edge, first = bins->least, span = bins->most - first;
    const double last = (double)(bins->n_bins - 1), lo = bins->lo, per_bin = bins->per_bin;
    int32_t guess[BLOCK];
    for (size_t at = 0; at < n; at += BLOCK) {
        const size_t m = least(BLOCK, n - at);
        for (size_t j = 0; j < m; j++) {
            const size_t i = (at + j) * stride;
            const double g =
                (value_of(sample, sample_bits(sample) == 32 ? x32[i] : x64[i]) - lo) * per_bin;
            const double low = g > 0.0 ? g : 0.0; /* also where it is not a number */
            guess[j] = (int32_t)(low < last ? low : last);
        }
        for (size_t j = 0; j < m; j++) {
            const size_t i = (at + j) * stride;
            const uint64_t key =
                sample_bits(sample) == 32 ? key32(sample, x32[i]) : key64(sample, x64[i]);
            uint32_t k = (uint32_t)guess[j];
            if (key - first > span || (bins->has_nodata && key == bins->nodata))
                continue;
            while (key < edge[k])
                k--;
            while (key >= edge[k + 1])
                k++;
            counts[j % 2 * bins->n_bins + k]++;
        }
    }
}

FORCE_INLINE void count_bins_strided(ImgstatSample sample, const void *x, size_t n, size_t stride,
                                     const LoopBins *bins, uint32_t *counts)
{
    if (stride == 1)
        count_bins_of(sample, x, n, 1, bins, counts);
    else if (stride == 3)
        count_bins_of(sample, x, n, 3, bins, counts);
    else
        count_bins_of(sample, x, n, stride, bins, counts);
}

typedef struct BinsCall {
    const void *x;
    size_t n, stride;
    const LoopBins *bins;
    uint32_t *counts;
} BinsCall;

FORCE_INLINE void count_bins_call(ImgstatSample sample, const void *call)
{
    const BinsCall *const c = call;
    count_bins_strided(sample, c->x, c->n, c->stride, c->bins, c->counts);
}

static void count_bins(ImgstatSample sample, const void *x, size_t n, size_t stride,
                       const LoopBins *bins, uint32_t *counts)
{
    const BinsCall call = {x, n, stride, bins, counts};
    for_wide_sample(sample, count_bins_call, &call);
}

/* ---- Distances ------------------------------------------------------------------------------- */

/* Distances of every `stride`th wide sample at x, n of them, from a center; 0, which adds nothing,
 * for those that are not finite or are nodata. */
FORCE_INLINE void distances_of(ImgstatSample sample, const void *x, size_t n, size_t stride,
                               bool has_nodata, uint64_t nodata, double center, double *d)
{
    const Mem32 *const x32 = x;
    const Mem64 *const x64 = x;
    for (size_t i = 0; i < n; i++) {
        double value;
        uint64_t key;
        bool valid = true;
        if (sample_bits(sample) == 32) {
            const uint32_t raw = x32[i * stride];
            key = key32(sample, raw);
            value = value_of(sample, raw);
            if (sample == IMGSTAT_F32)
                valid = (raw & 0x7F800000u) != 0x7F800000u;
        } else {
            const uint64_t raw = x64[i * stride], exponent = (uint64_t)0x7FF << 52;
            key = key64(sample, raw);
            value = value_of(sample, raw);
            if (sample == IMGSTAT_F64)
                valid = (raw & exponent) != exponent;
        }
        if (has_nodata)
            valid = valid && key != nodata;
        const double distance = value - center;
        d[i] = valid ? distance : 0.0;
    }
}

FORCE_INLINE void distances_strided(ImgstatSample sample, const void *x, size_t n, size_t stride,
                                    const uint64_t *nodata, double center, double *d)
{
    const uint64_t key = nodata ? *nodata : 0;
    if (stride == 1)
        distances_of(sample, x, n, 1, nodata != NULL, key, center, d);
    else if (stride == 3)
        distances_of(sample, x, n, 3, nodata != NULL, key, center, d);
    else
        distances_of(sample, x, n, stride, nodata != NULL, key, center, d);
}

/* The same where center_is_whole. */
FORCE_INLINE void distances_whole(ImgstatSample sample, const Mem64 *x, size_t n, size_t stride,
                                  const uint64_t *nodata, uint64_t center, double *d)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t key = key64(sample, x[i * stride]);
        d[i] = nodata && key == *nodata ? 0.0 : key_distance(key, center);
    }
}

typedef struct DistancesCall {
    const void *x;
    size_t n, stride;
    const uint64_t *nodata;
    double center;
    double *d;
} DistancesCall;

FORCE_INLINE void distances_call(ImgstatSample sample, const void *call)
{
    const DistancesCall *const c = call;
    if (center_is_whole(sample, c->center))
        distances_whole(sample, c->x, c->n, c->stride, c->nodata, map_key(sample, c->center), c->d);
    else
        distances_strided(sample, c->x, c->n, c->stride, c->nodata, c->center, c->d);
}

static void distances(ImgstatSample sample, const void *x, size_t n, size_t stride,
                      const uint64_t *nodata, double center, double *d)
{
    const DistancesCall call = {x, n, stride, nodata, center, d};
    for_wide_sample(sample, distances_call, &call);
}

/* Sums of the powers 1 to 4 of the n distances of a piece, in its tree (docs/float-sums.md). */
static void powers(const double *d, size_t n, double out[4])
{
    double lane[4][PIECE_LANES] = {{0}};
    for (size_t at = 0; at < n; at += PIECE_LANES) {
        const size_t m = least(PIECE_LANES, n - at);
        for (size_t l = 0; l < m; l++) {
            const double first = d[at + l], square = first * first;
            lane[0][l] += first;
            lane[1][l] += square;
            lane[2][l] += square * first;
            lane[3][l] += square * square;
        }
    }
    for (int power = 0; power < 4; power++) {
        for (int h = PIECE_LANES / 2; h > 0; h /= 2)
            for (int l = 0; l < h; l++)
                lane[power][l] += lane[power][l + h];
        out[power] = lane[power][0];
    }
}

#endif
