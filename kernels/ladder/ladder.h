/* SPDX-License-Identifier: MIT */
/* ladder.h: what the rungs share: operations and identities, the shape of a call, the list of
 * rungs. */
#ifndef IMGSTAT_LADDER_H
#define IMGSTAT_LADDER_H

#include <cuda/std/limits>
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

enum LadderOp { LADDER_SUM, LADDER_MIN, LADDER_MAX, LADDER_OPS };
enum LadderType { LADDER_U16, LADDER_I32, LADDER_F32, LADDER_TYPES };
/* Prefix sums. Signed 32-bit integers run as unsigned: two's complement wraps to the same bits. */
enum LadderScanType { LADDER_SCAN_I32, LADDER_SCAN_U64, LADDER_SCAN_F32, LADDER_SCAN_TYPES };

/* What a reduction of samples T keeps: extrema as they are, sums in a type that 2^32 of the widest
 * samples cannot overflow. Floats are added in double: exact for integers below 2^53, else rounded
 * in an order that differs from rung to rung. */
template <typename T, int OP> struct LadderAcc {
    typedef T type;
};
template <> struct LadderAcc<uint16_t, LADDER_SUM> {
    typedef uint64_t type;
};
template <> struct LadderAcc<int32_t, LADDER_SUM> {
    typedef int64_t type;
};
template <> struct LadderAcc<float, LADDER_SUM> {
    typedef double type;
};

/* The identity of an operation: combining it with x gives x. Not zero for extrema: a maximum of
 * negative floats padded with 0 would be 0. */
template <int OP, typename A> __host__ __device__ constexpr A ladder_identity()
{
    if constexpr (OP == LADDER_SUM)
        return A(0);
    else if constexpr (OP == LADDER_MIN)
        return cuda::std::numeric_limits<A>::has_infinity ? cuda::std::numeric_limits<A>::infinity()
                                                          : cuda::std::numeric_limits<A>::max();
    else
        return cuda::std::numeric_limits<A>::has_infinity
                   ? -cuda::std::numeric_limits<A>::infinity()
                   : cuda::std::numeric_limits<A>::lowest();
}

template <int OP, typename A> __host__ __device__ constexpr A ladder_combine(A a, A b)
{
    if constexpr (OP == LADDER_SUM)
        return a + b;
    else if constexpr (OP == LADDER_MIN)
        return b < a ? b : a;
    else
        return a < b ? b : a;
}

__host__ __device__ constexpr size_t ladder_tiles(size_t n, size_t tile)
{
    return n / tile + (n % tile != 0);
}

/* One call of a rung. All memory but the struct itself is on the device; nothing overlaps. */
typedef struct LadderCall {
    const void *in; /* n samples, aligned to a sample */
    size_t n;  /* below 2^36; 0 is defined: identities, or nothing where partials are the result */
    void *out; /* reductions: one accumulator, or one a tile; scans: n sums */
    void *scratch;  /* scratch_bytes(n), aligned to 16 bytes */
    unsigned block; /* threads a block for rungs that list several; 0: the rung's choice */
    bool inclusive; /* scans that offer both */
    cudaStream_t stream;
} LadderCall;

typedef cudaError_t (*LadderRun)(const LadderCall *call);

typedef struct LadderReduce {
    const char *name;
    const char *idea;
    const char *work, *steps; /* of n samples in tiles of B, for the table of the README */
    size_t partial_tile;      /* samples a partial covers where partials are the result, else 0 */
    unsigned blocks[8];       /* block sizes on offer, ended by 0 */
    size_t (*scratch_bytes)(size_t n);
    LadderRun run[LADDER_TYPES][LADDER_OPS];
} LadderReduce;

typedef struct LadderScan {
    const char *name;
    const char *idea;
    const char *work, *steps;
    size_t max_n; /* 0: any length */
    bool inclusive, exclusive;
    size_t (*scratch_bytes)(size_t n);
    LadderRun run[LADDER_SCAN_TYPES];
} LadderScan;

extern const LadderReduce ladder_reduce_interleaved, ladder_reduce_sequential,
    ladder_reduce_finish_host, ladder_reduce_finish_device, ladder_reduce_block_size,
    ladder_reduce_shuffle, ladder_reduce_vector;
extern const LadderScan ladder_scan_hillis_steele, ladder_scan_recursive, ladder_scan_blelloch,
    ladder_scan_lookback;

/* Bottom to top. */
static const LadderReduce *const ladder_reduces[] = {
    &ladder_reduce_interleaved,   &ladder_reduce_sequential, &ladder_reduce_finish_host,
    &ladder_reduce_finish_device, &ladder_reduce_block_size, &ladder_reduce_shuffle,
    &ladder_reduce_vector,
};
static const LadderScan *const ladder_scans[] = {
    &ladder_scan_hillis_steele,
    &ladder_scan_recursive,
    &ladder_scan_blelloch,
    &ladder_scan_lookback,
};

#endif
