/* SPDX-License-Identifier: MIT */
/* test_traps.c: what spoils statistics: cancellation, samples that are no numbers, extremes. */
#include "helper_keys.h"
#include "helper_measure.h"

#include <criterion/criterion.h>
#include <float.h>

Test(traps, float32_far_from_zero)
{
    enum { N = 100000 };
    static float x[N];
    Random random = {17};
    for (int i = 0; i < N; i++)
        x[i] = (float)(1e7 + 4 * random_normal(&random));
    long double mean = 0, m2 = 0;
    for (int i = 0; i < N; i++)
        mean += x[i];
    mean /= N;
    for (int i = 0; i < N; i++)
        m2 += (x[i] - mean) * (x[i] - mean) / N;
    const ImagePro image = measure_wrap(x, 250, 400, 1, IMGSTAT_F32);
    const ImgstatStats stats = measure_stats(&image, NULL);
    cr_assert(is_near(stats.mean, mean, 1e-16) && is_near(stats.variance, m2, 1e-14));
    cr_assert(stats.stddev > 3.9 && stats.stddev < 4.1);
}

Test(traps, float64_far_from_zero)
{
    enum { N = 100000 };
    static double x[N];
    Random random = {18};
    for (int i = 0; i < N; i++)
        x[i] = 1e9 + random_normal(&random);
    long double mean = 0, m2 = 0;
    for (int i = 0; i < N; i++)
        mean += x[i] - 1e9L;
    mean /= N;
    for (int i = 0; i < N; i++)
        m2 += (x[i] - 1e9L - mean) * (x[i] - 1e9L - mean) / N;
    const ImagePro image = measure_wrap(x, 100000, 1, 1, IMGSTAT_F64);
    const ImgstatMeasure how = {.shape = true};
    const ImgstatStats stats = measure_stats(&image, &how);
    cr_assert(is_near(stats.mean, 1e9L + mean, 2e-16));
    cr_assert(is_near(stats.variance, m2, 1e-12), "%.17g %.17Lg", stats.variance, m2);
    cr_assert_float_eq(stats.skewness, 0, 0.05);
}

/* 64-bit integers are rounded to double before their distances from the mean are taken. What that
 * left of the shape was told as if it were that of the samples. */
Test(traps, shape_finer_than_double)
{
    enum { N = 64 };
    static uint64_t x[N];
    const ImgstatMeasure how = {.shape = true};
    const ImagePro image = measure_wrap(x, N, 1, 1, IMGSTAT_U64);
    for (uint64_t i = 0; i < N; i++)
        x[i] = ((uint64_t)1 << 60) + i * i;
    ImgstatStats stats = measure_stats(&image, &how);
    cr_assert(isnan(stats.skewness) && isnan(stats.kurtosis) && stats.variance > 1e6);
    for (uint64_t i = 0; i < N; i++)
        x[i] = ((uint64_t)1 << 60) + (i * i << 20);
    stats = measure_stats(&image, &how);
    const double skewness = stats.skewness, kurtosis = stats.kurtosis;
    for (uint64_t i = 0; i < N; i++)
        x[i] = i * i;
    stats = measure_stats(&image, &how);
    cr_assert_float_eq(skewness, stats.skewness, 1e-5);
    cr_assert_float_eq(kurtosis, stats.kurtosis, 1e-5);
    cr_assert_gt(stats.skewness, 0.5);
}

Test(traps, undefined_samples)
{
    const float first[4] = {NAN, 2, -INFINITY, 4};
    ImagePro image = measure_wrap(first, 2, 2, 1, IMGSTAT_F32);
    ImgstatMeasure how = measure_everything();
    ImgstatStats stats = measure_stats(&image, &how);
    cr_assert(stats.count == 2 && stats.nan == 1 && stats.inf == 1);
    cr_assert(stats.min.as.f == 2 && stats.min_at == 1 && stats.max.as.f == 4 && stats.max_at == 3);
    cr_assert(stats.mean == 3 && stats.variance == 1 && stats.median == 3 && stats.mode.as.f == 2);

    const double none[3] = {NAN, NAN, INFINITY};
    image = measure_wrap(none, 3, 1, 1, IMGSTAT_F64);
    ImgstatRecord *record = measure_image(&image, &how);
    imgstat_record_stats(record, 0, &stats);
    cr_assert(stats.count == 0 && stats.nan == 2 && stats.inf == 1);
    cr_assert(isnan(stats.mean) && isnan(stats.variance) && isnan(stats.stddev) &&
              isnan(stats.median));
    cr_assert(isnan(stats.entropy) && isnan(stats.skewness) && isnan(stats.kurtosis) &&
              isnan(stats.sum));
    cr_assert(isnan(imgstat_record_percentile(record, 0, 3)));
    char sum[48];
    imgstat_record_sum(record, 0, sum);
    cr_assert_str_eq(sum, "null");
    imgstat_record_destroy(record);

    const uint8_t same[6] = {9, 9, 9, 9, 9, 9};
    image = measure_wrap(same, 3, 2, 1, IMGSTAT_U8);
    imgstat_image_set_nodata(&image, (ImgstatValue){.sample = IMGSTAT_F64, .as.f = 9});
    stats = measure_stats(&image, &how);
    cr_assert(stats.count == 0 && stats.nodata == 6 && isnan(stats.mean) && isnan(stats.entropy));
    const uint8_t mask[6] = {0, 1, 0, 0, 0, 0};
    image = measure_wrap(same, 3, 2, 1, IMGSTAT_U8);
    image.mask = mask;
    image.mask_pitch = 3;
    stats = measure_stats(&image, &how);
    cr_assert(stats.count == 1 && stats.masked == 5 && stats.min_at == 1 && stats.max_at == 1);
}

Test(traps, constant_and_tiny)
{
    const ImgstatMeasure how = measure_everything();
    double x[12];
    for (int i = 0; i < 12; i++)
        x[i] = 0.1;
    ImagePro image = measure_wrap(x, 4, 3, 1, IMGSTAT_F64);
    ImgstatStats stats = measure_stats(&image, &how);
    cr_assert(stats.mean == 0.1 && stats.variance == 0 && stats.stddev == 0 && stats.entropy == 0);
    cr_assert(stats.median == 0.1 && stats.mode.as.f == 0.1 && isnan(stats.skewness) &&
              isnan(stats.kurtosis));
    image = measure_wrap(x, 1, 1, 1, IMGSTAT_F64);
    stats = measure_stats(&image, &how);
    cr_assert(stats.count == 1 && stats.mean == 0.1 && stats.variance == 0 && stats.median == 0.1);
    image = measure_wrap(x, 0, 0, 1, IMGSTAT_F64);
    stats = measure_stats(&image, &how);
    cr_assert(stats.count == 0 && isnan(stats.mean));
}

Test(traps, extremes)
{
    const ImgstatMeasure how = measure_everything();
    const uint64_t u[4] = {UINT64_MAX, UINT64_MAX - 2, UINT64_MAX, UINT64_MAX - 2};
    ImagePro image = measure_wrap(u, 2, 2, 1, IMGSTAT_U64);
    ImgstatRecord *const record = measure_image(&image, &how);
    ImgstatStats stats;
    char sum[48];
    imgstat_record_stats(record, 0, &stats);
    imgstat_record_sum(record, 0, sum);
    cr_assert_str_eq(sum, "73786976294838206456");
    cr_assert(stats.variance == 1 && stats.max.as.u == UINT64_MAX &&
              stats.mode.as.u == UINT64_MAX - 2);
    ImgstatHistogram h;
    uint64_t total = 0;
    cr_assert(imgstat_record_histogram(record, 0, &h));
    for (uint32_t k = 0; k < h.bins; k++)
        total += h.counts[k];
    cr_assert_eq(total, 4);
    imgstat_record_destroy(record);

    const int64_t i[3] = {INT64_MIN, INT64_MIN + 1, INT64_MIN};
    image = measure_wrap(i, 3, 1, 1, IMGSTAT_I64);
    stats = measure_stats(&image, &how);
    cr_assert(stats.min.as.i == INT64_MIN && stats.min_at == 0 && stats.max_at == 1);
    cr_assert(stats.variance == 2.0 / 9.0 && stats.mode.as.i == INT64_MIN);

    const double big[4] = {1.5e308, -1.5e308, 1.7e308, 1e308};
    image = measure_wrap(big, 4, 1, 1, IMGSTAT_F64);
    stats = measure_stats(&image, &how);
    cr_assert(stats.count == 4 && stats.min.as.f == -1.5e308 && stats.max.as.f == 1.7e308);
    cr_assert(isnan(stats.variance) && isnan(stats.stddev) && isnan(stats.skewness));
    cr_assert_eq(stats.median, 1.25e308);

    const double tiny[3] = {5e-324, 1e-323, 1.5e-323};
    image = measure_wrap(tiny, 3, 1, 1, IMGSTAT_F64);
    stats = measure_stats(&image, &how);
    cr_assert(stats.sum == 3e-323 && stats.mean == 1e-323 && stats.median == 1e-323 &&
              stats.variance == 0);
}
