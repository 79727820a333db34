/* SPDX-License-Identifier: MIT */
/* codec/filter_rows.h: host entry of the kernel that filters rows for PNG. The bytes are those of
 * src/png/filter.c. Ordered by the stream given; nothing waits. */
#ifndef IMGSTAT_KERNELS_CODEC_FILTER_ROWS_H
#define IMGSTAT_KERNELS_CODEC_FILTER_ROWS_H

#include <cuda_runtime.h>

extern "C" {
#include "codec/device_pieces.h"
}

/* Filters n images, which are described in device memory; with none it only loads the kernel. rows:
 * of the highest. */
cudaError_t cuda_filter_rows(const FilterImage *images, size_t n, uint32_t rows,
                             cudaStream_t stream);

#endif
