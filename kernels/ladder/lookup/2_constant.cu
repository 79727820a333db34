/* SPDX-License-Identifier: MIT */
/* lookup/2_constant.cu: the table in constant memory, where tables seem to belong. */
#include "ladder/ladder.h"

/*
 * lookup_2_constant: as rung 1, the table in constant memory.
 *
 *   Idea      Constant memory has a cache of its own, which gives one word to all lanes of a warp at
 *             once: as fast as a register if all ask for the same.
 *   Work      n look-ups, one after the other for the different values in a warp.
 *   Memory    reads n samples, writes n; the table from the constant cache.
 *   Launch    <<<ceil(n / BLOCK), BLOCK>>>, and a copy of 256 bytes before.
 *   Requires  in and out do not overlap.
 *   Result    out[i] = table[in[i]].
 *
 * The rung below was suspected of wasting the L1 cache on a table. This one is slower: the lanes of
 * a warp ask for different words, and take turns.
 */
enum { BLOCK = 256 };

static __constant__ uint8_t constant_table[256];

static __global__ void lookup_2_constant(const uint8_t *__restrict__ in, size_t n,
                                         uint8_t *__restrict__ out)
{
    const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        out[i] = constant_table[in[i]];
}

static cudaError_t run(const LadderCall *call)
{
    const cudaError_t status =
        cudaMemcpyToSymbol(constant_table, call->table, 256, 0, cudaMemcpyDeviceToDevice);
    if (status != cudaSuccess)
        return status;
    return ladder_launch(lookup_2_constant, ladder_tiles(call->n, BLOCK), BLOCK, call->in, call->n,
                         call->out);
}

const LadderRung ladder_lookup_constant =
    ladder_lookup({"constant", "The table in constant memory: lanes take turns.", {BLOCK}}, run);
