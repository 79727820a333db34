/* SPDX-License-Identifier: MIT */
/* test_bigint.c: big integers against __int128 and against doubles whose quotients are known. */
#include "helper_keys.h"
#include "record/bigint.h"

#include <criterion/criterion.h>
#include <float.h>

typedef unsigned __int128 Wide;
typedef __int128 SignedWide;

static BigInt from_wide(SignedWide value)
{
    const uint64_t word[2] = {(uint64_t)value, (uint64_t)(value >> 64)};
    return big_from_words(word, 2, true);
}

static bool same(const BigInt *a, const BigInt *b)
{
    return a->n == b->n && a->negative == b->negative &&
           memcmp(a->limb, b->limb, a->n * sizeof a->limb[0]) == 0;
}

/* Random in sign and length. */
static SignedWide random_wide(Random *random, int bits)
{
    const unsigned shift = (unsigned)(random_next(random) % (unsigned)bits) + 128 - (unsigned)bits;
    const Wide value = ((Wide)random_next(random) << 64 | random_next(random)) >> shift;
    return random_next(random) % 2 ? -(SignedWide)value : (SignedWide)value;
}

Test(bigint, agrees_with_int128)
{
    Random random = {5};
    for (int i = 0; i < 100000; i++) {
        const SignedWide a = random_wide(&random, 126), b = random_wide(&random, 126);
        const SignedWide c = random_wide(&random, 62), d = random_wide(&random, 62);
        const BigInt x = from_wide(a), y = from_wide(b), u = from_wide(c), v = from_wide(d);
        BigInt got, expected = from_wide(a + b);
        big_add(&got, &x, &y);
        cr_assert(same(&got, &expected));
        expected = from_wide(a - b);
        big_subtract(&got, &x, &y);
        cr_assert(same(&got, &expected));
        expected = from_wide(c * d);
        big_multiply(&got, &u, &v);
        cr_assert(same(&got, &expected));
        const unsigned shift = (unsigned)(random_next(&random) % 64);
        got = u;
        big_shift(&got, shift);
        expected = from_wide(c * ((SignedWide)1 << shift));
        cr_assert(same(&got, &expected));
        big_shift_down(&got, shift);
        cr_assert(same(&got, &u));
        big_shift_down(&got, shift);
        expected = from_wide(c / ((SignedWide)1 << shift));
        cr_assert(same(&got, &expected));
    }
}

Test(bigint, identities_of_long_numbers)
{
    Random random = {6};
    for (int i = 0; i < 200; i++) {
        BigInt a = {0}, b = {0}, sum, difference, product, left, right;
        for (int k = 0; k < 30; k++) {
            BigInt t = from_wide(random_wide(&random, 127)), before = a;
            big_shift(&t, (unsigned)(random_next(&random) % 1900));
            big_add(&a, &before, &t);
            t = from_wide(random_wide(&random, 127));
            big_shift(&t, (unsigned)(random_next(&random) % 1900));
            before = b;
            big_subtract(&b, &before, &t);
        }
        big_add(&sum, &a, &b);
        big_subtract(&difference, &a, &b);
        big_multiply(&left, &sum, &difference); /* (a + b)(a - b) = a^2 - b^2 */
        BigInt aa, bb;
        big_multiply(&aa, &a, &a);
        big_multiply(&bb, &b, &b);
        big_subtract(&right, &aa, &bb);
        cr_assert(same(&left, &right));
        big_subtract(&product, &left, &right);
        cr_assert_eq(product.n, 0);
        left = a;
        big_shift(&left, 1074);
        big_shift_down(&left, 1074);
        cr_assert(same(&left, &a));
        cr_assert_not(product.negative);
        if (b.n > 0) { /* a b / b = a, rounded once either way */
            b.negative = false;
            big_multiply(&product, &a, &b);
            cr_assert_eq(big_quotient(&product, &b, -1000), big_double(&a, -1000));
        }
    }
}

Test(bigint, quotients_are_correctly_rounded)
{
    Random random = {7};
    size_t compared = 0;
    for (int i = 0; i < 200000; i++) {
        /* Doubles divide correctly rounded; so do integers below 2^53. */
        const int64_t a = (int64_t)(random_next(&random) >> (11 + random_next(&random) % 40));
        const int64_t b = (int64_t)(random_next(&random) >> (11 + random_next(&random) % 40));
        if (b == 0)
            continue;
        const BigInt x = from_wide(i % 2 ? a : -a), y = from_wide(b);
        const double expected = (double)(i % 2 ? a : -a) / (double)b;
        cr_assert(big_quotient(&x, &y, 0) == expected);
        cr_assert(big_quotient(&x, &y, 100) == ldexp(expected, 100));
        /* 128 bits to double: the compiler rounds to nearest even. */
        const SignedWide wide = random_wide(&random, 127);
        const BigInt z = from_wide(wide);
        cr_assert(big_double(&z, 0) == (double)wide);
        compared += 3;
    }
    cr_assert_gt(compared, 500000);
}

Test(bigint, rounds_ties_to_even_and_at_the_ends)
{
    for (uint64_t low = 0; low < 64; low++) {
        const uint64_t word = ((uint64_t)1 << 58) + low; /* 59 bits: 6 too many */
        const BigInt x = big_from_u64(word);
        cr_assert(big_double(&x, 0) == (double)word);
    }
    const BigInt one = big_from_u64(1), three = big_from_u64(3), five = big_from_u64(5);
    cr_assert(big_double(&one, -1074) == 5e-324);
    cr_assert(big_double(&one, -1075) == 0);        /* a tie, to even */
    cr_assert(big_double(&three, -1075) == 1e-323); /* a tie, to even */
    cr_assert(big_double(&three, -1076) == 5e-324);
    cr_assert(big_double(&five, -1077) == 5e-324);
    cr_assert(big_double(&one, -4000) == 0);
    cr_assert(big_quotient(&one, &three, -1072) == 5e-324); /* 1.33 steps */
    cr_assert(big_double(&one, 1023) == 0x1p1023);
    cr_assert(isinf(big_double(&one, 1024)));
    cr_assert(isinf(big_double(&one, 5000)));
    const BigInt most = big_from_u64(((uint64_t)1 << 54) - 2),
                 over = big_from_u64(((uint64_t)1 << 54) - 1);
    cr_assert(big_double(&most, 970) == DBL_MAX);
    cr_assert(isinf(big_double(&over, 970)));
    BigInt minus = over;
    minus.negative = true;
    cr_assert(big_double(&minus, 970) == -(double)INFINITY);
    const BigInt zero = big_from_u64(0);
    cr_assert(big_quotient(&zero, &three, 0) == 0);
}

Test(bigint, decimal)
{
    char text[48];
    BigInt x = big_from_u64(0);
    big_decimal(&x, text, sizeof text);
    cr_assert_str_eq(text, "0");
    x = from_wide(-1234567890123456789);
    big_decimal(&x, text, sizeof text);
    cr_assert_str_eq(text, "-1234567890123456789");
    const uint64_t all[2] = {UINT64_MAX, UINT64_MAX};
    x = big_from_words(all, 2, false);
    big_decimal(&x, text, sizeof text);
    cr_assert_str_eq(text, "340282366920938463463374607431768211455");
    const uint64_t least[2] = {0, (uint64_t)1 << 63};
    x = big_from_words(least, 2, true);
    big_decimal(&x, text, sizeof text);
    cr_assert_str_eq(text, "-170141183460469231731687303715884105728");
}
