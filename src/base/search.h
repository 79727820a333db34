/* SPDX-License-Identifier: MIT */
/* search.h: binary search; compiled by C and by CUDA C. */
#ifndef IMGSTAT_BASE_SEARCH_H
#define IMGSTAT_BASE_SEARCH_H

#include "base/sample.h"

/* Returns the index of the first of n ascending numbers that is above `most`. Returns n if there is
 * none. step: bytes from one number to the next; numbers may be members of larger structs. */
IMGSTAT_INLINE uint32_t first_above(const uint64_t *numbers, size_t step, uint32_t n, uint64_t most)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (*(const uint64_t *)(const void *)((const char *)numbers + middle * step) > most)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

#endif
