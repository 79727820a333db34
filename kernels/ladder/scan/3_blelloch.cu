/* SPDX-License-Identifier: MIT */
/* scan/3_blelloch.cu: prefix sums with as much work as the serial loop: up a tree, and down again.
 */
#include "ladder/scan/2_recursive.cuh"

/*
 * scan_3_blelloch: up-sweep, clear the root, down-sweep.
 *
 *   Idea      The up-sweep is a reduction in place: each node of a binary tree holds the sum of the
 *             leaves below. The root is set to 0; on the way down each node passes its value to
 *             its left child, and value plus the old left child to its right one. Each leaf ends
 *             with the sum of all leaves before it. Tiles and totals as in rung 2.
 *   Work      2 (TILE-1) additions a tile, 2 log2(TILE) steps.
 *   Memory    reads n, writes n; TILE elements shared.
 *   Launch    <<<ceil(n / TILE), BLOCK>>>; TILE = 2 BLOCK, a power of two.
 *   Requires  in and out are the same or do not overlap: a block reads its tile before it writes
 *             it.
 *   Result    of each tile: out[i] = its elements before in[i] (exclusive), and total[b]; floats
 *             would be added in the tree's order.
 *
 * The rung below did n log2(BLOCK) additions. This one does 2n, but strides through shared memory
 * (bank conflicts of up to 32 ways near the root) and leaves most threads idle there.
 */
enum { BLOCK = 256 };
static const unsigned TILE = 2 * BLOCK;

template <typename T>
static __global__ void __launch_bounds__(BLOCK)
    scan_3_blelloch(const T *in, size_t n, T *out, T *__restrict__ total)
{
    __shared__ T node[TILE];
    const unsigned t = threadIdx.x;
    const size_t i = (size_t)blockIdx.x * TILE + t;
    static_assert((TILE & (TILE - 1)) == 0, "a complete tree");

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

struct Blelloch {
    static const unsigned TILE = ::TILE;
    static const bool EXCLUSIVE = true;

    template <typename T> static cudaError_t tiles(const T *in, size_t n, T *out, T *total)
    {
        return ladder_launch(scan_3_blelloch<T>, ladder_tiles(n, TILE), BLOCK, in, n, out, total);
    }

    template <typename T> static cudaError_t run(const LadderCall *call)
    {
        return scan_all_levels<Blelloch, T>(call);
    }
};

const LadderRung ladder_scan_blelloch =
    ladder_scan<Blelloch>({"blelloch",
                           "Up a tree of sums, clear the root, down again: exclusive.",
                           {BLOCK},
                           total_bytes<TILE>,
                           0,
                           0,
                           true});
