/* SPDX-License-Identifier: MIT */
/* test_map_rows.c: pixels: what stays as it is, in place, bands, threads, luma. */
#include "cpu/map_rows.h"

#include "device/device.h"
#include "helper_transform.h"
#include "support.h"
#include "transfer/luma.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const ImgstatSample all_types[] = {IMGSTAT_U8,  IMGSTAT_I8,  IMGSTAT_U16, IMGSTAT_I16,
                                          IMGSTAT_F16, IMGSTAT_U32, IMGSTAT_I32, IMGSTAT_F32,
                                          IMGSTAT_U64, IMGSTAT_I64, IMGSTAT_F64};

/* A stretch of one map between two values, for any type. */
static Transfer *stretch_of(const ImagePro *image, int16_t alpha, double black, double white)
{
    ImgstatError err = {0};
    const ImgstatMethod method = {.transform = IMGSTAT_STRETCH};
    const TransferShape shape = shape_of(image, alpha, false);
    uint64_t *const cdf = calloc(65536, sizeof *cdf);
    MapSource source = {
        .n = 2, .min_key = map_key(image->sample, black), .max_key = map_key(image->sample, white)};
    if (sample_is_narrow(image->sample)) {
        for (uint32_t key = 0; key < sample_record_bins(image->sample); key++)
            cdf[key] = key >= source.max_key ? 2 : key >= source.min_key ? 1 : 0;
        source.cdf = cdf;
    }
    Transfer *transfer;
    cr_assert_eq(transfer_create(NULL, &method, &shape, &source, NULL, &transfer, &err), IMGSTAT_OK,
                 "%s", err.message);
    free(cdf);
    return transfer;
}

Test(apply, undefined_masked_and_alpha_keep_their_bits)
{
    uint64_t seed = 17;
    size_t kept = 0, mapped = 0;
    for (size_t t = 0; t < sizeof all_types / sizeof *all_types; t++) {
        const ImgstatSample sample = all_types[t];
        const size_t bytes = imgstat_sample_bytes(sample);
        ImagePro image = image_of(NULL, 64, 8, 2, sample, 0);
        uint8_t mask[64 * 8];
        for (size_t i = 0; i < sizeof mask; i++)
            mask[i] = splitmix64(&seed) % 5 != 0;
        for (uint32_t y = 0; y < 8; y++)
            for (size_t i = 0; i < 128; i++) {
                uint64_t raw = splitmix64(&seed);
                if (i % 9 == 0)
                    raw = sample_raw(sample, map_key(sample, 3.0));
                if (i % 11 == 0 && sample_is_float(sample)) /* NaN, infinity */
                    raw = sample_raw(sample, sample_key_infinity(sample, i % 2)) + (i % 3);
                memcpy((char *)image.host + y * image.pitch + i * bytes, &raw, bytes);
            }
        image.mask = mask;
        image.mask_pitch = 64;
        image.has_nodata = true;
        image.nodata_key = map_key(sample, 3.0);
        Transfer *const transfer = stretch_of(&image, 1, 2.0, 100.0);
        ImagePro out = image_like(&image, sample);
        cr_assert_eq(transfer_apply(transfer, &image, 1, &out, NULL), IMGSTAT_OK);
        for (uint32_t y = 0; y < 8; y++)
            for (size_t i = 0; i < 128; i++) {
                uint64_t before = 0, after = 0;
                memcpy(&before, image_row(&image, y) + i * bytes, bytes);
                memcpy(&after, image_row(&out, y) + i * bytes, bytes);
                const uint64_t key = sample_key(sample, before);
                if (i % 2 == 1 || !mask[y * 64 + i / 2] || key == image.nodata_key ||
                    map_undefined(sample, key)) {
                    cr_assert_eq(before, after, "%s: %llx became %llx", imgstat_sample_name(sample),
                                 (unsigned long long)before, (unsigned long long)after);
                    kept++;
                } else {
                    const uint64_t got = sample_key(sample, after);
                    cr_assert(got >= transfer->range.lo_key && got <= transfer->range.hi_key);
                    cr_assert_neq(got, image.nodata_key, "a valid sample became nodata");
                    mapped++;
                }
            }
        /* in place */
        cr_assert_eq(transfer_apply(transfer, &image, 1, &image, NULL), IMGSTAT_OK);
        cr_assert(image_equal(&image, &out));
        transfer_destroy(transfer);
        imgstat_image_release(&image);
        imgstat_image_release(&out);
    }
    cr_assert_gt(kept, 6000);
    cr_assert_gt(mapped, 2000);
}

/* Blocks of a row have masked samples, none, or no others. */
Test(apply, masked_samples_are_rescaled)
{
    enum { WIDTH = 1700, HEIGHT = 3 };
    static uint8_t mask[WIDTH * HEIGHT];
    static const ImgstatTransform transforms[] = {IMGSTAT_STRETCH, IMGSTAT_EQUALIZE, IMGSTAT_GAMMA};
    uint64_t seed = 23;
    size_t masked = 0;
    Device *device;
    cr_assert_eq(imgstat_device_open("cpu", 1, &device, NULL), IMGSTAT_OK);
    for (size_t i = 0; i < sizeof mask; i++)
        mask[i] = i % WIDTH < 600 ? splitmix64(&seed) % 3 > 0 : i % WIDTH < 1200;
    for (size_t t = 0; t < sizeof all_types / sizeof *all_types; t++)
        for (size_t k = 0; k < 18; k++) {
            const ImgstatSample sample = all_types[t];
            const size_t bytes = imgstat_sample_bytes(sample);
            const uint16_t channels = (uint16_t)(1 + k % 2 * 2);
            const ImgstatMethod method = {.transform = transforms[k / 2 % 3],
                                          .gamma = 0.5,
                                          .channels = k % 4 < 2 ? IMGSTAT_EACH : IMGSTAT_JOINT,
                                          .depth = (ImgstatDepth)(IMGSTAT_DEPTH_KEEP + k / 6)};
            ImagePro image = image_of(NULL, WIDTH, HEIGHT, channels, sample, 0);
            for (uint32_t y = 0; y < HEIGHT; y++)
                for (size_t i = 0; i < (size_t)WIDTH * channels; i++)
                    store_raw(
                        row_of(&image, y) + i * bytes, bytes,
                        sample_raw(sample, map_key(sample, (double)(splitmix64(&seed) % 90))));
            Transfer *transfer;
            ImgstatError err = {0};
            cr_assert_eq(
                imgstat_transfer_create(device, &method, &image, -1, NULL, &transfer, &err),
                IMGSTAT_OK, "%s", err.message);
            const ImgstatSample out = transfer->range.sample;
            const size_t out_bytes = imgstat_sample_bytes(out);
            ImagePro plain = image_like(&image, out), made = image_like(&image, out);
            transfer->holes = (Holes){.fills = 0}; /* nothing is written over masked samples */
            cr_assert_eq(transfer_apply(transfer, &image, -1, &plain, NULL), IMGSTAT_OK);
            image.mask = mask;
            image.mask_pitch = WIDTH;
            cr_assert_eq(transfer_apply(transfer, &image, -1, &made, NULL), IMGSTAT_OK);
            for (uint32_t y = 0; y < HEIGHT; y++)
                for (size_t i = 0; i < (size_t)WIDTH * channels; i++) {
                    const bool left_out = mask[y * WIDTH + i / channels] == 0;
                    const uint64_t expected =
                        left_out ? map_raw(&transfer->rescale, sample, out,
                                           load_raw(image_row(&image, y) + i * bytes, bytes))
                                 : load_raw(image_row(&plain, y) + i * out_bytes, out_bytes);
                    masked += left_out;
                    cr_assert_eq(load_raw(image_row(&made, y) + i * out_bytes, out_bytes), expected,
                                 "%s, %zu: %zu,%u", imgstat_sample_name(sample), k, i, y);
                }
            if (sample == out) {
                cr_assert_eq(transfer_apply(transfer, &image, -1, &image, NULL), IMGSTAT_OK);
                cr_assert(image_equal(&image, &made), "in place");
            }
            image.mask = NULL;
            transfer_destroy(transfer);
            imgstat_image_release(&image);
            imgstat_image_release(&plain);
            imgstat_image_release(&made);
        }
    imgstat_device_close(device);
    cr_assert_gt(masked, 500000);
}

Test(apply, bands_equal_the_whole)
{
    ImagePro image = pattern_image("slope", 53, 31, IMGSTAT_U16);
    Transfer *const transfer = stretch_of(&image, -1, 300, 50000);
    ImagePro whole = image_like(&image, IMGSTAT_U16), banded = image_like(&image, IMGSTAT_U16);
    cr_assert_eq(transfer_apply(transfer, &image, -1, &whole, NULL), IMGSTAT_OK);
    for (uint32_t y = 0; y < 31; y += 4) {
        const ImagePro from = image_band(&image, y, 31 - y < 4 ? 31 - y : 4);
        ImagePro to = image_band(&banded, y, from.height);
        cr_assert_eq(transfer_apply(transfer, &from, -1, &to, NULL), IMGSTAT_OK);
    }
    cr_assert(image_equal(&whole, &banded));
    transfer_destroy(transfer);
    imgstat_image_release(&image);
    imgstat_image_release(&whole);
    imgstat_image_release(&banded);
}

Test(apply, floats_by_the_formula)
{
    const float samples[6] = {-1.5f, 0.0f, 2.0f, 3.25f, 10.0f, 1e30f};
    ImagePro image = image_of(samples, 6, 1, 1, IMGSTAT_F32, 0);
    Transfer *const transfer = stretch_of(&image, -1, -1.5, 10.0);
    ImagePro out = image_like(&image, IMGSTAT_F32);
    cr_assert_eq(transfer_apply(transfer, &image, -1, &out, NULL), IMGSTAT_OK);
    const float *const got = out.host;
    for (size_t i = 0; i < 5; i++)
        cr_expect_eq(got[i], (float)((samples[i] + 1.5) / 11.5));
    cr_expect_eq(got[5], 1.0f);
    transfer_destroy(transfer);
    imgstat_image_release(&image);
    imgstat_image_release(&out);
}

Test(apply, luma_of_gray_is_gray)
{
    size_t compared = 0;
    for (uint32_t v = 0; v < 65536; v++, compared++)
        cr_assert_eq(luma_key(v, v, v), v);
    cr_assert_eq(LUMA_RED + LUMA_GREEN + LUMA_BLUE, 65536);
    cr_assert_eq(luma_key(255, 0, 0), 54); /* 0.2126 * 255 = 54.2 */
    cr_assert_eq(luma_key(0, 255, 0), 182);
    cr_assert_eq(luma_key(0, 0, 255), 18);
    cr_assert_float_eq(luma_value(0.5, 0.5, 0.5), 0.5, 0);
    cr_assert_eq(compared, 65536);
}

/* Hue and saturation of HSV, before and after. */
static void expect_hue(const uint32_t a[3], const uint32_t b[3], double tolerance)
{
    const double max_a = fmax(a[0], fmax(a[1], a[2])), max_b = fmax(b[0], fmax(b[1], b[2]));
    if (max_b < 1)
        return;
    for (int c = 0; c < 3; c++)
        cr_assert_float_eq(a[c] / max_a, b[c] / max_b, tolerance / max_b);
}

Test(apply, luma_scaling_keeps_hue_and_saturation)
{
    uint64_t seed = 31;
    size_t reached = 0;
    for (int i = 0; i < 100000; i++) {
        uint32_t from[3], out[3];
        for (int c = 0; c < 3; c++)
            from[c] = (uint32_t)(splitmix64(&seed) >> 48);
        const uint32_t to = (uint32_t)(splitmix64(&seed) >> 48);
        luma_scale(from, to, 65535, out);
        cr_assert(out[0] <= 65535 && out[1] <= 65535 && out[2] <= 65535);
        expect_hue(from, out, 1.01);
        const uint32_t largest = out[0] > out[1] ? out[0] : out[1];
        if ((largest > out[2] ? largest : out[2]) <
            65535) { /* not at the edge of the gamut: luma as asked for */
            cr_assert_leq(labs((long)luma_key(out[0], out[1], out[2]) - (long)to), 1);
            reached++;
        }
    }
    cr_assert_gt(reached, 30000);
    const uint32_t black[3] = {0, 0, 0};
    uint32_t out[3];
    luma_scale(black, 40, 255, out);
    cr_assert(out[0] == 40 && out[1] == 40 && out[2] == 40);
}

Test(apply, gray_as_rgb_is_equalized_like_gray)
{
    uint8_t rgb[64 * 3];
    for (size_t i = 0; i < 64; i++)
        rgb[3 * i] = rgb[3 * i + 1] = rgb[3 * i + 2] = example_in[i];
    ImagePro image = image_of(rgb, 8, 8, 3, IMGSTAT_U8, 8);
    const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE}; /* luma by default */
    ImagePro out = transformed(&method, &image, -1, true);
    for (size_t i = 0; i < 64; i++)
        for (size_t c = 0; c < 3; c++)
            cr_assert_eq(image_row(&out, i / 8)[i % 8 * 3 + c], example_out[i]);
    imgstat_image_release(&out);
    imgstat_image_release(&image);
}

/* Equalized luma by the definition: ranks counted one by one, one factor a pixel. */
Test(apply, luma_by_the_definition)
{
    uint64_t seed = 12;
    uint16_t rgba[60][4];
    double luma[60];
    for (size_t i = 0; i < 60; i++) {
        for (size_t c = 0; c < 4; c++)
            rgba[i][c] = (uint16_t)(splitmix64(&seed) % 5000 + 1);
        luma[i] = (13933.0 * rgba[i][0] + 46871.0 * rgba[i][1] + 4732.0 * rgba[i][2]) / 65536;
    }
    ImagePro image = image_of(rgba, 60, 1, 4, IMGSTAT_U16, 16);
    const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE};
    ImagePro out = transformed(&method, &image, 3, true);
    const uint16_t(*const got)[4] = out.host;
    size_t lowest = 60;
    for (size_t i = 0; i < 60; i++) {
        size_t at_most = 0;
        for (size_t k = 0; k < 60; k++)
            at_most += floor(luma[k] + 0.5) <= floor(luma[i] + 0.5);
        lowest = at_most < lowest ? at_most : lowest;
    }
    for (size_t i = 0; i < 60; i++) {
        size_t at_most = 0;
        for (size_t k = 0; k < 60; k++)
            at_most += floor(luma[k] + 0.5) <= floor(luma[i] + 0.5);
        const double wanted = rint(65535.0 * (double)(at_most - lowest) / (double)(60 - lowest));
        const double largest = fmax(rgba[i][0], fmax(rgba[i][1], rgba[i][2]));
        const double factor = fmin(wanted / luma[i], 65535 / largest);
        for (size_t c = 0; c < 3; c++)
            cr_expect_float_eq(got[i][c], rgba[i][c] * factor, 0.5001, "pixel %zu", i);
        cr_expect_eq(got[i][3], rgba[i][3]);
    }
    imgstat_image_release(&out);
    imgstat_image_release(&image);
}

Test(apply, luma_leaves_undefined_pixels)
{
    const uint8_t rgb[4][3] = {{10, 20, 30}, {0, 50, 60}, {90, 80, 70}, {200, 100, 50}};
    ImagePro image = image_of(rgb, 4, 1, 3, IMGSTAT_U8, 8);
    image.has_nodata = true; /* 0: the second pixel is undefined */
    const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE};
    ImagePro out = transformed(&method, &image, -1, true);
    cr_expect_arr_eq(image_row(&out, 0) + 3, rgb[1], 3);
    for (size_t i = 0; i < 12; i++)
        cr_expect(i / 3 == 1 || image_row(&out, 0)[i] > 0, "a valid sample became nodata");
    imgstat_image_release(&out);
    imgstat_image_release(&image);
}

Test(apply, what_does_not_fit_is_refused)
{
    ImagePro image = pattern_image("noise", 5, 5, IMGSTAT_U8);
    Transfer *const transfer = stretch_of(&image, -1, 0, 99);
    ImagePro wide = image_like(&image, IMGSTAT_U16), small = image_of(NULL, 5, 4, 1, IMGSTAT_U8, 8);
    ImgstatError err;
    cr_expect_eq(transfer_apply(transfer, &wide, -1, &wide, &err), IMGSTAT_ERR_ARG);
    cr_expect_eq(transfer_apply(transfer, &image, -1, &wide, &err), IMGSTAT_ERR_ARG);
    cr_expect_eq(transfer_apply(transfer, &image, -1, &small, &err), IMGSTAT_ERR_ARG);
    cr_expect_eq(transfer_apply(transfer, &image, 1, &image, &err), IMGSTAT_ERR_ARG);
    transfer_destroy(transfer);
    imgstat_image_release(&image);
    imgstat_image_release(&wide);
    imgstat_image_release(&small);
}

enum { WIDTH = 61, GAP = 5 };

static ImagePro gapped(void *memory, uint32_t height, ImgstatSample sample)
{
    ImagePro image;
    ImgstatError err;
    const size_t pitch = (size_t)WIDTH * 3 * imgstat_sample_bytes(sample) + GAP;
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, memory, pitch, WIDTH, height, 3, sample, 0,
                                    NULL, NULL, &image, &err),
                 IMGSTAT_OK);
    return image;
}

/* Heights around the rows that a thread takes at least; gaps between rows stay. */
Test(apply, by_slices)
{
    static const uint32_t heights[] = {1, 17, 179, 180, 181, 513};
    ImgstatError err;
    Device *device;
    cr_assert_eq(cpu_device_ops.open(0, 3, &device, &err), IMGSTAT_OK);
    for (size_t i = 0; i < sizeof heights / sizeof *heights; i++) {
        const size_t in_bytes = ((size_t)WIDTH * 3 + GAP) * heights[i];
        const size_t out_bytes = ((size_t)WIDTH * 3 * 2 + GAP) * heights[i];
        unsigned char *const in = malloc(in_bytes), *const one = malloc(out_bytes),
                             *const several = malloc(out_bytes);
        cr_assert(in && one && several);
        for (size_t k = 0; k < in_bytes; k++)
            in[k] = (unsigned char)(k * k % 251);
        memset(one, 0xA5, out_bytes);
        memset(several, 0xA5, out_bytes);
        const ImagePro from = gapped(in, heights[i], IMGSTAT_U8);
        ImagePro to_one = gapped(one, heights[i], IMGSTAT_U16);
        ImagePro to_several = gapped(several, heights[i], IMGSTAT_U16);
        const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE, .depth = IMGSTAT_DEPTH_16};
        ImgstatTransfer *transfer;
        cr_assert_eq(imgstat_transfer_create(device, &method, &from, -1, NULL, &transfer, &err),
                     IMGSTAT_OK, "%s", err.message);
        cr_assert_eq(transfer_apply(transfer, &from, -1, &to_one, &err), IMGSTAT_OK);
        cr_assert_eq(device->ops->apply(device, transfer, &from, -1, &to_several, &err),
                     IMGSTAT_OK);
        cr_assert_eq(memcmp(one, several, out_bytes), 0, "%u rows", heights[i]);

        ImagePro narrow = to_several; /* a type that the transfer does not make */
        narrow.sample = IMGSTAT_U8;
        cr_assert_eq(device->ops->apply(device, transfer, &from, -1, &narrow, &err),
                     IMGSTAT_ERR_ARG);
        imgstat_transfer_destroy(transfer);
        free(in);
        free(one);
        free(several);
    }
    cpu_device_ops.close(device);
}
