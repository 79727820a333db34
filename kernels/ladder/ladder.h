/* SPDX-License-Identifier: MIT */
/* ladder/ladder.h: what the rungs share: operations and identities, a launch, the shape of a call,
 * the list of rungs. */
#ifndef IMGSTAT_LADDER_H
#define IMGSTAT_LADDER_H

#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
#include "ladder/emulate.h"
#endif
#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Operations */

enum LadderOp { LADDER_SUM, LADDER_MAX };

/* Counts and sums; what atomicAdd takes. */
typedef unsigned long long LadderCount;

/* What a reduction of samples T keeps: maxima as they are, sums in a type that 2^32 of the widest
 * samples cannot overflow. Floats are added in double: exact for integers below 2^53, else rounded
 * in an order that differs from rung to rung. */
template <typename T, int OP> struct LadderAcc {
    typedef T type;
};
template <> struct LadderAcc<uint16_t, LADDER_SUM> {
    typedef LadderCount type;
};
template <> struct LadderAcc<float, LADDER_SUM> {
    typedef double type;
};

/* The identity of an operation: combining it with x gives x. Not 0 for maxima of floats: padded
 * with 0, a maximum of negative ones would be 0. */
template <int OP, typename A> __host__ __device__ constexpr A ladder_identity()
{
    if constexpr (OP == LADDER_MAX && A(0.5f) != A(0))
        return -INFINITY;
    else
        return A(0);
}

template <int OP, typename A> __host__ __device__ constexpr A ladder_combine(A a, A b)
{
    if constexpr (OP == LADDER_SUM)
        return a + b;
    else
        return a < b ? b : a;
}

__host__ __device__ constexpr size_t ladder_tiles(size_t n, size_t tile)
{
    return n / tile + (n % tile != 0);
}

/* ---- Launches */

/* Memory that a block shares, whose size the launch gives. */
template <typename T> static __device__ T *ladder_shared_memory()
{
#ifdef __CUDACC__
    extern __shared__ uint4 ladder_dynamic[];
    return (T *)ladder_dynamic;
#else
    return (T *)emulate_shared_memory();
#endif
}

/* kernel<<<grid, block, shared_bytes>>>(arguments...), arguments converted to the kernel's
 * parameters. A grid of 0 launches nothing. */
template <typename... P, typename... Q>
static cudaError_t ladder_launch_shared(size_t shared_bytes, void (*kernel)(P...), size_t grid,
                                        unsigned block, Q... arguments)
{
    if (grid == 0)
        return cudaSuccess;
#ifdef __CUDACC__
    kernel<<<(unsigned)grid, block, shared_bytes>>>(P(arguments)...);
    return cudaGetLastError();
#else
    const auto thread = [&] { kernel(P(arguments)...); };
    emulate_launch((unsigned)grid, block, shared_bytes,
                   [](void *call) { (*(decltype(thread) *)call)(); }, &thread);
    return cudaSuccess;
#endif
}

template <typename... P, typename... Q>
static cudaError_t ladder_launch(void (*kernel)(P...), size_t grid, unsigned block, Q... arguments)
{
    return ladder_launch_shared(0, kernel, grid, block, arguments...);
}

/* How many blocks fill the machine, and no more than `useful`. To be asked before a launch with
 * shared_bytes. */
template <typename... P>
static size_t ladder_grid(void (*kernel)(P...), unsigned block, size_t shared_bytes, size_t useful)
{
    int processors = 1, resident = 3; /* the emulated machine */
#ifdef __CUDACC__
    int device = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (shared_bytes > (48 << 10)) /* more than a kernel may have without asking */
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)shared_bytes);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, (int)block, shared_bytes);
#else
    (void)kernel, (void)block, (void)shared_bytes;
#endif
    const size_t grid = (size_t)processors * (size_t)resident;
    return grid < useful ? grid : useful;
}

/* One value into the device's memory. */
template <typename T> static cudaError_t ladder_store(void *where, T value)
{
    return cudaMemcpy(where, &value, sizeof value, cudaMemcpyHostToDevice);
}

/* ---- Rungs */

/* One call of a rung. All memory but the struct itself is on the device, begins on 16 bytes, and
 * does not overlap. */
typedef struct LadderCall {
    const void *in; /* n samples */
    size_t n;       /* below 2^36; 0 is defined */
    void *out;      /* an accumulator, or one a tile; n sums; counts of all values; n samples */
    void *scratch;  /* scratch_bytes(n) */
    const uint8_t *table; /* look-up: 256 entries */
    unsigned block;       /* threads a block, of those that the rung lists */
} LadderCall;

typedef cudaError_t (*LadderRun)(const LadderCall *call);

/* What a rung may be asked for. */
typedef enum LadderKind {
    LADDER_SUM_U16,
    LADDER_MAX_U16,
    LADDER_SUM_F32,
    LADDER_MAX_F32,
    LADDER_SCAN_U32,
    LADDER_SCAN_U64,
    LADDER_COUNT_U8,
    LADDER_COUNT_U16,
    LADDER_LOOKUP_U8,
    LADDER_KINDS
} LadderKind;

typedef struct LadderRung {
    const char *name;
    const char *news;                  /* a sentence: what is new */
    unsigned blocks[6];                /* block sizes on offer, ended by 0 */
    size_t (*scratch_bytes)(size_t n); /* NULL: none */
    size_t partial_tile;         /* samples of a partial where partials are the result, else 0 */
    size_t max_n;                /* 0: any */
    bool exclusive;              /* scans: out[i] without in[i] */
    LadderRun run[LADDER_KINDS]; /* NULL: not this one */
} LadderRung;

/* A rung with its calls: R::run<T, OP>, R::run<T>. */
template <typename R> constexpr LadderRung ladder_reduce(LadderRung rung)
{
    rung.run[LADDER_SUM_U16] = R::template run<uint16_t, LADDER_SUM>;
    rung.run[LADDER_MAX_U16] = R::template run<uint16_t, LADDER_MAX>;
    rung.run[LADDER_SUM_F32] = R::template run<float, LADDER_SUM>;
    rung.run[LADDER_MAX_F32] = R::template run<float, LADDER_MAX>;
    return rung;
}

template <typename R> constexpr LadderRung ladder_scan(LadderRung rung)
{
    rung.run[LADDER_SCAN_U32] = R::template run<uint32_t>;
    rung.run[LADDER_SCAN_U64] = R::template run<uint64_t>;
    return rung;
}

constexpr LadderRung ladder_count(LadderRung rung, LadderRun u8, LadderRun u16)
{
    rung.run[LADDER_COUNT_U8] = u8;
    rung.run[LADDER_COUNT_U16] = u16;
    return rung;
}

constexpr LadderRung ladder_lookup(LadderRung rung, LadderRun u8)
{
    rung.run[LADDER_LOOKUP_U8] = u8;
    return rung;
}

/* ladder.cu lists them, bottom to top. */
extern const LadderRung ladder_reduce_interleaved, ladder_reduce_sequential,
    ladder_reduce_finish_host, ladder_reduce_finish_device, ladder_reduce_block_size,
    ladder_reduce_shuffle, ladder_reduce_vector;
extern const LadderRung ladder_scan_hillis_steele, ladder_scan_recursive, ladder_scan_blelloch,
    ladder_scan_lookback;
extern const LadderRung ladder_histogram_global, ladder_histogram_shared, ladder_histogram_vector,
    ladder_histogram_copies, ladder_histogram_columns, ladder_histogram_parts;
extern const LadderRung ladder_lookup_global, ladder_lookup_constant, ladder_lookup_shared,
    ladder_lookup_vector;
/* What production runs: others.cu, with CUDA only. */
extern const LadderRung ladder_reduce_cub, ladder_scan_cub, ladder_scan_imgstat,
    ladder_histogram_cub;

#endif
