/* SPDX-License-Identifier: MIT */
/* test_statistics.c: moments of records against two passes in long double; ranks; entropy. */
#include "helper_keys.h"
#include "record/statistics.h"

#include <criterion/criterion.h>
#include <stdlib.h>

typedef struct Plain {
    long double mean, m2, m3, m4;
} Plain;

/* Two passes over values that occur count times each. */
static Plain plain_moments(const double *value, const uint64_t *count, size_t n)
{
    Plain p = {0};
    long double total = 0;
    for (size_t i = 0; i < n; i++) {
        total += count[i];
        p.mean += count[i] ? (long double)value[i] * count[i] : 0;
    }
    p.mean /= total;
    for (size_t i = 0; i < n; i++) {
        const long double d = count[i] ? value[i] - p.mean : 0, c = count[i] / total;
        p.m2 += c * d * d;
        p.m3 += c * d * d * d;
        p.m4 += c * d * d * d * d;
    }
    return p;
}

static bool close_to(double got, long double expected, double relative)
{
    return fabsl(got - expected) <= relative * fabsl(expected);
}

static void check_narrow(Random *random, ImgstatSample sample, size_t values, uint64_t most)
{
    Record *record;
    cr_assert_eq(record_create(NULL, sample, 2, 0, &record, NULL), IMGSTAT_OK);
    const size_t n = sample_record_bins(sample);
    uint64_t *const bins = record->bins + n; /* channel 1 */
    for (size_t i = 0; i < values; i++)
        bins[random_next(random) % n] += 1 + random_next(random) % most;
    record_finalize(record, false, 0);
    double *const value = calloc(n, sizeof *value);
    for (size_t k = 0; k < n; k++)
        value[k] = sample_double(sample, k);
    const Plain plain = plain_moments(value, bins, n);
    ImgstatStats stats;
    char sum[48];
    statistics_fill(record, 1, 0, true, NULL, &stats, sum);
    cr_assert(close_to(stats.mean, plain.mean, 1e-15) || fabs(stats.mean) < 1e-9);
    if (plain.m2 > 0) {
        cr_assert(close_to(stats.variance, plain.m2, 1e-14), "%.17g %.17Lg", stats.variance,
                  plain.m2);
        cr_assert_float_eq(stats.skewness, (double)(plain.m3 / powl(plain.m2, 1.5L)), 1e-12);
        cr_assert_float_eq(stats.kurtosis, (double)(plain.m4 / plain.m2 / plain.m2 - 3), 1e-11);
        cr_assert_eq(stats.stddev, sqrt(stats.variance));
    } else {
        cr_assert(stats.variance == 0 && isnan(stats.skewness) && isnan(stats.kurtosis));
    }
    /* The empty channel beside it. */
    statistics_fill(record, 0, 0, true, NULL, &stats, sum);
    cr_assert(stats.count == 0 && isnan(stats.mean) && isnan(stats.variance) && isnan(stats.sum));
    cr_assert_str_eq(sum, "null");
    free(value);
    record_destroy(record);
}

Test(statistics, narrow_moments)
{
    Random random = {14};
    static const ImgstatSample narrow[] = {IMGSTAT_U8, IMGSTAT_I8, IMGSTAT_U16, IMGSTAT_I16,
                                           IMGSTAT_F16};
    for (size_t s = 0; s < 5; s++)
        for (int i = 0; i < 20; i++)
            check_narrow(&random, narrow[s], i < 5 ? 1 + (size_t)i : 3000, i % 2 ? 10 : 1000000);
}

/* Bins of fewer than 2^31 samples are added up in runs, those of more one by one. */
Test(statistics, moments_do_not_depend_on_the_number_of_samples)
{
    Random random = {31};
    static const ImgstatSample integers[] = {IMGSTAT_U8, IMGSTAT_I8, IMGSTAT_U16, IMGSTAT_I16};
    for (int i = 0; i < 40; i++) {
        Record *record;
        ImgstatStats few, many;
        char sum[48];
        cr_assert_eq(record_create(NULL, integers[i % 4], 1, 0, &record, NULL), IMGSTAT_OK);
        const size_t n = sample_record_bins(integers[i % 4]), values = (size_t)1 << i / 3;
        for (size_t k = 0; k < values; k++)
            record->bins[random_next(&random) % n] += random_next(&random) % 100000;
        record->bins[random_next(&random) % n] += 1u << 30;
        record_finalize(record, false, 0);
        statistics_fill(record, 0, 0, true, NULL, &few, sum);
        for (size_t k = 0; k < n; k++)
            record->bins[k] <<= 20;
        record_finalize(record, false, 0);
        cr_assert(record->tally->n >> 31 > 0);
        statistics_fill(record, 0, 0, true, NULL, &many, sum);
        cr_expect(few.mean == many.mean && few.variance == many.variance &&
                  few.sum * (1 << 20) == many.sum);
        cr_expect(few.variance == 0 ||
                  (few.skewness == many.skewness && few.kurtosis == many.kurtosis));
        record_destroy(record);
    }
}

/* 2^62 samples of the largest value and one of the next: nothing overflows, nothing cancels. */
Test(statistics, narrow_extremes)
{
    Record *record;
    ImgstatStats stats;
    char sum[48];
    cr_assert_eq(record_create(NULL, IMGSTAT_U16, 1, 0, &record, NULL), IMGSTAT_OK);
    record->bins[65535] = (uint64_t)1 << 62;
    record->bins[65533] = (uint64_t)1 << 62;
    record_finalize(record, false, 0);
    statistics_fill(record, 0, 0, true, NULL, &stats, sum);
    cr_assert(stats.mean == 65534 && stats.variance == 1 && stats.skewness == 0 &&
              stats.kurtosis == -2);
    cr_assert_str_eq(sum, "604444463063240877801472"); /* 65534 * 2^63 */
    record_destroy(record);

    cr_assert_eq(record_create(NULL, IMGSTAT_F16, 1, 0, &record, NULL), IMGSTAT_OK);
    record->bins[sample_key(IMGSTAT_F16, 0x7BFF)] = 3; /* 65504 */
    record->bins[sample_key(IMGSTAT_F16, 0xFBFF)] = 3;
    record->bins[sample_key(IMGSTAT_F16, 0x0001)] = 1; /* 2^-24 */
    record_finalize(record, false, 0);
    statistics_fill(record, 0, 0, false, NULL, &stats, sum);
    cr_assert_eq(stats.sum, 0x1p-24);
    cr_assert_eq(strtod(sum, NULL), 0x1p-24);
    cr_assert_eq(stats.mean, 0x1p-24 / 7);
    record_destroy(record);
}

static void fill_words(Tally *tally, const unsigned __int128 *magnitude, size_t n, bool negative)
{
    __int128 s = 0;
    *tally = (Tally){.n = n};
    for (size_t i = 0; i < n; i++) {
        s += negative ? -(__int128)magnitude[i] : (__int128)magnitude[i];
        const unsigned __int128 square = magnitude[i] * magnitude[i];
        const unsigned __int128 low =
            (((unsigned __int128)tally->sum2[1] << 64) | tally->sum2[0]) + square;
        tally->sum2[2] += low < square;
        tally->sum2[0] = (uint64_t)low;
        tally->sum2[1] = (uint64_t)(low >> 64);
    }
    tally->sum[0] = (uint64_t)s;
    tally->sum[1] = (uint64_t)((unsigned __int128)s >> 64);
}

Test(statistics, wide_integers_do_not_cancel)
{
    Record *record;
    ImgstatStats stats;
    char sum[48];
    const unsigned __int128 high[] = {UINT64_MAX, UINT64_MAX - 2, UINT64_MAX, UINT64_MAX - 2};
    cr_assert_eq(record_create(NULL, IMGSTAT_U64, 1, 0, &record, NULL), IMGSTAT_OK);
    fill_words(record->tally, high, 4, false);
    statistics_fill(record, 0, 0, false, NULL, &stats, sum);
    cr_assert_eq(stats.variance, 1);
    cr_assert_eq(stats.mean, 0x1p64);
    cr_assert_str_eq(sum, "73786976294838206456"); /* 4 * (2^64 - 2) */
    statistics_fill(record, 0, 1, false, NULL, &stats, sum);
    cr_assert_eq(stats.variance, 4.0 / 3.0);
    statistics_fill(record, 0, 4, false, NULL, &stats, sum);
    cr_assert(isnan(stats.variance) && isnan(stats.stddev));
    statistics_fill(record, 0, 5, false, NULL, &stats, sum);
    cr_assert(isnan(stats.variance));
    record_destroy(record);

    const unsigned __int128 low[] = {(uint64_t)1 << 63, ((uint64_t)1 << 63) - 1, (uint64_t)1 << 63};
    cr_assert_eq(record_create(NULL, IMGSTAT_I64, 1, 0, &record, NULL), IMGSTAT_OK);
    fill_words(record->tally, low, 3, true);
    statistics_fill(record, 0, 0, false, NULL, &stats, sum);
    cr_assert_eq(stats.variance, 2.0 / 9.0);
    cr_assert_str_eq(sum, "-27670116110564327423"); /* 1 - 3 * 2^63 */
    record_destroy(record);
}

Test(statistics, one_sample)
{
    Record *record;
    ImgstatStats stats;
    char sum[48];
    cr_assert_eq(record_create(NULL, IMGSTAT_U8, 1, 0, &record, NULL), IMGSTAT_OK);
    record->bins[200] = 1;
    record_finalize(record, false, 0);
    statistics_fill(record, 0, 0, true, NULL, &stats, sum);
    cr_assert(stats.mean == 200 && stats.variance == 0 && stats.stddev == 0 &&
              isnan(stats.skewness));
    cr_assert(stats.min.as.u == 200 && stats.max.as.u == 200);
    statistics_fill(record, 0, 1, false, NULL, &stats, sum);
    cr_assert(isnan(stats.variance));
    record_destroy(record);
}

Test(statistics, overflow_is_undefined)
{
    Record *record;
    ImgstatStats stats;
    char sum[48];
    cr_assert_eq(record_create(NULL, IMGSTAT_F64, 1, 0, &record, NULL), IMGSTAT_OK);
    record->tally->n = 2;
    record->tally->sum2_overflow = 1;
    exact_add(&record->tally->fsum, 3.5);
    statistics_fill(record, 0, 0, false, NULL, &stats, sum);
    cr_assert(stats.mean == 1.75 && stats.sum == 3.5 && isnan(stats.variance) &&
              isnan(stats.stddev));
    cr_assert_str_eq(sum, "3.5");
    exact_add(&record->tally->fsum, 1.7e308);
    exact_add(&record->tally->fsum, 1.7e308); /* the sum is no double, the mean is */
    exact_normalize(&record->tally->fsum);
    statistics_fill(record, 0, 0, false, NULL, &stats, sum);
    cr_assert(stats.mean == 1.7e308 && isnan(stats.sum));
    cr_assert_str_eq(sum, "null");
    record->tally->sum_overflow = 1;
    statistics_fill(record, 0, 0, false, NULL, &stats, sum);
    cr_assert(isnan(stats.mean) && isnan(stats.sum));
    cr_assert_eq(statistics_center(record, 0), 0);
    record_destroy(record);
}

Test(statistics, entropy)
{
    const uint64_t even[4] = {5, 5, 5, 5}, one[4] = {0, 9, 0, 0}, none[4] = {0},
                   uneven[4] = {1, 1, 2, 0};
    cr_assert_eq(statistics_entropy(even, 4), 2);
    cr_assert_eq(statistics_entropy(one, 4), 0);
    cr_assert_not(signbit(statistics_entropy(one, 4)));
    cr_assert(isnan(statistics_entropy(none, 4)));
    cr_assert_eq(statistics_entropy(uneven, 4), 1.5);
    static uint64_t all[65536];
    for (size_t i = 0; i < 65536; i++)
        all[i] = 1000;
    cr_assert_eq(statistics_entropy(all, 65536), 16);
}

Test(statistics, mode_is_the_smallest)
{
    const uint64_t bins[6] = {0, 3, 7, 1, 7, 0};
    cr_assert_eq(statistics_mode(bins, 6), 2);
}

/* Of 1..n, where the sample of rank r is r + 1; numpy 1.24's values, from its documented formulas.
 */
Test(statistics, ranks)
{
    PercentileRank r = percentile_rank(50, IMGSTAT_LINEAR, 4);
    cr_assert(r.low == 1 && r.high == 2 && r.t == 0.5);
    r = percentile_rank(50, IMGSTAT_LINEAR, 5);
    cr_assert(r.low == 2 && r.high == 2 && r.t == 0);
    r = percentile_rank(100, IMGSTAT_LINEAR, 5);
    cr_assert(r.low == 4 && r.high == 4 && r.t == 0);
    r = percentile_rank(0, IMGSTAT_NEAREST, 5);
    cr_assert_eq(r.low, 0);
    r = percentile_rank(100, IMGSTAT_NEAREST, 5);
    cr_assert_eq(r.low, 4);
    for (uint64_t p = 0; p <= 100;
         p++) { /* n = 100: rank is p, where 0.29 * 100 in doubles is more than 29 */
        r = percentile_rank((double)p, IMGSTAT_NEAREST, 100);
        cr_assert_eq(r.low, p ? p - 1 : 0);
        r = percentile_rank((double)p, IMGSTAT_LINEAR, 101);
        cr_assert(r.low == p && r.high == p && r.t == 0);
        r = percentile_rank((double)p / 10, IMGSTAT_NEAREST, 1000);
        cr_assert_eq(r.low, p ? p - 1 : 0);
    }
    r = percentile_rank(0.000000001, IMGSTAT_NEAREST, 100000000001u);
    cr_assert_eq(r.low, 1);
    r = percentile_rank(50, IMGSTAT_LINEAR, INT64_MAX);
    cr_assert(r.low == INT64_MAX / 2 && r.high == INT64_MAX / 2);
    r = percentile_rank(99.999999999, IMGSTAT_NEAREST, INT64_MAX);
    /* ceil((2^63 - 1) * 0.99999999999) - 1, worked out by hand */
    cr_assert_eq(r.low, (uint64_t)INT64_MAX - 92233720 - 1);
}

Test(statistics, interpolation)
{
    cr_assert_eq(percentile_value(IMGSTAT_F64, key_of_double(10), key_of_double(20), 0.25), 12.5);
    cr_assert_eq(percentile_value(IMGSTAT_F64, key_of_double(10), key_of_double(20), 0.75), 17.5);
    cr_assert_eq(
        percentile_value(IMGSTAT_F64, key_of_double(-1.5e308), key_of_double(1.5e308), 0.25),
        -0.75e308);
    const double third = percentile_value(IMGSTAT_F32, key_of_float(0.1f), key_of_float(0.2f), 0.3);
    cr_assert_eq(third, (double)0.1f + ((double)0.2f - (double)0.1f) * 0.3);
}

/* A median of 2^64 - 2 was told as 2^64, that of the two ends of i64 as 0. */
Test(statistics, interpolation_of_64_bits)
{
    uint64_t key;
    double value;
    const uint64_t half = 50000000000u, percent = 1000000000u;
    cr_assert(percentile_between(IMGSTAT_U64, UINT64_MAX - 2, UINT64_MAX, half, &key, &value));
    cr_assert_eq(key, UINT64_MAX - 1);
    cr_assert(!percentile_between(IMGSTAT_I64, 0, UINT64_MAX, half, &key, &value));
    cr_assert_eq(value, -0.5);
    cr_assert(percentile_between(IMGSTAT_U64, 1000, 1100, 7 * percent, &key, &value));
    cr_assert(key == 1007 && value == 1007);
    cr_assert(!percentile_between(IMGSTAT_U64, 10, 11, 25 * percent, &key, &value));
    cr_assert(key == 10 && value == 10.25);
}

/* -5.33333333072 was told as -5.333333330720002, as numpy's formula gives it, and of 64 bits the
 * point was rounded twice: 2^53 + 1.5 was told as 2^53. */
Test(statistics, interpolation_of_integers_is_rounded_once)
{
    const uint64_t half = 50000000000u, percent = 1000000000u, two53 = UINT64_C(1) << 53;
    const uint64_t i8 = 128, i16 = 32768, i64 = UINT64_C(1) << 63;
    const struct {
        ImgstatSample sample;
        uint64_t low, high, rest, key;
        double value;
        bool whole;
    } cases[] = {
        {IMGSTAT_U8, 10, 20, 25 * percent, 12, 12.5, false},
        {IMGSTAT_U8, 0, 255, 100 * percent - 1, 254, 254.99999999745, false},
        {IMGSTAT_I8, i8 - 8, i8 - 4, 66666666732u, i8 - 6, -5.33333333072, false},
        {IMGSTAT_I16, i16 - 5, i16 + 5, half, i16, 0, true},
        {IMGSTAT_I32, 0, UINT32_MAX, half, INT32_MAX, -0.5, false},
        {IMGSTAT_U32, 0, 100, 7 * percent, 7, 7, true},
        {IMGSTAT_U64, two53 / 2 - 1, two53 / 2, half, two53 / 2 - 1, 0x1p52 - 0.5, false},
        {IMGSTAT_U64, two53 + 1, two53 + 2, half, two53 + 1, 0x1p53 + 2, false},
        {IMGSTAT_I64, i64 - two53 - 2, i64 - two53 - 1, half, i64 - two53 - 2, -0x1p53 - 2, false},
        {IMGSTAT_U64, UINT64_MAX - 4096, UINT64_MAX, half, UINT64_MAX - 2048, 0x1p64 - 2048, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t key;
        double value;
        const bool whole = percentile_between(cases[i].sample, cases[i].low, cases[i].high,
                                              cases[i].rest, &key, &value);
        cr_expect(whole == cases[i].whole && key == cases[i].key, "case %zu", i);
        cr_expect_eq(value, cases[i].value, "case %zu: %.17g", i, value);
    }
}
