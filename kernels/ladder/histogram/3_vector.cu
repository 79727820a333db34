/* SPDX-License-Identifier: MIT */
/* histogram/3_vector.cu: 16 samples a load. */
#include "ladder/histogram/3_vector.cuh"

/*
 * histogram_3_vector: the table of rung 2, fed by the loop of 3_vector.cuh.
 *
 *   Idea      A thread loads 16 samples at once and has the next 16 on their way while it counts.
 *   Work      n additions in shared memory, 256 a block in global memory.
 *   Memory    reads n samples once; 256 counters shared.
 *   Launch    <<<multiprocessors * resident blocks, BLOCK>>>.
 *   Requires  bins are 0; in aligned to 16 bytes; n below 2^32 times the blocks, so that no counter
 *             overflows.
 *   Result    bins[v] = how many samples are v.
 *
 * The rung below waited for memory: with one byte a thread, too few bytes are on their way.
 */
enum { BLOCK = 512 };

static __global__ void __launch_bounds__(BLOCK)
    histogram_3_vector(const uint8_t *__restrict__ in, size_t n, LadderCount *bins)
{
    __shared__ unsigned table[BINS];

    for (unsigned v = threadIdx.x; v < BINS; v += BLOCK)
        table[v] = 0;
    __syncthreads(); /* the table is clear */
    count_samples<1>(in, n, table);
    __syncthreads(); /* the block has counted */
    for (unsigned v = threadIdx.x; v < BINS; v += BLOCK)
        if (table[v] > 0)
            atomicAdd(&bins[v], (LadderCount)table[v]);
}

static cudaError_t run(const LadderCall *call)
{
    return count_bytes(histogram_3_vector, BLOCK, BLOCK * VECTOR, call);
}

const LadderRung ladder_histogram_vector =
    ladder_count({"vector", "Loads of 16 bytes: enough of them on their way.", {BLOCK}}, run, NULL);
