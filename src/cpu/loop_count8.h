/* SPDX-License-Identifier: MIT */
/* loop_count8.h: counting bytes, in whichever of three ways a sample of them says is fastest.
 * By comparing with every value, where blocks span few; by pairs of neighbours, in tables small
 * enough for the nearest cache; byte by byte, where pairs are too many for it or one of them is so
 * frequent that its counter is waited for. */
#ifndef IMGSTAT_CPU_LOOP_COUNT8_H
#define IMGSTAT_CPU_LOOP_COUNT8_H

#include "cpu/loop_frequent.h"

enum {
    BYTES_BLOCK = 256,      /* samples of a channel */
    BYTES_CHOSEN = 1 << 18, /* bytes that a choice stands for */
    BLOCKS_SAMPLED = 8,
    PAIRS_SAMPLED = 256
};

typedef uint8_t __attribute__((vector_size(16))) Bytes16;

/* What instruction sets have of their own. */
typedef struct BytesParts {
    void (*extent)(const uint8_t *block, unsigned *lo, unsigned *hi);
    /* Counts a block of bytes from lo to hi, lo < hi: so that no count exceeds 255. */
    void (*span)(const uint8_t *block, unsigned lo, unsigned hi, uint32_t *counts);
    /* A block of each channel, one after the other; NULL: too slow to pay. */
    void (*apart)(const uint8_t *x, unsigned channels, uint8_t *planar);
    VectorMask *mask_of;
    unsigned below_pairs; /* so few values comparing counts faster than pairs do */
    unsigned below_bytes; /* the same for byte by byte */
} BytesParts;

LOOP void extent(const uint8_t *x, unsigned *lo, unsigned *hi)
{
    uint8_t least_byte = 0xFF, most_byte = 0;
    for (size_t i = 0; i < BYTES_BLOCK; i++) {
        least_byte = x[i] < least_byte ? x[i] : least_byte;
        most_byte = x[i] > most_byte ? x[i] : most_byte;
    }
    *lo = least_byte;
    *hi = most_byte;
}

LOOP void count_span(const uint8_t *x, unsigned lo, unsigned hi, uint32_t *counts)
{
    for (unsigned value = lo; value <= hi; value++) {
        Bytes16 hits = {0};
        for (size_t i = 0; i < BYTES_BLOCK; i += sizeof hits) {
            Bytes16 some;
            memcpy(&some, x + i, sizeof some);
            hits -= (Bytes16)(some == (uint8_t)value); /* all bits where equal */
        }
        uint64_t eight[2];
        memcpy(eight, &hits, sizeof eight);
        /* the highest byte is the sum of all */
        counts[value] += (uint32_t)((eight[0] + eight[1]) * 0x0101010101010101 >> 56);
    }
}

/* Neighbours of a channel go to different tables: else each waits for the counter that the one
 * before it stored. */
LOOP void add_bytes(uint64_t eight, unsigned t, unsigned channels, uint32_t times, uint32_t *bytes)
{
#pragma GCC unroll 8
    for (unsigned i = 8 * t; i < 8 * t + 8; i++, eight >>= 8)
        bytes[i % channels * LOOP_BYTES + i / channels * LOOP_BYTE_TABLE + (eight & 0xFF)] += times;
}

/* Counts a block of each channel that repeats 8 pixels; false if it does not. */
LOOP bool count_periodic(const uint8_t *x, unsigned channels, uint32_t *bytes)
{
    const Mem64 *const x64 = (const Mem64 *)(const void *)x;
    if (!is_periodic(x64, (size_t)BYTES_BLOCK * channels, channels))
        return false;
    for (unsigned t = 0; t < channels; t++)
        add_bytes(x64[t], t, channels, BYTES_BLOCK / 8, bytes);
    return true;
}

/* Brings a block near that is read soon, while another one is counted. */
LOOP void bring_nearer(const uint8_t *ahead, unsigned channels)
{
    for (size_t i = 0; i < (size_t)BYTES_BLOCK * channels; i += 64)
        __builtin_prefetch(ahead + i, 0, 2);
}

/* Where blocks do not repeat, as many bytes from `ahead` on come nearer. */
LOOP void count_singly(const uint8_t *x, size_t n, unsigned channels, uint32_t *bytes,
                       const uint8_t *ahead)
{
    const size_t block = (size_t)BYTES_BLOCK * channels, turn = (size_t)8 * channels;
    size_t at = 0;
    while (n - at >= turn) {
        const Mem64 *const x64 = (const Mem64 *)(const void *)(x + at);
        const size_t m = n - at < block ? (n - at) / turn * turn : block;
        if (m < block || !count_periodic(x + at, channels, bytes)) {
            for (size_t k = 0; k < m / 8; k += channels) {
                __builtin_prefetch(ahead + at + 8 * k, 0, 2);
#pragma GCC unroll 4
                for (unsigned t = 0; t < channels; t++)
                    add_bytes(x64[k + t], t, channels, 1, bytes);
            }
        }
        at += m;
    }
    for (size_t i = 0; at + i < n; i++)
        bytes[i % channels * LOOP_BYTES + i / channels * LOOP_BYTE_TABLE + x[at + i]]++;
}

/* What a counter of pairs in table t loses when it comes round. */
static __attribute__((noinline, cold, unused)) void carry_pair(unsigned pair, unsigned t,
                                                               unsigned channels, uint32_t *bytes)
{
    bytes[2 * t % channels * LOOP_BYTES + (pair & 0xFF)] += 256;
    bytes[(2 * t + 1) % channels * LOOP_BYTES + (pair >> 8)] += 256;
}

/* Counts a block of each channel by pairs. Parts of it take turns, for the same reason as above. */
LOOP void count_pairs(const uint8_t *x, unsigned channels, const LoopBytes *to,
                      const uint8_t *ahead)
{
    enum { PARTS = 4 };
    const unsigned tables = loop_pair_tables(channels);
    const size_t part = (size_t)BYTES_BLOCK / 2 / PARTS * channels;
    const Mem16 *const x16 = (const Mem16 *)(const void *)x;
    uint8_t *const pairs = to->pairs; /* bytes may be anything's: else read again for each */
    for (size_t k = 0; k < part; k += tables) {
        __builtin_prefetch(ahead + 2 * PARTS * k, 0, 2);
#pragma GCC unroll 4
        for (unsigned t = 0; t < tables; t++) {
#pragma GCC unroll 4
            for (size_t i = 0; i < PARTS; i++) {
                const unsigned pair = x16[i * part + k + t];
                if (__builtin_expect(++pairs[t * LOOP_LOW + pair] == 0, 0))
                    carry_pair(pair, t, channels, to->bytes);
            }
        }
    }
}

/* The same in wide counters: faster where few cache lines of these are in use, or where counters of
 * one byte are slow; there are 4 pairs by one load then. */
LOOP void count_wide_pairs(const uint8_t *x, unsigned channels, bool by_four, uint32_t *wide,
                           const uint8_t *ahead)
{
    const unsigned tables = loop_pair_tables(channels), pairs = by_four ? 4 : 1;
    const size_t parts = by_four ? 4 : 8, part = BYTES_BLOCK / 2 / parts / pairs * channels;
    const Mem16 *const x16 = (const Mem16 *)(const void *)x;
    const Mem64 *const x64 = (const Mem64 *)(const void *)x;
    for (size_t k = 0; k < part; k += tables) {
        __builtin_prefetch(ahead + 2 * pairs * parts * k, 0, 2);
#pragma GCC unroll 4
        for (unsigned t = 0; t < tables; t++) {
#pragma GCC unroll 8
            for (size_t i = 0; i < parts; i++) {
                const size_t at = i * part + k + t;
                const uint64_t some = by_four ? x64[at] : x16[at];
#pragma GCC unroll 4
                for (unsigned j = 0; j < pairs; j++)
                    wide[(pairs * t + j) % tables * LOOP_TABLE + (uint16_t)(some >> 16 * j)]++;
            }
        }
    }
}

/* Looks at pairs spread over the n bytes: whether their counters stay in the nearest cache and none
 * is waited for, and whether wide ones do: if pairs are few or of close values. */
LOOP void choose_pairs(const uint8_t *x, size_t n, unsigned channels, LoopChoice *choice)
{
    /* MANY: of so many lines a sample holds that are more than the nearest cache does. */
    enum { LINES = 65536 / 64, MANY = 230, FEW = 48, MOST = PAIRS_SAMPLED / 4, CLOSE = 16 };
    uint16_t seen[LOOP_CHANNELS][LINES] = {0};
    const unsigned tables = loop_pair_tables(channels);
    const size_t step = (n / 2 / PAIRS_SAMPLED / tables * tables + 1) * 2; /* all tables in turn */
    unsigned all = 0, lines = 0, most = 0, apart = 0;
    for (size_t at = 0; at + 1 < n && all < PAIRS_SAMPLED; at += step, all++) {
        const unsigned first = x[at], second = x[at + 1];
        const unsigned times = ++seen[all % tables][(second << 8 | first) / 64];
        lines += times == 1;
        most = times > most ? times : most;
        apart += first > second ? first - second : second - first;
    }
    choice->pairs = (tables == 1 || lines <= MANY) && most <= MOST;
    choice->wide = choice->slow_bytes || lines <= FEW || apart * tables <= CLOSE * all;
}

/* Looks at blocks spread over the n bytes: whether enough of them span few values. Of several
 * channels those that do not are counted byte by byte, and taking them apart takes time. */
LOOP void choose_spans(const uint8_t *x, size_t n, unsigned channels, const BytesParts *parts,
                       LoopChoice *choice)
{
    const bool dear = choice->pairs && channels > 1;
    const unsigned most = choice->pairs ? parts->below_pairs : parts->below_bytes;
    const unsigned few = dear ? most * 3 / 4 : most;
    const size_t size = (size_t)BYTES_BLOCK * channels, blocks = n / size;
    uint8_t planar[LOOP_CHANNELS * BYTES_BLOCK];
    unsigned narrow = 0, all = 0;
    for (size_t b = 0; b < blocks; b += blocks / BLOCKS_SAMPLED + 1) {
        const uint8_t *const at = x + b * size;
        if (channels > 1)
            parts->apart(at, channels, planar);
        for (unsigned c = 0; c < channels; c++, all++) {
            unsigned lo, hi;
            parts->extent(channels > 1 ? planar + (size_t)c * BYTES_BLOCK : at, &lo, &hi);
            narrow += hi - lo < few;
        }
    }
    choice->spans = 4 * narrow >= (dear ? 3 : 2) * all;
}

/* A block of interleaved channels by pairs. */
LOOP void count_mixed(const uint8_t *x, unsigned channels, const LoopBytes *to,
                      const LoopChoice *choice, const uint8_t *ahead)
{
    if (count_periodic(x, channels, to->bytes))
        return;
    if (choice->slow_bytes)
        count_wide_pairs(x, channels, true, to->wide, ahead);
    else if (choice->wide)
        count_wide_pairs(x, channels, false, to->wide, ahead);
    else
        count_pairs(x, channels, to, ahead);
}

/* A block of each channel: those that span few values by comparing. */
LOOP void count_apart(const uint8_t *x, unsigned channels, const LoopBytes *to,
                      const LoopChoice *choice, const BytesParts *parts, const uint8_t *ahead)
{
    const bool by_pairs = choice->pairs && channels == 1;
    const unsigned few = by_pairs ? parts->below_pairs : parts->below_bytes;
    uint8_t planar[LOOP_CHANNELS * BYTES_BLOCK];
    if (channels > 1) {
        if (count_periodic(x, channels, to->bytes))
            return;
        parts->apart(x, channels, planar);
        bring_nearer(ahead, channels);
    }
    for (unsigned c = 0; c < channels; c++) {
        const uint8_t *const block = channels > 1 ? planar + (size_t)c * BYTES_BLOCK : x;
        uint32_t *const bytes = to->bytes + c * (size_t)LOOP_BYTES;
        unsigned lo, hi;
        parts->extent(block, &lo, &hi);
        if (lo == hi) {
            bytes[lo] += BYTES_BLOCK;
        } else if (hi - lo < few) {
            if (channels == 1)
                bring_nearer(ahead, 1);
            parts->span(block, lo, hi, bytes);
        } else if (by_pairs) {
            count_mixed(block, 1, to, choice, ahead);
        } else {
            /* of several channels all that follows is on its way already */
            count_singly(block, BYTES_BLOCK, 1, bytes, channels > 1 ? block : ahead);
        }
    }
}

LOOP void count_bytes_of(const uint8_t *x, size_t n, unsigned channels, const LoopBytes *to,
                         LoopChoice *choice, const BytesParts *parts)
{
    const size_t block = (size_t)BYTES_BLOCK * channels, whole = n / block * block;
    if (choice->left < n && whole > 0) {
        choose_pairs(x, n, channels, choice);
        choice->pairs = choice->pairs && to->pairs;
        choice->spans = false;
        if (channels == 1 || parts->apart)
            choose_spans(x, n, channels, parts, choice);
        choice->left = BYTES_CHOSEN;
    }
    choice->left -= least(choice->left, n);
    size_t at = 0;
    if (choice->spans) {
        for (; at < whole; at += block)
            count_apart(x + at, channels, to, choice, parts, x + at + n);
    } else if (choice->pairs) {
        for (; at < whole; at += block)
            count_mixed(x + at, channels, to, choice, x + at + n);
    }
    count_singly(x + at, n - at, channels, to->bytes, x + at + n);
}

LOOP void count_bytes_any(const uint8_t *x, size_t n, unsigned channels, const LoopBytes *to,
                          LoopChoice *choice, const BytesParts *parts)
{
    if (count_frequent(1, x, n, channels, to->bytes, LOOP_BYTES, choice, parts->mask_of))
        return;
    switch (channels) {
    case 1:
        count_bytes_of(x, n, 1, to, choice, parts);
        break;
    case 2:
        count_bytes_of(x, n, 2, to, choice, parts);
        break;
    case 3:
        count_bytes_of(x, n, 3, to, choice, parts);
        break;
    default:
        count_bytes_of(x, n, 4, to, choice, parts);
    }
}

#endif
