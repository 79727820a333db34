/* SPDX-License-Identifier: MIT */
/* loop_count8_avx2.h: parts of counting bytes for processors with AVX2. */
#ifndef IMGSTAT_CPU_LOOP_COUNT8_AVX2_H
#define IMGSTAT_CPU_LOOP_COUNT8_AVX2_H

#include "cpu/loop_count8.h"

#include <immintrin.h>

#define LOOP_AVX2 __attribute__((target("avx2,bmi,bmi2"), always_inline)) static inline

LOOP_AVX2 __m256i load_32(const uint8_t *x)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)x);
}

LOOP_AVX2 uint32_t mask_avx2(const Vector8 *bytes)
{
    return (uint32_t)_mm256_movemask_epi8(load_32((const uint8_t *)bytes));
}

/* The least of 16 bytes. */
LOOP_AVX2 unsigned least_16(__m128i x)
{
    const __m128i words =
        _mm_and_si128(_mm_min_epu8(x, _mm_srli_epi16(x, 8)), _mm_set1_epi16(0xFF));
    return (unsigned)_mm_cvtsi128_si32(_mm_minpos_epu16(words)) & 0xFF;
}

LOOP_AVX2 void extent_32(__m256i low, __m256i high, unsigned *lo, unsigned *hi)
{
    const __m128i l = _mm_min_epu8(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    const __m128i h = _mm_max_epu8(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
    *lo = least_16(l);
    *hi = 0xFF - least_16(_mm_xor_si128(h, _mm_set1_epi8(-1)));
}

LOOP_AVX2 void extent_avx2(const uint8_t *x, unsigned *lo, unsigned *hi)
{
    __m256i low = load_32(x), high = low;
    for (size_t i = 32; i < BYTES_BLOCK; i += 32) {
        low = _mm256_min_epu8(low, load_32(x + i));
        high = _mm256_max_epu8(high, load_32(x + i));
    }
    extent_32(low, high, lo, hi);
}

LOOP_AVX2 void count_span_avx2(const uint8_t *x, unsigned lo, unsigned hi, uint32_t *counts)
{
    const __m256i one = _mm256_set1_epi8(1), zero = _mm256_setzero_si256();
    __m256i value = _mm256_set1_epi8((char)lo);
    for (unsigned i = lo; i <= hi; i++, value = _mm256_add_epi8(value, one)) {
        __m256i hits = zero;
        for (size_t j = 0; j < BYTES_BLOCK; j += 32)
            hits = _mm256_sub_epi8(hits, _mm256_cmpeq_epi8(load_32(x + j), value));
        const __m256i four = _mm256_sad_epu8(hits, zero);
        const __m128i two =
            _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
        counts[i] += (uint32_t)_mm_cvtsi128_si32(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two)));
    }
}

/* take_apart: 32 pixels at a time, 16 in each half of a vector. */
LOOP_AVX2 void take_apart_avx2(const uint8_t *x, unsigned channels, uint8_t *planar)
{
    const __m256i first = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    __m256i from = _mm256_setzero_si256(), part[LOOP_CHANNELS];
    for (unsigned k = 0; k < channels; k++) /* where pixel i begins */
        from = _mm256_add_epi8(from, first);
    for (size_t i = 0; i < BYTES_BLOCK; i += 32, x += (size_t)32 * channels) {
        for (unsigned k = 0; k < channels; k++) {
            const uint8_t *const low = x + (size_t)16 * k, *const high =
                                                               low + (size_t)16 * channels;
            part[k] = _mm256_inserti128_si256(
                _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)low)),
                _mm_loadu_si128((const __m128i *)(const void *)high), 1);
        }
        for (unsigned c = 0; c < channels; c++) {
            __m256i all = _mm256_setzero_si256();
            for (unsigned k = 0; k < channels; k++) {
                /* A byte outside this part gets its highest bit set: 0 is taken. */
                const __m256i at = _mm256_add_epi8(from, _mm256_set1_epi8((char)(c - 16 * k)));
                const __m256i in = _mm256_adds_epu8(at, _mm256_set1_epi8(0x70));
                all = _mm256_or_si256(all, _mm256_shuffle_epi8(part[k], in));
            }
            _mm256_storeu_si256((__m256i *)(void *)(planar + c * BYTES_BLOCK + i), all);
        }
    }
}

#endif
