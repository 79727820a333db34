/* SPDX-License-Identifier: MIT */
/* count_summed.c: counting 16-bit words of which counters seldom come round. */
#include "cpu/count_summed.h"

#include "cpu/loop_extrema.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
    PARTS = 8,       /* of a turn: counted side by side, as neighbours are often equal and would
                        wait for the counter that the one before them stored */
    AHEAD = 1 << 16, /* words that come nearer before they are counted */
    SUM_COUNTERS = 65536 / LOOP_SUMS, /* in one sum */
    SUM_PIXELS = 512,                 /* that earn looking at one sum */
    LET_PASS = 256                    /* chances that are not taken where a counter came round */
};

typedef uint16_t __attribute__((vector_size(16))) Words8;
typedef uint16_t __attribute__((vector_size(16), aligned(1), may_alias)) MemWords8;

/* Counters between those of two channels. */
static const size_t TABLES = (size_t)LOOP_LOW_TABLES * LOOP_LOW;

/* Pixels of a part, of as many channels: turns of the loops are long, so that their ends are
 * seldom predicted wrong, but not so long that the place of an extremum is far to seek. */
static const size_t part_pixels[LOOP_CHANNELS + 1] = {0, 512, 128, 128, 64};

/* Least and greatest order keys, in lanes: as many vectors as there are channels hold whole pixels.
 * For each lane, the turn that it had it in first. */
typedef struct Extent {
    Words8 lo[LOOP_CHANNELS], hi[LOOP_CHANNELS];
    Words8 lo_turn[LOOP_CHANNELS], hi_turn[LOOP_CHANNELS];
} Extent;

/* x, or y where the lane of `where` is all ones. */
LOOP Words8 select_lanes(Words8 where, Words8 x, Words8 y)
{
    return (y & where) | (x & ~where);
}

LOOP void take_in(Words8 *lo, Words8 *hi, Words8 keys)
{
#if defined(__SSE2__)
    *lo -= (Words8)_mm_subs_epu16((__m128i)*lo, (__m128i)keys);
    *hi += (Words8)_mm_subs_epu16((__m128i)keys, (__m128i)*hi);
#else
    *lo = select_lanes((Words8)(keys < *lo), *lo, keys);
    *hi = select_lanes((Words8)(keys > *hi), *hi, keys);
#endif
}

LOOP void note_turn(Extent *extent, unsigned channels, const Words8 *lo, const Words8 *hi,
                    uint16_t turn)
{
    const Words8 now = turn + (Words8){0};
    for (unsigned c = 0; c < channels; c++) {
        const Words8 less = (Words8)(lo[c] < extent->lo[c]);
        const Words8 more = (Words8)(hi[c] > extent->hi[c]);
        extent->lo[c] = select_lanes(less, extent->lo[c], lo[c]);
        extent->hi[c] = select_lanes(more, extent->hi[c], hi[c]);
        extent->lo_turn[c] = select_lanes(less, extent->lo_turn[c], now);
        extent->hi_turn[c] = select_lanes(more, extent->hi_turn[c], now);
    }
}

/* Adds 1 to the counters of whole turns of the n words of interleaved channels, and notes the
 * extent of their keys, which are the words with some bits flipped; returns how many turns.
 * Meanwhile other words come nearer. */
LOOP size_t add_turns(const Mem16 *x, size_t n, unsigned channels, uint8_t *low, uint16_t flip,
                      Extent *extent)
{
    const size_t part = part_pixels[channels] * channels, turns = n / (PARTS * part);
    const Words8 flips = flip + (Words8){0};
    for (size_t turn = 0; turn < turns; turn++, x += PARTS * part) {
        Words8 lo[LOOP_CHANNELS], hi[LOOP_CHANNELS];
        for (unsigned c = 0; c < channels; c++) {
            lo[c] = ~(Words8){0};
            hi[c] = (Words8){0};
        }
        for (size_t k = 0; k < part; k += channels) {
            const MemWords8 *const some = (const MemWords8 *)(const void *)(x + PARTS * k);
#pragma GCC unroll 4
            for (unsigned c = 0; c < channels; c++) {
                __builtin_prefetch(some + AHEAD / PARTS + c, 0, 2);
                take_in(&lo[c], &hi[c], some[c] ^ flips);
#pragma GCC unroll 8
                for (size_t i = 0; i < PARTS; i++)
                    low[c * TABLES + x[i * part + k + c]]++;
            }
        }
        note_turn(extent, channels, lo, hi, (uint16_t)turn);
    }
    return turns;
}

/* Functions of their own, so that the loop has all registers. Of an instruction that adds 1 without
 * naming it Intel's processors issue less. */
#if defined(__x86_64__) && !defined(__clang__)
#define WORDS_LOOP static __attribute__((noinline, target("tune=haswell"))) size_t
#else
#define WORDS_LOOP static __attribute__((noinline)) size_t
#endif

WORDS_LOOP add_turns_1(const Mem16 *x, size_t n, uint8_t *low, uint16_t flip, Extent *extent)
{
    return add_turns(x, n, 1, low, flip, extent);
}

WORDS_LOOP add_turns_2(const Mem16 *x, size_t n, uint8_t *low, uint16_t flip, Extent *extent)
{
    return add_turns(x, n, 2, low, flip, extent);
}

WORDS_LOOP add_turns_3(const Mem16 *x, size_t n, uint8_t *low, uint16_t flip, Extent *extent)
{
    return add_turns(x, n, 3, low, flip, extent);
}

WORDS_LOOP add_turns_4(const Mem16 *x, size_t n, uint8_t *low, uint16_t flip, Extent *extent)
{
    return add_turns(x, n, 4, low, flip, extent);
}

static size_t add_whole_turns(const Mem16 *x, size_t n, unsigned channels, uint8_t *low,
                              uint16_t flip, Extent *extent)
{
    switch (channels) {
    case 1:
        return add_turns_1(x, n, low, flip, extent);
    case 2:
        return add_turns_2(x, n, low, flip, extent);
    case 3:
        return add_turns_3(x, n, low, flip, extent);
    default:
        return add_turns_4(x, n, low, flip, extent);
    }
}

/* The extrema of a channel, of whose turns each has so many pixels. */
static void fold_lanes(const Extent *extent, unsigned channels, unsigned c, size_t turn,
                       SummedExtrema *out)
{
    *out = (SummedExtrema){.min = UINT64_MAX, .max = 0, .stretch = turn};
    for (unsigned i = c; i < 8 * channels; i += channels) {
        const uint16_t lo = extent->lo[i / 8][i % 8], hi = extent->hi[i / 8][i % 8];
        const size_t lo_at = extent->lo_turn[i / 8][i % 8] * turn;
        const size_t hi_at = extent->hi_turn[i / 8][i % 8] * turn;
        if (lo < out->min || (lo == out->min && lo_at < out->min_at)) {
            out->min = lo;
            out->min_at = lo_at;
        }
        if (i == c || hi > out->max || (hi == out->max && hi_at < out->max_at)) {
            out->max = hi;
            out->max_at = hi_at;
        }
    }
}

/* Adds 1 to the counters of n words of interleaved channels. */
static void add_words(const Mem16 *x, size_t n, unsigned channels, uint8_t *low, uint16_t flip,
                      SummedExtrema *extrema)
{
    const size_t turn = PARTS * part_pixels[channels];
    Extent extent = {0};
    memset(extent.lo, 0xFF, sizeof extent.lo);
    const size_t done = add_whole_turns(x, n, channels, low, flip, &extent) * turn;
    for (unsigned c = 0; c < channels; c++) {
        SummedExtrema *const e = &extrema[c];
        fold_lanes(&extent, channels, c, turn, e);
        for (size_t i = done * channels + c; i < n; i += channels) {
            const uint64_t key = x[i] ^ flip;
            low[c * TABLES + x[i]]++;
            e->min_at = key < e->min ? done : e->min_at;
            e->max_at = key > e->max ? done : e->max_at;
            e->min = key < e->min ? key : e->min;
            e->max = key > e->max ? key : e->max;
        }
    }
}

/* Undoes that. */
static void take_words(const Mem16 *x, size_t n, unsigned channels, uint8_t *low)
{
    for (unsigned c = 0; c < channels; c++)
        for (size_t i = c; i < n; i += channels)
            low[c * TABLES + x[i]]--;
}

/* Of SUM_COUNTERS counters; whether one of them is half full. */
static uint32_t sum_counters(const uint8_t *low, bool *half_full)
{
#if defined(__SSE2__)
    __m128i sums = _mm_setzero_si128(), any = sums;
#pragma GCC unroll 4
    for (size_t i = 0; i < SUM_COUNTERS; i += 16) {
        const __m128i some = _mm_loadu_si128((const __m128i *)(const void *)(low + i));
        any = _mm_or_si128(any, some);
        sums = _mm_add_epi64(sums, _mm_sad_epu8(some, _mm_setzero_si128()));
    }
    *half_full = _mm_movemask_epi8(any) != 0;
    return (uint32_t)(_mm_cvtsi128_si32(sums) + _mm_cvtsi128_si32(_mm_srli_si128(sums, 8)));
#else
    uint32_t sum = 0;
    uint8_t any = 0;
    for (size_t i = 0; i < SUM_COUNTERS; i++) {
        any |= low[i];
        sum += low[i];
    }
    *half_full = any > 127;
    return sum;
#endif
}

/* What is counted of one channel. */
typedef struct Channel {
    uint8_t *low;
    uint32_t *wide, *sums;
    unsigned first, last; /* sums that may have changed, by key */
    unsigned flip;        /* what makes one by word of them */
    uint32_t now[LOOP_SUMS];
    bool half_full[LOOP_SUMS];
} Channel;

static void find_channel(const LoopWords *to, unsigned c, uint16_t flip, Channel *out)
{
    out->low = to->low + c * TABLES;
    out->wide = to->wide + c * (size_t)LOOP_TABLE;
    out->sums = to->sums + c * (size_t)LOOP_SUMS_ROW;
    out->flip = flip / SUM_COUNTERS;
}

void cpu_forget_sums(const LoopWords *to, unsigned channels)
{
    for (unsigned c = 0; c < channels; c++)
        to->sums[c * (size_t)LOOP_SUMS_ROW + LOOP_SUMS] = 1;
}

/* Notes the new sum of counters from `at` on. If one of them is half full, they are emptied, so
 * that it does not come round soon. */
static void settle_some(Channel *channel, size_t at, uint32_t sum, bool half_full)
{
    uint8_t *const from = channel->low + at;
    uint32_t *const to = channel->wide + at;
    channel->sums[at / SUM_COUNTERS] = half_full ? 0 : sum;
    if (!half_full)
        return;
    LOOP_INDEPENDENT
    for (size_t i = 0; i < SUM_COUNTERS; i++)
        to[i] += from[i];
    memset(from, 0, SUM_COUNTERS);
}

/* Sums all counters where words have been counted without. */
static void renew_sums(Channel *channel)
{
    if (!channel->sums[LOOP_SUMS])
        return;
    for (size_t at = 0; at < 65536; at += SUM_COUNTERS) {
        bool half_full;
        const uint32_t sum = sum_counters(channel->low + at, &half_full);
        settle_some(channel, at, sum, half_full);
    }
    channel->sums[LOOP_SUMS] = 0;
}

/* What words with keys from lo to hi changed. */
static uint32_t look(Channel *channel, uint64_t lo, uint64_t hi)
{
    uint32_t grown = 0;
    channel->first = (unsigned)(lo / SUM_COUNTERS);
    channel->last = (unsigned)(hi / SUM_COUNTERS);
    for (unsigned k = channel->first; k <= channel->last; k++) {
        const size_t g = k ^ channel->flip;
        channel->now[g] = sum_counters(channel->low + g * SUM_COUNTERS, &channel->half_full[g]);
        grown += channel->now[g] - channel->sums[g];
    }
    return grown;
}

static void settle(Channel *channel)
{
    for (unsigned k = channel->first; k <= channel->last; k++) {
        const size_t g = k ^ channel->flip;
        settle_some(channel, g * SUM_COUNTERS, channel->now[g], channel->half_full[g]);
    }
}

/* Whether the samples of n pixels are so different that counters seldom come round, their counters
 * so few that looking at them is earned, and those of several channels so close that they stay in
 * the nearest cache. equal: pairs of equal samples that are overlooked. */
static bool is_spread(const Mem16 *x, size_t n, unsigned channels, unsigned equal)
{
    enum { SAMPLED = 31, HASHED = 256, CLOSE = 4096 };
    const size_t apart = n / (SAMPLED + 1);
    if (n < (size_t)2 * SUM_PIXELS)
        return false;
    for (unsigned c = 0; c < channels; c++) {
        uint8_t seen[HASHED] = {0};
        uint16_t last[HASHED], least_word = UINT16_MAX, most_word = 0; /* last: where seen */
        unsigned differ = 0;
        for (size_t i = 0; i < SAMPLED; i++) {
            /* anywhere in its part, so that samples of rows are not below each other */
            const Mem16 *const at = x + (i * apart + i * 40503 % apart) * channels + c;
            const uint16_t word = at[0], next = at[channels];
            const unsigned hash = (word ^ word >> 8) % HASHED;
            if (seen[hash] && last[hash] == word && equal-- == 0)
                return false;
            seen[hash] = 1;
            last[hash] = word;
            least_word = word < least_word ? word : least_word;
            most_word = word > most_word ? word : most_word;
            differ += word > next ? word - next : next - word;
        }
        if (((size_t)(most_word - least_word) / SUM_COUNTERS + 1) * SUM_PIXELS > n ||
            (channels > 1 && differ > CLOSE * SAMPLED))
            return false;
    }
    return true;
}

bool cpu_measure_summed(ImgstatSample sample, const void *x, size_t n, unsigned channels,
                        const LoopWords *to, LoopChoice *choice, SummedExtrema *extrema)
{
    const uint16_t flip = sample == IMGSTAT_I16 ? 0x8000 : 0;
    const size_t pixels = n / channels;
    Channel channel[LOOP_CHANNELS];
    bool agree = true;
    if (choice->slow_bytes)
        return false;
    if (choice->let_pass > 0) {
        choice->let_pass--;
        return false;
    }
    if (!is_spread(x, pixels, channels, choice->summed)) /* one pair, where it went well before */
        return false;
    for (unsigned c = 0; c < channels; c++) {
        find_channel(to, c, flip, &channel[c]);
        renew_sums(&channel[c]);
    }
    add_words(x, n, channels, to->low, flip, extrema);
    for (unsigned c = 0; c < channels; c++)
        agree &= look(&channel[c], extrema[c].min, extrema[c].max) == pixels;
    if (!agree) {
        take_words(x, n, channels, to->low);
        choice->summed = false;
        choice->let_pass = LET_PASS;
        return false;
    }
    for (unsigned c = 0; c < channels; c++)
        settle(&channel[c]);
    choice->summed = true;
    return true;
}
