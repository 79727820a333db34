/* SPDX-License-Identifier: MIT */
/* lut8.c: bytes through tables: one after another, or as permutations of registers (VBMI). */
#include "base/compiler.h"
#include "cpu/loops_isa.h"

#if defined(__AVX512BW__)
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

FORCE_INLINE void lookup_any(const uint8_t *from, size_t n, unsigned channels,
                             const uint8_t *tables, uint8_t *to)
{
    if (channels == 1)
        lookup_of(from, n, 1, tables, to);
    else if (channels == 3)
        lookup_of(from, n, 3, tables, to);
    else
        lookup_of(from, n, channels, tables, to);
}

#if defined(__AVX512BW__)

enum { VECTOR = 64 };

/* Looks bytes up in 256-byte tables of four registers: the highest bit of the index chooses between
 * two pairs of registers, the next bit within a pair. A vector begins with channel `phase`;
 * mask[phase][c] marks its bytes of channel c. */
__attribute__((target("avx512vbmi"), always_inline)) static inline void
lookup_vectors(const uint8_t *from, size_t n, unsigned channels, const uint8_t *tables, uint8_t *to)
{
    __m512i table[LOOP_CHANNELS][4];
    __mmask64 mask[LOOP_CHANNELS][LOOP_CHANNELS] = {{0}};
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

__attribute__((target("avx512vbmi"))) static void
lookup_vbmi(const uint8_t *from, size_t n, unsigned channels, const uint8_t *tables, uint8_t *to)
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

#endif

void ISA(lut8)(const uint8_t *from, size_t n, unsigned channels, const uint8_t *tables, uint8_t *to)
{
#if defined(__AVX512BW__)
    if (__builtin_cpu_supports("avx512vbmi")) {
        lookup_vbmi(from, n, channels, tables, to);
        return;
    }
#endif
    lookup_any(from, n, channels, tables, to);
}
