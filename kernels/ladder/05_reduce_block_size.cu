/* SPDX-License-Identifier: MIT */
/* 05_reduce_block_size.cu: the block size is a template parameter; two samples a thread; any tail.
 */
#include "ladder.h"

/*
 * reduce_5_block_size: as rung 4, with the block size known to the compiler.
 *
 *   Idea      BLOCK is a template parameter, so the loop over strides unrolls. Each thread combines
 *             two samples while loading, so no thread is idle from the first step on. What lies
 *             past the end counts as the identity: n need not be a multiple of anything.
 *   Work      n-1 combinations, log2(n) steps over ceil(log_TILE n) launches, TILE = 2 BLOCK.
 *   Memory    reads n samples once and n / (TILE-1) accumulators, writes as many.
 *   Launch    <<<ceil(m / TILE), BLOCK>>> a level, m its input; BLOCK 64 to 1024, a power of two.
 *   Requires  n >= 1; in and partial do not overlap.
 *   Result    partial[b] = sum, minimum or maximum of tile b; the last level has one tile.
 *
 * The rung below loaded one sample a thread and let half of the threads retire at once, and its
 * one block size was a guess.
 */
static const unsigned BLOCK_DEFAULT = 256; /* docs/lab/2026-11-24-gpu.md has all five */

template <typename T, typename A, int OP, unsigned BLOCK>
static __global__ void __launch_bounds__(BLOCK)
    reduce_5_block_size(const T *__restrict__ in, size_t n, A *__restrict__ partial)
{
    __shared__ A tile[BLOCK];
    const unsigned t = threadIdx.x;
    const size_t i = (size_t)blockIdx.x * (2 * BLOCK) + t;

    const A low = i < n ? (A)in[i] : ladder_identity<OP, A>();
    const A high = i + BLOCK < n ? (A)in[i + BLOCK] : ladder_identity<OP, A>();
    tile[t] = ladder_combine<OP>(low, high);
#pragma unroll
    for (unsigned half = BLOCK / 2; half > 0; half /= 2) {
        __syncthreads(); /* outside the branch: every thread, every step */
        if (t < half)
            tile[t] = ladder_combine<OP>(tile[t], tile[t + half]);
    }
    if (t == 0)
        partial[blockIdx.x] = tile[0];
}

template <typename T, typename A, int OP, unsigned BLOCK>
static cudaError_t reduce_level(const T *in, size_t n, A *scratch, A *out, cudaStream_t stream)
{
    static_assert(BLOCK >= 64 && BLOCK <= 1024 && (BLOCK & (BLOCK - 1)) == 0, "halves down to 1");
    const size_t tiles = ladder_tiles(n, 2 * BLOCK);
    A *const partial = tiles == 1 ? out : scratch;
    reduce_5_block_size<T, A, OP, BLOCK><<<(unsigned)tiles, BLOCK, 0, stream>>>(in, n, partial);
    const cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess || tiles == 1)
        return status;
    return reduce_level<A, A, OP, BLOCK>(partial, tiles, scratch + tiles, out, stream);
}

template <typename T, int OP> static cudaError_t launch_block_size(const LadderCall *call)
{
    typedef typename LadderAcc<T, OP>::type A;
    const T *const in = (const T *)call->in;
    A *const scratch = (A *)call->scratch, *const out = (A *)call->out;
    if (call->n == 0) {
        const A identity = ladder_identity<OP, A>();
        return cudaMemcpyAsync(out, &identity, sizeof identity, cudaMemcpyHostToDevice,
                               call->stream);
    }
    switch (call->block ? call->block : BLOCK_DEFAULT) {
    case 64:
        return reduce_level<T, A, OP, 64>(in, call->n, scratch, out, call->stream);
    case 128:
        return reduce_level<T, A, OP, 128>(in, call->n, scratch, out, call->stream);
    case 256:
        return reduce_level<T, A, OP, 256>(in, call->n, scratch, out, call->stream);
    case 512:
        return reduce_level<T, A, OP, 512>(in, call->n, scratch, out, call->stream);
    case 1024:
        return reduce_level<T, A, OP, 1024>(in, call->n, scratch, out, call->stream);
    default:
        return cudaErrorInvalidValue;
    }
}

static size_t scratch_bytes(size_t n)
{
    size_t partials = 0;
    for (size_t tiles = ladder_tiles(n, 128); tiles > 1; tiles = ladder_tiles(tiles, 128))
        partials += tiles; /* the smallest block has the most */
    return partials * sizeof(uint64_t);
}

const LadderReduce ladder_reduce_block_size = {
    "reduce_5_block_size",
    "block size a template parameter; two samples a thread",
    "n-1",
    "log2 n",
    0,
    {64, 128, 256, 512, 1024},
    scratch_bytes,
    {{launch_block_size<uint16_t, LADDER_SUM>, launch_block_size<uint16_t, LADDER_MIN>,
      launch_block_size<uint16_t, LADDER_MAX>},
     {launch_block_size<int32_t, LADDER_SUM>, launch_block_size<int32_t, LADDER_MIN>,
      launch_block_size<int32_t, LADDER_MAX>},
     {launch_block_size<float, LADDER_SUM>, launch_block_size<float, LADDER_MIN>,
      launch_block_size<float, LADDER_MAX>}},
};
