/* SPDX-License-Identifier: MIT */
/* common/lane_table.cuh: a table in shared memory, a row for each byte and in it a column for each
 * lane: no two lanes of a warp meet in a bank, whatever the image. Counters in such a table. */
#ifndef IMGSTAT_KERNELS_COMMON_LANE_TABLE_CUH
#define IMGSTAT_KERNELS_COMMON_LANE_TABLE_CUH

#include <stdint.h>

#include "common/warp.cuh"

enum { BINS = 256, COLUMNS = 32 };
/* Bytes from row to row. Wide rows have room beside the columns, and the address of a byte's row
 * takes one instruction. */
enum { NARROW_ROW = COLUMNS * 4, WIDE_ROW = 2 * NARROW_ROW };

/* A lane's column, as bytes. */
DEVICE uint32_t own_column(void)
{
    return threadIdx.x % 32 * 4;
}

/* The word at `column` bytes in the row that byte b of a word names. */
template <unsigned ROW>
DEVICE uint32_t *row_of(uint32_t *table, uint32_t word, int b, uint32_t column)
{
    static_assert(ROW == 1 << 7 || ROW == 1 << 8, "what the address is made for");
    const uint32_t row = (b ? word >> (b * 8 - 7) : word << 7) & 255u << 7;
    const uint32_t at = ROW == WIDE_ROW ? __byte_perm(word, column, 0x7604 | b << 4) : row | column;
    return (uint32_t *)((unsigned char *)table + at);
}

template <unsigned THREADS, unsigned ROW> DEVICE void empty_columns(uint4 *table)
{
    enum { QUADS = COLUMNS / 4 };
#pragma unroll
    for (uint32_t i = threadIdx.x; i < BINS * QUADS; i += THREADS)
        table[i / QUADS * (ROW / 16) + i % QUADS] = make_uint4(0, 0, 0, 0);
}

/* A row's counters together, some threads a row: thread t has the sum of row t / SHARE. They
 * begin at different columns, so that banks do not conflict. */
template <unsigned THREADS, unsigned ROW> DEVICE uint32_t sum_columns(const uint4 *table)
{
    enum { SHARE = THREADS / BINS, QUADS = COLUMNS / 4 / SHARE };
    const uint32_t bin = threadIdx.x / SHARE, part = threadIdx.x % SHARE;
    const uint4 *const row = table + bin * (ROW / 16) + part * QUADS;
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < QUADS; i++) {
        const uint4 v = row[(i + bin) % QUADS];
        sum += v.x + v.y + v.z + v.w;
    }
#pragma unroll
    for (int step = 1; step < SHARE; step *= 2)
        sum += __shfl_xor_sync(ALL_LANES, sum, step);
    return sum;
}

#endif
