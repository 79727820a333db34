/* SPDX-License-Identifier: MIT */
/* scan/4_lookback.cu: how production differs: one read and one write, blocks look back at blocks.
 */
#include "ladder/ladder.h"

/*
 * scan_4_lookback: single pass with decoupled look-back (Merrill and Garland, 2016).
 *
 *   Idea      Each block draws the next tile, scans it in registers, publishes its total, and then
 *             looks back over the tiles before: it adds published totals until it meets a tile
 *             that has published its prefix, the sum of everything up to its end. Then it
 *             publishes its own prefix and writes its tile.
 *   Work      about 2n additions, and 32 a window of look-back; one launch and one clearing.
 *   Memory    reads n, writes n, and 3 words a tile; TILE elements shared.
 *   Launch    <<<ceil(n / TILE), BLOCK>>>; the states of the tiles cleared before.
 *   Requires  in and out do not overlap. Progress: tiles are drawn in order by running blocks, so
 *             every tile looked at belongs to a block that runs or has ended, and needs nothing
 *             from later ones. The payload may have any width: a fence stands between a value and
 *             the state that announces it, in the block that writes and in the one that reads.
 *   Result    out[i] = in[0] + ... + in[i] (inclusive); floats would be added in an order that
 *             depends on timing.
 *
 * The rung below read and wrote the data twice; here the second read and write are gone.
 */
enum { BLOCK = 256, WARP = 32, WARPS = BLOCK / WARP, ITEMS = 16, TILE = BLOCK * ITEMS };
enum { EMPTY, TOTAL, PREFIX }; /* what a tile has published; EMPTY is 0 for cudaMemset */
static const unsigned ALL_LANES = 0xFFFFFFFFu;

template <typename T> struct TileStates {
    unsigned *next;  /* the tile to draw */
    unsigned *state; /* of each tile; follows next, so that one call clears both */
    volatile T *total, *prefix;
};

/* One unused word after every 32, so that threads that walk ITEMS apart meet different banks. */
static __device__ unsigned padded(unsigned i)
{
    return i + i / WARP;
}

template <typename T> static __device__ T warp_scan(T value, unsigned lane)
{
    for (unsigned distance = 1; distance < WARP; distance *= 2) {
        const T before = __shfl_up_sync(ALL_LANES, value, distance);
        if (lane >= distance)
            value = before + value;
    }
    return value;
}

static __device__ void publish(volatile unsigned *state, unsigned what)
{
    __threadfence(); /* the value is there before its announcement */
    *state = what;
}

static __device__ unsigned await(const volatile unsigned *state)
{
    unsigned what;
    while ((what = *state) == EMPTY)
        __nanosleep(20);
    __threadfence(); /* the announcement was read before the value */
    return what;
}

/* The sum of all tiles before `tile`, by one warp, 32 tiles at a time; the same in every lane. */
template <typename T>
static __device__ T look_back(const TileStates<T> &tiles, unsigned tile, unsigned lane)
{
    T sum = T(0);
    for (int64_t nearest = (int64_t)tile - 1; nearest >= 0; nearest -= WARP) {
        const int64_t j = nearest - lane;
        const unsigned what = j >= 0 ? await(&tiles.state[j]) : (unsigned)PREFIX;
        T value = j < 0 ? T(0) : what == PREFIX ? tiles.prefix[j] : tiles.total[j];
        const unsigned prefixes = __ballot_sync(ALL_LANES, what == PREFIX);
        const unsigned first = prefixes ? (unsigned)__ffs((int)prefixes) - 1 : WARP;
        if (lane > first) /* tiles that the prefix already holds */
            value = T(0);
        for (int offset = WARP / 2; offset > 0; offset /= 2)
            value = value + __shfl_xor_sync(ALL_LANES, value, offset);
        sum = value + sum;
        if (prefixes)
            break;
    }
    return sum;
}

template <typename T>
static __global__ void __launch_bounds__(BLOCK)
    scan_4_lookback(const T *__restrict__ in, size_t n, T *__restrict__ out, TileStates<T> tiles)
{
    __shared__ T element[TILE + TILE / WARP];
    __shared__ T of_warp[WARPS];
    __shared__ T before_tile;
    __shared__ unsigned drawn;
    const unsigned t = threadIdx.x, lane = t % WARP, warp = t / WARP;

    /* --- 1. draw a tile --- */
    if (t == 0)
        drawn = atomicAdd(tiles.next, 1u);
    __syncthreads(); /* drawn is set */
    const unsigned tile = drawn;
    const size_t start = (size_t)tile * TILE;

    /* --- 2. load --- */
    for (unsigned k = t; k < TILE; k += BLOCK) /* neighbours read neighbours */
        element[padded(k)] = start + k < n ? in[start + k] : T(0);
    __syncthreads(); /* the tile is loaded; each thread takes ITEMS in a row */

    /* --- 3. scan within threads, warps, block --- */
    T mine[ITEMS];
    T sum = T(0);
#pragma unroll
    for (unsigned k = 0; k < ITEMS; k++) {
        mine[k] = element[padded(t * ITEMS + k)];
        sum = sum + mine[k];
    }
    const T through_lane = warp_scan(sum, lane);
    if (lane == WARP - 1)
        of_warp[warp] = through_lane;
    __syncthreads();               /* every warp's total is there */
    T before = T(0), total = T(0); /* of the warps before, of all */
    for (unsigned w = 0; w < WARPS; w++) {
        if (w == warp)
            before = total;
        total = total + of_warp[w];
    }
    const T left = __shfl_up_sync(ALL_LANES, through_lane, 1);
    if (lane > 0)
        before = before + left;

    /* --- 4. to 6. publish the total, look back, publish the prefix --- */
    if (warp == 0) {
        if (lane == 0) {
            tiles.total[tile] = total;
            publish(&tiles.state[tile], TOTAL);
        }
        const T earlier = look_back(tiles, tile, lane);
        if (lane == 0) {
            tiles.prefix[tile] = earlier + total;
            publish(&tiles.state[tile], PREFIX);
            before_tile = earlier;
        }
    }
    __syncthreads(); /* before_tile is set; all have taken their elements */

    /* --- 7. store --- */
    T running = before_tile + before;
#pragma unroll
    for (unsigned k = 0; k < ITEMS; k++) {
        running = running + mine[k];
        element[padded(t * ITEMS + k)] = running;
    }
    __syncthreads(); /* the tile is scanned; neighbours write neighbours */
    for (unsigned k = t; k < TILE; k += BLOCK)
        if (start + k < n)
            out[start + k] = element[padded(k)];
}

static size_t state_bytes(size_t tiles)
{
    return ladder_tiles((1 + tiles) * sizeof(unsigned), 16) * 16; /* what follows stays aligned */
}

struct Lookback {
    template <typename T> static cudaError_t run(const LadderCall *call)
    {
        static_assert(BLOCK % WARP == 0 && TILE % WARP == 0, "whole warps; padding ends with one");
        const size_t n_tiles = ladder_tiles(call->n, TILE);
        TileStates<T> tiles;
        tiles.next = (unsigned *)call->scratch;
        tiles.state = tiles.next + 1;
        tiles.total = (T *)((char *)call->scratch + state_bytes(n_tiles));
        tiles.prefix = tiles.total + n_tiles;
        const cudaError_t status = cudaMemset(call->scratch, 0, state_bytes(n_tiles));
        if (status != cudaSuccess)
            return status;
        return ladder_launch(scan_4_lookback<T>, n_tiles, BLOCK, call->in, call->n, call->out,
                             tiles);
    }
};

static size_t scratch_bytes(size_t n)
{
    const size_t tiles = ladder_tiles(n, TILE);
    return state_bytes(tiles) + 2 * tiles * sizeof(uint64_t);
}

const LadderRung ladder_scan_lookback =
    ladder_scan<Lookback>({"lookback",
                           "One pass: blocks look back at what earlier blocks published.",
                           {BLOCK},
                           scratch_bytes});
