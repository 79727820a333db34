/* SPDX-License-Identifier: MIT */
/* reduce/4_finish_device.cuh: any length without leaving the device: partials are reduced again. */
#ifndef IMGSTAT_LADDER_REDUCE_4_FINISH_DEVICE_CUH
#define IMGSTAT_LADDER_REDUCE_4_FINISH_DEVICE_CUH

#include "ladder/ladder.h"

/*
 * reduce_levels: the partials of one level are the input of the next.
 *
 *   Idea      Launch, then launch again on the partials, until one is left. A launch is the
 *             barrier between blocks that a kernel does not have.
 *   Work      n-1 combinations, log2(n) steps over ceil(log_TILE n) launches.
 *   Memory    reads n samples once and n / (TILE-1) accumulators, writes as many.
 *   Launch    ceil(m / TILE) blocks a level, m its input.
 *   Requires  R::partials<T, A, OP>(in, m, partial) launches a kernel that leaves one partial for
 *             each tile of R::TILE samples; scratch has room for those of all levels.
 *   Result    *out = the sum or maximum of all; the last level has one tile.
 *
 * The rung below moved a partial for every 256 samples across the bus and waited for it; the
 * device stood idle while the host added.
 */
template <typename R, int OP, typename T, typename A> /* T is A from the second level on */
static cudaError_t reduce_levels(const T *in, size_t n, A *scratch, A *out)
{
    const size_t tiles = ladder_tiles(n, R::TILE);
    if (tiles == 0)
        return ladder_store(out, ladder_identity<OP, A>());
    A *const partial = tiles == 1 ? out : scratch;
    const cudaError_t status = R::template partials<T, A, OP>(in, n, partial);
    if (status != cudaSuccess || tiles == 1)
        return status;
    return reduce_levels<R, OP>((const A *)partial, tiles, scratch + tiles, out);
}

template <typename R, typename T, int OP>
static cudaError_t reduce_all_levels(const LadderCall *call)
{
    typedef typename LadderAcc<T, OP>::type A;
    return reduce_levels<R, OP>((const T *)call->in, call->n, (A *)call->scratch, (A *)call->out);
}

template <size_t TILE> static size_t level_bytes(size_t n)
{
    size_t partials = 0;
    for (size_t tiles = ladder_tiles(n, TILE); tiles > 1; tiles = ladder_tiles(tiles, TILE))
        partials += tiles;
    return partials * sizeof(LadderCount);
}

#endif
