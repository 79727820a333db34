/* SPDX-License-Identifier: MIT */
/* test_clipped.c: pixels at the ends of full scale, against a plain count. */
#include "record/clipped.h"

#include "helper_measure.h"

#include <criterion/criterion.h>

enum { WIDTH = 37, HEIGHT = 5, CHANNELS = 4 };

typedef struct Case {
    ImgstatSample sample;
    uint8_t bits;
    long lo, hi;
} Case;

static const Case cases[] = {{IMGSTAT_U8, 8, 0, 255},         {IMGSTAT_U8, 1, 0, 1},
                             {IMGSTAT_I8, 8, -128, 127},      {IMGSTAT_U16, 16, 0, 65535},
                             {IMGSTAT_U16, 12, 0, 4095},      {IMGSTAT_I16, 12, -2048, 2047},
                             {IMGSTAT_I16, 16, -32768, 32767}};

static uint16_t words[HEIGHT][WIDTH * CHANNELS];
static uint8_t mask[HEIGHT][WIDTH];

static long value_of(const Case *of, unsigned y, unsigned i)
{
    const unsigned k = y * WIDTH * CHANNELS + i;
    const unsigned draw = (k * 2654435761u) >> 28; /* mostly an end */
    return draw < 6 ? of->lo : draw < 12 ? of->hi : of->lo + 1;
}

static void fill(const Case *of, unsigned channels)
{
    const bool bytes = imgstat_sample_bytes(of->sample) == 1;
    for (unsigned y = 0; y < HEIGHT; y++) {
        for (unsigned i = 0; i < WIDTH * channels; i++) {
            const long value = value_of(of, y, i);
            if (bytes)
                ((uint8_t *)words[y])[i] = (uint8_t)value;
            else
                words[y][i] = (uint16_t)value;
        }
        for (unsigned x = 0; x < WIDTH; x++)
            mask[y][x] = (x * 7 + y) % 5 != 0;
    }
}

static Clipped plain(const Case *of, unsigned channels, int alpha, bool masked, bool nodata)
{
    Clipped sum = {0};
    for (unsigned y = 0; y < HEIGHT; y++) {
        for (unsigned x = 0; x < WIDTH; x++) {
            bool valid = !masked || mask[y][x], low = true, high = true;
            for (unsigned c = 0; c < channels; c++) {
                const long value = value_of(of, y, x * channels + c);
                if ((int)c == alpha)
                    continue;
                valid = valid && (!nodata || value != of->lo + 1);
                low = low && value == of->lo;
                high = high && value == of->hi;
            }
            sum.pixels += valid;
            sum.low += valid && low;
            sum.high += valid && high;
        }
    }
    return sum;
}

static void compare(const Case *of, uint16_t channels, int alpha, bool masked, bool nodata)
{
    ImagePro image;
    fill(of, channels);
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, words, sizeof words[0], WIDTH, HEIGHT,
                                    channels, of->sample, of->bits, NULL, NULL, &image, NULL),
                 IMGSTAT_OK);
    image.mask = masked ? mask[0] : NULL;
    image.mask_pitch = WIDTH;
    if (nodata)
        imgstat_image_set_nodata(
            &image, (ImgstatValue){.sample = IMGSTAT_F64, .as.f = (double)(of->lo + 1)});
    const Clipped want = plain(of, channels, alpha, masked, nodata);
    Clipped got = {0};
    for (uint32_t y = 0; y < HEIGHT; y += 2) {
        const ImagePro band = image_band(&image, y, HEIGHT - y < 2 ? HEIGHT - y : 2);
        clipped_add(&got, &band, alpha);
    }
    cr_expect(got.pixels == want.pixels && got.low == want.low && got.high == want.high,
              "%s of %u bits, %u channels, alpha %d: %lu low, %lu high",
              imgstat_sample_name(of->sample), of->bits, channels, alpha, (unsigned long)got.low,
              (unsigned long)got.high);
    cr_expect(channels > 1 || want.low > 0, "there is something to count");
}

Test(clipped, forms)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (uint16_t channels = 1; channels <= CHANNELS; channels++)
            for (int alpha = -1; alpha < channels; alpha++)
                for (unsigned way = 0; way < 4; way++)
                    compare(&cases[i], channels, alpha, way & 1, way & 2);
}

/* Only where it is asked for, and not of wide types. */
Test(clipped, measured)
{
    const ImgstatMeasure how = {.clipped = true};
    uint64_t pixels, low, high;
    ImagePro image;
    fill(&cases[0], 1);
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, words, sizeof words[0], WIDTH, HEIGHT, 1,
                                    IMGSTAT_U8, 8, NULL, NULL, &image, NULL),
                 IMGSTAT_OK);
    ImgstatRecord *const record = measure_image(&image, &how), *const no =
                                                                   measure_image(&image, NULL);
    const Clipped want = plain(&cases[0], 1, -1, false, false);
    cr_expect(imgstat_record_clipped(record, &pixels, &low, &high));
    cr_expect(pixels == want.pixels && low == want.low && high == want.high);
    cr_expect_not(imgstat_record_clipped(no, &pixels, &low, &high));
    imgstat_record_destroy(record);
    imgstat_record_destroy(no);
    static float wide[HEIGHT * WIDTH];
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, wide, 0, WIDTH, HEIGHT, 1, IMGSTAT_F32, 32,
                                    NULL, NULL, &image, NULL),
                 IMGSTAT_OK);
    ImgstatRecord *const of_floats = measure_image(&image, &how);
    cr_expect_not(imgstat_record_clipped(of_floats, &pixels, &low, &high));
    imgstat_record_destroy(of_floats);
}
