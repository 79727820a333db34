/* SPDX-License-Identifier: MIT */
/* reduce/1_interleaved.cu: the first parallel reduction one writes: neighbours pair up, then
 * pairs. */
#include "ladder/ladder.h"

/*
 * reduce_1_interleaved: the stride doubles.
 *
 *   Idea      A block holds a tile in shared memory. In the step of stride s, thread t with
 *             t % 2s == 0 combines tile[t] with tile[t + s].
 *   Work      n-1 combinations, log2(BLOCK) steps, one partial per block.
 *   Memory    reads n samples once, writes one accumulator per block; BLOCK accumulators shared.
 *   Launch    <<<ceil(n / BLOCK), BLOCK>>>, BLOCK a power of two.
 *   Requires  in and partial do not overlap.
 *   Result    partial[b] = sum or maximum of tile b.
 *
 * There is no rung below but the serial loop, which waits for each load in turn.
 */
enum { BLOCK = 256 };

template <typename T, typename A, int OP>
static __global__ void reduce_1_interleaved(const T *__restrict__ in, size_t n,
                                            A *__restrict__ partial)
{
    __shared__ A tile[BLOCK];
    const unsigned t = threadIdx.x;
    const size_t i = (size_t)blockIdx.x * BLOCK + t;

    tile[t] = i < n ? (A)in[i] : ladder_identity<OP, A>();
    for (unsigned stride = 1; stride < BLOCK; stride *= 2) {
        __syncthreads(); /* outside the branch: every thread, every step */
        if (t % (2 * stride) == 0)
            tile[t] = ladder_combine<OP>(tile[t], tile[t + stride]);
    }
    if (t == 0)
        partial[blockIdx.x] = tile[0];
}

struct Interleaved {
    template <typename T, int OP> static cudaError_t run(const LadderCall *call)
    {
        typedef typename LadderAcc<T, OP>::type A;
        static_assert((BLOCK & (BLOCK - 1)) == 0, "strides double up to the block");
        return ladder_launch(reduce_1_interleaved<T, A, OP>, ladder_tiles(call->n, BLOCK), BLOCK,
                             call->in, call->n, call->out);
    }
};

const LadderRung ladder_reduce_interleaved =
    ladder_reduce<Interleaved>({"interleaved",
                                "The stride doubles; thread t works if t % (2 * stride) == 0.",
                                {BLOCK},
                                NULL,
                                BLOCK});
