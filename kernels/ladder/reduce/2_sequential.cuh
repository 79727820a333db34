/* SPDX-License-Identifier: MIT */
/* reduce/2_sequential.cuh: the same partials, with the working threads packed together. */
#ifndef IMGSTAT_LADDER_REDUCE_2_SEQUENTIAL_CUH
#define IMGSTAT_LADDER_REDUCE_2_SEQUENTIAL_CUH

#include "ladder/ladder.h"

/*
 * reduce_2_sequential: the stride halves.
 *
 *   Idea      In each step the lower half of the live threads takes the upper half, so live
 *             threads stay packed and whole warps retire together.
 *   Work      n-1 combinations, log2(BLOCK) steps, one partial per block.
 *   Memory    reads n samples once, writes one accumulator per block; BLOCK accumulators shared.
 *   Launch    <<<ceil(n / BLOCK), BLOCK>>>, BLOCK a power of two.
 *   Requires  in and partial do not overlap.
 *   Result    partial[b] = sum or maximum of tile b.
 *
 * The rung below scattered its working threads: from the second step on every warp ran with most
 * lanes masked off, paid for a modulo, and hit shared memory at a stride, in conflicting banks.
 */
enum { BLOCK = 256 };

template <typename T, typename A, int OP>
static __global__ void reduce_2_sequential(const T *__restrict__ in, size_t n,
                                           A *__restrict__ partial)
{
    __shared__ A tile[BLOCK];
    const unsigned t = threadIdx.x;
    const size_t i = (size_t)blockIdx.x * BLOCK + t;
    static_assert((BLOCK & (BLOCK - 1)) == 0, "halves down to 1");

    tile[t] = i < n ? (A)in[i] : ladder_identity<OP, A>();
    for (unsigned half = BLOCK / 2; half > 0; half /= 2) {
        __syncthreads(); /* outside the branch: every thread, every step */
        if (t < half)
            tile[t] = ladder_combine<OP>(tile[t], tile[t + half]);
    }
    if (t == 0)
        partial[blockIdx.x] = tile[0];
}

#endif
