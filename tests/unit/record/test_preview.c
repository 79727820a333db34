/* SPDX-License-Identifier: MIT */
/* test_preview.c: small copies of images, whatever bands their rows come in. */
#include "record/preview.h"

#include "helper_measure.h"

#include <criterion/criterion.h>
#include <math.h>

static Preview *preview_of(const ImagePro *image, uint32_t side, uint32_t rows)
{
    Preview *preview = NULL;
    cr_assert_eq(preview_create(image, image->width, image->height, side, &preview, NULL),
                 IMGSTAT_OK);
    for (uint32_t y = 0; y < image->height; y += rows) {
        const ImagePro band =
            image_band(image, y, image->height - y < rows ? image->height - y : rows);
        preview_add(preview, &band);
    }
    preview_finish(preview);
    return preview;
}

Test(preview, small_images_are_copied)
{
    static const uint16_t pixels[2 * 3] = {1, 65535, 7, 40000, 0, 9};
    const ImagePro image = measure_wrap(pixels, 3, 2, 1, IMGSTAT_U16);
    for (uint32_t rows = 1; rows <= 2; rows++) {
        Preview *const preview = preview_of(&image, 8, rows);
        cr_assert(preview->width == 3 && preview->height == 2);
        for (size_t i = 0; i < 6; i++)
            cr_expect_eq(preview->samples[i], (float)pixels[i]);
        preview_destroy(preview);
    }
}

/* A ramp: the three points of a cell lie around its middle. */
Test(preview, means)
{
    enum { WIDTH = 90, HEIGHT = 45, SIDE = 10, CHANNELS = 2 };
    static int16_t pixels[HEIGHT][WIDTH][CHANNELS];
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            pixels[y][x][0] = (int16_t)(x - 40);
            pixels[y][x][1] = (int16_t)(10 * y);
        }
    const ImagePro image = measure_wrap(pixels, WIDTH, HEIGHT, CHANNELS, IMGSTAT_I16);
    for (uint32_t rows = 1; rows <= HEIGHT; rows += 11) {
        Preview *const preview = preview_of(&image, SIDE, rows);
        cr_assert(preview->width == SIDE && preview->height == SIDE / 2);
        for (unsigned k = 0; k < SIDE * SIDE / 2; k++) {
            cr_expect_float_eq(preview->samples[k * CHANNELS], (float)(k % SIDE) * 9 - 36, 1e-4F);
            cr_expect_float_eq(preview->samples[k * CHANNELS + 1], (float)(k / SIDE) * 90 + 40,
                               1e-3F);
        }
        preview_destroy(preview);
    }
}

Test(preview, samples_that_are_not_valid)
{
    static const float pixels[4] = {NAN, INFINITY, 3, -7};
    static const uint8_t mask[4] = {1, 1, 1, 0};
    ImagePro image = measure_wrap(pixels, 4, 1, 1, IMGSTAT_F32);
    image.mask = mask;
    image.mask_pitch = 4;
    Preview *preview = preview_of(&image, 4, 1);
    cr_expect(isnan(preview->samples[0]) && isnan(preview->samples[1]));
    cr_expect(preview->samples[2] == 3 && isnan(preview->samples[3]));
    preview_destroy(preview);
    imgstat_image_set_nodata(&image, (ImgstatValue){.sample = IMGSTAT_F32, .as.f = 3});
    preview = preview_of(&image, 1, 1); /* one pixel for all of them */
    cr_expect(preview->width == 1 && isnan(preview->samples[0]));
    preview_destroy(preview);
}

Test(preview, of_a_record)
{
    static const uint8_t pixels[6] = {5, 6, 7, 8, 9, 10};
    const ImagePro image = measure_wrap(pixels, 2, 1, 3, IMGSTAT_U8);
    ImgstatRecord *const record = measure_image(&image, &(ImgstatMeasure){.preview = 5});
    ImgstatRecord *const plain = measure_image(&image, NULL);
    uint32_t width, height;
    const float *const samples = imgstat_record_preview(record, &width, &height);
    cr_assert(samples && width == 2 && height == 1);
    for (size_t i = 0; i < 6; i++)
        cr_expect_eq(samples[i], (float)pixels[i]);
    cr_expect_null(imgstat_record_preview(plain, &width, &height));
    cr_assert_eq(imgstat_record_merge(record, plain, NULL), IMGSTAT_OK);
    cr_expect_null(imgstat_record_preview(record, &width, &height), "merged records have none");
    imgstat_record_destroy(plain);
    imgstat_record_destroy(record);
}
