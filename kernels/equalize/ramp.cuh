/* SPDX-License-Identifier: MIT */
/* equalize/ramp.cuh: maps from integers of 8 or 16 bits to such, in 32-bit arithmetic. */
#ifndef IMGSTAT_KERNELS_EQUALIZE_RAMP_CUH
#define IMGSTAT_KERNELS_EQUALIZE_RAMP_CUH

#include "equalize/chain.cuh"

/* clip_rank of fewer than 2^27 samples: n * nano < 2^64. */
DEVICE uint32_t small_rank(uint32_t n, uint64_t nano)
{
    return (uint32_t)(n * nano / 100000000000u);
}

/* Entries rise with the sums or, without contrast, with the key. */
struct Ramp {
    uint32_t low, span; /* from where, and how far; 0: no contrast */
};

/* map_sample, from key to bits. A 64-bit division would take longer than all the rest. */
DEVICE uint32_t ramp_entry(const SmallMap &m, const Ramp &ramp, uint32_t sum, uint32_t key)
{
    const uint32_t at = m.equalize && ramp.span ? sum : key;
    const uint32_t low = ramp.span ? ramp.low : m.full_lo;
    const uint32_t span = ramp.span ? ramp.span : m.full_span;
    const uint32_t part = min(at > low ? at - low : 0, span);
    const float share = __fdividef((float)m.range, (float)span);
    uint32_t to = m.lo + ratio_even_near(part, m.range, span, share);
    to = to != m.avoid ? to : to >= m.lo + m.range ? to - 1 : to + 1;
    to = !ramp.span && m.same ? key : to;
    return (key == m.nodata ? m.nodata_to : to) ^ m.to_flip;
}

#endif
