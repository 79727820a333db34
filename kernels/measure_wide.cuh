/* SPDX-License-Identifier: MIT */
/* measure_wide.cuh: the kernel that measures wide samples, whichever way its warps add up. */
#ifndef IMGSTAT_MEASURE_WIDE_CUH
#define IMGSTAT_MEASURE_WIDE_CUH

#include "wide_piece.cuh"

/* The vectors that a warp reads at once: some times 128 pixels. */
template <int C, int SAMPLE> struct Batch {
    typedef typename WideType<SAMPLE>::Value Value;
    typedef typename WideType<SAMPLE>::Vector Vector;
    enum { VECTOR = 16 / sizeof(Value), STEPS = C * (int)sizeof(Value) / 4 };
    enum { AHEAD = STEPS >= 8 ? 1 : 8 / STEPS, LOADS = AHEAD * STEPS };
    enum { PIXELS = AHEAD * PIECE_LANES };
    Vector v[LOADS];
};

/* The channel of item e of a lane's vector i, apart from the turn of the lane: class j of lane t
 * has channel (j + VECTOR t) % C. */
template <int C, int SAMPLE> static __host__ __device__ constexpr int class_of(int i, int e)
{
    return (Batch<C, SAMPLE>::VECTOR * 32 * (i % Batch<C, SAMPLE>::STEPS) + e) % C;
}

/* Of the C values of a thread, one a class, the one whose channel is c. */
template <int C, typename T>
static __device__ __forceinline__ T of_channel(const T (&value)[C], int c, unsigned turn)
{
    T chosen = value[0];
#pragma unroll
    for (int j = 1; j < C; j++)
        chosen = (j + turn) % C == (unsigned)c ? value[j] : chosen;
    return chosen;
}

/* The piece that comes next, and its first vectors, on their way; they are if it has so many. */
template <int C, int SAMPLE> struct Ahead {
    Batch<C, SAMPLE> batch;
    uint64_t unit; /* ~0: none */
    const unsigned char *samples;
    unsigned n;
};

template <int C, int SAMPLE>
static __device__ __forceinline__ void ahead_begin(Ahead<C, SAMPLE> *ahead, const WorkImage &image,
                                                   uint64_t unit)
{
    typedef Batch<C, SAMPLE> B;
    if (ahead->unit == unit)
        return;
    const PlacedPiece piece = piece_place(image, unit, sizeof(typename B::Value));
    ahead->unit = unit;
    ahead->samples = piece.samples;
    ahead->n = piece.n;
    if (piece.n >= B::PIXELS) {
#pragma unroll
        for (int i = 0; i < B::LOADS; i++)
            ahead->batch.v[i] =
                __ldcs((const typename B::Vector *)piece.samples + threadIdx.x % 32 + i * 32);
    }
}

/* Takes the piece that is ahead into lanes, and replaces each vector by the one that follows it, of
 * the next piece in the end: loads are on their way all the time. */
template <int C, int SAMPLE, class Lanes>
static __device__ __forceinline__ void take_piece(Lanes *lanes, Ahead<C, SAMPLE> *ahead,
                                                  const WorkImage &image, uint64_t next)
{
    typedef Batch<C, SAMPLE> B;
    typedef typename B::Vector Vector;
    const unsigned lane = threadIdx.x % 32, n = ahead->n, batches = n / B::PIXELS;
    const typename B::Value *samples = (const typename B::Value *)ahead->samples;
    const Vector *from = (const Vector *)samples + lane, *following = NULL;
    ahead->unit = ~0ull;
    if (next != ~0ull && batches) {
        const PlacedPiece piece = piece_place(image, next, sizeof(typename B::Value));
        ahead->unit = next;
        ahead->samples = piece.samples;
        ahead->n = piece.n;
        if (piece.n >= B::PIXELS)
            following = (const Vector *)piece.samples + lane;
    }
    for (unsigned b = 1; b <= batches; b++) {
        from = b < batches ? from + B::LOADS * 32 : following;
#pragma unroll
        for (int i = 0; i < B::LOADS; i++) {
            const Vector v = ahead->batch.v[i];
            if (from)
                ahead->batch.v[i] = __ldcs(from + i * 32);
#pragma unroll
            for (int e = 0; e < B::VECTOR; e++)
                lanes_take(lanes, i % B::STEPS * B::VECTOR + e, class_of<C, SAMPLE>(i, e),
                           vector_item(v, e));
        }
    }
    for (unsigned x = batches * B::PIXELS; x < n; x += PIECE_LANES) {
#pragma unroll
        for (int slot = 0; slot < B::STEPS * B::VECTOR; slot++) {
            const int i = slot / B::VECTOR, e = slot % B::VECTOR;
            const unsigned flat = (i * 32 + lane) * B::VECTOR + e;
            if (x * C + flat < n * C)
                lanes_take(lanes, slot, class_of<C, SAMPLE>(i, e), samples[(size_t)x * C + flat]);
        }
    }
}

/* ---- Sample by sample, whatever the samples are ---------------------------------------------- */

template <int C, int SAMPLE> struct Careful {
    unsigned channel0;
};

template <int C, int SAMPLE>
static __device__ __forceinline__ void way_begin(Careful<C, SAMPLE> *way, const Work &work)
{
    way->channel0 = work.channel0;
}

template <int C, int SAMPLE> static __device__ __forceinline__ void way_adopt(Careful<C, SAMPLE> *)
{
}

template <int C, int SAMPLE>
static __device__ __forceinline__ void way_measure(Careful<C, SAMPLE> *way, WideBlock<C> *block,
                                                   uint64_t unit, uint64_t)
{
    for (int c = 0; c < C; c++)
        measure_careful<C, SAMPLE>(block, unit, way->channel0, c, c == 0);
}

template <int C, int SAMPLE>
static __device__ __forceinline__ void way_report(Careful<C, SAMPLE> *, WideBlock<C> *)
{
}

/* ---- The kernel ------------------------------------------------------------------------------ */

/*
 * measure_wide: tallies of 32- and 64-bit samples, C channels at once.
 *
 *   Idea      A warp takes a piece (docs/float-sums.md) at a time, in one of three ways: floats
 *             that it assumes finite, integers, or any samples one by one. Extrema are kept a
 *             piece; the last block to report an image looks into the pieces that brought the
 *             image's for their positions.
 *   Work      f32: 4 double operations and 3 others a sample; u32: 6 instructions, u64: 19.
 *   Memory    reads n samples once.
 *   Launch    persistent blocks of 128; items of some pieces from a queue, in order, the first by
 *             the number of the block, the next known while one is measured.
 *   Requires  C <= 4, samples aligned; all ways but Careful: the image has C channels, no mask and
 *             no nodata, and its rows begin on 16-byte boundaries. Queue and states zero.
 *   Result    all of the tally but bins added to the record; queue and states zero again.
 */
template <int C, int SAMPLE, class Way, int PER_SM>
static __global__ void __launch_bounds__(THREADS, PER_SM)
    measure_wide(const __grid_constant__ Work work)
{
    __shared__ WideBlock<C> block;
    Way way;
    way_begin(&way, work);
    if (threadIdx.x == 0) {
        block.next[0] = gridDim.x + atomicAdd(&work.shared->queue.next, 1u);
        block.full[0] = false;
    }
    __syncthreads();

    uint32_t item = blockIdx.x, next = block.next[0];
    uint32_t number = ~0u; /* of the image that is added up */
    for (unsigned turn = 1; item < work.n_items; turn ^= 1) {
        const uint32_t wanted = work_image_of(work, item);
        if (wanted != number || block.full[turn ^ 1]) {
            if (number != ~0u) {
                way_report(&way, &block);
                flush<C, SAMPLE>(work, &block);
            }
            adopt(work, &block, wanted);
            way_adopt(&way);
            number = wanted;
        }
        unsigned after = 0; /* on its way while the item is measured */
        if (threadIdx.x == 0) {
            after = gridDim.x + atomicAdd(&work.shared->queue.next, 1u);
            block.items++;
            block.pieces += block.image.units_per_item;
        }
        uint64_t unit, end, next_unit = 0, next_end = 0;
        item_units(block.image, item, &unit, &end);
        if (next < work.n_items && work_image_of(work, next) == number)
            item_units(block.image, next, &next_unit, &next_end);
        for (unit += threadIdx.x / 32, next_unit += threadIdx.x / 32; unit < end; unit += WARPS) {
            const uint64_t following = unit + WARPS < end     ? unit + WARPS
                                       : next_unit < next_end ? next_unit
                                                              : ~0ull;
            way_measure(&way, &block, unit, following);
        }
        if (threadIdx.x == 0) {
            block.next[turn] = after;
            block.full[turn] = block.pieces > BLOCK_PIECES;
        }
        __syncthreads(); /* next[turn] is there; items and pieces may change */
        item = next;
        next = block.next[turn];
    }
    if (number != ~0u) {
        way_report(&way, &block);
        flush<C, SAMPLE>(work, &block);
    }
    if (threadIdx.x == 0)
        queue_leave(work);
}

template <int C, int SAMPLE, class Way, int PER_SM>
static ImgstatResult launch_way(const Launch *launch, ImgstatError *err)
{
    CudaDevice *device = launch->device;
    const uint64_t most = (uint64_t)device->properties.multiProcessorCount * PER_SM;
    const uint64_t items = launch->work.n_items;
    measure_wide<C, SAMPLE, Way, PER_SM>
        <<<(unsigned)(items < most ? items : most), THREADS, 0, launch->stream>>>(launch->work);
    return cuda_launched(device, launch->stream, "measure_wide", err);
}

/* Each measures C channels of its images. */
ImgstatResult launch_wide_float(const Launch *launch, ImgstatSample sample, unsigned channels,
                                bool plain, ImgstatError *err);
ImgstatResult launch_wide_integer(const Launch *launch, ImgstatSample sample, unsigned channels,
                                  bool plain, ImgstatError *err);

#endif
