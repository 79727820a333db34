/* SPDX-License-Identifier: MIT */
/* histogram/1_global.cu: the first histogram one writes: a thread a sample, one table for all. */
#include "ladder/ladder.h"

/*
 * histogram_1_global: every sample is an atomic addition in global memory.
 *
 *   Idea      Threads that meet in a counter must take turns; atomicAdd does that.
 *   Work      n atomic additions, executed where memory is: in the L2 cache.
 *   Memory    reads n samples once; n additions to the table.
 *   Launch    <<<ceil(n / BLOCK), BLOCK>>>.
 *   Requires  bins are 0.
 *   Result    bins[v] = how many samples are v.
 *
 * The rung below, the serial loop, adds one after the other. So does this one where all samples are
 * equal.
 */
enum { BLOCK = 256 };

template <typename T>
static __global__ void histogram_1_global(const T *__restrict__ in, size_t n, LadderCount *bins)
{
    const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        atomicAdd(&bins[in[i]], (LadderCount)1);
}

template <typename T> static cudaError_t run(const LadderCall *call)
{
    const cudaError_t status = cudaMemset(call->out, 0, sizeof(LadderCount) << (8 * sizeof(T)));
    if (status != cudaSuccess)
        return status;
    return ladder_launch(histogram_1_global<T>, ladder_tiles(call->n, BLOCK), BLOCK, call->in,
                         call->n, call->out);
}

const LadderRung ladder_histogram_global =
    ladder_count({"global", "A thread a sample; atomics on one table in global memory.", {BLOCK}},
                 run<uint8_t>, run<uint16_t>);
