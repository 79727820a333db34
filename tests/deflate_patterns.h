/* SPDX-License-Identifier: MIT */
/* deflate_patterns.h: bytes to compress, for tests of the coder and of its kernel. */
#ifndef IMGSTAT_TESTS_DEFLATE_PATTERNS_H
#define IMGSTAT_TESTS_DEFLATE_PATTERNS_H

#include <stddef.h>
#include <stdint.h>

typedef enum Pattern {
    RANDOM,
    CONSTANT,
    RUNS,        /* of all lengths, two values */
    DIFFERENCES, /* small numbers of both signs, as rows of a photograph give */
    STEEP,       /* counts that want codes longer than allowed */
    TRAP,        /* where the fast setting samples zeros, everything else is random */
    ODD_WORDS,   /* runs that cross words of 64 bytes */
    DENSE,       /* codes of 7 to 9 bits */
    SPARSE,      /* most have a code of one bit; runs and random bytes between them */
    REPEATS,     /* what was there 300 bytes before, changed here and there */
    FAR_REPEATS, /* of all lengths and distances, up to those that deflate has */
    PATTERNS
} Pattern;

static inline uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Fills n bytes. The same state gives the same bytes. */
static inline void fill_pattern(Pattern pattern, uint32_t state, uint8_t *to, size_t n)
{
    const uint32_t constant = 3 + state % 16;
    size_t left = 0, distance = 0;
    for (size_t i = 0, run = 0, length = 1; i < n; i++) {
        const uint32_t r = next_random(&state);
        switch (pattern) {
        case RANDOM:
            to[i] = (uint8_t)r;
            break;
        case CONSTANT:
            to[i] = 200;
            break;
        case RUNS:
            to[i] = length % 2 ? 3 : 250;
            if (++run == length % 600 + 1) {
                run = 0;
                length++;
            }
            break;
        case DIFFERENCES:
            to[i] = (uint8_t)(r % 9 + next_random(&state) % 9 - 8);
            break;
        case STEEP:
            for (to[i] = 0; to[i] < 40 && next_random(&state) % 1000 < 618; to[i]++) {
            }
            break;
        case TRAP:
            to[i] = i % 256 < 64 ? 0 : (uint8_t)r;
            break;
        case DENSE:
            to[i] = (uint8_t)(r % 7 < 4 ? r % 96 : r >> 8);
            break;
        case SPARSE:
            if (run == 0) {
                length = r % 16;
                run = length > 2 ? 1 + r / 16 % 8 : 9 + r / 16 % 32;
            }
            run--;
            to[i] = length == 0 ? (uint8_t)(r >> 12) : length <= 2 ? 77 : run > 0 ? 1 : 2;
            break;
        case REPEATS:
            to[i] = i < 300 || r % constant == 0 ? (uint8_t)(r >> 5) : to[i - 300];
            break;
        case FAR_REPEATS:
            if (left-- == 0) {
                const unsigned digits = r % 17;
                left = r % constant == 0 ? 700 : r / 32 % 40;
                distance = r % 3 == 0
                               ? 0
                               : (size_t)1 << digits | (next_random(&state) & ((1u << digits) - 1));
            }
            to[i] = distance == 0 || distance > i ? (uint8_t)(r >> 5) : to[i - distance];
            break;
        default: /* mostly repeats */
            to[i] = (uint8_t)(r % 12 == 0 || i == 0 ? r >> 5 : to[i - 1]);
        }
    }
}

#endif
