/* SPDX-License-Identifier: MIT */
/* test_measure.c: images measured from end to end on the CPU device. */
#include "helper_keys.h"
#include "helper_measure.h"

#include <criterion/criterion.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The worked example ------------------------------------------------------------------ */

static const uint8_t example[64] = {
    52, 55, 61, 66, 70, 61,  64,  73,  63, 59, 55, 90, 109, 85,  69,  72, 62, 59, 68, 113, 144, 104,
    66, 73, 63, 58, 71, 122, 154, 106, 70, 69, 67, 61, 68,  104, 126, 88, 68, 70, 79, 65,  60,  70,
    77, 68, 58, 75, 85, 71,  64,  59,  55, 61, 65, 83, 87,  79,  69,  68, 65, 76, 78, 94};

Test(measure, worked_example)
{
    const ImagePro image = measure_wrap(example, 8, 8, 1, IMGSTAT_U8);
    ImgstatMeasure how = measure_everything();
    ImgstatRecord *const record = measure_image(&image, &how);
    ImgstatStats stats;
    char sum[48];
    imgstat_record_stats(record, 0, &stats);
    imgstat_record_sum(record, 0, sum);
    cr_assert_eq(imgstat_record_channels(record), 1);
    cr_assert(stats.count == 64 && stats.nan == 0 && stats.inf == 0 && stats.nodata == 0 &&
              stats.masked == 0);
    cr_assert_str_eq(sum, "4869");
    cr_assert(stats.sum == 4869 && stats.mean == 76.078125 && stats.median == 69);
    cr_assert_eq(stats.variance, (64.0 * 398425 - 4869.0 * 4869) / 4096);
    cr_assert_float_eq(stats.stddev, 20.916728269, 5e-10);
    cr_assert_float_eq(stats.entropy, 4.990168899, 5e-10);
    cr_assert(stats.min.as.u == 52 && stats.min_at == 0 && stats.max.as.u == 154 &&
              stats.max_at == 3 * 8 + 4);
    cr_assert_eq(stats.mode.as.u, 68); /* five times */
    ImgstatHistogram histogram;
    cr_assert(imgstat_record_histogram(record, 0, &histogram));
    cr_assert(histogram.per_value && histogram.bins == 256 && histogram.counts[55] == 3);
    cr_assert_eq(imgstat_record_percentile(record, 0, 0), 52);
    cr_assert_eq(imgstat_record_percentile(record, 0, MEASURE_PERCENTILES - 1), 154);
    cr_assert(isnan(imgstat_record_percentile(record, 0, MEASURE_PERCENTILES)));
    imgstat_record_destroy(record);
    how = (ImgstatMeasure){.ddof = 1};
    cr_assert_float_eq(measure_stats(&image, &how).stddev, 21.082080473, 5e-10);
    cr_assert_eq(measure_stats(&image, NULL).mean, 76.078125);
}

/* ---- Edges of histograms ------------------------------------------------------------------ */

/* Where bins of a row of samples begin and end; the caller destroys the record. */
static ImgstatRecord *binned(const void *samples, uint32_t n, ImgstatSample sample,
                             const ImgstatMeasure *how, uint32_t bins)
{
    const ImagePro image = measure_wrap(samples, n, 1, 1, sample);
    ImgstatRecord *const record = measure_image(&image, how);
    ImgstatHistogram histogram;
    ImgstatValue value;
    cr_assert(imgstat_record_histogram(record, 0, &histogram));
    cr_assert_eq(histogram.bins, bins);
    cr_assert_not(imgstat_record_edge(record, 0, bins + 1, &value));
    return record;
}

static ImgstatValue edge(const ImgstatRecord *record, uint32_t k)
{
    ImgstatValue value;
    cr_assert(imgstat_record_edge(record, 0, k, &value));
    return value;
}

static void expect_edge(const ImgstatRecord *record, uint32_t k, double expected)
{
    const ImgstatValue value = edge(record, k);
    cr_expect(value.sample == IMGSTAT_F64 && value.as.f == expected, "edge %u is %a, not %a", k,
              value.as.f, expected);
}

Test(measure, edges_of_bins)
{
    const uint8_t bytes[] = {3, 200};
    ImgstatMeasure how = {.histogram = true, .bins = 16};
    ImgstatRecord *record = binned(bytes, 2, IMGSTAT_U8, &how, 16);
    for (uint32_t k = 0; k <= 16; k++)
        expect_edge(record, k, 16 * k);
    imgstat_record_destroy(record);
    how.bins = 0; /* a value each */
    record = binned(bytes, 2, IMGSTAT_U8, &how, 256);
    expect_edge(record, 255, 255);
    imgstat_record_destroy(record);
    const float floats[] = {-1, 3};
    how.bins = 8;
    record = binned(floats, 2, IMGSTAT_F32, &how, 8);
    for (uint32_t k = 0; k <= 8; k++)
        expect_edge(record, k, -1 + 0.5 * k);
    imgstat_record_destroy(record);
}

/* What is printed was lo + k w there, rounded to either side of where samples are parted. */
Test(measure, edges_of_bins_finer_than_doubles)
{
    enum { STEPS = 5, BINS = 7 };
    const double samples[] = {1, 1 + STEPS * DBL_EPSILON};
    const ImgstatMeasure how = {.histogram = true, .bins = BINS};
    ImgstatRecord *const record = binned(samples, 2, IMGSTAT_F64, &how, BINS);
    for (uint32_t k = 0; k <= BINS; k++) /* the next of the steps at or above 5 k / 7 of them */
        expect_edge(record, k, 1 + (double)((STEPS * k + BINS - 1) / BINS) * DBL_EPSILON);
    imgstat_record_destroy(record);
}

Test(measure, edges_of_bins_beyond_doubles)
{
    const uint64_t least = ((uint64_t)1 << 60) + 77, samples[] = {least, least + 41};
    const ImgstatMeasure how = {.histogram = true, .bins = 4};
    ImgstatRecord *const record = binned(samples, 2, IMGSTAT_U64, &how, 4);
    static const uint64_t above[] = {0, 11, 21, 31, 41}; /* 41 k / 4, rounded up */
    for (uint32_t k = 0; k <= 4; k++) {
        const ImgstatValue value = edge(record, k);
        cr_expect(value.sample == IMGSTAT_U64 && value.as.u == least + above[k]);
    }
    imgstat_record_destroy(record);
}

/* ---- Every type against sorting and two passes in long double ----------------------------- */

typedef struct Expected {
    size_t n, nan, inf, nodata;
    double *sorted;
    long double mean, m2, m3, m4;
} Expected;

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint64_t raw_at(const ImagePro *image, size_t i, uint16_t channel)
{
    const size_t bytes = imgstat_sample_bytes(image->sample);
    uint64_t raw = 0;
    memcpy(&raw, (const unsigned char *)image->host + (i * image->channels + channel) * bytes,
           bytes);
    return raw;
}

/* 64-bit integers here are below 2^53, so that doubles hold them. */
static Expected expect(const ImagePro *image, uint16_t channel)
{
    Expected e = {.sorted = malloc(sizeof(double) * image->width * image->height)};
    for (size_t i = 0; i < (size_t)image->width * image->height; i++) {
        const uint64_t key = sample_key(image->sample, raw_at(image, i, channel));
        const double x = sample_double(image->sample, key);
        if (image->has_nodata && key == image->nodata_key)
            e.nodata++;
        else if (isnan(x))
            e.nan++;
        else if (isinf(x))
            e.inf++;
        else
            e.sorted[e.n++] = x;
    }
    qsort(e.sorted, e.n, sizeof *e.sorted, compare_doubles);
    for (size_t i = 0; i < e.n; i++)
        e.mean += e.sorted[i];
    e.mean /= (long double)e.n;
    for (size_t i = 0; i < e.n; i++) {
        const long double d = e.sorted[i] - e.mean;
        e.m2 += d * d / (long double)e.n;
        e.m3 += d * d * d / (long double)e.n;
        e.m4 += d * d * d * d / (long double)e.n;
    }
    return e;
}

static double expected_percentile(const Expected *e, double p, bool nearest)
{
    const long double part = roundl((long double)p * 1e9L); /* of 1e11 */
    if (nearest) {
        const size_t up =
            (size_t)(((unsigned __int128)e->n * (uint64_t)part + 99999999999u) / 100000000000u);
        return e->sorted[up ? up - 1 : 0];
    }
    const long double h = (long double)(e->n - 1) * part / 1e11L;
    const size_t low = (size_t)floorl(h), high = (size_t)ceill(h);
    return (double)(e->sorted[low] + (e->sorted[high] - e->sorted[low]) * (h - floorl(h)));
}

static double expected_mode(const Expected *e)
{
    double mode = 0;
    size_t most = 0;
    for (size_t i = 0, end; i < e->n; i = end) {
        for (end = i; end < e->n && e->sorted[end] == e->sorted[i]; end++) {
        }
        if (end - i > most) {
            most = end - i;
            mode = e->sorted[i];
        }
    }
    return mode;
}

static void check_channel(const ImgstatRecord *record, const ImagePro *image, uint16_t c,
                          bool nearest)
{
    const Expected e = expect(image, c);
    const char *const name = imgstat_sample_name(image->sample);
    ImgstatStats stats;
    imgstat_record_stats(record, c, &stats);
    cr_assert(stats.count == e.n && stats.nan == e.nan && stats.inf == e.inf &&
                  stats.nodata == e.nodata,
              "%s", name);
    cr_assert_gt(e.n, 0);
    cr_assert_eq(imgstat_value_double(stats.min), e.sorted[0]);
    cr_assert_eq(imgstat_value_double(stats.max), e.sorted[e.n - 1]);
    const double first =
        sample_double(image->sample, sample_key(image->sample, raw_at(image, stats.min_at, c)));
    cr_assert_eq(first, e.sorted[0]);
    cr_assert_float_eq(stats.mean, (double)e.mean,
                       1e-13 * sqrt((double)e.m2) + 4e-16 * fabs((double)e.mean));
    cr_assert(is_near(stats.variance, e.m2, 1e-13), "%s %.17g %.17Lg", name, stats.variance, e.m2);
    cr_assert_float_eq(stats.skewness, (double)(e.m3 / powl(e.m2, 1.5L)), 1e-10, "%s", name);
    cr_assert_float_eq(stats.kurtosis, (double)(e.m4 / e.m2 / e.m2 - 3), 1e-10, "%s", name);
    cr_assert_eq(imgstat_value_double(stats.mode), expected_mode(&e), "%s", name);
    cr_assert_float_eq(stats.median, expected_percentile(&e, 50, nearest), 1e-12);
    for (size_t k = 0; k < MEASURE_PERCENTILES; k++) {
        const double want = expected_percentile(&e, measure_percentiles[k], nearest);
        const double got = imgstat_record_percentile(record, c, k);
        cr_assert_float_eq(got, want, 1e-13 * (1 + fabs(want)), "%s p %g: %g %g", name,
                           measure_percentiles[k], got, want);
    }
    ImgstatHistogram h;
    uint64_t total = 0;
    cr_assert(imgstat_record_histogram(record, c, &h));
    for (uint32_t k = 0; k < h.bins; k++)
        total += h.counts[k];
    cr_assert_eq(total, e.n);
    free(e.sorted);
}

static void put(ImagePro *image, size_t i, double x)
{
    uint64_t key = 0;
    if (isnan(x)) {
        const uint64_t nan = image->sample == IMGSTAT_F16   ? 0x7E00
                             : image->sample == IMGSTAT_F32 ? 0xFFC00001
                                                            : 0x7FF8000000000001;
        memcpy((unsigned char *)image->host + i * imgstat_sample_bytes(image->sample), &nan,
               imgstat_sample_bytes(image->sample));
        return;
    }
    cr_assert(sample_key_of(image->sample, (ImgstatValue){.sample = IMGSTAT_F64, .as.f = x}, &key));
    const uint64_t raw = sample_raw(image->sample, key);
    memcpy((unsigned char *)image->host + i * imgstat_sample_bytes(image->sample), &raw,
           imgstat_sample_bytes(image->sample));
}

static void fill(Random *random, ImagePro *image, int pattern)
{
    const size_t n = (size_t)image->width * image->height * image->channels;
    const bool is_float = sample_is_float(image->sample);
    const bool is_small = sample_bits(image->sample) == 8;
    for (size_t i = 0; i < n; i++) {
        double x = 60 + 12 * random_normal(random);
        if (pattern == 1)
            x = floor(40 + 10 * random_unit(random) * random_unit(random));
        if (pattern == 2 && !is_small)
            x = 20000 + 300 * random_normal(random);
        if (pattern == 3 && is_float)
            x = random_next(random) % 9 == 0   ? (double)NAN
                : random_next(random) % 9 == 0 ? -(double)INFINITY
                                               : x;
        put(image, i, is_float ? x : floor(x));
    }
}

Test(measure, every_type)
{
    Random random = {16};
    size_t compared = 0;
    for (int s = IMGSTAT_U8; s <= IMGSTAT_F64; s++) {
        for (int pattern = 0; pattern < 4; pattern++) {
            const uint32_t width = pattern == 1 ? 4099 : 37, height = pattern == 1 ? 2 : 41;
            unsigned char *const pixels = calloc((size_t)width * height * 2, 8);
            ImagePro image = measure_wrap(pixels, width, height, 2, (ImgstatSample)s);
            fill(&random, &image, pattern);
            if (pattern == 1)
                imgstat_image_set_nodata(&image, (ImgstatValue){.sample = IMGSTAT_F64, .as.f = 42});
            ImgstatMeasure how = measure_everything();
            how.percentile_method = pattern % 2 ? IMGSTAT_NEAREST : IMGSTAT_LINEAR;
            ImgstatRecord *const record = measure_image(&image, &how);
            for (uint16_t c = 0; c < 2; c++, compared++)
                check_channel(record, &image, c, pattern % 2);
            imgstat_record_destroy(record);
            free(pixels);
        }
    }
    cr_assert_eq(compared, 11 * 4 * 2);
}

/* ---- What must not show ------------------------------------------------------------------- */

static void assert_same_record(const ImgstatRecord *a, const ImgstatRecord *b, uint16_t channels)
{
    for (uint16_t c = 0; c < channels; c++) {
        ImgstatStats x, y;
        ImgstatHistogram h, g;
        char s[48], t[48];
        imgstat_record_stats(a, c, &x);
        imgstat_record_stats(b, c, &y);
        const double p[] = {x.sum, x.mean, x.variance, x.median, x.entropy, x.skewness, x.kurtosis};
        const double q[] = {y.sum, y.mean, y.variance, y.median, y.entropy, y.skewness, y.kurtosis};
        cr_assert_eq(memcmp(p, q, sizeof p), 0);
        cr_assert(x.count == y.count && x.min_at == y.min_at && x.max_at == y.max_at &&
                  x.nan == y.nan);
        cr_assert(x.mode.as.u == y.mode.as.u && x.min.as.u == y.min.as.u &&
                  x.max.as.u == y.max.as.u);
        imgstat_record_sum(a, c, s);
        imgstat_record_sum(b, c, t);
        cr_assert_str_eq(s, t);
        for (size_t k = 0; k < MEASURE_PERCENTILES; k++)
            cr_assert_eq(imgstat_record_percentile(a, c, k), imgstat_record_percentile(b, c, k));
        cr_assert(imgstat_record_histogram(a, c, &h) && imgstat_record_histogram(b, c, &g));
        cr_assert_eq(h.bins, g.bins);
        cr_assert_eq(memcmp(h.counts, g.counts, h.bins * sizeof *h.counts), 0);
    }
}

Test(measure, threads_do_not_show)
{
    Random random = {19};
    const ImgstatMeasure how = measure_everything();
    static const unsigned threads[] = {1, 2, 3, 7};
    static const ImgstatSample types[] = {IMGSTAT_U8, IMGSTAT_F16, IMGSTAT_F32, IMGSTAT_F64,
                                          IMGSTAT_I64};
    for (size_t s = 0; s < 5; s++) {
        const uint32_t width = 5001, height = 260;
        unsigned char *const pixels = calloc((size_t)width * height, 8);
        ImagePro image = measure_wrap(pixels, width, height, 1, types[s]);
        fill(&random, &image, 3);
        ImgstatRecord *record[4];
        for (int t = 0; t < 4; t++) {
            ImgstatDevice *const device = measure_device(threads[t]);
            cr_assert_eq(imgstat_measure_image(device, &image, &how, &record[t], NULL), IMGSTAT_OK);
            imgstat_device_close(device);
            assert_same_record(record[0], record[t], 1);
        }
        for (int t = 0; t < 4; t++)
            imgstat_record_destroy(record[t]);
        free(pixels);
    }
}

Test(measure, refuses)
{
    ImgstatDevice *const device = measure_device(1);
    const ImagePro image = measure_wrap(example, 8, 8, 1, IMGSTAT_U8);
    ImgstatRecord *record;
    ImgstatError err;
    static const double bad[] = {-0.1, 100.1, NAN};
    for (size_t i = 0; i < 3; i++) {
        const ImgstatMeasure how = {.percentiles = &bad[i], .n_percentiles = 1};
        cr_assert_eq(imgstat_measure_image(device, &image, &how, &record, &err), IMGSTAT_ERR_ARG);
        cr_assert_null(record);
    }
    const ImgstatMeasure reversed = {.histogram = true, .has_range = true, .lo = 3, .hi = 2};
    cr_assert_eq(imgstat_measure_image(device, &image, &reversed, &record, &err), IMGSTAT_ERR_ARG);
    const uint16_t *const pixel =
        calloc(3000, sizeof *pixel); /* 1.5 GB of counters for 6 kB of file */
    const ImagePro deep = measure_wrap(pixel, 1, 1, 3000, IMGSTAT_U16);
    cr_assert_eq(imgstat_measure_image(device, &deep, NULL, &record, &err), IMGSTAT_ERR_LIMIT);
    cr_assert_null(record);
    free((void *)(uintptr_t)pixel);
    imgstat_device_close(device);
    imgstat_device_close(NULL);
}

Test(measure, device_names)
{
    ImgstatDevice *device;
    ImgstatError err;
    static const char *const bad[] = {"",     "gpu",   "cpu:0",  "CPU",     "cpu ",
                                      "auto", "cuda:", "cuda:x", "cuda:1x", "cuda:9999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_neq(imgstat_device_open(bad[i], 1, &device, &err), IMGSTAT_OK, "%s", bad[i]);
        cr_assert_null(device);
        cr_assert_not_null(strstr(err.message, "cpu"), "%s", err.message);
    }
    cr_assert_eq(imgstat_device_open("gpu", 1, &device, &err), IMGSTAT_ERR_ARG);
    ImgstatDeviceInfo info[4], described;
    cr_assert_geq(imgstat_device_list(info, 4), 1);
    cr_assert_str_eq(info[0].name, "cpu");
    device = measure_device(1);
    imgstat_device_describe(device, &described);
    cr_assert_str_eq(described.name, "cpu");
    imgstat_device_close(device);
    cr_assert_not_null(strstr(imgstat_devices_built(), "cpu"));
    cr_assert_not_null(strstr(imgstat_libraries(), "libtiff "));
    cr_assert_not_null(strstr(imgstat_libraries(), "libpng "));
    cr_assert_not_null(strstr(imgstat_libraries(), " (none, LZW, PackBits, "));
    cr_assert_not_null(strstr(imgstat_libraries(), "), zlib "));
    cr_assert_not_null(imgstat_version());
}

/* ---- A file that its caller reads ------------------------------------------------------------ */

static ImgstatFile *open_pages(ImgstatPage *page)
{
    const char *const folder = getenv("IMGSTAT_TESTDATA");
    char path[4096];
    ImgstatFile *file;
    ImgstatError err = {0};
    snprintf(path, sizeof path, "%s/good-pages.tif", folder ? folder : "testdata");
    cr_assert_eq(imgstat_file_open(path, NULL, &file, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_gt(imgstat_file_pages(file), 1);
    cr_assert_eq(imgstat_file_page(file, 1, page, NULL), IMGSTAT_OK);
    return file;
}

/* Reads rows [first, end) of the page and compares them with those of the whole. */
static void read_on(ImgstatFile *file, const ImagePro *whole, uint32_t first, uint32_t end)
{
    ImagePro rows;
    const size_t bytes =
        whole->width * (size_t)whole->channels * imgstat_sample_bytes(whole->sample);
    cr_assert_eq(imgstat_image_create(whole->width, end - first, whole->channels, whole->sample,
                                      whole->bits, &rows, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(imgstat_file_read(file, &rows, NULL), IMGSTAT_OK);
    for (uint32_t y = first; y < end; y++)
        cr_assert_eq(memcmp((const char *)rows.host + (y - first) * rows.pitch,
                            (const char *)whole->host + y * whole->pitch, bytes),
                     0);
    imgstat_image_release(&rows);
}

/* Before any row is read, between two, and after the last; the page itself, and another. */
Test(measure, files_stay_where_they_are)
{
    ImgstatDevice *device;
    ImgstatPage page;
    ImagePro whole;
    ImgstatFile *file = open_pages(&page);
    cr_assert_eq(imgstat_device_open("cpu", 2, &device, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_image_create(page.width, page.height, page.channels, page.sample,
                                      page.bits, &whole, NULL),
                 IMGSTAT_OK);
    cr_assert_gt(page.height, 2);
    cr_assert_eq(imgstat_file_read(file, &whole, NULL), IMGSTAT_OK);
    imgstat_file_close(file);
    for (uint32_t other = 0; other < 2; other++) {
        const uint32_t stops[] = {0, 1, page.height - 1, page.height};
        file = open_pages(&page);
        for (size_t i = 0; i < 4; i++) {
            ImgstatRecord *record;
            cr_assert_eq(imgstat_measure_file(device, file, other, NULL, &record, NULL),
                         IMGSTAT_OK);
            imgstat_record_destroy(record);
            if (i < 3)
                read_on(file, &whole, stops[i], stops[i + 1]);
        }
        ImagePro more;
        cr_assert_eq(
            imgstat_image_create(page.width, 1, page.channels, page.sample, page.bits, &more, NULL),
            IMGSTAT_OK);
        cr_assert_eq(imgstat_file_read(file, &more, NULL), IMGSTAT_ERR_ARG);
        imgstat_image_release(&more);
        imgstat_file_close(file);
    }
    imgstat_image_release(&whole);
    imgstat_device_close(device);
}
