/* SPDX-License-Identifier: MIT */
/* measure_narrow16.cu: records of 16-bit samples in one read: 65,536 exact bins, and where the
 * extrema are. */
#include "narrow.cuh"

/* One block an SM: its table takes all the shared memory there is. */
enum { THREADS = 1024, WARPS = THREADS / 32 };
/* A lane's vectors in a unit; a step is a unit a warp. A block adds at most 24,576 to a packed
 * counter in a step. Counters are looked through after each step while the next one begins, so
 * that one holds at most what two steps add and what was left in it: 2 * 24,576 + 16,383. */
enum { STEPS = 3, DRAIN = 16384, HALVES = 65536 };
static_assert((int)NARROW16_UNIT == STEPS * 512 && (int)NARROW16_PIXELS == STEPS * 256 &&
                  (int)NARROW16_STEP == (int)WARPS,
              "the host cuts images");
static_assert(2 * WARPS * NARROW16_PIXELS + DRAIN - 1 <= 65535, "packed counters do not overflow");

enum { SAMPLES = 512, BUCKETS = 256 }; /* that a layout is chosen from: by their leading bits */

/* How the table is laid out. A sample becomes an index: its bits minus base, modulo 65,536. */
struct Layout {
    uint32_t base;
    uint32_t shift;   /* counters of an index: at byte index << shift, 1 << (shift - 2) of them */
    uint32_t wide;    /* indices below have counters of 32 bits to themselves */
    uint32_t direct;  /* indices below have a word of their own; of those that are not wide, the
                       * upper half belongs to index + fold */
    uint32_t fold;    /* words that are shared; 0: indices from direct on have no counter here */
    uint32_t uniform; /* no value is frequent: every increment may be an ordinary addition */
};

struct Block16 {
    NarrowBlock narrow;
    Layout layout;
    unsigned missed; /* samples of this image that have no counter here */
    unsigned gap;    /* widest stretch of empty buckets << 8 | the bucket after it */
    unsigned least;  /* fewest samples in a stretch << 8 | where it begins */
    unsigned most;   /* samples in the fullest bucket */
    unsigned alike;  /* samples whose neighbour is in the same bucket */
    unsigned bucket[BUCKETS];
    unsigned occupied[BUCKETS / 32]; /* a bit a bucket */
};

/* What an item asks for: a look for new extrema, or at the layout. */
enum Attention { BEYOND = 1, MISSED = 2 };

extern __shared__ __align__(128) unsigned char table[];

static __device__ __forceinline__ void count(uint32_t offset)
{
    atomicAdd((unsigned *)(table + offset), 1u);
}

static __device__ __forceinline__ uint32_t key_of(const WorkImage &image, uint32_t raw)
{
    return (uint32_t)sample_key((ImgstatSample)image.sample, raw);
}

/* ---- Noticing extrema ------------------------------------------------------------------------ */

/* Two samples as keys, side by side; the key of -0 comes out one too small. Counted from the
 * smallest valid key, and down from the largest, what is not valid is beyond everything that is,
 * unless nodata lies amid the values. */
struct Seen {
    uint32_t low, high;   /* least distance from each end so far, in both halves */
    uint32_t first, last; /* the ends, in both halves */
};

template <int SAMPLE> static __device__ __forceinline__ void see(Seen *seen, uint32_t w)
{
    uint32_t keys = w;
    if (SAMPLE == IMGSTAT_I16)
        keys = w ^ 0x80008000u;
    if (SAMPLE == IMGSTAT_F16)
        keys = w ^ ((w >> 15 & 0x00010001u) * 0x7FFFu | 0x80008000u);
    seen->low = __vminu2(seen->low, __vsub2(keys, seen->first));
    seen->high = __vminu2(seen->high, __vsub2(seen->last, keys));
}

template <int SAMPLE> static __device__ __forceinline__ void see_vector(Seen *seen, uint4 v)
{
    see<SAMPLE>(seen, v.x);
    see<SAMPLE>(seen, v.y);
    see<SAMPLE>(seen, v.z);
    see<SAMPLE>(seen, v.w);
}

template <int SAMPLE> static __device__ __forceinline__ Seen see_nothing(const WorkImage &image)
{
    uint32_t first = SAMPLE == IMGSTAT_F16 ? 0x0400 : 0, last = 65535 - first;
    if (image.has_nodata && image.nodata_key == first)
        first++;
    else if (image.has_nodata && image.nodata_key == last)
        last--;
    const Seen seen = {NONE, NONE, first | first << 16, last | last << 16};
    return seen;
}

/* Whether the samples seen may hold a key beyond the block's extrema. */
static __device__ __forceinline__ bool seen_beyond(const Seen &seen, const NarrowBlock &block)
{
    const int low = (int)(min(seen.low & 0xFFFFu, seen.low >> 16) + (seen.first & 0xFFFFu));
    const int high = (int)(seen.last & 0xFFFFu) - (int)min(seen.high & 0xFFFFu, seen.high >> 16);
    return low < block.low[0] || high > block.high[0];
}

/* ---- Counting -------------------------------------------------------------------------------- */

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

/* One sample, in any layout. */
static __device__ __forceinline__ unsigned count_one(Block16 *block, const Layout &layout,
                                                     uint64_t *bins, uint32_t lane, uint32_t raw)
{
    const uint32_t index = (raw - layout.base) & 0xFFFFu;
    if (index < layout.direct) {
        count(index << layout.shift | lane);
        return 0;
    }
    if (layout.fold) {
        atomicAdd((unsigned *)table + (index - layout.fold), 65536u);
        return 0;
    }
    count_missed(block, bins, raw);
    return MISSED;
}

enum Style { WINDOW, MIXED, UNIFORM };

/* A layout as the counting loops hold it. Addresses are in shared memory. */
struct Fast {
    uint32_t minus_base; /* in both halves, to be added */
    uint32_t scale;      /* bytes between the counters of consecutive indices */
    uint32_t begin;      /* of the table, or of this lane's column */
    uint32_t upper;      /* of the table for indices that share words */
    uint32_t direct;
};

static __device__ __forceinline__ Fast fast_layout(const Layout &layout)
{
    const uint32_t begin = (uint32_t)__cvta_generic_to_shared(table);
    Fast fast;
    fast.minus_base = ((0 - layout.base) & 0xFFFFu) * 0x10001u;
    fast.scale = 1u << layout.shift;
    fast.begin = begin + ((threadIdx.x % 32 << 2) & ((1u << layout.shift) - 1));
    fast.upper = begin - layout.fold * 4;
    fast.direct = layout.direct;
    return fast;
}

/* Increments whose result nobody awaits. The first kind merges equal addresses of a warp. */
static __device__ __forceinline__ void add_one(uint32_t address)
{
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(address));
}

static __device__ __forceinline__ void add_any(uint32_t address, uint32_t n)
{
    asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(address), "r"(n));
}

/* Counts 8 samples; the style is that of the layout. */
template <int STYLE>
static __device__ __forceinline__ unsigned count_vector(Block16 *block, const Fast &fast,
                                                        uint64_t *bins, uint4 v)
{
    const uint32_t word[4] = {v.x, v.y, v.z, v.w};
    uint32_t two[4], index[8];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        two[i] = __viaddmax_u16x2(word[i], fast.minus_base, 0); /* both halves in one addition */
        index[2 * i] = two[i] & 0xFFFFu;
        index[2 * i + 1] = two[i] >> 16;
    }
    if (STYLE == UNIFORM) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const bool upper = index[i] >= fast.direct;
            add_any(index[i] * 4 + (upper ? fast.upper : fast.begin), upper ? 65536u : 1u);
        }
        return 0;
    }
    const uint32_t most2 = __vmaxu2(__vmaxu2(two[0], two[1]), __vmaxu2(two[2], two[3]));
    const uint32_t most = max(most2 & 0xFFFFu, most2 >> 16);
    if (STYLE == WINDOW) {
        if (most < fast.direct) {
#pragma unroll
            for (int i = 0; i < 8; i++)
                add_one(index[i] * fast.scale + fast.begin);
            return 0;
        }
        const Layout layout = block->layout;
        const uint32_t lane = (threadIdx.x % 32 << 2) & ((1u << layout.shift) - 1);
        unsigned attention = 0;
#pragma unroll 1
        for (int i = 0; i < 8; i++) {
            const uint32_t w = i < 4 ? (i < 2 ? v.x : v.y) : (i < 6 ? v.z : v.w);
            attention |= count_one(block, layout, bins, lane, i % 2 ? w >> 16 : w & 0xFFFFu);
        }
        return attention;
    }
    if (!__any_sync(NONE, most >= fast.direct)) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            add_one(index[i] * 4 + fast.begin);
        return 0;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        if (!__any_sync(NONE, index[i] >= fast.direct))
            add_one(index[i] * 4 + fast.begin);
        else if (index[i] < fast.direct)
            add_one(index[i] * 4 + fast.begin);
        else
            add_any(index[i] * 4 + fast.upper, 65536u);
    }
    return 0;
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

static __device__ __forceinline__ void load_unit(const uint4 *at, uint4 (&v)[STEPS])
{
#pragma unroll
    for (int i = 0; i < STEPS; i++)
        v[i] = __ldcs(at + i * 32);
}

/* A plain unit that is not whole: its samples one by one. */
template <int SAMPLE>
static __device__ __noinline__ unsigned count_edge(Block16 *block, uint64_t *bins, uint64_t unit)
{
    Seen seen = see_nothing<SAMPLE>(block->narrow.image);
    const Layout layout = block->layout;
    const Place place = plain_place(block->narrow.image, unit);
    const uint32_t lane = (threadIdx.x % 32 << 2) & ((1u << layout.shift) - 1);
    unsigned attention = 0;
    for (unsigned i = threadIdx.x % 32; i < NARROW16_PIXELS; i += 32) {
        const unsigned char *at = place.address + 2 * i;
        if (at >= place.row && at < place.end) {
            const uint32_t raw = *(const uint16_t *)at;
            see<SAMPLE>(&seen, raw | raw << 16);
            attention |= count_one(block, layout, bins, lane, raw);
        }
    }
    return seen_beyond(seen, block->narrow) ? attention | BEYOND : attention;
}

template <int SAMPLE, int STYLE>
static __device__ __forceinline__ unsigned count_whole(Block16 *block, const Fast &fast,
                                                       uint64_t *bins, const uint4 (&v)[STEPS],
                                                       bool look, Seen *seen)
{
    unsigned attention = 0;
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        if (look)
            see_vector<SAMPLE>(seen, v[i]);
        attention |= count_vector<STYLE>(block, fast, bins, v[i]);
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

/* Counts samples, spread over the image, by their leading 8 bits. All blocks together look at some
 * 70,000 places: more would take longer than what they tell saves. */
static __device__ __forceinline__ void take_sample(Block16 *block, unsigned channel)
{
    const WorkImage &image = block->narrow.image;
    const uint64_t pixels = image.rows * image.row_pixels;
    if (threadIdx.x < BUCKETS)
        block->bucket[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        block->alike = 0;
    __syncthreads();
    if (threadIdx.x < SAMPLES) {
        /* Blocks look at different places: another fraction of the stride each. */
        const uint64_t stride = pixels / SAMPLES + 1;
        const uint64_t at = threadIdx.x * stride + stride * (blockIdx.x * 40503u % 65536u) / 65536u;
        if (at < pixels) {
            const uint64_t row = image.rows == 1 ? 0 : at / image.row_pixels;
            const uint64_t x = at - row * image.row_pixels;
            const uint16_t *samples = (const uint16_t *)(image.pixels + row * image.pitch);
            const unsigned bucket = samples[x * image.channels + channel] >> 8;
            const uint64_t beside = x > 0 ? x - 1 : x + 1 < image.row_pixels ? x + 1 : x;
            atomicAdd(&block->bucket[bucket], 1u);
            if (samples[beside * image.channels + channel] >> 8 == bucket)
                atomicAdd(&block->alike, 1u);
        }
    }
    __syncthreads();
}

/* Words of the table that two indices share, if there is a counter for all 65,536. */
static __device__ __forceinline__ uint32_t fold_of(uint32_t words)
{
    return words >= HALVES ? 0 : HALVES - words;
}

/* What one thread makes of the sample: a window if the image's values fit into few 32-bit counters,
 * else all 65,536, where the stretch that was met least shares words with what lies before it. */
static __device__ __forceinline__ Layout choose(const Block16 *block, uint32_t words)
{
    const uint32_t empty = block->gap >> 8, first = block->gap & 0xFF;
    /* The buckets met, one more on either side, and an eighth for what the sample missed. */
    uint32_t span = min(HALVES, (BUCKETS - empty + 2) * (HALVES / BUCKETS));
    span = min(HALVES, span + span / 8);
    Layout layout = {0, 2, words, words, 0, 0};
    if (2 * span <= words || 2 * fold_of(words) > HALVES) { /* else a window gains nothing */
        while (layout.shift < 7 && span << (layout.shift - 1) <= words)
            layout.shift++;
        layout.wide = layout.direct = words >> (layout.shift - 2);
        const uint32_t values = (BUCKETS - empty) * (HALVES / BUCKETS);
        const uint32_t spare = layout.direct > values ? layout.direct - values : 0;
        layout.base = (first * (HALVES / BUCKETS) - spare / 2) & 0xFFFFu;
        return layout;
    }
    const uint32_t fold = fold_of(words);
    layout.wide = words - fold;
    layout.fold = fold;
    /* No value is frequent, nor are a warp's values close to each other. */
    layout.uniform = block->most < SAMPLES / 32 && block->alike < SAMPLES / 32;
    layout.base = ((block->least & 0xFF) * (HALVES / BUCKETS) - words) & 0xFFFFu;
    return layout;
}

/* How many empty buckets follow a bucket, cyclically; occupied: a bit a bucket. */
static __device__ __forceinline__ unsigned gap_after(const unsigned (&occupied)[BUCKETS / 32],
                                                     unsigned bucket)
{
    for (unsigned i = 0; i <= BUCKETS / 32; i++) {
        const unsigned from = bucket + 1 + i * 32, shift = from % 32, word = from / 32;
        const unsigned low = occupied[word % (BUCKETS / 32)];
        const unsigned high = occupied[(word + 1) % (BUCKETS / 32)];
        const unsigned next = __funnelshift_r(low, high, shift);
        if (next)
            return i * 32 + (unsigned)__ffs((int)next) - 1;
    }
    return BUCKETS - 1;
}

/* full: without windows. All threads. */
static __device__ __noinline__ void choose_layout(Block16 *block, uint32_t words, unsigned channel,
                                                  bool full)
{
    const unsigned b = threadIdx.x;
    if (b == 0) {
        block->gap = block->most = block->missed = 0;
        block->least = NONE;
    }
    take_sample(block, channel);
    if (b < BUCKETS) {
        const unsigned there = __ballot_sync(NONE, block->bucket[b] != 0);
        if (b % 32 == 0)
            block->occupied[b / 32] = there;
    }
    __syncthreads(); /* occupied is complete */
    if (b < BUCKETS) {
        const unsigned stretch = fold_of(words) / (HALVES / BUCKETS);
        if (!full && block->bucket[b]) {
            const unsigned empty = gap_after(block->occupied, b);
            atomicMax(&block->gap, empty << 8 | (b + 1 + empty) % BUCKETS);
        }
        unsigned sum = 0;
#pragma unroll 8
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

static __device__ __forceinline__ void add_index(const Block16 *block, uint64_t *bins,
                                                 uint32_t index, uint64_t n)
{
    const uint32_t raw = (index + block->layout.base) & 0xFFFFu;
    bin_add(&bins[key_of(block->narrow.image, raw)], n);
}

/* Adds all counters to the bins and empties them. All threads; nothing is counted meanwhile. The
 * table's words are a multiple of 4,096, so warps are whole. Each block begins elsewhere: otherwise
 * all meet at the same bins. Sums fit 32 bits: see measure_narrow16. */
static __device__ __forceinline__ void flush_single(Block16 *block, uint64_t *bins)
{
    const Layout layout = block->layout;
    unsigned *words = (unsigned *)table;
    const uint32_t n = layout.direct, skew = blockIdx.x * 512 % n;
#pragma unroll 4
    for (uint32_t k = threadIdx.x; k < n; k += THREADS) {
        const uint32_t i = k + skew < n ? k + skew : k + skew - n;
        const unsigned word = words[i];
        const bool shared = i >= layout.wide;
        words[i] = 0;
        if (shared ? word & 0xFFFFu : word)
            add_index(block, bins, i, shared ? word & 0xFFFFu : word);
        if (shared && word >> 16)
            add_index(block, bins, i + layout.fold, word >> 16);
    }
}

/* Several columns: a thread takes four words at a time. */
static __device__ __forceinline__ void flush_columns(Block16 *block, uint64_t *bins)
{
    const Layout layout = block->layout;
    const uint32_t columns = 1u << (layout.shift - 2), n = layout.direct * columns / 4;
    uint4 *vectors = (uint4 *)table;
#pragma unroll 2
    for (uint32_t i = threadIdx.x; i < n; i += THREADS) {
        const uint4 v = vectors[i];
        vectors[i] = make_uint4(0, 0, 0, 0);
        if (columns == 2) {
            if (v.x + v.y)
                add_index(block, bins, 2 * i, v.x + v.y);
            if (v.z + v.w)
                add_index(block, bins, 2 * i + 1, v.z + v.w);
            continue;
        }
        unsigned sum = v.x + v.y + v.z + v.w;
        if (!__any_sync(NONE, sum != 0))
            continue;
        for (uint32_t h = columns / 8; h > 0; h /= 2)
            sum += __shfl_xor_sync(NONE, sum, h);
        if (4 * i % columns == 0 && sum)
            add_index(block, bins, 4 * i / columns, sum);
    }
}

static __device__ __forceinline__ void flush_table(Block16 *block, uint64_t *bins)
{
    if (block->layout.shift == 2)
        flush_single(block, bins);
    else
        flush_columns(block, bins);
}

/* Takes what four shared words hold out of the halves that hold much. Others may be counting. */
static __device__ __noinline__ void drain_words(Block16 *block, uint64_t *bins, uint32_t i)
{
    for (uint32_t end = i + 4; i < end; i++) {
        unsigned *word = (unsigned *)table + i;
        const unsigned now = *(volatile unsigned *)word, low = now & 0xFFFFu, high = now >> 16;
        unsigned taken = 0;
        if (low >= DRAIN) {
            add_index(block, bins, i, low);
            taken += low;
        }
        if (high >= DRAIN) {
            add_index(block, bins, i + block->layout.fold, high);
            taken += high << 16;
        }
        if (taken)
            atomicSub(word, taken);
    }
}

static __device__ __forceinline__ void drain(Block16 *block, uint64_t *bins)
{
    const uint32_t end = block->layout.direct;
    for (uint32_t i = block->layout.wide + 4 * threadIdx.x; i < end; i += 4 * THREADS) {
        const uint4 v = *(const uint4 *)((unsigned *)table + i);
        if ((v.x | v.y | v.z | v.w) & 0xC000C000u) /* a half of DRAIN or more */
            drain_words(block, bins, i);
    }
}

/* Finds the least and the largest valid key in the table. All threads; nothing is counted or
 * drained meanwhile. */
template <int SAMPLE> static __device__ __forceinline__ void check_extrema(Block16 *block)
{
    const Layout layout = block->layout;
    const WorkImage &image = block->narrow.image;
    const int first = SAMPLE == IMGSTAT_F16 ? 0x0400 : 0, last = 65535 - first;
    const int nodata = image.has_nodata ? (int)image.nodata_key : -1;
    const uint32_t columns = layout.shift - 2;
    const unsigned *words = (const unsigned *)table;
    int low = block->narrow.low[0], high = block->narrow.high[0];
#pragma unroll 2
    for (uint32_t i = threadIdx.x; i < layout.direct << columns; i += THREADS) {
        const uint32_t index = i >> columns;
        const unsigned word = words[i];
        const bool shared = index >= layout.wide;
        for (int part = 0; part < 1 + shared; part++) {
            const unsigned n = !shared ? word : part ? word >> 16 : word & 0xFFFFu;
            const uint32_t raw = (index + (part ? layout.fold : 0) + layout.base) & 0xFFFFu;
            const int key = (int)sample_key((ImgstatSample)SAMPLE, raw);
            if (n && key >= first && key <= last && key != nodata) {
                low = min(low, key);
                high = max(high, key);
            }
        }
    }
    for (unsigned h = 16; h > 0; h /= 2) {
        low = min(low, __shfl_xor_sync(NONE, low, h));
        high = max(high, __shfl_xor_sync(NONE, high, h));
    }
    if (threadIdx.x % 32 == 0) {
        atomicMin(&block->narrow.new_low[0], low);
        atomicMax(&block->narrow.new_high[0], high);
    }
}

/* ---- Positions ------------------------------------------------------------------------------- */

/* Samples that are looked for in one pass: one or both extrema. */
struct Wanted {
    uint32_t raw[2], other[2]; /* two patterns mean the same value: zeros of both signs */
    unsigned which[2];         /* 0 the minimum, 1 the maximum */
};

/* Looks through one plain unit. */
static __device__ __forceinline__ void find_plain(NarrowBlock *block, const Wanted &wanted,
                                                  uint64_t unit)
{
    const WorkImage &image = block->image;
    const Place place = plain_place(image, unit);
    const unsigned char *at = place.address + threadIdx.x % 32 * 16;
    const uint64_t row = place.number * image.row_pixels;
    uint4 v[STEPS];
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        const unsigned char *from = at + i * 512;
        v[i] = make_uint4(0, 0, 0, 0);
        if (from >= place.row && from + 16 <= place.end)
            v[i] = __ldcg((const uint4 *)from);
    }
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        const unsigned char *from = at + i * 512;
        const bool whole = from >= place.row && from + 16 <= place.end;
        const uint32_t word[4] = {v[i].x, v[i].y, v[i].z, v[i].w};
        unsigned hits = 0;
#pragma unroll
        for (int w = 0; w < 4; w++) {
#pragma unroll
            for (int e = 0; e < 2; e++)
                hits |= __vcmpeq2(word[w], wanted.raw[e] * 0x10001u) |
                        __vcmpeq2(word[w], wanted.other[e] * 0x10001u);
        }
        if (whole && !hits)
            continue;
        bool seen[2] = {false, false};
        for (int p = 0; p < 8; p++) {
            const unsigned char *sample = from + 2 * p;
            if (sample < place.row || sample >= place.end)
                continue;
            const uint32_t raw = *(const uint16_t *)sample;
            const unsigned long long flat = row + (uint64_t)(sample - place.row) / 2;
            for (int e = 0; e < 2; e++) {
                if (!seen[e] && (raw == wanted.raw[e] || raw == wanted.other[e])) {
                    seen[e] = true;
                    narrow_found(block, wanted.which[e], flat);
                }
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

template <bool PLAIN>
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
        const uint64_t begin = i ? block->high_step[0] : block->low_step[0];
        const uint64_t end = min(begin + image.units_per_item, image.units);
        for (uint64_t unit = begin + threadIdx.x / 32; unit < end; unit += WARPS) {
            const uint64_t at = unit_first_at(image, unit, NARROW16_PIXELS, PLAIN ? 8 : 0);
            if (narrow_settled(block, wanted.which[0], at - image.first_at) &&
                narrow_settled(block, wanted.which[1], at - image.first_at))
                break; /* units ascend */
            if (PLAIN)
                find_plain(block, wanted, unit);
            else
                find_general(block, wanted, unit, channel);
        }
    }
    __syncthreads();
}

template <bool PLAIN>
static __device__ __noinline__ void flush(const Work &work, Block16 *block, bool image_done)
{
    __syncthreads(); /* nobody drains any more */
    flush_table(block, block->narrow.image.bins + (uint64_t)work.channel0 * HALVES);
    __syncthreads(); /* the table is empty */
    if (!image_done)
        return;
    NarrowState *state = (NarrowState *)work.state + block->narrow.number;
    narrow_ask(&block->narrow, state, 1, NARROW16_PIXELS, PLAIN ? 8 : 0);
    if (block->narrow.needs)
        find_extrema<PLAIN>(&block->narrow, work.channel0);
    narrow_finish(work, &block->narrow, state, 1);
}

/* After an item that asked for more than draining. All threads. */
template <int SAMPLE, bool PLAIN>
static __device__ __noinline__ void attend(const Work &work, Block16 *block)
{
    check_extrema<SAMPLE>(block);
    const bool widen = block->missed > NARROW16_PIXELS && !block->layout.fold &&
                       2 * fold_of(work.words) <= HALVES && fold_of(work.words) > 0;
    __syncthreads(); /* new extrema are complete; missed is read */
    narrow_improve(&block->narrow, 1);
    if (widen) { /* the sample misled: give every value a counter */
        flush<PLAIN>(work, block, false);
        choose_layout(block, work.words, work.channel0, true);
    }
    __syncthreads();
}

/* ---- An item --------------------------------------------------------------------------------- */

/* Ends a step: shared words may be drained only when nobody is a whole step behind. All threads. */
static __device__ __forceinline__ void end_step(Block16 *block, uint64_t *bins)
{
    __syncthreads(); /* the table holds the step */
    if (block->layout.fold)
        drain(block, bins);
}

/* Whether samples must be looked at for extrema: not once every valid key has been within them. */
static __device__ __forceinline__ bool worth_looking(const Seen &seen, const NarrowBlock &block)
{
    return block.low[0] != (int)(seen.first & 0xFFFFu) ||
           block.high[0] != (int)(seen.last & 0xFFFFu);
}

/* All units of the item are whole: the next is on its way while one is counted. at: this lane's
 * first vector. */
template <int SAMPLE, int STYLE>
static __device__ __noinline__ unsigned count_inside(Block16 *block, uint64_t *bins,
                                                     const uint4 *at, uint32_t units)
{
    enum { STRIDE = WARPS * STEPS * 32 }; /* vectors of a step */
    const Fast fast = fast_layout(block->layout);
    Seen seen = see_nothing<SAMPLE>(block->narrow.image);
    const bool look = worth_looking(seen, block->narrow);
    unsigned attention = 0;
    uint4 now[STEPS], then[STEPS];
    load_unit(at, now);
#pragma unroll 1
    for (; units > 0; units--) {
        at += units > 1 ? STRIDE : 0; /* the last unit is loaded twice: cheaper than a condition */
        load_unit(at, then);
        attention |= count_whole<SAMPLE, STYLE>(block, fast, bins, now, look, &seen);
        if (STYLE != WINDOW)
            end_step(block, bins);
#pragma unroll
        for (int i = 0; i < STEPS; i++)
            now[i] = then[i];
    }
    return look && seen_beyond(seen, block->narrow) ? attention | BEYOND : attention;
}

/* Units that may not be whole, or are not plain. */
template <int SAMPLE, bool PLAIN>
static __device__ __noinline__ unsigned count_around(Block16 *block, uint64_t *bins, uint64_t begin,
                                                     uint64_t end, unsigned channel)
{
    const WorkImage &image = block->narrow.image;
    const Layout layout = block->layout;
    Seen seen = see_nothing<SAMPLE>(image);
    unsigned attention = 0, masked = 0;
    for (; begin < end; begin += WARPS) {
        const uint64_t unit = begin + threadIdx.x / 32;
        unsigned asked = 0;
        if (unit < end && !PLAIN) {
            asked = count_general<SAMPLE>(block, layout, bins, unit, channel, &seen, &masked);
        } else if (unit < end) {
            const Place place = plain_place(image, unit);
            if (place.address >= place.row && place.address + NARROW16_UNIT <= place.end) {
                const Fast fast = fast_layout(layout);
                uint4 v[STEPS];
                load_unit((const uint4 *)place.address + threadIdx.x % 32, v);
                if (layout.fold)
                    asked = count_whole<SAMPLE, MIXED>(block, fast, bins, v, true, &seen);
                else
                    asked = count_whole<SAMPLE, WINDOW>(block, fast, bins, v, true, &seen);
            } else {
                asked = count_edge<SAMPLE>(block, bins, unit);
            }
        }
        end_step(block, bins);
        attention |= asked;
    }
    if (!PLAIN && masked)
        atomicAdd(&block->narrow.masked, (unsigned long long)masked);
    return seen_beyond(seen, block->narrow) ? attention | BEYOND : attention;
}

/* Counts units [begin, end), whole steps but perhaps the last. All threads. */
template <int SAMPLE, bool PLAIN>
static __device__ __forceinline__ unsigned
count_item(Block16 *block, uint64_t *bins, uint64_t begin, uint64_t end, unsigned channel)
{
    if (PLAIN) {
        const Place place = plain_place(block->narrow.image, begin);
        const uint64_t bytes = (end - begin) * NARROW16_UNIT;
        if ((end - begin) % WARPS == 0 && place.address >= place.row &&
            place.address + bytes <= place.end) {
            const uint4 *at =
                (const uint4 *)place.address + threadIdx.x / 32 * (STEPS * 32) + threadIdx.x % 32;
            const uint32_t units = (uint32_t)(end - begin) / WARPS;
            if (block->layout.uniform)
                return count_inside<SAMPLE, UNIFORM>(block, bins, at, units);
            if (block->layout.fold)
                return count_inside<SAMPLE, MIXED>(block, bins, at, units);
            return count_inside<SAMPLE, WINDOW>(block, bins, at, units);
        }
    }
    return count_around<SAMPLE, PLAIN>(block, bins, begin, end, channel);
}

/*
 * measure_narrow16: the record of one channel of 16-bit samples.
 *
 *   Idea      65,536 counters of 32 bits are more than an SM holds, and which counters are hot
 *             decides the speed, so each block looks at 512 samples first. If their values span
 *             little, it keeps 32-bit counters for a window around them, in as many columns as fit
 *             (lanes of different columns never collide). Else all 65,536 have counters: the 8,192
 *             or so that are met least share words with as many others, 16 bits each, and the rest
 *             has 32 bits. Increments of exactly 1 merge within a warp, so frequent values cost
 *             nothing; shared words are looked through after each step, before a half can
 *             overflow. Values that have no counter go to the record in global memory; a block that
 *             meets many changes its layout. None of this can change the result, only the time.
 *   Work      about 6 instructions a sample.
 *   Memory    reads 2 n bytes once (a channel of several: all of them), and less than one step a
 *             block and extremum again; adds up to 65,536 bins a block and image. The next unit of
 * a warp is on its way while one is counted. Launch    one persistent block of 1,024 an SM; items
 * of whole steps from a queue, in order. Requires  PLAIN: one channel, no mask. work.words: 32-bit
 * words in the table, a multiple of 4,096. Samples aligned. Queue and states zero. Result    bins,
 * n, masked, extrema added to the record; queue and states zero again. Integers: every order of
 * blocks gives the same.
 */
template <int SAMPLE, bool PLAIN>
static __global__ void __launch_bounds__(THREADS, 1)
    measure_narrow16(const __grid_constant__ Work work)
{
    __shared__ Block16 block;
    NarrowBlock &narrow = block.narrow;
    for (unsigned i = threadIdx.x; i < work.words / 4; i += THREADS)
        ((uint4 *)table)[i] = make_uint4(0, 0, 0, 0);
    narrow_begin(work, &narrow);

    uint32_t item = narrow.next[0];
    uint32_t number = NONE; /* of the image in the table */
    for (unsigned turn = 1; item < work.n_items; turn ^= 1) {
        const uint32_t wanted = work_image_of(work, item);
        /* 2^31 samples a flush at most: 32-bit counters hold them. */
        if (wanted != number || narrow.full[turn ^ 1]) {
            if (number != NONE)
                flush<PLAIN>(work, &block, true);
            narrow_adopt(work, &narrow, wanted);
            choose_layout(&block, work.words, work.channel0, false);
            number = wanted;
        }
        uint64_t begin, end;
        item_units(narrow.image, item, &begin, &end);
        unsigned next = 0; /* on its way while the item is counted */
        if (threadIdx.x == 0) {
            next = atomicAdd(&work.shared->queue.next, 1u);
            narrow.items++;
            narrow.samples += (end - begin) * NARROW16_PIXELS;
            narrow.step = begin;
        }
        uint64_t *bins = narrow.image.bins + (uint64_t)work.channel0 * HALVES;
        const unsigned attention =
            count_item<SAMPLE, PLAIN>(&block, bins, begin, end, work.channel0);
        if (threadIdx.x == 0) {
            narrow.next[turn] = next;
            narrow.full[turn] = narrow.samples > 1ull << 31;
        }
        if (__syncthreads_or((int)(attention & (BEYOND | MISSED)))) /* the item is counted */
            attend<SAMPLE, PLAIN>(work, &block);
        item = narrow.next[turn];
    }
    if (number != NONE)
        flush<PLAIN>(work, &block, true);
    if (threadIdx.x == 0)
        queue_leave(work);
}

template <int SAMPLE, bool PLAIN>
static ImgstatResult launch_sample(const Launch *launch, ImgstatError *err)
{
    enum { RESERVE = 1024 + sizeof(Block16) }; /* and what the driver keeps a block */
    enum { ROUND = 4096 };                     /* whole buckets, warps and vectors */
    CudaDevice *device = launch->device;
    Work work = launch->work;
    work.words = (unsigned)(device->max_shared - RESERVE) / 4 / ROUND * ROUND;
    const auto kernel = measure_narrow16<SAMPLE, PLAIN>;
    const int bytes = (int)work.words * 4;
    IMGSTAT_TRY(cuda_allow_shared(device, (const void *)kernel, bytes, err));
    const uint64_t most = (uint64_t)device->properties.multiProcessorCount;
    const unsigned grid = (unsigned)(work.n_items < most ? work.n_items : most);
    kernel<<<grid, THREADS, (size_t)bytes, launch->stream>>>(work);
    return cuda_launched(device, launch->stream, "measure_narrow16", err);
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
