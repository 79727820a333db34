/* SPDX-License-Identifier: MIT */
/* helper_measure.c: arrays measured as images, from end to end. */
#include "helper_measure.h"

#include <criterion/criterion.h>
#include <math.h>

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

bool is_near(double got, long double expected, double relative)
{
    return fabsl(got - expected) <= relative * fabsl(expected);
}
