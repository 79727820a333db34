/* SPDX-License-Identifier: MIT */
/* narrow16_report.cuh: emptying a block's table into the bins, and finding where its extrema are.
 */
#ifndef IMGSTAT_NARROW16_REPORT_CUH
#define IMGSTAT_NARROW16_REPORT_CUH

#include "narrow16_count.cuh"

/* ---- Emptying the table ---------------------------------------------------------------------- */

/* Adds all counters to the bins and empties them. All threads; nothing is counted meanwhile. The
 * table's words are a multiple of 4,096, so warps are whole. Each block begins elsewhere: otherwise
 * all meet at the same bins. Sums fit 32 bits: see measure_narrow16. */
static __device__ __forceinline__ void flush_single(Block16 *block, uint64_t *bins, uint32_t n)
{
    const Layout layout = block->layout;
    unsigned *words = (unsigned *)table;
    const uint32_t skew = blockIdx.x * 512 % n;
#pragma unroll 4
    for (uint32_t k = threadIdx.x; k < n; k += THREADS) {
        const uint32_t i = k + skew < n ? k + skew : k + skew - n;
        const unsigned word = words[i];
        const bool shared = i >= layout.wide;
        const unsigned lower = shared ? word & LOWER_MASK : word;
        words[i] = 0;
        if (lower && i < layout.direct)
            add_index(block, bins, i, lower);
        if (layout.fold && shared && word >> LOWER_BITS)
            add_index(block, bins, i + layout.fold, word >> LOWER_BITS);
    }
}

/* Several columns: a thread takes four words at a time. */
static __device__ __forceinline__ void flush_columns(Block16 *block, uint64_t *bins, uint32_t words)
{
    const Layout layout = block->layout;
    const uint32_t columns = 1u << (layout.shift - 2);
    uint4 *vectors = (uint4 *)table;
    const uint32_t n = words / 4, skew = blockIdx.x * 96 % n;
#pragma unroll 2
    for (uint32_t k = threadIdx.x; k < n; k += THREADS) {
        const uint32_t i = k + skew < n ? k + skew : k + skew - n;
        const uint4 v = vectors[i];
        vectors[i] = make_uint4(0, 0, 0, 0);
        if (columns == 2) {
            if (v.x + v.y && 2 * i < layout.direct)
                add_index(block, bins, 2 * i, v.x + v.y);
            if (v.z + v.w && 2 * i + 1 < layout.direct)
                add_index(block, bins, 2 * i + 1, v.z + v.w);
            continue;
        }
        unsigned sum = v.x + v.y + v.z + v.w;
        if (!__any_sync(NONE, sum != 0))
            continue;
        for (uint32_t h = columns / 8; h > 0; h /= 2)
            sum += __shfl_xor_sync(NONE, sum, h);
        if (4 * i % columns == 0 && sum && 4 * i / columns < layout.direct)
            add_index(block, bins, 4 * i / columns, sum);
    }
}

/* Where the blocks of a lone image add up their counters of all 65,536 values, four to a word:
 * a quarter of what the bins take, and so of the time. All zero between launches. */
struct Pack {
    unsigned used, reserved;
    unsigned long long four[HALVES / 4]; /* by the samples' bits */
};

/* The counters of four consecutive samples, of which the first is a multiple of four. */
static __device__ __forceinline__ uint4 counters_of(const Layout &layout, uint32_t raw)
{
    const uint32_t index = (raw - layout.base) & 0xFFFFu;
    const bool upper = index >= layout.direct;
    uint4 v = *(const uint4 *)((const unsigned *)table + (upper ? index - layout.fold : index));
    const uint32_t mask = upper || index < layout.wide ? NONE : LOWER_MASK;
    const uint32_t shift = upper ? LOWER_BITS : 0;
    v.x = (v.x & mask) >> shift;
    v.y = (v.y & mask) >> shift;
    v.z = (v.z & mask) >> shift;
    v.w = (v.w & mask) >> shift;
    return v;
}

/* A counter that fits its 16 bits whatever other blocks add, or 0: then it goes to its bin. */
static __device__ __forceinline__ unsigned long long packed(const WorkImage &image, uint64_t *bins,
                                                            uint32_t raw, uint32_t n)
{
    if (n <= 65535u / gridDim.x)
        return n;
    bin_add(&bins[key_of(image, raw)], n);
    return 0;
}

/* As flush_single, into the pack; once a launch. All values have counters. */
static __device__ __noinline__ void flush_packed(Block16 *block, Pack *pack, uint64_t *bins,
                                                 uint32_t words)
{
    const Layout layout = block->layout;
    const WorkImage &image = block->narrow.image;
    const uint32_t skew = blockIdx.x * (HALVES / 4 / 128);
#pragma unroll 2
    for (uint32_t k = threadIdx.x; k < HALVES / 4; k += THREADS) {
        const uint32_t i = (k + skew) % (HALVES / 4), raw = 4 * i;
        const uint4 v = counters_of(layout, raw);
        const unsigned long long four =
            packed(image, bins, raw, v.x) | packed(image, bins, raw + 1, v.y) << 16 |
            packed(image, bins, raw + 2, v.z) << 32 | packed(image, bins, raw + 3, v.w) << 48;
        if (four)
            atomicAdd(&pack->four[i], four);
    }
    if (threadIdx.x == 0)
        pack->used = 1;
    __syncthreads(); /* the counters have been read */
    for (uint32_t i = threadIdx.x; i < words / 4; i += THREADS)
        ((uint4 *)table)[i] = make_uint4(0, 0, 0, 0);
}

/* The last block of the image moves the sums to the bins. */
static __device__ __noinline__ void unpack(const Block16 *block, Pack *pack, uint64_t *bins)
{
    const WorkImage &image = block->narrow.image;
    if (!*(volatile unsigned *)&pack->used)
        return;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < HALVES / 4; i += THREADS) {
        const unsigned long long four = __ldcg(&pack->four[i]);
        if (!four)
            continue;
        pack->four[i] = 0;
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t n = (uint32_t)(four >> 16 * k) & 0xFFFFu;
            if (n)
                bin_add(&bins[key_of(image, 4 * i + k)], n);
        }
    }
    __syncthreads(); /* everybody has seen that there is something */
    if (threadIdx.x == 0)
        pack->used = 0;
}

static __device__ __forceinline__ void flush_table(Block16 *block, uint64_t *bins, uint32_t words)
{
    if (block->layout.shift == 2)
        flush_single(block, bins, words);
    else
        flush_columns(block, bins, words);
}

/* ---- Positions ------------------------------------------------------------------------------- */

/* Samples that are looked for in one pass: one or both extrema. */
struct Wanted {
    uint32_t raw[2], other[2]; /* two patterns mean the same value: zeros of both signs */
    unsigned which[2];         /* 0 the minimum, 1 the maximum */
};

/* Loads what lies within its row of a lane's vectors of a plain unit; others are zero. */
static __device__ __forceinline__ void load_within(const Place &place, uint4 (&v)[STEPS])
{
    const unsigned char *at = place.address + threadIdx.x % 32 * 16;
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        const unsigned char *from = at + i * 512;
        v[i] = make_uint4(0, 0, 0, 0);
        if (from >= place.row && from + 16 <= place.end)
            v[i] = __ldcg((const uint4 *)from);
    }
}

/* Whether a half of the vectors may be what is wanted. */
static __device__ __forceinline__ bool may_hold(const uint4 (&v)[STEPS], uint32_t raw)
{
    uint32_t least = NONE;
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        const uint32_t x = v[i].x ^ raw * 0x10001u, y = v[i].y ^ raw * 0x10001u;
        const uint32_t z = v[i].z ^ raw * 0x10001u, w = v[i].w ^ raw * 0x10001u;
        least = __vminu2(least, __vminu2(__vminu2(x, y), __vminu2(z, w)));
    }
    return !(least & 0xFFFFu) || !(least >> 16);
}

/* Looks through a plain unit, whose vectors have been loaded, sample by sample where need be. */
template <int CHANNELS>
static __device__ __forceinline__ void find_plain(NarrowBlock *block, const Wanted &wanted,
                                                  const Place &place, const uint4 (&v)[STEPS],
                                                  unsigned channel)
{
    const uint64_t first = place.number * block->image.row_pixels;
    const bool edge = place.address < place.row || place.address + NARROW16_UNIT > place.end;
    bool hit = edge || may_hold(v, wanted.raw[0]);
    if (wanted.raw[1] != wanted.raw[0])
        hit = hit || may_hold(v, wanted.raw[1]);
    for (int e = 0; e < 2; e++) {
        if (wanted.other[e] != wanted.raw[e])
            hit = hit || may_hold(v, wanted.other[e]);
    }
    if (!hit)
        return;
    const unsigned char *at = place.address + threadIdx.x % 32 * 16;
    bool seen[2] = {false, false};
    for (int p = 0; p < 8 * STEPS; p++) {
        const unsigned char *sample = at + p / 8 * 512 + p % 8 * 2;
        if (sample < place.row || sample >= place.end)
            continue;
        const uint64_t x = (uint64_t)(sample - place.row) / 2;
        if (CHANNELS > 1 && x % CHANNELS != channel)
            continue;
        const uint32_t raw = *(const uint16_t *)sample;
        for (int e = 0; e < 2; e++) {
            if (!seen[e] && (raw == wanted.raw[e] || raw == wanted.other[e])) {
                seen[e] = true;
                narrow_found(block, wanted.which[e], first + x / CHANNELS);
            }
        }
    }
}

static __device__ __forceinline__ void find_general(NarrowBlock *block, const Wanted &wanted,
                                                    uint64_t unit, unsigned channel)
{
    const WorkImage &image = block->image;
    uint64_t row, place;
    unit_place(image, unit, &row, &place);
    const uint64_t end = min((place + 1) * NARROW16_PIXELS, image.row_pixels);
    const uint16_t *samples = (const uint16_t *)(image.pixels + row * image.pitch) + channel;
    for (uint64_t x = place * NARROW16_PIXELS + threadIdx.x % 32; x < end; x += 32) {
        if (image.mask && !image.mask[row * image.mask_pitch + x])
            continue;
        const uint32_t raw = samples[x * image.channels];
        for (int e = 0; e < 2; e++) {
            if (raw == wanted.raw[e] || raw == wanted.other[e])
                narrow_found(block, wanted.which[e], row * image.row_pixels + x);
        }
    }
}

/* Pixels of a unit, and by how many it may begin before its place in the row. */
template <int CHANNELS> struct Unit {
    static const unsigned PIXELS = CHANNELS ? NARROW16_PIXELS / CHANNELS : NARROW16_PIXELS;
    static const unsigned SLACK = CHANNELS ? 8 : 0;
};

static __device__ __forceinline__ Wanted only(const Wanted &of, unsigned e)
{
    const Wanted one = {
        {of.raw[e], of.raw[e]}, {of.other[e], of.other[e]}, {of.which[e], of.which[e]}};
    return one;
}

/* Looks through the units of an item, in whole steps, two of them at a time. */
template <int CHANNELS>
static __device__ __forceinline__ void find_in(NarrowBlock *block, const Wanted &sought,
                                               uint64_t begin, unsigned channel)
{
    const WorkImage &image = block->image;
    const uint64_t end = min(begin + image.units_per_item, image.units);
    for (uint64_t unit = begin + threadIdx.x / 32; unit < end; unit += 2 * WARPS) {
        const uint64_t at =
            unit_first_at(image, unit, Unit<CHANNELS>::PIXELS, Unit<CHANNELS>::SLACK);
        const bool first = narrow_settled(block, sought.which[0], at - image.first_at);
        const bool second = narrow_settled(block, sought.which[1], at - image.first_at);
        if (first && second)
            return; /* units ascend */
        /* What has been found may be everywhere: it is not to cost anything any more. */
        const Wanted wanted = first ? only(sought, 1) : second ? only(sought, 0) : sought;
        const bool more = unit + WARPS < end;
        if constexpr (CHANNELS == 0) {
            find_general(block, wanted, unit, channel);
            if (more)
                find_general(block, wanted, unit + WARPS, channel);
        } else {
            uint4 v[STEPS], w[STEPS];
            const Place place = plain_place(image, unit);
            const Place other = plain_place(image, more ? unit + WARPS : unit);
            load_within(place, v);
            load_within(other, w);
            find_plain<CHANNELS>(block, wanted, place, v, channel);
            if (more)
                find_plain<CHANNELS>(block, wanted, other, w, channel);
        }
    }
}

template <int CHANNELS>
static __device__ __forceinline__ void find_extrema(NarrowBlock *block, unsigned channel)
{
    const WorkImage &image = block->image;
    const bool both = block->needs == 3 && block->low_step[0] == block->high_step[0];
    for (unsigned i = 0; i < 2; i++) {
        if (!(block->needs >> i & 1) || (i == 1 && both))
            continue;
        Wanted wanted;
        for (unsigned e = 0; e < 2; e++) {
            const unsigned which = both ? e : i;
            const uint32_t key = (uint32_t)(which ? block->high[0] : block->low[0]);
            wanted.raw[e] = (uint32_t)sample_raw((ImgstatSample)image.sample, key);
            wanted.other[e] =
                image.sample == IMGSTAT_F16 && wanted.raw[e] == 0 ? 0x8000 : wanted.raw[e];
            wanted.which[e] = which;
        }
        find_in<CHANNELS>(block, wanted, i ? block->high_step[0] : block->low_step[0], channel);
    }
    __syncthreads(); /* what was found is final */
}

/* Empties the table; if the block has done its part of the image, reports that too. part: of the
 * channels of the launch, the block's. All threads. */
template <int CHANNELS>
static __device__ __noinline__ void flush(const Work &work, Block16 *block, unsigned part,
                                          bool image_done)
{
    NarrowBlock &narrow = block->narrow;
    const unsigned channel = work.channel0 + part;
    uint64_t *bins = narrow.image.bins + (uint64_t)channel * HALVES;
    NarrowState *states = (NarrowState *)work.state;
    Pack *pack = work.images ? NULL : (Pack *)(states + work.group) + part;
    __syncthreads(); /* the table is complete */
    if (pack && image_done && block->layout.fold && narrow.items < narrow.image.items &&
        !block->flushed)
        flush_packed(block, pack, bins, work.words);
    else
        flush_table(block, bins, work.words);
    if (threadIdx.x < 2 && block->best[threadIdx.x]) {
        const unsigned long long best = block->best[threadIdx.x];
        if (threadIdx.x == 0) {
            narrow.low[0] = (int)offer_key(best, false);
            narrow.low_step[0] = offer_at(best);
        } else {
            narrow.high[0] = (int)offer_key(best, true);
            narrow.high_step[0] = offer_at(best);
        }
    }
    __syncthreads(); /* the table is empty, the extrema are known */
    if (!image_done)
        return;
    NarrowState *state = states + (uint64_t)narrow.number * work.group + part;
    narrow_ask(&narrow, state, 1, Unit<CHANNELS>::PIXELS, Unit<CHANNELS>::SLACK);
    if (narrow.needs)
        find_extrema<CHANNELS>(&narrow, channel);
    narrow_finish(work, &narrow, state, 1, part);
    if (pack && narrow.last)
        unpack(block, pack, bins);
    if (threadIdx.x == 0)
        block->flushed = true;
    __syncthreads(); /* the pack is empty, the block may go on */
}

size_t narrow16_pack_bytes(void)
{
    return sizeof(Pack);
}

#endif
