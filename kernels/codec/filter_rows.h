/* SPDX-License-Identifier: MIT */
/* codec/filter_rows.h: host entry of the kernel that filters rows for PNG. The bytes are those of
 * src/png/filter.c. Ordered by the stream given; nothing waits. */
#ifndef IMGSTAT_KERNELS_CODEC_FILTER_ROWS_H
#define IMGSTAT_KERNELS_CODEC_FILTER_ROWS_H

#include "codec/filter_choice.h"

#include <cuda_runtime.h>
#include <stdint.h>

/* An image in device memory, and where its filtered rows go: pieces of piece_rows rows, piece_pitch
 * bytes apart. A row has 1 + row_bytes bytes; those of a piece follow each other. */
typedef struct FilterImage {
    const uint8_t *pixels;
    uint8_t *to;
    uint64_t pitch, piece_pitch;
    uint32_t height, row_bytes, piece_rows; /* row_bytes < 2^25 */
    uint8_t pixel_bytes;
    bool swap;      /* samples of 16 bits: the upper byte goes first */
    uint8_t choice; /* PngChoice */
} FilterImage;

/* Filters n images, which are described in device memory. rows: of the highest. */
cudaError_t cuda_filter_rows(const FilterImage *images, size_t n, uint32_t rows,
                             cudaStream_t stream);

#endif
