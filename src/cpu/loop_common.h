/* SPDX-License-Identifier: MIT */
/* loop_common.h: what the loops of cpu/loop_extrema.h, _wide.h and _reads.h share. */
#ifndef IMGSTAT_CPU_LOOP_COMMON_H
#define IMGSTAT_CPU_LOOP_COMMON_H

#include "cpu/loops.h"

#define LOOP static inline __attribute__((always_inline))

/* Samples in memory, at any alignment. */
typedef uint16_t __attribute__((aligned(1), may_alias)) Mem16;
typedef uint32_t __attribute__((aligned(1), may_alias)) Mem32;
typedef uint64_t __attribute__((aligned(1), may_alias)) Mem64;
typedef float __attribute__((aligned(1), may_alias)) MemF32;
typedef double __attribute__((aligned(1), may_alias)) MemF64;

LOOP size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

LOOP uint16_t key16(ImgstatSample sample, uint16_t raw)
{
    if (sample == IMGSTAT_U16)
        return raw;
    if (sample == IMGSTAT_I16)
        return raw ^ 0x8000u;
    const uint16_t key = raw ^ (uint16_t)(0x8000u | (raw & 0x8000u ? 0x7FFFu : 0));
    return raw == 0x8000u ? 0x8000u : key;
}

/* Of floats the sign says what to flip: by arithmetic, since a branch on the signs of noise is
 * predicted wrong half the time. */
LOOP uint32_t key32(ImgstatSample sample, uint32_t raw)
{
    if (sample == IMGSTAT_U32)
        return raw;
    if (sample == IMGSTAT_I32)
        return raw ^ 0x80000000u;
    const uint32_t sign = 0x80000000u;
    /* -0 has the key of +0, one above its own */
    return (raw ^ (sign | (0u - (raw >> 31)))) + (raw == sign ? 1u : 0u);
}

LOOP uint64_t key64(ImgstatSample sample, uint64_t raw)
{
    const uint64_t sign = (uint64_t)1 << 63;
    if (sample == IMGSTAT_U64)
        return raw;
    if (sample == IMGSTAT_I64)
        return raw ^ sign;
    return (raw ^ (sign | ((uint64_t)0 - (raw >> 63)))) + (raw == sign ? 1u : 0u);
}

/* Whether n bytes repeat their first 8 * words. */
LOOP bool is_periodic(const Mem64 *x, size_t n, size_t words)
{
    uint64_t differ = 0;
    for (size_t t = 0; t < words; t++) /* most end here */
        differ |= x[t] ^ x[words + t];
    if (differ)
        return false;
    for (size_t k = words; k < n / 8 - words; k++)
        differ |= x[k] ^ x[k + words];
    return differ == 0;
}

#endif
