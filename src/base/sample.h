/* SPDX-License-Identifier: MIT */
/* sample.h: sample types and their order keys; compiled by C and by CUDA C. */
#ifndef IMGSTAT_BASE_SAMPLE_H
#define IMGSTAT_BASE_SAMPLE_H

#include "imgstat.h"

#include <math.h>
#include <string.h>

#ifdef __CUDACC__
#define IMGSTAT_INLINE static __host__ __device__ __forceinline__
#else
#define IMGSTAT_INLINE static inline
#endif

/* An order key maps the raw bits of a sample to an unsigned integer of the same width such that
 * keys compare as the values do. -0 has the key of +0. NaNs lie outside [key(-inf), key(+inf)]:
 * negative NaNs below, positive ones above. */

IMGSTAT_INLINE uint32_t sample_bits(ImgstatSample s) /* width in bits: 8, 16, 32, 64 */
{
    return s <= IMGSTAT_I8 ? 8u : s <= IMGSTAT_F16 ? 16u : s <= IMGSTAT_F32 ? 32u : 64u;
}

IMGSTAT_INLINE bool sample_is_float(ImgstatSample s)
{
    return s == IMGSTAT_F16 || s == IMGSTAT_F32 || s == IMGSTAT_F64;
}

IMGSTAT_INLINE bool sample_is_signed(ImgstatSample s) /* signed integer */
{
    return s == IMGSTAT_I8 || s == IMGSTAT_I16 || s == IMGSTAT_I32 || s == IMGSTAT_I64;
}

/* Whether a double cannot hold every value of the type. */
IMGSTAT_INLINE bool sample_exceeds_double(ImgstatSample s)
{
    return sample_bits(s) == 64 && !sample_is_float(s);
}

/* Whether a record has one bin per value, so that all statistics follow from the bins. */
IMGSTAT_INLINE bool sample_is_narrow(ImgstatSample s)
{
    return s <= IMGSTAT_F16;
}

/* Bins of a record: one a key for narrow types, one per leading 16 bits of the key for wide. */
IMGSTAT_INLINE uint32_t sample_record_bins(ImgstatSample s)
{
    return s <= IMGSTAT_I8 ? 256u : 65536u;
}

/* Key >> this is its bin in a record. */
IMGSTAT_INLINE uint32_t sample_bin_shift(ImgstatSample s)
{
    return sample_is_narrow(s) ? 0u : sample_bits(s) - 16u;
}

/* raw: the sample's bits, zero-extended. */
IMGSTAT_INLINE uint64_t sample_key(ImgstatSample s, uint64_t raw)
{
    const uint32_t width = sample_bits(s);
    const uint64_t sign = (uint64_t)1 << (width - 1);
    const uint64_t all = sign | (sign - 1);
    if (sample_is_signed(s))
        return raw ^ sign;
    if (!sample_is_float(s))
        return raw;
    if (raw == sign) /* -0 */
        return sign;
    return (raw & sign) ? ~raw & all : raw | sign;
}

/* The raw bits whose key is `key`; +0 for the key of zero. */
IMGSTAT_INLINE uint64_t sample_raw(ImgstatSample s, uint64_t key)
{
    const uint32_t width = sample_bits(s);
    const uint64_t sign = (uint64_t)1 << (width - 1);
    const uint64_t all = sign | (sign - 1);
    if (sample_is_signed(s))
        return key ^ sign;
    if (!sample_is_float(s))
        return key;
    return (key & sign) ? key ^ sign : ~key & all;
}

/* key - from of two integers, given by their keys; rounded once. */
IMGSTAT_INLINE double key_distance(uint64_t key, uint64_t from)
{
    return key >= from ? (double)(key - from) : -(double)(from - key);
}

/* Keys of -infinity and +infinity; finite floats lie strictly between. 0 and the largest key for
 * integers, whose every key is finite (compare with sample_is_float first). */
IMGSTAT_INLINE uint64_t sample_key_infinity(ImgstatSample s, bool negative)
{
    const uint64_t inf = s == IMGSTAT_F16   ? 0x7C00u
                         : s == IMGSTAT_F32 ? 0x7F800000u
                                            : (uint64_t)0x7FF0000000000000u;
    const uint64_t sign = (uint64_t)1 << (sample_bits(s) - 1);
    if (!sample_is_float(s))
        return negative ? 0 : (sign | (sign - 1));
    return sample_key(s, negative ? inf | sign : inf);
}

/* The value of a key. Floats: exact. */
ImgstatValue sample_value(ImgstatSample s, uint64_t key);
/* The value of a key as the nearest double. */
double sample_double(ImgstatSample s, uint64_t key);
/* The key of `value`, converted to type s; false if s cannot hold it (floats round: a double
 * nodata value of a float32 image is compared after rounding to float32). */
bool sample_key_of(ImgstatSample s, ImgstatValue value, uint64_t *key);
/* The smallest key whose value is >= x, for finite x; one past the largest finite key if none is.
 * For 64-bit integers that is the largest key itself, which is the answer for no other double. */
uint64_t sample_key_ceil(ImgstatSample s, double x);

#endif
