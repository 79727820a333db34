/* SPDX-License-Identifier: MIT */
/* bigint.c: schoolbook arithmetic; a record needs some tens of operations, not millions. */
#include "record/bigint.h"

#include <assert.h>

static void trim(BigInt *value)
{
    while (value->n > 0 && value->limb[value->n - 1] == 0)
        value->n--;
    if (value->n == 0)
        value->negative = false;
}

BigInt big_from_u64(uint64_t value)
{
    return big_from_words(&value, 1, false);
}

BigInt big_from_words(const uint64_t *words, size_t n, bool is_signed)
{
    BigInt out = {.n = (uint32_t)(2 * n)};
    out.negative = is_signed && n > 0 && words[n - 1] >> 63;
    unsigned carry = out.negative; /* -x is ~x + 1 */
    for (size_t i = 0; i < n; i++) {
        const uint64_t word = (out.negative ? ~words[i] : words[i]) + carry;
        carry = carry && word == 0;
        out.limb[2 * i] = (uint32_t)word;
        out.limb[2 * i + 1] = (uint32_t)(word >> 32);
    }
    trim(&out);
    return out;
}

BigInt big_from_exact(const ExactSum *sum)
{
    ExactSum positive = *sum;
    BigInt out = {.n = EXACT_LIMBS + 1};
    out.negative = sum->limb[EXACT_LIMBS - 1] < 0; /* normalized: the last limb has the sign */
    if (out.negative) {
        for (int i = 0; i < EXACT_LIMBS; i++)
            positive.limb[i] = -positive.limb[i];
        exact_normalize(&positive);
    }
    for (int i = 0; i < EXACT_LIMBS; i++)
        out.limb[i] = (uint32_t)positive.limb[i];
    out.limb[EXACT_LIMBS] = (uint32_t)((uint64_t)positive.limb[EXACT_LIMBS - 1] >> 32);
    trim(&out);
    return out;
}

static int compare_magnitude(const BigInt *a, const BigInt *b)
{
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (uint32_t i = a->n; i-- > 0;)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

static void add_magnitude(BigInt *out, const BigInt *a, const BigInt *b)
{
    const uint32_t n = a->n > b->n ? a->n : b->n;
    assert(n < BIG_LIMBS);
    uint64_t carry = 0;
    for (uint32_t i = 0; i < n; i++) {
        carry += (uint64_t)(i < a->n ? a->limb[i] : 0) + (i < b->n ? b->limb[i] : 0);
        out->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    out->limb[n] = (uint32_t)carry;
    out->n = n + 1;
}

/* a >= b in magnitude. out may be a. */
static void subtract_magnitude(BigInt *out, const BigInt *a, const BigInt *b)
{
    uint64_t borrow = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        const uint64_t difference = (uint64_t)a->limb[i] - (i < b->n ? b->limb[i] : 0) - borrow;
        out->limb[i] = (uint32_t)difference;
        borrow = difference >> 63;
    }
    out->n = a->n;
}

static void add_signed(BigInt *out, const BigInt *a, const BigInt *b, bool b_negative)
{
    if (a->negative == b_negative) {
        add_magnitude(out, a, b);
        out->negative = a->negative;
    } else if (compare_magnitude(a, b) >= 0) {
        subtract_magnitude(out, a, b);
        out->negative = a->negative;
    } else {
        subtract_magnitude(out, b, a);
        out->negative = b_negative;
    }
    trim(out);
}

void big_add(BigInt *out, const BigInt *a, const BigInt *b)
{
    add_signed(out, a, b, b->negative);
}

void big_subtract(BigInt *out, const BigInt *a, const BigInt *b)
{
    add_signed(out, a, b, !b->negative);
}

void big_multiply(BigInt *out, const BigInt *a, const BigInt *b)
{
    assert(a->n + b->n <= BIG_LIMBS);
    out->n = a->n + b->n;
    out->negative = a->negative != b->negative;
    memset(out->limb, 0, out->n * sizeof out->limb[0]);
    for (uint32_t i = 0; i < a->n; i++) {
        uint64_t carry = 0;
        for (uint32_t j = 0; j < b->n; j++) {
            carry += (uint64_t)a->limb[i] * b->limb[j] + out->limb[i + j];
            out->limb[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        out->limb[i + b->n] = (uint32_t)carry;
    }
    trim(out);
}

void big_shift(BigInt *value, unsigned bits)
{
    if (value->n == 0)
        return;
    const uint32_t limbs = bits / 32, rest = bits % 32;
    assert(value->n + limbs + 1 <= BIG_LIMBS);
    value->limb[value->n] = 0;
    for (uint32_t i = value->n + 1; i-- > 0;) {
        const uint64_t high = (uint64_t)value->limb[i] << rest;
        const uint64_t low = i > 0 && rest ? value->limb[i - 1] >> (32 - rest) : 0;
        value->limb[i + limbs] = (uint32_t)(high | low);
    }
    memset(value->limb, 0, limbs * sizeof value->limb[0]);
    value->n += limbs + 1;
    trim(value);
}

static void halve(BigInt *value)
{
    for (uint32_t i = 0; i < value->n; i++) {
        const uint32_t next = i + 1 < value->n ? value->limb[i + 1] : 0;
        value->limb[i] = value->limb[i] >> 1 | next << 31;
    }
    trim(value);
}

void big_shift_down(BigInt *value, unsigned bits)
{
    const uint32_t limbs = bits / 32 < value->n ? bits / 32 : value->n;
    value->n -= limbs;
    memmove(value->limb, value->limb + limbs, value->n * sizeof value->limb[0]);
    for (unsigned b = 0; b < bits % 32; b++)
        halve(value);
    trim(value);
}

static int bit_length(const BigInt *value)
{
    if (value->n == 0)
        return 0;
    return (int)(32 * value->n) - __builtin_clz(value->limb[value->n - 1]);
}

/* (q + something in (0, 1) if sticky) * 2^exponent to the nearest double, ties to even.
 * q has 66 or 67 bits. */
static double round_once(unsigned __int128 q, bool sticky, int exponent)
{
    const int length = (q >> 66) ? 67 : 66;
    int lowest = length + exponent - 53; /* exponent of the last bit kept */
    if (lowest < -1074)
        lowest = -1074;
    const int drop = lowest - exponent; /* >= 13 */
    if (drop > length)
        return 0.0; /* below half of the smallest subnormal */
    if (lowest > 1024)
        return (double)INFINITY;
    const unsigned __int128 half = (unsigned __int128)1 << (drop - 1);
    const unsigned __int128 rest = q & (2 * half - 1);
    uint64_t kept = (uint64_t)(q >> drop);
    if (rest > half || (rest == half && (sticky || (kept & 1))))
        kept++;
    return ldexp((double)kept, lowest); /* exact, or infinite as it should be */
}

double big_quotient(const BigInt *a, const BigInt *b, int exponent)
{
    if (a->n == 0)
        return 0.0;
    BigInt rest = *a, divisor = *b;
    rest.negative = divisor.negative = false;
    const int shift = 66 - (bit_length(&rest) - bit_length(&divisor));
    if (shift > 0)
        big_shift(&rest, (unsigned)shift);
    else
        big_shift(&divisor, (unsigned)-shift);
    /* Now rest is 66 bits longer: the quotient has 66 or 67. */
    big_shift(&divisor, 66);
    unsigned __int128 q = 0;
    for (int i = 66; i >= 0; i--) {
        q <<= 1;
        if (compare_magnitude(&rest, &divisor) >= 0) {
            subtract_magnitude(&rest, &rest, &divisor);
            trim(&rest);
            q |= 1;
        }
        halve(&divisor);
    }
    const double magnitude = round_once(q, rest.n != 0, exponent - shift);
    return a->negative ? -magnitude : magnitude;
}

double big_double(const BigInt *a, int exponent)
{
    const BigInt one = big_from_u64(1);
    return big_quotient(a, &one, exponent);
}

void big_decimal(const BigInt *value, char *text, size_t capacity)
{
    assert(value->n <= 4 && capacity >= 41);
    (void)capacity;
    unsigned __int128 rest = 0;
    for (uint32_t i = value->n; i-- > 0;)
        rest = rest << 32 | value->limb[i];
    char digit[40];
    size_t n = 0;
    do {
        digit[n++] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest);
    if (value->negative)
        *text++ = '-';
    while (n > 0)
        *text++ = digit[--n];
    *text = '\0';
}
