/* SPDX-License-Identifier: MIT */
/* histogram16/table.cuh: a block's table of 16-bit samples: how it is laid out, how one sample is
 * counted, and how extrema are found on the way. */
#ifndef IMGSTAT_KERNELS_HISTOGRAM16_TABLE_CUH
#define IMGSTAT_KERNELS_HISTOGRAM16_TABLE_CUH

#include "common/histogram_block.cuh"
#include "common/tuning.cuh"

enum { THREADS = HISTOGRAM16_THREADS, WARPS = THREADS / 32 };
/* A lane's vectors in a tile; a step is a tile a warp. */
enum { STEPS = HISTOGRAM16_STEPS, HALVES = 65536 };
static_assert((int)NARROW16_TILE == STEPS * 512 && (int)NARROW16_PIXELS == STEPS * 256 &&
                  (int)NARROW16_STEP == (int)WARPS,
              "the host cuts images");

/* A shared word counts two values, each in 16 bits. After every round of steps all such words are
 * looked through, and halves that hold much are emptied, so that none overflows: 16,383 left and
 * 2 * 24,576 more are 65,535. So no addition needs to return what it found. */
enum { HALF_BITS = 16, ROUND_STEPS = 2, LEFT_MOST = 16384 };
static const uint32_t HALF_MASK = (1u << HALF_BITS) - 1, UPPER_ONE = 1u << HALF_BITS;
static const uint32_t MUCH = 0xC000C000u; /* a bit of these is set from LEFT_MOST on */
static_assert(LEFT_MOST - 1 + ROUND_STEPS * WARPS * NARROW16_PIXELS < 1 << HALF_BITS,
              "halves do not overflow");

enum { NOTED = 20 }; /* tiles that a warp can note */
enum { SAMPLES = HISTOGRAM16_SAMPLES, BUCKETS = HISTOGRAM16_BUCKETS };

/* How the table is laid out. A sample becomes an index: its bits minus base, modulo 65,536. */
struct Layout {
    uint32_t base;
    uint32_t shift;  /* counters of an index: at byte index << shift, 1 << (shift - 2) of them */
    uint32_t wide;   /* indices below have counters of 32 bits to themselves */
    uint32_t direct; /* indices below have a word of their own; of those that are not wide, the
                      * upper half belongs to index + fold */
    uint32_t words;  /* of the table; BEHIND_BYTES follow */
    uint32_t fold;   /* words that are shared; 0: indices from direct on have no counter here, and
                      * that of `direct` itself may hold anything */
    bool elsewhere;  /* indices from direct on are counted by other blocks, each its share */
};

struct Block16 {
    WorkImage image;   /* whose samples the table holds */
    uint64_t samples;  /* in the table; only thread 0 looks */
    uint32_t number;   /* of the image */
    uint32_t share;    /* of the values, that the block counts; 0 is all if they are not shared */
    uint32_t items;    /* of the image, done by this block since the last report */
    int key[2];        /* minimum and maximum; above and below all keys: none yet */
    uint64_t tile[2];  /* that has them first */
    unsigned needs;    /* bits: the block must find the minimum, the maximum */
    bool sole, last;   /* all the items of the image were this block's; it is the last to report */
    uint32_t left;     /* items that had not been reported when it did */
    unsigned found[2]; /* pixels from `from`; 32 bits: there is an instruction for their minimum */
    unsigned long long from[2], position[2], masked;
    Layout layout;
    uint32_t next;                     /* item */
    unsigned long long seen[2][WARPS]; /* minimum and maximum so far of what each warp counted, with
                                        * the tile that has it first */
    bool is_static;                    /* tiles come in a fixed order (static_schedule.cuh) */
    unsigned counted, total; /* samples since the table was empty; the sum of its counters */
    bool ready;              /* every block has */
    unsigned slice;          /* of the sums, that this block moves to the bins */
    unsigned missed;         /* samples of this image that have no counter here */
    unsigned gap;            /* widest stretch of empty buckets << 8 | the bucket after it */
    unsigned least;          /* fewest samples in a stretch << 8 | where it begins */
    unsigned occupied[BUCKETS / 32]; /* a bit a bucket */
    union {
        unsigned bucket[BUCKETS];     /* while a layout is chosen */
        uint16_t noted[WARPS][NOTED]; /* see count_static; thereafter */
    };
    unsigned notes[WARPS];
};

extern __shared__ __align__(128) unsigned char table[];
/* Behind the table: words for what has no counter. */
enum { BEHIND_BYTES = 32 * 4 };

/* Parts into which the samples of an image are divided: each block counts one. */
DEVICE uint32_t parts_of(const Work &work)
{
    return work.group * work.shares;
}

/* ---- Extrema --------------------------------------------------------------------------------- */

DEVICE uint32_t key_of(const WorkImage &image, uint32_t raw)
{
    return (uint32_t)sample_key(image.sample, raw);
}

/* The keys between which valid samples lie. */
DEVICE uint32_t first_key(ImgstatSample sample)
{
    return sample == IMGSTAT_F16 ? 0x0400u : 0;
}

/* How extrema are found: by sample type and, of integers, whether there is nodata. */
enum ExtremaMode { EXTREMA_U16, EXTREMA_I16, EXTREMA_INTEGER_NODATA, EXTREMA_F16 };

/* Two samples side by side in each word. */
struct LaneExtrema {
    uint32_t low, high; /* least key - first_key, largest key + first_key so far: what is not finite
                         * wraps around, and is never the least, nor the largest */
};

DEVICE LaneExtrema no_extrema()
{
    const LaneExtrema seen = {NONE, 0};
    return seen;
}

/* The halves in which a and b are equal. */
DEVICE uint32_t equal_halves(uint32_t a, uint32_t b)
{
    return (__vminu2(a ^ b, 0x00010001u) ^ 0x00010001u) * 0xFFFFu;
}

/* Two samples. nodata: its key in both halves; sign: what makes keys of integers, likewise. */
template <int MODE>
DEVICE void update_extrema(LaneExtrema *seen, uint32_t w, uint32_t nodata, uint32_t sign)
{
    static const uint32_t FIRST = 0x04000400u, MINUS_FIRST = 0xFC00FC00u; /* of F16 */
    if (MODE == EXTREMA_U16) {
        seen->low = __vminu2(seen->low, w);
        seen->high = __vmaxu2(seen->high, w);
    } else if (MODE == EXTREMA_I16) {
        seen->low = __viaddmin_u16x2(w, 0x80008000u, seen->low);
        seen->high = __viaddmax_u16x2(w, 0x80008000u, seen->high);
    } else if (MODE == EXTREMA_INTEGER_NODATA) {
        const uint32_t keys = w ^ sign, without = equal_halves(keys, nodata);
        seen->low = __vminu2(seen->low, keys | without);
        seen->high = __vmaxu2(seen->high, keys & ~without);
    } else {
        uint32_t keys = w ^ ((w >> 15 & 0x00010001u) * 0x7FFFu | 0x80008000u);
        keys += equal_halves(keys, 0x7FFF7FFFu) & 0x00010001u; /* +0 for -0 */
        const uint32_t without = equal_halves(keys, nodata);
        seen->low = __vminu2(seen->low, __viaddmax_u16x2(keys, MINUS_FIRST, 0) | without);
        seen->high = __vmaxu2(seen->high, __viaddmax_u16x2(keys, FIRST, 0) & ~without);
    }
}

template <int MODE, int N>
DEVICE void update_words(LaneExtrema *seen, const uint32_t (&word)[N], const WorkImage &image)
{
    uint32_t nodata = 0, sign = 0;
    if ((MODE == EXTREMA_INTEGER_NODATA || MODE == EXTREMA_F16) && image.has_nodata)
        nodata = (uint32_t)image.nodata_key * 0x10001u;
    if (MODE == EXTREMA_INTEGER_NODATA)
        sign = image.sample == IMGSTAT_I16 ? 0x80008000u : 0;
#pragma unroll
    for (int i = 0; i < N; i++)
        update_extrema<MODE>(seen, word[i], nodata, sign);
}

template <int N>
DEVICE void update_any(LaneExtrema *seen, ExtremaMode mode, const uint32_t (&word)[N],
                       const WorkImage &image)
{
    switch (mode) {
    case EXTREMA_U16:
        update_words<EXTREMA_U16>(seen, word, image);
        break;
    case EXTREMA_I16:
        update_words<EXTREMA_I16>(seen, word, image);
        break;
    case EXTREMA_F16:
        update_words<EXTREMA_F16>(seen, word, image);
        break;
    case EXTREMA_INTEGER_NODATA:
        update_words<EXTREMA_INTEGER_NODATA>(seen, word, image);
        break;
    }
}

/* The tile of an equal extremum counts if it is the first. One lane a warp. */
DEVICE void note_extremum(Block16 *block, int key, uint64_t tile, bool largest)
{
    unsigned long long *seen = &block->seen[largest][threadIdx.x / 32];
    const unsigned long long word = extremum_word(key, tile, largest);
    if (word > *seen)
        *seen = word;
}

/* Notes what a warp saw: the least of `low` and the largest of `high`, and where. One lane. */
DEVICE void note_both(Block16 *block, uint32_t least, uint64_t low_at, uint32_t largest,
                      uint64_t high_at)
{
    const WorkImage &image = block->image;
    const uint32_t first = first_key(image.sample);
    const ImgstatSample like = image.sample == IMGSTAT_F16 ? IMGSTAT_F16 : IMGSTAT_U16;
    const uint32_t low = least + first, high = largest - first;
    if (least == 0xFFFFu && largest == 0) /* nothing was seen */
        return;
    if (low <= 65535 && key_valid(image, like, low))
        note_extremum(block, (int)low, low_at, false);
    if (high <= 65535 && key_valid(image, like, high))
        note_extremum(block, (int)high, high_at, true);
}

/* What a warp saw in a tile is noted. All lanes. */
DEVICE void note_seen(Block16 *block, const LaneExtrema &seen, uint64_t tile)
{
    const uint32_t least = warp_min(min(seen.low & 0xFFFFu, seen.low >> 16));
    const uint32_t largest = ~warp_min(~max(seen.high & 0xFFFFu, seen.high >> 16));
    if (threadIdx.x % 32 == 0)
        note_both(block, least, tile, largest, tile);
    __syncwarp();
}

/* What a warp has seen, and in which tile first; lanes and halves are alike. 32 bits number the
 * tiles of 6 TB. */
struct RunningExtrema {
    LaneExtrema seen;
    uint32_t low_at, high_at;
};

/* Adds to the running extrema what a lane has seen now; `seen` includes them. All lanes. */
DEVICE void update_running(RunningExtrema *running, const LaneExtrema &seen, uint32_t tile)
{
    if (!__any_sync(ALL_LANES, seen.low != running->seen.low || seen.high != running->seen.high))
        return;
    const uint32_t low = warp_min(min(seen.low & 0xFFFFu, seen.low >> 16)) * 0x10001u;
    const uint32_t high = warp_max(max(seen.high & 0xFFFFu, seen.high >> 16)) * 0x10001u;
    running->low_at = low != running->seen.low ? tile : running->low_at;
    running->high_at = high != running->seen.high ? tile : running->high_at;
    running->seen.low = low;
    running->seen.high = high;
}

/* Notes the extrema of a warp. If all valid keys are the largest there is, the least is as before
 * any was seen, and came with the largest; likewise the other way round. All lanes. */
DEVICE void note_running(Block16 *block, const RunningExtrema &running)
{
    const uint32_t low = running.seen.low & 0xFFFFu, high = running.seen.high & 0xFFFFu;
    if (threadIdx.x % 32 == 0)
        note_both(block, low, low == 0xFFFFu ? running.high_at : running.low_at, high,
                  high == 0 ? running.low_at : running.high_at);
    __syncwarp();
}

/* How an image's extrema are found. (Key 0 is no valid one of F16, and so may pass for nodata where
 * there is none.) */
DEVICE ExtremaMode extrema_mode(const WorkImage &image)
{
    switch (image.sample) {
    case IMGSTAT_U16:
        return image.has_nodata ? EXTREMA_INTEGER_NODATA : EXTREMA_U16;
    case IMGSTAT_I16:
        return image.has_nodata ? EXTREMA_INTEGER_NODATA : EXTREMA_I16;
    default:
        return EXTREMA_F16;
    }
}

DEVICE void update_one(LaneExtrema *seen, const WorkImage &image, uint32_t raw)
{
    const uint32_t word[1] = {raw * 0x10001u};
    update_any(seen, extrema_mode(image), word, image);
}

/* ---- One sample ------------------------------------------------------------------------------ */

DEVICE void add_index(const Block16 *block, uint64_t *bins, uint32_t index, uint64_t n)
{
    const uint32_t raw = (index + block->layout.base) & 0xFFFFu;
    bin_add(&bins[key_of(block->image, raw)], n);
}

/* Counts samples that have no counter here: straight to the record, equal ones of a warp together.
 * All lanes; missed: the lane has one. */
DEVICE void count_missed(Block16 *block, uint64_t *bins, uint32_t raw, bool missed)
{
    const unsigned lane = threadIdx.x % 32;
    if (!__any_sync(ALL_LANES, missed))
        return;
    const unsigned peers = __match_any_sync(ALL_LANES, missed ? raw : HALVES + lane);
    if (!missed || lane != (unsigned)__ffs((int)peers) - 1)
        return;
    bin_add(&bins[key_of(block->image, raw)], (uint64_t)__popc(peers));
    atomicAdd(&block->missed, (unsigned)__popc(peers));
}

/* Counts a sample in any layout. All lanes; there: the lane has one. */
DEVICE void count_one(Block16 *block, const Layout &layout, uint64_t *bins, uint32_t raw,
                      bool there)
{
    const uint32_t index = (raw - layout.base) & 0xFFFFu;
    const uint32_t lane = (threadIdx.x % 32 << 2) & ((1u << layout.shift) - 1);
    if (there && index < layout.direct)
        atomicAdd((unsigned *)(table + (index << layout.shift | lane)), 1u);
    else if (there && layout.fold)
        atomicAdd((unsigned *)table + (index - layout.fold), UPPER_ONE);
    if (!layout.fold && !layout.elsewhere)
        count_missed(block, bins, raw, there && index >= layout.direct);
}

/* Empties a shared word. */
static __device__ __noinline__ void empty_halves(Block16 *block, uint64_t *bins, uint32_t at)
{
    const Layout &layout = block->layout;
    unsigned *word = (unsigned *)table + at;
    const unsigned all = atomicExch(word, 0), lower = all & HALF_MASK, upper = all >> HALF_BITS;
    if (lower)
        add_index(block, bins, at, lower);
    if (upper)
        add_index(block, bins, at + layout.fold, upper);
}

/* Checks the shared words, a multiple of 4,096 of them. All threads; nothing is
 * counted meanwhile. */
DEVICE void empty_shared(Block16 *block, uint64_t *bins)
{
    const uint32_t end = block->layout.direct;
#pragma unroll 2
    for (uint32_t i = block->layout.wide + 4 * threadIdx.x; i < end; i += 4 * THREADS) {
        const uint4 v = *(const uint4 *)((const unsigned *)table + i);
        if (!((v.x | v.y | v.z | v.w) & MUCH))
            continue;
        for (uint32_t k = 0; k < 4; k++)
            empty_halves(block, bins, i + k);
    }
}

/* After a step, `steps` of them since the last look. All threads. */
DEVICE uint32_t end_step(Block16 *block, uint64_t *bins, uint32_t steps)
{
    if (steps + 1 < ROUND_STEPS)
        return steps + 1;
    __syncthreads(); /* the table holds the round */
    empty_shared(block, bins);
    __syncthreads(); /* halves are small again */
    return 0;
}

#endif
