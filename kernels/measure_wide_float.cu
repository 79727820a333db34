/* SPDX-License-Identifier: MIT */
/* measure_wide_float.cu: tallies of f32 and f64 samples in one read: counts, extrema, exact sums.
 */
#include "measure_wide.cuh"

/* A thread's share of the 128 lanes of a piece, of all channels: SLOTS of them, and extrema of its
 * classes. */
template <int C, int SAMPLE> struct FloatLanes {
    typedef typename WideType<SAMPLE>::Value Value;
    enum { SLOTS = 4 * C };
    double d[SLOTS], q[SLOTS], pivot[C];
    Value low[C], high[C];
};

template <int C, int SAMPLE>
static __device__ __forceinline__ void lanes_take(FloatLanes<C, SAMPLE> *lanes, int slot, int j,
                                                  typename WideType<SAMPLE>::Value value)
{
    const double distance = (double)value - lanes->pivot[j];
    lanes->d[slot] += distance;
    lanes->q[slot] += distance * distance;
    lanes->low[j] = value_min(lanes->low[j], value);
    lanes->high[j] = value_max(lanes->high[j], value);
}

/* Samples that are all finite, 16 bytes at a time; a piece that shows otherwise is done again. */
template <int C, int SAMPLE> struct Finite {
    Ahead<C, SAMPLE> ahead;
    double (*folding)[C * PIECE_LANES]; /* shared memory of this warp: d and q of each lane */
};

template <int C, int SAMPLE>
static __device__ __forceinline__ void way_begin(Finite<C, SAMPLE> *way, const Work &)
{
    __shared__ double folding[WARPS][2][C * PIECE_LANES];
    way->folding = folding[threadIdx.x / 32];
}

template <int C, int SAMPLE>
static __device__ __forceinline__ void way_adopt(Finite<C, SAMPLE> *way)
{
    way->ahead = Ahead<C, SAMPLE>{}; /* its registers are free meanwhile */
    way->ahead.unit = ~0ull;
}

/* The first sample of each channel, from the vectors of the first lanes or from memory. */
template <int C, int SAMPLE>
static __device__ __forceinline__ void first_samples(const Ahead<C, SAMPLE> &ahead,
                                                     typename WideType<SAMPLE>::Value (&first)[C])
{
    typedef Batch<C, SAMPLE> B;
    if (ahead.n >= B::PIXELS) {
#pragma unroll
        for (int c = 0; c < C; c++)
            first[c] =
                __shfl_sync(ALL_LANES, vector_item(ahead.batch.v[0], c % B::VECTOR), c / B::VECTOR);
    } else {
#pragma unroll
        for (int c = 0; c < C; c++)
            first[c] = ((const typename B::Value *)ahead.samples)[c];
    }
}

/* False if a sample is not finite or its distance overflows: then nothing is added. */
template <int C, int SAMPLE>
static __device__ __forceinline__ bool measure_finite(Finite<C, SAMPLE> *way, WideBlock<C> *block,
                                                      uint64_t unit, uint64_t next)
{
    typedef Batch<C, SAMPLE> B;
    typedef typename B::Value Value;
    const unsigned lane = threadIdx.x % 32, turn = B::VECTOR * lane % C;
    ahead_begin(&way->ahead, block->image, unit);
    const unsigned n = way->ahead.n;
    Value first[C];
    first_samples(way->ahead, first);
    FloatLanes<C, SAMPLE> lanes = {};
#pragma unroll
    for (int j = 0; j < C; j++) {
        Value pivot = first[0];
#pragma unroll
        for (int c = 1; c < C; c++)
            pivot = (j + turn) % C == (unsigned)c ? first[c] : pivot;
        lanes.pivot[j] = (double)pivot + 0.0; /* +0 for -0 */
        lanes.low[j] = (Value)INFINITY;
        lanes.high[j] = -(Value)INFINITY;
    }
    take_piece(&lanes, &way->ahead, block->image, next);
    bool finite = true;
#pragma unroll
    for (int slot = 0; slot < lanes.SLOTS; slot++)
        finite &= isfinite(lanes.q[slot]);
    if (!__all_sync(ALL_LANES, finite))
        return false;

    __syncwarp(); /* the lanes of the piece before are read */
#pragma unroll
    for (int slot = 0; slot < lanes.SLOTS; slot++) {
        const unsigned flat =
            slot / B::VECTOR * B::VECTOR * 32 + lane * B::VECTOR + slot % B::VECTOR;
        const unsigned at = flat % C * PIECE_LANES + flat / C;
        way->folding[0][at] = lanes.d[slot];
        way->folding[1][at] = lanes.q[slot];
    }
    __syncwarp(); /* all lanes are written */
#pragma unroll
    for (int c = 0; c < C; c++) {
        const double *d = way->folding[0] + c * PIECE_LANES + lane;
        const double *q = way->folding[1] + c * PIECE_LANES + lane;
        add_terms(block, c, n, (double)first[c] + 0.0, lanes_fold(d[0], d[32], d[64], d[96]),
                  lanes_fold(q[0], q[32], q[64], q[96]));
        add_count(block, c, n);
        const uint64_t least = value_key<SAMPLE>(of_channel<C>(lanes.low, c, turn));
        const uint64_t most = value_key<SAMPLE>(of_channel<C>(lanes.high, c, turn));
        note_extrema(block, c, unit, warp_min_key<SAMPLE>(least), warp_max_key<SAMPLE>(most));
    }
    return true;
}

template <int C, int SAMPLE>
static __device__ __forceinline__ void way_measure(Finite<C, SAMPLE> *way, WideBlock<C> *block,
                                                   uint64_t unit, uint64_t next)
{
    if (measure_finite(way, block, unit, next))
        return;
    for (int c = 0; c < C; c++)
        measure_careful<C, SAMPLE>(block, unit, 0, c, c == 0);
}

template <int C, int SAMPLE>
static __device__ __forceinline__ void way_report(Finite<C, SAMPLE> *, WideBlock<C> *)
{
}

template <int C, int SAMPLE>
static ImgstatResult launch_channels(const Launch *launch, bool plain, ImgstatError *err)
{
    enum { BLOCKS = C <= 2 ? 4 : 3 }; /* a multiprocessor, so that nothing is spilled */
    return plain ? launch_way<C, SAMPLE, Finite<C, SAMPLE>, BLOCKS>(launch, err)
                 : launch_way<C, SAMPLE, Careful<C, SAMPLE>, 4>(launch, err);
}

template <int SAMPLE>
static ImgstatResult launch_sample(const Launch *launch, unsigned channels, bool plain,
                                   ImgstatError *err)
{
    switch (channels) {
    case 1:
        return launch_channels<1, SAMPLE>(launch, plain, err);
    case 2:
        return launch_channels<2, SAMPLE>(launch, plain, err);
    case 3:
        return launch_channels<3, SAMPLE>(launch, plain, err);
    default:
        return launch_channels<4, SAMPLE>(launch, plain, err);
    }
}

ImgstatResult launch_wide_float(const Launch *launch, ImgstatSample sample, unsigned channels,
                                bool plain, ImgstatError *err)
{
    return sample == IMGSTAT_F32 ? launch_sample<IMGSTAT_F32>(launch, channels, plain, err)
                                 : launch_sample<IMGSTAT_F64>(launch, channels, plain, err);
}
