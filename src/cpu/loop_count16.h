/* SPDX-License-Identifier: MIT */
/* loop_count16.h: counting 16-bit words, one channel after the other, so that one table is in
 * use. In a table of 8-bit counters, which nearly fits the nearest cache; in several of them by
 * turns, where few values are so frequent that their counters would be waited for; or in wide
 * counters, where few cache lines of these are in use. A sample of the words says which. */
#ifndef IMGSTAT_CPU_LOOP_COUNT16_H
#define IMGSTAT_CPU_LOOP_COUNT16_H

#include "cpu/loop_frequent.h"

enum {
    WORDS_BLOCK = 1024, /* pixels */
    WORDS_PERIOD = 4,   /* pixels: whole 64-bit words */
    /* Parts of a turn are counted side by side, as neighbours are often equal and would wait for
     * the counter that the one before them stored. 64 KiB of one to four channels are whole turns
     * but for a few pixels. */
    WORDS_PARTS = 8,
    WORDS_PART = 170,
    WORDS_TURN = WORDS_PARTS * WORDS_PART,
    WORDS_PIECE = 8 * WORDS_TURN /* words of a channel */
};

/* How every `stride`th of some words is counted. */
typedef enum WordsWay {
    WORDS_LOW,     /* in one table of 8-bit counters */
    WORDS_CROWDED, /* in several in turn: few values are so frequent that counters are waited for */
    WORDS_WIDE     /* in wide counters: few cache lines of them are in use */
} WordsWay;

/* Every `stride`th word, n <= WORDS_PIECE of them. Those whose counters come round are noted, and
 * go to wide counters all together, since these are in no near cache. */
LOOP void count_low(const Mem16 *x, size_t n, size_t stride, unsigned tables, uint8_t *low,
                    uint32_t *wide, const Mem16 *ahead)
{
    uint16_t carried[WORDS_PIECE];
    size_t n_carried = 0, done = 0;
    for (; n - done >= WORDS_TURN; done += WORDS_TURN, x += WORDS_TURN * stride) {
        for (size_t k = 0; k < WORDS_PART; k++, ahead += WORDS_PARTS) {
            __builtin_prefetch(ahead, 0, 2);
#pragma GCC unroll 8
            for (size_t i = 0; i < WORDS_PARTS; i++) {
                const uint16_t word = x[(i * WORDS_PART + k) * stride];
                if (__builtin_expect(++low[i % tables * LOOP_LOW + word] == 0, 0)) {
                    __builtin_prefetch(wide + word, 1);
                    carried[n_carried++] = word;
                }
            }
        }
    }
    for (size_t i = 0; i < n - done; i++) {
        const uint16_t word = x[i * stride];
        if (++low[i % tables * LOOP_LOW + word] == 0)
            carried[n_carried++] = word;
    }
    for (size_t i = 0; i < n_carried; i++)
        wide[carried[i]] += 256;
}

LOOP void count_wide(const Mem16 *x, size_t n, size_t stride, uint32_t *wide, const Mem16 *ahead)
{
    size_t done = 0;
    for (; n - done >= WORDS_TURN; done += WORDS_TURN, x += WORDS_TURN * stride) {
        for (size_t k = 0; k < WORDS_PART; k++, ahead += WORDS_PARTS) {
            __builtin_prefetch(ahead, 0, 2);
#pragma GCC unroll 8
            for (size_t i = 0; i < WORDS_PARTS; i++)
                wide[x[(i * WORDS_PART + k) * stride]]++;
        }
    }
    for (size_t i = 0; i < n - done; i++)
        wide[x[i * stride]]++;
}

/* The same in order, and as many by a load as 64 bits hold. */
LOOP void count_in_order(const Mem16 *x, size_t n, size_t stride, uint32_t *wide,
                         const Mem16 *ahead)
{
    const size_t words = stride == 1 ? 4 : stride == 3 ? 2 : 1;
    size_t i = 0;
    for (; n - i >= WORDS_PARTS; i += WORDS_PARTS, ahead += WORDS_PARTS) {
        __builtin_prefetch(ahead, 0, 2);
#pragma GCC unroll 8
        for (size_t k = i; k < i + WORDS_PARTS; k += words) {
            const Mem16 *const at = x + k * stride;
            const uint64_t some = words > 1 ? *(const Mem64 *)(const void *)at : *at;
#pragma GCC unroll 4
            for (size_t j = 0; j < words; j++)
                wide[(uint16_t)(some >> 16 * j * stride)]++;
        }
    }
    for (; i < n; i++)
        wide[x[i * stride]]++;
}

/* Two channels of n pixels likewise, by one load. */
LOOP void count_two(const Mem16 *x, size_t n, size_t stride, uint32_t *wide, const Mem16 *ahead)
{
    enum { PIXELS = 4 };
    size_t i = 0;
    for (; n - i >= PIXELS; i += PIXELS, ahead += (size_t)2 * PIXELS) {
        __builtin_prefetch(ahead, 0, 2);
#pragma GCC unroll 4
        for (size_t k = i; k < i + PIXELS; k++) {
            const uint32_t both = *(const Mem32 *)(const void *)(x + k * stride);
            wide[both & 0xFFFF]++;
            wide[LOOP_TABLE + (both >> 16)]++;
        }
    }
    for (; i < n; i++) {
        wide[x[i * stride]]++;
        wide[LOOP_TABLE + x[i * stride + 1]]++;
    }
}

/* As a sample of every `stride`th of the n words says. Where counters of bytes are slow, wide ones
 * are faster already where neighbours are so close that those in use stay in the nearest cache. */
LOOP WordsWay choose_way(const Mem16 *x, size_t n, size_t stride, bool slow_bytes)
{
    enum { SAMPLED = 31, MOST = SAMPLED / 4, FEW = 20, HASHED = 256, CLOSE = 4096 };
    uint8_t seen[HASHED] = {0}, seen_lines[HASHED] = {0};
    const size_t apart = n / (SAMPLED + 1);
    const size_t step = ((apart - 1) | 1) * stride; /* odd: of two values in turn, both */
    unsigned most = 0, lines = 0, differ = 0;
    if (n < (size_t)2 * SAMPLED)
        return WORDS_LOW;
    for (size_t i = 0; i < SAMPLED; i++) {
        const unsigned word = x[i * step], next = x[i * step + stride], line = word / 16;
        const unsigned times = ++seen[(word ^ word >> 8) % HASHED];
        most = times > most ? times : most;
        lines += seen_lines[(line ^ line >> 8) % HASHED]++ == 0;
        differ += word > next ? word - next : next - word;
    }
    if (most > MOST)
        return WORDS_CROWDED;
    return lines <= FEW || (slow_bytes && differ <= CLOSE * SAMPLED) ? WORDS_WIDE : WORDS_LOW;
}

/* Interleaved words that do not repeat, one channel after the other, or two by two. While they are
 * counted, as many words from `ahead` on come nearer. */
LOOP void count_range(const Mem16 *x, size_t n, unsigned channels, const LoopWords *to,
                      LoopChoice *choice, const Mem16 *ahead)
{
    const size_t all = n / channels;
    WordsWay way[LOOP_CHANNELS];
    for (unsigned c = 0; c < channels; c++) {
        way[c] = choose_way(x + c, all, channels, choice->slow_bytes);
        choice->crowded |= way[c] == WORDS_CROWDED;
    }
    for (unsigned c = 0; c < channels; c++, x++) {
        uint8_t *const low = to->low + c * (size_t)LOOP_LOW_TABLES * LOOP_LOW;
        uint32_t *const wide = to->wide + c * (size_t)LOOP_TABLE;
        const bool in_order = choice->slow_bytes && way[c] == WORDS_WIDE;
        if (in_order && channels % 2 == 0 && c % 2 == 0 && way[c + 1] == WORDS_WIDE) {
            count_two(x, all, channels, wide, ahead);
            c++, x++, ahead += 2 * all;
            continue;
        }
        if (in_order) {
            count_in_order(x, all, channels, wide, ahead);
            ahead += all;
            continue;
        }
        for (size_t i = 0, m; i < all; i += m, ahead += m) {
            const Mem16 *const from = x + i * channels;
            m = least(all - i, WORDS_PIECE);
            if (way[c] == WORDS_LOW)
                count_low(from, m, channels, 1, low, wide, ahead);
            else if (way[c] == WORDS_CROWDED)
                count_low(from, m, channels, LOOP_LOW_TABLES, low, wide, ahead);
            else
                count_wide(from, m, channels, wide, ahead);
        }
    }
}

/* Blocks that repeat four pixels are a few additions. */
LOOP void count_words_of(const Mem16 *x, size_t n, unsigned channels, const LoopWords *to,
                         LoopChoice *choice)
{
    const size_t block = (size_t)WORDS_BLOCK * channels;
    size_t from = 0, at = 0;
    for (; n - at >= block; at += block) {
        const Mem64 *const x64 = (const Mem64 *)(const void *)(x + at);
        if (!is_periodic(x64, block * sizeof(Mem16), channels))
            continue;
        count_range(x + from, at - from, channels, to, choice, x + from + n);
        for (size_t i = 0; i < (size_t)WORDS_PERIOD * channels; i++)
            to->wide[i % channels * LOOP_TABLE + x[at + i]] += WORDS_BLOCK / WORDS_PERIOD;
        from = at + block;
    }
    count_range(x + from, n - from, channels, to, choice, x + from + n);
}

LOOP void count_words_any(const void *x, size_t n, unsigned channels, const LoopWords *to,
                          LoopChoice *choice, VectorMask *mask_of)
{
    if (count_frequent(sizeof(Mem16), x, n, channels, to->wide, LOOP_TABLE, choice, mask_of))
        return;
    switch (channels) {
    case 1:
        count_words_of(x, n, 1, to, choice);
        break;
    case 2:
        count_words_of(x, n, 2, to, choice);
        break;
    case 3:
        count_words_of(x, n, 3, to, choice);
        break;
    default:
        count_words_of(x, n, 4, to, choice);
    }
}

#endif
