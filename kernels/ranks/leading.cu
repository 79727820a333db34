/* SPDX-License-Identifier: MIT */
/* ranks/leading.cu: counting wide samples by 16 bits of their keys where vectors can be read: all
 * channels by the leading bits, as records have them, or those with given leading bits by the next
 * ones. ranks/digits.cu does the rest. */
#include "common/dispatch.cuh"
#include "common/tuning.cuh"
#include "common/wide_sample.cuh"
#include "device/measure.cuh"

enum {
    THREADS = RANKS_THREADS,
    WARPS = THREADS / 32,
    BINS = 65536,
    SEGMENT = RANKS_SEGMENT,
    SEGMENTS = BINS / SEGMENT,
    CHANNELS = 4,
    NONE = 0xFFFF
};

/* Of each segment of each channel the word of its first counter, or NONE. */
struct Segments {
    uint16_t word[CHANNELS * SEGMENTS];
    uint32_t warp_total[WARPS];
};

extern __shared__ __align__(16) unsigned counter[];

/* The leading 16 bits of the key; those of what is not finite lie beyond those of infinities. sign:
 * what makes keys of integers, from these bits. */
template <int SAMPLE> DEVICE uint32_t leading_of(RawOf<SAMPLE> raw, uint32_t sign)
{
    const int width = 8 * (int)sizeof raw;
    if constexpr (SAMPLE == IMGSTAT_F32)
        raw = __float_as_uint(__uint_as_float(raw) + 0.0f); /* +0 for -0 */
    if constexpr (SAMPLE == IMGSTAT_F64)
        raw = raw == 1ull << 63 ? 0 : raw;
    if constexpr (WideType<SAMPLE>::FLOAT) {
        const int32_t high = (int32_t)(raw >> (width - 32));
        return ((uint32_t)high ^ ((uint32_t)(high >> 31) | 0x80000000u)) >> 16;
    }
    return (uint32_t)(raw >> (width - 16)) ^ sign;
}

DEVICE uint32_t leading_sign(const WorkImage &image)
{
    return sample_is_signed(image.sample) ? 0x8000u : 0;
}

/* Assigns counters to the segments that a sample of each thread is in, then to others as long as
 * there are any. */
template <int SAMPLE>
DEVICE void choose_segments(const WorkImage &image, uint32_t slots, Segments *segments)
{
    typedef RawOf<SAMPLE> Raw;
    const unsigned t = threadIdx.x, all_segments = image.channels * SEGMENTS;
    const uint32_t sign = leading_sign(image);
    for (unsigned i = t; i < all_segments; i += THREADS)
        segments->word[i] = 0;
    __syncthreads();
    const uint64_t probe = (blockIdx.x + (uint64_t)gridDim.x * (t / 32)) % image.tiles;
    const RowSegment tile = tile_segment(image, probe, sizeof(Raw));
    const Raw *const pixel = (const Raw *)tile.samples + t % 32 * 127 % tile.n * image.channels;
    for (unsigned c = 0; c < image.channels; c++)
        segments->word[c * SEGMENTS + leading_of<SAMPLE>(pixel[c], sign) / SEGMENT] = 1;
    __syncthreads();
    /* A thread has one or two neighbours, the last ones fewer; seen ones come first. */
    const unsigned each = (all_segments + THREADS - 1) / THREADS, first = t * each;
    const unsigned end = min(first + each, all_segments);
    unsigned seen = 0;
    for (unsigned i = first; i < end; i++)
        seen += segments->word[i];
    unsigned before = warp_inclusive(seen); /* in the warp; then exclusive in the block */
    if (t % 32 == 31)
        segments->warp_total[t / 32] = before;
    before -= seen;
    __syncthreads();
    unsigned all = 0;
    for (unsigned w = 0; w < WARPS; w++) {
        before += w < t / 32 ? segments->warp_total[w] : 0;
        all += segments->warp_total[w];
    }
    unsigned unseen = all + first - before;
    for (unsigned i = first; i < end; i++) {
        const unsigned slot = segments->word[i] ? before++ : unseen++;
        segments->word[i] = (uint16_t)(slot < slots ? slot * SEGMENT : NONE);
    }
    __syncthreads();
}

template <int SAMPLE> IMGSTAT_INLINE bool is_finite_lead(uint32_t lead)
{
    const ImgstatSample type = (ImgstatSample)SAMPLE;
    const uint32_t bits = 8 * sizeof(RawOf<SAMPLE>) - 16;
    return !WideType<SAMPLE>::FLOAT || (lead > sample_key_infinity(type, true) >> bits &&
                                        lead < sample_key_infinity(type, false) >> bits);
}

/* Counts what has no counter in shared memory: where most of a warp has such a sample, equal ones
 * together, since they may all be. All lanes; rare: the lane has one. */
DEVICE void add_rare(uint64_t *bins, uint32_t index, bool rare)
{
    unsigned here = __ballot_sync(ALL_LANES, rare);
    if (!here)
        return;
    uint64_t n = 1;
    if (__popc(here) > RANKS_FEW_LANES) {
        here &= __match_any_sync(ALL_LANES, index);
        rare = rare && threadIdx.x % 32 == (unsigned)__ffs((int)here) - 1;
        n = (uint64_t)__popc(here);
    }
    if (rare)
        bin_add(&bins[index], n);
}

/* What is done with each sample of an image that is read as a whole. `segment`: the first of the
 * sample's channel. */
template <int SAMPLE, bool NODATA> struct Leading {
    const WorkImage &image;
    const Segments &segments;
    uint32_t sign;
    uint64_t *bins;
};

template <int SAMPLE, bool NODATA>
DEVICE void count_one(const Leading<SAMPLE, NODATA> &to, unsigned segment, RawOf<SAMPLE> raw,
                      bool there)
{
    if (NODATA && wide_key<SAMPLE>(to.image, raw) == to.image.nodata_key)
        there = false;
    const uint32_t lead = leading_of<SAMPLE>(raw, to.sign);
    const uint32_t at = segment + lead / SEGMENT, word = to.segments.word[at];
    if (there && word != NONE)
        atomicAdd(&counter[word + lead % SEGMENT], 1u);
    add_rare(to.bins, at * SEGMENT + lead % SEGMENT,
             there && word == NONE && is_finite_lead<SAMPLE>(lead));
}

template <int SAMPLE> struct Prefixed {
    const WorkImage &image;
    unsigned shift;
    RawOf<SAMPLE> prefix; /* of keys that count */
    uint32_t words;
    uint64_t *bins;
};

template <int SAMPLE>
DEVICE void count_one(const Prefixed<SAMPLE> &to, unsigned, RawOf<SAMPLE> raw, bool there)
{
    typedef RawOf<SAMPLE> Raw;
    const Raw key = wide_key<SAMPLE>(to.image, raw);
    if (key >> (to.shift + 16) != to.prefix || (to.image.has_nodata && key == to.image.nodata_key))
        there = false;
    const uint32_t digit = (uint32_t)(key >> to.shift) & 0xFFFFu;
    if (there && digit < to.words)
        atomicAdd(&counter[digit], 1u);
    add_rare(to.bins, digit, there && digit >= to.words);
}

/* A warp reads its tiles of an image, LOADS vectors at a time: C channels, or 0: 1, 2 or 4. A whole
 * tile is a whole number of such times. */
template <int C, int SAMPLE, int LOADS, class Count>
DEVICE void count_all(const WorkImage &image, const Count &to)
{
    typedef RawOf<SAMPLE> Raw;
    typedef typename WideType<sizeof(Raw) == 4 ? IMGSTAT_U32 : IMGSTAT_U64>::Vector Vector;
    enum { VECTOR = 16 / sizeof(Raw), PERIOD = C == 3 ? 3 * VECTOR : VECTOR };
    static_assert(C != 3 || LOADS == 3, "a lane meets the same channels each time");
    const unsigned lane = threadIdx.x % 32, channels = C > 0 ? C : image.channels;
    unsigned segment[PERIOD]; /* the first of the channel of item k */
#pragma unroll
    for (unsigned k = 0; k < PERIOD; k++)
        segment[k] = (k / VECTOR * 32 * VECTOR + lane * VECTOR + k % VECTOR) % channels * SEGMENTS;
    for (uint64_t tile = blockIdx.x * WARPS + threadIdx.x / 32; tile < image.tiles;
         tile += (uint64_t)gridDim.x * WARPS) {
        const RowSegment row = tile_segment(image, tile, sizeof(Raw));
        const Raw *const samples = (const Raw *)row.samples;
        const Vector *vectors = (const Vector *)samples;
        const unsigned n = row.n * channels, whole = n / (LOADS * 32 * VECTOR) * LOADS * 32;
        for (unsigned first = lane; first < whole; first += LOADS * 32) {
            Vector v[LOADS];
#pragma unroll
            for (int i = 0; i < LOADS; i++)
                v[i] = __ldcs(vectors + first + i * 32);
#pragma unroll
            for (int i = 0; i < LOADS; i++)
#pragma unroll
                for (int e = 0; e < VECTOR; e++)
                    count_one(to, segment[(i * VECTOR + e) % PERIOD], (Raw)vector_item(v[i], e),
                              true);
        }
        for (unsigned first = whole * VECTOR; first < n; first += 32) {
            const unsigned i = first + lane;
            count_one(to, i % channels * SEGMENTS, i < n ? samples[i] : (Raw)0, i < n);
        }
    }
}

/*
 * count_leading: counts the samples of all channels by the leading 16 bits of their keys.
 *
 *   Idea      32-bit counters in shared memory, by segments of 128 neighbouring bins. A block first
 *             finds the segments of 1,024 pixels of the image; those have counters before others.
 *             Increments of exactly 1 merge equal addresses of a warp. Infinite samples and NaN
 *             have bins of their own, which are dropped in the end, so the loop has no check.
 *   Work      about 14 instructions a sample, two of them to shared memory.
 *   Memory    reads n samples once; adds up to 57,344 bins a block.
 *   Launch    one block of 1,024 an SM; warps take tiles of 4,096 pixels in a fixed order.
 *   Requires  SAMPLE: F32, F64, or U32 and U64 for all integers of the width. C: 1 or 3 channels, 0
 *             for 1, 2 or 4. No mask, rows on 16-byte boundaries. A block counts fewer than 2^32.
 *   Result    added to bins, of channel 0 and those after it.
 */
template <int C, int SAMPLE, bool NODATA>
static __global__ void __launch_bounds__(THREADS, 1)
    count_leading(const __grid_constant__ WorkImage image, uint32_t slots, uint64_t *bins)
{
    __shared__ Segments segments;
    for (uint32_t i = threadIdx.x; i < slots * SEGMENT; i += THREADS)
        counter[i] = 0;
    choose_segments<SAMPLE>(image, slots, &segments);

    const Leading<SAMPLE, NODATA> to = {image, segments, leading_sign(image), bins};
    count_all<C, SAMPLE, C == 3 ? 3 : 4>(image, to);
    __syncthreads(); /* all is counted */
    for (uint32_t i = threadIdx.x; i < image.channels * BINS; i += THREADS) {
        const uint32_t lead = i % BINS, word = segments.word[i / SEGMENT];
        if (word != NONE && is_finite_lead<SAMPLE>(lead) && counter[word + lead % SEGMENT])
            bin_add(&bins[i], counter[word + lead % SEGMENT]);
    }
}

/*
 * count_prefixed: counts keys by 16 of their bits, among those whose leading bits are as asked.
 *
 *   Idea      Few samples have the prefix: a vector is loaded, compared and forgotten.
 *   Work      about 8 instructions a sample.
 *   Memory    reads n samples once; adds up to 65,536 bins a block.
 *   Launch    as count_leading.
 *   Requires  one channel, no mask, rows on 16-byte boundaries; a prefix that finite keys have.
 *   Result    added to bins.
 */
template <int SAMPLE>
static __global__ void __launch_bounds__(THREADS, 1)
    count_prefixed(const __grid_constant__ WorkImage image, unsigned shift, uint64_t prefix,
                   uint32_t words, uint64_t *bins)
{
    for (uint32_t i = threadIdx.x; i < words; i += THREADS)
        counter[i] = 0;
    __syncthreads();
    const Prefixed<SAMPLE> to = {image, shift, (RawOf<SAMPLE>)prefix, words, bins};
    count_all<1, SAMPLE, 8>(image, to);
    __syncthreads(); /* all is counted */
    for (uint32_t i = threadIdx.x; i < words; i += THREADS) {
        if (counter[i])
            bin_add(&bins[i], counter[i]);
    }
}

/* ---- Host side ------------------------------------------------------------------------------- */

/* Blocks that read an image; each counts fewer than 2^32 samples. */
static unsigned grid_size(const CudaDevice *device, const WorkImage *image)
{
    const unsigned blocks = cuda_blocks(device, (image->tiles + WARPS - 1) / WARPS, 1);
    assert(!image->mask && blocks > 0);
    assert((uintptr_t)image->pixels % 16 == 0 && (image->rows == 1 || image->pitch % 16 == 0));
    assert(image->tiles / blocks < (1ull << 32) / (PIECE * CHANNELS) - WARPS);
    return blocks;
}

template <int C, int SAMPLE, bool NODATA>
static ImgstatResult launch_leading(CudaDevice *device, const WorkImage *image, uint64_t *bins,
                                    ImgstatError *err)
{
    const uint32_t room = ((uint32_t)device->max_shared - (uint32_t)sizeof(Segments)) / 4 / SEGMENT;
    const uint32_t all = image->channels * SEGMENTS, slots = room < all ? room : all;
    const size_t bytes = (size_t)slots * SEGMENT * 4;
    assert((C > 0 ? image->channels == C : image->channels != 3) && slots > 0);
    assert(image->channels >= 1 && image->channels <= CHANNELS);
    return cuda_launch(device, device->stream, "count_leading", count_leading<C, SAMPLE, NODATA>,
                       grid_size(device, image), THREADS, bytes, err, *image, slots, bins);
}

bool cuda_can_count_leading(const ImagePro *image)
{
    return !sample_is_narrow(image->sample) && image->channels <= CHANNELS && !image->mask &&
           image->device.address % 16 == 0 && (image->pitch % 16 == 0 || image_is_flat(image));
}

ImgstatResult cuda_count_leading(CudaDevice *device, const ImagePro *image, uint64_t *bins,
                                 ImgstatError *err)
{
    WorkImage work;
    work_describe(&work, image, PIECE, false, false);
    if (work.tiles == 0)
        return IMGSTAT_OK;
    return dispatch_unsigned(image->sample, [&](auto type) {
        constexpr int SAMPLE = decltype(type)::value;
        const bool nodata = work.has_nodata, three = work.channels == 3;
        if (nodata)
            return three ? launch_leading<3, SAMPLE, true>(device, &work, bins, err)
                         : launch_leading<0, SAMPLE, true>(device, &work, bins, err);
        if (work.channels == 1)
            return launch_leading<1, SAMPLE, false>(device, &work, bins, err);
        return three ? launch_leading<3, SAMPLE, false>(device, &work, bins, err)
                     : launch_leading<0, SAMPLE, false>(device, &work, bins, err);
    });
}

template <int SAMPLE>
static ImgstatResult launch_prefixed(CudaDevice *device, const WorkImage *image, unsigned shift,
                                     uint64_t prefix, uint64_t *bins, ImgstatError *err)
{
    const unsigned width = 8 * sizeof(RawOf<SAMPLE>);
    const uint64_t rest = prefix >> (width - shift - 16); /* beyond the key: nothing has it */
    if (rest != 0 || !is_finite_lead<SAMPLE>((uint32_t)(prefix << (shift + 16) >> (width - 16))))
        return IMGSTAT_OK;
    const uint32_t room = (uint32_t)device->max_shared / 4 - 256, words = room < BINS ? room : BINS;
    assert(image->channels == 1);
    return cuda_launch(device, device->stream, "count_prefixed", count_prefixed<SAMPLE>,
                       grid_size(device, image), THREADS, (size_t)words * 4, err, *image, shift,
                       prefix, words, bins);
}

ImgstatResult cuda_count_prefixed(CudaDevice *device, const ImagePro *image, unsigned shift,
                                  uint64_t prefix, uint64_t *bins, ImgstatError *err)
{
    WorkImage work;
    if (shift + 16 == sample_bits(image->sample))
        return prefix ? IMGSTAT_OK : cuda_count_leading(device, image, bins, err);
    work_describe(&work, image, PIECE, false, false);
    if (work.tiles == 0)
        return IMGSTAT_OK;
    return dispatch_unsigned(image->sample, [&](auto type) {
        return launch_prefixed<decltype(type)::value>(device, &work, shift, prefix, bins, err);
    });
}
