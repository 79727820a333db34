/* SPDX-License-Identifier: MIT */
/* partition.c: divides vectors of keys at a pivot: packs the keys of each side, and stores them at
 * that end of the output. */
#include "record/partition.h"

#if defined(__AVX512F__)

#include <immintrin.h>

/* The first `count` lanes of 16. */
static inline __mmask16 first_lanes(unsigned count)
{
    return (__mmask16)_bzhi_u32(0xFFFF, count);
}

static size_t split_32(const void *from, size_t n, uint64_t pivot, void *to)
{
    enum { LANES = 16 };
    const uint32_t *const keys = from;
    uint32_t *low = to, *high = low + n;
    const __m512i at = _mm512_set1_epi32((int)(uint32_t)pivot);
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 there = first_lanes(n - i < LANES ? (unsigned)(n - i) : LANES);
        const __m512i key = _mm512_maskz_loadu_epi32(there, keys + i);
        const __mmask16 below = _mm512_mask_cmplt_epu32_mask(there, key, at);
        const __mmask16 above = _kandn_mask16(below, there);
        const unsigned n_below = (unsigned)_mm_popcnt_u32(below);
        const unsigned n_above = (unsigned)_mm_popcnt_u32(above);
        high -= n_above;
        _mm512_mask_storeu_epi32(low, first_lanes(n_below),
                                 _mm512_maskz_compress_epi32(below, key));
        _mm512_mask_storeu_epi32(high, first_lanes(n_above),
                                 _mm512_maskz_compress_epi32(above, key));
        low += n_below;
    }
    return (size_t)(low - (uint32_t *)to);
}

static size_t split_64(const void *from, size_t n, uint64_t pivot, void *to)
{
    enum { LANES = 8 };
    const uint64_t *const keys = from;
    uint64_t *low = to, *high = low + n;
    const __m512i at = _mm512_set1_epi64((long long)pivot);
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask8 there = (__mmask8)first_lanes(n - i < LANES ? (unsigned)(n - i) : LANES);
        const __m512i key = _mm512_maskz_loadu_epi64(there, keys + i);
        const __mmask8 below = _mm512_mask_cmplt_epu64_mask(there, key, at);
        const __mmask8 above = _kandn_mask8(below, there);
        const unsigned n_below = (unsigned)_mm_popcnt_u32(below);
        const unsigned n_above = (unsigned)_mm_popcnt_u32(above);
        high -= n_above;
        _mm512_mask_storeu_epi64(low, (__mmask8)first_lanes(n_below),
                                 _mm512_maskz_compress_epi64(below, key));
        _mm512_mask_storeu_epi64(high, (__mmask8)first_lanes(n_above),
                                 _mm512_maskz_compress_epi64(above, key));
        low += n_below;
    }
    return (size_t)(low - (uint64_t *)to);
}

#endif

KeySplit *ISA(key_split)(unsigned bytes)
{
#if defined(__AVX512F__)
    return bytes == 4 ? split_32 : split_64;
#else
    (void)bytes;
    return NULL;
#endif
}
