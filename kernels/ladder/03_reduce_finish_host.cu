/* SPDX-License-Identifier: MIT */
/* 03_reduce_finish_host.cu: any length, the simplest way: the host folds the partials. */
#include "ladder.h"

#include <stdlib.h>

/*
 * reduce_3_finish_host: partials on the device, one loop on the host.
 *
 *   Idea      Blocks cannot wait for one another inside a launch, so the partials go to the host,
 *             which folds them in order.
 *   Work      n-1 combinations, of which ceil(n / BLOCK) - 1 on the host; log2(BLOCK) steps and
 *             the serial loop.
 *   Memory    reads n samples once; ceil(n / BLOCK) accumulators cross the bus.
 *   Launch    <<<ceil(n / BLOCK), BLOCK>>>, BLOCK a power of two; the call waits for the device.
 *   Requires  n >= 1; in and partial do not overlap.
 *   Result    partial[b] = sum, minimum or maximum of tile b; the fold of all of them goes back
 *             to the device, where every other rung leaves its result.
 *
 * The rung below stopped at one partial per block: right for a block, not yet for an input.
 */
enum { BLOCK = 256 };

template <typename T, typename A, int OP>
static __global__ void reduce_3_partials(const T *__restrict__ in, size_t n,
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

template <typename T, int OP> static cudaError_t launch_finish_host(const LadderCall *call)
{
    typedef typename LadderAcc<T, OP>::type A;
    A result = ladder_identity<OP, A>(); /* what n = 0 yields */
    const size_t tiles = ladder_tiles(call->n, BLOCK);
    cudaError_t status = cudaSuccess;
    if (tiles > 0) {
        A *const partial = (A *)malloc(tiles * sizeof(A));
        if (!partial)
            return cudaErrorMemoryAllocation;
        reduce_3_partials<T, A, OP><<<(unsigned)tiles, BLOCK, 0, call->stream>>>(
            (const T *)call->in, call->n, (A *)call->scratch);
        status = cudaGetLastError();
        if (status == cudaSuccess)
            status = cudaMemcpyAsync(partial, call->scratch, tiles * sizeof(A),
                                     cudaMemcpyDeviceToHost, call->stream);
        if (status == cudaSuccess)
            status = cudaStreamSynchronize(call->stream);
        for (size_t b = 0; status == cudaSuccess && b < tiles; b++)
            result = ladder_combine<OP>(result, partial[b]);
        free(partial);
    }
    if (status == cudaSuccess)
        status =
            cudaMemcpyAsync(call->out, &result, sizeof(A), cudaMemcpyHostToDevice, call->stream);
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(call->stream); /* result lives on this stack */
    return status;
}

static size_t scratch_bytes(size_t n)
{
    return ladder_tiles(n, BLOCK) * sizeof(uint64_t);
}

const LadderReduce ladder_reduce_finish_host = {
    "reduce_3_finish_host",
    "partials to the host, folded there",
    "n-1",
    "log2 B + n/B on the host",
    0,
    {BLOCK},
    scratch_bytes,
    {{launch_finish_host<uint16_t, LADDER_SUM>, launch_finish_host<uint16_t, LADDER_MIN>,
      launch_finish_host<uint16_t, LADDER_MAX>},
     {launch_finish_host<int32_t, LADDER_SUM>, launch_finish_host<int32_t, LADDER_MIN>,
      launch_finish_host<int32_t, LADDER_MAX>},
     {launch_finish_host<float, LADDER_SUM>, launch_finish_host<float, LADDER_MIN>,
      launch_finish_host<float, LADDER_MAX>}},
};
