/* SPDX-License-Identifier: MIT */
/* any.h: bounded proofs. A proof calls any(n) for each number that it lets be anything below n.
 * Compiled by itself it runs once for every combination of them, each time to its end, under the
 * sanitizers of the build: a proof by exhaustion. Frama-C and CBMC take them as unknown, and show
 * for all at once that nothing undefined happens: see frama_c.sh and cbmc.sh. */
#ifndef IMGSTAT_PROOFS_ANY_H
#define IMGSTAT_PROOFS_ANY_H

/* Provers take the portable loops of sources that are included behind this file. */
#if defined(__FRAMAC__) || defined(__CPROVER__)
#undef __SSE2__
#undef __SSSE3__
#undef __AVX2__
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void prove(void);

#ifdef __FRAMAC__

#include "__fc_builtin.h"

static unsigned any(unsigned n)
{
    return Frama_C_unsigned_int_interval(0, n - 1);
}

/* Returns n bytes of any value, the last ones of the `size` bytes at `room`. */
static uint8_t *any_bytes(uint8_t *room, size_t size, size_t n)
{
    Frama_C_make_unknown((char *)room, size);
    return room + size - n;
}

int main(void)
{
    prove();
    return 0;
}

#elif defined(__CPROVER__)

/* By names that CBMC knows. */
#define __builtin_memcpy   memcpy
#define __builtin_isfinite __CPROVER_isfinited

unsigned nondet_unsigned(void);

static unsigned any(unsigned n)
{
    const unsigned chosen = nondet_unsigned();
    __CPROVER_assume(chosen < n);
    return chosen;
}

/* Returns n bytes of any value, the first or the last ones of the `size` bytes at `room`: whether
 * either, so that accesses before and behind them are found. */
static inline uint8_t *any_bytes(uint8_t *room, size_t size, size_t n)
{
    __CPROVER_havoc_slice(room, size);
    return room + (any(2) ? 0 : size - n);
}

/* CBMC has no body of its own for it. */
void *memchr(const void *at, int byte, size_t n)
{
    const uint8_t *const bytes = at;
    for (size_t i = 0; i < n; i++)
        if (bytes[i] == (uint8_t)byte)
            return (void *)(uintptr_t)(bytes + i);
    return NULL;
}

#define demand(holds, what) __CPROVER_assert(holds, what)

int main(void)
{
    prove();
    return 0;
}

#else

enum { ANY_MOST = 64 }; /* numbers in a run */

static unsigned any_chosen[ANY_MOST], any_below[ANY_MOST];
static size_t any_n, any_at;

/* Returns one of 0 to n - 1: over all runs, each of them with each choice of the others. */
static unsigned any(unsigned n)
{
    if (any_at == ANY_MOST || n == 0)
        abort();
    if (any_at == any_n)
        any_chosen[any_n++] = 0;
    any_below[any_at] = n;
    return any_chosen[any_at++];
}

/* Makes the next run's choices. Returns false after the last run. */
static bool any_next(void)
{
    any_n = any_at;
    while (any_n > 0 && ++any_chosen[any_n - 1] == any_below[any_n - 1])
        any_n--;
    any_at = 0;
    return any_n > 0;
}

int main(void)
{
    uint64_t runs = 0;
    do {
        prove();
        runs++;
    } while (any_next());
    printf("%llu runs, every combination\n", (unsigned long long)runs);
    return 0;
}

/* Larger bounds where IMGSTAT_PROOFS=full is set. */
static inline unsigned bound(unsigned usual, unsigned full)
{
    static int is_full = -1;
    if (is_full < 0)
        is_full = getenv("IMGSTAT_PROOFS") != NULL;
    return is_full ? full : usual;
}

/* Ends the proof where something does not hold. */
static inline void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s, with the choices", what);
    for (size_t i = 0; i < any_at; i++)
        fprintf(stderr, " %u", any_chosen[i]);
    fputc('\n', stderr);
    abort();
}

#endif
#endif
