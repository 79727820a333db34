/* SPDX-License-Identifier: MIT */
/* scan/ring.cuh: prefix sums of large arrays on devices with bulk copies into shared memory
 * (compute capability 9.0): loads never wait for a look-back. */
#ifndef IMGSTAT_KERNELS_SCAN_RING_CUH
#define IMGSTAT_KERNELS_SCAN_RING_CUH

#include "common/sm90.cuh"
#include "common/tuning.cuh"
#include "common/warp.cuh"
#include "scan/tile.cuh"

/* Code for architectures below has no bulk copies: the kernel is empty there. */
enum { RING_ARCHITECTURE = 90 };

/* A block: a warp that loads, one that adds up, one that looks back, and STORERS that write a
 * segment of the tile each; STAGES tiles in shared memory. */
template <typename T> struct Ring {
    enum { ROWS = SCAN_RING_ROWS, STORERS = SCAN_RING_STORERS, STAGES = SCAN_RING_STAGES };
    enum { VECTOR = 16 / sizeof(T), ROW = 32 * VECTOR, SEGMENT = ROWS * ROW };
    enum { ITEMS = STORERS * SEGMENT, BYTES = ITEMS * sizeof(T) };
    enum { LOADER, ADDER, LOOKER, FIRST_STORER };
    enum { THREADS = 32 * (FIRST_STORER + STORERS), SHARED = STAGES * BYTES + 128 };
};

/* ---- The roles of a block's warps ------------------------------------------------------------ */

/* A stage of the ring goes from warp to warp: loaded, added up, looked back from, stored; then it
 * is loaded again. Each barrier ends one phase a round. */
template <typename T> struct RingControl {
    typedef Ring<T> R;
    uint64_t loaded[R::STAGES], added[R::STAGES], known[R::STAGES], stored[R::STAGES];
    unsigned tile[R::STAGES]; /* not below the number of tiles: there are no more */
    T total[R::STAGES];
    T segment[R::STAGES][R::STORERS]; /* of the tile, before this one */
    T before[R::STAGES];              /* before the tile */
};

template <typename T> struct RingCall {
    const T *in;
    T *out;
    size_t n;
    unsigned tiles; /* the last one may be partial */
    bool inclusive;
    unsigned long long *status;
    unsigned *next;
};

/* One thread. A tile's number is taken when there is room for it: all that have lower numbers are
 * on their way. */
template <typename T>
DEVICE void ring_load(RingControl<T> *control, unsigned char *ring, const RingCall<T> &call)
{
    typedef Ring<T> R;
    for (unsigned i = 0;; i++) {
        const unsigned s = i % R::STAGES;
        if (i >= R::STAGES)
            barrier_wait(&control->stored[s], (i / R::STAGES - 1) & 1);
        const unsigned tile = atomicAdd(call.next, 1u);
        control->tile[s] = tile;
        unsigned bytes = 0;
        if (tile < call.tiles) {
            const size_t first = (size_t)tile * R::ITEMS, left = call.n - first;
            bytes = left < R::ITEMS ? (unsigned)(left * sizeof(T)) & ~15u : (unsigned)R::BYTES;
            if (bytes)
                load_bulk(ring + (size_t)s * R::BYTES, call.in + first, bytes, &control->loaded[s]);
        }
        if (bytes == 0)
            barrier_arrive(&control->loaded[s]);
        if (tile >= call.tiles)
            return;
    }
}

/* A vector of a stage; item: its first item's index in the array. What follows the last whole
 * vector of the array is not copied in bulk; that is known before, so that loads do not wait for
 * each other's branches. */
template <typename T, bool WHOLE>
DEVICE Vector<T> ring_vector(const Vector<T> *from, const RingCall<T> &call, size_t item)
{
    enum { VECTOR = 16 / sizeof(T) };
    if constexpr (WHOLE) {
        return *from;
    } else {
        if (item + VECTOR <= call.n)
            return *from;
        Vector<T> v;
#pragma unroll
        for (int e = 0; e < VECTOR; e++)
            v.item[e] = item + e < call.n ? call.in[item + e] : 0; /* 0 is the identity of + */
        return v;
    }
}

/* The sum of a tile, and what comes before each segment of it. */
template <typename T, bool WHOLE>
DEVICE T ring_sum(const Vector<T> *from, const RingCall<T> &call, size_t base, T *segment)
{
    typedef Ring<T> R;
    T before = 0;
#pragma unroll(WHOLE ? 4 : 1)
    for (int w = 0; w < R::STORERS; w++) {
        T sum[R::VECTOR] = {0}; /* apart: short chains of additions */
#pragma unroll(WHOLE ? (int)R::ROWS : 1)
        for (int r = 0; r < R::ROWS; r++) {
            const int row = w * R::ROWS + r;
            const Vector<T> v =
                ring_vector<T, WHOLE>(from + row * 32, call, base + (size_t)row * R::ROW);
#pragma unroll
            for (int e = 0; e < R::VECTOR; e++)
                sum[e] += v.item[e];
        }
#pragma unroll
        for (int e = 1; e < R::VECTOR; e++)
            sum[0] += sum[e];
        if (threadIdx.x % 32 == 0)
            segment[w] = before;
        before += warp_sum(sum[0]);
    }
    return before;
}

/* Publishes the sum of each tile as soon as it is here, some tiles before it is stored. */
template <typename T>
DEVICE void ring_add(RingControl<T> *control, const unsigned char *ring, const RingCall<T> &call)
{
    typedef Ring<T> R;
    const unsigned lane = threadIdx.x % 32;
    for (unsigned i = 0;; i++) {
        const unsigned s = i % R::STAGES;
        barrier_wait(&control->loaded[s], i / R::STAGES & 1);
        const unsigned tile = control->tile[s];
        if (tile >= call.tiles)
            return;
        const Vector<T> *from = (const Vector<T> *)(ring + (size_t)s * R::BYTES) + lane;
        const size_t base = (size_t)tile * R::ITEMS + lane * R::VECTOR;
        const T sum = ((size_t)tile + 1) * R::ITEMS <= call.n
                          ? ring_sum<T, true>(from, call, base, control->segment[s])
                          : ring_sum<T, false>(from, call, base, control->segment[s]);
        if (lane == 0) {
            control->total[s] = sum;
            publish(call.status, tile, AGGREGATE, sum);
            barrier_arrive(&control->added[s]);
        }
    }
}

/* The sum of tiles [begin, end), when all have published theirs. */
template <typename T>
DEVICE T sum_published(const unsigned long long *status, uint64_t begin, uint64_t end)
{
    enum { DEEP = SCAN_RING_DEPTH };
    const unsigned lane = threadIdx.x % 32;
    T sum = 0;
    for (; begin < end; begin += 32 * DEEP) {
        Published seen[DEEP];
#pragma unroll
        for (int k = 0; k < DEEP; k++) {
            seen[k] = Published{AGGREGATE, 0};
            if (begin + 32 * k + lane < end)
                seen[k] = read_status<T>(status, begin + 32 * k + lane);
        }
#pragma unroll
        for (int k = 0; k < DEEP; k++) {
            while (seen[k].flag == EMPTY)
                seen[k] = read_status<T>(status, begin + 32 * k + lane);
            sum += (T)seen[k].value;
        }
    }
    __syncwarp();
    return warp_sum(sum);
}

/* What comes before a tile is what came before this block's previous tile, that tile, and the tiles
 * of other blocks in between, which have all been published for a while. */
template <typename T> DEVICE void ring_look(RingControl<T> *control, const RingCall<T> &call)
{
    typedef Ring<T> R;
    uint64_t known = 0; /* tiles that sum to known_sum */
    T known_sum = 0;
    for (unsigned i = 0;; i++) {
        const unsigned s = i % R::STAGES;
        barrier_wait(&control->loaded[s], i / R::STAGES & 1);
        const unsigned tile = control->tile[s];
        if (tile >= call.tiles)
            return;
        barrier_wait(&control->added[s], i / R::STAGES & 1);
        const T before = known_sum + sum_published<T>(call.status, known, tile);
        known = (uint64_t)tile + 1;
        known_sum = before + control->total[s];
        __syncwarp(); /* all lanes have read */
        if (threadIdx.x % 32 == 0) {
            control->before[s] = before;
            barrier_arrive(&control->known[s]);
        }
    }
}

/* A warp's segment is scanned before it is known what comes before it. */
template <typename T>
DEVICE void ring_store(RingControl<T> *control, const unsigned char *ring, const RingCall<T> &call)
{
    typedef Ring<T> R;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 - R::FIRST_STORER;
    for (unsigned i = 0;; i++) {
        const unsigned s = i % R::STAGES;
        barrier_wait(&control->loaded[s], i / R::STAGES & 1);
        const unsigned tile = control->tile[s];
        if (tile >= call.tiles)
            return;
        const bool whole = ((size_t)tile + 1) * R::ITEMS <= call.n;
        const size_t base = (size_t)tile * R::ITEMS + (size_t)warp * R::SEGMENT + lane * R::VECTOR;
        const Vector<T> *from =
            (const Vector<T> *)(ring + (size_t)s * R::BYTES) + warp * R::ROWS * 32 + lane;
        Vector<T> v[R::ROWS];
        T offset[R::ROWS];
        if (whole) {
#pragma unroll
            for (int r = 0; r < R::ROWS; r++)
                v[r] = ring_vector<T, true>(from + r * 32, call, base);
        } else {
#pragma unroll
            for (int r = 0; r < R::ROWS; r++)
                v[r] = ring_vector<T, false>(from + r * 32, call, base + r * R::ROW);
        }
        scan_rows<T, R::ROWS>(v, offset);
        barrier_wait(&control->known[s], i / R::STAGES & 1);
        const T before = control->before[s] + control->segment[s][warp];
        __syncwarp(); /* all lanes have read the stage */
        if (lane == 0)
            barrier_arrive(&control->stored[s]);
#pragma unroll
        for (int r = 0; r < R::ROWS; r++)
            finish_vector(v[r], before + offset[r], call.inclusive);
        if (whole) {
#pragma unroll
            for (int r = 0; r < R::ROWS; r++)
                __stcs((uint4 *)(call.out + base + r * R::ROW), *(const uint4 *)&v[r]);
            continue;
        }
#pragma unroll
        for (int r = 0; r < R::ROWS; r++) {
#pragma unroll
            for (int e = 0; e < R::VECTOR; e++) {
                const size_t k = base + r * R::ROW + e;
                if (k < call.n)
                    call.out[k] = v[r].item[e];
            }
        }
    }
}

/*
 * scan_ring: prefix sums of n integers, for arrays of many megabytes.
 *
 *   Idea      A block on each multiprocessor keeps a ring of tiles in shared memory, filled by the
 *             copy engine some tiles ahead, so that memory is busy while the block waits for
 *             others. Each tile's sum is published as soon as it is known. What precedes a tile
 *             follows from the block's previous tile and the sums of the about 131 tiles of other
 *             blocks in between, so no wait depends on another block's wait.
 *   Work      about 8 instructions an item.
 *   Memory    reads n items once, writes them once; 8 or 16 bytes a tile, read by each block.
 *   Launch    one block a multiprocessor; SHARED bytes of dynamic shared memory.
 *   Requires  in, out on 16 bytes, the same or apart; status and next zero. Progress: as
 *             scan_lookback. Blocks take tiles in order when they can load them, so the lowest tile
 *             that has not been added up is being loaded by a block that runs; no block waits for
 *             one that has not begun.
 *   Result    out[i] = in[0] + ... + in[i], without in[i] if not inclusive; modulo 2^32 or 2^64.
 */
template <typename T>
static __global__ void __launch_bounds__(Ring<T>::THREADS, 1)
    scan_ring(const __grid_constant__ RingCall<T> call)
{
#if __CUDA_ARCH__ >= 900
    typedef Ring<T> R;
    extern __shared__ unsigned char memory[];
    __shared__ RingControl<T> control;
    unsigned char *const ring = memory + (128 - shared_address(memory) % 128) % 128;
    if (threadIdx.x == 0) {
        for (int s = 0; s < R::STAGES; s++) {
            barrier_init(&control.loaded[s], 1);
            barrier_init(&control.added[s], 1);
            barrier_init(&control.known[s], 1);
            barrier_init(&control.stored[s], R::STORERS);
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); /* copies see the barriers */
    }
    __syncthreads(); /* so does everybody */
    const unsigned warp = threadIdx.x / 32;
    if (warp >= R::FIRST_STORER)
        ring_store<T>(&control, ring, call);
    else if (warp == R::LOOKER)
        ring_look<T>(&control, call);
    else if (warp == R::ADDER)
        ring_add<T>(&control, ring, call);
    else if (threadIdx.x == R::LOADER)
        ring_load<T>(&control, ring, call);
#endif
}

#endif
