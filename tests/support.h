/* SPDX-License-Identifier: MIT */
/* support.h: what tests and benchmarks share, in C and in CUDA: random numbers, guards around
 * memory. */
#ifndef IMGSTAT_TESTS_SUPPORT_H
#define IMGSTAT_TESTS_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xA5 /* what guards are filled with */ };

/* 64 bits that look random, a function of z: splitmix64's last step. */
static inline uint64_t mix64(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* The next number of a sequence that any state begins. */
static inline uint64_t splitmix64(uint64_t *state)
{
    return mix64(*state += 0x9E3779B97F4A7C15u);
}

static inline void guard_fill(void *memory, size_t bytes)
{
    memset(memory, POISON, bytes);
}

/* Whether nothing was written to memory since guard_fill. */
static inline bool guard_holds(const void *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (((const unsigned char *)memory)[i] != POISON)
            return false;
    return true;
}

/* Whether to run case i of many alike ones: one in `every` with IMGSTAT_TEST_SMALL=1, another one
 * with 2. Each build of tools/test.sh runs a part; without the variable all are run. */
static inline bool is_run(uint64_t i, unsigned every)
{
    const char *const part = getenv("IMGSTAT_TEST_SMALL");
    return !part || i % every == (*part == '2');
}

/* Whether all cases are run, so that a number of random ones may be large. */
static inline bool all_run(void)
{
    return !getenv("IMGSTAT_TEST_SMALL");
}

#endif
