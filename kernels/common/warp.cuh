/* SPDX-License-Identifier: MIT */
/* common/warp.cuh: reductions and prefix sums over a warp, of integers of 32 and 64 bits: every
 * lane calls, and every lane gets the result. */
#ifndef IMGSTAT_KERNELS_COMMON_WARP_CUH
#define IMGSTAT_KERNELS_COMMON_WARP_CUH

#include "common/inline.cuh"

static const unsigned ALL_LANES = 0xFFFFFFFFu;

/* One instruction reduces 32 bits. Sums of 64 bits are those of three parts; 32 lanes of those do
 * not overflow 32 bits; extrema, unsigned, those of the upper halves, and of the lower ones where
 * the upper one is it. */

template <typename T> DEVICE T warp_sum(T v)
{
    if constexpr (sizeof(T) == 4) {
        return __reduce_add_sync(ALL_LANES, v);
    } else {
        typedef unsigned long long Word;
        enum { BITS = 22, MASK = (1 << BITS) - 1 };
        const Word w = (Word)v;
        const Word low = __reduce_add_sync(ALL_LANES, (unsigned)w & MASK);
        const Word middle = __reduce_add_sync(ALL_LANES, (unsigned)(w >> BITS) & MASK);
        const Word high = __reduce_add_sync(ALL_LANES, (unsigned)(w >> 2 * BITS));
        return (T)(low + (middle << BITS) + (high << 2 * BITS));
    }
}

template <typename T> DEVICE T warp_min(T v)
{
    if constexpr (sizeof(T) == 4) {
        return __reduce_min_sync(ALL_LANES, v);
    } else {
        static_assert((T)-1 > (T)0, "unsigned");
        const unsigned own = (unsigned)(v >> 32), high = __reduce_min_sync(ALL_LANES, own);
        const unsigned low = __reduce_min_sync(ALL_LANES, own == high ? (unsigned)v : 0xFFFFFFFFu);
        return (T)high << 32 | low;
    }
}

template <typename T> DEVICE T warp_max(T v)
{
    if constexpr (sizeof(T) == 4) {
        return __reduce_max_sync(ALL_LANES, v);
    } else {
        static_assert((T)-1 > (T)0, "unsigned");
        const unsigned own = (unsigned)(v >> 32), high = __reduce_max_sync(ALL_LANES, own);
        const unsigned low = __reduce_max_sync(ALL_LANES, own == high ? (unsigned)v : 0u);
        return (T)high << 32 | low;
    }
}

/* The sum of the lanes up to each. */
template <typename T> DEVICE T warp_inclusive(T v)
{
#pragma unroll
    for (int h = 1; h < 32; h *= 2) {
        const T lower = __shfl_up_sync(ALL_LANES, v, h);
        v += threadIdx.x % 32 >= (unsigned)h ? lower : 0;
    }
    return v;
}

/* The sum of a block's threads up to each; of_warp: a word a warp, in shared memory, that nobody
 * reads any more. */
template <typename T> DEVICE T block_inclusive(T v, T *of_warp)
{
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const T sum = warp_inclusive(v);
    if (lane == 31)
        of_warp[warp] = sum;
    __syncthreads(); /* sums of warps are known */
    return sum + warp_sum(lane < warp ? of_warp[lane] : (T)0);
}

#endif
