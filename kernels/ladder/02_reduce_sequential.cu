/* SPDX-License-Identifier: MIT */
/* 02_reduce_sequential.cu: the same partials, with the working threads packed together. */
#include "ladder.h"

/*
 * reduce_2_sequential: the stride halves.
 *
 *   Idea      In each step the lower half of the live threads takes the upper half, so live
 *             threads stay packed and whole warps retire together.
 *   Work      n-1 combinations, log2(BLOCK) steps, one partial per block.
 *   Memory    reads n samples once, writes one accumulator per block; BLOCK accumulators shared.
 *   Launch    <<<ceil(n / BLOCK), BLOCK>>>, BLOCK a power of two.
 *   Requires  n >= 1; in and partial do not overlap.
 *   Result    partial[b] = sum, minimum or maximum of tile b.
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

    tile[t] = i < n ? (A)in[i] : ladder_identity<OP, A>();
    for (unsigned half = BLOCK / 2; half > 0; half /= 2) {
        __syncthreads(); /* outside the branch: every thread, every step */
        if (t < half)
            tile[t] = ladder_combine<OP>(tile[t], tile[t + half]);
    }
    if (t == 0)
        partial[blockIdx.x] = tile[0];
}

template <typename T, int OP> static cudaError_t launch_sequential(const LadderCall *call)
{
    typedef typename LadderAcc<T, OP>::type A;
    static_assert((BLOCK & (BLOCK - 1)) == 0, "halves down to 1");
    if (call->n == 0)
        return cudaSuccess;
    reduce_2_sequential<T, A, OP>
        <<<(unsigned)ladder_tiles(call->n, BLOCK), BLOCK, 0, call->stream>>>(
            (const T *)call->in, call->n, (A *)call->out);
    return cudaGetLastError();
}

static size_t scratch_bytes(size_t)
{
    return 0;
}

const LadderReduce ladder_reduce_sequential = {
    "reduce_2_sequential",
    "stride halves from B/2; working threads stay packed",
    "n-1",
    "log2 B",
    BLOCK,
    {BLOCK},
    scratch_bytes,
    {{launch_sequential<uint16_t, LADDER_SUM>, launch_sequential<uint16_t, LADDER_MIN>,
      launch_sequential<uint16_t, LADDER_MAX>},
     {launch_sequential<int32_t, LADDER_SUM>, launch_sequential<int32_t, LADDER_MIN>,
      launch_sequential<int32_t, LADDER_MAX>},
     {launch_sequential<float, LADDER_SUM>, launch_sequential<float, LADDER_MIN>,
      launch_sequential<float, LADDER_MAX>}},
};
