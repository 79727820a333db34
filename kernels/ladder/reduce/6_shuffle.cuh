/* SPDX-License-Identifier: MIT */
/* reduce/6_shuffle.cuh: lanes of a warp exchange registers; shared memory holds one value a warp.
 */
#ifndef IMGSTAT_LADDER_REDUCE_6_SHUFFLE_CUH
#define IMGSTAT_LADDER_REDUCE_6_SHUFFLE_CUH

#include "ladder/ladder.h"

enum { WARP = 32 };
static const unsigned ALL_LANES = 0xFFFFFFFFu;

/* Within a warp, a lane reads the register of the lane `offset` above it. */
template <int OP, typename A> static __device__ A warp_reduce(A value)
{
    for (int offset = WARP / 2; offset > 0; offset /= 2)
        value = ladder_combine<OP>(value, (A)__shfl_down_sync(ALL_LANES, value, offset));
    return value; /* complete in lane 0 */
}

/* Each warp leaves one value in shared memory; the first warp folds those the same way. */
template <int OP, unsigned BLOCK, typename A> static __device__ void block_reduce(A value, A *out)
{
    const unsigned WARPS = BLOCK / WARP;
    static_assert(BLOCK % WARP == 0 && WARPS <= WARP, "one warp folds what all warps leave");
    __shared__ A of_warp[WARPS];
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;

    value = warp_reduce<OP>(value);
    if (lane == 0)
        of_warp[warp] = value;
    __syncthreads(); /* all of of_warp is written before the first warp reads it */
    if (warp == 0) {
        const A all = warp_reduce<OP>(lane < WARPS ? of_warp[lane] : ladder_identity<OP, A>());
        if (lane == 0)
            *out = all;
    }
}

#endif
