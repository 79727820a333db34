/* SPDX-License-Identifier: MIT */
/* test_measure.c: images measured from end to end on the CPU device. */
#include "base/sample.h"
#include "codec/codec.h"
#include "device/device.h"
#include "helper_decode.h"
#include "helper_keys.h"
#include "helper_measure.h"
#include "support.h"

#include <criterion/criterion.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

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

/* Two columns of three rows; the mask leaves one pixel of them out. */
Test(measure, region)
{
    ImagePro image = measure_wrap(example, 8, 8, 1, IMGSTAT_U8);
    uint8_t mask[64];
    memset(mask, 1, sizeof mask);
    mask[4 * 8 + 3] = 0;
    image.mask = mask;
    image.mask_pitch = 8;
    ImgstatMeasure how = {.region = {.x = 3, .y = 2, .width = 2, .height = 3}};
    const ImgstatStats stats = measure_stats(&image, &how);
    cr_expect(stats.count == 5 && stats.masked == 1);
    cr_expect(stats.sum == 113 + 144 + 122 + 154 + 126);
    cr_expect(stats.min.as.u == 113 && stats.min_at == 2 * 8 + 3);
    cr_expect(stats.max.as.u == 154 && stats.max_at == 3 * 8 + 4);
    static const ImgstatRegion wrong[] = {{7, 0, 2, 1}, {0, 7, 1, 2}, {0, 0, 9, 1},
                                          {0, 0, 1, 0}, {0, 0, 0, 1}, {8, 0, 1, 1}};
    ImgstatDevice *const device = measure_device(1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ImgstatRecord *record;
        how.region = wrong[i];
        cr_expect_eq(imgstat_measure_image(device, &image, &how, &record, NULL), IMGSTAT_ERR_ARG,
                     "%zu", i);
        cr_expect_null(record);
    }
    imgstat_device_close(device);
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
        if (!is_run(s, 2))
            continue;
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

/* ---- Separate planes ---- */

TestSuite(planes, .init = decode_begin, .fini = decode_end, .timeout = 3000);

enum { NODATA_TAG = 42113 };

typedef struct Shape {
    uint32_t width, height;
    uint16_t samples, bits, format, compression, predictor;
    uint32_t tile, strip; /* edge of a tile, or 0; rows of a strip */
    bool big_endian;
    const char *nodata;
    uint32_t absent; /* every so manyth chunk has no data; 0: none */
} Shape;

/* Few values in the first plane, more in the others; floats are undefined and infinite at times. */
static void put_sample(const Shape *shape, uint8_t *row, size_t i, uint64_t seed)
{
    const uint64_t v = mix64(seed) % 3000;
    const double d = v == 7 ? (double)NAN : v == 9 ? (double)INFINITY : (double)v / 8 - 100;
    const float f = (float)d;
    const bool floats = shape->format == SAMPLEFORMAT_IEEEFP;
    switch (shape->bits) {
    case 8:
        row[i] = (uint8_t)v;
        return;
    case 16:
        memcpy(row + 2 * i, &(uint16_t){(uint16_t)(floats ? v * 21 : v)}, 2);
        return;
    case 32:
        memcpy(row + 4 * i,
               floats ? (const void *)&f : (const void *)&(uint32_t){(uint32_t)v << 18}, 4);
        return;
    case 64:
        memcpy(row + 8 * i, floats ? (const void *)&d : (const void *)&(uint64_t){v << 50}, 8);
        return;
    default: /* 12 and fewer */
        for (unsigned b = 0; b < shape->bits; b++)
            if (v >> b & 1)
                row[(i * shape->bits + b) / 8] |= (uint8_t)(0x80u >> (i * shape->bits + b) % 8);
        return;
    }
}

static uint64_t seed_of(uint32_t x, uint32_t y, uint32_t plane)
{
    return ((uint64_t)plane << 40 | (uint64_t)y << 20 | x) % (plane ? UINT64_MAX : 4099);
}

static TIFF *create(const Shape *shape)
{
    static const TIFFFieldInfo info = {NODATA_TAG,   -1, -1, TIFF_ASCII,
                                       FIELD_CUSTOM, 1,  0,  (char *)"GDALNoData"};
    TIFF *const tif = TIFFOpen(decode_path, shape->big_endian ? "wb" : "wl");
    cr_assert_not_null(tif);
    TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, shape->width);
    TIFFSetField(tif, TIFFTAG_IMAGELENGTH, shape->height);
    TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, shape->samples);
    TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, shape->bits);
    TIFFSetField(tif, TIFFTAG_SAMPLEFORMAT, shape->format);
    TIFFSetField(tif, TIFFTAG_COMPRESSION, shape->compression);
    TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tif, TIFFTAG_PLANARCONFIG, PLANARCONFIG_SEPARATE);
    if (shape->compression == COMPRESSION_ADOBE_DEFLATE)
        TIFFSetField(tif, TIFFTAG_ZIPQUALITY, 1);
    if (shape->predictor)
        TIFFSetField(tif, TIFFTAG_PREDICTOR, shape->predictor);
    if (shape->tile) {
        TIFFSetField(tif, TIFFTAG_TILEWIDTH, shape->tile);
        TIFFSetField(tif, TIFFTAG_TILELENGTH, shape->tile);
    } else {
        TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, shape->strip);
    }
    if (shape->nodata) {
        TIFFMergeFieldInfo(tif, &info, 1);
        TIFFSetField(tif, NODATA_TAG, shape->nodata);
    }
    return tif;
}

static void write_planes(const Shape *shape)
{
    TIFF *const tif = create(shape);
    const uint32_t w = shape->tile ? shape->tile : shape->width;
    const uint32_t h = shape->tile ? shape->tile : shape->strip;
    const size_t row_bytes = ((size_t)w * shape->bits + 7) / 8;
    uint8_t *const chunk = malloc(row_bytes * h);
    uint32_t index = 0;
    for (uint32_t plane = 0; plane < shape->samples; plane++) {
        for (uint32_t y0 = 0; y0 < shape->height; y0 += h) {
            for (uint32_t x0 = 0; x0 < shape->width; x0 += w, index++) {
                const uint32_t rows =
                    shape->tile || y0 + h <= shape->height ? h : shape->height - y0;
                if (shape->absent && index % shape->absent == 1)
                    continue;
                memset(chunk, 0, row_bytes * h);
                for (uint32_t y = 0; y < rows; y++)
                    for (uint32_t x = 0; x < w; x++)
                        put_sample(shape, chunk + y * row_bytes, x, seed_of(x0 + x, y0 + y, plane));
                const tmsize_t n = (tmsize_t)(rows * row_bytes);
                cr_assert_eq(shape->tile ? TIFFWriteEncodedTile(tif, index, chunk, n)
                                         : TIFFWriteEncodedStrip(tif, index, chunk, n),
                             n);
            }
        }
    }
    free(chunk);
    TIFFClose(tif);
}

/* The page as pixels. */
static void read_page(ImgstatFile *file, ImagePro *image)
{
    ImgstatPage page;
    ImgstatError err = {.message = ""};
    cr_assert_eq(imgstat_file_page(file, 0, &page, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(imgstat_image_create(page.width, page.height, page.channels, page.sample,
                                      page.bits, image, &err),
                 IMGSTAT_OK);
    cr_assert_eq(imgstat_file_read(file, image, &err), IMGSTAT_OK, "%s", err.message);
}

/* Measures by as many threads as are asked for; apart: whether its planes must come apart. Returns
 * the samples compared. */
static size_t check_planes(const Shape *shape, uint64_t chunk_limit, const ImgstatMeasure *how,
                           unsigned threads, bool apart)
{
    const ImgstatOpen open = {.limits = {.max_tile_bytes = chunk_limit}};
    ImgstatFile *file;
    ImgstatError err = {.message = ""};
    ImgstatRecord *pixels, *planes;
    ImagePro image;
    cr_assert_eq(imgstat_file_open(decode_path, &open, &file, &err), IMGSTAT_OK, "%s", err.message);
    ImgstatDevice *const device = measure_device(threads);
    read_page(file, &image);
    cr_assert_eq(imgstat_measure_image(device, &image, how, &pixels, &err), IMGSTAT_OK);
    imgstat_image_release(&image);
    cr_assert_eq(imgstat_measure_file(device, file, 0, how, &planes, &err), IMGSTAT_OK, "%s",
                 err.message);
    cr_assert_eq(imgstat_record_channels(planes), shape->samples);
    cr_assert_gt(measure_compare(pixels, planes), 0);
    imgstat_record_destroy(pixels);
    imgstat_record_destroy(planes);
    read_page(file, &image); /* the file is as it was */
    imgstat_image_release(&image);
    const DecodeOptions as_measured = {.threads = threads, .planes = true};
    cr_assert_eq(decoder_select(file->decoder, 0, &as_measured, &err), IMGSTAT_OK);
    cr_assert_eq(file->decoder->caps.planes, apart ? shape->samples : 0);
    imgstat_device_close(device);
    imgstat_file_close(file);
    return (size_t)shape->width * shape->height * shape->samples;
}

typedef struct Type {
    uint16_t bits, format;
    const char *nodata;
} Type;

static const Type types[] = {
    {1, SAMPLEFORMAT_UINT, NULL},      {8, SAMPLEFORMAT_UINT, "7"},
    {12, SAMPLEFORMAT_UINT, NULL},     {16, SAMPLEFORMAT_UINT, "100"},
    {16, SAMPLEFORMAT_INT, NULL},      {16, SAMPLEFORMAT_IEEEFP, NULL},
    {32, SAMPLEFORMAT_UINT, "262144"}, {32, SAMPLEFORMAT_IEEEFP, "25"},
    {64, SAMPLEFORMAT_INT, NULL},      {64, SAMPLEFORMAT_IEEEFP, "-100"},
};

static bool reads_as_floats(const Shape *shape)
{
    return shape->format == SAMPLEFORMAT_IEEEFP && shape->compression != COMPRESSION_NONE &&
           shape->compression != COMPRESSION_PACKBITS;
}

Test(planes, every_type_and_layout)
{
    static const uint16_t codecs[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE,
                                      COMPRESSION_PACKBITS};
    ImgstatMeasure how = measure_everything();
    size_t n = 0;
    how.n_percentiles = 3;
    setenv("IMGSTAT_DECODE", "threads", 1);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (unsigned way = 0; way < 32; way++) {
            if (!is_run(way + t, 5)) /* each way for some types */
                continue;
            Shape shape = {.width = 53,
                           .height = 41,
                           .samples = way & 1 ? 2 : 3,
                           .bits = types[t].bits,
                           .format = types[t].format,
                           .compression = codecs[way / 8],
                           .tile = way & 2 ? 16 : 0,
                           .strip = way & 1 ? 6 : 41,
                           .big_endian = way & 4,
                           .nodata = way & 1 ? types[t].nodata : NULL,
                           .absent = way & 2 ? 7 : 0};
            if (reads_as_floats(&shape) && way & 4)
                shape.predictor = PREDICTOR_FLOATINGPOINT;
            write_planes(&shape);
            n += check_planes(&shape, 0, &how, 1, true);
            /* A plane of one strip is too little for three threads. */
            const bool enough = shape.compression == COMPRESSION_NONE || shape.tile || way & 1;
            n += check_planes(&shape, 0, &how, 3, enough);
            if (!shape.tile) /* row after row */
                n += check_planes(&shape, 2048, &how, 3, true);
        }
    }
    unsetenv("IMGSTAT_DECODE");
    fprintf(stderr, "%zu samples compared\n", n);
    cr_assert_gt(n, all_run() ? 3000000 : 600000);
}

/* Tables of pairs, several bands a plane, rows that threads read for themselves. */
Test(planes, larger_pages)
{
    static const uint16_t codecs[] = {COMPRESSION_NONE, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_LZW};
    const ImgstatMeasure how = measure_everything();
    size_t n = 0;
    for (unsigned way = 0; way < 18; way++) {
        if (!is_run(way % 3 + way / 3, 3)) /* a type for each codec and layout */
            continue;
        const Type *const type = &types[way % 3 == 0 ? 1 : way % 3 == 1 ? 3 : 9];
        const uint32_t rows = type->bits == 64 ? 503 : 1003; /* two bands at least */
        const Shape shape = {.width = 1201,
                             .height = rows,
                             .samples = 3,
                             .bits = type->bits,
                             .format = type->format,
                             .compression = codecs[way / 6],
                             .strip = way / 3 % 2 ? rows : 32,
                             .big_endian = way & 1};
        write_planes(&shape);
        if (is_run(way, 2))
            n += check_planes(&shape, 0, &how, 1, true);
        n += check_planes(&shape, 0, &how, 3,
                          shape.compression == COMPRESSION_NONE || shape.strip == 32 ||
                              shape.bits > 8);
    }
    fprintf(stderr, "%zu samples compared\n", n);
}

/* Not kept: each plane is read again, from tiles, and only where something is wanted of it. */
Test(planes, pages_that_are_read_again)
{
    ImgstatMeasure how = measure_everything();
    const Shape shape = {.width = 2400,
                         .height = 2400,
                         .samples = 3,
                         .bits = 32,
                         .format = SAMPLEFORMAT_IEEEFP,
                         .compression = COMPRESSION_NONE,
                         .tile = 240,
                         .absent = 11};
    write_planes(&shape);
    if (all_run()) /* pages of memory are read so, too */
        cr_assert_gt(check_planes(&shape, 0, &how, 2, true), 0);
    how.shape = how.histogram = how.mode = false;
    cr_assert_gt(check_planes(&shape, 0, &how, 3, true), 0);
}

/* Keys near the median of each plane are set aside in the read that measures it. */
Test(planes, ranks_of_raw_pages)
{
    ImgstatMeasure how = {.percentiles = measure_percentiles, .n_percentiles = 3, .median = true};
    Shape shape = {.width = 1200,
                   .height = 2100,
                   .samples = 3,
                   .bits = 32,
                   .format = SAMPLEFORMAT_IEEEFP,
                   .compression = COMPRESSION_NONE,
                   .strip = 64,
                   .nodata = "25"};
    for (unsigned way = 0; way < 4; way++) {
        if (!is_run(way % 3, 3)) /* each width and byte order once */
            continue;
        shape.big_endian = way & 1;
        shape.bits = way & 2 ? 64 : 32;
        write_planes(&shape);
        cr_assert_gt(check_planes(&shape, 0, &how, 1 + way, true), 0);
    }
}

/* The sentence names the strip. */
Test(planes, damage_is_told)
{
    ImgstatFile *file;
    ImgstatError err = {.message = ""};
    ImgstatRecord *record;
    const Shape shape = {.width = 200,
                         .height = 40,
                         .samples = 3,
                         .bits = 8,
                         .format = SAMPLEFORMAT_UINT,
                         .compression = COMPRESSION_ADOBE_DEFLATE,
                         .strip = 10};
    write_planes(&shape);
    TIFF *const tif = TIFFOpen(decode_path, "r+");
    uint8_t zeros[64] = {0};
    const uint64_t at = TIFFGetStrileOffset(tif, 6);
    TIFFClose(tif);
    FILE *const f = fopen(decode_path, "r+b");
    fseek(f, (long)at, SEEK_SET);
    fwrite(zeros, 1, sizeof zeros, f);
    fclose(f);
    cr_assert_eq(imgstat_file_open(decode_path, NULL, &file, &err), IMGSTAT_OK);
    for (unsigned threads = 1; threads < 3; threads++) {
        ImgstatDevice *const device = measure_device(threads);
        cr_assert_neq(imgstat_measure_file(device, file, 0, NULL, &record, &err), IMGSTAT_OK);
        cr_assert_null(record);
        cr_assert_not_null(strstr(err.message, "strip 7 of 12"), "%s", err.message);
        imgstat_device_close(device);
    }
    imgstat_file_close(file);
}

/* ---- More planes than handles ---- */

/* Of 8 bits. */
static uint64_t value_of(const void *context, uint32_t x, uint32_t y, uint32_t c)
{
    uint8_t bytes[8] = {0};
    put_sample(context, bytes, 0, seed_of(x, y, c));
    return bytes[0];
}

/* A handle for each of 20,000 planes would hold 400,000,000 places of strips, and reading them took
 * minutes: strips of all planes are decoded whole, or refused where that takes more than the limit.
 */
Test(planes, more_planes_than_handles)
{
    static const uint16_t codecs[] = {COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE,
                                      COMPRESSION_PACKBITS};
    enum { PLANES = 20000, LIMIT = 1 << 20 };
    size_t n = 0;
    for (unsigned i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        Shape shape = {.width = 8,
                       .height = 19,
                       .samples = PLANES,
                       .bits = 8,
                       .format = SAMPLEFORMAT_UINT,
                       .compression = codecs[i],
                       .strip = 16};
        if (i < 2)
            shape.predictor = PREDICTOR_HORIZONTAL;
        write_planes(&shape);
        ImgstatPage page;
        n += decode_compare(NULL, 5, value_of, &shape, "strips of all planes", &page);
        const ImgstatOpen small = {.limits = {.max_tile_bytes = LIMIT}};
        ImgstatFile *file;
        ImgstatError err;
        cr_assert_eq(imgstat_file_open(decode_path, &small, &file, &err), IMGSTAT_OK);
        cr_assert_eq(imgstat_file_page(file, 0, NULL, &err), IMGSTAT_ERR_LIMIT);
        imgstat_file_close(file);
    }
    fprintf(stderr, "%zu samples compared\n", n);
    cr_assert_eq(n, (size_t)3 * PLANES * 8 * 19);
}

/* ---- Files that are measured in between ------------------------------------------------------ */

/* Another decoder measures a page of which rows were read, and the file warns as before. */
Test(planes, warnings_of_a_file_that_is_half_read)
{
    const Shape shape = {.width = 40,
                         .height = 30,
                         .samples = 1,
                         .bits = 8,
                         .format = SAMPLEFORMAT_UINT,
                         .compression = COMPRESSION_LZW,
                         .strip = 10};
    DecodeHeard heard = {0};
    const ImgstatOpen how = {.warn = decode_hear, .warn_context = &heard};
    ImgstatFile *file;
    ImgstatRecord *record;
    ImagePro row;
    ImgstatDevice *const device = measure_device(1);
    write_planes(&shape);
    cr_assert_eq(imgstat_file_open(decode_path, &how, &file, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_image_create(40, 1, 1, IMGSTAT_U8, 8, &row, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_file_page(file, 0, NULL, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_file_read(file, &row, NULL), IMGSTAT_OK);
    warnings_report(&file->decoder->warnings, "first");
    cr_assert_eq(imgstat_measure_file(device, file, 0, NULL, &record, NULL), IMGSTAT_OK);
    warnings_report(&file->decoder->warnings, "first");
    cr_expect_eq(heard.n, 1, "said again");
    warnings_report(&file->decoder->warnings, "second");
    cr_expect_eq(heard.n, 2);
    cr_expect_not_null(strstr(heard.last, "second"));
    imgstat_record_destroy(record);
    imgstat_image_release(&row);
    imgstat_device_close(device);
    imgstat_file_close(file);
}

/* Where squares overflow all pages are read once more: what rows were hashed for does not count
 * twice. It has the counts at once where the median is wanted. */
Test(planes, hash_of_pages_that_are_read_twice)
{
    static const double samples[2][3] = {{1e300, -1e300, 5}, {2, 1e308, 7}};
    static const uint32_t pages[2] = {0, 1};
    TIFF *const tif = TIFFOpen(decode_path, "w");
    for (int i = 0; i < 2; i++) {
        TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, 3);
        TIFFSetField(tif, TIFFTAG_IMAGELENGTH, 1);
        TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, 64);
        TIFFSetField(tif, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_IEEEFP);
        TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        double row[3];
        memcpy(row, samples[i], sizeof row);
        cr_assert_gt(TIFFWriteEncodedStrip(tif, 0, row, sizeof row), 0);
        cr_assert_eq(TIFFWriteDirectory(tif), 1);
    }
    TIFFClose(tif);
    ImgstatFile *file;
    ImgstatDevice *const device = measure_device(1);
    uint8_t hash[2][16];
    cr_assert_eq(imgstat_file_open(decode_path, NULL, &file, NULL), IMGSTAT_OK);
    for (int i = 0; i < 2; i++) {
        const ImgstatMeasure how = {.hash = true, .median = i};
        ImgstatRecord *record;
        cr_assert_eq(imgstat_measure_pages(device, file, pages, 2, &how, &record, NULL),
                     IMGSTAT_OK);
        cr_assert(imgstat_record_hash(record, hash[i]));
        imgstat_record_destroy(record);
    }
    cr_expect_arr_eq(hash[0], hash[1], sizeof hash[0]);
    imgstat_device_close(device);
    imgstat_file_close(file);
}
