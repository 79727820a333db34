/* SPDX-License-Identifier: MIT */
/* loop_count8.h: counting bytes in 32-bit counters, by one of two loops. Pairs of neighbours take
 * half as many steps, in tables of 65,536 counters. Single bytes take small tables: they are faster
 * where pairs are spread over more cache lines than stay near, and where one pair is so frequent
 * that each step waits for the counter that the last one stored. */
#ifndef IMGSTAT_CPU_LOOP_COUNT8_H
#define IMGSTAT_CPU_LOOP_COUNT8_H

#include "cpu/loop_common.h"

enum {
    COUNT8_BLOCK = 1024,     /* pixels */
    COUNT8_PARTS = 8,        /* of a block: neighbours are often equal, and go to one counter */
    COUNT8_CHOSEN = 1 << 18, /* bytes that a choice stands for */
    COUNT8_SAMPLED = 256     /* pairs that a choice is made from */
};

/* Counts n bytes of whole pixels. Neighbours of a channel go to different tables. */
FORCE_INLINE void count_singly(const uint8_t *x, size_t n, unsigned channels, uint32_t *bytes)
{
    const unsigned step = loop_byte_tables(channels) * channels;
    size_t at = 0;
    for (; n - at >= step; at += step) {
        prefetch(x, n + at);
#pragma GCC unroll 4
        for (unsigned t = 0; t < step; t += 8) {
            uint64_t eight = *(const Mem64 *)(const void *)(x + at + t);
#pragma GCC unroll 8
            for (unsigned i = t; i < t + 8; i++, eight >>= 8)
                bytes[i % channels * BYTE_COUNTERS + i / channels * BYTE_STRIDE + (eight & 0xFF)]++;
        }
    }
    for (size_t i = 0; at + i < n; i++)
        bytes[i % channels * BYTE_COUNTERS + i / channels * BYTE_STRIDE + x[at + i]]++;
}

/* Counts a block of pairs. Bytes that lie `ahead` bytes behind it come nearer. */
FORCE_INLINE void count_pairs(const uint8_t *x, unsigned channels, uint32_t *pairs, size_t ahead)
{
    const unsigned tables = loop_pair_tables(channels);
    const size_t part = (size_t)COUNT8_BLOCK / 2 / COUNT8_PARTS * channels;
    const Mem16 *const x16 = (const Mem16 *)(const void *)x;
    for (size_t k = 0; k < part; k += tables) {
        prefetch(x, ahead + 2 * COUNT8_PARTS * k);
#pragma GCC unroll 4
        for (unsigned t = 0; t < tables; t++) {
#pragma GCC unroll 8
            for (size_t i = 0; i < COUNT8_PARTS; i++)
                pairs[t * COUNTERS32_STRIDE + x16[i * part + k + t]]++;
        }
    }
}

/* Whether pairs are counted faster than single bytes, from some that are spread over n bytes. */
FORCE_INLINE bool choose_pairs(const uint8_t *x, size_t n, unsigned channels)
{
    /* A sample of more than SPREAD lines comes from more than the nearest caches hold, where
     * several tables share them. */
    enum { LINES = 65536 / 64, SPREAD = 230, FREQUENT = COUNT8_SAMPLED / 4 };
    uint16_t seen[LOOP_CHANNELS][LINES] = {0};
    const unsigned tables = loop_pair_tables(channels);
    const size_t step = (n / 2 / COUNT8_SAMPLED / tables * tables + 1) * 2; /* all tables in turn */
    unsigned all = 0, lines = 0, most = 0;
    for (size_t at = 0; at + 1 < n && all < COUNT8_SAMPLED; at += step, all++) {
        const unsigned pair = x[at + 1] << 8 | x[at], times = ++seen[all % tables][pair / 64];
        lines += times == 1;
        most = times > most ? times : most;
    }
    return (tables == 1 || lines <= SPREAD) && most <= FREQUENT;
}

FORCE_INLINE void count_bytes_of(const uint8_t *x, size_t n, unsigned channels, const LoopBytes *to,
                                 LoopChoice *choice)
{
    const size_t block = (size_t)COUNT8_BLOCK * channels, whole = n / block * block;
    size_t at = 0;
    if (choice->left < n && whole > 0) {
        choice->pairs = to->pairs && choose_pairs(x, n, channels);
        choice->left = COUNT8_CHOSEN;
    }
    choice->left -= least(choice->left, n);
    if (choice->pairs)
        for (; at < whole; at += block)
            count_pairs(x + at, channels, to->pairs, n);
    if (loop_byte_tables(channels) > choice->tables)
        choice->tables = loop_byte_tables(channels);
    count_singly(x + at, n - at, channels, to->bytes);
}

static void count_bytes(const uint8_t *x, size_t n, unsigned channels, const LoopBytes *to,
                        LoopChoice *choice)
{
    switch (channels) {
    case 1:
        count_bytes_of(x, n, 1, to, choice);
        break;
    case 2:
        count_bytes_of(x, n, 2, to, choice);
        break;
    case 3:
        count_bytes_of(x, n, 3, to, choice);
        break;
    default:
        count_bytes_of(x, n, 4, to, choice);
    }
}

#endif
