/* SPDX-License-Identifier: MIT */
/* histogram/4_columns.cu: a column of counters for each lane, so that lanes never meet. */
#include "ladder/histogram/4_columns.cuh"

/*
 * histogram_4_columns: 256 rows, one a value, and 32 columns, one a lane.
 *
 *   Idea      Lane l counts in column l. Column l lies in bank l of shared memory: the 32 lanes of
 *             a warp never share a counter and never wait for a bank, whatever the image.
 *   Work      n additions in shared memory, 256 * 32 reads and 256 global additions a block.
 *   Memory    reads n samples once; 32 KiB shared.
 *   Launch    <<<multiprocessors * resident blocks, BLOCK>>>.
 *   Requires  bins are 0; n below 2^32 times the blocks, so that no counter overflows.
 *   Result    bins[v] = how many samples are v.
 *
 * In the rung below lanes of a warp still met: equal values in a counter, others in a bank. An
 * image of one value took 32 turns a warp.
 */
enum { BLOCK = 512 };

static __global__ void __launch_bounds__(BLOCK)
    histogram_4_columns(const uint8_t *__restrict__ in, size_t n, LadderCount *bins)
{
    __shared__ unsigned table[BINS][WARP];
    const unsigned t = threadIdx.x, lane = t % WARP;
    const size_t threads = (size_t)gridDim.x * BLOCK;

    columns_clear(table);
    for (size_t i = (size_t)blockIdx.x * BLOCK + t; i < n; i += threads)
        atomicAdd(&table[in[i]][lane], 1u); /* other warps have the same columns */
    columns_add_up(table, bins);
}

static cudaError_t run(const LadderCall *call)
{
    return count_bytes(histogram_4_columns, BLOCK, BLOCK, call);
}

const LadderRung ladder_histogram_columns =
    ladder_count({"columns",
                  "A column a lane: no lane waits for another, whatever the image.",
                  "n + 256 * 33 a block",
                  "n / threads",
                  {BLOCK}},
                 run, NULL);
