/* SPDX-License-Identifier: MIT */
/* loop_frequent.h: counting samples nearly all of which have one of two values, as of
 * scanned pages, masks and what lies around a picture. These are compared with, a vector of samples
 * at a time, since one counter that is stored again and again is waited for; the others are counted
 * one by one. */
#ifndef IMGSTAT_CPU_LOOP_FREQUENT_H
#define IMGSTAT_CPU_LOOP_FREQUENT_H

#include "cpu/loop_common.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Bytes that the instruction set compares at once. */
#ifndef LOOP_VECTOR
#define LOOP_VECTOR 16
#endif

enum {
    FREQUENT = 2,          /* values of a channel that are compared with */
    FREQUENT_TESTS = 31,   /* samples of a channel that are looked at */
    FREQUENT_OTHERS = 1,   /* of these, so many may have other values */
    FREQUENT_BLOCK = 1024, /* pixels */
    FREQUENT_FROM = 4096,  /* pixels: fewer do not earn it */
    FREQUENT_VECTORS = FREQUENT_BLOCK * LOOP_CHANNELS * 2 / LOOP_VECTOR /* of it at most */
};

typedef uint8_t __attribute__((vector_size(LOOP_VECTOR))) Vector8;
typedef uint16_t __attribute__((vector_size(LOOP_VECTOR))) Vector16;

/* A bit a byte, of bytes that are 0 or 255. */
typedef uint32_t VectorMask(const Vector8 *bytes);

LOOP uint32_t mask_portable(const Vector8 *bytes)
{
#if defined(__SSE2__) && LOOP_VECTOR == 16
    return (uint32_t)_mm_movemask_epi8((__m128i)*bytes);
#else
    uint32_t mask = 0;
    for (unsigned i = 0; i < LOOP_VECTOR; i++)
        mask |= (uint32_t)((*bytes)[i] & 1) << i;
    return mask;
#endif
}

typedef struct Frequent {
    uint16_t value[LOOP_CHANNELS][FREQUENT];
    unsigned n[LOOP_CHANNELS];
} Frequent;

/* Sample i of those at x, of 1 or 2 bytes. */
LOOP uint16_t narrow_at(const uint8_t *x, size_t bytes, size_t i)
{
    return bytes == 1 ? x[i] : ((const Mem16 *)(const void *)x)[i];
}

/* Whether nearly all of n samples have so few values, as some of each channel say; which ones. */
LOOP bool find_frequent(size_t bytes, const uint8_t *x, size_t n, unsigned channels, Frequent *out)
{
    const size_t apart = n / channels / (FREQUENT_TESTS + 1);
    if (n / channels < FREQUENT_FROM)
        return false;
    const size_t step = (apart - 1) | 1; /* odd: of two values in turn, both */
    for (unsigned c = 0; c < channels; c++) {
        unsigned others = 0, found = 0;
        for (size_t i = 0; i < FREQUENT_TESTS; i++) {
            const uint16_t value = narrow_at(x, bytes, i * step * channels + c);
            unsigned k = 0;
            while (k < found && out->value[c][k] != value)
                k++;
            if (k < found)
                continue;
            if (found < FREQUENT)
                out->value[c][found++] = value;
            else if (++others > FREQUENT_OTHERS)
                return false;
        }
        out->n[c] = found;
    }
    return true;
}

/* Vectors in which other samples are: which one after the first, and the bytes of these. */
typedef struct FrequentOthers {
    size_t n;
    uint32_t at[FREQUENT_VECTORS], mask[FREQUENT_VECTORS];
} FrequentOthers;

/* Counts those: x is the first vector, which begins with channel 0. */
LOOP void count_others(size_t bytes, const uint8_t *x, const FrequentOthers *others,
                       unsigned channels, uint32_t *counts, size_t pitch)
{
    for (size_t v = 0; v < others->n; v++) {
        const size_t first = (size_t)others->at[v] * LOOP_VECTOR / bytes;
        for (uint32_t mask = others->mask[v]; mask;) {
            const unsigned i = (unsigned)__builtin_ctz(mask) / (unsigned)bytes;
            counts[(first + i) % channels * pitch + narrow_at(x, bytes, first + i)]++;
            mask &= ~((bytes == 1 ? 1u : 3u) << i * bytes);
        }
    }
}

/* As many vectors from x on, of all channels by turns; the first begins with channel 0. */
LOOP void count_run(size_t bytes, const uint8_t *x, size_t vectors, unsigned channels,
                    Vector8 value[][FREQUENT], Vector8 times[][FREQUENT], FrequentOthers *others,
                    VectorMask *mask_of)
{
    const uint32_t all = UINT32_MAX >> (32 - LOOP_VECTOR);
    size_t found = 0;
    for (size_t i = 0; i < vectors; i += channels) {
#pragma GCC unroll 4
        for (unsigned t = 0; t < channels; t++) {
            Vector8 samples, any = {0};
            memcpy(&samples, x + (i + t) * LOOP_VECTOR, LOOP_VECTOR);
#pragma GCC unroll 4
            for (unsigned k = 0; k < FREQUENT; k++) {
                if (bytes == 1) {
                    const Vector8 equal = (Vector8)(samples == value[t][k]);
                    times[t][k] -= equal;
                    any |= equal;
                } else {
                    const Vector16 equal = (Vector16)((Vector16)samples == (Vector16)value[t][k]);
                    times[t][k] = (Vector8)((Vector16)times[t][k] - equal);
                    any |= (Vector8)equal;
                }
            }
            const uint32_t known = mask_of(&any);
            others->at[found] = (uint32_t)(i + t);
            others->mask[found] = known ^ all;
            found += known != all;
        }
    }
    others->n = found;
}

/* Adds what lanes counted to the counters of channels, and empties them. */
LOOP void add_lanes(size_t bytes, unsigned channels, const Frequent *frequent,
                    Vector8 times[][FREQUENT], uint32_t *counts, size_t pitch)
{
    uint8_t lanes[LOOP_VECTOR * LOOP_CHANNELS];
    for (unsigned k = 0; k < FREQUENT; k++) {
        for (unsigned t = 0; t < LOOP_CHANNELS; t++) {
            memcpy(lanes + (size_t)t * LOOP_VECTOR, &times[t][k], LOOP_VECTOR);
            times[t][k] = (Vector8){0};
        }
        for (size_t i = 0; i < LOOP_VECTOR / bytes * channels; i++) {
            const unsigned c = (unsigned)(i % channels);
            if (k < frequent->n[c])
                counts[c * pitch + frequent->value[c][k]] += narrow_at(lanes, bytes, i);
        }
    }
}

/* is_periodic of `each` bytes a channel, compiled for each number of channels. */
LOOP bool is_periodic_block(const uint8_t *x, size_t each, unsigned channels)
{
    const Mem64 *const x64 = (const Mem64 *)(const void *)x;
    switch (channels) {
    case 1:
        return is_periodic(x64, each, 1);
    case 2:
        return is_periodic(x64, each * 2, 2);
    case 3:
        return is_periodic(x64, each * 3, 3);
    default:
        return is_periodic(x64, each * channels, channels);
    }
}

/* Counts n interleaved samples where nearly all have few values: the counters of channels are
 * `pitch` apart. False, and nothing counted, where they have not. */
LOOP bool count_frequent(size_t bytes, const void *samples, size_t n, unsigned channels,
                         uint32_t *counts, size_t pitch, LoopChoice *choice, VectorMask *mask_of)
{
    Frequent frequent;
    const uint8_t *const x = samples;
    choice->frequent = find_frequent(bytes, x, n, channels, &frequent);
    if (!choice->frequent)
        return false;
    const size_t step = LOOP_VECTOR / bytes * channels; /* samples of a vector each channel */
    const size_t most = bytes == 1 ? UINT8_MAX : UINT16_MAX;
    size_t rounds = 0; /* what a lane has counted at most */
    uint8_t pattern[LOOP_VECTOR * LOOP_CHANNELS] = {0};
    Vector8 value[LOOP_CHANNELS][FREQUENT], times[LOOP_CHANNELS][FREQUENT] = {0};
    for (unsigned k = 0; k < FREQUENT; k++) {
        for (size_t i = 0; i < LOOP_VECTOR / bytes * channels; i++) {
            const unsigned c = (unsigned)(i % channels);
            const uint16_t v = frequent.value[c][k < frequent.n[c] ? k : 0];
            memcpy(pattern + i * bytes, &v, bytes); /* little-endian */
        }
        for (unsigned t = 0; t < LOOP_CHANNELS; t++) /* also those that are not used */
            memcpy(&value[t][k], pattern + (size_t)t * LOOP_VECTOR, LOOP_VECTOR);
    }
    size_t at = 0;
    for (size_t steps; n - at >= step; at += steps * step) {
        const uint8_t *const from = x + at * bytes;
        steps = least((n - at) / step, FREQUENT_BLOCK * bytes / LOOP_VECTOR);
        if (is_periodic_block(from, steps * LOOP_VECTOR, channels)) {
            for (size_t i = 0; i < 8 / bytes * channels; i++) /* as many pixels repeat */
                counts[i % channels * pitch + narrow_at(from, bytes, i)] +=
                    (uint32_t)(steps * LOOP_VECTOR / 8);
            continue;
        }
        FrequentOthers others;
        if (rounds + steps > most) {
            add_lanes(bytes, channels, &frequent, times, counts, pitch);
            rounds = 0;
        }
        rounds += steps;
        if (channels == 1)
            count_run(bytes, from, steps, 1, value, times, &others, mask_of);
        else
            count_run(bytes, from, steps * channels, channels, value, times, &others, mask_of);
        count_others(bytes, from, &others, channels, counts, pitch);
    }
    add_lanes(bytes, channels, &frequent, times, counts, pitch);
    for (; at < n; at++)
        counts[at % channels * pitch + narrow_at(x, bytes, at)]++;
    return true;
}

#endif
