/* SPDX-License-Identifier: MIT */
/* test_exact_sum.c: sums without rounding: order never shows, and the total is the nearest double.
 */
#include "helper_keys.h"
#include "record/bigint.h"

#include <criterion/criterion.h>
#include <float.h>
#include <stdlib.h>

static double total(const ExactSum *sum)
{
    const BigInt big = big_from_exact(sum);
    return big_double(&big, EXACT_EXPONENT);
}

static double sum_of(const double *x, size_t n)
{
    ExactSum sum = {0};
    for (size_t i = 0; i < n; i++)
        exact_add(&sum, x[i]);
    exact_normalize(&sum);
    return total(&sum);
}

Test(exact, one_number_comes_back)
{
    Random random = {8};
    for (int i = 0; i < 200000; i++) {
        const uint64_t raw = random_next(&random);
        double x;
        memcpy(&x, &raw, sizeof x);
        if (isfinite(x))
            cr_assert(sum_of(&x, 1) == x, "%a", x);
    }
    const double ends[] = {0, -0.0, 5e-324, -5e-324, DBL_MIN, -DBL_MIN, DBL_MAX, -DBL_MAX, 1, -1};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        cr_assert(sum_of(&ends[i], 1) == ends[i]);
}

Test(exact, two_numbers_as_the_processor_adds)
{
    Random random = {9};
    for (int i = 0; i < 200000; i++) {
        const double x[2] = {ldexp(random_normal(&random), (int)(random_next(&random) % 120) - 60),
                             ldexp(random_normal(&random), (int)(random_next(&random) % 120) - 60)};
        cr_assert(sum_of(x, 2) == x[0] + x[1], "%a %a", x[0],
                  x[1]); /* IEEE addition rounds correctly */
    }
}

Test(exact, cancels)
{
    const double x[] = {1e308, 1e308, 1, -1e308, 1e-300, -1e308, -1, 5e-324};
    cr_assert(sum_of(x, 7) == 1e-300);
    cr_assert(sum_of(x, 8) == 1e-300);
    cr_assert(isinf(sum_of(x, 2)));
    const double minus[] = {-1e308, -1e308, 1e300};
    cr_assert(sum_of(minus, 3) == -(double)INFINITY);
    const double tiny[] = {5e-324, 5e-324, -1.5e-323};
    cr_assert(sum_of(tiny, 3) == -5e-324);
}

Test(exact, order_and_grouping_do_not_show)
{
    Random random = {10};
    enum { N = 500 };
    double x[N];
    for (int i = 0; i < N; i++)
        x[i] = ldexp(random_normal(&random), (int)(random_next(&random) % 2000) - 1000);
    ExactSum straight = {0};
    for (int i = 0; i < N; i++)
        exact_add(&straight, x[i]);
    exact_normalize(&straight);
    for (int round = 0; round < 50; round++) {
        for (int i = N - 1; i > 0; i--) {
            const int j = (int)(random_next(&random) % (unsigned)(i + 1));
            const double swap = x[i];
            x[i] = x[j];
            x[j] = swap;
        }
        ExactSum part[7] = {0}, all = {0};
        for (int i = 0; i < N; i++)
            exact_add(&part[random_next(&random) % 7], x[i]);
        for (int k = 0; k < 7; k++) {
            exact_normalize(&part[k]);
            exact_merge(&all, &part[k]);
        }
        cr_assert_eq(memcmp(&all, &straight, sizeof all), 0);
    }
}

/* What a piece adds equals sum and sum of squares to the precision of d and q, far from zero. */
Test(exact, pieces_keep_small_deviations)
{
    Random random = {11};
    enum { N = 1000 };
    double x[N], d = 0, q = 0;
    for (int i = 0; i < N; i++) {
        x[i] = 1e9 + (double)(int64_t)(random_next(&random) % 17) - 8; /* differences exact */
        d += x[i] - x[0];
        q += (x[i] - x[0]) * (x[i] - x[0]);
    }
    double term[PIECE_TERMS];
    piece_terms(N, x[0], d, q, term);
    ExactSum sum = {0}, sum2 = {0};
    __int128 s = 0, s2 = 0;
    for (int i = 0; i < PIECE_TERMS; i++)
        exact_add(i < PIECE_SUM_TERMS ? &sum : &sum2, term[i]);
    for (int i = 0; i < N; i++) {
        s += (int64_t)x[i];
        s2 += (__int128)(int64_t)x[i] * (int64_t)x[i];
    }
    exact_normalize(&sum);
    exact_normalize(&sum2);
    const uint64_t word[2] = {(uint64_t)s, (uint64_t)(s >> 64)},
                   word2[2] = {(uint64_t)s2, (uint64_t)(s2 >> 64)};
    BigInt expected = big_from_words(word, 2, true), expected2 = big_from_words(word2, 2, true),
           rest;
    big_shift(&expected, 1074);
    big_shift(&expected2, 1074);
    const BigInt got = big_from_exact(&sum), got2 = big_from_exact(&sum2);
    big_subtract(&rest, &got, &expected);
    cr_assert_eq(rest.n, 0);
    big_subtract(&rest, &got2, &expected2);
    cr_assert_eq(rest.n, 0);
}
