/* SPDX-License-Identifier: MIT */
/* bigint.h: exact integers of some thousand bits, for sums that fit no machine word. */
#ifndef IMGSTAT_RECORD_BIGINT_H
#define IMGSTAT_RECORD_BIGINT_H

#include "record/exact_sum.h"

/* The largest value formed is the square of an ExactSum: twice 2176 + 32 bits, and 66 more while
 * it is divided. */
enum { BIG_LIMBS = 144 };

/* Sign and magnitude. The highest limb, limb[n - 1], is not 0. Zero has n == 0 and is not negative.
 */
typedef struct BigInt {
    bool negative;
    uint32_t n;
    uint32_t limb[BIG_LIMBS];
} BigInt;

BigInt big_from_u64(uint64_t value);
/* Reads n <= 4 words, the low one first; two's complement if is_signed. */
BigInt big_from_words(const uint64_t *words, size_t n, bool is_signed);
/* Returns a sum in units of 2^EXACT_EXPONENT. */
BigInt big_from_exact(const ExactSum *sum);

/* Results may not alias operands. */
void big_add(BigInt *out, const BigInt *a, const BigInt *b);
void big_subtract(BigInt *out, const BigInt *a, const BigInt *b);
void big_multiply(BigInt *out, const BigInt *a, const BigInt *b);
void big_shift(BigInt *value, unsigned bits);      /* times 2^bits */
void big_shift_down(BigInt *value, unsigned bits); /* divided by 2^bits, towards 0 */

/* Returns a / b * 2^exponent, rounded once to nearest, ties to even. The result may be subnormal or
 * infinite. b > 0. */
double big_quotient(const BigInt *a, const BigInt *b, int exponent);
double big_double(const BigInt *a, int exponent);

/* Writes a value below 2^128 in magnitude in decimal digits. 41 bytes hold any. */
void big_decimal(const BigInt *value, char *text, size_t capacity);

#endif
