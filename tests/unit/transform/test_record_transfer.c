/* SPDX-License-Identifier: MIT */
/* test_record_transfer.c: transfers from records are those of an image with all their pixels. */
#include "helper_keys.h"
#include "helper_measure.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { WIDTH = 16, ROWS = 9, PARTS = 3, COLOURS = 3 };

static ImgstatRecord *record_of(const ImagePro *image)
{
    const ImgstatMeasure how = {.mergeable = true};
    return measure_image(image, &how);
}

static char *describe(ImgstatTransfer *transfer)
{
    const size_t n = imgstat_transfer_describe(transfer, NULL, 0);
    char *const text = malloc(n + 1);
    cr_assert(text && imgstat_transfer_describe(transfer, text, n + 1) == n);
    return text;
}

/* Compares maps by what they make of all pixels. */
static void check_method(const ImgstatMethod *method, ImgstatSample sample)
{
    static uint64_t room[WIDTH * ROWS * COLOURS];
    unsigned char *const pixels = (unsigned char *)room;
    const size_t row = WIDTH * COLOURS * imgstat_sample_bytes(sample);
    Random random = {(uint64_t)sample + 1};
    for (size_t i = 0; i < (size_t)WIDTH * ROWS * COLOURS; i++) {
        const float f = (float)random_unit(&random);
        const uint64_t x = (random_next(&random) % 50) * (random_next(&random) % 5);
        memcpy(pixels + i * imgstat_sample_bytes(sample), &x, imgstat_sample_bytes(sample));
        if (sample == IMGSTAT_F32)
            memcpy(pixels + i * sizeof f, &f, sizeof f);
    }
    const ImagePro whole = measure_wrap(pixels, WIDTH, ROWS, COLOURS, sample);
    ImgstatRecord *record = NULL;
    for (size_t k = 0; k < PARTS; k++) {
        const ImagePro part =
            measure_wrap(pixels + k * (ROWS / PARTS) * row, WIDTH, ROWS / PARTS, COLOURS, sample);
        ImgstatRecord *const one = record_of(&part);
        if (!record) {
            record = one;
            continue;
        }
        cr_assert(imgstat_record_merge(record, one, NULL) == IMGSTAT_OK);
        imgstat_record_destroy(one);
    }
    ImgstatError error;
    ImgstatDevice *const device = measure_device(1);
    ImgstatTransfer *from_pixels = NULL, *from_record = NULL;
    const bool match = method->transform == IMGSTAT_MATCH;
    const ImagePro other = measure_wrap(pixels, WIDTH, 2, COLOURS, sample);
    ImgstatRecord *const other_record = record_of(&other);
    cr_assert(imgstat_transfer_create(device, method, &whole, -1, match ? &other : NULL,
                                      &from_pixels, &error) == IMGSTAT_OK,
              "%s", error.message);
    cr_assert(imgstat_transfer_from_record(method, record, match ? other_record : NULL,
                                           &from_record, &error) == IMGSTAT_OK,
              "%s", error.message);
    char *const a = describe(from_pixels), *const b = describe(from_record);
    cr_assert_str_eq(a, b);
    ImagePro x, y;
    cr_assert(imgstat_image_create(WIDTH, ROWS, COLOURS, sample, 0, &x, NULL) == IMGSTAT_OK);
    cr_assert(imgstat_image_create(WIDTH, ROWS, COLOURS, sample, 0, &y, NULL) == IMGSTAT_OK);
    cr_assert(imgstat_transfer_apply(device, from_pixels, &whole, -1, &x, NULL) == IMGSTAT_OK);
    cr_assert(imgstat_transfer_apply(device, from_record, &whole, -1, &y, NULL) == IMGSTAT_OK);
    cr_assert(memcmp(x.host, y.host, row * ROWS) == 0 && memcmp(x.host, pixels, row * ROWS) != 0);
    imgstat_image_release(&x);
    imgstat_image_release(&y);
    free(a);
    free(b);
    imgstat_transfer_destroy(from_pixels);
    imgstat_transfer_destroy(from_record);
    imgstat_record_destroy(other_record);
    imgstat_record_destroy(record);
    imgstat_device_close(device);
}

Test(record_transfer, is_that_of_all_pixels)
{
    const ImgstatMethod methods[] = {
        {.transform = IMGSTAT_STRETCH},
        {.transform = IMGSTAT_STRETCH, .channels = IMGSTAT_EACH},
        {.transform = IMGSTAT_MEANSTD, .mean = 0.5, .stddev = 0.1},
        {.transform = IMGSTAT_GAMMA, .gamma = 2},
        {.transform = IMGSTAT_PERCENTILE, .has_clip = true, .clip_lo = 5, .clip_hi = 1},
        {.transform = IMGSTAT_PERCENTILE, .channels = IMGSTAT_EACH},
        {.transform = IMGSTAT_EQUALIZE, .channels = IMGSTAT_EACH},
        {.transform = IMGSTAT_EQUALIZE, .channels = IMGSTAT_JOINT},
        {.transform = IMGSTAT_MATCH},
    };
    static const ImgstatSample samples[] = {IMGSTAT_U8, IMGSTAT_I16, IMGSTAT_U16, IMGSTAT_F32};
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++)
        for (size_t m = 0; m < (samples[s] == IMGSTAT_F32 ? 4 : sizeof methods / sizeof *methods);
             m++)
            check_method(&methods[m], samples[s]);
}

Test(record_transfer, says_what_a_record_lacks)
{
    static const float pixels[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const ImagePro wide = measure_wrap(pixels, 2, 2, 3, IMGSTAT_F32);
    const ImagePro narrow = measure_wrap(pixels, 2, 2, 3, IMGSTAT_U8);
    const struct {
        ImgstatMethod method;
        bool wide;
        const char *words;
    } cases[] = {
        {{.transform = IMGSTAT_EQUALIZE}, false, "not their luma"},
        {{.transform = IMGSTAT_CLAHE}, false, "adaptive equalization"},
        {{.transform = IMGSTAT_MATCH}, false, "reference"},
        {{.transform = IMGSTAT_STRETCH, .region = {0, 0, 1, 1}}, false, "region"},
        {{.transform = IMGSTAT_EQUALIZE, .channels = IMGSTAT_EACH}, true, "f32 samples"},
        {{.transform = IMGSTAT_PERCENTILE}, true, "needs the pixels"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ImgstatRecord *const record = record_of(cases[i].wide ? &wide : &narrow);
        ImgstatTransfer *transfer = NULL;
        ImgstatError error = {0};
        cr_assert(imgstat_transfer_from_record(&cases[i].method, record, NULL, &transfer, &error) ==
                  IMGSTAT_ERR_ARG);
        cr_assert(!transfer && strstr(error.message, cases[i].words), "%s", error.message);
        imgstat_record_destroy(record);
    }
}
