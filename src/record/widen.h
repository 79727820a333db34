/* SPDX-License-Identifier: MIT */
/* widen.h: converts records of unsigned samples to a finer scale, exactly. */
#ifndef IMGSTAT_RECORD_WIDEN_H
#define IMGSTAT_RECORD_WIDEN_H

#include "record/record.h"

/* The deepest scale. */
enum { WIDEN_MOST_BITS = 16 };

/* Returns the depth of the coarsest scale on which samples of both depths have whole values at
 * their places on the full scale: 4 and 8 bits meet at 8, 4 and 6 at 12. 0: none has at most
 * WIDEN_MOST_BITS. */
unsigned widen_common_bits(unsigned bits, unsigned other);

/* Returns the factor from a scale to a finer one that has all its values: 17 from 4 to 8 bits, 257
 * from 8 to 16. */
static inline uint32_t widen_factor(unsigned from_bits, unsigned to_bits)
{
    return ((1u << to_bits) - 1) / ((1u << from_bits) - 1);
}

/* Returns the sample type for a number of bits. */
static inline ImgstatSample widen_sample(unsigned bits)
{
    return bits > 8 ? IMGSTAT_U16 : IMGSTAT_U8;
}

/* Converts a finalized record of unsigned samples from from_bits to to_bits. */
ImgstatResult record_widen(BufferCache *cache, Record **record, unsigned from_bits,
                           unsigned to_bits, ImgstatError *err);

#endif
