/* SPDX-License-Identifier: MIT */
/* running_sum.c: plain loops, and vectors where the processor has them. */
#include "codec/running_sum.h"
#include "base/cpu_features.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__x86_64__)

enum { VECTOR = 16 };

/* How a vector is summed up within itself: moved by 1, 2, 4 and 8 steps, each time added; and the
 * last step of a block, which every step of the next block starts from. */
typedef struct SumPlan {
    __m128i move[4];
    __m128i last;
    unsigned moves;
    size_t block; /* bytes: whole steps */
} SumPlan;

/* Sixteen zeros, then the bytes of a vector in order: from 16 - k on, it is moved by k. */
static const uint8_t slide[2 * VECTOR] = {
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,   13,   14,   15};

/* For each step: the last step of a block, again and again. */
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

__attribute__((target("ssse3"), always_inline)) static inline __m128i
add_words(__m128i a, __m128i b, size_t bytes)
{
    return bytes == 1   ? _mm_add_epi8(a, b)
           : bytes == 2 ? _mm_add_epi16(a, b)
           : bytes == 4 ? _mm_add_epi32(a, b)
                        : _mm_add_epi64(a, b);
}

/* Sums whole blocks; returns the bytes done. A block's vector may reach into the next block, which
 * is therefore loaded before it is stored. */
__attribute__((target("ssse3"), always_inline)) static inline size_t
sum_blocks(uint8_t *row, size_t n, size_t step_bytes, size_t word)
{
    if (n < 2 * VECTOR || step_bytes > VECTOR / 2)
        return 0;
    const SumPlan plan = sum_plan(step_bytes);
    __m128i before = _mm_setzero_si128();
    __m128i next = _mm_loadu_si128((const __m128i *)(const void *)row);
    size_t i = 0;
    for (; i + plan.block + VECTOR <= n; i += plan.block) {
        __m128i v = next;
        next = _mm_loadu_si128((const __m128i *)(const void *)(row + i + plan.block));
        for (unsigned m = 0; m < plan.moves; m++)
            v = add_words(v, _mm_shuffle_epi8(v, plan.move[m]), word);
        v = add_words(v, before, word);
        before = _mm_shuffle_epi8(v, plan.last);
        _mm_storeu_si128((__m128i *)(void *)(row + i), v);
    }
    /* What the last store left beyond its block. */
    if (i > 0)
        _mm_storeu_si128((__m128i *)(void *)(row + i), next);
    return i;
}

__attribute__((target("ssse3"))) static size_t sum_blocks8(uint8_t *row, size_t n, size_t step)
{
    return sum_blocks(row, n, step, 1);
}

__attribute__((target("ssse3"))) static size_t sum_blocks16(uint8_t *row, size_t n, size_t step)
{
    return sum_blocks(row, n, 2 * step, 2);
}

#endif

void running_sum8(uint8_t *row, size_t n, size_t step)
{
    size_t done = 0;
#if defined(__x86_64__)
    if (cpu_features_level() >= PROCESSOR_AVX2)
        done = sum_blocks8(row, n, step);
#endif
    for (size_t i = done > step ? done : step; i < n; i++)
        row[i] = (uint8_t)(row[i] + row[i - step]);
}

/* Rows start anywhere: words are copied in and out. */
void running_sum16(uint8_t *row, size_t n, size_t step)
{
    size_t done = 0;
#if defined(__x86_64__)
    if (cpu_features_level() >= PROCESSOR_AVX2)
        done = sum_blocks16(row, n, step);
#endif
    for (size_t i = done > 2 * step ? done : 2 * step; i + 2 <= n; i += 2) {
        uint16_t a, b;
        memcpy(&a, row + i, sizeof a);
        memcpy(&b, row + i - 2 * step, sizeof b);
        a = (uint16_t)(a + b);
        memcpy(row + i, &a, sizeof a);
    }
}

void running_sum32(uint8_t *row, size_t n, size_t step)
{
    for (size_t i = 4 * step; i + 4 <= n; i += 4) {
        uint32_t a, b;
        memcpy(&a, row + i, sizeof a);
        memcpy(&b, row + i - 4 * step, sizeof b);
        a += b;
        memcpy(row + i, &a, sizeof a);
    }
}

void running_sum64(uint8_t *row, size_t n, size_t step)
{
    for (size_t i = 8 * step; i + 8 <= n; i += 8) {
        uint64_t a, b;
        memcpy(&a, row + i, sizeof a);
        memcpy(&b, row + i - 8 * step, sizeof b);
        a += b;
        memcpy(row + i, &a, sizeof a);
    }
}
