/* SPDX-License-Identifier: MIT */
/* interlace_rows.h: the rows of an image that is held as a whole, in blocks that go one by one:
 * what a decoder has given takes no room beside what an encoder makes of it. */
#ifndef IMGSTAT_PNG_INTERLACE_ROWS_H
#define IMGSTAT_PNG_INTERLACE_ROWS_H

#include "base/buffer_cache.h"

#include <stdint.h>

typedef struct RowBlocks RowBlocks;

/* row_bytes, rows > 0. scratch: where the blocks come from. NULL: out of memory. */
RowBlocks *row_blocks_create(BufferCache *scratch, size_t row_bytes, uint32_t rows);
void row_blocks_destroy(RowBlocks *blocks); /* accepts NULL */
/* Row y, zeros where its block has not been asked for before; NULL: out of memory. */
uint8_t *row_blocks_row(RowBlocks *blocks, uint32_t y);
/* No row before y is asked for any more. */
void row_blocks_drop(RowBlocks *blocks, uint32_t y);

#endif
