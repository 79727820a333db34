/* SPDX-License-Identifier: MIT */
/* scan/scan.cu: prefix sums in one pass, by decoupled look-back; scan/ring.cuh has the kernel for
 * large arrays on newer devices. */
#include "common/tuning.cuh"
#include "device/cuda_device.h"

#include "scan/ring.cuh"
#include "scan/scan.h"

enum { THREADS = SCAN_THREADS, WARPS = THREADS / 32, ROWS = SCAN_ROWS };
template <typename T> struct Tile {
    enum { VECTOR = 16 / sizeof(T), ROW = 32 * VECTOR, WARP = ROWS * ROW, ITEMS = WARPS * WARP };
};

/*
 * scan_lookback: prefix sums of n integers.
 *
 *   Idea      A tile is loaded into registers once, scanned there, and its sum published; then one
 *             warp adds up what the tiles before it have published, 128 at a time, and stops at the
 *             first that knows the sum of everything before. Tiles are numbered in the order in
 *             which blocks begin, so a block only waits for blocks that run.
 *   Work      about 5 instructions an item.
 *   Memory    reads n items once, writes them once; 8 or 16 bytes a tile.
 *   Launch    one block of 256 a tile.
 *   Requires  in, out on boundaries of T (16 bytes are faster), the same or apart; status and next
 *             zero. Progress: a running block is not starved for ever (it holds for all CUDA
 *             devices, as blocks that run are never suspended for others of their grid).
 *   Result    out[i] = in[0] + ... + in[i], without in[i] if not inclusive; modulo 2^32 or 2^64.
 */
template <typename T>
static __global__ void __launch_bounds__(THREADS, SCAN_BLOCKS)
    scan_lookback(const T *in, T *out, size_t n, bool inclusive, unsigned long long *status,
                  unsigned *next)
{
    typedef Tile<T> Shape;
    __shared__ unsigned number;
    __shared__ T warp_sum[WARPS];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0)
        number = atomicAdd(next, 1u);
    __syncthreads();

    const uint64_t tile = number;
    const size_t base = tile * Shape::ITEMS + (size_t)warp * Shape::WARP + lane * Shape::VECTOR;
    const bool vectors = (((uintptr_t)in | (uintptr_t)out) & 15) == 0;
    const bool whole = vectors && (tile + 1) * Shape::ITEMS <= n;
    Vector<T> v[ROWS];
    if (whole) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const uint4 raw = __ldcs((const uint4 *)(in + base + r * Shape::ROW));
            v[r] = *(const Vector<T> *)&raw;
        }
    } else {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
#pragma unroll
            for (int e = 0; e < Shape::VECTOR; e++) {
                const size_t i = base + r * Shape::ROW + e;
                v[r].item[e] = i < n ? in[i] : 0; /* 0 is the identity of + */
            }
        }
    }

    T offset[ROWS];
    const T row = scan_rows<T, ROWS>(v, offset);
    if (lane == 0)
        warp_sum[warp] = row;
    __syncthreads(); /* the sums of all warps are there */

    if (warp == 0) {
        const T own = lane < WARPS ? warp_sum[lane] : 0, sum = warp_inclusive(own);
        const T total = __shfl_sync(0xFFFFFFFFu, sum, 31);
        if (lane == 0)
            publish(status, tile, tile == 0 ? PREFIX : AGGREGATE, total);
        const T earlier = look_back<T, SCAN_DEPTH>(status, tile);
        if (lane == 0 && tile > 0)
            publish(status, tile, PREFIX, (T)(earlier + total));
        if (lane < WARPS)
            warp_sum[lane] = earlier + sum - own;
    }
    __syncthreads(); /* warp_sum holds what comes before each warp */

    const T earlier = warp_sum[warp];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        finish_vector(v[r], earlier + offset[r], inclusive);
    if (whole) {
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            __stcs((uint4 *)(out + base + r * Shape::ROW), *(const uint4 *)&v[r]);
        return;
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
        for (int e = 0; e < Shape::VECTOR; e++) {
            const size_t i = base + r * Shape::ROW + e;
            if (i < n)
                out[i] = v[r].item[e];
        }
    }
}

static size_t tiles_of(size_t n, size_t items)
{
    return n / items + (n % items != 0);
}

/* Scratch memory: the number of the next tile, then what tiles publish. */
enum { SCRATCH_HEAD = 16 };

template <typename T> static size_t scratch_bytes(size_t tiles)
{
    return SCRATCH_HEAD + tiles * (sizeof(T) == 4 ? 8 : 16);
}

size_t cuda_scan_scratch(size_t n)
{
    typedef unsigned long long Widest;
    const size_t tile = Tile<Widest>::ITEMS, ring = Ring<Widest>::ITEMS;
    return scratch_bytes<Widest>(tiles_of(n, tile < ring ? tile : ring));
}

/* How many blocks of the ring's kernel the current device runs at a time; 0 if it has no bulk
 * copies, too little shared memory, or no code in this build. */
template <typename T> static cudaError_t ring_blocks(unsigned *blocks)
{
    int device = 0, multiprocessors = 0, shared = 0;
    cudaFuncAttributes attributes;
    *blocks = 0;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (status == cudaSuccess)
        status = cudaFuncGetAttributes(&attributes, scan_ring<T>);
    if (status != cudaSuccess || attributes.ptxVersion < RING_ARCHITECTURE ||
        shared < (int)Ring<T>::SHARED)
        return status;
    status = cudaFuncSetAttribute(scan_ring<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  Ring<T>::SHARED);
    *blocks = (unsigned)multiprocessors;
    return status;
}

template <typename T>
static cudaError_t launch_scan(ScanKernel kernel, const T *in, T *out, size_t n, bool inclusive,
                               void *scratch, cudaStream_t stream)
{
    if (n == 0)
        return cudaSuccess;
    const bool aligned = (((uintptr_t)in | (uintptr_t)out) & 15) == 0;
    if (kernel == SCAN_RINGS && !aligned)
        return cudaErrorMisalignedAddress;
    assert((uintptr_t)in % sizeof(T) == 0 && (uintptr_t)out % sizeof(T) == 0);
    assert((uintptr_t)scratch % 16 == 0);
    unsigned *const next = (unsigned *)scratch;
    unsigned long long *const published = (unsigned long long *)scratch + SCRATCH_HEAD / 8;
    unsigned blocks = 0;
    cudaError_t status = cudaSuccess;
    if (kernel == SCAN_RINGS ||
        (kernel == SCAN_BEST && aligned && n >= SCAN_RING_BYTES / sizeof(T)))
        status = ring_blocks<T>(&blocks);
    if (kernel == SCAN_RINGS && status == cudaSuccess && blocks == 0)
        return cudaErrorNotSupported;
    const size_t tiles = tiles_of(n, blocks ? (size_t)Ring<T>::ITEMS : (size_t)Tile<T>::ITEMS);
    if (status == cudaSuccess)
        status = cudaMemsetAsync(scratch, 0, scratch_bytes<T>(tiles), stream);
    if (status != cudaSuccess)
        return status;
    if (blocks) {
        const RingCall<T> call = {in, out, n, (unsigned)tiles, inclusive, published, next};
        const unsigned grid = tiles < blocks ? (unsigned)tiles : blocks;
        scan_ring<T><<<grid, Ring<T>::THREADS, Ring<T>::SHARED, stream>>>(call);
    } else {
        scan_lookback<T>
            <<<(unsigned)tiles, THREADS, 0, stream>>>(in, out, n, inclusive, published, next);
    }
    return cudaGetLastError();
}

cudaError_t cuda_scan_u32(ScanKernel kernel, const uint32_t *in, uint32_t *out, size_t n,
                          bool inclusive, void *scratch, cudaStream_t stream)
{
    return launch_scan<uint32_t>(kernel, in, out, n, inclusive, scratch, stream);
}

cudaError_t cuda_scan_u64(ScanKernel kernel, const uint64_t *in, uint64_t *out, size_t n,
                          bool inclusive, void *scratch, cudaStream_t stream)
{
    return launch_scan<unsigned long long>(kernel, (const unsigned long long *)in,
                                           (unsigned long long *)out, n, inclusive, scratch,
                                           stream);
}
