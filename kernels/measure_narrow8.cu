/* SPDX-License-Identifier: MIT */
/* measure_narrow8.cu: records of 8-bit samples in one read: exact bins, and where the extrema are.
 */
#include "narrow.cuh"

#include <stddef.h>

/* Two blocks an SM hide each other's barriers, and threads have 64 registers: all loads of a unit
 * are on their way at once. */
enum { THREADS = 512, WARPS = THREADS / 32, BLOCKS = 2 };
/* A lane's vectors in a unit (three channels: a multiple of three, so that the channel of a byte in
 * a vector is known at compile time), its bytes, and the warps that look for an extremum in it. */
template <int C> struct Shape {
    enum { STEPS = C == 3 ? 9 : 8, UNIT = STEPS * 512, PARTS = C <= 2 ? 4 : 2 };
};
static_assert((int)Shape<1>::UNIT == (int)NARROW8_UNIT && (int)Shape<3>::UNIT == (int)NARROW8_UNIT3,
              "the host cuts images");

enum { TABLE_BINS = 256 };

/* Samples of a table that is not emptied: a column gets at most an 8th of them, so 32-bit counters
 * do not overflow. Units of an image that all blocks together, or one, count without emptying it.
 */
static const uint64_t TABLE_SAMPLES = 1ull << 34;
static const uint64_t TABLE_UNITS = TABLE_SAMPLES / NARROW8_UNIT3;

/* Counters: those of sample v at bytes [v << SHIFT, v + 1 << SHIFT). */
extern __shared__ __align__(128) unsigned char table[];

/* What a block knows of an image. */
template <int C> struct Held8 {
    WorkImage image;
    uint64_t samples; /* a channel, in the table; only thread 0 looks */
    uint32_t number;  /* of the image */
    uint32_t items;   /* of the image, done by this block since the last report */
    unsigned long long masked;
    unsigned long long best[2 * C]; /* extrema and the first units that hold them; 0: none */
};

template <int C> struct Block8 {
    Held8<C>
        held[2]; /* by turns: that in the table, and the one before, which is merged meanwhile */
    uint32_t next[2]; /* items, by turns, and whether the table is to be emptied before */
    bool full[2];
    bool sole, last; /* all the items of the image were this block's; it is the last to report */
    unsigned long long offer[2 * C];   /* extrema and their positions */
    int low[WARPS][C], high[WARPS][C]; /* of the units of each warp */
    unsigned cursor[2];                /* units of an item that warps have taken, by turns */
    uint64_t sum[C * TABLE_BINS];      /* of the columns of each bin, in a report */
};

/* ---- Counting -------------------------------------------------------------------------------- */

static __device__ __forceinline__ void count(uint32_t offset)
{
    atomicAdd((unsigned *)(table + offset), 1u);
}

/* Where among the counters of a sample a lane has its own, so that in no instruction of a warp two
 * lanes meet in a bank. One or two channels: a column a lane. More: lanes l and l + 16 share, and
 * are always at different channels: of four, at ones of different parity (count_word); of three, at
 * c and c + 1, so the last channel has columns for both, swapped. Half as many if SHIFT is 7. */
template <int C, int SHIFT>
static __device__ __forceinline__ uint32_t column_of(unsigned channel, unsigned lane)
{
    if (C == 1)
        return lane * 4;
    uint32_t at = channel * 64 + lane % 16 * 4;
    if (C == 2)
        at = channel * 128 + lane * 4;
    if (C == 3 && channel == 2)
        at = 128 + (lane ^ 16) * 4;
    return SHIFT == 8 ? at : at / 2 & ~3u;
}

template <int C> struct Columns {
    uint32_t of[C]; /* of byte p of a vector: number (p + ROTATE) % C */
    uint32_t swap;  /* four channels: half the lanes count neighbouring bytes the other way round */
};

template <int C, int SHIFT> static __device__ __forceinline__ Columns<C> columns_of(unsigned phase)
{
    const unsigned lane = threadIdx.x % 32, other = C == 4 ? lane / 16 : 0;
    Columns<C> columns;
#pragma unroll
    for (unsigned j = 0; j < C; j++)
        columns.of[j] = column_of<C, SHIFT>((phase + (j ^ other)) % C, lane);
    columns.swap = other ? 0x2301 : 0x3210;
    return columns;
}

/* Counts 4 bytes. */
template <int C, int SHIFT, int ROTATE>
static __device__ __forceinline__ void count_word(uint32_t word, const Columns<C> &columns)
{
    if (C == 4)
        word = __byte_perm(word, 0, columns.swap);
#pragma unroll
    for (int p = 0; p < 4; p++) {
        const uint32_t column = columns.of[(p + ROTATE) % C];
        if (SHIFT == 8) /* one instruction: the byte into the second of the column's */
            count(__byte_perm(word, column, 0x7604 | p << 4));
        else
            count((word >> 8 * p & 0xFF) << SHIFT | column);
    }
}

/* ---- Extrema --------------------------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t min_halves(uint32_t a, uint32_t b)
{
#if __CUDA_ARCH__ >= 900
    uint32_t min;
    asm("min.u16x2 %0, %1, %2;" : "=r"(min) : "r"(a), "r"(b));
    return min;
#else
    return __vminu2(a, b);
#endif
}

static __device__ __forceinline__ uint32_t max_halves(uint32_t a, uint32_t b)
{
#if __CUDA_ARCH__ >= 900
    uint32_t max;
    asm("max.u16x2 %0, %1, %2;" : "=r"(max) : "r"(a), "r"(b));
    return max;
#else
    return __vmaxu2(a, b);
#endif
}

/* Extrema of what a lane counts of a unit: of pairs of bytes, in the upper bytes of halves of
 * words. Channels are counted from that of the lane's first byte. Three channels: the halves are of
 * channels (1, 0), (0, 2) and (2, 1); two, four: of even bytes, of odd ones. */
template <int C> struct Extent {
    enum { WORDS = C == 1 ? 1 : C == 3 ? 3 : 2 };
    uint32_t least[WORDS], most[WORDS];
};

template <int C> static __device__ __forceinline__ Extent<C> extent_none()
{
    Extent<C> extent;
#pragma unroll
    for (int i = 0; i < Extent<C>::WORDS; i++) {
        extent.least[i] = 0xFFFFFFFF;
        extent.most[i] = 0;
    }
    return extent;
}

/* Takes in a word whose first byte is of channel ROTATE. low, high: the word, but for bytes that
 * are no sample, which are 0xFF and 0. */
template <int C, int ROTATE>
static __device__ __forceinline__ void extend(Extent<C> *extent, uint32_t low, uint32_t high)
{
    constexpr int odd = C == 1 ? 0 : C == 3 ? (3 - ROTATE % 3) % 3 : 1;
    constexpr int even = C == 3 ? (4 - ROTATE % 3) % 3 : 0;
    extent->least[odd] = min_halves(extent->least[odd], low);
    extent->least[even] = min_halves(extent->least[even], low << 8);
    extent->most[odd] = max_halves(extent->most[odd], high);
    extent->most[even] = max_halves(extent->most[even], high << 8);
}

static __device__ __forceinline__ int upper(uint32_t word, int half)
{
    return (int)(half ? word >> 24 : word >> 8 & 0xFF);
}

/* The extrema of each channel; phase: the channel of the lane's first byte. */
template <int C>
static __device__ __forceinline__ void extent_keys(const Extent<C> &extent, unsigned phase,
                                                   int (&low)[C], int (&high)[C])
{
    int least[C], most[C]; /* from the lane's first channel on */
#pragma unroll
    for (int j = 0; j < C; j++) {
        /* Words and halves that hold channel j. */
        const int a = C == 1 ? 0 : C == 3 ? (j == 0 ? 0 : j == 1 ? 0 : 1) : j % 2;
        const int b = C == 1 ? 0 : C == 3 ? (j == 0 ? 1 : 2) : j % 2;
        const int at = C == 3 ? j != 1 : C == 4 ? j / 2 : 0;
        const int bt = C == 3 ? j == 1 : C == 4 ? j / 2 : 1;
        least[j] = min(upper(extent.least[a], at), upper(extent.least[b], bt));
        most[j] = max(upper(extent.most[a], at), upper(extent.most[b], bt));
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
        low[c] = least[c];
        high[c] = most[c];
#pragma unroll
        for (int s = 1; s < C; s++) {
            if (phase == (unsigned)s) {
                low[c] = least[(c + C - s) % C];
                high[c] = most[(c + C - s) % C];
            }
        }
    }
}

static __device__ __forceinline__ int warp_min(int x)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(NONE, x);
#else
    for (int h = 16; h > 0; h /= 2)
        x = min(x, __shfl_xor_sync(NONE, x, h));
    return x;
#endif
}

/* After a unit: where it goes beyond what the warp has seen, the block notes it. Units of a warp
 * ascend, so that an equal extremum is never the first. low > high: no sample. */
template <int C>
static __device__ __forceinline__ void notice(Block8<C> *block, Held8<C> *held, const int (&low)[C],
                                              const int (&high)[C], uint64_t unit)
{
    const unsigned warp = threadIdx.x / 32;
    bool news = false;
#pragma unroll
    for (int c = 0; c < C; c++)
        news |= low[c] < block->low[warp][c] || high[c] > block->high[warp][c];
    if (!__any_sync(NONE, news))
        return;
    __syncwarp(); /* all have read what is written now */
#pragma unroll
    for (int c = 0; c < C; c++) {
        const int least = warp_min(low[c]), most = -warp_min(-high[c]);
        if (threadIdx.x % 32 != 0 || least > most)
            continue;
        if (least < block->low[warp][c]) {
            block->low[warp][c] = least;
            atomicMax(&held->best[2 * c], narrow_offer(least, unit, false));
        }
        if (most > block->high[warp][c]) {
            block->high[warp][c] = most;
            atomicMax(&held->best[2 * c + 1], narrow_offer(most, unit, true));
        }
    }
    __syncwarp();
}

/* ---- Units ----------------------------------------------------------------------------------- */

/* Where a plain unit lies in its row: bytes [address, address + UNIT) cut to [row, end), and the
 * channel of the byte at address + lane * 16. */
struct Place {
    const unsigned char *row, *end, *address;
    uint64_t number; /* of the row */
    unsigned phase;
};

template <int C>
static __device__ __forceinline__ Place plain_place(const WorkImage &image, uint64_t unit)
{
    uint64_t place;
    Place p;
    unit_place(image, unit, &p.number, &place);
    p.row = image.pixels + p.number * image.pitch;
    p.end = p.row + image.row_pixels * C;
    const unsigned early = (unsigned)((uintptr_t)p.row % 16);
    p.address = p.row - early + place * Shape<C>::UNIT;
    p.phase = (48 - early + threadIdx.x % 32 * 16) % C; /* UNIT is a multiple of C */
    return p;
}

/* The 4 bytes at `from`, and 0xFF where they lie in the row. */
static __device__ __forceinline__ uint32_t edge_word(const Place &place, const unsigned char *from,
                                                     uint32_t *within)
{
    uint32_t word = 0;
    *within = 0;
    for (int p = 0; p < 4; p++) {
        if (from + p >= place.row && from + p < place.end) {
            word |= (uint32_t)from[p] << 8 * p;
            *within |= 0xFFu << 8 * p;
        }
    }
    return word;
}

/* How raw samples become keys, and which is none. */
struct Keys {
    uint32_t flip;   /* in every byte */
    uint32_t nodata; /* the key in every byte */
    uint32_t has_nodata;
};

static __device__ __forceinline__ Keys keys_of(const WorkImage &image)
{
    Keys keys;
    keys.flip = image.sample == IMGSTAT_I8 ? 0x80808080 : 0;
    keys.has_nodata = image.has_nodata && image.nodata_key < TABLE_BINS ? NONE : 0;
    keys.nodata = (uint32_t)image.nodata_key % TABLE_BINS * 0x01010101u;
    return keys;
}

/* Takes in a word; KEYED: its samples are not simply keys. within: see edge_word. */
template <int C, bool KEYED, int ROTATE>
static __device__ __forceinline__ void extend_word(Extent<C> *extent, const Keys &keys,
                                                   uint32_t word, uint32_t within)
{
    if (KEYED) {
        word ^= keys.flip;
        within &= ~(__vcmpeq4(word, keys.nodata) & keys.has_nodata);
    }
    extend<C, ROTATE>(extent, word | ~within, word & within);
}

template <int C, int SHIFT, bool KEYED, int ROTATE>
static __device__ __forceinline__ void count_vector(uint4 v, const Columns<C> &columns,
                                                    const Keys &keys, Extent<C> *extent)
{
    count_word<C, SHIFT, ROTATE % C>(v.x, columns);
    extend_word<C, KEYED, ROTATE % C>(extent, keys, v.x, NONE);
    count_word<C, SHIFT, (ROTATE + 4) % C>(v.y, columns);
    extend_word<C, KEYED, (ROTATE + 4) % C>(extent, keys, v.y, NONE);
    count_word<C, SHIFT, (ROTATE + 8) % C>(v.z, columns);
    extend_word<C, KEYED, (ROTATE + 8) % C>(extent, keys, v.z, NONE);
    count_word<C, SHIFT, (ROTATE + 12) % C>(v.w, columns);
    extend_word<C, KEYED, (ROTATE + 12) % C>(extent, keys, v.w, NONE);
}

/* A vector at an end of a row. */
template <int C, int SHIFT, int ROTATE>
static __device__ __forceinline__ void count_edge(const Place &place, const unsigned char *at,
                                                  const Keys &keys, Extent<C> *extent)
{
    uint32_t word[4], within[4];
#pragma unroll
    for (int w = 0; w < 4; w++) {
        word[w] = edge_word(place, at + 4 * w, &within[w]);
#pragma unroll
        for (int p = 0; p < 4; p++) {
            if (within[w] >> 8 * p & 1)
                count(
                    (word[w] >> 8 * p & 0xFF) << SHIFT |
                    column_of<C, SHIFT>((place.phase + ROTATE + 4 * w + p) % C, threadIdx.x % 32));
        }
    }
    extend_word<C, true, ROTATE % C>(extent, keys, word[0], within[0]);
    extend_word<C, true, (ROTATE + 4) % C>(extent, keys, word[1], within[1]);
    extend_word<C, true, (ROTATE + 8) % C>(extent, keys, word[2], within[2]);
    extend_word<C, true, (ROTATE + 12) % C>(extent, keys, word[3], within[3]);
}

template <int C, int SHIFT, bool KEYED, int ROTATE>
static __device__ __forceinline__ void count_either(const Place &place, const unsigned char *at,
                                                    const Columns<C> &columns, const Keys &keys,
                                                    Extent<C> *extent)
{
    if (at >= place.row && at + 16 <= place.end)
        count_vector<C, SHIFT, KEYED, ROTATE>(__ldcs((const uint4 *)at), columns, keys, extent);
    else if (at + 16 > place.row && at < place.end)
        count_edge<C, SHIFT, ROTATE>(place, at, keys, extent);
}

/* Counts one unit of a plain image with one warp. */
template <int C, int SHIFT, bool KEYED>
static __device__ __forceinline__ void count_plain(Block8<C> *block, Held8<C> *held, uint64_t unit)
{
    const Place place = plain_place<C>(held->image, unit);
    const unsigned char *at = place.address + threadIdx.x % 32 * 16;
    const Columns<C> columns = columns_of<C, SHIFT>(place.phase);
    const Keys keys = keys_of(held->image);
    Extent<C> extent = extent_none<C>();

    if (place.address >= place.row && place.address + Shape<C>::UNIT <= place.end) {
        uint4 v[Shape<C>::STEPS];
#pragma unroll
        for (int i = 0; i < Shape<C>::STEPS; i++)
            v[i] = __ldcs((const uint4 *)(at + i * 512));
#pragma unroll
        for (int i = 0; i < Shape<C>::STEPS; i += C == 3 ? 3 : 1) {
            count_vector<C, SHIFT, KEYED, 0>(v[i], columns, keys, &extent);
            if constexpr (C == 3) {
                count_vector<C, SHIFT, KEYED, 512 % C>(v[i + 1], columns, keys, &extent);
                count_vector<C, SHIFT, KEYED, 1024 % C>(v[i + 2], columns, keys, &extent);
            }
        }
    } else {
#pragma unroll 1
        for (int k = 0; k < Shape<C>::STEPS && at < place.end; k++, at += 512) {
            if (C == 3 && k % 3 == 1)
                count_either<C, SHIFT, KEYED, 512 % C>(place, at, columns, keys, &extent);
            else if (C == 3 && k % 3 == 2)
                count_either<C, SHIFT, KEYED, 1024 % C>(place, at, columns, keys, &extent);
            else
                count_either<C, SHIFT, KEYED, 0>(place, at, columns, keys, &extent);
        }
    }
    int low[C], high[C];
    extent_keys<C>(extent, place.phase, low, high);
    notice<C>(block, held, low, high, unit);
}

/* Counts one unit of an image with a mask, or some channels of one with more. */
template <int C, int SHIFT>
static __device__ __forceinline__ unsigned count_general(Block8<C> *block, Held8<C> *held,
                                                         uint64_t unit, unsigned channel0)
{
    const WorkImage &image = held->image;
    const unsigned lane = threadIdx.x % 32;
    uint64_t row, place;
    unit_place(image, unit, &row, &place);
    const unsigned char *samples = image.pixels + row * image.pitch + channel0;
    const uint8_t *mask = image.mask ? image.mask + row * image.mask_pitch : NULL;
    const uint64_t end = min((place + 1) * NARROW8_PIXELS, image.row_pixels);
    const unsigned flip = image.sample == IMGSTAT_I8 ? 0x80 : 0;
    const int nodata =
        image.has_nodata && image.nodata_key < TABLE_BINS ? (int)image.nodata_key : -1;
    unsigned masked = 0;
    int low[C], high[C];
#pragma unroll
    for (int c = 0; c < C; c++) {
        low[c] = TABLE_BINS;
        high[c] = -1;
    }
#pragma unroll 2
    for (uint64_t x = place * NARROW8_PIXELS + lane; x < end; x += 32) {
        if (mask && !mask[x]) {
            masked++;
            continue;
        }
#pragma unroll
        for (int c = 0; c < C; c++) {
            const unsigned sample = samples[x * image.channels + c];
            const int key = (int)(sample ^ flip);
            count(sample << SHIFT | column_of<C, SHIFT>(c, lane));
            if (key != nodata) {
                low[c] = min(low[c], key);
                high[c] = max(high[c], key);
            }
        }
    }
    __syncwarp();
    notice<C>(block, held, low, high, unit);
    return masked;
}

/* Counts one unit with one warp. A function of its own, so that what is kept meanwhile does not
 * take registers from it. */
template <int C, int SHIFT, bool PLAIN, bool KEYED>
static __device__ __noinline__ void count_unit(Block8<C> *block, Held8<C> *held, uint64_t unit,
                                               unsigned channel0)
{
    if (PLAIN) {
        count_plain<C, SHIFT, KEYED>(block, held, unit);
    } else {
        const unsigned masked = count_general<C, SHIFT>(block, held, unit, channel0);
        if (masked)
            atomicAdd(&held->masked, (unsigned long long)masked);
    }
}

template <int C, int SHIFT, bool PLAIN>
static __device__ __forceinline__ void count_either_unit(const Work &work, Block8<C> *block,
                                                         Held8<C> *held, uint64_t unit)
{
    if (PLAIN && (held->image.sample == IMGSTAT_I8 || held->image.has_nodata))
        count_unit<C, SHIFT, PLAIN, PLAIN>(block, held, unit, work.channel0);
    else
        count_unit<C, SHIFT, PLAIN, false>(block, held, unit, work.channel0);
}

/* All units of an item: warps take them as they come. */
template <int C, int SHIFT, bool PLAIN>
static __device__ __forceinline__ void count_item(const Work &work, Block8<C> *block,
                                                  Held8<C> *held, unsigned *cursor, uint64_t begin,
                                                  unsigned units)
{
    unsigned taken = threadIdx.x / 32; /* the first of each warp is settled */
    while (taken < units) {
        unsigned next = 0;
        if (threadIdx.x % 32 == 0)
            next = WARPS + atomicAdd(cursor, 1u); /* on its way while the unit is counted */
        count_either_unit<C, SHIFT, PLAIN>(work, block, held, begin + taken);
        taken = __shfl_sync(NONE, next, 0);
    }
}

/* What a block counts of an image that has the launch to itself. Most units go by turns; the last
 * few are fetched one by one, so that all end together. Nobody waits for anybody. */
template <int C, int SHIFT, bool PLAIN>
static __device__ __forceinline__ void count_alone(const Work &work, Block8<C> *block,
                                                   Held8<C> *held)
{
    const uint64_t units = held->image.units, turn = (uint64_t)gridDim.x * WARPS;
    const uint64_t fixed = max(units / 16 * 15 / turn, (uint64_t)1) * turn;
    uint64_t unit = (uint64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    for (; unit < min(fixed, units); unit += turn)
        count_either_unit<C, SHIFT, PLAIN>(work, block, held, unit);
    if (fixed >= units)
        return;
    const unsigned queues = min(gridDim.x, (unsigned)TAIL_QUEUES), queue = blockIdx.x % queues;
    unsigned *tail = &work.shared->tail[queue * TAIL_STRIDE], taken = 0;
    if (threadIdx.x % 32 == 0)
        taken = atomicAdd(tail, 1u);
    for (;;) {
        unit = fixed + (uint64_t)__shfl_sync(NONE, taken, 0) * queues + queue;
        if (unit >= units)
            break;
        if (threadIdx.x % 32 == 0)
            taken = atomicAdd(tail, 1u); /* on its way while the unit is counted */
        count_either_unit<C, SHIFT, PLAIN>(work, block, held, unit);
    }
}

/* ---- Positions ------------------------------------------------------------------------------- */

/* Offset of the first byte `value` of the channel in vectors part, part + PARTS and so on of a
 * plain unit, from its first byte; NONE: it is not there. Short code: it runs once, so what it
 * costs is being fetched. */
template <int C>
static __device__ __forceinline__ unsigned find_plain(const Place &place, unsigned channel,
                                                      unsigned value, unsigned part)
{
    enum { AHEAD = 2 };
    const unsigned lane = threadIdx.x % 32;
    unsigned first = NONE;
#pragma unroll 1
    for (unsigned k = part; k < Shape<C>::STEPS && first == NONE; k += AHEAD * Shape<C>::PARTS) {
        uint4 v[AHEAD];
        bool whole[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const unsigned step = k + i * Shape<C>::PARTS;
            const unsigned char *from = place.address + step * 512 + lane * 16;
            whole[i] = step < Shape<C>::STEPS && from >= place.row && from + 16 <= place.end;
            v[i] = make_uint4(0, 0, 0, 0);
            if (whole[i])
                v[i] = __ldcg((const uint4 *)from);
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const unsigned step = k + i * Shape<C>::PARTS, offset = step * 512 + lane * 16;
            const uint32_t word[4] = {v[i].x, v[i].y, v[i].z, v[i].w};
#pragma unroll
            for (int w = 0; w < 4; w++) {
                uint32_t equal = NONE;
                if (whole[i])
                    equal = __vcmpeq4(word[w], value * 0x01010101u);
                else if (step >= Shape<C>::STEPS)
                    equal = 0;
                while (equal && first == NONE) {
                    const unsigned p = (unsigned)(__ffs((int)equal) - 1) / 8,
                                   at = offset + 4 * w + p;
                    equal &= ~(0xFFu << 8 * p);
                    const unsigned char *byte = place.address + at;
                    if ((place.phase + step * 512 + 4 * w + p) % C != channel)
                        continue;
                    if (whole[i] || (byte >= place.row && byte < place.end && *byte == value))
                        first = at;
                }
            }
        }
    }
    return first;
}

/* Raster index, from the image's first pixel, of the first `value` of the channel that a lane meets
 * in its part of a unit; all ones: it meets none. */
template <int C, bool PLAIN>
static __device__ __noinline__ uint64_t find_first(const WorkImage &image, uint64_t unit,
                                                   unsigned channel, unsigned channel0,
                                                   unsigned value, unsigned part)
{
    if (PLAIN) {
        const Place place = plain_place<C>(image, unit);
        const unsigned first = find_plain<C>(place, channel, value, part);
        if (first == NONE)
            return ~0ull;
        return place.number * image.row_pixels + (uint64_t)(place.address + first - place.row) / C;
    }
    uint64_t row, place;
    unit_place(image, unit, &row, &place);
    const unsigned char *samples = image.pixels + row * image.pitch + channel0 + channel;
    const uint8_t *mask = image.mask ? image.mask + row * image.mask_pitch : NULL;
    const uint64_t begin = place * NARROW8_PIXELS;
    const uint64_t end = min(begin + NARROW8_PIXELS, image.row_pixels);
    for (uint64_t x = begin + part * 32 + threadIdx.x % 32; x < end; x += 32 * Shape<C>::PARTS) {
        if (samples[x * image.channels] == value && (!mask || mask[x]))
            return row * image.row_pixels + x;
    }
    return ~0ull;
}

/* ---- Reports --------------------------------------------------------------------------------- */

/* One warp: tells other blocks what this one found, and whether it is the last to do so. */
template <int C>
static __device__ __forceinline__ void report(Block8<C> *block, const Held8<C> *held,
                                              NarrowState *state)
{
    const unsigned lane = threadIdx.x;
    const bool sole = held->items == held->image.items;
    if (!sole) {
        if (lane < 2 * C && held->best[lane])
            atomicMax(&state->found[lane], held->best[lane]);
        if (lane == 0 && held->masked)
            atomicAdd(&state->masked, held->masked);
        __syncwarp();
    }
    if (lane == 0) {
        block->sole = block->last = sole;
        if (!sole) {
            __threadfence();
            block->last =
                atomicAdd(&state->items_done, held->items) + held->items == held->image.items;
            __threadfence();
        }
    }
}

/* Adds up the columns of the table and empties it. */
template <int C, int SHIFT> static __device__ __forceinline__ void sum_columns(Block8<C> *block)
{
    /* Vectors of 16 bytes a bin, of them in use, and in groups of a channel (the last of three
     * channels has two). */
    enum { VECTORS = 1 << (SHIFT - 4), USED = C == 1 ? 8 : VECTORS, GROUPS = C > 2 ? 4 : C };
    enum { GROUP = USED / GROUPS };
    const unsigned q = threadIdx.x % USED, group = q / GROUP;
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < TABLE_BINS * USED; i += THREADS) {
        const unsigned bin = i / USED;
        uint4 *at = (uint4 *)table + bin * VECTORS + q;
        const uint4 v = *at;
        uint64_t sum = (uint64_t)v.x + v.y + v.z + v.w;
        *at = make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int h = GROUP / 2; h > 0; h /= 2)
            sum += __shfl_xor_sync(NONE, sum, h);
        if (C == 3) {
            const uint64_t other = __shfl_xor_sync(NONE, sum, GROUP);
            sum += group >= 2 ? other : 0;
        }
        if (q % GROUP == 0 && !(C == 3 && group == 3))
            block->sum[group * TABLE_BINS + bin] = sum;
    }
}

/* Adds them to the bins of the record. */
template <int C>
static __device__ __forceinline__ void add_bins(const Block8<C> *block, const WorkImage &image,
                                                unsigned channel0)
{
    const unsigned flip = image.sample == IMGSTAT_I8 ? 0x80 : 0;
    uint64_t *bins = image.bins + channel0 * TABLE_BINS;
    /* Whole warps, and each block begins elsewhere: otherwise all meet at the same bins. */
    for (unsigned i = threadIdx.x; i < C * TABLE_BINS; i += THREADS) {
        const unsigned bin = (i + blockIdx.x * 32) % (C * TABLE_BINS);
        if (block->sum[bin])
            bin_add(&bins[bin ^ flip], block->sum[bin]);
    }
}

/* Merges a finished image into its record. 2 C PARTS warps of the block that is last. */
template <int C, bool PLAIN>
static __device__ __noinline__ void merge(const Work &work, Block8<C> *block, const Held8<C> *held)
{
    const WorkImage &image = held->image;
    NarrowState *state = (NarrowState *)work.state + held->number;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, i = warp / Shape<C>::PARTS;
    const unsigned flip = image.sample == IMGSTAT_I8 ? 0x80 : 0;
    const unsigned long long best = block->sole ? held->best[i] : __ldcg(&state->found[i]);
    const uint64_t masked = block->sole ? held->masked : __ldcg(&state->masked);
    if (best) {
        const bool largest = i % 2;
        const int key = (int)offer_key(best, largest);
        uint64_t at = find_first<C, PLAIN>(image, offer_at(best), i / 2, work.channel0,
                                           (unsigned)key ^ flip, warp % Shape<C>::PARTS);
#pragma unroll 1
        for (int h = 16; h > 0; h /= 2)
            at = min(at, (uint64_t)__shfl_xor_sync(NONE, at, h));
        if (lane == 0 && at != ~0ull)
            atomicMax(&block->offer[i], narrow_offer(key, image.first_at + at, largest));
    }
    __syncwarp();
    asm volatile("barrier.sync 1, %0;" ::"n"(2 * C * Shape<C>::PARTS * 32)
                 : "memory"); /* these alone */
    if (warp != 0)
        return;
    unsigned *lock = record_lock(work, image.tally);
    if (lane == 0 && !work.distinct)
        lock_take(lock);
    __syncwarp();
    if (lane < C)
        narrow_merge(image.tally + work.channel0 + lane, image.rows * image.row_pixels - masked,
                     masked, block->offer[2 * lane], block->offer[2 * lane + 1]);
    __syncwarp();
    if (lane == 0 && !work.distinct)
        lock_release(lock);
    if (!block->sole && lane < C)
        state->found[2 * lane] = state->found[2 * lane + 1] = 0;
    if (!block->sole && lane == 0) {
        state->masked = 0;
        state->items_done = 0;
    }
}

/* Word i of the description of an image. */
static __device__ __forceinline__ uint32_t image_word(const Work &work, uint32_t number, unsigned i)
{
    const unsigned half = i % 2;
    if (!work.places)
        return ((const uint32_t *)&work_image(work, number))[i];
    const WorkPlace *place = &work.places[number];
    switch (i / 2 * 8) {
    case offsetof(WorkImage, pixels):
        return ((const uint32_t *)&place->pixels)[half];
    case offsetof(WorkImage, first_at):
        return ((const uint32_t *)&place->first_at)[half];
    case offsetof(WorkImage, tally):
        return ((const uint32_t *)&place->tally)[half];
    case offsetof(WorkImage, bins):
        return ((const uint32_t *)&place->bins)[half];
    case offsetof(WorkImage, first_item):
        return half ? 0 : number;
    default:
        return ((const uint32_t *)&work.only)[i];
    }
}

/* Reports what the block has of the image that it holds, `before` (NULL: none), and makes image
 * `number` (NONE: none) its own. All threads; the table and `best` are complete. */
template <int C, int SHIFT, bool PLAIN>
static __device__ __noinline__ void turn_over(const Work &work, Block8<C> *block,
                                              const Held8<C> *before, Held8<C> *held,
                                              uint32_t number)
{
    enum { WORDS = sizeof(WorkImage) / 4 };
    const unsigned i = threadIdx.x;
    uint32_t word = 0; /* on its way meanwhile */
    if (i < WORDS && number != NONE)
        word = image_word(work, number, i);
    if (before) {
        if (i < 32)
            report<C>(block, before, (NarrowState *)work.state + before->number);
        sum_columns<C, SHIFT>(block);
    }
    if (i < WORDS)
        ((uint32_t *)&held->image)[i] = word;
    for (unsigned k = i; k < WARPS * C; k += THREADS) {
        block->low[k / C][k % C] = TABLE_BINS;
        block->high[k / C][k % C] = -1;
    }
    if (i < 2 * C)
        held->best[i] = block->offer[i] = 0;
    if (i == 0) {
        held->number = number;
        held->items = 0;
        held->samples = 0;
        held->masked = 0;
    }
    __syncthreads(); /* the table is empty, `last` is known, `held` is ready */
    if (before)
        add_bins<C>(block, before->image, work.channel0);
    if (before && block->last && i < 2 * C * Shape<C>::PARTS * 32)
        merge<C, PLAIN>(work, block, before); /* the other warps count already */
}

/* Blocks may begin while the last ones of the launch before are still at work (the launch asks for
 * it): what comes before this call touches nothing but shared memory. */
static __device__ __forceinline__ void after_launches_before(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#endif
}

/* A launch's only image. */
template <int C, int SHIFT, bool PLAIN>
static __device__ __forceinline__ void measure_alone(const Work &work, Block8<C> *block)
{
    Held8<C> *held = &block->held[0];
    turn_over<C, SHIFT, PLAIN>(work, block, NULL, held, 0);
    count_alone<C, SHIFT, PLAIN>(work, block, held);
    if (threadIdx.x == 0) {
        held->items = 1;
        held->image.items = gridDim.x; /* reports there will be */
    }
    __syncthreads(); /* the table and `best` are complete */
    turn_over<C, SHIFT, PLAIN>(work, block, held, &block->held[1], NONE);
}

/* Items of images, in order, while there are any. */
template <int C, int SHIFT, bool PLAIN>
static __device__ __forceinline__ void measure_items(const Work &work, Block8<C> *block)
{
    if (threadIdx.x < 2) {
        block->full[threadIdx.x] = false;
        block->cursor[threadIdx.x] = 0;
    }
    uint32_t item = blockIdx.x;
    Held8<C> *held = NULL;
    for (unsigned turn = 0; item < work.n_items; turn ^= 1) {
        const uint32_t wanted = work_image_of(work, item);
        if (!held || wanted != held->number || block->full[turn ^ 1]) {
            Held8<C> *other = &block->held[held == &block->held[0]];
            turn_over<C, SHIFT, PLAIN>(work, block, held, other, wanted);
            held = other;
        }
        uint64_t unit, end;
        item_units(held->image, item, &unit, &end);
        unsigned next = 0; /* on its way while the item is counted */
        if (threadIdx.x == 0) {
            next = gridDim.x + atomicAdd(&work.shared->queue.next, 1u);
            held->items++;
            held->samples += (end - unit) * (PLAIN ? Shape<C>::UNIT / C : NARROW8_PIXELS);
        }
        count_item<C, SHIFT, PLAIN>(work, block, held, &block->cursor[turn], unit,
                                    (unsigned)(end - unit));
        if (threadIdx.x == 0) {
            block->next[turn] = next;
            block->full[turn] = held->samples > TABLE_SAMPLES;
            block->cursor[turn ^ 1] = 0;
        }
        __syncthreads(); /* the table and `best` hold the whole item; next[turn] is there */
        item = block->next[turn];
    }
    if (held)
        turn_over<C, SHIFT, PLAIN>(work, block, held, &block->held[held == &block->held[0]], NONE);
}

/*
 * measure_narrow8: the record of 8-bit samples, C interleaved channels at once.
 *
 *   Idea      Lane-private columns of counters: no two lanes of a warp ever meet in a bank,
 * whatever the image (see column_of). 256 bytes a sample value, so one byte permutation makes an
 *             address; an increment of exactly 1 whose result is unused needs no return trip. Sums
 *             and moments follow from the bins. Extrema are tracked two bytes an instruction; when
 * a unit goes beyond what its warp has seen, the block notes extremum and unit, and whoever reports
 * an image last looks into the one unit that holds it first. Work      2 instructions a sample to
 * count, 1.25 for extrema. Memory    reads n bytes once, and 2 C units again; adds up to 256 C bins
 * a block and image. Shared: 256 << SHIFT bytes. Launch    two persistent blocks of 512 an SM. An
 * image alone: units by turns, the last ones from queues. Several: items; the first is that of the
 * block's number, the others come from a queue, in order. Requires  C <= 4; PLAIN: the image has C
 * channels and no mask. Queue and states zero. Result    bins, n, masked, extrema added to the
 * record; queue and states zero again. Integers: every order of blocks gives the same.
 */
template <int C, int SHIFT, bool PLAIN>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    measure_narrow8(const __grid_constant__ Work work)
{
#if __CUDA_ARCH__ >= 800
    if constexpr (SHIFT < 8) /* for processors with less shared memory than these have */
        return;
    else
#endif
    {
        __shared__ Block8<C> block;
        for (unsigned i = threadIdx.x; i < (TABLE_BINS << SHIFT) / 16; i += THREADS)
            ((uint4 *)table)[i] = make_uint4(0, 0, 0, 0);
        after_launches_before();
        if (work.n_images == 1 && work.alone)
            measure_alone<C, SHIFT, PLAIN>(work, &block);
        else
            measure_items<C, SHIFT, PLAIN>(work, &block);
        if (threadIdx.x == 0)
            queue_leave(work);
    }
}

template <int C, int SHIFT, bool PLAIN>
static ImgstatResult launch_shape(const Launch *launch, unsigned blocks, ImgstatError *err)
{
    CudaDevice *device = launch->device;
    const int bytes = TABLE_BINS << SHIFT;
    const auto kernel = measure_narrow8<C, SHIFT, PLAIN>;
    IMGSTAT_TRY(cuda_allow_shared(device, (const void *)kernel, bytes, err));
    Work work = launch->work;
    const uint64_t most = (uint64_t)device->properties.multiProcessorCount * blocks;
    uint64_t wanted = work.n_items;
    work.alone = work.n_images == 1 && work.only.units < TABLE_UNITS;
    if (work.alone)
        wanted = (work.only.units + WARPS - 1) / WARPS;

    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(wanted < most ? wanted : most));
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = (size_t)bytes;
    config.stream = launch->stream;
    config.attrs = &attribute;
    config.numAttrs = device->properties.major >= 9; /* see after_launches_before */
    CUDA_TRY(device, err, cudaLaunchKernelEx(&config, kernel, work));
    return cuda_launched(device, launch->stream, "measure_narrow8", err);
}

/* Blocks an SM and columns as the device's shared memory allows. */
template <int C, bool PLAIN>
static ImgstatResult launch_channels(const Launch *launch, ImgstatError *err)
{
    const int reserve = 1024 + (int)sizeof(Block8<C>); /* and what the driver keeps a block */
    const int full = (TABLE_BINS << 8) + reserve;
    const bool two = 2 * full <= (int)launch->device->properties.sharedMemPerMultiprocessor;
    if (full <= launch->device->max_shared)
        return launch_shape<C, 8, PLAIN>(launch, two ? 2 : 1, err);
    return launch_shape<C, 7, PLAIN>(launch, 1, err);
}

size_t narrow_state_bytes(void)
{
    return sizeof(NarrowState);
}

ImgstatResult launch_narrow8(const Launch *launch, unsigned channels, bool plain, ImgstatError *err)
{
    switch (channels) {
    case 1:
        return plain ? launch_channels<1, true>(launch, err)
                     : launch_channels<1, false>(launch, err);
    case 2:
        return plain ? launch_channels<2, true>(launch, err)
                     : launch_channels<2, false>(launch, err);
    case 3:
        return plain ? launch_channels<3, true>(launch, err)
                     : launch_channels<3, false>(launch, err);
    default:
        return plain ? launch_channels<4, true>(launch, err)
                     : launch_channels<4, false>(launch, err);
    }
}
