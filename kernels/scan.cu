/* SPDX-License-Identifier: MIT */
/* scan.cu: prefix sums in one pass, by decoupled look-back. */
#include "cuda_device.h"

#include "cuda_kernels.h"

/* 64 KiB of 32-bit sums a tile: a look-back costs about 2 us of latency, a tile about 8 us of an
 * SM's share of the memory, so two blocks an SM hide it (docs/kernels.md). */
enum { THREADS = 256, WARPS = THREADS / 32, ROWS = 8 };
template <typename T> struct Tile {
    enum { VECTOR = 16 / sizeof(T), ROW = 32 * VECTOR, WARP = ROWS * ROW, ITEMS = WARPS * WARP };
};

/* What a tile has published: nothing yet, its own sum, or the sum of everything up to its end.
 * 31 or 32 bits of value a word, so that one 8-byte store publishes flag and value together; 64-bit
 * sums take two words, each with the flag. */
enum { EMPTY = 0, OWN = 1, ALL = 2 };

struct Published {
    unsigned flag;
    uint64_t value;
};

static __device__ __forceinline__ void publish(unsigned long long *status, uint64_t tile,
                                               unsigned flag, uint32_t value)
{
    *(volatile unsigned long long *)&status[tile] = (unsigned long long)flag << 32 | value;
}

static __device__ __forceinline__ void publish(unsigned long long *status, uint64_t tile,
                                               unsigned flag, unsigned long long value)
{
    volatile unsigned long long *word = (volatile unsigned long long *)&status[2 * tile];
    word[0] = (unsigned long long)flag << 32 | (value & 0xFFFFFFFFu);
    word[1] = (unsigned long long)flag << 32 | value >> 32;
}

/* Both words must say the same; a tile goes from OWN to ALL word by word. */
template <typename T>
static __device__ __forceinline__ Published read_status(const unsigned long long *status,
                                                        uint64_t tile)
{
    if constexpr (sizeof(T) == 4) {
        const unsigned long long word = *(const volatile unsigned long long *)&status[tile];
        return Published{(unsigned)(word >> 32), word & 0xFFFFFFFFu};
    } else {
        const volatile unsigned long long *word =
            (const volatile unsigned long long *)&status[2 * tile];
        const unsigned long long low = word[0], high = word[1];
        const unsigned flag = (unsigned)(low >> 32);
        return Published{flag == (unsigned)(high >> 32) ? flag : (unsigned)EMPTY,
                         (high & 0xFFFFFFFFu) << 32 | (low & 0xFFFFFFFFu)};
    }
}

/* The sum of all tiles before this one: one warp looks at 128 predecessors at a time, about half
 * of the tiles that run at the same time. Spins until they have published; tiles are handed out in
 * order, so every predecessor runs or has run. */
template <typename T>
static __device__ __forceinline__ T look_back(const unsigned long long *status, uint64_t tile)
{
    enum { DEEP = 4 };
    const unsigned lane = threadIdx.x % 32;
    T sum = 0;
    for (uint64_t end = tile; end > 0;) { /* tiles below end are still to be added */
        Published seen[DEEP];
#pragma unroll
        for (int k = 0; k < DEEP; k++) {
            seen[k] = Published{ALL, 0}; /* what lies before the first tile */
            if (32 * k + lane < end)
                seen[k] = read_status<T>(status, end - 1 - 32 * k - lane);
        }
#pragma unroll
        for (int k = 0; k < DEEP; k++) {
            while (seen[k].flag == EMPTY)
                seen[k] = read_status<T>(status, end - 1 - 32 * k - lane);
            const unsigned all = __ballot_sync(0xFFFFFFFFu, seen[k].flag == ALL);
            const unsigned last = all ? __ffs((int)all) - 1 : 31; /* no need to look further */
            T value = lane <= last ? (T)seen[k].value : 0;
#pragma unroll
            for (int h = 16; h > 0; h /= 2)
                value += __shfl_xor_sync(0xFFFFFFFFu, value, h);
            sum += value;
            if (all)
                return sum;
        }
        end -= 32 * DEEP;
    }
    return sum;
}

template <typename T> struct alignas(16) Vector {
    T item[16 / sizeof(T)];
};

/*
 * scan_lookback: prefix sums of n integers.
 *
 *   Idea      A tile is loaded into registers once, scanned there, and its sum published; then one
 *             warp adds up what the tiles before it have published, 32 at a time, and stops at the
 *             first that knows the sum of everything before. Tiles are numbered in the order in
 *             which blocks begin, so a block only waits for blocks that run.
 *   Work      about 5 instructions an item.
 *   Memory    reads n items once, writes them once; 8 or 16 bytes a tile.
 *   Launch    one block of 256 a tile.
 *   Requires  in, out on boundaries of T (16 bytes are faster: the CDF of bins that follow an odd
 *             number of tallies is not), the same or apart; status and next zero. Progress: a
 *             running block is not starved for ever (it holds for all CUDA devices, as blocks that
 *             run are never suspended for others of their grid).
 *   Result    out[i] = in[0] + ... + in[i], without in[i] if not inclusive; modulo 2^32 or 2^64.
 */
template <typename T>
static __global__ void __launch_bounds__(THREADS, 4)
    scan_lookback(const T *in, T *out, size_t n, bool inclusive, unsigned long long *status,
                  unsigned *next)
{
    typedef Tile<T> Shape;
    __shared__ unsigned number;
    __shared__ T warp_sum[WARPS];
    __shared__ T before;
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

    /* Within the warp: each vector, then lanes, then rows. offset: of the lane's vector in a row.
     */
    T offset[ROWS], row = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
        for (int e = 1; e < Shape::VECTOR; e++)
            v[r].item[e] += v[r].item[e - 1];
        const T own = v[r].item[Shape::VECTOR - 1];
        T sum = own;
#pragma unroll
        for (int h = 1; h < 32; h *= 2) {
            const T lower = __shfl_up_sync(0xFFFFFFFFu, sum, h);
            sum += lane >= h ? lower : 0;
        }
        offset[r] = row + sum - own;
        row += __shfl_sync(0xFFFFFFFFu, sum, 31);
    }
    if (lane == 0)
        warp_sum[warp] = row;
    __syncthreads(); /* the sums of all warps are there */

    if (warp == 0) {
        T sum = lane < WARPS ? warp_sum[lane] : 0;
        const T own = sum;
#pragma unroll
        for (int h = 1; h < 32; h *= 2) {
            const T lower = __shfl_up_sync(0xFFFFFFFFu, sum, h);
            sum += lane >= h ? lower : 0;
        }
        const T total = __shfl_sync(0xFFFFFFFFu, sum, 31);
        if (lane == 0)
            publish(status, tile, tile == 0 ? ALL : OWN, total);
        const T earlier = look_back<T>(status, tile);
        if (lane == 0 && tile > 0)
            publish(status, tile, ALL, (T)(earlier + total));
        if (lane < WARPS)
            warp_sum[lane] = earlier + sum - own;
    }
    __syncthreads(); /* warp_sum holds what comes before each warp */

    const T earlier = warp_sum[warp];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const T add = earlier + offset[r];
        T previous = add;
#pragma unroll
        for (int e = 0; e < Shape::VECTOR; e++) {
            const T sum = v[r].item[e] + add;
            v[r].item[e] = inclusive ? sum : previous;
            previous = sum;
        }
    }
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

template <typename T> static size_t scratch_bytes(size_t n)
{
    const size_t tiles = n / Tile<T>::ITEMS + (n % Tile<T>::ITEMS != 0);
    return 16 + tiles * (sizeof(T) == 4 ? 8 : 16);
}

size_t cuda_scan_scratch(size_t n)
{
    return scratch_bytes<unsigned long long>(n);
}

template <typename T>
static cudaError_t launch_scan(const T *in, T *out, size_t n, bool inclusive, void *scratch,
                               cudaStream_t stream)
{
    if (n == 0)
        return cudaSuccess;
    const size_t tiles = n / Tile<T>::ITEMS + (n % Tile<T>::ITEMS != 0);
    const cudaError_t cleared = cudaMemsetAsync(scratch, 0, scratch_bytes<T>(n), stream);
    if (cleared != cudaSuccess)
        return cleared;
    scan_lookback<T><<<(unsigned)tiles, THREADS, 0, stream>>>(
        in, out, n, inclusive, (unsigned long long *)scratch + 2, (unsigned *)scratch);
    return cudaGetLastError();
}

cudaError_t cuda_scan_u32(const uint32_t *in, uint32_t *out, size_t n, bool inclusive,
                          void *scratch, cudaStream_t stream)
{
    return launch_scan<uint32_t>(in, out, n, inclusive, scratch, stream);
}

cudaError_t cuda_scan_u64(const uint64_t *in, uint64_t *out, size_t n, bool inclusive,
                          void *scratch, cudaStream_t stream)
{
    return launch_scan<unsigned long long>(
        (const unsigned long long *)in, (unsigned long long *)out, n, inclusive, scratch, stream);
}

ImgstatResult cuda_scan(Device *base, DevMem from, DevMem to, size_t n, bool inclusive,
                        ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    IMGSTAT_TRY(cuda_enter(device, err));
    if (n > SIZE_MAX / sizeof(uint64_t) || from.bytes < n * sizeof(uint64_t) ||
        to.bytes < n * sizeof(uint64_t))
        return error_set(err, IMGSTAT_ERR_ARG, "a scan reaches outside its device memory");
    IMGSTAT_TRY(cuda_reserve(device, &device->scratch, cuda_scan_scratch(n), false, err));
    CUDA_TRY(device, err,
             cuda_scan_u64((const uint64_t *)from.address, (uint64_t *)to.address, n, inclusive,
                           device->scratch.memory, device->stream));
    return cuda_launched(device, device->stream, "scan_lookback", err);
}
