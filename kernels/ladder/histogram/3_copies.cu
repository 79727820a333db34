/* SPDX-License-Identifier: MIT */
/* histogram/3_copies.cu: a table a warp. */
#include "ladder/histogram/tables.cuh"

/*
 * histogram_3_copies: warps do not meet.
 *
 *   Idea      Each warp of a block has a table of its own; the block adds them up at the end.
 *   Work      n additions in shared memory, 256 WARPS reads and 256 global additions a block.
 *   Memory    reads n samples once; 256 WARPS counters shared.
 *   Launch    <<<multiprocessors * resident blocks, BLOCK>>>.
 *   Requires  bins are 0; n below 2^32 times the blocks, so that no counter overflows.
 *   Result    bins[v] = how many samples are v.
 *
 * In the rung below all warps of a block queued at the counters of the values that are frequent.
 */
enum { BLOCK = 512, WARP = 32, WARPS = BLOCK / WARP };

static __global__ void __launch_bounds__(BLOCK)
    histogram_3_copies(const uint8_t *__restrict__ in, size_t n, LadderCount *bins)
{
    __shared__ unsigned table[WARPS][BINS];
    const unsigned t = threadIdx.x, warp = t / WARP;
    const size_t threads = (size_t)gridDim.x * BLOCK;

    for (unsigned k = t; k < WARPS * BINS; k += BLOCK)
        table[k / BINS][k % BINS] = 0;
    __syncthreads(); /* the tables are clear */
    for (size_t i = (size_t)blockIdx.x * BLOCK + t; i < n; i += threads)
        atomicAdd(&table[warp][in[i]], 1u);
    __syncthreads(); /* the block has counted */
    for (unsigned v = t; v < BINS; v += BLOCK) {
        LadderCount count = 0;
        for (unsigned w = 0; w < WARPS; w++)
            count += table[w][v];
        if (count > 0)
            atomicAdd(&bins[v], count);
    }
}

static cudaError_t run(const LadderCall *call)
{
    return count_bytes(histogram_3_copies, BLOCK, BLOCK, call);
}

const LadderRung ladder_histogram_copies = ladder_count(
    {"copies", "A table a warp.", "n + 256 (B / 32 + 1) a block", "n / threads", {BLOCK}}, run,
    NULL);
