/* SPDX-License-Identifier: MIT */
/* histogram/5_columns.cu: how production differs: a column of counters for each lane. */
#include "ladder/histogram/3_vector.cuh"

/*
 * histogram_5_columns: 256 rows, one a value, and 32 columns, one a lane.
 *
 *   Idea      Lane l counts in column l, and column l lies in bank l of shared memory: the 32 lanes
 *             of a warp never share a counter and never wait for a bank, whatever the image.
 *   Work      n additions in shared memory, 256 * 32 reads and 256 global additions a block.
 *   Memory    reads n samples once; 32 KiB shared.
 *   Launch    <<<multiprocessors * resident blocks, BLOCK>>>.
 *   Requires  bins are 0; in aligned to 16 bytes; n below 2^32 times the blocks, so that no counter
 *             overflows.
 *   Result    bins[v] = how many samples are v.
 *
 * In the rung below the lanes of a warp still met: 32 values of noise in 32 banks mean that three
 * or four of them want the same bank.
 */
enum { BLOCK = 512, WARP = 32 };

static __global__ void __launch_bounds__(BLOCK)
    histogram_5_columns(const uint8_t *__restrict__ in, size_t n, LadderCount *bins)
{
    __shared__ unsigned table[BINS][WARP];
    const unsigned lane = threadIdx.x % WARP;

    for (unsigned k = threadIdx.x; k < BINS * WARP; k += BLOCK)
        table[k / WARP][k % WARP] = 0;
    __syncthreads(); /* the table is clear */
    count_samples<WARP>(in, n, &table[0][lane]);
    __syncthreads(); /* the block has counted */
    for (unsigned v = threadIdx.x; v < BINS; v += BLOCK) {
        LadderCount count = 0;
        for (unsigned k = 0; k < WARP; k++)
            count += table[v][(k + lane) % WARP]; /* each lane begins in its own bank */
        if (count > 0)
            atomicAdd(&bins[v], count);
    }
}

static cudaError_t run(const LadderCall *call)
{
    return count_bytes(histogram_5_columns, BLOCK, BLOCK * VECTOR, call);
}

const LadderRung ladder_histogram_columns = ladder_count(
    {"columns", "A column a lane: no lane waits for another, whatever the image.", {BLOCK}}, run,
    NULL);
