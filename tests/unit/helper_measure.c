/* SPDX-License-Identifier: MIT */
/* helper_measure.c: arrays measured as images, from end to end. */
#include "helper_measure.h"

#include "record/dataset.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

const double measure_percentiles[MEASURE_PERCENTILES] = {0, 1, 5, 25, 33.3, 50, 75, 99, 99.9, 100};

ImgstatMeasure measure_everything(void)
{
    return (ImgstatMeasure){.percentiles = measure_percentiles,
                            .n_percentiles = MEASURE_PERCENTILES,
                            .median = true,
                            .mode = true,
                            .shape = true,
                            .histogram = true};
}

ImgstatDevice *measure_device(unsigned threads)
{
    ImgstatDevice *device;
    ImgstatError err = {0};
    cr_assert_eq(imgstat_device_open("cpu", threads, &device, &err), IMGSTAT_OK, "%s", err.message);
    return device;
}

ImgstatRecord *measure_image(const ImagePro *image, const ImgstatMeasure *how)
{
    ImgstatDevice *const device = measure_device(2);
    ImgstatRecord *record;
    ImgstatError err = {0};
    cr_assert_eq(imgstat_measure_image(device, image, how, &record, &err), IMGSTAT_OK, "%s",
                 err.message);
    imgstat_device_close(device);
    return record;
}

ImagePro measure_wrap(const void *pixels, uint32_t width, uint32_t height, uint16_t channels,
                      ImgstatSample sample)
{
    ImagePro image;
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, pixels, 0, width, height, channels, sample, 0,
                                    NULL, NULL, &image, NULL),
                 IMGSTAT_OK);
    return image;
}

ImgstatStats measure_stats(const ImagePro *image, const ImgstatMeasure *how)
{
    ImgstatStats stats;
    ImgstatRecord *const record = measure_image(image, how);
    imgstat_record_stats(record, 0, &stats);
    imgstat_record_destroy(record);
    return stats;
}

size_t measure_compare(const ImgstatRecord *a, const ImgstatRecord *b)
{
    size_t n = 0;
    cr_assert_eq(imgstat_record_channels(a), imgstat_record_channels(b));
    for (uint16_t c = 0; c < imgstat_record_channels(a); c++) {
        ImgstatStats x, y;
        imgstat_record_stats(a, c, &x);
        imgstat_record_stats(b, c, &y);
        const uint64_t p[] = {x.count,  x.nan,    x.inf,      x.nodata,   x.masked,
                              x.min_at, x.max_at, x.min.as.u, x.max.as.u, x.mode.as.u};
        const uint64_t q[] = {y.count,  y.nan,    y.inf,      y.nodata,   y.masked,
                              y.min_at, y.max_at, y.min.as.u, y.max.as.u, y.mode.as.u};
        for (size_t i = 0; i < sizeof p / sizeof *p; i++)
            cr_assert_eq(p[i], q[i], "channel %u, value %zu", c, i);
        const double v[] = {x.sum, x.mean, x.variance, x.median, x.entropy, x.skewness, x.kurtosis};
        const double w[] = {y.sum, y.mean, y.variance, y.median, y.entropy, y.skewness, y.kurtosis};
        cr_assert_eq(memcmp(v, w, sizeof v), 0, "channel %u", c);
        for (size_t k = 0; k < MEASURE_PERCENTILES; k++) {
            const double s = imgstat_record_percentile(a, c, k);
            const double t = imgstat_record_percentile(b, c, k);
            cr_assert_eq(memcmp(&s, &t, sizeof s), 0, "channel %u, percentile %zu", c, k);
        }
        char sum[2][48];
        imgstat_record_sum(a, c, sum[0]);
        imgstat_record_sum(b, c, sum[1]);
        cr_assert_str_eq(sum[0], sum[1]);
        ImgstatHistogram h, g;
        const bool bins = imgstat_record_histogram(a, c, &h);
        cr_assert_eq(bins, imgstat_record_histogram(b, c, &g));
        cr_assert(!bins ||
                  (h.bins == g.bins && memcmp(h.counts, g.counts, h.bins * sizeof *h.counts) == 0));
        n += x.count > 0;
    }
    return n;
}

void measure_add(ImgstatDataset *dataset, const char *group, ImgstatRecord *record)
{
    if (group && *group)
        record->group = shared_text_create(group, strlen(group));
    cr_assert_eq(dataset_add(dataset, record, NULL, NULL), IMGSTAT_OK);
}

bool is_near(double got, long double expected, double relative)
{
    return fabsl(got - expected) <= relative * fabsl(expected);
}
