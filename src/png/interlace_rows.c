/* SPDX-License-Identifier: MIT */
/* interlace_rows.c: blocks of one size, whatever the rows are: the one who makes rows takes those
 * that another has given back. */
#include "png/interlace_rows.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 20 /* little beside an image, and no work beside its rows */ };

struct RowBlocks {
    BufferCache *scratch;
    size_t row_bytes, block_bytes;
    uint32_t rows, block_rows, dropped; /* dropped: rows */
    uint8_t *block[];                   /* NULL: none yet, or none any more */
};

RowBlocks *row_blocks_create(BufferCache *scratch, size_t row_bytes, uint32_t rows)
{
    const size_t fit = BLOCK_BYTES / row_bytes;
    const uint32_t block_rows = fit == 0 ? 1 : fit < rows ? (uint32_t)fit : rows;
    const size_t n = (rows - 1) / block_rows + 1;
    RowBlocks *const blocks = calloc(1, sizeof *blocks + n * sizeof *blocks->block);
    if (!blocks)
        return NULL;
    blocks->scratch = scratch;
    blocks->row_bytes = row_bytes;
    blocks->block_bytes = n > 1 && row_bytes < BLOCK_BYTES ? BLOCK_BYTES : block_rows * row_bytes;
    blocks->rows = rows;
    blocks->block_rows = block_rows;
    return blocks;
}

uint8_t *row_blocks_row(RowBlocks *blocks, uint32_t y)
{
    uint8_t **const block = &blocks->block[y / blocks->block_rows];
    if (!*block)
        *block = buffer_cache_acquire_zeroed(blocks->scratch, 1, blocks->block_bytes);
    return *block ? *block + y % blocks->block_rows * blocks->row_bytes : NULL;
}

void row_blocks_drop(RowBlocks *blocks, uint32_t y)
{
    const uint32_t end = y < blocks->rows ? y - y % blocks->block_rows : blocks->rows;
    for (; blocks->dropped < end; blocks->dropped += blocks->block_rows) {
        uint8_t **const block = &blocks->block[blocks->dropped / blocks->block_rows];
        buffer_cache_release(*block);
        *block = NULL;
    }
}

void row_blocks_destroy(RowBlocks *blocks)
{
    if (!blocks)
        return;
    row_blocks_drop(blocks, blocks->rows);
    free(blocks);
}
