/* SPDX-License-Identifier: MIT */
/* 06_reduce_shuffle.cu: lanes of a warp exchange registers; shared memory holds one value a warp.
 */
#include "ladder.h"

/*
 * reduce_6_shuffle: five of the steps without shared memory or barriers.
 *
 *   Idea      Within a warp, a lane reads the register of the lane `offset` above it. Each warp
 *             leaves one value in shared memory; the first warp folds those the same way.
 *   Work      n-1 useful combinations, log2(n) steps over ceil(log_TILE n) launches; TILE is
 *             2 BLOCK.
 *   Memory    reads n samples once and n / (TILE-1) accumulators, writes as many; WARPS
 *             accumulators shared.
 *   Launch    <<<ceil(m / TILE), BLOCK>>> a level, m its input; BLOCK 32 times a power of two.
 *   Requires  n >= 1; in and partial do not overlap.
 *   Result    partial[b] = sum, minimum or maximum of tile b; the last level has one tile.
 *
 * The rung below stored, waited at a barrier and loaded in every step; the last five steps use one
 * warp, whose lanes could have asked each other.
 */
enum { BLOCK = 256, WARP = 32, WARPS = BLOCK / WARP, TILE = 2 * BLOCK };
static const unsigned ALL_LANES = 0xFFFFFFFFu;

template <int OP, typename A> static __device__ A warp_reduce(A value)
{
    for (int offset = WARP / 2; offset > 0; offset /= 2)
        value = ladder_combine<OP>(value, (A)__shfl_down_sync(ALL_LANES, value, offset));
    return value; /* complete in lane 0 */
}

template <typename T, typename A, int OP>
static __global__ void __launch_bounds__(BLOCK)
    reduce_6_shuffle(const T *__restrict__ in, size_t n, A *__restrict__ partial)
{
    __shared__ A of_warp[WARPS];
    const unsigned t = threadIdx.x, lane = t % WARP, warp = t / WARP;
    const size_t i = (size_t)blockIdx.x * TILE + t;

    const A low = i < n ? (A)in[i] : ladder_identity<OP, A>();
    const A high = i + BLOCK < n ? (A)in[i + BLOCK] : ladder_identity<OP, A>();
    const A mine = warp_reduce<OP>(ladder_combine<OP>(low, high));
    if (lane == 0)
        of_warp[warp] = mine;
    __syncthreads(); /* all of of_warp is written before the first warp reads it */
    if (warp == 0) {
        const A all = warp_reduce<OP>(lane < WARPS ? of_warp[lane] : ladder_identity<OP, A>());
        if (lane == 0)
            partial[blockIdx.x] = all;
    }
}

template <typename T, typename A, int OP>
static cudaError_t reduce_level(const T *in, size_t n, A *scratch, A *out, cudaStream_t stream)
{
    static_assert(BLOCK % WARP == 0 && WARPS <= WARP, "one warp folds what all warps leave");
    const size_t tiles = ladder_tiles(n, TILE);
    A *const partial = tiles == 1 ? out : scratch;
    reduce_6_shuffle<T, A, OP><<<(unsigned)tiles, BLOCK, 0, stream>>>(in, n, partial);
    const cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess || tiles == 1)
        return status;
    return reduce_level<A, A, OP>(partial, tiles, scratch + tiles, out, stream);
}

template <typename T, int OP> static cudaError_t launch_shuffle(const LadderCall *call)
{
    typedef typename LadderAcc<T, OP>::type A;
    if (call->n == 0) {
        const A identity = ladder_identity<OP, A>();
        return cudaMemcpyAsync(call->out, &identity, sizeof identity, cudaMemcpyHostToDevice,
                               call->stream);
    }
    return reduce_level<T, A, OP>((const T *)call->in, call->n, (A *)call->scratch, (A *)call->out,
                                  call->stream);
}

static size_t scratch_bytes(size_t n)
{
    size_t partials = 0;
    for (size_t tiles = ladder_tiles(n, TILE); tiles > 1; tiles = ladder_tiles(tiles, TILE))
        partials += tiles;
    return partials * sizeof(uint64_t);
}

const LadderReduce ladder_reduce_shuffle = {
    "reduce_6_shuffle",
    "lanes exchange registers; one barrier a block",
    "n-1",
    "log2 n",
    0,
    {BLOCK},
    scratch_bytes,
    {{launch_shuffle<uint16_t, LADDER_SUM>, launch_shuffle<uint16_t, LADDER_MIN>,
      launch_shuffle<uint16_t, LADDER_MAX>},
     {launch_shuffle<int32_t, LADDER_SUM>, launch_shuffle<int32_t, LADDER_MIN>,
      launch_shuffle<int32_t, LADDER_MAX>},
     {launch_shuffle<float, LADDER_SUM>, launch_shuffle<float, LADDER_MIN>,
      launch_shuffle<float, LADDER_MAX>}},
};
