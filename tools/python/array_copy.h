/* SPDX-License-Identifier: MIT */
/* array_copy.h: copies samples of host memory from one layout to another. */
#ifndef IMGSTAT_PYTHON_ARRAY_COPY_H
#define IMGSTAT_PYTHON_ARRAY_COPY_H

#include "work.h"

#include <stddef.h>
#include <stdint.h>

/* Where the samples of an image lie: bytes between rows, pixels and channels, of any sign. */
typedef struct SamplePlaces {
    unsigned char *first;
    int64_t row, pixel, channel;
} SamplePlaces;

/* The number of samples along each axis, and their size. */
typedef struct SampleCounts {
    size_t rows, pixels, channels;
    size_t bytes; /* of a sample: 1, 2, 4 or 8 */
} SampleCounts;

/* swap: reverses the bytes of each sample. The two places do not overlap. work: NULL, or what may
 * end it. */
ImgstatResult samples_copy(SamplePlaces to, SamplePlaces from, SampleCounts counts, bool swap,
                           Work *work, ImgstatError *err);

#endif
