/* SPDX-License-Identifier: MIT */
/* lookup/3_shared.cu: the table in shared memory, blocks that stay. */
#include "ladder/ladder.h"

/*
 * lookup_3_shared: each block copies the table once.
 *
 *   Idea      Shared memory answers 32 lanes at once, unless they ask for different words of one
 *             bank: 256 bytes are 64 words, two a bank, so a warp waits two turns at most. A grid
 *             that just fills the machine copies the table a few times only.
 *   Work      n look-ups.
 *   Memory    reads n samples, writes n; 256 bytes shared.
 *   Launch    <<<multiprocessors * resident blocks, BLOCK>>>.
 *   Requires  in and out do not overlap.
 *   Result    out[i] = table[in[i]].
 *
 * The rung below let lanes take turns wherever an image has more than one value.
 */
enum { BLOCK = 512 };

static __global__ void __launch_bounds__(BLOCK)
    lookup_3_shared(const uint8_t *__restrict__ in, size_t n, const uint8_t *__restrict__ table,
                    uint8_t *__restrict__ out)
{
    __shared__ uint8_t mine[256];
    const size_t threads = (size_t)gridDim.x * BLOCK;

    if (threadIdx.x < 256)
        mine[threadIdx.x] = table[threadIdx.x];
    __syncthreads(); /* the table is there */
    for (size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x; i < n; i += threads)
        out[i] = mine[in[i]];
}

static cudaError_t run(const LadderCall *call)
{
    static_assert(BLOCK >= 256, "a thread an entry");
    const size_t grid = ladder_grid(lookup_3_shared, BLOCK, 0, ladder_tiles(call->n, BLOCK));
    return ladder_launch(lookup_3_shared, grid, BLOCK, call->in, call->n, call->table, call->out);
}

const LadderRung ladder_lookup_shared = ladder_lookup(
    {"shared", "The table in shared memory; a grid that fills the machine.", {BLOCK}}, run);
