/* SPDX-License-Identifier: MIT */
/* ratio.h: exact quotients of integers, and ranks and counts compared by them; compiled by C and by
 * CUDA C. */
#ifndef IMGSTAT_TRANSFER_RATIO_H
#define IMGSTAT_TRANSFER_RATIO_H

#include "base/search.h"

__extension__ typedef unsigned __int128 Wide128;

/* Rounds the quotient of a division half to even by its remainder. */
IMGSTAT_INLINE uint64_t ratio_finish(uint64_t quotient, uint64_t remainder, uint64_t denominator)
{
    const uint64_t rest = denominator - remainder; /* > 0 */
    return quotient + (remainder > rest || (remainder == rest && (quotient & 1)));
}

/* numerator / denominator, rounded half to even; denominator > 0. */
IMGSTAT_INLINE uint32_t ratio_even32(uint32_t numerator, uint32_t denominator)
{
    const uint32_t quotient = numerator / denominator;
    return (uint32_t)ratio_finish(quotient, numerator - quotient * denominator, denominator);
}

/* numerator / denominator, rounded half to even; denominator > 0. */
IMGSTAT_INLINE uint64_t ratio_even64(uint64_t numerator, uint64_t denominator)
{
    const uint64_t quotient = numerator / denominator;
    return ratio_finish(quotient, numerator - quotient * denominator, denominator);
}

/* a * b / denominator, exact, rounded half to even; the quotient must fit. denominator > 0. */
IMGSTAT_INLINE uint64_t ratio_even(uint64_t a, uint64_t b, uint64_t denominator)
{
    if (((a | b) >> 32) == 0)
        return ratio_even64(a * b, denominator);
    const Wide128 product = (Wide128)a * b;
    if ((product >> 64) == 0)
        return ratio_even64((uint64_t)product, denominator);
    const uint64_t quotient = (uint64_t)(product / denominator);
    const uint64_t remainder = (uint64_t)(product - (Wide128)quotient * denominator);
    return ratio_finish(quotient, remainder, denominator);
}

/* ratio_even of many numerators a for one b and denominator; a <= denominator < 2^30, b < 2^16.
 * share: b / denominator as a float, within some units of its last place. The float quotient is
 * then off by less than 0.6, so the exact remainder, which fits 32 bits, selects it or a
 * neighbour. */
IMGSTAT_INLINE uint32_t ratio_even_near(uint32_t a, uint32_t b, uint32_t denominator, float share)
{
    const uint32_t quotient = (uint32_t)((float)a * share + 0.5f);
    const int32_t twice = (int32_t)(2 * (a * b - quotient * denominator));
    const int32_t whole = (int32_t)denominator, odd = quotient & 1;
    return quotient + (twice > whole - odd) - (twice < odd - whole);
}

/* A percentage in billionths of a percent: nine decimals. */
IMGSTAT_INLINE uint64_t clip_nano(double percent)
{
    return (uint64_t)rint(percent * 1e9);
}

/* floor(n * percent / 100): the rank, from either end, of the first sample that is not cut. */
IMGSTAT_INLINE uint64_t clip_rank(uint64_t n, uint64_t nano)
{
    return (uint64_t)((Wide128)n * nano / 100000000000u);
}

/* The smallest key with cdf[key] > count, or `bins`. cdf: `bins` inclusive counts. */
IMGSTAT_INLINE uint32_t cdf_above(const uint64_t *cdf, uint32_t bins, uint64_t count)
{
    return first_above(cdf, sizeof *cdf, bins, count);
}

/* The index of the first of n_counts inclusive counts that is at least n * count / of. From one to
 * the next are `step` bytes; the last is n > 0; count <= of. */
IMGSTAT_INLINE uint32_t share_match(const uint64_t *counts, size_t step, uint32_t n_counts,
                                    uint64_t n, uint64_t count, uint64_t of)
{
    if (count == 0)
        return 0;
    const Wide128 product = (Wide128)n * count - 1;
    const uint64_t below = product >> 64 ? (uint64_t)(product / of) : (uint64_t)product / of;
    return first_above(counts, step, n_counts - 1, below);
}

/* Percent of the samples that a percentile stretch cuts at each end by default: ImageJ saturates
 * 0.35 % in all. */
static const double transfer_clip = 0.175;

/* Percent of the samples that a method cuts at each end; 0 unless it is a percentile stretch. */
typedef struct Clip {
    double lo, hi;
} Clip;

static inline Clip transfer_clip_of(const ImgstatMethod *method)
{
    Clip clip = {0, 0};
    if (method->transform == IMGSTAT_PERCENTILE) {
        clip.lo = method->has_clip ? method->clip_lo : transfer_clip;
        clip.hi = method->has_clip ? method->clip_hi : transfer_clip;
    }
    return clip;
}

/* Ranks (0-based, ascending) of black and white among n >= 1 samples; black > white where nothing
 * is left. */
static inline void transfer_clip_ranks(const ImgstatMethod *method, uint64_t n, uint64_t *black,
                                       uint64_t *white)
{
    const Clip clip = transfer_clip_of(method);
    const uint64_t cut = clip_rank(n, clip_nano(clip.hi));
    *black = clip_rank(n, clip_nano(clip.lo));
    *white = n > cut ? n - 1 - cut : 0;
}

#endif
