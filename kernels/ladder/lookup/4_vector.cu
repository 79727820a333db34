/* SPDX-License-Identifier: MIT */
/* lookup/4_vector.cu: how production differs: 16 samples a load and a store. */
#include "ladder/ladder.h"

/*
 * lookup_4_vector: as rung 3, in vectors of 16 samples.
 *
 *   Idea      A thread loads 16 samples, looks each of them up, and stores 16 results at once.
 *   Work      n look-ups.
 *   Memory    reads n samples, writes n; 256 bytes shared.
 *   Launch    <<<multiprocessors * resident blocks, BLOCK>>>.
 *   Requires  in and out aligned to 16 bytes; they do not overlap.
 *   Result    out[i] = table[in[i]].
 *
 * The rung below spent an instruction on every load and store of a byte.
 */
enum { BLOCK = 512, VECTOR = 16 };

static __device__ unsigned map_word(unsigned word, const uint8_t *table)
{
    unsigned mapped = 0;
    for (unsigned k = 0; k < 4; k++)
        mapped |= (unsigned)table[word >> (8 * k) & 0xFF] << (8 * k);
    return mapped;
}

static __global__ void __launch_bounds__(BLOCK)
    lookup_4_vector(const uint8_t *__restrict__ in, size_t n, const uint8_t *__restrict__ table,
                    uint8_t *__restrict__ out)
{
    __shared__ uint8_t mine[256];
    const size_t thread = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    const size_t threads = (size_t)gridDim.x * BLOCK;
    const size_t vectors = n / VECTOR, tail = vectors * VECTOR;

    if (threadIdx.x < 256)
        mine[threadIdx.x] = table[threadIdx.x];
    __syncthreads(); /* the table is there */
    for (size_t i = thread; i < vectors; i += threads) {
        uint4 v = ((const uint4 *)in)[i];
        v.x = map_word(v.x, mine);
        v.y = map_word(v.y, mine);
        v.z = map_word(v.z, mine);
        v.w = map_word(v.w, mine);
        ((uint4 *)out)[i] = v;
    }
    if (tail + thread < n)
        out[tail + thread] = mine[in[tail + thread]];
}

static cudaError_t run(const LadderCall *call)
{
    static_assert(BLOCK >= 256, "a thread an entry");
    const size_t useful = ladder_tiles(call->n, BLOCK * VECTOR);
    const size_t grid = ladder_grid(lookup_4_vector, BLOCK, 0, useful);
    return ladder_launch(lookup_4_vector, grid, BLOCK, call->in, call->n, call->table, call->out);
}

const LadderRung ladder_lookup_vector =
    ladder_lookup({"vector", "Loads and stores of 16 bytes.", {BLOCK}}, run);
