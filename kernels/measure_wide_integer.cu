/* SPDX-License-Identifier: MIT */
/* measure_wide_integer.cu: tallies of 32- and 64-bit integers in one read: extrema, exact sums. */
#include "measure_wide.cuh"

/* A thread's classes. Sums stay in registers until the block reports; extrema are a piece's. */
template <int C, int SAMPLE> struct IntegerLanes {
    typedef typename WideType<SAMPLE>::Raw Raw;
    IntegerSums<SAMPLE> sums[C];
    Raw low[C], high[C];
};

template <int C, int SAMPLE>
static __device__ __forceinline__ void lanes_take(IntegerLanes<C, SAMPLE> *lanes, int, int j,
                                                  typename WideType<SAMPLE>::Value value)
{
    const auto key = (typename WideType<SAMPLE>::Raw)value_key<SAMPLE>(value);
    lanes->sums[j].add(key);
    lanes->low[j] = min(lanes->low[j], key);
    lanes->high[j] = max(lanes->high[j], key);
}

/* All samples count. */
template <int C, int SAMPLE> struct Whole {
    Ahead<C, SAMPLE> ahead;
    IntegerLanes<C, SAMPLE> lanes;
};

template <int C, int SAMPLE>
static __device__ __forceinline__ void way_begin(Whole<C, SAMPLE> *, const Work &)
{
}

template <int C, int SAMPLE> static __device__ __forceinline__ void way_adopt(Whole<C, SAMPLE> *way)
{
    way->ahead = Ahead<C, SAMPLE>{}; /* its registers are free meanwhile */
    way->ahead.unit = ~0ull;
#pragma unroll
    for (int j = 0; j < C; j++)
        way->lanes.sums[j] = IntegerSums<SAMPLE>{};
}

template <int C, int SAMPLE>
static __device__ __forceinline__ void way_measure(Whole<C, SAMPLE> *way, WideBlock<C> *block,
                                                   uint64_t unit, uint64_t next)
{
    typedef typename WideType<SAMPLE>::Raw Raw;
    ahead_begin(&way->ahead, block->image, unit);
    const unsigned n = way->ahead.n;
#pragma unroll
    for (int j = 0; j < C; j++) {
        way->lanes.low[j] = (Raw) ~(Raw)0;
        way->lanes.high[j] = 0;
    }
    take_piece(&way->lanes, &way->ahead, block->image, next);
    const unsigned turn = Batch<C, SAMPLE>::VECTOR * (threadIdx.x % 32) % C;
#pragma unroll
    for (int c = 0; c < C; c++) {
        const uint64_t low = of_channel<C>(way->lanes.low, c, turn);
        const uint64_t high = of_channel<C>(way->lanes.high, c, turn);
        note_extrema(block, c, unit, warp_min_key<SAMPLE>(low), warp_max_key<SAMPLE>(high));
        add_count(block, c, n);
    }
}

template <int C, int SAMPLE>
static __device__ __forceinline__ void way_report(Whole<C, SAMPLE> *way, WideBlock<C> *block)
{
    const unsigned turn = Batch<C, SAMPLE>::VECTOR * (threadIdx.x % 32) % C;
#pragma unroll
    for (int c = 0; c < C; c++)
        add_sums<C, SAMPLE>(block, c, of_channel<C>(way->lanes.sums, c, turn));
}

template <int C, int SAMPLE>
static ImgstatResult launch_channels(const Launch *launch, bool plain, ImgstatError *err)
{
    enum { BLOCKS = C <= 2 ? 4 : 3 }; /* a multiprocessor, so that nothing is spilled */
    return plain ? launch_way<C, SAMPLE, Whole<C, SAMPLE>, BLOCKS>(launch, err)
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

ImgstatResult launch_wide_integer(const Launch *launch, ImgstatSample sample, unsigned channels,
                                  bool plain, ImgstatError *err)
{
    switch (sample) {
    case IMGSTAT_U32:
        return launch_sample<IMGSTAT_U32>(launch, channels, plain, err);
    case IMGSTAT_I32:
        return launch_sample<IMGSTAT_I32>(launch, channels, plain, err);
    case IMGSTAT_U64:
        return launch_sample<IMGSTAT_U64>(launch, channels, plain, err);
    default:
        return launch_sample<IMGSTAT_I64>(launch, channels, plain, err);
    }
}
