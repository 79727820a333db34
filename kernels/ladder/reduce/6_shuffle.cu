/* SPDX-License-Identifier: MIT */
/* reduce/6_shuffle.cu: the sums of 6_shuffle.cuh, which rung 7 uses too, in levels. */
#include "ladder/reduce/4_finish_device.cuh"
#include "ladder/reduce/6_shuffle.cuh"

/*
 * reduce_6_shuffle: five of the steps without shared memory or barriers.
 *
 *   Idea      Lanes of a warp read each other's registers. Each warp leaves one value in shared
 *             memory; the first warp folds those.
 *   Work      n-1 useful combinations, log2(n) steps over ceil(log_TILE n) launches; TILE is
 *             2 BLOCK.
 *   Memory    reads n samples once and n / (TILE-1) accumulators, writes as many; BLOCK / 32
 *             accumulators shared.
 *   Launch    <<<ceil(m / TILE), BLOCK>>> a level, m its input; BLOCK 32 times a power of two.
 *   Requires  in and partial do not overlap.
 *   Result    partial[b] = sum or maximum of tile b.
 *
 * The rung below stored, waited at a barrier and loaded in every step; the last five steps use one
 * warp, whose lanes could have asked each other.
 */
enum { BLOCK = 256 };

template <typename T, typename A, int OP>
static __global__ void __launch_bounds__(BLOCK)
    reduce_6_shuffle(const T *__restrict__ in, size_t n, A *__restrict__ partial)
{
    const size_t i = (size_t)blockIdx.x * (2 * BLOCK) + threadIdx.x;
    const A low = i < n ? (A)in[i] : ladder_identity<OP, A>();
    const A high = i + BLOCK < n ? (A)in[i + BLOCK] : ladder_identity<OP, A>();
    block_reduce<OP, BLOCK>(ladder_combine<OP>(low, high), &partial[blockIdx.x]);
}

struct Shuffle {
    static const size_t TILE = 2 * BLOCK;

    template <typename T, typename A, int OP>
    static cudaError_t partials(const T *in, size_t n, A *partial)
    {
        return ladder_launch(reduce_6_shuffle<T, A, OP>, ladder_tiles(n, TILE), BLOCK, in, n,
                             partial);
    }

    template <typename T, int OP> static cudaError_t run(const LadderCall *call)
    {
        return reduce_all_levels<Shuffle, T, OP>(call);
    }
};

const LadderRung ladder_reduce_shuffle =
    ladder_reduce<Shuffle>({"shuffle",
                            "Lanes exchange registers; one barrier a block.",
                            {BLOCK},
                            level_bytes<Shuffle::TILE>});
