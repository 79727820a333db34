/* SPDX-License-Identifier: MIT */
/* lanes.h: code of 32 lanes that both C and CUDA C compile: a warp, or a loop over its lanes. Lanes
 * share memory; what one writes, others read after lanes_meet. */
#ifndef IMGSTAT_CODEC_LANES_H
#define IMGSTAT_CODEC_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef IMGSTAT_LANES /* bounded proofs have fewer */
#define IMGSTAT_LANES 32
#endif
enum { LANES = IMGSTAT_LANES };

/* A loop over lanes is
 *     for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
 * Outside such loops every lane does the same: lanes_leader says which of them may write. */
#ifdef __CUDACC__

#define LANES_INLINE static __device__ __forceinline__
enum { LANES_STEP = LANES };

LANES_INLINE unsigned lanes_first(void)
{
    return threadIdx.x % LANES;
}

LANES_INLINE bool lanes_leader(void)
{
    return lanes_first() == 0;
}

LANES_INLINE void lanes_meet(void)
{
    __syncwarp();
}

/* A block of BLOCK_STEP threads. A loop over what they share is
 *     for (uint32_t i = block_first(); i < n; i += BLOCK_STEP) */
enum { BLOCK_STEP = 1024 };

LANES_INLINE unsigned block_first(void)
{
    return threadIdx.x;
}

LANES_INLINE void block_meet(void)
{
    __syncthreads();
}

/* Returns the lanes whose flag is not 0, one bit each. */
LANES_INLINE uint32_t lanes_mask(const uint8_t flag[LANES])
{
    return __ballot_sync(0xFFFFFFFFu, flag[lanes_first()] != 0);
}

/* Replaces each value by the sum of those before it, and returns the sum of all. */
LANES_INLINE uint32_t lanes_before(uint32_t value[LANES])
{
    const unsigned lane = lanes_first();
    const uint32_t own = value[lane];
    uint32_t sum = own;
    for (unsigned h = 1; h < LANES; h *= 2) {
        const uint32_t lower = __shfl_up_sync(0xFFFFFFFFu, sum, h);
        sum += lane >= h ? lower : 0;
    }
    value[lane] = sum - own;
    __syncwarp(); /* the sums are there */
    return __shfl_sync(0xFFFFFFFFu, sum, LANES - 1);
}

/* Returns the bits that any lane has. */
LANES_INLINE uint32_t lanes_or(const uint32_t value[LANES])
{
    return __reduce_or_sync(0xFFFFFFFFu, value[lanes_first()]);
}

/* Returns the least value. */
LANES_INLINE uint32_t lanes_least(const uint32_t value[LANES])
{
    return __reduce_min_sync(0xFFFFFFFFu, value[lanes_first()]);
}

LANES_INLINE unsigned lanes_count(uint32_t mask)
{
    return (unsigned)__popc(mask);
}

/* Returns the number of the lowest bit that is set; LANES if none is. */
LANES_INLINE unsigned lanes_lowest(uint32_t mask)
{
    return mask ? (unsigned)__ffs((int)mask) - 1 : LANES;
}

/* Returns the lower half of high:low >> shift, shift < 32. */
LANES_INLINE uint32_t lanes_shifted(uint32_t low, uint32_t high, unsigned shift)
{
    return __funnelshift_r(low, high, shift);
}

LANES_INLINE uint32_t lanes_reversed(uint32_t bits)
{
    return __brev(bits);
}

/* Returns word i of n bytes on a boundary of 4, without reading beyond them; missing bytes are 0.
 */
LANES_INLINE uint32_t lanes_word(const uint8_t *bytes, uint32_t n, uint32_t i)
{
    if ((uint64_t)i * 4 + 4 <= n)
        return ((const uint32_t *)bytes)[i];
    uint32_t word = 0;
    for (uint32_t k = 0; k < 4 && (uint64_t)i * 4 + k < n; k++)
        word |= (uint32_t)bytes[(size_t)i * 4 + k] << 8 * k;
    return word;
}

/* Returns a word of 1, 2, 4 or 8 bytes in the order of the machine, from anywhere. */
LANES_INLINE uint64_t lanes_load(const uint8_t *at, unsigned bytes)
{
    uint64_t word = 0;
    if (bytes == 1)
        return *at;
    if ((uintptr_t)at % bytes == 0)
        return bytes == 2   ? *(const uint16_t *)at
               : bytes == 4 ? *(const uint32_t *)at
                            : *(const uint64_t *)at;
    for (unsigned i = 0; i < bytes; i++)
        word |= (uint64_t)at[i] << 8 * i;
    return word;
}

/* Stores the lowest bytes of a word anywhere. */
LANES_INLINE void lanes_store(uint8_t *at, unsigned bytes, uint64_t word)
{
    if (bytes == 1 || (uintptr_t)at % bytes != 0)
        for (unsigned i = 0; i < bytes; i++)
            at[i] = (uint8_t)(word >> 8 * i);
    else if (bytes == 2)
        *(uint16_t *)at = (uint16_t)word;
    else if (bytes == 4)
        *(uint32_t *)at = (uint32_t)word;
    else
        *(uint64_t *)at = word;
}

#else

#define LANES_INLINE static inline
enum { LANES_STEP = 1 };

LANES_INLINE unsigned lanes_first(void)
{
    return 0;
}

LANES_INLINE bool lanes_leader(void)
{
    return true;
}

LANES_INLINE void lanes_meet(void)
{
}

enum { BLOCK_STEP = 1 };

LANES_INLINE unsigned block_first(void)
{
    return 0;
}

LANES_INLINE void block_meet(void)
{
}

LANES_INLINE uint32_t lanes_mask(const uint8_t flag[LANES])
{
    uint32_t mask = 0;
    for (unsigned lane = 0; lane < LANES; lane++)
        mask |= (uint32_t)(flag[lane] != 0) << lane;
    return mask;
}

LANES_INLINE uint32_t lanes_before(uint32_t value[LANES])
{
    uint32_t sum = 0;
    for (unsigned lane = 0; lane < LANES; lane++) {
        const uint32_t own = value[lane];
        value[lane] = sum;
        sum += own;
    }
    return sum;
}

LANES_INLINE uint32_t lanes_or(const uint32_t value[LANES])
{
    uint32_t bits = 0;
    for (unsigned lane = 0; lane < LANES; lane++)
        bits |= value[lane];
    return bits;
}

LANES_INLINE uint32_t lanes_least(const uint32_t value[LANES])
{
    uint32_t least = UINT32_MAX;
    for (unsigned lane = 0; lane < LANES; lane++)
        least = value[lane] < least ? value[lane] : least;
    return least;
}

LANES_INLINE unsigned lanes_count(uint32_t mask)
{
    unsigned n = 0;
    for (; mask; mask &= mask - 1)
        n++;
    return n;
}

LANES_INLINE unsigned lanes_lowest(uint32_t mask)
{
    unsigned bit = 0;
    while (bit < LANES && !(mask >> bit & 1))
        bit++;
    return bit;
}

LANES_INLINE uint32_t lanes_shifted(uint32_t low, uint32_t high, unsigned shift)
{
    return (uint32_t)(((uint64_t)high << 32 | low) >> shift);
}

LANES_INLINE uint32_t lanes_reversed(uint32_t bits)
{
    uint32_t reversed = 0;
    for (unsigned i = 0; i < 32; i++)
        reversed |= (bits >> i & 1) << (31 - i);
    return reversed;
}

LANES_INLINE uint32_t lanes_word(const uint8_t *bytes, uint32_t n, uint32_t i)
{
    uint32_t word = 0;
    for (uint32_t k = 0; k < 4 && (uint64_t)i * 4 + k < n; k++)
        word |= (uint32_t)bytes[(size_t)i * 4 + k] << 8 * k;
    return word;
}

LANES_INLINE uint64_t lanes_load(const uint8_t *at, unsigned bytes)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (bytes) {
    case 1:
        return *at;
    case 2:
        memcpy(&two, at, sizeof two);
        return two;
    case 4:
        memcpy(&four, at, sizeof four);
        return four;
    default:
        memcpy(&eight, at, sizeof eight);
        return eight;
    }
}

LANES_INLINE void lanes_store(uint8_t *at, unsigned bytes, uint64_t word)
{
    const uint8_t one = (uint8_t)word;
    const uint16_t two = (uint16_t)word;
    const uint32_t four = (uint32_t)word;
    memcpy(at,
           bytes == 1   ? (const void *)&one
           : bytes == 2 ? (const void *)&two
           : bytes == 4 ? (const void *)&four
                        : (const void *)&word,
           bytes);
}

#endif
#endif
