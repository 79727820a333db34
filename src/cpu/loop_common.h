/* SPDX-License-Identifier: MIT */
/* loop_common.h: what the loops of the other loop_*.h share. */
#ifndef IMGSTAT_CPU_LOOP_COMMON_H
#define IMGSTAT_CPU_LOOP_COMMON_H

#include "base/compiler.h"
#include "cpu/loops.h"

/* Samples in memory, at any alignment. */
typedef uint16_t __attribute__((aligned(1), may_alias)) Mem16;
typedef uint32_t __attribute__((aligned(1), may_alias)) Mem32;
typedef uint64_t __attribute__((aligned(1), may_alias)) Mem64;
typedef float __attribute__((aligned(1), may_alias)) MemF32;
typedef double __attribute__((aligned(1), may_alias)) MemF64;

FORCE_INLINE size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Prefetches the cache line `ahead` bytes after x, which may lie beyond all samples. */
FORCE_INLINE void prefetch(const void *x, size_t ahead)
{
    __builtin_prefetch((const void *)((uintptr_t)x + ahead), 0, 2);
}

FORCE_INLINE uint16_t key16(ImgstatSample sample, uint16_t raw)
{
    if (sample == IMGSTAT_U16)
        return raw;
    if (sample == IMGSTAT_I16)
        return raw ^ 0x8000u;
    const uint16_t key = raw ^ (uint16_t)(0x8000u | (raw & 0x8000u ? 0x7FFFu : 0));
    return raw == 0x8000u ? 0x8000u : key;
}

/* Returns the order key of 32 bits. The bits that the sign of a float flips are computed without a
 * branch, which noise would mispredict half the time. */
FORCE_INLINE uint32_t key32(ImgstatSample sample, uint32_t raw)
{
    if (sample == IMGSTAT_U32)
        return raw;
    if (sample == IMGSTAT_I32)
        return raw ^ 0x80000000u;
    const uint32_t sign = 0x80000000u;
    /* -0 gets the key of +0, one above its own */
    return (raw ^ (sign | (0u - (raw >> 31)))) + (raw == sign ? 1u : 0u);
}

FORCE_INLINE uint64_t key64(ImgstatSample sample, uint64_t raw)
{
    const uint64_t sign = (uint64_t)1 << 63;
    if (sample == IMGSTAT_U64)
        return raw;
    if (sample == IMGSTAT_I64)
        return raw ^ sign;
    return (raw ^ (sign | ((uint64_t)0 - (raw >> 63)))) + (raw == sign ? 1u : 0u);
}

/* The order key of sample i at x. */
FORCE_INLINE uint64_t key_at(ImgstatSample sample, const void *x, size_t i)
{
    switch (sample_bits(sample)) {
    case 8:
        return ((const uint8_t *)x)[i] ^ (sample == IMGSTAT_I8 ? 0x80u : 0u);
    case 16:
        return key16(sample, ((const Mem16 *)x)[i]);
    case 32:
        return key32(sample, ((const Mem32 *)x)[i]);
    default:
        return key64(sample, ((const Mem64 *)x)[i]);
    }
}

/* Calls the loop with the sample type as a constant, so that each type is compiled by itself. */
FORCE_INLINE void for_wide_sample(ImgstatSample sample,
                                  void (*loop)(ImgstatSample sample, const void *call),
                                  const void *call)
{
    switch (sample) {
    case IMGSTAT_U32:
        loop(IMGSTAT_U32, call);
        break;
    case IMGSTAT_I32:
        loop(IMGSTAT_I32, call);
        break;
    case IMGSTAT_F32:
        loop(IMGSTAT_F32, call);
        break;
    case IMGSTAT_U64:
        loop(IMGSTAT_U64, call);
        break;
    case IMGSTAT_I64:
        loop(IMGSTAT_I64, call);
        break;
    default:
        loop(IMGSTAT_F64, call);
    }
}

#endif
