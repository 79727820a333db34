/* SPDX-License-Identifier: MIT */
/* histogram/2_shared.cu: a table a block, in shared memory. */
#include "ladder/histogram/tables.cuh"

/*
 * histogram_2_shared: blocks count for themselves, and add up at the end.
 *
 *   Idea      A grid that just fills the machine; each block counts in its own table in shared
 *             memory, and adds the table to the result once.
 *   Work      n additions in shared memory, 256 a block in global memory.
 *   Memory    reads n samples once; 256 counters shared.
 *   Launch    <<<multiprocessors * resident blocks, BLOCK>>>.
 *   Requires  bins are 0; n below 2^32 times the blocks, so that no counter overflows.
 *   Result    bins[v] = how many samples are v.
 *
 * The rung below sent every sample across the machine to the same few counters.
 */
enum { BLOCK = 512 };

static __global__ void __launch_bounds__(BLOCK)
    histogram_2_shared(const uint8_t *__restrict__ in, size_t n, LadderCount *bins)
{
    __shared__ unsigned table[BINS];
    const size_t threads = (size_t)gridDim.x * BLOCK;

    for (unsigned v = threadIdx.x; v < BINS; v += BLOCK)
        table[v] = 0;
    __syncthreads(); /* the table is clear */
    for (size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x; i < n; i += threads)
        atomicAdd(&table[in[i]], 1u);
    __syncthreads(); /* the block has counted */
    for (unsigned v = threadIdx.x; v < BINS; v += BLOCK)
        if (table[v] > 0)
            atomicAdd(&bins[v], (LadderCount)table[v]);
}

static cudaError_t run(const LadderCall *call)
{
    return count_bytes(histogram_2_shared, BLOCK, BLOCK, call);
}

const LadderRung ladder_histogram_shared = ladder_count(
    {"shared", "A table a block in shared memory, added to the result at the end.", {BLOCK}}, run,
    NULL);
