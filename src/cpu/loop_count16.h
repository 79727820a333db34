/* SPDX-License-Identifier: MIT */
/* loop_count16.h: counting 16-bit words, one channel after the other, so that one table is in use:
 * 65,536 counters of 8 bits, which nearly fit the nearest cache. Neighbours go to several such
 * tables in turn where few values are so frequent that each step would wait for the counter that
 * the last one stored. A sample of the words chooses. */
#ifndef IMGSTAT_CPU_LOOP_COUNT16_H
#define IMGSTAT_CPU_LOOP_COUNT16_H

#include "cpu/loop_common.h"

enum {
    /* Parts of a round are counted side by side, as neighbours are often equal. 64 KiB of one to
     * four channels are whole rounds but for a few pixels. */
    COUNT16_PARTS = 8,
    COUNT16_PART = 170,
    COUNT16_ROUND = COUNT16_PARTS * COUNT16_PART,
    COUNT16_BLOCK = 8 * COUNT16_ROUND, /* words of a channel */
    COUNT16_SAMPLED = 31
};

/* Counts every `stride`th word at x, n <= COUNT16_BLOCK of them, in the first `tables` tables.
 * Words whose counters wrap are noted and go to 32-bit counters all together, since these are in no
 * near cache. Meanwhile as many words that lie `ahead` bytes behind x come nearer. */
FORCE_INLINE void count_block(const Mem16 *x, size_t n, size_t stride, unsigned tables,
                              uint8_t *low, uint32_t *wide, size_t ahead)
{
    uint16_t wrapped[COUNT16_BLOCK];
    size_t n_wrapped = 0, done = 0;
    const Mem16 *const start = x;
    for (; n - done >= COUNT16_ROUND; done += COUNT16_ROUND, x += COUNT16_ROUND * stride) {
        for (size_t k = 0; k < COUNT16_PART; k++) {
            prefetch(start, ahead + (done + COUNT16_PARTS * k) * sizeof *x);
#pragma GCC unroll 8
            for (size_t i = 0; i < COUNT16_PARTS; i++) {
                const uint16_t word = x[(i * COUNT16_PART + k) * stride];
                if (__builtin_expect(++low[i % tables * COUNTERS8_STRIDE + word] == 0, 0)) {
                    __builtin_prefetch(wide + word, 1);
                    wrapped[n_wrapped++] = word;
                }
            }
        }
    }
    for (size_t i = 0; i < n - done; i++) {
        const uint16_t word = x[i * stride];
        if (++low[i % tables * COUNTERS8_STRIDE + word] == 0)
            wrapped[n_wrapped++] = word;
    }
    for (size_t i = 0; i < n_wrapped; i++)
        wide[wrapped[i]] += 256;
}

/* The tables for every `stride`th of n words: all of them where few values are frequent. */
FORCE_INLINE unsigned choose_tables(const Mem16 *x, size_t n, size_t stride)
{
    enum { FREQUENT = COUNT16_SAMPLED / 4, HASHED = 256 };
    uint8_t seen[HASHED] = {0};
    unsigned most = 0;
    if (n < (size_t)2 * COUNT16_SAMPLED)
        return 1;
    const size_t step = ((n / (COUNT16_SAMPLED + 1) - 1) | 1) * stride; /* odd: of two values that
                                                                           alternate, both */
    for (size_t i = 0; i < COUNT16_SAMPLED; i++) {
        const unsigned word = x[i * step], times = ++seen[(word ^ word >> 8) % HASHED];
        most = times > most ? times : most;
    }
    return most > FREQUENT ? COUNTERS8_TABLES : 1;
}

FORCE_INLINE void count_words_of(const Mem16 *x, size_t n, unsigned channels, const LoopWords *to,
                                 LoopChoice *choice)
{
    const size_t pixels = n / channels;
    for (unsigned c = 0; c < channels; c++) {
        const unsigned tables = choose_tables(x + c, pixels, channels);
        uint8_t *const low = to->low + c * (size_t)COUNTERS8_TABLES * COUNTERS8_STRIDE;
        uint32_t *const wide = to->wide + c * (size_t)COUNTERS32_STRIDE;
        choice->tables = tables > choice->tables ? tables : choice->tables;
        for (size_t i = 0, m; i < pixels; i += m) {
            const Mem16 *const from = x + i * channels + c;
            /* the block's share of what comes after the n words */
            const size_t ahead = (n + c * pixels + i - i * channels - c) * sizeof *x;
            m = least(pixels - i, COUNT16_BLOCK);
            if (tables > 1)
                count_block(from, m, channels, COUNTERS8_TABLES, low, wide, ahead);
            else
                count_block(from, m, channels, 1, low, wide, ahead);
        }
    }
}

static void count_words(const void *x, size_t n, unsigned channels, const LoopWords *to,
                        LoopChoice *choice)
{
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
