/* SPDX-License-Identifier: MIT */
/* test_result.c: what spoils statistics: cancellation, samples that are no numbers, extremes. */
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

/* Skewness and kurtosis from distances that are exact: n x - sum, of a few samples. */
static void shape_of(const ImgstatValue *x, size_t n, long double *skewness, long double *kurtosis)
{
    __int128 sum = 0;
    long double m[5] = {0};
    for (size_t i = 0; i < n; i++)
        sum += x[i].sample == IMGSTAT_I64 ? x[i].as.i : (__int128)x[i].as.u;
    for (size_t i = 0; i < n; i++) {
        const __int128 value = x[i].sample == IMGSTAT_I64 ? x[i].as.i : (__int128)x[i].as.u;
        const long double d = (long double)(value * (__int128)n - sum) / (long double)n;
        for (int k = 2; k <= 4; k++)
            m[k] += powl(d, k) / (long double)n;
    }
    *skewness = m[3] / (m[2] * sqrtl(m[2]));
    *kurtosis = m[4] / (m[2] * m[2]) - 3;
}

/* 64-bit integers were rounded to double before their distances from the mean were taken, and so
 * many of them had no shape. */
Test(traps, shape_finer_than_double)
{
    enum { N = 63 };
    static const struct {
        ImgstatSample sample;
        uint64_t base, step; /* i * i steps from base */
    } cases[] = {
        {IMGSTAT_U64, (uint64_t)1 << 60, 1},
        {IMGSTAT_U64, ((uint64_t)1 << 60) + 511, (uint64_t)1 << 20},
        {IMGSTAT_U64, UINT64_MAX, (uint64_t)-1}, /* the mean is 2^64, as a double */
        {IMGSTAT_U64, UINT64_MAX / 2, (uint64_t)1 << 50},
        {IMGSTAT_U64, ((uint64_t)1 << 53) - 1024, 1}, /* on both sides of 2^53 */
        {IMGSTAT_U64, ((uint64_t)1 << 52) - 1024, 1},
        {IMGSTAT_U64, 0, (uint64_t)1 << 43}, /* the mean is below 2^54, the largest above */
        {IMGSTAT_U64, 1, ((uint64_t)1 << 41) + 1},
        {IMGSTAT_I64, (uint64_t)INT64_MIN, 1},
        {IMGSTAT_I64, (uint64_t)INT64_MAX, (uint64_t)-3},
        {IMGSTAT_I64, (uint64_t)INT64_MIN, (uint64_t)1 << 51},
    };
    static uint64_t x[3 * N]; /* three channels: all, few values, and two */
    const ImgstatMeasure how = {.shape = true};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        ImgstatValue values[N];
        for (uint64_t i = 0; i < N; i++) {
            x[3 * i] = cases[k].base + i * i * cases[k].step;
            x[3 * i + 1] = cases[k].base + (i * i % 7) * cases[k].step;
            x[3 * i + 2] = cases[k].base + (i == 5) * cases[k].step;
        }
        const ImagePro image = measure_wrap(x, N, 1, 3, cases[k].sample);
        ImgstatRecord *const record = measure_image(&image, &how);
        for (uint16_t c = 0; c < 3; c++) {
            ImgstatStats stats;
            long double skewness, kurtosis;
            imgstat_record_stats(record, c, &stats);
            for (size_t i = 0; i < N; i++) {
                values[i].sample = cases[k].sample;
                values[i].as.u = x[3 * i + c];
            }
            shape_of(values, N, &skewness, &kurtosis);
            cr_expect(is_near(stats.skewness, skewness, 1e-14), "%zu, %u: %.17g, expected %.17Lg",
                      k, c, stats.skewness, skewness);
            cr_expect(is_near(stats.kurtosis, kurtosis, 1e-13), "%zu, %u: %.17g, expected %.17Lg",
                      k, c, stats.kurtosis, kurtosis);
        }
        imgstat_record_destroy(record);
    }
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
    cr_assert(isnan(stats.variance) && isnan(stats.mean) && isnan(stats.skewness));
    /* Of 1.5, -1.5, 1.7 and 1: mean 0.675, squares of distances 0.825^2 + 2.175^2 + 1.025^2 +
     * 0.325^2 = 6.5675. */
    cr_assert(is_near(stats.stddev, 1e308L * sqrtl(6.5675L / 4), 2e-16));
    cr_assert_eq(stats.median, 1.25e308);
    const double ends[2] = {DBL_MAX, -DBL_MAX};
    for (unsigned ddof = 0; ddof < 2; ddof++) {
        const ImgstatMeasure deviation = {.ddof = ddof};
        image = measure_wrap(ends, 2, 1, 1, IMGSTAT_F64);
        stats = measure_stats(&image, &deviation);
        cr_assert(ddof ? isnan(stats.stddev) : stats.stddev == DBL_MAX,
                  "sqrt(2) times that is none");
    }
    const double equal[3] = {DBL_MAX, DBL_MAX, DBL_MAX};
    image = measure_wrap(equal, 3, 1, 1, IMGSTAT_F64);
    stats = measure_stats(&image, NULL);
    cr_assert(stats.stddev == 0);

    /* The squares overflow, the deviation does not. */
    const double far[5] = {1e303, 2e303, 3e303, 4e303, 2.5e303};
    image = measure_wrap(far, 4, 1, 1, IMGSTAT_F64);
    for (unsigned ddof = 0; ddof < 2; ddof++) {
        const ImgstatMeasure deviation = {.ddof = ddof};
        stats = measure_stats(&image, &deviation);
        cr_assert(stats.mean == 2.5e303 && isnan(stats.variance));
        cr_assert(is_near(stats.stddev, 1e303L * sqrtl(5.0L / (4 - ddof)), 2e-16));
    }
    const double apart[2] = {0.5e308, -0.5e308};
    image = measure_wrap(apart, 2, 1, 1, IMGSTAT_F64);
    stats = measure_stats(&image, &how);
    cr_assert(isnan(stats.variance) && stats.stddev == 0.5e308 && stats.median == 0);
    const double near[2] = {0.5e308, nextafter(0.5e308, 0)};
    image = measure_wrap(near, 2, 1, 1, IMGSTAT_F64);
    stats = measure_stats(&image, NULL);
    cr_assert(is_near(stats.stddev, (near[0] - near[1]) / 2, 1e-15));

    const double tiny[3] = {5e-324, 1e-323, 1.5e-323};
    image = measure_wrap(tiny, 3, 1, 1, IMGSTAT_F64);
    stats = measure_stats(&image, &how);
    cr_assert(stats.sum == 3e-323 && stats.mean == 1e-323 && stats.median == 1e-323 &&
              stats.variance == 0);
    cr_assert_eq(stats.stddev, 5e-324, "sqrt(2 / 3) times that is nearest to it");
    /* The squares underflow, the deviation does not: it was 0. */
    const double close[4] = {1e-200, 2e-200, 3e-200, 4e-200};
    image = measure_wrap(close, 4, 1, 1, IMGSTAT_F64);
    for (unsigned ddof = 0; ddof < 2; ddof++) {
        const ImgstatMeasure deviation = {.ddof = ddof};
        stats = measure_stats(&image, &deviation);
        cr_assert(stats.mean == 2.5e-200 && stats.variance == 0);
        cr_assert(is_near(stats.stddev, 1e-200L * sqrtl(5.0L / (4 - ddof)), 2e-16));
    }
    const double edge[2] = {0x1p-450, 0}, below[2] = {0x1.fffffp-451, 0};
    image = measure_wrap(edge, 2, 1, 1, IMGSTAT_F64);
    stats = measure_stats(&image, NULL);
    cr_assert_eq(stats.stddev, 0x1p-451, "from sums");
    image = measure_wrap(below, 2, 1, 1, IMGSTAT_F64);
    stats = measure_stats(&image, NULL);
    cr_assert_eq(stats.stddev, 0x1.fffffp-452, "from a further read");
}

/* ---- Ends of full scale ---- */

static void check_ends(const void *x, ImgstatSample sample, uint8_t bits, uint64_t low,
                       uint64_t high)
{
    ImagePro image = measure_wrap((void *)(uintptr_t)x, 5, 1, 1, sample);
    image.bits = bits;
    const ImgstatMeasure how = {.median = true};
    const ImgstatStats stats = measure_stats(&image, &how);
    cr_assert(stats.low == low && stats.high == high, "%s of %u bits: %llu, %llu",
              imgstat_sample_name(sample), bits, (unsigned long long)stats.low,
              (unsigned long long)stats.high);
}

Test(ends, of_full_scale)
{
    const uint64_t unknown = IMGSTAT_COUNT_UNKNOWN;
    const uint8_t u8[] = {0, 255, 255, 1, 254};
    const uint16_t u16[] = {0, 0, 4095, 65535, 4095};
    const int8_t i8[] = {-128, 127, 0, -128, -1};
    const int16_t i16[] = {-2048, 2047, 2047, 0, 1};
    const uint32_t inside[] = {1, 2, 3, 4, UINT32_MAX - 1}, at_low[] = {0, 2, 0, 4, 0},
                   at_both[] = {UINT32_MAX, 0, UINT32_MAX, 1, UINT32_MAX - 1}, all_low[5] = {0},
                   beyond[] = {0, 0xFFFFFF, 0x1000000, UINT32_MAX, 0xFFFFFF};
    const int32_t i32[] = {INT32_MIN, INT32_MAX, INT32_MIN, 0, INT32_MIN + 1};
    const uint64_t u64[] = {0, UINT64_MAX, UINT64_MAX, 0, UINT64_MAX - 1},
                   all_high[] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
                   only_high[] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 7};
    const int64_t i64[] = {INT64_MIN, INT64_MAX, INT64_MAX, INT64_MAX, 0};
    const float f32[] = {0, 1, 0, 1, 0.5f};
    check_ends(u8, IMGSTAT_U8, 8, 1, 2);
    check_ends(u16, IMGSTAT_U16, 16, 2, 1);
    check_ends(i8, IMGSTAT_I8, 8, 2, 1);
    check_ends(i16, IMGSTAT_I16, 12, 1, 2);
    check_ends(i16, IMGSTAT_I16, 16, 0, 0);
    check_ends(inside, IMGSTAT_U32, 32, 0, 0);
    check_ends(at_low, IMGSTAT_U32, 32, 3, 0);
    check_ends(at_both, IMGSTAT_U32, 32, 1, 2);
    check_ends(all_low, IMGSTAT_U32, 32, 5, 0);
    check_ends(beyond, IMGSTAT_U32, 24, 1, 2);
    check_ends(i32, IMGSTAT_I32, 32, 2, 1);
    check_ends(u64, IMGSTAT_U64, 64, 2, 2);
    check_ends(all_high, IMGSTAT_U64, 64, 0, 5);
    check_ends(only_high, IMGSTAT_U64, 64, 0, 4);
    check_ends(i64, IMGSTAT_I64, 64, 1, 3);
    check_ends(f32, IMGSTAT_F32, 32, unknown, unknown);
}

/* Beyond 16 bits they are counted where pixels are read again. */
Test(ends, of_one_read)
{
    const uint32_t x[] = {0, 2, 3, 4, 5}, all_low[5] = {0};
    ImagePro image = measure_wrap((void *)(uintptr_t)x, 5, 1, 1, IMGSTAT_U32);
    ImgstatStats stats = measure_stats(&image, NULL);
    cr_assert(stats.low == IMGSTAT_COUNT_UNKNOWN && stats.high == 0);
    image = measure_wrap((void *)(uintptr_t)all_low, 5, 1, 1, IMGSTAT_U32);
    stats = measure_stats(&image, NULL);
    cr_assert(stats.low == 5 && stats.high == 0);
}

/* What is no valid sample does not count. */
Test(ends, of_valid_samples)
{
    const uint16_t x[] = {0, 4095, 0, 4095, 7};
    const uint8_t mask[] = {1, 1, 0, 0, 1};
    ImagePro image = measure_wrap((void *)(uintptr_t)x, 5, 1, 1, IMGSTAT_U16);
    image.bits = 12;
    image.mask = mask;
    image.mask_pitch = 5;
    ImgstatStats stats = measure_stats(&image, NULL);
    cr_assert(stats.low == 1 && stats.high == 1);
    image.has_nodata = true;
    image.nodata_key = 0;
    stats = measure_stats(&image, NULL);
    cr_assert(stats.low == 0 && stats.high == 1 && stats.nodata == 1);

    const uint32_t wide[] = {0, UINT32_MAX, 0, UINT32_MAX, 7};
    const ImgstatMeasure how = {.median = true};
    image = measure_wrap((void *)(uintptr_t)wide, 5, 1, 1, IMGSTAT_U32);
    image.mask = mask;
    image.mask_pitch = 5;
    stats = measure_stats(&image, &how);
    cr_assert(stats.low == 1 && stats.high == 1);
    image.has_nodata = true;
    image.nodata_key = UINT32_MAX;
    stats = measure_stats(&image, &how);
    cr_assert(stats.low == 1 && stats.high == 0 && stats.nodata == 1);
}
