/* SPDX-License-Identifier: MIT */
/* moments/float.cu: tallies of f32 and f64 samples in one read: counts, extrema, exact sums.
 */
#include "moments/kernel.cuh"

/* What a thread adds up of a segment: its slots, and the extrema of its classes. */
template <int C, int SAMPLE> struct FloatLanes {
    typedef ChannelLayout<C, SAMPLE> S;
    double d[S::SLOTS], q[S::SLOTS], pivot[S::CLASSES];
    typename S::Value low[S::CLASSES], high[S::CLASSES];
};

template <int C, int SAMPLE>
DEVICE void lanes_add(FloatLanes<C, SAMPLE> *lanes, int slot, int j, ValueOf<SAMPLE> value)
{
    const double distance = (double)value - lanes->pivot[j];
    lanes->d[slot] += distance;
    lanes->q[slot] += distance * distance;
    lanes->low[j] = value_min(lanes->low[j], value);
    lanes->high[j] = value_max(lanes->high[j], value);
}

/* The lanes of a segment, d and q of each, channel by channel, and its pivots; and where the group
 * meets. */
template <int C> struct Folding {
    double lane[2][C][PIECE_LANES];
    double pivot[C];
    uint64_t barrier;
};

/* Samples that are all finite; a channel of a segment that shows otherwise is done again. */
template <int C, int SAMPLE> struct Finite {
    typedef ChannelLayout<C, SAMPLE> S;
    enum {
        GROUP = S::GROUP,
        SHARED = S::RING_BYTES + S::GROUPS_OF_BLOCK * (int)sizeof(Folding<C>)
    };
    Stream<C, SAMPLE> stream;
    Folding<C> *folding;
    GroupBarrier group_barrier;
    ClassExtrema<typename S::Value, S::CLASSES> extrema;
    TermSums terms; /* of the warp's channel, as is n */
    unsigned n;
};

template <int C, int SAMPLE>
DEVICE void way_begin(Finite<C, SAMPLE> *way, const Work &, unsigned char *memory)
{
    way->stream.ring = (typename ChannelLayout<C, SAMPLE>::Vector *)memory + threadIdx.x;
    way->stream.slot = 0;
    way->folding =
        (Folding<C> *)(memory + ChannelLayout<C, SAMPLE>::RING_BYTES) + group_of<C, SAMPLE>();
    group_barrier_begin<C, SAMPLE>(&way->group_barrier, &way->folding->barrier);
}

template <int C, int SAMPLE> DEVICE void way_begin_image(Finite<C, SAMPLE> *way, const WorkImage &)
{
    typedef ValueOf<SAMPLE> Value;
    way->stream.tile = ~0ull;
    way->terms = TermSums{};
    way->n = 0;
    extrema_begin(&way->extrema, (Value)INFINITY, -(Value)INFINITY);
}

/* Adds a segment up and writes its lanes to folding. Classes in which a thread has met nothing but
 * finite samples note their extrema. */
template <int C, int SAMPLE>
DEVICE void add_lanes(Finite<C, SAMPLE> *way, const WorkImage &image, uint64_t tile, uint64_t next)
{
    typedef ChannelLayout<C, SAMPLE> S;
    typedef typename S::Value Value;
    const unsigned member = member_of<C, SAMPLE>();
    FloatLanes<C, SAMPLE> lanes = {};
#pragma unroll
    for (int j = 0; j < S::CLASSES; j++) {
        lanes.pivot[j] = (double)way->stream.first[j] + 0.0; /* +0 for -0 */
        lanes.low[j] = (Value)INFINITY;
        lanes.high[j] = -(Value)INFINITY;
    }
    stream_add(&lanes, &way->stream, image, next);
    group_sync<C, SAMPLE>(&way->group_barrier); /* the lanes of the segment before are read */
    bool finite[S::CLASSES];
#pragma unroll
    for (int j = 0; j < S::CLASSES; j++) {
        finite[j] = true;
        if (member * S::VECTOR + j < C) /* the first threads, for all */
            way->folding->pivot[member * S::VECTOR + j] = lanes.pivot[j];
    }
#pragma unroll
    for (int slot = 0; slot < S::SLOTS; slot++) {
        const unsigned i = slot_place<C, SAMPLE>(slot);
        way->folding->lane[0][i % C][i / C] = lanes.d[slot];
        way->folding->lane[1][i % C][i / C] = lanes.q[slot];
        finite[slot % S::VECTOR % C] &= isfinite(lanes.q[slot]);
    }
#pragma unroll
    for (int j = 0; j < S::CLASSES; j++) {
        if (finite[j])
            extrema_note(&way->extrema, j, tile, lanes.low[j], lanes.high[j]);
    }
    group_sync<C, SAMPLE>(&way->group_barrier); /* all lanes are written */
}

/* One of C warps of a group each folds the lanes of a channel. If the sum of squares is not finite,
 * nothing is added: a sample is not, or the distance of one overflows. */
template <int C, int SAMPLE>
DEVICE void way_measure(Finite<C, SAMPLE> *way, WideBlock<C> *block, uint64_t tile, uint64_t next)
{
    const unsigned c = member_of<C, SAMPLE>() / 32, lane = threadIdx.x % 32;
    stream_begin(&way->stream, block->image, tile);
    const unsigned n = way->stream.n;
    add_lanes(way, block->image, tile, next);
    if (c >= C)
        return;
    double d[4], q[4], sum, sum2;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        d[i] = way->folding->lane[0][c][lane + 32 * i];
        q[i] = way->folding->lane[1][c][lane + 32 * i];
    }
    lanes_fold(d, q, &sum, &sum2);
    if (!isfinite(sum2)) {
        measure_careful<C, SAMPLE>(block, tile, 0, (int)c, c == 0);
        return;
    }
    add_terms(block, (int)c, &way->terms, n, way->folding->pivot[c], sum, sum2);
    way->n += n;
}

template <int C, int SAMPLE> DEVICE void way_report(Finite<C, SAMPLE> *way, WideBlock<C> *block)
{
    const unsigned c = member_of<C, SAMPLE>() / 32;
    if (c < C) {
        terms_report(block, (int)c, &way->terms);
        add_count(block, (int)c, way->n);
    }
    const auto &best = way->extrema;
    for (int k = 0; k < C; k++)
        extrema_report<C, SAMPLE>(
            block, k, value_key<SAMPLE>(of_channel<C, SAMPLE>(best.low, k, best.low[0])),
            of_channel<C, SAMPLE>(best.low_tile, k, NO_TILE),
            value_key<SAMPLE>(of_channel<C, SAMPLE>(best.high, k, best.high[0])),
            of_channel<C, SAMPLE>(best.high_tile, k, NO_TILE));
}

size_t wide_state_bytes(unsigned channels)
{
    return sizeof(WideState) + channels * sizeof(WideChannel);
}

ImgstatResult launch_wide_float(const Launch *launch, ImgstatSample sample, unsigned channels,
                                bool plain, ImgstatError *err)
{
    return sample == IMGSTAT_F32 ? launch_sample<IMGSTAT_F32, Finite>(launch, channels, plain, err)
                                 : launch_sample<IMGSTAT_F64, Finite>(launch, channels, plain, err);
}
