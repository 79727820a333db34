/* SPDX-License-Identifier: MIT */
/* histogram16/count.cuh: counting a tile of 16-bit samples: whole and plain, at an edge, or one
 * channel of several. */
#ifndef IMGSTAT_KERNELS_HISTOGRAM16_COUNT_CUH
#define IMGSTAT_KERNELS_HISTOGRAM16_COUNT_CUH

#include "histogram16/table.cuh"

/* Where a plain tile lies in its row. */
struct TilePlace16 {
    const unsigned char *row, *end, *address;
    uint64_t number; /* of the row */
};

DEVICE TilePlace16 plain_place(const WorkImage &image, uint64_t tile)
{
    uint64_t place;
    TilePlace16 p;
    tile_place(image, tile, &p.number, &place);
    p.row = image.pixels + p.number * image.pitch;
    p.end = p.row + image.row_pixels * image.channels * 2;
    p.address = p.row - (uintptr_t)p.row % 16 + place * NARROW16_TILE;
    return p;
}

/* By how many samples the tiles of a row begin before it. */
DEVICE uint32_t samples_before(const TilePlace16 &place)
{
    return (uint32_t)((uintptr_t)place.row % 16 / 2);
}

/* In program order with the increments, or the compiler would have them begin after these. Blocks
 * of other channels read the same: it stays in the second cache. */
DEVICE void load_tile(const uint4 *at, uint4 (&v)[STEPS])
{
#pragma unroll
    for (int i = 0; i < STEPS; i++)
        asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v[i].x), "=r"(v[i].y), "=r"(v[i].z), "=r"(v[i].w)
                     : "l"(at + i * 32));
}

/* ---- Whole tiles ----------------------------------------------------------------------------- */

/* A layout as the counting loops hold it. Addresses are in shared memory. */
struct Fast {
    uint32_t minus_base; /* in both halves, to be added */
    uint32_t direct;     /* in both halves */
    uint32_t scale;      /* bytes between the counters of consecutive indices */
    uint32_t begin;      /* of the table, or of this lane's column */
    uint32_t upper;      /* of the table for indices that have the upper halves of words */
};

DEVICE Fast fast_layout(const Layout &layout)
{
    const uint32_t begin = (uint32_t)__cvta_generic_to_shared(table);
    Fast fast;
    fast.minus_base = ((0 - layout.base) & 0xFFFFu) * 0x10001u;
    fast.direct = layout.direct * 0x10001u;
    fast.begin = begin + ((threadIdx.x % 32 << 2) & ((1u << layout.shift) - 1));
    fast.upper = begin - layout.fold * 4;
    /* The multiplication adds as well; the compiler must not see that it is a shift. */
    asm volatile("mov.u32 %0, %1;" : "=r"(fast.scale) : "r"(1u << layout.shift));
    return fast;
}

/* An increment without a result: equal addresses of a warp merge. */
DEVICE void add_one(const Fast &fast, uint32_t index)
{
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(index * fast.scale + fast.begin));
}

/* Counts two indices in words of their own or lower halves; those from direct on where nobody
 * looks. Returns them, none larger than direct. */
DEVICE uint32_t count_two(const Fast &fast, uint32_t word)
{
    const uint32_t two = __viaddmin_u16x2(word, fast.minus_base, fast.direct);
    add_one(fast, two & 0xFFFFu);
    add_one(fast, two >> 16);
    return two;
}

/* Any other addition: equal addresses of a warp wait for each other. One that returns what it found
 * takes three times as long. */
DEVICE void add_some(uint32_t address, uint32_t n)
{
    asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(address), "r"(n));
}

/* Counts an index if it has an upper half. */
DEVICE void add_upper(const Fast &fast, uint32_t index)
{
    if (index >= (fast.direct & 0xFFFFu))
        add_some(index * 4 + fast.upper, UPPER_ONE);
}

/* Up to four samples that a lane deferred, the latest lowest. */
struct Deferred {
    uint32_t low, high;
};

/* If an index is `direct`, its half of the word is deferred. (The compiler would add two moves to
 * these instructions.) */
DEVICE void defer(Deferred *deferred, uint32_t index, uint32_t direct, uint32_t word, bool upper)
{
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "setp.eq.u32 p, %2, %3;\n\t"
                 "@p shf.l.wrap.b32 %1, %0, %1, 16;\n\t"
                 "@p prmt.b32 %0, %4, %0, %5;\n\t}"
                 : "+r"(deferred->low), "+r"(deferred->high)
                 : "r"(index), "r"(direct), "r"(word), "r"(upper ? 0x5432 : 0x5410));
}

/* Counts the samples in N words of a lane. Those that have upper halves are deferred, and counted
 * together: they are few, mostly. */
template <int N> DEVICE void count_mixed(const Fast &fast, const uint32_t (&word)[N])
{
    const uint32_t direct = fast.direct & 0xFFFFu;
    const uint32_t nothing = 0 - fast.minus_base; /* index 0 */
    Deferred deferred = {nothing, nothing};
#pragma unroll
    for (int i = 0; i < N; i++) {
        const uint32_t two = count_two(fast, word[i]);
        defer(&deferred, two & 0xFFFFu, direct, word[i], 0);
        defer(&deferred, two >> 16, direct, word[i], 1);
    }
    uint32_t low = __viaddmax_u16x2(deferred.low, fast.minus_base, 0);
    uint32_t high = __viaddmax_u16x2(deferred.high, fast.minus_base, 0);
    if (__any_sync(NONE, high >> 16)) { /* a lane may have had more than four */
#pragma unroll
        for (int i = 0; i < N; i++) {
            const uint32_t two = __viaddmax_u16x2(word[i], fast.minus_base, 0);
            add_upper(fast, two & 0xFFFFu);
            add_upper(fast, two >> 16);
        }
        return;
    }
#pragma unroll 1
    while (__any_sync(NONE, low & 0xFFFFu)) {
        add_upper(fast, low & 0xFFFFu);
        low = __funnelshift_r(low, high, 16);
        high >>= 16;
    }
}

/* What has no counter is counted in a spare word. Returns the largest index, or `direct`, in
 * each half. */
template <int N> DEVICE uint32_t count_window(const Fast &fast, const uint32_t (&word)[N])
{
    uint32_t most = 0;
#pragma unroll
    for (int i = 0; i < N; i++)
        most = __vmaxu2(most, count_two(fast, word[i]));
    return most;
}

/* Counts the samples of a lane's vectors that have no counter. own: the first of each that is
 * counted. All lanes; outside: the lane has such a sample. */
template <int CHANNELS>
DEVICE void count_outside(Block16 *block, uint64_t *bins, const uint4 *at, uint32_t own,
                          bool outside)
{
    const uint32_t base = block->layout.base, direct = block->layout.direct;
    after_all_before();
#pragma unroll 1
    for (int i = 0; i < STEPS; i++) {
        const uint16_t *samples = (const uint16_t *)(at + i * 32);
#pragma unroll 1
        for (uint32_t first = 0; first < 8; first += CHANNELS) {
            const uint32_t k = first + own;
            const uint32_t raw = outside && k < 8 ? samples[k] : base;
            count_missed(block, bins, raw, ((raw - base) & 0xFFFFu) >= direct);
        }
        if (CHANNELS == 3)
            own = own ? own - 1 : 2;
    }
}

/* ---- The samples of a channel ---------------------------------------------------------------- */

/* Of the 8 samples of a vector the first that belongs to the block's channel. Vectors of a tile are
 * 256 samples apart: with three channels, it moves down by one from each to the next. before: the
 * samples by which the tiles of the row begin before it. */
template <int CHANNELS> DEVICE uint32_t first_own(unsigned channel, uint32_t before)
{
    return (channel + before + CHANNELS * 8 - threadIdx.x % 32 * 8 % CHANNELS) % CHANNELS;
}

/* Words in which a lane's samples of one channel come together, of a tile. */
template <int CHANNELS> struct Own {
    static const int WORDS = CHANNELS == 1 ? 12 : CHANNELS == 2 ? 6 : CHANNELS == 3 ? 4 : 3;
};

/* a's and b's halves that begin at these bytes of a and b together. */
DEVICE uint32_t two_of(uint32_t a, uint32_t b, uint32_t first, uint32_t second)
{
    return __byte_perm(a, b, (first | (first + 1) << 4 | second << 8 | (second + 1) << 12));
}

/* Three channels: 8 samples of 24, whichever comes first. */
DEVICE void gather_third(const uint4 (&v)[STEPS], uint32_t own, uint32_t (&word)[4])
{
    uint32_t half[STEPS];
#pragma unroll
    for (uint32_t i = 0; i < STEPS; i++) {
        const uint32_t f = (own + STEPS - i) % 3;
        const uint32_t a = f < 2 ? v[i].x : v[i].y, b = f < 1 ? v[i].y : v[i].z;
        word[i] = two_of(a, b, f == 1 ? 2 : 0, f == 1 ? 4 : 6);
        half[i] = f == 1 ? v[i].w >> 16 : v[i].w; /* the lower half; none if f is 2 */
    }
    /* The vector in which f is 2 has no third sample. */
    const uint32_t a = own == 2 ? half[1] : half[0], b = own == 1 ? half[1] : half[2];
    word[3] = two_of(a, b, 0, 4);
}

template <int CHANNELS, int N>
DEVICE void gather(const uint4 (&v)[STEPS], uint32_t own, uint32_t (&word)[N])
{
    if constexpr (CHANNELS == 3) {
        gather_third(v, own, word);
    } else {
#pragma unroll
        for (int i = 0; i < STEPS; i++) {
            if constexpr (CHANNELS == 1) {
                word[4 * i] = v[i].x;
                word[4 * i + 1] = v[i].y;
                word[4 * i + 2] = v[i].z;
                word[4 * i + 3] = v[i].w;
            } else if constexpr (CHANNELS == 2) {
                const uint32_t halves = own ? 0x7632u : 0x5410u;
                word[2 * i] = __byte_perm(v[i].x, v[i].y, halves);
                word[2 * i + 1] = __byte_perm(v[i].z, v[i].w, halves);
            } else {
                const uint32_t halves = own & 1 ? 0x7632u : 0x5410u;
                word[i] = __byte_perm(own & 2 ? v[i].y : v[i].x, own & 2 ? v[i].w : v[i].z, halves);
            }
        }
    }
}

/* FOLD: words are shared, else the table is a window. v: the lane's vectors of the tile at `at`,
 * every 32nd one; own: see first_own. */
template <int CHANNELS, bool FOLD>
DEVICE void count_tile(Block16 *block, const Fast &fast, uint64_t *bins, const uint4 (&v)[STEPS],
                       const uint4 *at, uint32_t own, ExtremaMode mode, LaneExtrema *seen)
{
    enum { WORDS = Own<CHANNELS>::WORDS };
    uint32_t word[WORDS];
    gather<CHANNELS>(v, own, word);
    update_any(seen, mode, word, block->image);
    if (FOLD) {
        count_mixed(fast, word);
    } else {
        const uint32_t most = count_window(fast, word);
        const bool outside = max(most & 0xFFFFu, most >> 16) == (fast.direct & 0xFFFFu);
        if (__any_sync(ALL_LANES, outside) && !block->layout.elsewhere)
            count_outside<CHANNELS>(block, bins, at, own, outside);
    }
}

/* ---- Other tiles ----------------------------------------------------------------------------- */

/* A plain tile that is not whole: its samples one by one. straight: to the bins, by all threads;
 * otherwise by a warp. */
template <int CHANNELS>
static __device__ __noinline__ void count_edge(Block16 *block, uint64_t *bins, uint64_t tile,
                                               unsigned channel, bool straight)
{
    LaneExtrema seen = no_extrema();
    const WorkImage &image = block->image;
    const Layout layout = block->layout;
    const TilePlace16 place = plain_place(image, tile);
    const unsigned lanes = straight ? THREADS : 32;
    for (unsigned i = threadIdx.x % lanes; i < NARROW16_PIXELS; i += lanes) {
        const unsigned char *at = place.address + 2 * i;
        const bool there =
            at >= place.row && at < place.end && (at - place.row) / 2 % CHANNELS == channel;
        const uint32_t raw = there ? *(const uint16_t *)at : 0;
        if (there)
            update_one(&seen, image, raw);
        if (!straight)
            count_one(block, layout, bins, raw, there);
        else if (there)
            bin_add(&bins[key_of(image, raw)], 1);
    }
    __syncwarp();
    note_seen(block, seen, tile);
}

/* One channel of an image that has more, or a mask. */
DEVICE void count_general(Block16 *block, uint64_t *bins, uint64_t tile, unsigned channel,
                          unsigned *masked)
{
    LaneExtrema seen = no_extrema();
    const WorkImage &image = block->image;
    const Layout layout = block->layout;
    uint64_t row, place;
    tile_place(image, tile, &row, &place);
    const uint16_t *samples = (const uint16_t *)(image.pixels + row * image.pitch) + channel;
    const uint8_t *mask = image.mask ? image.mask + row * image.mask_pitch : NULL;
    const uint64_t end = min((place + 1) * NARROW16_PIXELS, image.row_pixels);
#pragma unroll 4
    for (uint64_t first = place * NARROW16_PIXELS; first < end; first += 32) {
        const uint64_t x = first + threadIdx.x % 32;
        const bool without = x < end && mask && !mask[x], there = x < end && !without;
        const uint32_t raw = there ? samples[x * image.channels] : 0;
        *masked += without;
        if (there)
            update_one(&seen, image, raw);
        count_one(block, layout, bins, raw, there);
    }
    __syncwarp();
    note_seen(block, seen, tile);
}

/* A plain tile by itself, whole or not. */
template <int CHANNELS>
DEVICE void count_single(Block16 *block, uint64_t *bins, uint64_t tile, unsigned channel)
{
    const WorkImage &image = block->image;
    const TilePlace16 place = plain_place(image, tile);
    if (place.address < place.row || place.address + NARROW16_TILE > place.end) {
        count_edge<CHANNELS>(block, bins, tile, channel, false);
        return;
    }
    LaneExtrema seen = no_extrema();
    const ExtremaMode mode = extrema_mode(image);
    const uint32_t own = first_own<CHANNELS>(channel, samples_before(place));
    const uint4 *at = (const uint4 *)place.address + threadIdx.x % 32;
    const Fast fast = fast_layout(block->layout);
    uint4 v[STEPS];
    load_tile(at, v);
    if (block->layout.fold)
        count_tile<CHANNELS, true>(block, fast, bins, v, at, own, mode, &seen);
    else
        count_tile<CHANNELS, false>(block, fast, bins, v, at, own, mode, &seen);
    __syncwarp();
    note_seen(block, seen, tile);
}

#endif
