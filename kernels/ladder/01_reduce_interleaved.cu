/* SPDX-License-Identifier: MIT */
/* 01_reduce_interleaved.cu: the first parallel reduction one writes: neighbours pair up, then
 * pairs. */
#include "ladder.h"

/*
 * reduce_1_interleaved: the stride doubles.
 *
 *   Idea      A block holds a tile in shared memory. In the step of stride s, thread t with
 *             t % 2s == 0 combines tile[t] with tile[t + s].
 *   Work      n-1 combinations, log2(BLOCK) steps, one partial per block.
 *   Memory    reads n samples once, writes one accumulator per block; BLOCK accumulators shared.
 *   Launch    <<<ceil(n / BLOCK), BLOCK>>>, BLOCK a power of two.
 *   Requires  n >= 1; in and partial do not overlap.
 *   Result    partial[b] = sum, minimum or maximum of tile b.
 *
 * There is no rung below but the serial loop, which waits for each load in turn.
 */
enum { BLOCK = 256 };

template <typename T, typename A, int OP>
static __global__ void reduce_1_interleaved(const T *__restrict__ in, size_t n,
                                            A *__restrict__ partial)
{
    __shared__ A tile[BLOCK];
    const unsigned t = threadIdx.x;
    const size_t i = (size_t)blockIdx.x * BLOCK + t;

    tile[t] = i < n ? (A)in[i] : ladder_identity<OP, A>();
    for (unsigned stride = 1; stride < BLOCK; stride *= 2) {
        __syncthreads(); /* outside the branch: every thread, every step */
        if (t % (2 * stride) == 0)
            tile[t] = ladder_combine<OP>(tile[t], tile[t + stride]);
    }
    if (t == 0)
        partial[blockIdx.x] = tile[0];
}

template <typename T, int OP> static cudaError_t launch_interleaved(const LadderCall *call)
{
    typedef typename LadderAcc<T, OP>::type A;
    static_assert((BLOCK & (BLOCK - 1)) == 0, "strides double up to the block");
    if (call->n == 0)
        return cudaSuccess;
    reduce_1_interleaved<T, A, OP>
        <<<(unsigned)ladder_tiles(call->n, BLOCK), BLOCK, 0, call->stream>>>(
            (const T *)call->in, call->n, (A *)call->out);
    return cudaGetLastError();
}

static size_t scratch_bytes(size_t)
{
    return 0;
}

const LadderReduce ladder_reduce_interleaved = {
    "reduce_1_interleaved",
    "stride doubles; thread t works if t % (2 * stride) == 0",
    "n-1",
    "log2 B",
    BLOCK,
    {BLOCK},
    scratch_bytes,
    {{launch_interleaved<uint16_t, LADDER_SUM>, launch_interleaved<uint16_t, LADDER_MIN>,
      launch_interleaved<uint16_t, LADDER_MAX>},
     {launch_interleaved<int32_t, LADDER_SUM>, launch_interleaved<int32_t, LADDER_MIN>,
      launch_interleaved<int32_t, LADDER_MAX>},
     {launch_interleaved<float, LADDER_SUM>, launch_interleaved<float, LADDER_MIN>,
      launch_interleaved<float, LADDER_MAX>}},
};
