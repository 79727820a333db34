/* SPDX-License-Identifier: MIT */
/* reduce/5_block_size.cu: the block size is a template parameter; two samples a thread. */
#include "ladder/reduce/4_finish_device.cuh"

/*
 * reduce_5_block_size: as rung 4, with the block size known to the compiler.
 *
 *   Idea      BLOCK is a template parameter, so the loop over strides unrolls. Each thread combines
 *             two samples while loading, so no thread is idle from the first step on. What lies
 *             past the end counts as the identity: n need not be a multiple of anything.
 *   Work      n-1 combinations, log2(n) steps over ceil(log_TILE n) launches, TILE = 2 BLOCK.
 *   Memory    reads n samples once and n / (TILE-1) accumulators, writes as many.
 *   Launch    <<<ceil(m / TILE), BLOCK>>> a level, m its input; BLOCK 64 to 1024, a power of two.
 *   Requires  in and partial do not overlap.
 *   Result    partial[b] = sum or maximum of tile b.
 *
 * The rung below loaded one sample a thread and let half of the threads retire at once, and its
 * one block size was a guess.
 */
template <typename T, typename A, int OP, unsigned BLOCK>
static __global__ void __launch_bounds__(BLOCK)
    reduce_5_block_size(const T *__restrict__ in, size_t n, A *__restrict__ partial)
{
    __shared__ A tile[BLOCK];
    const unsigned t = threadIdx.x;
    const size_t i = (size_t)blockIdx.x * (2 * BLOCK) + t;

    const A low = i < n ? (A)in[i] : ladder_identity<OP, A>();
    const A high = i + BLOCK < n ? (A)in[i + BLOCK] : ladder_identity<OP, A>();
    tile[t] = ladder_combine<OP>(low, high);
#pragma unroll
    for (unsigned half = BLOCK / 2; half > 0; half /= 2) {
        __syncthreads(); /* outside the branch: every thread, every step */
        if (t < half)
            tile[t] = ladder_combine<OP>(tile[t], tile[t + half]);
    }
    if (t == 0)
        partial[blockIdx.x] = tile[0];
}

template <unsigned BLOCK> struct OfSize {
    static const size_t TILE = 2 * BLOCK;

    template <typename T, typename A, int OP>
    static cudaError_t partials(const T *in, size_t n, A *partial)
    {
        static_assert(BLOCK >= 64 && BLOCK <= 1024 && (BLOCK & (BLOCK - 1)) == 0, "halves to 1");
        return ladder_launch(reduce_5_block_size<T, A, OP, BLOCK>, ladder_tiles(n, TILE), BLOCK, in,
                             n, partial);
    }
};

struct BlockSize {
    template <typename T, int OP> static cudaError_t run(const LadderCall *call)
    {
        switch (call->block) {
        case 64:
            return reduce_all_levels<OfSize<64>, T, OP>(call);
        case 128:
            return reduce_all_levels<OfSize<128>, T, OP>(call);
        case 256:
            return reduce_all_levels<OfSize<256>, T, OP>(call);
        case 512:
            return reduce_all_levels<OfSize<512>, T, OP>(call);
        case 1024:
            return reduce_all_levels<OfSize<1024>, T, OP>(call);
        default:
            return cudaErrorInvalidValue;
        }
    }
};

const LadderRung ladder_reduce_block_size = ladder_reduce<BlockSize>(
    {"block_size",
     "The compiler knows the block size; a thread begins with two samples.",
     {64, 128, 256, 512, 1024},
     level_bytes<2 * 64>}); /* the smallest leaves the most */
