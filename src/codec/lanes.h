/* SPDX-License-Identifier: MIT */
/* lanes.h: code of 32 lanes that both C and CUDA C compile: a warp, or a loop over its lanes. Lanes
 * share memory; what one writes, others read after lanes_meet. */
#ifndef IMGSTAT_CODEC_LANES_H
#define IMGSTAT_CODEC_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LANES = 32 };

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

#endif
#endif
