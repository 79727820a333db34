/* SPDX-License-Identifier: MIT */
/* loop_select.h: loops of further reads: finding keys, distances from a center and their
 * powers. */
#ifndef IMGSTAT_CPU_LOOP_SELECT_H
#define IMGSTAT_CPU_LOOP_SELECT_H

#include "cpu/loop_common.h"
#include "transfer/map.h"

/* Samples that are compared at once: most reads look for few keys. */
enum { SELECT_BLOCK = 64 };

/* Keys of a block of samples. in[j] is 1 if key j is within the range. */
typedef struct SelectBlock {
    uint32_t key32[SELECT_BLOCK];
    uint64_t key64[SELECT_BLOCK];
    uint8_t in[SELECT_BLOCK];
} SelectBlock;

FORCE_INLINE uint64_t block_key(ImgstatSample sample, const SelectBlock *block, size_t j)
{
    return sample_bits(sample) == 32 ? block->key32[j] : block->key64[j];
}

FORCE_INLINE void compare_block(ImgstatSample sample, const void *x, size_t stride, uint64_t lo,
                                uint64_t span, SelectBlock *block)
{
    const uint32_t lo32 = (uint32_t)lo, span32 = (uint32_t)span;
    if (sample_bits(sample) == 32) {
        for (size_t j = 0; j < SELECT_BLOCK; j++)
            block->key32[j] = (uint32_t)key_at(sample, x, j * stride);
        for (size_t j = 0; j < SELECT_BLOCK; j++)
            block->in[j] = block->key32[j] - lo32 <= span32;
    } else {
        for (size_t j = 0; j < SELECT_BLOCK; j++)
            block->key64[j] = key_at(sample, x, j * stride);
        for (size_t j = 0; j < SELECT_BLOCK; j++)
            block->in[j] = block->key64[j] - lo <= span;
    }
}

/* Packs the keys from lo to lo + span of every `stride`th of the n samples at x that are not
 * masked, one by one. */
FORCE_INLINE size_t select_singly(ImgstatSample sample, const void *x, size_t n, size_t stride,
                                  const uint8_t *mask, uint64_t lo, uint64_t span, uint64_t *keys)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t key = key_at(sample, x, i * stride);
        keys[found] = key;
        found += (key - lo <= span) & (!mask || mask[i]);
    }
    return found;
}

/* Packs the keys of select_singly, block by block. */
FORCE_INLINE size_t select_of(ImgstatSample sample, const void *x, size_t n, size_t stride,
                              const uint8_t *mask, uint64_t lo, uint64_t span, uint64_t *keys)
{
    enum { EIGHT = 8, MANY = 3 };
    const unsigned char *const bytes = x;
    size_t found = 0, at = 0;
    for (; n - at >= SELECT_BLOCK; at += SELECT_BLOCK) {
        SelectBlock block;
        compare_block(sample, bytes + at * stride * (sample_bits(sample) / 8), stride, lo, span,
                      &block);
        for (size_t j = 0; mask && j < SELECT_BLOCK; j++)
            block.in[j] &= mask[at + j] != 0;
        for (size_t j = 0; j < SELECT_BLOCK; j += EIGHT) {
            uint64_t eight;
            memcpy(&eight, block.in + j, EIGHT);
            if (__builtin_popcountll(eight) > MANY) {
                for (size_t k = j; k < j + EIGHT; k++) {
                    keys[found] = block_key(sample, &block, k);
                    found += block.in[k];
                }
                continue;
            }
            for (; eight; eight &= eight - 1) /* little-endian */
                keys[found++] = block_key(sample, &block, j + (unsigned)__builtin_ctzll(eight) / 8);
        }
    }
    return found + select_singly(sample, bytes + at * stride * (sample_bits(sample) / 8), n - at,
                                 stride, mask ? mask + at : NULL, lo, span, keys + found);
}

typedef struct SelectCall {
    const void *x;
    size_t n, stride;
    const uint8_t *mask;
    uint64_t lo, span;
    uint64_t *keys;
    size_t *found;
} SelectCall;

/* Makes the stride a constant, so that compilers load vectors and shuffle them. */
FORCE_INLINE void select_call(ImgstatSample sample, const void *call)
{
    const SelectCall *const c = call;
    switch (c->stride) {
    case 1:
        *c->found = select_of(sample, c->x, c->n, 1, c->mask, c->lo, c->span, c->keys);
        break;
    case 3:
        *c->found = select_of(sample, c->x, c->n, 3, c->mask, c->lo, c->span, c->keys);
        break;
    default:
        *c->found = select_of(sample, c->x, c->n, c->stride, c->mask, c->lo, c->span, c->keys);
    }
}

static size_t select_keys(ImgstatSample sample, const void *x, size_t n, size_t channels,
                          const uint8_t *mask, uint64_t lo, uint64_t hi, uint64_t *keys)
{
    const uint32_t bits = sample_bits(sample);
    const uint64_t most = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    hi = hi < most ? hi : most;
    if (lo > hi)
        return 0;
    const size_t pixels = n ? (n - 1) / channels + 1 : 0;
    if (bits <= 16) /* bins of narrow types leave little to read again */
        return select_singly(sample, x, pixels, channels, mask, lo, hi - lo, keys);
    size_t found = 0;
    const SelectCall call = {x, pixels, channels, mask, lo, hi - lo, keys, &found};
    for_wide_sample(sample, select_call, &call);
    return found;
}

/* ---- Counting between edges ------------------------------------------------------------------ */

/* Returns the value of wide sample i at x. */
FORCE_INLINE double value_at(ImgstatSample sample, const void *x, size_t i)
{
    switch (sample) {
    case IMGSTAT_U32:
        return (double)((const Mem32 *)x)[i];
    case IMGSTAT_I32:
        return (double)(int32_t)((const Mem32 *)x)[i];
    case IMGSTAT_F32:
        return (double)((const MemF32 *)x)[i];
    case IMGSTAT_U64:
        return (double)((const Mem64 *)x)[i];
    case IMGSTAT_I64:
        return (double)(int64_t)((const Mem64 *)x)[i];
    default:
        return ((const MemF64 *)x)[i];
    }
}

/* Guesses the bins of a block, which compilers vectorize, then corrects each guess. */
FORCE_INLINE void count_bins_of(ImgstatSample sample, const void *x, size_t n, size_t stride,
                                const LoopBins *bins, uint32_t *counts)
{
    enum { BLOCK = 64 };
    const uint64_t *const edge = bins->edge, first = bins->least, span = bins->most - first;
    const double last = (double)(bins->n_bins - 1), lo = bins->lo, per_bin = bins->per_bin;
    int32_t guess[BLOCK];
    for (size_t at = 0; at < n; at += BLOCK) {
        const size_t m = least(BLOCK, n - at);
        for (size_t j = 0; j < m; j++) {
            const size_t i = (at + j) * stride;
            const double g = (value_at(sample, x, i) - lo) * per_bin;
            const double low = g > 0.0 ? g : 0.0; /* also if g is NaN */
            guess[j] = (int32_t)(low < last ? low : last);
        }
        for (size_t j = 0; j < m; j++) {
            const uint64_t key = key_at(sample, x, (at + j) * stride);
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

typedef struct BinsCall {
    const void *x;
    size_t n, stride;
    const LoopBins *bins;
    uint32_t *counts;
} BinsCall;

FORCE_INLINE void count_bins_call(ImgstatSample sample, const void *call)
{
    const BinsCall *const c = call;
    if (c->stride == 1)
        count_bins_of(sample, c->x, c->n, 1, c->bins, c->counts);
    else if (c->stride == 3)
        count_bins_of(sample, c->x, c->n, 3, c->bins, c->counts);
    else
        count_bins_of(sample, c->x, c->n, c->stride, c->bins, c->counts);
}

static void count_bins(ImgstatSample sample, const void *x, size_t n, size_t stride,
                       const LoopBins *bins, uint32_t *counts)
{
    const BinsCall call = {x, n, stride, bins, counts};
    for_wide_sample(sample, count_bins_call, &call);
}

/* ---- Distances ------------------------------------------------------------------------------- */

/* Computes the distances of every `stride`th wide sample at x, n of them, from a center; 0, which
 * adds nothing, for samples that are nodata or not finite. */
FORCE_INLINE void distances_of(ImgstatSample sample, const void *x, size_t n, size_t stride,
                               bool has_nodata, uint64_t nodata, double center, double *d)
{
    for (size_t i = 0; i < n; i++) {
        const double value = value_at(sample, x, i * stride), distance = value - center;
        bool valid = !sample_is_float(sample) || fabs(value) < INFINITY;
        if (has_nodata)
            valid = valid && key_at(sample, x, i * stride) != nodata;
        d[i] = valid ? distance : 0.0;
    }
}

/* Computes distances for center_is_whole: of keys, rounded as doubles would be. */
FORCE_INLINE void distances_whole(ImgstatSample sample, const void *x, size_t n, size_t stride,
                                  const uint64_t *nodata, uint64_t center, double *d)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t key = key_at(sample, x, i * stride);
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
    const uint64_t nodata = c->nodata ? *c->nodata : 0;
    if (center_is_whole(sample, c->center))
        distances_whole(sample, c->x, c->n, c->stride, c->nodata, map_key(sample, c->center), c->d);
    else if (c->stride == 1)
        distances_of(sample, c->x, c->n, 1, c->nodata != NULL, nodata, c->center, c->d);
    else if (c->stride == 3)
        distances_of(sample, c->x, c->n, 3, c->nodata != NULL, nodata, c->center, c->d);
    else
        distances_of(sample, c->x, c->n, c->stride, c->nodata != NULL, nodata, c->center, c->d);
}

static void distances(ImgstatSample sample, const void *x, size_t n, size_t stride,
                      const uint64_t *nodata, double center, double *d)
{
    const DistancesCall call = {x, n, stride, nodata, center, d};
    for_wide_sample(sample, distances_call, &call);
}

/* Sums the powers 1 to 4 of the n distances of a piece, in its tree (docs/float-sums.md). */
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
