/* SPDX-License-Identifier: MIT */
/* 04_reduce_finish_device.cu: any length without leaving the device: partials are reduced again. */
#include "ladder.h"

/*
 * reduce_4_finish_device: the partials of one level are the input of the next.
 *
 *   Idea      Launch, then launch again on the partials, until one is left. A launch is the
 *             barrier between blocks that a kernel does not have.
 *   Work      n-1 combinations, log2(n) steps over ceil(log_BLOCK n) launches.
 *   Memory    reads n samples once and n / (BLOCK-1) accumulators, writes as many.
 *   Launch    <<<ceil(m / BLOCK), BLOCK>>> a level, m its input; BLOCK a power of two.
 *   Requires  n >= 1; in and partial do not overlap.
 *   Result    partial[b] = sum, minimum or maximum of tile b; the last level has one tile.
 *
 * The rung below moved a partial for every 256 samples across the bus and waited for it; the
 * device stood idle while the host added.
 */
enum { BLOCK = 256 };

template <typename T, typename A, int OP>
static __global__ void reduce_4_partials(const T *__restrict__ in, size_t n,
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

/* T is the sample at the first level and the accumulator from the second on. */
template <typename T, typename A, int OP>
static cudaError_t reduce_level(const T *in, size_t n, A *scratch, A *out, cudaStream_t stream)
{
    const size_t tiles = ladder_tiles(n, BLOCK);
    A *const partial = tiles == 1 ? out : scratch;
    reduce_4_partials<T, A, OP><<<(unsigned)tiles, BLOCK, 0, stream>>>(in, n, partial);
    const cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess || tiles == 1)
        return status;
    return reduce_level<A, A, OP>(partial, tiles, scratch + tiles, out, stream);
}

template <typename T, int OP> static cudaError_t launch_finish_device(const LadderCall *call)
{
    typedef typename LadderAcc<T, OP>::type A;
    if (call->n == 0) {
        const A identity = ladder_identity<OP, A>();
        return cudaMemcpyAsync(call->out, &identity, sizeof identity, cudaMemcpyHostToDevice,
                               call->stream);
    }
    return reduce_level<T, A, OP>((const T *)call->in, call->n, (A *)call->scratch, (A *)call->out,
                                  call->stream);
}

static size_t scratch_bytes(size_t n)
{
    size_t partials = 0;
    for (size_t tiles = ladder_tiles(n, BLOCK); tiles > 1; tiles = ladder_tiles(tiles, BLOCK))
        partials += tiles;
    return partials * sizeof(uint64_t);
}

const LadderReduce ladder_reduce_finish_device = {
    "reduce_4_finish_device",
    "partials reduced by the same kernel until one is left",
    "n-1",
    "log2 n",
    0,
    {BLOCK},
    scratch_bytes,
    {{launch_finish_device<uint16_t, LADDER_SUM>, launch_finish_device<uint16_t, LADDER_MIN>,
      launch_finish_device<uint16_t, LADDER_MAX>},
     {launch_finish_device<int32_t, LADDER_SUM>, launch_finish_device<int32_t, LADDER_MIN>,
      launch_finish_device<int32_t, LADDER_MAX>},
     {launch_finish_device<float, LADDER_SUM>, launch_finish_device<float, LADDER_MIN>,
      launch_finish_device<float, LADDER_MAX>}},
};
