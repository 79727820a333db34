/* SPDX-License-Identifier: MIT */
/* 07_reduce_vector.cu: how production differs: 16-byte loads, several in flight, a grid as large as
 * the machine. */
#include "ladder.h"

/*
 * reduce_7_vector: threads stay and stride over the input.
 *
 *   Idea      A grid that just fills the machine walks the input. A thread issues UNROLL loads of
 *             16 bytes before it uses the first, and keeps its accumulator in a register: memory,
 *             not latency or launch, sets the pace. The few samples before the first and after the
 *             last aligned 16 bytes are read one by one.
 *   Work      n-1 combinations, n / threads + log2(BLOCK) steps, two launches.
 *   Memory    reads n samples once, writes and reads one accumulator per block.
 *   Launch    <<<multiprocessors * resident blocks, BLOCK>>>, then <<<1, BLOCK>>>.
 *   Requires  n >= 1; in aligned to a sample; in and partial do not overlap.
 *   Result    partial[b] = sum, minimum or maximum of what block b read; the second launch has one
 *             block, which folds all of them.
 *
 * The rung below spent its time on starting blocks, each of which waited for two small loads.
 */
enum { BLOCK = 512, WARP = 32, WARPS = BLOCK / WARP, UNROLL = 8, VECTOR = 16 };
static const unsigned ALL_LANES = 0xFFFFFFFFu;

template <int OP, typename A> static __device__ A warp_reduce(A value)
{
    for (int offset = WARP / 2; offset > 0; offset /= 2)
        value = ladder_combine<OP>(value, (A)__shfl_down_sync(ALL_LANES, value, offset));
    return value; /* complete in lane 0 */
}

template <int OP, typename A> static __device__ void block_store(A value, A *out)
{
    __shared__ A of_warp[WARPS];
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    value = warp_reduce<OP>(value);
    if (lane == 0)
        of_warp[warp] = value;
    __syncthreads(); /* all of of_warp is written before the first warp reads it */
    if (warp == 0) {
        const A all = warp_reduce<OP>(lane < WARPS ? of_warp[lane] : ladder_identity<OP, A>());
        if (lane == 0)
            *out = all;
    }
}

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
    const size_t per_vector = VECTOR / sizeof(T);
    const size_t to_aligned = (0 - (uintptr_t)in) % VECTOR / sizeof(T);
    const size_t head = to_aligned < n ? to_aligned : n;
    const uint4 *const body = (const uint4 *)(in + head);
    const size_t vectors = (n - head) / per_vector;
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

    /* Fewer than two vectors of samples in all, and at least BLOCK threads: one each. */
    if (thread < head)
        value = ladder_combine<OP>(value, (A)in[thread]);
    const size_t tail = head + vectors * per_vector;
    if (thread < n - tail)
        value = ladder_combine<OP>(value, (A)in[tail + thread]);
    block_store<OP>(value, &partial[blockIdx.x]);
}

template <typename A, int OP>
static __global__ void __launch_bounds__(BLOCK)
    reduce_7_finish(const A *__restrict__ partial, unsigned n, A *__restrict__ out)
{
    A value = ladder_identity<OP, A>();
    for (unsigned i = threadIdx.x; i < n; i += BLOCK)
        value = ladder_combine<OP>(value, partial[i]);
    block_store<OP>(value, out);
}

static const size_t MAX_GRID = 8192; /* partials the scratch has room for */

template <typename T, int OP> static cudaError_t launch_vector(const LadderCall *call)
{
    typedef typename LadderAcc<T, OP>::type A;
    static_assert(BLOCK >= VECTOR && WARPS <= WARP, "one thread a left-over sample");
    if (call->n == 0) {
        const A identity = ladder_identity<OP, A>();
        return cudaMemcpyAsync(call->out, &identity, sizeof identity, cudaMemcpyHostToDevice,
                               call->stream);
    }
    int device = 0, processors = 0, resident = 0;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (status == cudaSuccess)
        status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, reduce_7_vector<T, A, OP>,
                                                               BLOCK, 0);
    if (status != cudaSuccess)
        return status;
    /* No more blocks than there are vectors for: a small input needs few partials. */
    const size_t useful = ladder_tiles(ladder_tiles(call->n * sizeof(T), VECTOR), BLOCK);
    size_t grid = (size_t)processors * (size_t)resident;
    grid = grid < useful ? grid : useful;
    grid = grid < MAX_GRID ? grid : MAX_GRID;
    reduce_7_vector<T, A, OP><<<(unsigned)grid, BLOCK, 0, call->stream>>>(
        (const T *)call->in, call->n, (A *)call->scratch);
    status = cudaGetLastError();
    if (status != cudaSuccess)
        return status;
    reduce_7_finish<A, OP>
        <<<1, BLOCK, 0, call->stream>>>((const A *)call->scratch, (unsigned)grid, (A *)call->out);
    return cudaGetLastError();
}

static size_t scratch_bytes(size_t)
{
    return MAX_GRID * sizeof(uint64_t);
}

const LadderReduce ladder_reduce_vector = {
    "reduce_7_vector",
    "16-byte loads, 8 in flight, a grid that fills the machine",
    "n-1",
    "n/threads + log2 B",
    0,
    {BLOCK},
    scratch_bytes,
    {{launch_vector<uint16_t, LADDER_SUM>, launch_vector<uint16_t, LADDER_MIN>,
      launch_vector<uint16_t, LADDER_MAX>},
     {launch_vector<int32_t, LADDER_SUM>, launch_vector<int32_t, LADDER_MIN>,
      launch_vector<int32_t, LADDER_MAX>},
     {launch_vector<float, LADDER_SUM>, launch_vector<float, LADDER_MIN>,
      launch_vector<float, LADDER_MAX>}},
};
