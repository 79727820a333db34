/* SPDX-License-Identifier: MIT */
/* clahe_map16.c: 16-bit keys between the tables of four tiles: one after another, or in vectors of
 * AVX2. */
#include "cpu/clahe_map16.h"

#include "base/compiler.h"
#include "cpu/loops_isa.h"

#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* ---- Between two tables of a row ------------------------------------------------------------- */

/* In units of 2^-31 the result from the row tables is too small by less than 3 (three quotients are
 * rounded down); rounding the four shares to 2^-24 adds at most 64, and their sum a quarter. Where
 * so little decides, keys are mapped from the four tables. */
enum { ROW_BITS = 31, ROW_ERROR = 68, ROW_SHIFT = 24 + 16 - ROW_BITS };

FORCE_INLINE uint32_t weighed(uint32_t upper, uint32_t lower, uint32_t y_weight)
{
    const uint32_t rest = CLAHE_WEIGHT - y_weight;
    return (uint32_t)(((uint64_t)upper * rest + (uint64_t)lower * y_weight) >> ROW_SHIFT);
}

FORCE_INLINE void row_of(const uint32_t *upper, const uint32_t *lower, uint32_t y_weight,
                         uint64_t *row)
{
    uint32_t at[CLAHE_NODES + 1];
    for (size_t k = 0; k < CLAHE_NODES; k++)
        at[k] = weighed(upper[k], lower[k], y_weight);
    at[CLAHE_NODES] = at[CLAHE_NODES - 1];
    for (size_t k = 0; k < CLAHE_NODES; k++)
        row[k] = at[k] | (uint64_t)(at[k + 1] - at[k]) << 32;
}

void ISA(clahe_row16)(const uint32_t *upper, const uint32_t *lower, uint32_t y_weight,
                      uint64_t *row)
{
    row_of(upper, lower, y_weight, row);
}

#if !defined(__AVX2__)

FORCE_INLINE uint64_t row_value(uint64_t pair, uint64_t part)
{
    return (uint32_t)pair + ((pair >> 32) * part >> 16);
}

void ISA(clahe_map16)(const ClaheWords *words, const ClaheBlend *blend, const uint16_t *key,
                      size_t n, uint16_t *out)
{
    const ClaheWords w = *words;
    const uint64_t error = ROW_ERROR * w.span, low = ((uint64_t)1 << ROW_BITS) - 1;
    const uint64_t half = (uint64_t)1 << (ROW_BITS - 1);
    for (size_t i = 0; i < n; i++) {
        const uint32_t position = clahe_words_position(&w, key[i]);
        const uint64_t node = position / CLAHE_WEIGHT, part = position % CLAHE_WEIGHT;
        const uint64_t weight = blend[i].weight;
        const uint64_t unit = (row_value(w.row[0][node], part) * (CLAHE_WEIGHT - weight) +
                               row_value(w.row[1][node], part) * weight) >>
                              16;
        const uint64_t scaled = unit * w.span + half;
        if (((scaled + error) & low) < 2 * error)
            out[i] = clahe_words_key(&w, (uint32_t)weight, key[i]);
        else
            out[i] = (uint16_t)(w.lo_key + (scaled >> ROW_BITS));
    }
}

#else

/* ---- Vectors --------------------------------------------------------------------------------- */

/* Pixels of a step, and steps before the pixels in doubt are mapped again. */
enum { STEP = 8, STEPS = 8 };

/* Maps STEP keys. Bit i of the result: pixel i is in doubt. */
typedef unsigned MapStep(const ClaheWords *w, const void *lanes, const ClaheBlend *blend,
                         const uint16_t *key, uint16_t *out);

FORCE_INLINE unsigned map_some(const ClaheWords *w, const void *lanes, const ClaheBlend *blend,
                               const uint16_t *key, size_t n, uint16_t *out, MapStep *step)
{
    ClaheBlend at[STEP] = {{0}};
    uint16_t from[STEP] = {0}, to[STEP];
    memcpy(at, blend, n * sizeof *at);
    memcpy(from, key, n * sizeof *from);
    const unsigned doubt = step(w, lanes, at, from, to);
    memcpy(out, to, n * sizeof *to);
    return doubt & ((1u << n) - 1);
}

FORCE_INLINE void map_steps(const ClaheWords *w, const void *lanes, const ClaheBlend *blend,
                            const uint16_t *key, size_t n, uint16_t *out, MapStep *step)
{
    for (size_t i = 0, end; i < n; i = end) {
        end = n - i < STEP * STEPS ? n : i + STEP * STEPS;
        uint64_t doubt = 0;
        size_t k = i;
        for (; k + STEP <= end; k += STEP)
            doubt |= (uint64_t)step(w, lanes, blend + k, key + k, out + k) << (k - i);
        if (k < end)
            doubt |= (uint64_t)map_some(w, lanes, blend + k, key + k, end - k, out + k, step)
                     << (k - i);
        for (; doubt; doubt &= doubt - 1) {
            const size_t again = i + (size_t)__builtin_ctzll(doubt);
            out[again] = clahe_words_key(w, blend[again].weight, key[again]);
        }
    }
}

/* Constants of all pixels, in every lane. */
typedef struct Lanes256 {
    __m128i black, range;
    __m256i step[2]; /* upper, lower half */
    __m256i span, half, error, doubt;
} Lanes256;

/* 256-bit gathers gain nothing over these loads, and are slow on some processors. */
FORCE_INLINE __m256i row_4(const uint64_t *row, __m256i node, __m256i part)
{
    const __m256i pair = _mm256_setr_epi64x(
        (int64_t)row[_mm256_extract_epi64(node, 0)], (int64_t)row[_mm256_extract_epi64(node, 1)],
        (int64_t)row[_mm256_extract_epi64(node, 2)], (int64_t)row[_mm256_extract_epi64(node, 3)]);
    const __m256i more = _mm256_mul_epu32(_mm256_srli_epi64(pair, 32), part);
    return _mm256_add_epi32(pair, _mm256_srli_epi64(more, 16));
}

/* Scales 4 pixels in the lower halves of lanes; 32-bit products ignore the upper halves. */
FORCE_INLINE __m256i scaled_4(const ClaheWords *w, const Lanes256 *l, __m256i k, __m256i weight)
{
    const __m256i rest = _mm256_sub_epi32(_mm256_set1_epi32(CLAHE_WEIGHT), weight);
    const __m256i position = _mm256_add_epi64(
        _mm256_mul_epu32(k, l->step[0]), _mm256_srli_epi64(_mm256_mul_epu32(k, l->step[1]), 32));
    const __m256i node = _mm256_srli_epi64(position, 16);
    const __m256i part = _mm256_and_si256(position, _mm256_set1_epi64x(CLAHE_WEIGHT - 1));
    const __m256i sum = _mm256_add_epi64(_mm256_mul_epu32(row_4(w->row[0], node, part), rest),
                                         _mm256_mul_epu32(row_4(w->row[1], node, part), weight));
    return _mm256_mul_epu32(_mm256_srli_epi64(sum, 16), l->span);
}

FORCE_INLINE unsigned step_8(const ClaheWords *w, const void *lanes, const ClaheBlend *blend,
                             const uint16_t *key, uint16_t *out)
{
    const Lanes256 *const l = lanes;
    const __m256i *const three = (const __m256i *)(const void *)blend;
    /* each third word of three vectors: places 2, 5; 0, 3, 6; 1, 4, 7 */
    const __m256i third = _mm256_blend_epi32(
        _mm256_blend_epi32(_mm256_loadu_si256(three), _mm256_loadu_si256(three + 1), 0x49),
        _mm256_loadu_si256(three + 2), 0x92);
    const __m256i weight =
        _mm256_permutevar8x32_epi32(third, _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7));
    const __m128i from =
        _mm_subs_epu16(_mm_loadu_si128((const __m128i *)(const void *)key), l->black);
    const __m256i k = _mm256_cvtepu16_epi32(_mm_min_epu16(from, l->range));
    const __m256i even = scaled_4(w, l, k, weight);
    const __m256i odd = scaled_4(w, l, _mm256_srli_epi64(k, 32), _mm256_srli_epi64(weight, 32));
    const __m256i mapped =
        _mm256_blend_epi32(_mm256_srli_epi64(_mm256_add_epi64(even, l->half), ROW_BITS),
                           _mm256_slli_epi64(_mm256_add_epi64(odd, l->half), 32 - ROW_BITS), 0xAA);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(mapped, mapped), 0x08);
    _mm_storeu_si128((__m128i *)(void *)out, _mm256_castsi256_si128(packed));
    const __m256i low = _mm256_and_si256(
        _mm256_blend_epi32(_mm256_add_epi64(even, l->error),
                           _mm256_slli_epi64(_mm256_add_epi64(odd, l->error), 32), 0xAA),
        _mm256_set1_epi32(INT32_MAX));
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(l->doubt, low)));
}

void ISA(clahe_map16)(const ClaheWords *words, const ClaheBlend *blend, const uint16_t *key,
                      size_t n, uint16_t *out)
{
    const ClaheWords w = *words;
    const uint64_t error = ROW_ERROR * w.span;
    const uint64_t half = ((uint64_t)1 << (ROW_BITS - 1)) + (w.lo_key << ROW_BITS);
    const Lanes256 lanes = {
        .black = _mm_set1_epi16((short)w.black),
        .range = _mm_set1_epi16((short)(w.white - w.black)),
        .step = {_mm256_set1_epi64x((int64_t)(w.step >> 32)), _mm256_set1_epi64x((int64_t)w.step)},
        .span = _mm256_set1_epi64x((int64_t)w.span),
        .half = _mm256_set1_epi64x((int64_t)half),
        .error = _mm256_set1_epi64x((int64_t)(half + error)),
        .doubt = _mm256_set1_epi32((int32_t)(2 * error))};
    map_steps(&w, &lanes, blend, key, n, out, step_8);
}

#endif
