/* SPDX-License-Identifier: MIT */
/* measure_narrow16.cu: records of 16-bit samples in one read: 65,536 exact bins, and where the
 * extrema are. */
#include "narrow.cuh"

/* One block an SM: its table takes all the shared memory there is. */
enum { THREADS = 1024, WARPS = THREADS / 32 };
/* A lane's vectors in a plain unit; an item is a unit a warp. Between two looks at the packed
 * counters a block adds at most 32 * 1536 = 49,152 to one; what is left in it is less than DRAIN,
 * and 49,152 + 16,383 fits 16 bits. */
enum { STEPS = 6, DRAIN = 16384, HALVES = 65536 };
static_assert((int)NARROW16_UNIT == STEPS * 512 && (int)NARROW16_PIXELS == STEPS * 256,
              "the host cuts images");
static_assert(WARPS * NARROW16_PIXELS + DRAIN - 1 <= 65535, "packed counters do not overflow");

enum { BUCKETS = 256 }; /* of the sample that a layout is chosen from: the leading bits */

/* How the table is laid out. A sample becomes an index: its bits minus base, modulo 65,536. */
struct Layout {
    uint32_t base;
    uint32_t shift;   /* counters of an index: at byte index << shift, 1 << (shift - 2) of them */
    uint32_t limit;   /* indices below have 32-bit counters */
    uint32_t packed;  /* the others have 16-bit counters behind them; or else none at all */
    uint32_t uniform; /* no value is frequent: every increment may be an ordinary addition */
};

struct Block16 {
    NarrowBlock narrow;
    Layout layout;
    unsigned flags;  /* Attention bits of the item at work */
    unsigned missed; /* samples of this image that have no counter here */
    unsigned gap;    /* widest stretch of empty buckets << 8 | the bucket after it */
    unsigned least;  /* fewest samples in a stretch << 8 | where it begins */
    unsigned most;   /* samples in the fullest bucket */
    unsigned bucket[BUCKETS];
};

enum Attention { BEYOND = 1, PACKED = 2, MISSED = 4 };

extern __shared__ __align__(128) unsigned char table[];

static __device__ __forceinline__ void count(uint32_t offset)
{
    atomicAdd((unsigned *)(table + offset), 1u);
}

static __device__ __forceinline__ uint32_t key_of(const WorkImage &image, uint32_t raw)
{
    return (uint32_t)sample_key((ImgstatSample)image.sample, raw);
}

/* Two samples as keys, side by side. The key of -0 comes out one too small: this is only for
 * noticing that an item may hold a new extremum. */
template <int SAMPLE> static __device__ __forceinline__ uint32_t rough_keys(uint32_t w)
{
    if (SAMPLE == IMGSTAT_I16)
        return w ^ 0x80008000u;
    if (SAMPLE == IMGSTAT_F16)
        return w ^ ((w >> 15 & 0x00010001u) * 0x7FFFu | 0x80008000u);
    return w;
}

/* A sample that has no counter here goes straight to the record; equal ones of a warp together. */
static __device__ __noinline__ void count_missed(Block16 *block, uint64_t *bins, uint32_t raw)
{
    const unsigned active = __activemask();
    const unsigned peers = __match_any_sync(active, raw);
    if (threadIdx.x % 32 != (unsigned)__ffs((int)peers) - 1)
        return;
    const uint32_t key = key_of(block->narrow.image, raw);
    bin_add(&bins[key], (uint64_t)__popc(peers));
    atomicAdd(&block->missed, (unsigned)__popc(peers));
    if (narrow_valid(block->narrow.image, key)) {
        atomicMin(&block->narrow.new_low[0], (int)key);
        atomicMax(&block->narrow.new_high[0], (int)key);
    }
}

static __device__ __forceinline__ void add_packed(const Layout &layout, uint32_t index)
{
    const uint32_t i = index - layout.limit;
    atomicAdd((unsigned *)(table + layout.limit * 4 + i / 2 * 4), i % 2 ? 65536u : 1u);
}

/* Counts samples whose indices are not all below the limit. Returns Attention bits. */
static __device__ __forceinline__ unsigned count_one(Block16 *block, const Layout &layout,
                                                     uint64_t *bins, uint32_t lane, uint32_t raw)
{
    const uint32_t index = (raw - layout.base) & 0xFFFFu;
    if (index < layout.limit) {
        count(index << layout.shift | lane);
        return 0;
    }
    if (layout.packed) {
        add_packed(layout, index);
        return PACKED;
    }
    count_missed(block, bins, raw);
    return MISSED;
}

/* One addition a sample, whichever kind of counter it has. */
static __device__ __forceinline__ void count_uniform(const Layout &layout, uint32_t index)
{
    const bool narrow = index >= layout.limit;
    const uint32_t word = narrow ? (index + layout.limit) / 2 : index; /* limit is even */
    atomicAdd((unsigned *)table + word, narrow && index % 2 ? 65536u : 1u);
}

/* Counts 8 samples. */
static __device__ __forceinline__ unsigned count_vector(Block16 *block, const Layout &layout,
                                                        uint64_t *bins, uint32_t lane, uint4 v)
{
    const uint32_t word[4] = {v.x, v.y, v.z, v.w};
    const uint32_t bits = 0xFFFFu << layout.shift;
    uint32_t offset[8], most = 0;

    if (layout.uniform) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            count_uniform(layout, (word[i] - layout.base) & 0xFFFFu);
            count_uniform(layout, ((word[i] >> 16) - layout.base) & 0xFFFFu);
        }
        return PACKED;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        offset[2 * i] = (word[i] - layout.base) << layout.shift & bits;
        offset[2 * i + 1] = (word[i] - (layout.base << 16)) >> (16 - layout.shift) & bits;
        most = max(most, max(offset[2 * i], offset[2 * i + 1]));
    }
    if (most < layout.limit << layout.shift) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            count(offset[i] | lane);
        return 0;
    }
    unsigned attention = 0;
#pragma unroll 1
    for (int i = 0; i < 8; i++) {
        const uint32_t w = i < 4 ? (i < 2 ? v.x : v.y) : (i < 6 ? v.z : v.w);
        attention |= count_one(block, layout, bins, lane, i % 2 ? w >> 16 : w & 0xFFFFu);
    }
    return attention;
}

/* Where a plain unit lies in its row. */
struct Place {
    const unsigned char *row, *end, *address;
    uint64_t number; /* of the row */
};

static __device__ __forceinline__ Place plain_place(const WorkImage &image, uint64_t unit)
{
    uint64_t place;
    Place p;
    unit_place(image, unit, &p.number, &place);
    p.row = image.pixels + p.number * image.pitch;
    p.end = p.row + image.row_pixels * 2;
    p.address = p.row - (uintptr_t)p.row % 16 + place * NARROW16_UNIT;
    return p;
}

/* Least and largest rough keys of what a thread has seen, in both halves. */
struct Seen {
    uint32_t low, high;
};

template <int SAMPLE> static __device__ __forceinline__ void see(Seen *seen, uint32_t w)
{
    const uint32_t keys = rough_keys<SAMPLE>(w);
    seen->low = __vminu2(seen->low, keys);
    seen->high = __vmaxu2(seen->high, keys);
}

template <int SAMPLE> static __device__ __forceinline__ void see_vector(Seen *seen, uint4 v)
{
    see<SAMPLE>(seen, v.x);
    see<SAMPLE>(seen, v.y);
    see<SAMPLE>(seen, v.z);
    see<SAMPLE>(seen, v.w);
}

template <int SAMPLE>
static __device__ __forceinline__ unsigned count_plain(Block16 *block, const Layout &layout,
                                                       uint64_t *bins, uint64_t unit, Seen *seen)
{
    const WorkImage &image = block->narrow.image;
    const unsigned thread = threadIdx.x % 32;
    const uint32_t lane = (thread << 2) & ((1u << layout.shift) - 1);
    const Place place = plain_place(image, unit);
    const unsigned char *at = place.address + thread * 16;
    unsigned attention = 0;

    if (place.address >= place.row && place.address + NARROW16_UNIT <= place.end) {
        uint4 v[STEPS];
#pragma unroll
        for (int i = 0; i < STEPS; i++)
            v[i] = __ldcs((const uint4 *)(at + i * 512));
#pragma unroll
        for (int i = 0; i < STEPS; i++) {
            see_vector<SAMPLE>(seen, v[i]);
            attention |= count_vector(block, layout, bins, lane, v[i]);
        }
        return attention;
    }
#pragma unroll 1
    for (int k = 0; k < STEPS; k++, at += 512) {
        for (int p = 0; p < 16; p += 2) {
            if (at + p >= place.row && at + p < place.end) {
                const uint32_t raw = *(const uint16_t *)(at + p);
                see<SAMPLE>(seen, raw | raw << 16);
                attention |= count_one(block, layout, bins, lane, raw);
            }
        }
    }
    return attention;
}

/* One channel of an image that has more, or a mask. */
template <int SAMPLE>
static __device__ __forceinline__ unsigned
count_general(Block16 *block, const Layout &layout, uint64_t *bins, uint64_t unit, unsigned channel,
              Seen *seen, unsigned *masked)
{
    const WorkImage &image = block->narrow.image;
    const unsigned thread = threadIdx.x % 32;
    const uint32_t lane = (thread << 2) & ((1u << layout.shift) - 1);
    uint64_t row, place;
    unit_place(image, unit, &row, &place);
    const uint16_t *samples = (const uint16_t *)(image.pixels + row * image.pitch) + channel;
    const uint8_t *mask = image.mask ? image.mask + row * image.mask_pitch : NULL;
    const uint64_t end = min((place + 1) * NARROW16_PIXELS, image.row_pixels);
    unsigned attention = 0;
#pragma unroll 4
    for (uint64_t x = place * NARROW16_PIXELS + thread; x < end; x += 32) {
        if (mask && !mask[x]) {
            ++*masked;
            continue;
        }
        const uint32_t raw = samples[x * image.channels];
        see<SAMPLE>(seen, raw | raw << 16);
        attention |= count_one(block, layout, bins, lane, raw);
    }
    return attention;
}

/* ---- Choosing a layout ----------------------------------------------------------------------- */

/* Counts two samples a thread, spread over the image, by their leading 8 bits. */
static __device__ __forceinline__ void take_sample(Block16 *block, unsigned channel)
{
    const WorkImage &image = block->narrow.image;
    const uint64_t pixels = image.rows * image.row_pixels;
    if (threadIdx.x < BUCKETS)
        block->bucket[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned i = 0; i < 2; i++) {
        /* Blocks look at different places: another fraction of the stride each. */
        const uint64_t stride = pixels / (2 * THREADS) + 1;
        const uint64_t at =
            (i * THREADS + threadIdx.x) * stride + blockIdx.x * 2654435761u % stride;
        if (at < pixels) {
            const uint64_t row = image.rows == 1 ? 0 : at / image.row_pixels;
            const uint64_t x = at - row * image.row_pixels;
            const uint16_t *samples = (const uint16_t *)(image.pixels + row * image.pitch);
            atomicAdd(&block->bucket[samples[x * image.channels + channel] >> 8], 1u);
        }
    }
    __syncthreads();
}

/* What one thread makes of the sample: window if the image's values fit into few 32-bit counters,
 * else all 65,536, with the stretch that was met least in 16 bits. */
static __device__ __forceinline__ Layout choose(const Block16 *block, uint32_t words)
{
    const uint32_t empty = block->gap >> 8, first = block->gap & 0xFF;
    /* The buckets met, one more on either side, and an eighth for what the sample missed. */
    uint32_t span = min(HALVES, (BUCKETS - empty + 2) * (HALVES / BUCKETS));
    span = min(HALVES, span + span / 8);
    Layout layout = {0, 2, words, 0, 0};
    if (span <= words) {
        while (layout.shift < 7 && span << (layout.shift - 1) <= words)
            layout.shift++;
        layout.limit = words >> (layout.shift - 2);
        const uint32_t values = (BUCKETS - empty) * (HALVES / BUCKETS);
        layout.base = (first * (HALVES / BUCKETS) - (layout.limit - values) / 2) & 0xFFFFu;
        return layout;
    }
    if (2 * words > HALVES) {
        layout.limit = min(words * 2 - HALVES, HALVES);
        layout.packed = 1;
        layout.uniform = block->most < 2 * THREADS / 32; /* no bucket has more than a 32nd */
    }
    layout.base = ((block->least & 0xFF) * (HALVES / BUCKETS) - layout.limit) & 0xFFFFu;
    return layout;
}

/* full: without windows. All threads. */
static __device__ __noinline__ void choose_layout(Block16 *block, uint32_t words, unsigned channel,
                                                  bool full)
{
    const unsigned b = threadIdx.x;
    if (b == 0)
        block->gap = block->most = block->missed = block->flags = 0;
    if (b == 0)
        block->least = NONE;
    take_sample(block, channel);
    if (b < BUCKETS) {
        const uint32_t limit = 2 * words > HALVES ? words * 2 - HALVES : words;
        const unsigned stretch = (HALVES - min(limit, HALVES)) / (HALVES / BUCKETS);
        unsigned empty = 0, sum = 0;
        if (!full && block->bucket[b]) {
            while (empty < BUCKETS - 1 && !block->bucket[(b + 1 + empty) % BUCKETS])
                empty++;
            atomicMax(&block->gap, empty << 8 | (b + 1 + empty) % BUCKETS);
        }
        for (unsigned i = 0; i < stretch; i++)
            sum += block->bucket[(b + i) % BUCKETS];
        atomicMin(&block->least, sum << 8 | b);
        atomicMax(&block->most, block->bucket[b]);
    }
    __syncthreads();
    if (b == 0)
        block->layout = choose(block, words);
    __syncthreads();
}

/* ---- Emptying the table ---------------------------------------------------------------------- */

/* Adds 32-bit counters to the bins and empties them. limit << (shift - 2) is a multiple of 32, so
 * warps are whole. */
static __device__ __forceinline__ void flush_wide(Block16 *block, uint64_t *bins)
{
    const Layout layout = block->layout;
    const uint32_t columns = 1u << (layout.shift - 2);
    unsigned *words = (unsigned *)table;
    for (uint32_t i = threadIdx.x; i < layout.limit * columns; i += THREADS) {
        uint64_t sum = words[i];
        words[i] = 0;
        for (uint32_t h = columns / 2; h > 0; h /= 2)
            sum += __shfl_xor_sync(NONE, sum, h);
        if (i % columns == 0 && sum)
            bin_add(&bins[key_of(block->narrow.image, (i / columns + layout.base) & 0xFFFFu)], sum);
    }
}

/* Empties 16-bit counters that hold at least this many. */
static __device__ __forceinline__ void flush_packed(Block16 *block, uint64_t *bins, unsigned least)
{
    const Layout layout = block->layout;
    unsigned *words = (unsigned *)table + layout.limit;
    for (uint32_t i = threadIdx.x; i < (HALVES - layout.limit) / 2; i += THREADS) {
        const unsigned word = words[i], low = word & 0xFFFFu, high = word >> 16;
        const uint32_t raw = 2 * i + layout.limit + layout.base;
        if (low < least && high < least)
            continue;
        if (low >= least)
            bin_add(&bins[key_of(block->narrow.image, raw & 0xFFFFu)], low);
        if (high >= least)
            bin_add(&bins[key_of(block->narrow.image, (raw + 1) & 0xFFFFu)], high);
        words[i] = (low < least ? low : 0) | (high < least ? high << 16 : 0);
    }
}

/* One lane's part in finding keys beyond the extrema so far; all lanes of a warp call it. */
static __device__ __forceinline__ void consider(Block16 *block, bool there, uint32_t raw)
{
    NarrowBlock *narrow = &block->narrow;
    const int key = (int)key_of(narrow->image, raw & 0xFFFFu);
    int low = 1 << 16, high = -1;
    if (there && narrow_valid(narrow->image, (uint64_t)key)) {
        low = key;
        high = key;
    }
    for (unsigned h = 16; h > 0; h /= 2) {
        low = min(low, __shfl_xor_sync(NONE, low, h));
        high = max(high, __shfl_xor_sync(NONE, high, h));
    }
    if (threadIdx.x % 32 == 0 && low < narrow->low[0])
        atomicMin(&narrow->new_low[0], low);
    if (threadIdx.x % 32 == 0 && high > narrow->high[0])
        atomicMax(&narrow->new_high[0], high);
}

static __device__ __noinline__ void check_extrema(Block16 *block)
{
    const Layout layout = block->layout;
    const uint32_t columns = layout.shift - 2;
    const int low = block->narrow.low[0], high = block->narrow.high[0];
    const unsigned *words = (const unsigned *)table;
    for (uint32_t i = threadIdx.x; i < layout.limit << columns; i += THREADS) {
        const uint32_t raw = (i >> columns) + layout.base;
        const int key = (int)key_of(block->narrow.image, raw & 0xFFFFu);
        const bool there = (key < low || key > high) && words[i];
        if (__any_sync(NONE, there))
            consider(block, there, raw);
    }
    if (!layout.packed)
        return;
    for (uint32_t i = threadIdx.x; i < (HALVES - layout.limit) / 2; i += THREADS) {
        const unsigned word = words[layout.limit + i];
        const uint32_t raw = 2 * i + layout.limit + layout.base;
        if (__any_sync(NONE, word != 0)) {
            consider(block, (word & 0xFFFFu) != 0, raw);
            consider(block, word >> 16 != 0, raw + 1);
        }
    }
}

/* ---- Positions ------------------------------------------------------------------------------- */

/* The first position in the unit that has this key, for this lane's part of it; ~0 if none. */
template <bool PLAIN>
static __device__ uint64_t find_in_unit(const WorkImage &image, uint64_t unit, unsigned channel,
                                        uint32_t key)
{
    const unsigned thread = threadIdx.x % 32;
    uint64_t row, found = ~0ull;
    if (PLAIN) {
        const Place place = plain_place(image, unit);
        row = place.number;
#pragma unroll 1
        for (int k = STEPS - 1; k >= 0; k--) {
            const unsigned char *at = place.address + k * 512 + thread * 16;
            const bool whole = at >= place.row && at + 16 <= place.end;
            uint4 v = {0, 0, 0, 0};
            if (whole)
                v = *(const uint4 *)at;
            const uint32_t word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int p = 7; p >= 0; p--) {
                const unsigned char *sample = at + 2 * p;
                if (!whole && (sample < place.row || sample >= place.end))
                    continue;
                const uint32_t raw =
                    whole ? word[p / 2] >> p % 2 * 16 & 0xFFFFu : *(const uint16_t *)sample;
                if (key_of(image, raw) == key)
                    found = (uint64_t)(sample - place.row) / 2;
            }
        }
    } else {
        uint64_t place;
        unit_place(image, unit, &row, &place);
        const uint64_t end = min((place + 1) * NARROW16_PIXELS, image.row_pixels);
        const uint16_t *samples = (const uint16_t *)(image.pixels + row * image.pitch) + channel;
        for (uint64_t x = place * NARROW16_PIXELS + thread; x < end; x += 32) {
            if (found == ~0ull && (!image.mask || image.mask[row * image.mask_pitch + x]) &&
                key_of(image, samples[x * image.channels]) == key)
                found = x;
        }
    }
    return found == ~0ull ? found : image.first_at + row * image.row_pixels + found;
}

template <bool PLAIN>
static __device__ __noinline__ void find_extrema(NarrowBlock *block, unsigned channel)
{
    for (unsigned i = 0; i < 2; i++) {
        if (!(block->needs >> i & 1))
            continue;
        const uint32_t key = (uint32_t)(i ? block->high[0] : block->low[0]);
        uint64_t begin, end;
        item_units(block->image, i ? block->high_item[0] : block->low_item[0], &begin, &end);
        for (uint64_t unit = begin + threadIdx.x / 32; unit < end; unit += WARPS) {
            const uint64_t at = find_in_unit<PLAIN>(block->image, unit, channel, key);
            if (at != ~0ull)
                atomicMin(&block->found[i], (unsigned long long)at);
        }
    }
    __syncthreads();
}

template <bool PLAIN>
static __device__ __noinline__ void flush(const Work &work, Block16 *block, bool image_done)
{
    uint64_t *bins = block->narrow.image.bins + (uint64_t)work.channel0 * HALVES;
    flush_wide(block, bins);
    if (block->layout.packed)
        flush_packed(block, bins, 1);
    __syncthreads(); /* the table is empty */
    if (!image_done)
        return;
    NarrowState *state = (NarrowState *)work.state + block->narrow.number;
    narrow_ask(&block->narrow, state, 1, PLAIN ? NARROW16_UNIT / 2 : NARROW16_PIXELS,
               PLAIN ? 8 : 0);
    if (block->narrow.needs)
        find_extrema<PLAIN>(&block->narrow, work.channel0);
    narrow_finish(work, &block->narrow, state, 1);
}

/* After an item that asked for attention. All threads. */
template <bool PLAIN> static __device__ __noinline__ void attend(const Work &work, Block16 *block)
{
    const unsigned flags = block->flags;
    if (flags & BEYOND)
        check_extrema(block);
    if (flags & PACKED)
        flush_packed(block, block->narrow.image.bins + (uint64_t)work.channel0 * HALVES, DRAIN);
    __syncthreads(); /* new extrema are complete */
    narrow_improve(&block->narrow, 1);
    const bool widen = (flags & MISSED) && block->missed > NARROW16_PIXELS &&
                       !block->layout.packed && 2 * work.words > HALVES;
    __syncthreads(); /* before the flags are cleared */
    if (threadIdx.x == 0)
        block->flags = 0;
    if (widen) { /* the sample misled: give every value a counter */
        flush<PLAIN>(work, block, false);
        choose_layout(block, work.words, work.channel0, true);
    }
    __syncthreads();
}

/*
 * measure_narrow16: the record of one channel of 16-bit samples.
 *
 *   Idea      65,536 counters of 32 bits are more than an SM holds, and which counters are hot
 *             decides the speed, so each block looks at 2,048 samples first. If their values span
 *             little, it keeps 32-bit counters for a window around them, in as many columns as fit
 *             (lanes of different columns never collide). Else all 65,536 have counters: 16 bits
 *             wide in the stretch that is met least, 32 bits elsewhere. Increments of exactly 1 of
 *             32-bit words merge within a warp, so frequent values cost nothing; 16-bit counters
 *             are looked through after each item, before they can overflow. Values that have no
 *             counter go to the record in global memory; a block that meets many changes layout.
 *             None of this can change the result, only the time.
 *   Work      about 5 instructions a sample.
 *   Memory    reads 2 n bytes once (a channel of several: all of them), and less than one item a
 *             block and extremum again; adds up to 65,536 bins a block and image.
 *   Launch    one persistent block of 1,024 an SM; items of 32 units from a queue, in order.
 *   Requires  PLAIN: one channel, no mask. work.words: 32-bit words in the table, a multiple of
 *             1,024. Samples aligned. Queue and states zero.
 *   Result    bins, n, masked, extrema added to the record; queue and states zero again. Integers:
 *             every order of blocks gives the same.
 */
template <int SAMPLE, bool PLAIN>
static __global__ void __launch_bounds__(THREADS, 1)
    measure_narrow16(const __grid_constant__ Work work)
{
    __shared__ Block16 block;
    for (unsigned i = threadIdx.x; i < work.words / 4; i += THREADS)
        ((uint4 *)table)[i] = make_uint4(0, 0, 0, 0);
    narrow_begin(work, &block.narrow);

    uint64_t item = block.narrow.next[0];
    bool begun = false;
    for (unsigned turn = 1; item < work.n_items; turn ^= 1) {
        const uint32_t number = work_image_of(work, item);
        /* 2^31 samples a flush at most: 32-bit counters hold them. */
        if (!begun || number != block.narrow.number || block.narrow.samples > 1ull << 31) {
            if (begun)
                flush<PLAIN>(work, &block, true);
            narrow_adopt(work, &block.narrow, number);
            choose_layout(&block, work.words, work.channel0, false);
            begun = true;
        }
        if (threadIdx.x == 0) {
            block.narrow.next[turn] = atomicAdd(&work.shared->queue.next, 1ull);
            block.narrow.item = item;
            block.narrow.items++;
            block.narrow.samples += (uint64_t)block.narrow.image.units_per_item * NARROW16_PIXELS;
        }
        const Layout layout = block.layout;
        uint64_t *bins = block.narrow.image.bins + (uint64_t)work.channel0 * HALVES;
        Seen seen = {NONE, 0};
        unsigned attention = 0, masked = 0;
        uint64_t begin, end;
        item_units(block.narrow.image, item, &begin, &end);
        const uint64_t unit = begin + threadIdx.x / 32;
        if (unit < end) {
            if (PLAIN)
                attention = count_plain<SAMPLE>(&block, layout, bins, unit, &seen);
            else
                attention = count_general<SAMPLE>(&block, layout, bins, unit, work.channel0, &seen,
                                                  &masked);
        }
        if (!PLAIN && masked)
            atomicAdd(&block.narrow.masked, (unsigned long long)masked);
        const int low = (int)min(seen.low & 0xFFFFu, seen.low >> 16);
        const int high = (int)max(seen.high & 0xFFFFu, seen.high >> 16);
        if (low < block.narrow.low[0] || high > block.narrow.high[0])
            attention |= BEYOND;
        if (attention)
            atomicOr(&block.flags, attention);
        const bool attend_now = __syncthreads_or((int)attention); /* the table holds the item */
        item = block.narrow.next[turn];
        if (attend_now)
            attend<PLAIN>(work, &block);
    }
    if (begun)
        flush<PLAIN>(work, &block, true);
    if (threadIdx.x == 0)
        queue_leave(work);
}

template <int SAMPLE, bool PLAIN>
static ImgstatResult launch_sample(const Launch *launch, ImgstatError *err)
{
    enum { RESERVE = 1024 + sizeof(Block16) }; /* and what the driver keeps a block */
    CudaDevice *device = launch->device;
    Work work = launch->work;
    work.words = (unsigned)(device->max_shared - RESERVE) / 4 / THREADS * THREADS;
    const auto kernel = measure_narrow16<SAMPLE, PLAIN>;
    const int bytes = (int)work.words * 4;
    CUDA_TRY(device, err,
             cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    const uint64_t most = (uint64_t)device->properties.multiProcessorCount;
    const unsigned grid = (unsigned)(work.n_items < most ? work.n_items : most);
    kernel<<<grid, THREADS, (size_t)bytes, launch->stream>>>(work);
    return cuda_launched(device, "measure_narrow16", err);
}

ImgstatResult launch_narrow16(const Launch *launch, ImgstatSample sample, bool plain,
                              ImgstatError *err)
{
    switch (sample) {
    case IMGSTAT_U16:
        return plain ? launch_sample<IMGSTAT_U16, true>(launch, err)
                     : launch_sample<IMGSTAT_U16, false>(launch, err);
    case IMGSTAT_I16:
        return plain ? launch_sample<IMGSTAT_I16, true>(launch, err)
                     : launch_sample<IMGSTAT_I16, false>(launch, err);
    default:
        return plain ? launch_sample<IMGSTAT_F16, true>(launch, err)
                     : launch_sample<IMGSTAT_F16, false>(launch, err);
    }
}
