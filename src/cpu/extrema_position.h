/* SPDX-License-Identifier: MIT */
/* extrema_position.h: where the extrema of an image first occur. Measuring only notes the block of
 * pixels that reached a value first; the position is looked up once, at the end. */
#ifndef IMGSTAT_CPU_EXTREMA_POSITION_H
#define IMGSTAT_CPU_EXTREMA_POSITION_H

#include "base/image.h"
#include "record/record.h"

/* Pixels that follow each other in memory. In the image there may be others between the end of a
 * row of the rectangle and the next row. */
typedef struct CpuBlock {
    const unsigned char *pixels;
    const uint8_t *mask; /* NULL, or a byte each */
    uint64_t at;         /* raster index of the first */
    size_t n;
    uint32_t gap;   /* those others; 0: none, or the block lies in one row */
    uint32_t left;  /* where gap > 0: pixels of the block in its first row */
    uint32_t width; /* where gap > 0: in each of the next rows */
} CpuBlock;

/* Extrema of a channel as order keys, and the blocks that reached them first. */
typedef struct CpuExtrema {
    uint64_t min, max;
    CpuBlock min_block, max_block; /* n is 0 before the first extremum */
} CpuExtrema;

/* Pixels [i, i + n) of a block. */
CpuBlock block_part(const CpuBlock *block, size_t i, size_t n, size_t pixel_bytes);

/* No extrema yet, of so many channels. */
void extrema_begin(CpuExtrema *extrema, uint16_t channels);
/* Adds the extrema of a channel in a block; min > max where no sample of it is valid. Blocks come
 * in raster order, so that only a better value moves a position. */
void extrema_add(CpuExtrema *extrema, const CpuBlock *block, uint64_t min, uint64_t max);
/* Looks up the positions of the extrema that are better than a channel's tally, or equal and
 * possibly sooner, enters them there, and begins anew. The pixels of all blocks are still there. */
void extrema_end(CpuExtrema *extrema, const ImagePro *image, Tally *tally);

#endif
