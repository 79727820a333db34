/* SPDX-License-Identifier: MIT */
/* equalize/words_table.cuh: a block's table of all values of 16-bit samples, WORD_TABLE bytes. */
#ifndef IMGSTAT_KERNELS_EQUALIZE_WORDS_TABLE_CUH
#define IMGSTAT_KERNELS_EQUALIZE_WORDS_TABLE_CUH

#include "common/inline.cuh"
#include "common/tuning.cuh"
#include "equalize/chain.cuh"

/* Counters of two values share a word: those of a value and of the value half the range above. So
 * neighbouring values do not meet in a word. */
enum { COUNT_THREADS = WORDS_COUNT_THREADS, COUNT_WORDS = WORD_BINS / 2 };

DEVICE void empty_counters(uint4 *table)
{
#pragma unroll
    for (uint32_t i = 0; i < WORD_TABLE / 16 / COUNT_THREADS; i++)
        table[threadIdx.x + i * COUNT_THREADS] = make_uint4(0, 0, 0, 0);
}

DEVICE void count_raw(uint4 *table, uint32_t raw)
{
    atomicAdd((uint32_t *)table + raw % COUNT_WORDS, 1u << raw / COUNT_WORDS * 16);
}

/* Two samples. */
DEVICE void count_word(uint4 *table, uint32_t w, uint32_t times)
{
    uint32_t *const lower = (uint32_t *)((unsigned char *)table + (w << 2 & 0x1FFFCu));
    uint32_t *const upper = (uint32_t *)((unsigned char *)table + (w >> 14 & 0x1FFFCu));
    atomicAdd(lower, times << (w >> 11 & 16));
    atomicAdd(upper, times << (w >> 27 & 16));
}

/* Eight samples; those of a vector that is one word four times over at once. */
DEVICE void count_vector(uint4 *table, uint4 v)
{
    if (v.x == v.y && v.x == v.z && v.x == v.w) {
        count_word(table, v.x, 4);
        return;
    }
    count_word(table, v.x, 1);
    count_word(table, v.y, 1);
    count_word(table, v.z, 1);
    count_word(table, v.w, 1);
}

#endif
