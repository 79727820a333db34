/* SPDX-License-Identifier: MIT */
/* histogram16/report.cuh: emptying a block's table into the bins, and finding where its extrema
 * are.
 */
#ifndef IMGSTAT_KERNELS_HISTOGRAM16_REPORT_CUH
#define IMGSTAT_KERNELS_HISTOGRAM16_REPORT_CUH

#include "common/tuning.cuh"
#include "histogram16/count.cuh"

/* ---- Emptying the table ---------------------------------------------------------------------- */

/* Adds all counters to the bins and empties them. All threads; nothing is counted meanwhile. The
 * table's words are a multiple of 4,096, so warps are whole. Each block begins elsewhere: otherwise
 * all meet at the same bins. Sums fit 32 bits: see measure_narrow16. */
DEVICE void flush_single(Block16 *block, uint64_t *bins, uint32_t n)
{
    enum { TOGETHER = 4 }; /* of the 4,096 / THREADS that a thread has at least */
    const Layout layout = block->layout;
    const ImgstatSample sample = block->image.sample;
    unsigned *words = (unsigned *)table;
    const uint32_t skew = blockIdx.x * 512 % n;
#pragma unroll 1
    for (uint32_t k = threadIdx.x; k < n; k += TOGETHER * THREADS) {
        uint32_t at[TOGETHER], word[TOGETHER];
#pragma unroll
        for (uint32_t j = 0; j < TOGETHER; j++) {
            const uint32_t i = k + j * THREADS + skew;
            at[j] = i < n ? i : i - n;
            word[j] = words[at[j]];
        }
#pragma unroll
        for (uint32_t j = 0; j < TOGETHER; j++) {
            if (!word[j])
                continue;
            const bool shared = at[j] >= layout.wide;
            const unsigned lower = shared ? word[j] & HALF_MASK : word[j];
            const uint32_t index = at[j];
            words[at[j]] = 0;
            if (lower && index < layout.direct)
                bin_add(&bins[sample_key(sample, (index + layout.base) & 0xFFFFu)], lower);
            if (layout.fold && shared && word[j] >> HALF_BITS)
                bin_add(&bins[sample_key(sample, (at[j] + layout.fold + layout.base) & 0xFFFFu)],
                        word[j] >> HALF_BITS);
        }
    }
}

/* The counters of an index that has several, lanes at neighbouring indices. Each begins with
 * another, so that none meet in a bank. */
DEVICE uint32_t sum_columns(const Layout &layout, uint32_t index)
{
    const uint32_t columns = 1u << (layout.shift - 2), own = threadIdx.x % 32 * columns / 32;
    const unsigned *words = (const unsigned *)table + index * columns;
    uint32_t sum = 0;
    for (uint32_t c = 0; c < columns; c++)
        sum += words[(c + own) & (columns - 1)];
    return sum;
}

/* Several columns. */
DEVICE void flush_columns(Block16 *block, uint64_t *bins, uint32_t words)
{
    const Layout layout = block->layout;
    const uint32_t n = layout.direct + 1, skew = blockIdx.x * 96 % n; /* whole warps */
#pragma unroll 2
    for (uint32_t k = threadIdx.x; k < n; k += THREADS) {
        const uint32_t i = k + skew < n ? k + skew : k + skew - n;
        const uint32_t sum = sum_columns(layout, i);
        if (sum && i < layout.direct)
            add_index(block, bins, i, sum);
    }
    __syncthreads(); /* the counters have been read */
    for (uint32_t i = threadIdx.x; i < words / 4; i += THREADS)
        ((uint4 *)table)[i] = make_uint4(0, 0, 0, 0);
}

/* Where the blocks of a lone image add up their counters of all 65,536 values, four to a word:
 * a quarter of what the bins take, and so of the time. All zero between launches. */
struct Pack {
    unsigned used;                       /* there is something in it */
    unsigned ready;                      /* every block has added its counters */
    unsigned slice, reserved;            /* the next to be moved to the bins */
    unsigned long long four[HALVES / 4]; /* by the samples' bits: see packed_value */
};

/* A word has four values 32 apart, so that a warp's lanes read consecutive counters. */
enum { PACK_GROUP = 4 * 32 };

/* The value whose sum is the place-th of 16 bits. */
DEVICE uint32_t packed_value(uint32_t place)
{
    return place / PACK_GROUP * PACK_GROUP | place % 4 * 32 | place / 4 % 32;
}

/* The counter of an index. */
DEVICE uint32_t counter_of(const Layout &layout, uint32_t index)
{
    if (layout.shift > 2)
        return sum_columns(layout, index);
    const unsigned *words = (const unsigned *)table;
    if (layout.fold && index >= layout.direct)
        return words[index - layout.fold] >> HALF_BITS;
    const uint32_t word = words[index];
    return index < layout.wide ? word : word & HALF_MASK;
}

/* Adds all counters to the pack; once a launch, at its end: the table is left as it is. All
 * threads. */
static __device__ __noinline__ void flush_packed(Block16 *block, Pack *pack, uint64_t *bins)
{
    const Layout layout = block->layout;
    const uint32_t counters = layout.fold ? HALVES : layout.direct;
    const uint32_t before = layout.base % PACK_GROUP, lane = threadIdx.x % 32;
    const uint32_t n = min((before + counters + PACK_GROUP - 1) / PACK_GROUP, HALVES / PACK_GROUP);
    const uint32_t skew = blockIdx.x * (HALVES / PACK_GROUP / 128) % n; /* blocks begin elsewhere */
    const uint32_t most = 65535u / gridDim.x; /* that fit 16 bits whatever other blocks add */
#pragma unroll 1
    for (uint32_t k = threadIdx.x / 32; k < n; k += WARPS) {
        const uint32_t group = k + skew < n ? k + skew : k + skew - n;
        const uint32_t first = (layout.base - before + group * PACK_GROUP) & 0xFFFFu;
        unsigned long long four = 0;
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            const uint32_t raw = first + 32 * i + lane, index = (raw - layout.base) & 0xFFFFu;
            uint32_t count = index < counters ? counter_of(layout, index) : 0;
            if (count > most) {
                bin_add(&bins[key_of(block->image, raw)], count);
                count = 0;
            }
            four |= (unsigned long long)count << 16 * i;
        }
        if (four)
            atomicAdd(&pack->four[first / 4 + lane], four);
    }
    if (threadIdx.x == 0)
        pack->used = 1;
}

/* Sums are moved to the bins in slices, by as many blocks, the last to report: one takes 25 us. The
 * others end, so that blocks of the next launch can begin. */
enum { SLICES = HISTOGRAM16_SLICES, SLICE = HALVES / SLICES };

/* Waits until every block has added its counters, but not long: blocks that have not begun may wait
 * for this one to end. The last block never waits, and moves what is left. One thread. */
DEVICE bool pack_ready(Pack *pack, bool last)
{
    volatile unsigned *ready = &pack->ready;
    if (last) {
        __threadfence();
        *ready = 1;
    }
    for (int i = 0; i < HISTOGRAM16_POLLS && !*ready; i++)
        __nanosleep(200);
    __threadfence();
    return *ready;
}

DEVICE void unpack_slice(const WorkImage &image, Pack *pack, uint64_t *bins, unsigned slice)
{
    unsigned short *sums = (unsigned short *)pack->four + slice * SLICE;
    unsigned short n[SLICE / THREADS];
#pragma unroll
    for (int i = 0; i < SLICE / THREADS; i++)
        n[i] = __ldcg(&sums[threadIdx.x + i * THREADS]);
#pragma unroll
    for (int i = 0; i < SLICE / THREADS; i++) {
        const uint32_t place = slice * SLICE + threadIdx.x + i * THREADS;
        ((unsigned short *)pack->four)[place] = 0;
        if (n[i])
            bin_add(&bins[key_of(image, packed_value(place))], n[i]);
    }
}

/* Moves the sums to the bins. All threads. */
static __device__ __noinline__ void unpack(Block16 *block, Pack *pack, uint64_t *bins)
{
    if (threadIdx.x == 0)
        block->ready = pack_ready(pack, block->last) && *(volatile unsigned *)&pack->used;
    __syncthreads(); /* ready is known */
    while (block->ready) {
        if (threadIdx.x == 0)
            block->slice = atomicAdd(&pack->slice, 1u);
        __syncthreads(); /* the slice is known */
        const unsigned slice = block->slice;
        if (slice >= SLICES)
            return;
        unpack_slice(block->image, pack, bins, slice);
        __syncthreads(); /* all know the slice */
    }
}

/* Whether a block's counters fit the pack, as a rule, and are not so few that to add them to the
 * bins is quicker than to move the sums there. */
DEVICE bool worth_packing(const Block16 *block, const Work &work)
{
    const uint64_t blocks = gridDim.x / parts_of(work);
    const uint64_t samples = block->image.row_pixels / blocks;
    return samples > HISTOGRAM16_PACK_SAMPLES &&
           (block->layout.fold || samples / block->layout.direct <= 32768 / blocks);
}

DEVICE void flush_table(Block16 *block, uint64_t *bins, uint32_t words)
{
    if (block->layout.shift == 2)
        flush_single(block, bins, words);
    else
        flush_columns(block, bins, words);
}

/* ---- Positions ------------------------------------------------------------------------------- */

/* Raster index that no pixel of the tile, nor of those behind it, lies before. tile_pixels: what a
 * tile covers, slack: pixels by which it may begin early. */
DEVICE uint64_t tile_first_at(const WorkImage &image, uint64_t tile, uint64_t tile_pixels,
                              uint64_t slack)
{
    uint64_t row, place;
    tile_place(image, tile, &row, &place);
    const uint64_t x = place * tile_pixels;
    return image.first_at + row * image.row_pixels + (x > slack ? x - slack : 0);
}

/* Finds out which extrema the block must look for: those with which it leads. */
DEVICE void choose_searches(Block16 *block, NarrowState *state, uint64_t tile_pixels,
                            uint64_t slack)
{
    const unsigned i = threadIdx.x;
    if (i == 0) {
        block->needs = 0;
        block->sole = block->items == block->image.items;
    }
    __syncthreads(); /* sole is known */
    if (i < 2) {
        block->found[i] = NONE;
        if (block->key[0] <= block->key[1]) {
            const uint64_t at = tile_first_at(block->image, block->tile[i], tile_pixels, slack);
            const unsigned long long lead = extremum_word(block->key[i], at, i);
            block->from[i] = at - block->image.first_at;
            if (block->sole || atomicMax(&state->lead[i], lead) < lead)
                atomicOr(&block->needs, 1u << i);
        }
    }
    __syncthreads(); /* needs is known */
}

/* The pixel `at` of the image holds extremum i. */
DEVICE void note_found(Block16 *block, unsigned i, uint64_t at)
{
    const unsigned place = (unsigned)(at - block->from[i]);
    if (place < *(volatile unsigned *)&block->found[i])
        atomicMin(&block->found[i], place);
}

/* A sample that is looked for. */
struct Wanted {
    uint32_t raw, other; /* two patterns mean the same value: zeros of both signs */
    unsigned which;      /* 0 the minimum, 1 the maximum */
};

/* Loads what lies within its row of a lane's vectors of a plain tile; others are zero. */
DEVICE void load_within(const TilePlace16 &place, uint4 (&v)[STEPS])
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
DEVICE bool may_hold(const uint4 (&v)[STEPS], uint32_t raw)
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

/* Searches a plain tile whose vectors have been loaded; at edges sample by sample. */
template <int CHANNELS>
DEVICE void find_plain(Block16 *block, const Wanted &wanted, const TilePlace16 &place,
                       const uint4 (&v)[STEPS], unsigned channel)
{
    const uint64_t first = place.number * block->image.row_pixels;
    const bool edge = place.address < place.row || place.address + NARROW16_TILE > place.end;
    bool hit = edge || may_hold(v, wanted.raw);
    if (wanted.other != wanted.raw)
        hit = hit || may_hold(v, wanted.other);
    if (!hit)
        return;
    const unsigned char *at = place.address + threadIdx.x % 32 * 16;
    for (int p = 0; p < 8 * STEPS; p++) {
        const unsigned char *sample = at + p / 8 * 512 + p % 8 * 2;
        if (sample < place.row || sample >= place.end)
            continue;
        const uint64_t x = (uint64_t)(sample - place.row) / 2;
        if (CHANNELS > 1 && x % CHANNELS != channel)
            continue;
        const uint32_t raw = *(const uint16_t *)sample;
        if (raw == wanted.raw || raw == wanted.other) {
            note_found(block, wanted.which, first + x / CHANNELS);
            return;
        }
    }
}

DEVICE void find_general(Block16 *block, const Wanted &wanted, uint64_t tile, unsigned channel)
{
    const WorkImage &image = block->image;
    uint64_t row, place;
    tile_place(image, tile, &row, &place);
    const uint64_t end = min((place + 1) * NARROW16_PIXELS, image.row_pixels);
    const uint16_t *samples = (const uint16_t *)(image.pixels + row * image.pitch) + channel;
    for (uint64_t x = place * NARROW16_PIXELS + threadIdx.x % 32; x < end; x += 32) {
        if (image.mask && !image.mask[row * image.mask_pitch + x])
            continue;
        const uint32_t raw = samples[x * image.channels];
        if (raw == wanted.raw || raw == wanted.other)
            note_found(block, wanted.which, row * image.row_pixels + x);
    }
}

/* Pixels of a tile, and by how many it may begin before its place in the row. */
template <int CHANNELS> struct TileShape {
    static const unsigned PIXELS = CHANNELS ? NARROW16_PIXELS / CHANNELS : NARROW16_PIXELS;
    static const unsigned SLACK = CHANNELS ? 8 : 0;
};

/* Looks through the two tiles that brought a block's extrema, a warp each: the others empty the
 * table meanwhile. */
template <int CHANNELS> DEVICE void find_extrema(Block16 *block, unsigned channel)
{
    const unsigned which = threadIdx.x / 32;
    if (which >= 2 || !(block->needs >> which & 1))
        return;
    Wanted wanted;
    wanted.which = which;
    wanted.raw = (uint32_t)sample_raw(block->image.sample, (uint32_t)block->key[which]);
    wanted.other = block->image.sample == IMGSTAT_F16 && wanted.raw == 0 ? 0x8000 : wanted.raw;
    if constexpr (CHANNELS == 0) {
        find_general(block, wanted, block->tile[which], channel);
    } else {
        const TilePlace16 place = plain_place(block->image, block->tile[which]);
        uint4 v[STEPS];
        load_within(place, v);
        find_plain<CHANNELS>(block, wanted, place, v, channel);
    }
}

/* The block's extrema are those of its warps. Two warps, one an extremum. */
DEVICE void merge_seen(Block16 *block)
{
    const unsigned which = threadIdx.x / 32;
    if (which >= 2)
        return;
    const unsigned long long best = warp_max(block->seen[which][threadIdx.x % 32]);
    if (threadIdx.x % 32 > 0 || !best) /* nothing valid so far */
        return;
    block->key[which] = (int)extremum_key(best, which);
    block->tile[which] = extremum_at(best);
}

/* Reports the block's extrema and items, and merges the image into its record if no other block is
 * still at it. */
DEVICE void report_image(const Work &work, Block16 *block, NarrowState *state, unsigned channel)
{
    const unsigned i = threadIdx.x;
    const WorkImage &image = block->image;
    if (i < 2) {
        unsigned long long position = 0;
        if (block->needs >> i & 1)
            position =
                extremum_word(block->key[i], image.first_at + block->from[i] + block->found[i], i);
        if (position && !block->sole)
            atomicMax(&state->found[i], position);
        block->position[i] = position;
    }
    __syncthreads(); /* extrema are reported before the items are */
    if (i == 0) {
        block->left = 0;
        if (!block->sole) {
            if (block->masked)
                atomicAdd(&state->masked, block->masked);
            __threadfence();
            block->left = image.items - atomicAdd(&state->items_done, block->items) - block->items;
            __threadfence();
        }
        block->last = block->left == 0;
    }
    __syncthreads(); /* last is known */
    if (block->last && i == 0) {
        unsigned long long masked = block->masked, low = block->position[0],
                           high = block->position[1];
        if (!block->sole) {
            masked = __ldcg(&state->masked);
            low = __ldcg(&state->found[0]);
            high = __ldcg(&state->found[1]);
        }
        unsigned *lock = record_lock(work, image.tally);
        if (work.images) /* the only image of a launch has its record to itself */
            lock_acquire(lock);
        narrow_merge(image.tally + channel, image.rows * image.row_pixels - masked, masked, low,
                     high);
        if (work.images)
            lock_release(lock);
        if (!block->sole) {
            state->lead[0] = state->lead[1] = 0;
            state->found[0] = state->found[1] = 0;
            state->masked = 0;
            state->items_done = 0;
        }
    }
    __syncthreads(); /* the record is merged */
}

/* Empties the table; if the block has done its part of the image, reports the image. All
 * threads. */
template <int CHANNELS>
static __device__ __noinline__ void flush(const Work &work, Block16 *block, unsigned channel,
                                          bool image_done)
{
    const unsigned of_launch = channel - work.channel0;
    uint64_t *bins = block->image.bins + (uint64_t)channel * HALVES;
    NarrowState *states = (NarrowState *)work.state;
    Pack *pack = !block->is_static ? NULL : (Pack *)(states + work.group) + of_launch;
    __syncthreads(); /* the table is complete */
    merge_seen(block);
    __syncthreads(); /* the block knows its extrema */
    NarrowState *state = states + (uint64_t)block->number * work.group + of_launch;
    if (image_done) {
        choose_searches(block, state, TileShape<CHANNELS>::PIXELS, TileShape<CHANNELS>::SLACK);
        find_extrema<CHANNELS>(block, channel);
    }
    if (pack && image_done && !block->sole && worth_packing(block, work))
        flush_packed(block, pack, bins);
    else
        flush_table(block, bins, work.words);
    __syncthreads(); /* the table is empty, what was found final */
    if (!image_done)
        return;
    report_image(work, block, state, channel);
    if (pack && !block->sole &&
        (block->last || (block->left < SLICES && worth_packing(block, work))))
        unpack(block, pack, bins);
    __syncthreads(); /* the block may go on */
}

size_t narrow16_pack_bytes(void)
{
    return sizeof(Pack);
}

#endif
