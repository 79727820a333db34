/* SPDX-License-Identifier: MIT */
/* exact_sum.h: sums without rounding, whatever the order of their terms; compiled by C and CUDA C.
 * docs/float-sums.md defines how floating samples become the terms added here. */
#ifndef IMGSTAT_RECORD_EXACT_SUM_H
#define IMGSTAT_RECORD_EXACT_SUM_H

#include "base/sample.h"

/* A fixed-point number that holds every finite double and every sum of up to 2^30 of them between
 * two normalizations: sum of limb[i] * 2^(32 i - 1074). (2098 bits of doubles + 64 of headroom,
 * in 68 limbs of 32 bits.) Integer addition is associative and commutative, so is this one.
 * All zero is the sum of nothing. */
enum { EXACT_LIMBS = 68, EXACT_EXPONENT = -1074 };

typedef struct ExactSum {
    int64_t limb[EXACT_LIMBS];
} ExactSum;

/* Splits a finite double into what it adds to three limbs, from *first up. */
IMGSTAT_INLINE void exact_split(double x, uint32_t *first, int64_t part[3])
{
    uint64_t raw;
    memcpy(&raw, &x, sizeof raw);
    const uint32_t biased = (uint32_t)(raw >> 52) & 0x7FFu;
    const uint64_t fraction = raw & (((uint64_t)1 << 52) - 1);
    const uint64_t mantissa = biased ? fraction | ((uint64_t)1 << 52) : fraction;
    const uint32_t shift = biased ? biased - 1 : 0; /* value = mantissa * 2^(shift - 1074) */
    const uint32_t r = shift % 32;
    const uint64_t low = mantissa << r;                 /* bits 0..63 */
    const uint64_t high = r ? mantissa >> (64 - r) : 0; /* bits 64..84 */
    const int64_t sign = (raw >> 63) ? -1 : 1;
    *first = shift / 32; /* <= 2045/32 = 63, so the third limb is at most 65 */
    part[0] = sign * (int64_t)(low & 0xFFFFFFFFu);
    part[1] = sign * (int64_t)(low >> 32);
    part[2] = sign * (int64_t)high;
}

/* Adds a finite x. At most 2^30 additions between two calls of exact_normalize. */
IMGSTAT_INLINE void exact_add(ExactSum *sum, double x)
{
    uint32_t first;
    int64_t part[3];
    exact_split(x, &first, part);
    sum->limb[first] += part[0];
    sum->limb[first + 1] += part[1];
    sum->limb[first + 2] += part[2];
}

/* Carries, so that every limb but the last is in [0, 2^32). Equal values then have equal limbs. */
IMGSTAT_INLINE void exact_normalize(ExactSum *sum)
{
    int64_t carry = 0;
    for (int i = 0; i < EXACT_LIMBS - 1; i++) {
        const int64_t v = sum->limb[i] + carry;
        const int64_t low = (int64_t)((uint64_t)v & 0xFFFFFFFFu);
        sum->limb[i] = low;
        carry = (v - low) / ((int64_t)1 << 32); /* exact: v - low is a multiple */
    }
    sum->limb[EXACT_LIMBS - 1] += carry;
}

/* Adds a normalized sum to a normalized sum. The result is normalized. */
IMGSTAT_INLINE void exact_merge(ExactSum *into, const ExactSum *from)
{
    for (int i = 0; i < EXACT_LIMBS; i++)
        into->limb[i] += from->limb[i];
    exact_normalize(into);
}

/* A piece is at most PIECE consecutive samples of one channel in one row, starting at a multiple
 * of PIECE; sample i of it belongs to lane i % PIECE_LANES. See docs/float-sums.md. */
enum { PIECE = 4096, PIECE_LANES = 128, PIECE_TERMS = 10, PIECE_SUM_TERMS = 3 };

/* The terms that one piece adds: the first PIECE_SUM_TERMS to the sum of x, the rest to the sum
 * of squares. n: valid samples (1..4096); pivot: the first valid sample; d, q: the piece's sums of
 * (x - pivot) and of its square. x = pivot + (x - pivot), so
 *   sum x   = n pivot + d                      n pivot       as high + low (fma is exact)
 *   sum x^2 = q + 2 pivot d + n pivot^2        each product  as high + low
 * Only q, d (rounded inside the piece) and the low parts of underflowing products are inexact. */
IMGSTAT_INLINE void piece_terms(double n, double pivot, double d, double q,
                                double term[PIECE_TERMS])
{
    const double np = n * pivot;
    const double square = pivot * pivot, square_low = fma(pivot, pivot, -square);
    const double twice = 2.0 * pivot; /* exact, or infinite and then seen as an overflow */
    const double cross = twice * d;
    const double top = n * square;
    const double low = n * square_low;
    term[0] = np;
    term[1] = fma(n, pivot, -np);
    term[2] = d;
    term[3] = q;
    term[4] = cross;
    term[5] = fma(twice, d, -cross);
    term[6] = top;
    term[7] = fma(n, square, -top);
    term[8] = low;
    term[9] = fma(n, square_low, -low);
}

/* Whether distances of integers from a center are computed in integers. Doubles of the center's
 * size are whole numbers then, and a double may not hold a sample. Otherwise converting a sample to
 * double changes its distance by at most a unit in the last place. */
IMGSTAT_INLINE bool center_is_whole(ImgstatSample s, double center)
{
    return sample_exceeds_double(s) && fabs(center) >= 4503599627370496.0;
}

#endif
