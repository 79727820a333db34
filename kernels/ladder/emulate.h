/* SPDX-License-Identifier: MIT */
/* ladder/emulate.h: the words of CUDA that the rungs use, for a compiler of C++: each thread of a
 * block is a fibre on the CPU, so that every rung runs, and can be watched in a debugger, without
 * a GPU.
 *
 * A thread runs until it waits for others; then the next one runs. Shared memory is static: one
 * block runs at a time (or one for each worker), and finds there what the block before it left.
 * A barrier or exchange that not all threads reach ends the program with a sentence that says
 * where each of them stands. */
#ifndef IMGSTAT_LADDER_EMULATE_H
#define IMGSTAT_LADDER_EMULATE_H

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static thread_local
#define __launch_bounds__(threads)

typedef struct EmulateIndex {
    unsigned x;
} EmulateIndex;
extern thread_local EmulateIndex threadIdx, blockIdx, blockDim, gridDim;

/* How launches run from now on. */
typedef struct EmulateOrder {
    int step;         /* after thread t of a block runs t + step: 1 forward, -1 backward */
    unsigned workers; /* blocks at a time, each on a thread of the system */
} EmulateOrder;
extern EmulateOrder emulate_order;

/* What launches did since the counts were last set to 0. */
typedef struct EmulateCounts {
    uint64_t launches, blocks, threads;
    uint64_t barriers;  /* of a block */
    uint64_t exchanges; /* of a warp */
    uint64_t atomics;   /* of a thread */
} EmulateCounts;
extern EmulateCounts emulate_counts;

/* Runs `thread(arguments)` as every thread of every block. */
void emulate_launch(unsigned grid, unsigned block, size_t shared_bytes, void (*thread)(void *),
                    const void *arguments);
void *emulate_shared_memory(void); /* of the block that runs: shared_bytes, poisoned */
void emulate_yield(void);          /* for a thread that waits for memory to change */
void emulate_count_atomic(void);

/* ---- Barriers and exchanges. `where` is the place in the source. */

void emulate_barrier(const char *where);
/* The bits that each lane of this warp brought; all 32 lanes must come. */
const uint64_t *emulate_exchange(const char *where, unsigned mask, uint64_t bits);

#define EMULATE_TEXT(line) #line
#define EMULATE_LINE(line) EMULATE_TEXT(line)
#define EMULATE_WHERE      __FILE__ ":" EMULATE_LINE(__LINE__)
#define __syncthreads()    emulate_barrier(EMULATE_WHERE)
#define __shfl_down_sync(mask, value, offset) \
    emulate_shuffle(EMULATE_WHERE, mask, value, threadIdx.x % 32 + (unsigned)(offset))
#define __shfl_up_sync(mask, value, offset) \
    emulate_shuffle(EMULATE_WHERE, mask, value, threadIdx.x % 32 - (unsigned)(offset))
#define __shfl_xor_sync(mask, value, offset) \
    emulate_shuffle(EMULATE_WHERE, mask, value, threadIdx.x % 32 ^ (unsigned)(offset))
#define __ballot_sync(mask, predicate) emulate_ballot(EMULATE_WHERE, mask, predicate)

/* The value of lane `from`; beyond the warp, the lane's own. */
template <typename T>
static inline T emulate_shuffle(const char *where, unsigned mask, T value, unsigned from)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    const uint64_t *const lanes = emulate_exchange(where, mask, bits);
    if (from < 32)
        memcpy(&value, &lanes[from], sizeof value);
    return value;
}

static inline unsigned emulate_ballot(const char *where, unsigned mask, bool predicate)
{
    const uint64_t *const lanes = emulate_exchange(where, mask, predicate);
    unsigned votes = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        votes |= (unsigned)lanes[lane] << lane;
    return votes;
}

/* ---- Memory */

template <typename T> static inline T atomicAdd(T *where, T what)
{
    emulate_count_atomic();
    return __atomic_fetch_add(where, what, __ATOMIC_RELAXED);
}

static inline void __threadfence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void __nanosleep(unsigned)
{
    sched_yield(); /* to the other workers */
    emulate_yield();
}

static inline int __ffs(int bits)
{
    return __builtin_ffs(bits);
}

template <typename T> static inline T __ldg(const T *where)
{
    return *where;
}

typedef struct __attribute__((may_alias, aligned(16))) uint4 {
    unsigned x, y, z, w;
} uint4;

/* ---- The runtime, in which device and host are one */

typedef enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2
} cudaError_t;
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };

static inline const char *cudaGetErrorString(cudaError_t status)
{
    return status == cudaErrorMemoryAllocation ? "out of memory" : "invalid argument";
}

static inline cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    *memory = aligned_alloc(256, (bytes + 255) / 256 * 256 + (bytes == 0) * 256);
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

static inline cudaError_t cudaFree(void *memory)
{
    free(memory);
    return cudaSuccess;
}

static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
    if (bytes > 0)
        memcpy(to, from, bytes);
    return cudaSuccess;
}

static inline cudaError_t cudaMemset(void *memory, int value, size_t bytes)
{
    memset(memory, value, bytes);
    return cudaSuccess;
}

template <typename T>
static inline cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t bytes, size_t,
                                             cudaMemcpyKind)
{
    memcpy(&symbol, from, bytes);
    return cudaSuccess;
}

static inline cudaError_t cudaDeviceSynchronize(void)
{
    return cudaSuccess;
}

#endif
