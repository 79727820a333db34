/* SPDX-License-Identifier: MIT */
/* warp.cuh: reductions over a warp, of integers of 32 and 64 bits: every lane calls, and every lane
 * gets the result. */
#ifndef IMGSTAT_WARP_CUH
#define IMGSTAT_WARP_CUH

static const unsigned ALL_LANES = 0xFFFFFFFFu;

template <typename T> static __device__ __forceinline__ T warp_sum(T v)
{
#if __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 4)
        return __reduce_add_sync(ALL_LANES, v);
    else
#endif
    {
#pragma unroll
        for (int h = 16; h > 0; h /= 2)
            v += __shfl_xor_sync(ALL_LANES, v, h);
        return v;
    }
}

template <typename T> static __device__ __forceinline__ T warp_min(T v)
{
#if __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 4)
        return __reduce_min_sync(ALL_LANES, v);
    else
#endif
    {
#pragma unroll
        for (int h = 16; h > 0; h /= 2)
            v = min(v, __shfl_xor_sync(ALL_LANES, v, h));
        return v;
    }
}

template <typename T> static __device__ __forceinline__ T warp_max(T v)
{
#if __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 4)
        return __reduce_max_sync(ALL_LANES, v);
    else
#endif
    {
#pragma unroll
        for (int h = 16; h > 0; h /= 2)
            v = max(v, __shfl_xor_sync(ALL_LANES, v, h));
        return v;
    }
}

#endif
