/* SPDX-License-Identifier: MIT */
/* test_images.c: images that are measured together have the statistics that each has alone. */
#include "imgstat.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES = 300 };

/* Images of all types and of several sizes, some of them empty, masked or with nodata. */
static ImagePro image_of(unsigned i)
{
    static const uint32_t widths[] = {1, 17, 0, 64, 5};
    static uint8_t mask[64 * 64];
    const ImgstatSample sample = (ImgstatSample)(i % 11);
    ImagePro image;
    cr_assert_eq(imgstat_image_create(widths[i % 5], 1 + i % 40, (uint16_t)(1 + i % 4), sample, 0,
                                      &image, NULL),
                 IMGSTAT_OK);
    unsigned char *const bytes = image.host;
    for (size_t k = 0; k < image.pitch * image.height; k++)
        bytes[k] = (unsigned char)(((k + i) * 2654435761u) >> 13);
    for (size_t k = 0; k < sizeof mask; k++)
        mask[k] = k % 3 != 0;
    if (i % 7 == 3) {
        image.mask = mask;
        image.mask_pitch = 64;
    }
    if (i % 5 == 1)
        imgstat_image_set_nodata(&image, (ImgstatValue){.sample = IMGSTAT_U64, .as.u = 7});
    return image;
}

/* Compares what is not a pointer. */
static void compare(const ImgstatRecord *a, const ImgstatRecord *b, size_t n_percentiles)
{
    cr_assert_eq(imgstat_record_channels(a), imgstat_record_channels(b));
    for (uint16_t c = 0; c < imgstat_record_channels(a); c++) {
        ImgstatStats s, t;
        ImgstatHistogram g, h;
        imgstat_record_stats(a, c, &s);
        imgstat_record_stats(b, c, &t);
        s.min_file = s.max_file = t.min_file = t.max_file = NULL;
        cr_assert_eq(memcmp(&s, &t, sizeof s), 0);
        for (size_t k = 0; k < n_percentiles; k++) {
            const double p = imgstat_record_percentile(a, c, k);
            const double q = imgstat_record_percentile(b, c, k);
            cr_assert_eq(memcmp(&p, &q, sizeof p), 0);
        }
        cr_assert_eq(imgstat_record_histogram(a, c, &g), imgstat_record_histogram(b, c, &h));
        cr_assert_eq(g.bins, h.bins);
        cr_assert_eq(memcmp(g.counts, h.counts, g.bins * sizeof *g.counts), 0);
    }
}

Test(images, are_measured_as_each_alone)
{
    static const double percentiles[] = {0, 12.5, 50, 100};
    const ImgstatMeasure how = {
        .percentiles = percentiles, .n_percentiles = 4, .median = true, .histogram = true};
    ImgstatDevice *device;
    ImagePro images[IMAGES];
    ImgstatRecord *together[IMAGES];
    cr_assert_eq(imgstat_device_open("cpu", 2, &device, NULL), IMGSTAT_OK);
    for (unsigned i = 0; i < IMAGES; i++)
        images[i] = image_of(i);
    cr_assert_eq(imgstat_measure_images(device, images, IMAGES, &how, together, NULL), IMGSTAT_OK);
    for (unsigned i = 0; i < IMAGES; i++) {
        ImgstatRecord *alone;
        cr_assert_eq(imgstat_measure_image(device, &images[i], &how, &alone, NULL), IMGSTAT_OK);
        compare(alone, together[i], 4);
        imgstat_record_destroy(alone);
        imgstat_record_destroy(together[i]);
    }

    const ImgstatMeasure part = {.region = {0, 0, 1, 1}}; /* some images are too small for it */
    cr_assert_eq(imgstat_measure_images(device, images, IMAGES, &part, together, NULL),
                 IMGSTAT_ERR_ARG);
    cr_assert_null(together[0]);
    cr_assert_eq(imgstat_measure_images(device, images, 2, &part, together, NULL), IMGSTAT_OK);
    imgstat_record_destroy(together[0]);
    imgstat_record_destroy(together[1]);
    cr_assert_eq(imgstat_measure_images(device, NULL, 0, NULL, together, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_measure_images(device, NULL, 1, NULL, together, NULL), IMGSTAT_ERR_ARG);

    const ImagePro one_failed[] = {images[0], {.memory = IMGSTAT_HOST}}; /* what a call leaves */
    cr_assert_eq(imgstat_measure_images(device, one_failed, 2, NULL, together, NULL),
                 IMGSTAT_ERR_ARG);
    cr_assert_null(together[0]);
    cr_assert_eq(imgstat_measure_image(device, &one_failed[1], NULL, together, NULL),
                 IMGSTAT_ERR_ARG);
    for (unsigned i = 0; i < IMAGES; i++)
        imgstat_image_release(&images[i]);
    imgstat_device_close(device);
    fprintf(stderr, "images: %d compared\n", IMAGES);
}
