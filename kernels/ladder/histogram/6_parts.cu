/* SPDX-License-Identifier: MIT */
/* histogram/6_parts.cu: 65,536 bins, which no shared memory holds. */
#include "ladder/ladder.h"

/*
 * histogram_6_parts: four blocks walk the same samples, each with a quarter of the table.
 *
 *   Idea      Block b counts the values of quarter b % PARTS and passes over all others. Blocks of
 *             all quarters go through the input side by side, so memory is read once, and the
 *             other three reads come from the L2 cache.
 *   Work      n additions in shared memory; every sample is looked at by PARTS threads.
 *   Memory    reads n samples once from memory, PARTS times in all; 64 KiB shared.
 *   Launch    <<<a multiple of PARTS that nearly fills the machine, BLOCK, 64 KiB>>>.
 *   Requires  bins are 0; in aligned to 16 bytes; n below 2^32 times the blocks / PARTS, so that no
 *             counter overflows.
 *   Result    bins[v] = how many samples are v.
 *
 * The rung below cannot hold this table: 65,536 counters of 4 bytes are 256 KiB, even without
 * columns. docs/contributing/kernels.md, histogram16, says how production gets by with one read.
 */
enum { BLOCK = 512, PARTS = 4, PART = 65536 / PARTS, VECTOR = 8 };
static const size_t SHARED_BYTES = PART * sizeof(unsigned);

static __device__ void count_value(unsigned value, unsigned first, unsigned *table)
{
    const unsigned place = value - first; /* wraps below the quarter, and is then too large */
    if (place < PART)
        atomicAdd(&table[place], 1u);
}

static __device__ void count_word(unsigned word, unsigned first, unsigned *table)
{
    count_value(word & 0xFFFF, first, table);
    count_value(word >> 16, first, table);
}

static __global__ void __launch_bounds__(BLOCK)
    histogram_6_parts(const uint16_t *__restrict__ in, size_t n, LadderCount *bins)
{
    unsigned *const table = ladder_shared_memory<unsigned>();
    const unsigned first = blockIdx.x % PARTS * PART; /* the lowest value of this quarter */
    const size_t thread = (size_t)blockIdx.x / PARTS * BLOCK + threadIdx.x;
    const size_t threads = (size_t)gridDim.x / PARTS * BLOCK;
    const size_t vectors = n / VECTOR, tail = vectors * VECTOR;

    for (unsigned v = threadIdx.x; v < PART; v += BLOCK)
        table[v] = 0;
    __syncthreads(); /* the table is clear */
    for (size_t i = thread; i < vectors; i += threads) {
        const uint4 v = ((const uint4 *)in)[i];
        count_word(v.x, first, table);
        count_word(v.y, first, table);
        count_word(v.z, first, table);
        count_word(v.w, first, table);
    }
    if (tail + thread < n)
        count_value(in[tail + thread], first, table);
    __syncthreads(); /* the block has counted */
    for (unsigned v = threadIdx.x; v < PART; v += BLOCK)
        if (table[v] > 0)
            atomicAdd(&bins[first + v], (LadderCount)table[v]);
}

static cudaError_t run(const LadderCall *call)
{
    const cudaError_t status = cudaMemset(call->out, 0, 65536 * sizeof(LadderCount));
    if (status != cudaSuccess || call->n == 0)
        return status;
    const size_t useful = ladder_tiles(call->n, BLOCK * VECTOR) * PARTS;
    const size_t grid = ladder_grid(histogram_6_parts, BLOCK, SHARED_BYTES, useful);
    return ladder_launch_shared(SHARED_BYTES, histogram_6_parts,
                                grid < PARTS ? PARTS : grid / PARTS * PARTS, BLOCK, call->in,
                                call->n, call->out);
}

const LadderRung ladder_histogram_parts = ladder_count(
    {"parts", "65,536 bins: four blocks, each with a quarter of the table.", {BLOCK}}, NULL, run);
