/* SPDX-License-Identifier: MIT */
/* 10_scan_blelloch.cu: prefix sums with as much work as the serial loop: up a tree, and down again.
 */
#include "ladder.h"

/*
 * scan_3_blelloch, scan_3_add: up-sweep, clear the root, down-sweep.
 *
 *   Idea      The up-sweep is a reduction in place: each node of a binary tree holds the sum of the
 *             leaves below. The root is set to 0; on the way down each node passes its value to
 *             its left child, and value plus the old left child to its right one. Each leaf ends
 *             with the sum of all leaves before it. Tiles and totals as in rung 2.
 *   Work      2 (TILE-1) additions a tile, 2 log2(TILE) steps; then one addition an element.
 *   Memory    reads 2n, writes 2n, and n / (TILE-1) totals; TILE elements shared.
 *   Launch    <<<ceil(m / TILE), BLOCK>>> a level, m its input; TILE = 2 BLOCK, a power of two.
 *   Requires  n >= 1. The recursion runs in place: a block reads its tile before it writes it.
 *   Result    out[i] = in[0] + ... + in[i-1] (exclusive), out[0] = 0; floats in the tree's order.
 *
 * The rung below did n log2(BLOCK) additions. This one does 2n, but strides through shared memory
 * (bank conflicts of up to 32 ways near the root) and leaves most threads idle there.
 */
enum { BLOCK = 256, TILE = 2 * BLOCK };

template <typename T>
static __global__ void __launch_bounds__(BLOCK)
    scan_3_blelloch(const T *in, size_t n, T *out, T *__restrict__ total)
{
    __shared__ T node[TILE];
    const unsigned t = threadIdx.x;
    const size_t i = (size_t)blockIdx.x * TILE + t;

    node[t] = i < n ? in[i] : T(0);
    node[t + BLOCK] = i + BLOCK < n ? in[i + BLOCK] : T(0);
    for (unsigned stride = 1; stride < TILE; stride *= 2) { /* up */
        __syncthreads();
        const unsigned right = 2 * stride * (t + 1) - 1;
        if (right < TILE)
            node[right] = node[right - stride] + node[right];
    }
    if (t == 0) { /* the thread that wrote the root last */
        total[blockIdx.x] = node[TILE - 1];
        node[TILE - 1] = T(0);
    }
    for (unsigned stride = TILE / 2; stride > 0; stride /= 2) { /* down */
        __syncthreads();
        const unsigned right = 2 * stride * (t + 1) - 1;
        if (right < TILE) {
            const T left = node[right - stride];
            node[right - stride] = node[right];
            node[right] = node[right] + left;
        }
    }
    __syncthreads(); /* the leaves are complete */
    if (i < n)
        out[i] = node[t];
    if (i + BLOCK < n)
        out[i + BLOCK] = node[t + BLOCK];
}

/* Tile b gets the total of the tiles before it. */
template <typename T>
static __global__ void __launch_bounds__(TILE)
    scan_3_add(T *__restrict__ out, size_t n, const T *__restrict__ before)
{
    const size_t i = (size_t)blockIdx.x * TILE + threadIdx.x;
    if (i < n)
        out[i] = before[blockIdx.x] + out[i];
}

template <typename T>
static cudaError_t scan_level(const T *in, size_t n, T *out, T *scratch, cudaStream_t stream)
{
    static_assert((TILE & (TILE - 1)) == 0 && TILE <= 1024, "a complete tree; a thread an element");
    const size_t tiles = ladder_tiles(n, TILE);
    T *const total = scratch;
    scan_3_blelloch<T><<<(unsigned)tiles, BLOCK, 0, stream>>>(in, n, out, total);
    cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess || tiles == 1)
        return status;
    status = scan_level(total, tiles, total, scratch + tiles, stream);
    if (status != cudaSuccess)
        return status;
    scan_3_add<T><<<(unsigned)tiles, TILE, 0, stream>>>(out, n, total);
    return cudaGetLastError();
}

template <typename T> static cudaError_t launch_blelloch(const LadderCall *call)
{
    if (call->n == 0)
        return cudaSuccess;
    return scan_level((const T *)call->in, call->n, (T *)call->out, (T *)call->scratch,
                      call->stream);
}

static size_t scratch_bytes(size_t n)
{
    size_t totals = 1; /* the last level leaves one too */
    for (size_t tiles = ladder_tiles(n, TILE); tiles > 1; tiles = ladder_tiles(tiles, TILE))
        totals += tiles;
    return totals * sizeof(uint64_t);
}

const LadderScan ladder_scan_blelloch = {
    "scan_3_blelloch",
    "up a tree of sums, clear the root, down again",
    "2(n-1)",
    "2 log2 n",
    0,
    false,
    true,
    scratch_bytes,
    {launch_blelloch<uint32_t>, launch_blelloch<uint64_t>, launch_blelloch<float>},
};
