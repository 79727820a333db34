/* SPDX-License-Identifier: MIT */
/* 09_scan_recursive.cu: prefix sums of any length: scan the tiles, scan their totals, add those
 * back. */
#include "ladder.h"

/*
 * scan_2_tiles, scan_2_add: Hillis-Steele in tiles, recursion over the totals.
 *
 *   Idea      Each block scans its tile and leaves the tile's total. The totals are scanned the
 *             same way (the recursion), and the scanned total of what precedes a tile is added to
 *             all of it.
 *   Work      about n log2(BLOCK) + n additions, log2(n) steps over 2 ceil(log_BLOCK n) - 1
 *             launches.
 *   Memory    reads 2n, writes 2n, and n / (BLOCK-1) totals; 2 BLOCK elements shared.
 *   Launch    <<<ceil(m / BLOCK), BLOCK>>> a level, m its input.
 *   Requires  n >= 1. The recursion runs in place: a thread reads its element before it writes it.
 *   Result    out[i] = in[0] + ... + in[i] (inclusive); floats in an order of the algorithm.
 *
 * The rung below ended where a block ends.
 */
enum { BLOCK = 256 };

template <typename T>
static __global__ void __launch_bounds__(BLOCK)
    scan_2_tiles(const T *in, size_t n, T *out, T *__restrict__ total)
{
    __shared__ T buffer[2][BLOCK];
    const unsigned t = threadIdx.x;
    const size_t i = (size_t)blockIdx.x * BLOCK + t;
    unsigned from = 0;

    buffer[from][t] = i < n ? in[i] : T(0);
    for (unsigned distance = 1; distance < BLOCK; distance *= 2) {
        __syncthreads(); /* `from` is complete, and nobody still reads the other */
        buffer[1 - from][t] =
            t >= distance ? buffer[from][t - distance] + buffer[from][t] : buffer[from][t];
        from = 1 - from;
    }
    if (i < n)
        out[i] = buffer[from][t];
    if (t == BLOCK - 1)
        total[blockIdx.x] = buffer[from][t];
}

/* Tile b gets the total of the tiles before it. */
template <typename T>
static __global__ void __launch_bounds__(BLOCK)
    scan_2_add(T *__restrict__ out, size_t n, const T *__restrict__ total)
{
    const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    if (blockIdx.x > 0 && i < n)
        out[i] = total[blockIdx.x - 1] + out[i];
}

template <typename T>
static cudaError_t scan_level(const T *in, size_t n, T *out, T *scratch, cudaStream_t stream)
{
    const size_t tiles = ladder_tiles(n, BLOCK);
    T *const total = scratch;
    scan_2_tiles<T><<<(unsigned)tiles, BLOCK, 0, stream>>>(in, n, out, total);
    cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess || tiles == 1)
        return status;
    status = scan_level(total, tiles, total, scratch + tiles, stream);
    if (status != cudaSuccess)
        return status;
    scan_2_add<T><<<(unsigned)tiles, BLOCK, 0, stream>>>(out, n, total);
    return cudaGetLastError();
}

template <typename T> static cudaError_t launch_recursive(const LadderCall *call)
{
    if (call->n == 0)
        return cudaSuccess;
    return scan_level((const T *)call->in, call->n, (T *)call->out, (T *)call->scratch,
                      call->stream);
}

static size_t scratch_bytes(size_t n)
{
    size_t totals = 1; /* the last level leaves one too */
    for (size_t tiles = ladder_tiles(n, BLOCK); tiles > 1; tiles = ladder_tiles(tiles, BLOCK))
        totals += tiles;
    return totals * sizeof(uint64_t);
}

const LadderScan ladder_scan_recursive = {
    "scan_2_recursive",
    "tiles, then their totals by recursion, added back",
    "n log2 B + n",
    "log2 n",
    0,
    true,
    false,
    scratch_bytes,
    {launch_recursive<uint32_t>, launch_recursive<uint64_t>, launch_recursive<float>},
};
