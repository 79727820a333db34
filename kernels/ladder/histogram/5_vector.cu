/* SPDX-License-Identifier: MIT */
/* histogram/5_vector.cu: how production differs: 16 samples a load. */
#include "ladder/histogram/4_columns.cuh"

/*
 * histogram_5_vector: the columns of rung 4, fed by loads of 16 bytes.
 *
 *   Idea      A thread loads 16 samples at once and has the next load under way while it counts.
 *   Work      n additions in shared memory, 256 * 32 reads and 256 global additions a block.
 *   Memory    reads n samples once; 32 KiB shared.
 *   Launch    <<<multiprocessors * resident blocks, BLOCK>>>.
 *   Requires  bins are 0; in aligned to 16 bytes; n below 2^32 times the blocks, so that no counter
 *             overflows.
 *   Result    bins[v] = how many samples are v.
 *
 * The rung below asked for one byte at a time: 32 bytes a warp, where a warp can ask for 512.
 */
enum { BLOCK = 512, VECTOR = 16 };

static __device__ void count_word(unsigned word, unsigned (*table)[WARP], unsigned lane)
{
    for (unsigned k = 0; k < 4; k++)
        atomicAdd(&table[word >> (8 * k) & 0xFF][lane], 1u);
}

static __global__ void __launch_bounds__(BLOCK)
    histogram_5_vector(const uint8_t *__restrict__ in, size_t n, LadderCount *bins)
{
    __shared__ unsigned table[BINS][WARP];
    const unsigned t = threadIdx.x, lane = t % WARP;
    const size_t thread = (size_t)blockIdx.x * BLOCK + t, threads = (size_t)gridDim.x * BLOCK;
    const uint4 *const body = (const uint4 *)in;
    const size_t vectors = n / VECTOR, tail = vectors * VECTOR;

    columns_clear(table);
    uint4 next = thread < vectors ? body[thread] : uint4();
    for (size_t i = thread; i < vectors; i += threads) {
        const uint4 v = next;
        if (i + threads < vectors)
            next = body[i + threads];
        count_word(v.x, table, lane);
        count_word(v.y, table, lane);
        count_word(v.z, table, lane);
        count_word(v.w, table, lane);
    }
    if (tail + thread < n)
        atomicAdd(&table[in[tail + thread]][lane], 1u);
    columns_add_up(table, bins);
}

static cudaError_t run(const LadderCall *call)
{
    return count_bytes(histogram_5_vector, BLOCK, BLOCK * VECTOR, call);
}

const LadderRung ladder_histogram_vector =
    ladder_count({"vector",
                  "The same columns, fed by loads of 16 bytes.",
                  "n + 256 * 33 a block",
                  "n / threads",
                  {BLOCK}},
                 run, NULL);
