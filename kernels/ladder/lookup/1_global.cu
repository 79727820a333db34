/* SPDX-License-Identifier: MIT */
/* lookup/1_global.cu: the first mapping one writes: a thread a sample, the table in global memory.
 */
#include "ladder/ladder.h"

/*
 * lookup_1_global: out[i] = table[in[i]].
 *
 *   Idea      The table is small: after the first reads it lies in the L1 cache of every
 *             multiprocessor.
 *   Work      n look-ups.
 *   Memory    reads n samples, writes n; the table from the caches.
 *   Launch    <<<ceil(n / BLOCK), BLOCK>>>.
 *   Requires  in and out do not overlap.
 *   Result    out[i] = table[in[i]].
 *
 * The rung below, the serial loop, makes one byte after the other.
 */
enum { BLOCK = 256 };

static __global__ void lookup_1_global(const uint8_t *__restrict__ in, size_t n,
                                       const uint8_t *__restrict__ table, uint8_t *__restrict__ out)
{
    const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        out[i] = table[in[i]];
}

static cudaError_t run(const LadderCall *call)
{
    return ladder_launch(lookup_1_global, ladder_tiles(call->n, BLOCK), BLOCK, call->in, call->n,
                         call->table, call->out);
}

const LadderRung ladder_lookup_global =
    ladder_lookup({"global", "A thread a sample; the table in global memory.", {BLOCK}}, run);
