/* SPDX-License-Identifier: MIT */
/* histogram/4_copies.cu: a table a warp. */
#include "ladder/histogram/3_vector.cuh"

/*
 * histogram_4_copies: warps do not meet.
 *
 *   Idea      Each warp of a block has a table of its own; the block adds them up at the end.
 *   Work      n additions in shared memory, 256 WARPS reads and 256 global additions a block.
 *   Memory    reads n samples once; 256 WARPS counters shared.
 *   Launch    <<<multiprocessors * resident blocks, BLOCK>>>.
 *   Requires  bins are 0; in aligned to 16 bytes; n below 2^32 times the blocks, so that no counter
 *             overflows.
 *   Result    bins[v] = how many samples are v.
 *
 * In the rung below all warps of a block met in the counters of frequent values. It matters less
 * than it did: where increments of one counter merge, there is no queue.
 */
enum { BLOCK = 512, WARP = 32, WARPS = BLOCK / WARP };

static __global__ void __launch_bounds__(BLOCK)
    histogram_4_copies(const uint8_t *__restrict__ in, size_t n, LadderCount *bins)
{
    __shared__ unsigned table[WARPS][BINS];

    for (unsigned k = threadIdx.x; k < WARPS * BINS; k += BLOCK)
        table[k / BINS][k % BINS] = 0;
    __syncthreads(); /* the tables are clear */
    count_samples<1>(in, n, table[threadIdx.x / WARP]);
    __syncthreads(); /* the block has counted */
    for (unsigned v = threadIdx.x; v < BINS; v += BLOCK) {
        LadderCount count = 0;
        for (unsigned w = 0; w < WARPS; w++)
            count += table[w][v];
        if (count > 0)
            atomicAdd(&bins[v], count);
    }
}

static cudaError_t run(const LadderCall *call)
{
    return count_bytes(histogram_4_copies, BLOCK, BLOCK * VECTOR, call);
}

const LadderRung ladder_histogram_copies =
    ladder_count({"copies", "A table a warp.", {BLOCK}}, run, NULL);
