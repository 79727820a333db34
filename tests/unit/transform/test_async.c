/* SPDX-License-Identifier: MIT */
/* test_async.c: transforming in the order of a stream, on the processor: the same bytes, and the
 * same refusals as elsewhere. tests/kernels and docs/examples have the GPU. */
#include "helper_measure.h"
#include "imgstat_async.h"

#include <criterion/criterion.h>
#include <string.h>

static ImgstatDevice *device;

static void open_device(void)
{
    device = measure_device(2);
}

static void close_device(void)
{
    imgstat_device_close(device);
}

TestSuite(chain, .init = open_device, .fini = close_device);

Test(chain, equalizes_as_often_as_wanted)
{
    /* 16 samples: CDF 4, 8, 12, 16; round((CDF - 4) / 12 * 255). */
    uint8_t pixels[16] = {9, 9, 9, 9, 20, 20, 20, 20, 21, 21, 21, 21, 200, 200, 200, 200}, out[16];
    static const uint8_t levels[4] = {0, 85, 170, 255};
    const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE};
    const ImagePro from = measure_wrap(pixels, 4, 4, 1, IMGSTAT_U8);
    ImagePro to = measure_wrap(out, 4, 4, 1, IMGSTAT_U8);
    ImgstatChain *chain;
    uint8_t bits;
    cr_assert_eq(imgstat_chain_create(device, &method, &from, -1, &chain, NULL), IMGSTAT_OK);
    cr_expect_eq(imgstat_chain_output(chain, &bits), IMGSTAT_U8);
    cr_expect_eq(bits, 8);
    for (int turn = 0; turn < 2; turn++) {
        memset(out, 77, sizeof out);
        cr_assert_eq(imgstat_transform_async(chain, &from, &to, NULL, NULL), IMGSTAT_OK);
        for (int i = 0; i < 16; i++)
            cr_expect_eq(out[i], levels[i / 4], "turn %d, pixel %d is %d", turn, i, out[i]);
        for (int i = 0; i < 16; i++) /* other values in the same order */
            pixels[i] = (uint8_t)(pixels[i] + 3);
    }
    imgstat_chain_destroy(chain);
}

Test(chain, makes_other_types_and_leaves_alpha)
{
    uint8_t pixels[8] = {10, 1, 20, 2, 30, 3, 50, 4};
    uint16_t out[8];
    static const uint16_t expected[8] = {0, 257, 16384, 514, 32768, 771, 65535, 1028};
    const ImgstatMethod method = {.transform = IMGSTAT_STRETCH, .depth = IMGSTAT_DEPTH_16};
    const ImagePro from = measure_wrap(pixels, 4, 1, 2, IMGSTAT_U8);
    ImagePro to = measure_wrap(out, 4, 1, 2, IMGSTAT_U16);
    ImgstatChain *chain;
    cr_assert_eq(imgstat_chain_create(device, &method, &from, 1, &chain, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_transform_async(chain, &from, &to, NULL, NULL), IMGSTAT_OK);
    for (int i = 0; i < 8; i++)
        cr_expect_eq(out[i], expected[i], "sample %d is %d", i, out[i]);
    imgstat_chain_destroy(chain);
}

/* Transformed in a stream, and at once: the same bytes. */
static void same_as_at_once(const ImgstatMethod *method, const ImagePro *from, int16_t alpha)
{
    uint16_t out[16] = {0};
    ImagePro to = measure_wrap(out, 4, 1, 4, from->sample == IMGSTAT_U8 ? IMGSTAT_U8 : IMGSTAT_U16),
             image;
    ImgstatChain *chain;
    memset(out, 77, sizeof out);
    cr_assert_eq(imgstat_chain_create(device, method, from, alpha, &chain, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_transform_async(chain, from, &to, NULL, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_image_transform(device, method, from, alpha, NULL, &image, NULL),
                 IMGSTAT_OK);
    cr_expect_eq(image.sample, to.sample);
    cr_expect_eq(memcmp(image.host, out, 16 * imgstat_sample_bytes(to.sample)), 0,
                 "transform %d, channels %d, depth %d, %u bits", (int)method->transform,
                 (int)method->channels, (int)method->depth, from->bits);
    imgstat_image_release(&image);
    imgstat_chain_destroy(chain);
}

/* Was refused: 12 bits in 16 kept their depth. */
Test(chain, changes_the_depth_within_a_type)
{
    static const ImgstatTransform transforms[] = {IMGSTAT_STRETCH, IMGSTAT_PERCENTILE,
                                                  IMGSTAT_EQUALIZE};
    static const ImgstatChannels modes[] = {IMGSTAT_EACH, IMGSTAT_JOINT, IMGSTAT_LUMA};
    uint16_t words[2][16];
    uint8_t bytes[2][16];
    for (int i = 0; i < 16; i++) { /* varied, and without contrast */
        words[0][i] = (uint16_t)(i * 273);
        words[1][i] = 1000;
        bytes[0][i] = (uint8_t)i;
        bytes[1][i] = 5;
    }
    for (size_t t = 0; t < 3; t++)
        for (size_t m = 0; m < 3; m++)
            for (int k = 0; k < 4; k++) {
                ImgstatMethod method = {.transform = transforms[t], .channels = modes[m]};
                ImagePro twelve = measure_wrap(words[k / 2], 4, 1, 4, IMGSTAT_U16);
                ImagePro four = measure_wrap(bytes[k / 2], 4, 1, 4, IMGSTAT_U8);
                twelve.bits = 12;
                four.bits = 4;
                method.depth = IMGSTAT_DEPTH_16;
                same_as_at_once(&method, &twelve, 3);
                method.depth = IMGSTAT_DEPTH_8;
                same_as_at_once(&method, &four, 3);
                method.depth = IMGSTAT_DEPTH_KEEP;
                same_as_at_once(&method, k % 2 ? &twelve : &four, 3);
            }
}

Test(chain, scales_what_has_no_contrast)
{
    uint16_t pixels[4] = {1000, 1000, 1000, 1000}, out[4];
    const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE, .depth = IMGSTAT_DEPTH_16};
    ImagePro from = measure_wrap(pixels, 4, 1, 1, IMGSTAT_U16),
             to = measure_wrap(out, 4, 1, 1, IMGSTAT_U16);
    ImgstatChain *chain;
    uint8_t bits;
    from.bits = 12;
    cr_assert_eq(imgstat_chain_create(device, &method, &from, -1, &chain, NULL), IMGSTAT_OK);
    cr_expect_eq(imgstat_chain_output(chain, &bits), IMGSTAT_U16);
    cr_expect_eq(bits, 16);
    cr_assert_eq(imgstat_transform_async(chain, &from, &to, NULL, NULL), IMGSTAT_OK);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(out[i], 16004, "%u", out[i]); /* 1000 * 65535 / 4095 is 16003.66 */
    imgstat_chain_destroy(chain);
}

Test(chain, refuses_what_counts_do_not_tell)
{
    static const ImgstatTransform others[] = {IMGSTAT_MEANSTD, IMGSTAT_GAMMA, IMGSTAT_MATCH,
                                              IMGSTAT_CLAHE};
    float wide[4] = {0.0f};
    uint8_t narrow[4] = {0};
    ImgstatChain *chain;
    const ImagePro floats = measure_wrap(wide, 2, 2, 1, IMGSTAT_F32);
    const ImagePro bytes = measure_wrap(narrow, 2, 2, 1, IMGSTAT_U8);
    const ImgstatMethod equalize = {.transform = IMGSTAT_EQUALIZE};
    cr_expect_eq(imgstat_chain_create(device, &equalize, &floats, -1, &chain, NULL),
                 IMGSTAT_ERR_UNSUPPORTED);
    cr_expect_null(chain);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const ImgstatMethod method = {
            .transform = others[i], .gamma = 2.0, .mean = 100.0, .stddev = 10.0};
        cr_expect_eq(imgstat_chain_create(device, &method, &bytes, -1, &chain, NULL),
                     IMGSTAT_ERR_UNSUPPORTED, "transform %d", (int)others[i]);
    }
    const ImgstatMethod fixed = {.has_in_range = true, .in_lo = 1, .in_hi = 9};
    cr_expect_eq(imgstat_chain_create(device, &fixed, &bytes, -1, &chain, NULL),
                 IMGSTAT_ERR_UNSUPPORTED);
    ImgstatError why = {0};
    const ImgstatMethod part = {.transform = IMGSTAT_EQUALIZE, .region = {0, 0, 1, 1}};
    cr_expect_eq(imgstat_chain_create(device, &part, &bytes, -1, &chain, &why),
                 IMGSTAT_ERR_UNSUPPORTED);
    cr_expect(strstr(why.message, "region"), "%s", why.message);
    cr_expect_eq(imgstat_chain_create(device, &equalize, &bytes, 1, &chain, NULL), IMGSTAT_ERR_ARG);
    imgstat_chain_destroy(NULL);
}

Test(chain, refuses_other_images)
{
    uint8_t pixels[8] = {0};
    const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE};
    const ImagePro like = measure_wrap(pixels, 2, 2, 1, IMGSTAT_U8);
    ImagePro other = measure_wrap(pixels, 2, 2, 2, IMGSTAT_U8),
             small = measure_wrap(pixels, 1, 2, 1, IMGSTAT_U8);
    ImgstatChain *chain;
    cr_assert_eq(imgstat_chain_create(device, &method, &like, -1, &chain, NULL), IMGSTAT_OK);
    cr_expect_eq(imgstat_transform_async(chain, &other, &other, NULL, NULL), IMGSTAT_ERR_ARG);
    cr_expect_eq(imgstat_transform_async(chain, &like, &small, NULL, NULL), IMGSTAT_ERR_ARG);
    ImagePro fewer = like, to = like;
    fewer.bits = 4; /* was taken, for what the device made of it */
    cr_expect_eq(imgstat_transform_async(chain, &fewer, &to, NULL, NULL), IMGSTAT_ERR_ARG);
    imgstat_chain_destroy(chain);
}

/* Images lie `step` bytes apart, with something between them that stays. */
Test(chain, maps_a_series)
{
    enum { N = 5, SIZE = 12, STEP = 16 };
    static const ImgstatTransform transforms[] = {IMGSTAT_EQUALIZE, IMGSTAT_STRETCH};
    uint8_t pixels[N * STEP], all[N * STEP], one[SIZE];
    for (int i = 0; i < N * STEP; i++)
        pixels[i] = (uint8_t)(i * i * 7 % 251);
    for (size_t t = 0; t < 2; t++) {
        const ImgstatMethod method = {.transform = transforms[t]};
        const ImagePro first = measure_wrap(pixels, 4, 3, 1, IMGSTAT_U8);
        ImagePro to = measure_wrap(all, 4, 3, 1, IMGSTAT_U8),
                 alone = measure_wrap(one, 4, 3, 1, IMGSTAT_U8);
        ImgstatChain *chain;
        cr_assert_eq(imgstat_chain_create(device, &method, &first, -1, &chain, NULL), IMGSTAT_OK);
        memset(all, 77, sizeof all);
        cr_assert_eq(imgstat_transform_series_async(chain, &first, STEP, &to, STEP, N, NULL, NULL),
                     IMGSTAT_OK);
        for (int i = 0; i < N; i++) {
            const ImagePro from = measure_wrap(pixels + i * STEP, 4, 3, 1, IMGSTAT_U8);
            cr_assert_eq(imgstat_image_transform_to(device, &method, &from, -1, NULL, &alone, NULL),
                         IMGSTAT_OK);
            cr_expect_arr_eq(all + i * STEP, one, SIZE, "image %d", i);
            for (int k = SIZE; k < STEP; k++)
                cr_expect_eq(all[i * STEP + k], 77);
        }
        cr_expect_eq(imgstat_transform_series_async(chain, &first, STEP, &to, 11, N, NULL, NULL),
                     IMGSTAT_ERR_ARG); /* they would overlap */
        ImagePro masked = first;
        masked.mask = pixels;
        masked.mask_pitch = 4;
        cr_expect_eq(imgstat_transform_series_async(chain, &masked, STEP, &to, STEP, N, NULL, NULL),
                     IMGSTAT_ERR_ARG);
        imgstat_chain_destroy(chain);
    }
}

static void same_statistics(const ImgstatRecord *a, const ImgstatRecord *b)
{
    ImgstatStats left, right;
    imgstat_record_stats(a, 0, &left);
    imgstat_record_stats(b, 0, &right);
    cr_expect_eq(left.count, right.count);
    cr_expect_eq(left.nodata, right.nodata);
    cr_expect_eq(left.sum, right.sum);
    cr_expect_eq(left.stddev, right.stddev);
    cr_expect_eq(left.max_at, right.max_at);
}

Test(chain, measures_a_series)
{
    enum { N = 5, SIZE = 12, STEP = 10 }; /* samples; images may overlap */
    uint16_t pixels[N * SIZE];
    ImgstatPending *pending;
    for (int i = 0; i < N * SIZE; i++)
        pixels[i] = (uint16_t)(i * i * 7 % 251);
    ImagePro first = measure_wrap(pixels, 4, 3, 1, IMGSTAT_U16);
    imgstat_image_set_nodata(&first, (ImgstatValue){IMGSTAT_U16, {.u = 7}});
    cr_assert_eq(imgstat_pending_create_series(device, IMGSTAT_U16, 1, N, &pending, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(imgstat_measure_series_async(pending, &first, N, STEP * 2, NULL, NULL),
                 IMGSTAT_OK);
    for (size_t i = 0; i < N; i++) {
        ImgstatRecord *found, *alone;
        ImagePro image = measure_wrap(pixels + i * STEP, 4, 3, 1, IMGSTAT_U16);
        imgstat_image_set_nodata(&image, (ImgstatValue){IMGSTAT_U16, {.u = 7}});
        cr_assert_eq(imgstat_pending_record_of(pending, i, NULL, NULL, &found, NULL), IMGSTAT_OK);
        cr_assert_eq(imgstat_measure_image(device, &image, NULL, &alone, NULL), IMGSTAT_OK);
        same_statistics(found, alone);
        imgstat_record_destroy(found);
        imgstat_record_destroy(alone);
    }
    ImgstatRecord *none;
    cr_expect_eq(imgstat_pending_record_of(pending, N, NULL, NULL, &none, NULL), IMGSTAT_ERR_ARG);
    cr_expect_eq(imgstat_measure_series_async(pending, &first, N + 1, STEP * 2, NULL, NULL),
                 IMGSTAT_ERR_ARG);
    cr_expect_eq(imgstat_measure_series_async(pending, &first, N, 3, NULL, NULL), IMGSTAT_ERR_ARG);
    imgstat_pending_destroy(pending);
    cr_expect_eq(imgstat_pending_create_series(device, IMGSTAT_U16, 1, 0, &pending, NULL),
                 IMGSTAT_ERR_ARG);
}
