/* SPDX-License-Identifier: MIT */
/* reduce/7_vector.cu: how production differs: 16-byte loads, several in flight, a grid as large as
 * the machine. */
#include "ladder/reduce/6_shuffle.cuh"

/*
 * reduce_7_vector: threads stay and stride over the input.
 *
 *   Idea      A grid that just fills the machine walks the input. A thread issues UNROLL loads of
 *             16 bytes before it uses the first, and keeps its accumulator in a register: memory,
 *             not latency or launch, sets the pace. The few samples after the last whole 16 bytes
 *             are read one by one.
 *   Work      n-1 combinations, n / threads + log2(BLOCK) steps, two launches.
 *   Memory    reads n samples once, writes and reads one accumulator per block.
 *   Launch    <<<multiprocessors * resident blocks, BLOCK>>>, then <<<1, BLOCK>>>.
 *   Requires  in aligned to 16 bytes; in and partial do not overlap.
 *   Result    partial[b] = sum or maximum of what block b read; the second launch has one block,
 *             which folds all of them.
 *
 * The rung below spent its time on starting blocks, each of which waited for two small loads.
 */
enum { BLOCK = 512, UNROLL = 8, VECTOR = 16, MAX_GRID = 8192 /* partials that scratch holds */ };

template <typename T, typename A, int OP> static __device__ A fold_vector(A value, uint4 bytes)
{
    union {
        uint4 bytes;
        T sample[VECTOR / sizeof(T)];
    } v;
    v.bytes = bytes;
#pragma unroll
    for (unsigned k = 0; k < VECTOR / sizeof(T); k++)
        value = ladder_combine<OP>(value, (A)v.sample[k]);
    return value;
}

template <typename T, typename A, int OP>
static __global__ void __launch_bounds__(BLOCK)
    reduce_7_vector(const T *__restrict__ in, size_t n, A *__restrict__ partial)
{
    const size_t thread = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    const size_t threads = (size_t)gridDim.x * BLOCK;
    const uint4 *const body = (const uint4 *)in;
    const size_t vectors = n / (VECTOR / sizeof(T)), tail = vectors * (VECTOR / sizeof(T));
    A value = ladder_identity<OP, A>();

    size_t i = thread;
    for (; i + (UNROLL - 1) * threads < vectors; i += UNROLL * threads) {
        uint4 v[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            v[k] = __ldg(&body[i + k * threads]);
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            value = fold_vector<T, A, OP>(value, v[k]);
    }
    for (; i < vectors; i += threads)
        value = fold_vector<T, A, OP>(value, body[i]);
    if (tail + thread < n)
        value = ladder_combine<OP>(value, (A)in[tail + thread]);
    block_reduce<OP, BLOCK>(value, &partial[blockIdx.x]);
}

template <typename A, int OP>
static __global__ void __launch_bounds__(BLOCK)
    reduce_7_finish(const A *__restrict__ partial, unsigned n, A *__restrict__ out)
{
    A value = ladder_identity<OP, A>();
    for (unsigned i = threadIdx.x; i < n; i += BLOCK)
        value = ladder_combine<OP>(value, partial[i]);
    block_reduce<OP, BLOCK>(value, out);
}

struct Vector {
    template <typename T, int OP> static cudaError_t run(const LadderCall *call)
    {
        typedef typename LadderAcc<T, OP>::type A;
        static_assert(BLOCK >= VECTOR, "a thread for each sample of the tail");
        /* No more blocks than have a vector for each thread, and one if there is hardly any. */
        const size_t useful = ladder_tiles(call->n, BLOCK * VECTOR / sizeof(T));
        const size_t grid =
            ladder_grid(reduce_7_vector<T, A, OP>, BLOCK, 0, useful < MAX_GRID ? useful : MAX_GRID);
        const cudaError_t status =
            ladder_launch(reduce_7_vector<T, A, OP>, grid, BLOCK, call->in, call->n, call->scratch);
        if (status != cudaSuccess)
            return status;
        return ladder_launch(reduce_7_finish<A, OP>, 1, BLOCK, call->scratch, grid, call->out);
    }
};

static size_t scratch_bytes(size_t)
{
    return MAX_GRID * sizeof(LadderCount);
}

const LadderRung ladder_reduce_vector =
    ladder_reduce<Vector>({"vector",
                           "Loads of 16 bytes, 8 in flight; a grid that fills the machine.",
                           {BLOCK},
                           scratch_bytes});
