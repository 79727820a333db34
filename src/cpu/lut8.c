/* SPDX-License-Identifier: MIT */
/* lut8.c: bytes through tables: one after another, or as permutations of registers. */
#include "cpu/lut8.h"

#include "base/cpu_features.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* `channels` is a constant where this is inlined. */
static inline void lookup_of(const uint8_t *from, size_t n, unsigned channels,
                             const uint8_t *tables, uint8_t *to)
{
    size_t i = 0;
    for (; i + channels <= n; i += channels)
        for (unsigned c = 0; c < channels; c++)
            to[i + c] = tables[256 * c + from[i + c]];
    for (unsigned c = 0; i < n; i++, c++)
        to[i] = tables[256 * c + from[i]];
}

void lookup_bytes_portable(const uint8_t *from, size_t n, unsigned channels, const uint8_t *tables,
                           uint8_t *to)
{
    if (channels == 1)
        lookup_of(from, n, 1, tables, to);
    else if (channels == 3)
        lookup_of(from, n, 3, tables, to);
    else
        lookup_of(from, n, channels, tables, to);
}

#if defined(__x86_64__)

enum { VECTOR = 64 };

/* 256 bytes are four registers; the index' highest bit chooses between two pairs of them, its next
 * between the two of a pair. A vector begins with the channel `phase`; mask[phase][c] are its bytes
 * of channel c. */
__attribute__((target("avx512f,avx512bw,avx512vbmi"), always_inline)) static inline void
lookup_vectors(const uint8_t *from, size_t n, unsigned channels, const uint8_t *tables, uint8_t *to)
{
    __m512i table[LOOKUP_CHANNELS][4];
    __mmask64 mask[LOOKUP_CHANNELS][LOOKUP_CHANNELS] = {{0}};
    for (unsigned c = 0; c < channels; c++)
        for (unsigned k = 0; k < 4; k++)
            table[c][k] = _mm512_loadu_si512(tables + 256 * c + VECTOR * k);
    for (unsigned phase = 0; phase < channels; phase++)
        for (unsigned k = 0; k < VECTOR; k++)
            mask[phase][(phase + k) % channels] |= (__mmask64)1 << k;
    unsigned phase = 0;
    for (size_t i = 0; i < n; i += VECTOR) {
        const __mmask64 there = n - i < VECTOR ? ((__mmask64)1 << (n - i)) - 1 : UINT64_MAX;
        const __m512i v = _mm512_maskz_loadu_epi8(there, from + i);
        const __mmask64 upper = _mm512_movepi8_mask(v);
        __m512i out = _mm512_setzero_si512();
        for (unsigned c = 0; c < channels; c++) {
            const __m512i low = _mm512_permutex2var_epi8(table[c][0], v, table[c][1]);
            const __m512i high = _mm512_permutex2var_epi8(table[c][2], v, table[c][3]);
            const __m512i both = _mm512_mask_mov_epi8(low, upper, high);
            out = channels == 1 ? both : _mm512_mask_mov_epi8(out, mask[phase][c], both);
        }
        _mm512_mask_storeu_epi8(to + i, there, out);
        phase = (phase + VECTOR) % channels;
    }
}

__attribute__((target("avx512f,avx512bw,avx512vbmi"))) void
lookup_bytes_vbmi(const uint8_t *from, size_t n, unsigned channels, const uint8_t *tables,
                  uint8_t *to)
{
    switch (channels) {
    case 1:
        lookup_vectors(from, n, 1, tables, to);
        return;
    case 2:
        lookup_vectors(from, n, 2, tables, to);
        return;
    case 3:
        lookup_vectors(from, n, 3, tables, to);
        return;
    default:
        lookup_vectors(from, n, 4, tables, to);
    }
}

bool lookup_has_vbmi(void)
{
    return cpu_features_supports(PROCESSOR_AVX512) && __builtin_cpu_supports("avx512vbmi");
}

#endif

LookupBytes lookup_bytes(void)
{
#if defined(__x86_64__)
    if (cpu_features_level() >= PROCESSOR_AVX512 && lookup_has_vbmi())
        return lookup_bytes_vbmi;
#endif
    return lookup_bytes_portable;
}
