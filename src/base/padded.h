/* SPDX-License-Identifier: MIT */
/* padded.h: sizes that are multiples of an alignment. */
#ifndef IMGSTAT_BASE_PADDED_H
#define IMGSTAT_BASE_PADDED_H

#include <stddef.h>

/* Returns the least multiple of `to` that is not less. bytes: at most SIZE_MAX - to. */
static inline size_t padded(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

#endif
