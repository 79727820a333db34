/* SPDX-License-Identifier: MIT */
/* moments/integer.cu: tallies of 32- and 64-bit integers in one read: extrema, exact sums. */
#include "moments/kernel.cuh"

/* A thread's classes. Sums stay in registers until the block reports; extrema are a segment's. */
template <int C, int SAMPLE> struct IntegerLanes {
    typedef RawOf<SAMPLE> Raw;
    enum { CLASSES = ChannelLayout<C, SAMPLE>::CLASSES };
    Raw sign; /* makes keys */
    IntegerSums<SAMPLE> sums[CLASSES];
    Raw low[CLASSES], high[CLASSES];
};

template <int C, int SAMPLE>
DEVICE void lanes_add(IntegerLanes<C, SAMPLE> *lanes, int, int j, RawOf<SAMPLE> raw)
{
    const auto key = raw ^ lanes->sign;
    lanes->sums[j].add(key);
    lanes->low[j] = min(lanes->low[j], key);
    lanes->high[j] = max(lanes->high[j], key);
}

/* All samples count. */
template <int C, int SAMPLE> struct Whole {
    typedef ChannelLayout<C, SAMPLE> S;
    enum { GROUP = S::GROUP, SHARED = S::RING_BYTES };
    Stream<C, SAMPLE> stream;
    IntegerLanes<C, SAMPLE> lanes;
    ClassExtrema<RawOf<SAMPLE>, S::CLASSES> extrema;
    unsigned n; /* of the warp's channel */
};

template <int C, int SAMPLE>
DEVICE void way_begin(Whole<C, SAMPLE> *way, const Work &, unsigned char *memory)
{
    way->stream.ring = (typename ChannelLayout<C, SAMPLE>::Vector *)memory + threadIdx.x;
    way->stream.slot = 0;
}

template <int C, int SAMPLE>
DEVICE void way_begin_image(Whole<C, SAMPLE> *way, const WorkImage &image)
{
    typedef RawOf<SAMPLE> Raw;
    way->stream.tile = ~0ull;
    way->n = 0;
    way->lanes.sign = wide_sign<SAMPLE>(image);
    extrema_begin(&way->extrema, (Raw) ~(Raw)0, (Raw)0);
#pragma unroll
    for (int j = 0; j < ChannelLayout<C, SAMPLE>::CLASSES; j++)
        way->lanes.sums[j] = IntegerSums<SAMPLE>{};
}

template <int C, int SAMPLE>
DEVICE void way_measure(Whole<C, SAMPLE> *way, WideBlock<C> *block, uint64_t tile, uint64_t next)
{
    typedef RawOf<SAMPLE> Raw;
    enum { CLASSES = ChannelLayout<C, SAMPLE>::CLASSES };
    stream_begin(&way->stream, block->image, tile);
    way->n += way->stream.n;
#pragma unroll
    for (int j = 0; j < CLASSES; j++) {
        way->lanes.low[j] = (Raw) ~(Raw)0;
        way->lanes.high[j] = 0;
    }
    stream_add(&way->lanes, &way->stream, block->image, next);
#pragma unroll
    for (int j = 0; j < CLASSES; j++)
        extrema_note(&way->extrema, j, tile, way->lanes.low[j], way->lanes.high[j]);
}

template <int C, int SAMPLE> DEVICE void way_report(Whole<C, SAMPLE> *way, WideBlock<C> *block)
{
    const auto &best = way->extrema;
    if (member_of<C, SAMPLE>() / 32 < C)
        add_count(block, (int)member_of<C, SAMPLE>() / 32, way->n);
#pragma unroll
    for (int c = 0; c < C; c++) {
        add_sums<C, SAMPLE>(block, c,
                            of_channel<C, SAMPLE>(way->lanes.sums, c, IntegerSums<SAMPLE>{}));
        extrema_report<C, SAMPLE>(block, c, of_channel<C, SAMPLE>(best.low, c, best.low[0]),
                                  of_channel<C, SAMPLE>(best.low_tile, c, NO_TILE),
                                  of_channel<C, SAMPLE>(best.high, c, best.high[0]),
                                  of_channel<C, SAMPLE>(best.high_tile, c, NO_TILE));
    }
}

ImgstatResult launch_wide_integer(const Launch *launch, ImgstatSample sample, unsigned channels,
                                  bool plain, ImgstatError *err)
{
    return sample_bits(sample) == 32
               ? launch_sample<IMGSTAT_U32, Whole>(launch, channels, plain, err)
               : launch_sample<IMGSTAT_U64, Whole>(launch, channels, plain, err);
}
