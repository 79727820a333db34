/* SPDX-License-Identifier: MIT */
/* narrow16.cuh: a block's table of 16-bit samples: how it is laid out, how one sample is counted,
 * and how extrema are noticed on the way. */
#ifndef IMGSTAT_NARROW16_CUH
#define IMGSTAT_NARROW16_CUH

#include "narrow.cuh"

/* One block an SM: its table takes all the shared memory there is. */
enum { THREADS = 1024, WARPS = THREADS / 32 };
/* A lane's vectors in a unit; a step is a unit a warp. */
enum { STEPS = 3, HALVES = 65536 };
static_assert((int)NARROW16_UNIT == STEPS * 512 && (int)NARROW16_PIXELS == STEPS * 256 &&
                  (int)NARROW16_STEP == (int)WARPS,
              "the host cuts images");

/* A shared word counts two values: one in its lower 18 bits, by increments of exactly 1, and a rare
 * one in the 14 above. Whoever adds to the upper part sees what it held, and empties it when that
 * was 4,096 or more, after 8 additions at the latest: at most 4,096 + 8 * 1,024 < 2^14. The lower
 * part is looked at after every 8 steps: 65,535 left + 8 * 24,576 < 2^18. */
enum { LOWER_BITS = 18, ROUND_STEPS = 8, LEFT_MOST = 65536, ADDITIONS = 8 };
static const uint32_t LOWER_MASK = (1u << LOWER_BITS) - 1, UPPER_ONE = 1u << LOWER_BITS;
static const uint32_t UPPER_MUCH = 0xC0000000u; /* a bit of these is set from 4,096 on */
static_assert(4096 + ADDITIONS * THREADS < 1 << (32 - LOWER_BITS), "upper parts do not overflow");
static_assert(LEFT_MOST - 1 + ROUND_STEPS * WARPS * NARROW16_PIXELS < 1 << LOWER_BITS,
              "lower parts do not overflow");

enum { SAMPLES = 512, BUCKETS = 256 }; /* that a layout is chosen from: by their leading bits */

/* How the table is laid out. A sample becomes an index: its bits minus base, modulo 65,536. */
struct Layout {
    uint32_t base;
    uint32_t shift;   /* counters of an index: at byte index << shift, 1 << (shift - 2) of them */
    uint32_t wide;    /* indices below have counters of 32 bits to themselves */
    uint32_t direct;  /* indices below have a word of their own; of those that are not wide, the
                       * upper part belongs to index + fold */
    uint32_t words;   /* of the table; BEHIND_BYTES follow */
    uint32_t uniform; /* no value is frequent: every increment may be an ordinary addition */
    uint32_t fold;    /* words that are shared; 0: indices from direct on have no counter here, and
                       * that of `direct` itself may hold anything */
};

/* An item on its way to the block's warps. */
struct Ahead {
    const unsigned char *address; /* of its first unit, if it is whole */
    uint64_t begin;               /* its first unit */
    uint32_t item, steps;         /* steps: 0 unless the item is whole */
    uint32_t before;              /* samples_before of its row */
    bool go;                      /* it may follow the one at work without further ado */
};

struct Block16 {
    NarrowBlock narrow;
    Layout layout;
    Ahead ahead[2];             /* by turns */
    unsigned long long best[2]; /* minimum and maximum so far, with the item that brought it */
    bool flushed;               /* the block has reported before */
    unsigned missed;            /* samples of this image that have no counter here */
    unsigned gap;               /* widest stretch of empty buckets << 8 | the bucket after it */
    unsigned most;              /* samples in the fullest bucket */
    unsigned alike;             /* samples whose neighbour is in the same bucket */
    unsigned least;             /* fewest samples in a stretch << 8 | where it begins */
    unsigned occupied[BUCKETS / 32]; /* a bit a bucket */
    unsigned bucket[BUCKETS];
};

extern __shared__ __align__(128) unsigned char table[];
/* Behind the table: a word that counts what has no counter, and one a lane for nothing. */
enum { BEHIND_BYTES = 16 + 32 * 4 };

/* ---- Extrema --------------------------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t key_of(const WorkImage &image, uint32_t raw)
{
    return (uint32_t)sample_key((ImgstatSample)image.sample, raw);
}

/* Items ascend, so the first occurrence lies in the item that offered first. */
static __device__ __forceinline__ void block_offer(Block16 *block, int key, uint64_t begin,
                                                   bool largest)
{
    const unsigned long long offer = narrow_offer(key, begin, largest);
    if (offer > *(volatile unsigned long long *)&block->best[largest])
        atomicMax(&block->best[largest], offer);
}

/* The keys between which valid samples lie. */
static __device__ __forceinline__ uint32_t first_key(ImgstatSample sample)
{
    return sample == IMGSTAT_F16 ? 0x0400u : 0;
}

/* What an item's samples are looked at for. */
enum Look { LOOK_NOT, LOOK_U16, LOOK_I16, LOOK_F16, LOOK_INTEGER_NODATA, LOOK_F16_NODATA };

/* Two samples side by side in each word. */
struct Seen {
    uint32_t low, high; /* least key - first_key, largest key + first_key so far: what is not finite
                         * wraps around, and is never the least, nor the largest */
};

static __device__ __forceinline__ Seen see_nothing()
{
    const Seen seen = {NONE, 0};
    return seen;
}

/* The halves of which a and b are equal. */
static __device__ __forceinline__ uint32_t equal_halves(uint32_t a, uint32_t b)
{
    return (__vminu2(a ^ b, 0x00010001u) ^ 0x00010001u) * 0xFFFFu;
}

/* Two samples. Without nodata the key of -0 comes out one too small. nodata: its key in both
 * halves; sign: what makes keys of integers, likewise. */
template <int LOOK>
static __device__ __forceinline__ void see(Seen *seen, uint32_t w, uint32_t nodata, uint32_t sign)
{
    static const uint32_t FIRST = 0x04000400u, MINUS_FIRST = 0xFC00FC00u; /* of F16 */
    if (LOOK == LOOK_U16) {
        seen->low = __vminu2(seen->low, w);
        seen->high = __vmaxu2(seen->high, w);
    } else if (LOOK == LOOK_I16) {
        seen->low = __viaddmin_u16x2(w, 0x80008000u, seen->low);
        seen->high = __viaddmax_u16x2(w, 0x80008000u, seen->high);
    } else if (LOOK == LOOK_INTEGER_NODATA) {
        const uint32_t keys = w ^ sign, without = equal_halves(keys, nodata);
        seen->low = __vminu2(seen->low, keys | without);
        seen->high = __vmaxu2(seen->high, keys & ~without);
    } else {
        uint32_t keys = w ^ ((w >> 15 & 0x00010001u) * 0x7FFFu | 0x80008000u);
        uint32_t without = 0;
        if (LOOK == LOOK_F16_NODATA) {
            keys += equal_halves(keys, 0x7FFF7FFFu) & 0x00010001u;
            without = equal_halves(keys, nodata);
        }
        seen->low = __vminu2(seen->low, __viaddmax_u16x2(keys, MINUS_FIRST, 0) | without);
        seen->high = __vmaxu2(seen->high, __viaddmax_u16x2(keys, FIRST, 0) & ~without);
    }
}

template <int LOOK, int N>
static __device__ __forceinline__ void see_words(Seen *seen, const uint32_t (&word)[N],
                                                 const WorkImage &image)
{
    uint32_t nodata = 0, sign = 0;
    if (LOOK == LOOK_INTEGER_NODATA || LOOK == LOOK_F16_NODATA)
        nodata = (uint32_t)image.nodata_key * 0x10001u;
    if (LOOK == LOOK_INTEGER_NODATA)
        sign = image.sample == IMGSTAT_I16 ? 0x80008000u : 0;
#pragma unroll
    for (int i = 0; i < N; i++)
        see<LOOK>(seen, word[i], nodata, sign);
}

template <int N>
static __device__ __forceinline__ void see_all(Seen *seen, Look look, const uint32_t (&word)[N],
                                               const WorkImage &image)
{
    switch (look) {
    case LOOK_NOT:
        break;
    case LOOK_U16:
        see_words<LOOK_U16>(seen, word, image);
        break;
    case LOOK_I16:
        see_words<LOOK_I16>(seen, word, image);
        break;
    case LOOK_F16:
        see_words<LOOK_F16>(seen, word, image);
        break;
    case LOOK_INTEGER_NODATA:
        see_words<LOOK_INTEGER_NODATA>(seen, word, image);
        break;
    case LOOK_F16_NODATA:
        see_words<LOOK_F16_NODATA>(seen, word, image);
        break;
    }
}

static __device__ __forceinline__ uint32_t warp_min(uint32_t v)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(NONE, v);
#else
    for (unsigned h = 16; h > 0; h /= 2)
        v = min(v, __shfl_xor_sync(NONE, v, h));
    return v;
#endif
}

/* What a warp saw in an item becomes the block's. All lanes. */
static __device__ __forceinline__ void offer_seen(Block16 *block, const Seen &seen, uint64_t begin)
{
    const WorkImage &image = block->narrow.image;
    const uint32_t first = first_key((ImgstatSample)image.sample);
    const uint32_t least = warp_min(min(seen.low & 0xFFFFu, seen.low >> 16));
    const uint32_t largest = ~warp_min(~max(seen.high & 0xFFFFu, seen.high >> 16));
    if (threadIdx.x % 32 == 0 && (least != 0xFFFFu || largest != 0)) { /* something was seen */
        uint32_t low = least + first, high = largest - first;
        if (image.sample == IMGSTAT_F16) {
            low += low == 0x7FFFu;
            high += high == 0x7FFFu;
        }
        if (low <= 65535 && narrow_valid(image, low))
            block_offer(block, (int)low, begin, false);
        if (high <= 65535 && narrow_valid(image, high))
            block_offer(block, (int)high, begin, true);
    }
    __syncwarp();
}

/* Whether samples of an item must be looked at: not once every valid key has been within what
 * earlier items brought. */
static __device__ __forceinline__ bool worth_looking(const Block16 *block, uint64_t begin)
{
    const WorkImage &image = block->narrow.image;
    const volatile unsigned long long *best = block->best;
    uint32_t first = first_key((ImgstatSample)image.sample), last = 65535 - first;
    if (image.has_nodata && image.nodata_key == first)
        first++;
    if (image.has_nodata && image.nodata_key == last)
        last--;
    return best[0] < narrow_offer((int)first, begin, false) ||
           best[1] < narrow_offer((int)last, begin, true);
}

/* What a look for new extrema takes. */
static __device__ __forceinline__ Look look_at(const WorkImage &image)
{
    switch (image.sample) {
    case IMGSTAT_U16:
        return image.has_nodata ? LOOK_INTEGER_NODATA : LOOK_U16;
    case IMGSTAT_I16:
        return image.has_nodata ? LOOK_INTEGER_NODATA : LOOK_I16;
    default:
        return image.has_nodata ? LOOK_F16_NODATA : LOOK_F16;
    }
}

static __device__ __forceinline__ void see_one(Seen *seen, const WorkImage &image, uint32_t raw)
{
    const uint32_t word[1] = {raw * 0x10001u};
    see_all(seen, look_at(image), word, image);
}

/* ---- One sample ------------------------------------------------------------------------------ */

static __device__ __forceinline__ void add_index(const Block16 *block, uint64_t *bins,
                                                 uint32_t index, uint64_t n)
{
    const uint32_t raw = (index + block->layout.base) & 0xFFFFu;
    bin_add(&bins[key_of(block->narrow.image, raw)], n);
}

/* A sample that has no counter here goes straight to the record; equal ones of a warp together. */
static __device__ __noinline__ void count_missed(Block16 *block, uint64_t *bins, uint32_t raw,
                                                 uint64_t begin)
{
    const unsigned active = __activemask();
    const unsigned peers = __match_any_sync(active, raw);
    if (threadIdx.x % 32 != (unsigned)__ffs((int)peers) - 1)
        return;
    const uint32_t key = key_of(block->narrow.image, raw);
    bin_add(&bins[key], (uint64_t)__popc(peers));
    atomicAdd(&block->missed, (unsigned)__popc(peers));
    if (narrow_valid(block->narrow.image, key)) {
        block_offer(block, (int)key, begin, false);
        block_offer(block, (int)key, begin, true);
    }
}

/* Empties the upper part that counts an index. */
static __device__ __forceinline__ void empty_upper(Block16 *block, uint64_t *bins, uint32_t index)
{
    unsigned *word = (unsigned *)table + (index - block->layout.fold);
    const unsigned n = atomicAnd(word, LOWER_MASK) >> LOWER_BITS;
    if (n)
        add_index(block, bins, index, n);
}

/* In any layout. begin: of the item. */
static __device__ __forceinline__ void count_one(Block16 *block, const Layout &layout,
                                                 uint64_t *bins, uint32_t raw, uint64_t begin)
{
    const uint32_t index = (raw - layout.base) & 0xFFFFu;
    const uint32_t lane = (threadIdx.x % 32 << 2) & ((1u << layout.shift) - 1);
    if (index < layout.direct) {
        atomicAdd((unsigned *)(table + (index << layout.shift | lane)), 1u);
    } else if (!layout.fold) {
        count_missed(block, bins, raw, begin);
    } else if (atomicAdd((unsigned *)table + (index - layout.fold), UPPER_ONE) & UPPER_MUCH) {
        empty_upper(block, bins, index);
    }
}

/* Moves what a round of steps left in the lower parts, where it is much. All threads; nothing is
 * counted meanwhile. */
static __device__ __noinline__ void empty_lower(Block16 *block, uint64_t *bins)
{
    const Layout layout = block->layout;
    for (uint32_t i = layout.wide + 4 * threadIdx.x; i < layout.direct; i += 4 * THREADS) {
        unsigned *words = (unsigned *)table + i;
        const uint4 v = *(const uint4 *)words;
        if (!((v.x | v.y | v.z | v.w) & (LOWER_MASK & ~(LEFT_MOST - 1u))))
            continue;
        for (uint32_t k = 0; k < 4; k++) {
            const unsigned n = words[k] & LOWER_MASK;
            words[k] &= ~LOWER_MASK;
            if (n)
                add_index(block, bins, i + k, n);
        }
    }
}

/* After a step, `steps` of them since the last look. All threads. */
static __device__ __forceinline__ uint32_t end_step(Block16 *block, uint64_t *bins, uint32_t steps)
{
    if (steps + 1 < ROUND_STEPS)
        return steps + 1;
    __syncthreads(); /* the table holds the round */
    empty_lower(block, bins);
    __syncthreads(); /* lower parts are small again */
    return 0;
}

#endif
