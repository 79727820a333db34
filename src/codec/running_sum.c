/* SPDX-License-Identifier: MIT */
/* running_sum.c: plain loops. Words of one and two bytes are summed within vectors where the
 * instruction set can shuffle bytes. */
#include "codec/running_sum.h"

#include "base/compiler.h"

#include <string.h>

#if defined(__SSSE3__)
#include <immintrin.h>

enum { VECTOR = 16 };

/* How a vector is summed: it is moved by 1, 2, 4 and 8 steps, and added each time. Every step of
 * the next block starts from the last step of this one. */
typedef struct SumPlan {
    __m128i move[4];
    __m128i last;
    unsigned moves;
    size_t block; /* bytes: whole steps */
} SumPlan;

/* Shuffles of a vector: those from 16 - k on move it by k bytes and fill in zeros. */
static const uint8_t slide[2 * VECTOR] = {
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,   13,   14,   15};

/* For each size of a step: the shuffle that repeats the last step of a block. */
static const uint8_t last_steps[VECTOR / 2][VECTOR] = {
    {15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15},
    {14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15},
    {12, 13, 14, 12, 13, 14, 12, 13, 14, 12, 13, 14, 12, 13, 14, 12},
    {12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15},
    {10, 11, 12, 13, 14, 10, 11, 12, 13, 14, 10, 11, 12, 13, 14, 10},
    {6, 7, 8, 9, 10, 11, 6, 7, 8, 9, 10, 11, 6, 7, 8, 9},
    {7, 8, 9, 10, 11, 12, 13, 7, 8, 9, 10, 11, 12, 13, 7, 8},
    {8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15}};

static __m128i load(const uint8_t *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

static SumPlan sum_plan(size_t step_bytes)
{
    SumPlan plan = {.block = VECTOR / step_bytes * step_bytes,
                    .last = load(last_steps[step_bytes - 1])};
    for (size_t by = step_bytes; by < VECTOR; by *= 2)
        plan.move[plan.moves++] = load(slide + VECTOR - by);
    return plan;
}

FORCE_INLINE __m128i add_words(__m128i a, __m128i b, size_t word)
{
    return word == 1 ? _mm_add_epi8(a, b) : _mm_add_epi16(a, b);
}

/* Sums whole blocks. Returns the bytes done. The vector of a block may reach into the next block,
 * which is therefore loaded first. */
FORCE_INLINE size_t sum_blocks(uint8_t *row, size_t n, size_t word, size_t step)
{
    const size_t step_bytes = word * step;
    if (n < 2 * VECTOR || step_bytes > VECTOR / 2)
        return 0;
    const SumPlan plan = sum_plan(step_bytes);
    __m128i before = _mm_setzero_si128(), next = load(row);
    size_t i = 0;
    for (; i + plan.block + VECTOR <= n; i += plan.block) {
        __m128i v = next;
        next = load(row + i + plan.block);
        for (unsigned m = 0; m < plan.moves; m++)
            v = add_words(v, _mm_shuffle_epi8(v, plan.move[m]), word);
        v = add_words(v, before, word);
        before = _mm_shuffle_epi8(v, plan.last);
        _mm_storeu_si128((__m128i *)(void *)(row + i), v);
    }
    /* Restores the bytes that the last store overwrote beyond its block. */
    if (i > 0)
        _mm_storeu_si128((__m128i *)(void *)(row + i), next);
    return i;
}

#else

FORCE_INLINE size_t sum_blocks(uint8_t *row, size_t n, size_t word, size_t step)
{
    (void)row, (void)n, (void)word, (void)step;
    return 0;
}

#endif

/* `word` is a constant where this is inlined. Rows start anywhere, so words are copied in and out
 * of 64 bits: carries beyond the word are dropped. */
FORCE_INLINE void sum_words(uint8_t *row, size_t n, size_t word, size_t step)
{
    const size_t first = word * step, done = word <= 2 ? sum_blocks(row, n, word, step) : 0;
    for (size_t i = done > first ? done : first; i + word <= n; i += word) {
        uint64_t sum = 0, before = 0;
        memcpy(&sum, row + i, word);
        memcpy(&before, row + i - first, word);
        sum += before;
        memcpy(row + i, &sum, word);
    }
}

void ISA(running_sum)(uint8_t *row, size_t n, size_t word, size_t step)
{
    switch (word) {
    case 1:
        sum_words(row, n, 1, step);
        break;
    case 2:
        sum_words(row, n, 2, step);
        break;
    case 4:
        sum_words(row, n, 4, step);
        break;
    default:
        sum_words(row, n, 8, step);
    }
}
