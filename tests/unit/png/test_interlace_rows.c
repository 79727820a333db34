/* SPDX-License-Identifier: MIT */
/* test_interlace_rows.c: rows that are held: each keeps what it was given, and blocks given back
 * serve rows of another length. */
#include "png/interlace_rows.h"

#include <criterion/criterion.h>
#include <string.h>

/* As png/interlace_rows.c has it. */
enum { BLOCK_BYTES = 1 << 20 };

static uint8_t pattern(uint32_t y)
{
    return (uint8_t)(1 + y % 251);
}

/* Writes every row, then looks at all of them from the first one on, dropping what it has seen. */
static size_t write_and_drop(size_t row_bytes, uint32_t rows)
{
    size_t compared = 0;
    RowBlocks *const blocks = row_blocks_create(NULL, row_bytes, rows);
    cr_assert(blocks);
    for (uint32_t y = rows; y-- > 0;) {
        uint8_t *const row = row_blocks_row(blocks, y);
        cr_assert(row);
        cr_assert(row[0] == 0 && row[row_bytes - 1] == 0, "row %u of %u is not zero", y, rows);
        memset(row, pattern(y), row_bytes);
    }
    for (uint32_t y = 0; y < rows; y++) {
        const uint8_t *const row = row_blocks_row(blocks, y);
        for (size_t i = 0; i < row_bytes; i++, compared++)
            cr_assert(row[i] == pattern(y), "%zu bytes a row, row %u, byte %zu", row_bytes, y, i);
        row_blocks_drop(blocks, y + 1);
    }
    row_blocks_destroy(blocks);
    return compared;
}

Test(row_blocks, hold_rows)
{
    static const size_t row_bytes[] = {
        1, 3, 4096, BLOCK_BYTES / 2 + 1, BLOCK_BYTES, BLOCK_BYTES + 1};
    static const uint32_t rows[] = {1, 2, 3, 255, 256, 257};
    for (size_t i = 0; i < sizeof row_bytes / sizeof *row_bytes; i++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            if (row_bytes[i] * rows[k] <= 4 * BLOCK_BYTES)
                cr_expect_eq(write_and_drop(row_bytes[i], rows[k]), row_bytes[i] * rows[k]);
}

/* What a decoder holds, and an encoder of longer rows that takes row after row from it. */
Test(row_blocks, pass_blocks_on)
{
    enum { ROWS = 8192, IN_BYTES = 1000, OUT_BYTES = 1001 };
    BufferCache *const scratch = buffer_cache_create();
    cr_assert(scratch);
    RowBlocks *const in = row_blocks_create(scratch, IN_BYTES, ROWS);
    RowBlocks *const out = row_blocks_create(scratch, OUT_BYTES, ROWS);
    cr_assert(in && out);
    for (uint32_t y = 0; y < ROWS; y++)
        memset(row_blocks_row(in, y), pattern(y), IN_BYTES);
    const size_t made = buffer_cache_made(scratch);
    for (uint32_t y = 0; y < ROWS; y++) {
        memcpy(row_blocks_row(out, y), row_blocks_row(in, y), IN_BYTES);
        row_blocks_drop(in, y + 1);
    }
    cr_expect_leq(buffer_cache_made(scratch), made + 2, "%zu blocks of %zu",
                  buffer_cache_made(scratch), made);
    for (uint32_t y = 0; y < ROWS; y++) {
        const uint8_t *const row = row_blocks_row(out, y);
        cr_assert(row[0] == pattern(y) && row[IN_BYTES - 1] == pattern(y) && row[IN_BYTES] == 0);
    }
    row_blocks_destroy(in);
    row_blocks_destroy(out);
    buffer_cache_destroy(scratch);
}
