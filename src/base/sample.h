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

/* The order key of a sample is an unsigned integer of the same width. Keys compare as the values
 * do. -0 has the key of +0. NaNs lie outside [key(-inf), key(+inf)]: negative ones below, positive
 * ones above. */

/* Returns the width of a type in bits: 8, 16, 32 or 64. */
IMGSTAT_INLINE uint32_t sample_bits(ImgstatSample s)
{
    return s <= IMGSTAT_I8 ? 8u : s <= IMGSTAT_F16 ? 16u : s <= IMGSTAT_F32 ? 32u : 64u;
}

/* Returns whether a type is floating. */
IMGSTAT_INLINE bool sample_is_float(ImgstatSample s)
{
    return s == IMGSTAT_F16 || s == IMGSTAT_F32 || s == IMGSTAT_F64;
}

/* Returns whether a type is a signed integer. */
IMGSTAT_INLINE bool sample_is_signed(ImgstatSample s)
{
    return s == IMGSTAT_I8 || s == IMGSTAT_I16 || s == IMGSTAT_I32 || s == IMGSTAT_I64;
}

/* Returns whether doubles cannot hold every value of a type. */
IMGSTAT_INLINE bool sample_exceeds_double(ImgstatSample s)
{
    return sample_bits(s) == 64 && !sample_is_float(s);
}

/* Returns whether records of a type have one bin a value: all statistics follow from the bins. */
IMGSTAT_INLINE bool sample_is_narrow(ImgstatSample s)
{
    return s <= IMGSTAT_F16;
}

/* Returns the number of bins of a record: one a key for narrow types, one for each value of the
 * key's leading 16 bits for wide types. */
IMGSTAT_INLINE uint32_t sample_record_bins(ImgstatSample s)
{
    return s <= IMGSTAT_I8 ? 256u : 65536u;
}

/* Returns by how many bits a key is shifted right to give its bin. */
IMGSTAT_INLINE uint32_t sample_bin_shift(ImgstatSample s)
{
    return sample_is_narrow(s) ? 0u : sample_bits(s) - 16u;
}

/* Returns the order key of a sample. raw: its bits, zero-extended. */
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

/* Returns the bits of the sample with a key; of zeros, those of +0. */
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

/* Returns key - from, rounded once: the difference of two integers with these keys. */
IMGSTAT_INLINE double key_distance(uint64_t key, uint64_t from)
{
    return key >= from ? (double)(key - from) : -(double)(from - key);
}

/* Returns the key of -infinity or +infinity: finite floats lie strictly between. For integers it
 * returns 0 or the largest key, which are keys of finite values. */
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

/* The key of the quiet NaN of a floating type. */
IMGSTAT_INLINE uint64_t sample_key_nan(ImgstatSample s)
{
    const uint64_t infinity = sample_key_infinity(s, false);
    const uint32_t fraction = s == IMGSTAT_F16 ? 10u : s == IMGSTAT_F32 ? 23u : 52u;
    return infinity + ((uint64_t)1 << (fraction - 1));
}

/* Returns the exact value of a key. */
ImgstatValue sample_value(ImgstatSample s, uint64_t key);

/* Returns the double nearest to the value of a key. */
double sample_double(ImgstatSample s, uint64_t key);

/* Finds the key of `value`, converted to type s. Returns false if s cannot hold the value. Floats
 * round: a nodata value is compared after rounding to the type of the image. */
bool sample_key_of(ImgstatSample s, ImgstatValue value, uint64_t *key);

/* Returns the raw bits of what samples hold that a file lacks: the nodata value, NaN included, or 0
 * where there is none (NULL) or s cannot hold it. */
uint64_t sample_raw_missing(ImgstatSample s, const ImgstatValue *nodata);

/* Returns the smallest key whose value is >= x, for finite x. If there is none, it returns the
 * largest finite key + 1; of 64-bit integers the largest key, which is the result for no other
 * double. */
uint64_t sample_key_ceil(ImgstatSample s, double x);

/* Finds the keys of the smallest and the largest sample of so many bits; for floats those of 0 and
 * 1. */
void sample_full_scale(ImgstatSample sample, uint8_t bits, uint64_t *lo, uint64_t *hi);

#endif
