/* SPDX-License-Identifier: MIT */
/* clipped.h: counts pixels whose colour channels are all at one end of full scale. */
#ifndef IMGSTAT_RECORD_CLIPPED_H
#define IMGSTAT_RECORD_CLIPPED_H

#include "base/image.h"

typedef struct Clipped {
    uint64_t pixels; /* whose colour channels are all valid */
    uint64_t low, high;
} Clipped;

/* Adds rows in host memory, integers of at most 16 bits. alpha: the index of that channel, which is
 * no colour, or -1. */
void clipped_add(Clipped *clipped, const ImagePro *rows, int32_t alpha);

#endif
