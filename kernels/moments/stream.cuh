/* SPDX-License-Identifier: MIT */
/* moments/stream.cuh: the samples of the segments of a group of warps, on their way through shared
 * memory. */
#ifndef IMGSTAT_KERNELS_MOMENTS_STREAM_CUH
#define IMGSTAT_KERNELS_MOMENTS_STREAM_CUH

#include "common/sm90.cuh"
#include "common/tuning.cuh"
#include "moments/segment.cuh"

/* How C channels are dealt out: a group of warps shares a segment, a vector of 16 bytes a
 * thread at a time. 128 pixels are a whole number of such times, so a thread has SLOTS of the 128 C
 * lanes of docs/float-sums.md, in CLASSES channels, however many there are. */
template <int C, int SAMPLE> struct ChannelLayout {
    typedef ValueOf<SAMPLE> Value;
    typedef typename WideType<SAMPLE>::Vector Vector;
    enum { VECTOR = 16 / sizeof(Value), CLASSES = C < VECTOR ? C : VECTOR };
    enum { GROUP = wide_group(C, sizeof(Value)), MEMBERS = 32 * GROUP };
    enum { SLOTS = PIECE_LANES * C / MEMBERS };
    enum { GROUPS_OF_BLOCK = WideShape<C>::WARPS / GROUP }; /* groups of a block */
    /* A batch is what is waited for at once; RING of them are on their way. */
    enum { LOADS = MOMENTS_LOADS, PIXELS = LOADS * VECTOR * MEMBERS / C, RING = MOMENTS_RING };
    enum { RING_BYTES = RING * LOADS * WideShape<C>::THREADS * 16 };
    static_assert(LOADS * VECTOR % SLOTS == 0, "batches are alike");
};

template <int C, int SAMPLE> DEVICE unsigned group_of(void)
{
    return threadIdx.x / ChannelLayout<C, SAMPLE>::MEMBERS;
}

/* A thread's number in its group. */
template <int C, int SAMPLE> DEVICE unsigned member_of(void)
{
    return threadIdx.x % ChannelLayout<C, SAMPLE>::MEMBERS;
}

/* Where the warps of a group meet: by a barrier in shared memory; racecheck loses sight of
 * block-wide barriers in kernels that have numbered ones. */
struct GroupBarrier {
    uint64_t *barrier;
    unsigned phase;
};

/* All threads of the block; a block-wide barrier follows. */
template <int C, int SAMPLE>
DEVICE void group_barrier_begin(GroupBarrier *group_barrier, uint64_t *barrier)
{
    group_barrier->barrier = barrier;
    group_barrier->phase = 0;
    if (ChannelLayout<C, SAMPLE>::GROUP > 1 && member_of<C, SAMPLE>() == 0)
        barrier_init(barrier, ChannelLayout<C, SAMPLE>::MEMBERS);
}

/* Waits until all of a group have come so far; what they wrote is visible afterwards. */
template <int C, int SAMPLE> DEVICE void group_sync(GroupBarrier *group_barrier)
{
    typedef ChannelLayout<C, SAMPLE> S;
    if (S::GROUP == 1) {
        __syncwarp();
        return;
    }
    barrier_arrive(group_barrier->barrier);
    barrier_wait(group_barrier->barrier, group_barrier->phase);
    group_barrier->phase ^= 1;
}

/* Class j of a thread has channel (j + shift) % C; slot e is of class e % VECTOR % C. */
template <int C, int SAMPLE> DEVICE unsigned class_shift(void)
{
    return ChannelLayout<C, SAMPLE>::VECTOR * member_of<C, SAMPLE>() % C;
}

/* The place of a slot among the 128 C lanes, interleaved as samples are. */
template <int C, int SAMPLE> DEVICE unsigned slot_place(int slot)
{
    typedef ChannelLayout<C, SAMPLE> S;
    return slot / S::VECTOR * S::VECTOR * S::MEMBERS + member_of<C, SAMPLE>() * S::VECTOR +
           slot % S::VECTOR;
}

/* Of the values of a thread's classes, the one whose channel is c; `none` if it has none. */
template <int C, int SAMPLE, typename T>
DEVICE T of_channel(const T (&value)[ChannelLayout<C, SAMPLE>::CLASSES], int c, T none)
{
    const unsigned shift = class_shift<C, SAMPLE>();
    T chosen = none;
#pragma unroll
    for (int j = 0; j < ChannelLayout<C, SAMPLE>::CLASSES; j++)
        chosen = (j + shift) % C == (unsigned)c ? value[j] : chosen;
    return chosen;
}

/* A thread's part of the segment that comes next. */
template <int C, int SAMPLE> struct Stream {
    typedef ChannelLayout<C, SAMPLE> S;
    typename S::Vector *ring; /* this thread's first vector; THREADS from one to the next */
    unsigned slot;            /* of RING: the batch that comes next */
    unsigned n;               /* pixels of the segment */
    uint64_t tile;            /* the segment whose batches are on their way; ~0: none */
    const unsigned char *samples;
    typename S::Value first[S::CLASSES]; /* samples of the segment */
};

template <int C, int SAMPLE>
DEVICE void stream_place(Stream<C, SAMPLE> *stream, const WorkImage &image, uint64_t tile)
{
    typedef ChannelLayout<C, SAMPLE> S;
    const RowSegment segment = tile_segment(image, tile, sizeof(typename S::Value));
    stream->tile = tile;
    stream->samples = segment.samples;
    stream->n = segment.n;
    if (WideType<SAMPLE>::FLOAT) {
#pragma unroll
        for (int j = 0; j < S::CLASSES; j++)
            stream->first[j] =
                ((const typename S::Value *)segment.samples)[(j + class_shift<C, SAMPLE>()) % C];
    }
}

/* Sends for 16 bytes that are read once. `around` the first-level cache is faster for three
 * channels, through it for others (docs/lab/2026-11-24-kernels.md). */
template <bool AROUND> DEVICE void send_vector(void *to, const void *from)
{
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    uint64_t once;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(once));
    if (AROUND)
        asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(at),
                     "l"(from), "l"(once)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(at),
                     "l"(from), "l"(once)
                     : "memory");
}

DEVICE void send_end(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* What this thread has sent for has come, but for the last N batches. */
template <int N> DEVICE void send_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/* Sends for a batch. Each thread reads only what it has sent for itself. */
template <int C, int SAMPLE>
DEVICE void stream_send(typename ChannelLayout<C, SAMPLE>::Vector *to,
                        const typename ChannelLayout<C, SAMPLE>::Vector *from)
{
    typedef ChannelLayout<C, SAMPLE> S;
#pragma unroll
    for (int k = 0; k < S::LOADS; k++)
        send_vector<C == 3>(to + k * WideShape<C>::THREADS, from + k * S::MEMBERS);
}

/* The segment is `tile`, and its first batches are on their way. */
template <int C, int SAMPLE>
DEVICE void stream_begin(Stream<C, SAMPLE> *stream, const WorkImage &image, uint64_t tile)
{
    typedef ChannelLayout<C, SAMPLE> S;
    if (stream->tile == tile)
        return;
    stream_place(stream, image, tile);
    const unsigned batches = stream->n / S::PIXELS;
    const typename S::Vector *from =
        (const typename S::Vector *)stream->samples + member_of<C, SAMPLE>();
    for (unsigned b = 0; b < S::RING; b++) {
        const unsigned slot = (stream->slot + b) % S::RING;
        if (b < batches)
            stream_send<C, SAMPLE>(stream->ring + slot * S::LOADS * WideShape<C>::THREADS,
                                   from + b * S::LOADS * S::MEMBERS);
        send_end();
    }
}

/* Adds the segment to lanes; each batch is replaced by the one RING further on, of the next
 * segment in the end: they are on their way all the time. Rows that are shorter than the ring are
 * added one after the other. */
template <int C, int SAMPLE, class Lanes>
DEVICE void stream_add(Lanes *lanes, Stream<C, SAMPLE> *stream, const WorkImage &image,
                       uint64_t next)
{
    typedef ChannelLayout<C, SAMPLE> S;
    typedef typename S::Vector Vector;
    const unsigned n = stream->n, batches = n / S::PIXELS;
    const typename S::Value *samples = (const typename S::Value *)stream->samples;
    const Vector *from =
        (const Vector *)samples + member_of<C, SAMPLE>() + S::RING * S::LOADS * S::MEMBERS;
    const Vector *following = NULL;
    unsigned left = batches > S::RING ? batches - S::RING : 0, left_following = 0;
    stream->tile = ~0ull;
    if (next != ~0ull && batches >= S::RING) {
        stream_place(stream, image, next);
        following = (const Vector *)stream->samples + member_of<C, SAMPLE>();
        left_following = stream->n / S::PIXELS;
    }
    for (unsigned b = 0; b < batches; b++) {
        Vector *const here = stream->ring + stream->slot * S::LOADS * WideShape<C>::THREADS;
        send_wait<S::RING - 1>();
#pragma unroll
        for (int k = 0; k < S::LOADS; k++) {
            const Vector v = here[k * WideShape<C>::THREADS];
#pragma unroll
            for (int e = 0; e < S::VECTOR; e++)
                lanes_add(lanes, (k * S::VECTOR + e) % S::SLOTS, e % C, vector_item(v, e));
        }
        if (left == 0) {
            from = following;
            left = left_following;
            left_following = 0;
        }
        if (left > 0) {
            stream_send<C, SAMPLE>(here, from);
            from += S::LOADS * S::MEMBERS;
            left--;
        }
        send_end();
        stream->slot = (stream->slot + 1) % S::RING;
    }
    for (unsigned x = batches * S::PIXELS; x < n; x += PIECE_LANES) {
#pragma unroll
        for (int slot = 0; slot < S::SLOTS; slot++) {
            const unsigned i = x * C + slot_place<C, SAMPLE>(slot);
            if (i < n * C)
                lanes_add(lanes, slot, slot % S::VECTOR % C, samples[i]);
        }
    }
}

#endif
