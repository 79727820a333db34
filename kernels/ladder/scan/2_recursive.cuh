/* SPDX-License-Identifier: MIT */
/* scan/2_recursive.cuh: prefix sums of any length: scan the tiles, scan their totals, add those. */
#ifndef IMGSTAT_LADDER_SCAN_2_RECURSIVE_CUH
#define IMGSTAT_LADDER_SCAN_2_RECURSIVE_CUH

#include "ladder/ladder.h"

/*
 * scan_levels, scan_2_add: tiles, and recursion over the totals.
 *
 *   Idea      Each block scans its tile and leaves the tile's total. The totals are scanned the
 *             same way (the recursion), and the scanned total of what precedes a tile is added to
 *             all of it.
 *   Work      that of R's kernel and n additions, over 2 ceil(log_TILE n) - 1 launches.
 *   Memory    reads 2n, writes 2n, and n / (TILE-1) totals.
 *   Launch    <<<ceil(m / TILE), TILE>>> a level, m its input; TILE at most 1,024.
 *   Requires  R::tiles<T>(in, m, out, total) launches a kernel that scans tiles of R::TILE elements,
 *             in place too: the recursion scans the totals where they lie.
 *   Result    out[i] = in[0] + ... + in[i], or without in[i] if R::EXCLUSIVE.
 *
 * The rung below ended where a block ends.
 */
template <typename T, unsigned TILE>
static __global__ void __launch_bounds__(TILE)
    scan_2_add(T *__restrict__ out, size_t n, const T *__restrict__ before)
{
    const size_t i = (size_t)blockIdx.x * TILE + threadIdx.x;
    if (i < n)
        out[i] = before[blockIdx.x] + out[i];
}

template <typename R, typename T>
static cudaError_t scan_levels(const T *in, size_t n, T *out, T *total)
{
    const size_t tiles = ladder_tiles(n, R::TILE);
    cudaError_t status = R::template tiles<T>(in, n, out, total);
    if (status != cudaSuccess || tiles <= 1)
        return status;
    status = scan_levels<R, T>(total, tiles, total, total + tiles);
    if (status != cudaSuccess)
        return status;
    /* An inclusive total[b] is what precedes tile b + 1, and nothing precedes tile 0. */
    const size_t skipped = R::EXCLUSIVE ? 0 : R::TILE;
    return ladder_launch(scan_2_add<T, R::TILE>, ladder_tiles(n - skipped, R::TILE), R::TILE,
                         out + skipped, n - skipped, total);
}

template <typename R, typename T> static cudaError_t scan_all_levels(const LadderCall *call)
{
    return scan_levels<R>((const T *)call->in, call->n, (T *)call->out, (T *)call->scratch);
}

template <size_t TILE> static size_t total_bytes(size_t n)
{
    size_t totals = 1; /* the last level leaves one too */
    for (size_t tiles = ladder_tiles(n, TILE); tiles > 1; tiles = ladder_tiles(tiles, TILE))
        totals += tiles;
    return totals * sizeof(uint64_t);
}

#endif
