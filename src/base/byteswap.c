/* SPDX-License-Identifier: MIT */
/* byteswap.c: byte orders: plain loops, and vectors where the processor has them. */
#include "base/byteswap.h"

#include "base/cpu_features.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>

/* Whole vectors; returns the bytes done. */
__attribute__((target("avx2"))) static size_t swap_vectors(const uint8_t *from, uint8_t *to,
                                                           size_t n, size_t word)
{
    uint8_t order[32];
    for (size_t i = 0; i < sizeof order; i++)
        order[i] = (uint8_t)((i % 16) ^ (word - 1)); /* reversed within words of a power of two */
    const __m256i shuffle = _mm256_loadu_si256((const __m256i *)(const void *)order);
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(from + i));
        _mm256_storeu_si256((__m256i *)(void *)(to + i), _mm256_shuffle_epi8(v, shuffle));
    }
    return i;
}
#endif

void swap_words(const uint8_t *from, uint8_t *to, size_t n, size_t word)
{
    size_t i = 0;
#if defined(__x86_64__)
    if (cpu_features_level() >= PROCESSOR_AVX2)
        i = swap_vectors(from, to, n, word);
#endif
    for (; i + word <= n; i += word) {
        uint8_t bytes[8];
        for (size_t b = 0; b < word; b++)
            bytes[b] = from[i + word - 1 - b];
        memcpy(to + i, bytes, word);
    }
}
