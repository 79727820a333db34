/* SPDX-License-Identifier: MIT */
/* test_image_holes.c: masked and undefined samples of images in memory become what those of files
 * become, for every type and depth. Before, masked samples were scaled as alpha is, and nodata that
 * the output could not hold became the nearest value, which other samples could have as well. */
#include "base/pixel.h"
#include "imgstat_async.h"
#include "support.h"
#include "transfer/map.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

enum { PIXELS = 9, MASKED = 2, NODATA = 4, NONE = 6, EXTREME = 8 };

static ImgstatDevice *device;

static void open_device(void)
{
    cr_assert_eq(imgstat_device_open("cpu", 2, &device, NULL), IMGSTAT_OK);
}

static void close_device(void)
{
    imgstat_device_close(device);
}

TestSuite(image_holes, .init = open_device, .fini = close_device);

static const uint8_t mask[PIXELS] = {1, 1, 0, 1, 1, 1, 1, 1, 1};

static double value_at(const ImagePro *image, size_t pixel, size_t channel)
{
    const size_t bytes = imgstat_sample_bytes(image->sample);
    const unsigned char *const at = image_row(image, 0);
    return sample_double(
        image->sample,
        sample_key(image->sample,
                   load_raw(at + (pixel * image->channels + channel) * bytes, bytes)));
}

/* A gray and an alpha channel of one row. nodata: NULL, or the value of pixel NODATA. */
static ImagePro make(ImgstatSample sample, const double *nodata, bool masked)
{
    static const double values[PIXELS] = {20, 30, 60, 50, 33, 60, 70, 80, 90};
    ImagePro image;
    const size_t bytes = imgstat_sample_bytes(sample);
    cr_assert_eq(imgstat_image_create(PIXELS, 1, 2, sample, 0, &image, NULL), IMGSTAT_OK);
    unsigned char *const to = row_of(&image, 0);
    for (size_t i = 0; i < PIXELS; i++) {
        uint64_t key = map_key(sample, i == NODATA && nodata ? *nodata : values[i]);
        if (sample_is_float(sample) && i == NONE)
            key = sample_key_nan(sample);
        if (sample_is_float(sample) && i == EXTREME)
            key = sample_key_infinity(sample, true);
        store_raw(to + 2 * i * bytes, bytes, sample_raw(sample, key));
        store_raw(to + (2 * i + 1) * bytes, bytes, sample_raw(sample, map_key(sample, 1.0)));
    }
    if (nodata)
        imgstat_image_set_nodata(&image, (ImgstatValue){.sample = IMGSTAT_F64, .as.f = *nodata});
    cr_assert_eq(image.has_nodata, nodata != NULL);
    if (masked) {
        image.mask = mask;
        image.mask_pitch = PIXELS;
    }
    return image;
}

/* Whether samples of the output can hold a value of this test. */
static bool is_held(ImgstatSample sample, double value)
{
    switch (sample) {
    case IMGSTAT_U8:
        return value >= 0 && value <= 255;
    case IMGSTAT_U16:
        return value >= 0 && value <= 65535;
    default:
        return true; /* floats: the nearest; others: the type that it comes from */
    }
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b;
}

static void check(const ImagePro *from, const ImagePro *to, const double *nodata, const char *what)
{
    const bool stays = from->sample == to->sample;
    const bool held = nodata && (stays || is_held(to->sample, *nodata));
    const double none = sample_is_float(to->sample) ? (double)NAN : 0.0;
    const double kept = nodata && to->sample == IMGSTAT_F32 ? (double)(float)*nodata
                        : nodata                            ? *nodata
                                                            : 0.0;
    const double hole = held ? kept : none; /* of nodata */
    char text[160];
    snprintf(text, sizeof text, "%s: %s to %s, nodata %g", what, imgstat_sample_name(from->sample),
             imgstat_sample_name(to->sample), nodata ? *nodata : -1.0);
    for (size_t i = 0; i < PIXELS; i++) {
        const double was = value_at(from, i, 0), is = value_at(to, i, 0);
        const bool masked = from->mask && i == MASKED;
        if (masked)
            cr_expect(same(is, stays ? was : nodata ? hole : 0.0), "%s: masked is %g", text, is);
        else if (nodata && i == NODATA)
            cr_expect(same(is, hole), "%s: nodata is %g", text, is);
        else if (isnan(was))
            cr_expect(same(is, none), "%s: NaN is %g", text, is);
        else if (nodata)
            cr_expect(!same(is, hole), "%s: pixel %zu became nodata", text, i);
        const double alpha = value_at(to, i, 1);
        cr_expect(same(alpha, value_at(to, 0, 1)), "%s: alpha %zu is %g", text, i, alpha);
    }
}

/* The transfer is made for another image, which has no nodata value. */
static void apply_elsewhere(const ImgstatMethod *method, const ImagePro *image, ImagePro *to)
{
    ImagePro plain = make(image->sample, NULL, false);
    ImgstatTransfer *transfer;
    uint8_t bits;
    cr_assert_eq(imgstat_transfer_create(device, method, &plain, 1, NULL, &transfer, NULL),
                 IMGSTAT_OK);
    const ImgstatSample sample = imgstat_transfer_output(transfer, &bits);
    cr_assert_eq(imgstat_image_create(PIXELS, 1, 2, sample, bits, to, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_transfer_apply(device, transfer, image, 1, to, NULL), IMGSTAT_OK);
    imgstat_transfer_destroy(transfer);
    imgstat_image_release(&plain);
}

/* False: there is no chain for these. */
static bool chain(const ImgstatMethod *method, const ImagePro *image, ImagePro *to)
{
    ImgstatChain *made;
    uint8_t bits;
    if (imgstat_chain_create(device, method, image, 1, &made, NULL) != IMGSTAT_OK)
        return false;
    const ImgstatSample sample = imgstat_chain_output(made, &bits);
    cr_assert_eq(imgstat_image_create(PIXELS, 1, 2, sample, bits, to, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_transform_async(made, image, to, NULL, NULL), IMGSTAT_OK);
    imgstat_chain_destroy(made);
    return true;
}

static size_t check_all(ImgstatSample sample, ImgstatDepth depth, const double *nodata, bool masked)
{
    static const ImgstatTransform transforms[] = {IMGSTAT_STRETCH, IMGSTAT_EQUALIZE, IMGSTAT_GAMMA,
                                                  IMGSTAT_CLAHE};
    size_t checked = 0;
    ImagePro image = make(sample, nodata, masked);
    for (size_t t = 0; t < sizeof transforms / sizeof *transforms; t++) {
        const ImgstatMethod method = {
            .transform = transforms[t], .depth = depth, .gamma = 2.0, .channels = IMGSTAT_EACH};
        const bool clahe = transforms[t] == IMGSTAT_CLAHE;
        ImagePro to;
        if (clahe && (sample_is_float(sample) || sample_bits(sample) > 16))
            continue;
        if (clahe && depth == IMGSTAT_DEPTH_FLOAT)
            continue;
        cr_assert_eq(imgstat_image_transform(device, &method, &image, 1, NULL, &to, NULL),
                     IMGSTAT_OK);
        check(&image, &to, nodata, "transform");
        if (nodata && (sample == to.sample || is_held(to.sample, *nodata)))
            cr_expect(to.has_nodata &&
                      (to.sample == IMGSTAT_F32
                           ? sample_double(to.sample, to.nodata_key) == (double)(float)*nodata
                           : sample_double(to.sample, to.nodata_key) == *nodata));
        else if (nodata && !sample_is_float(to.sample))
            cr_expect(to.has_nodata && to.nodata_key == sample_key(to.sample, 0));
        imgstat_image_release(&to);
        checked++;
        if (clahe)
            continue;
        apply_elsewhere(&method, &image, &to);
        check(&image, &to, nodata, "apply");
        imgstat_image_release(&to);
        if (chain(&method, &image, &to)) {
            check(&image, &to, nodata, "chain");
            imgstat_image_release(&to);
            checked++;
        }
    }
    imgstat_image_release(&image);
    return checked;
}

Test(image_holes, every_pair_of_types)
{
    static const double held = 33, negative = -9, large = 16777217.0, middle = 300;
    size_t checked = 0;
    for (ImgstatSample sample = IMGSTAT_U8; sample <= IMGSTAT_F64; sample++)
        for (ImgstatDepth depth = IMGSTAT_DEPTH_KEEP; depth <= IMGSTAT_DEPTH_FLOAT; depth++)
            for (int masked = 0; masked < 2; masked++) {
                const bool wide = sample_bits(sample) > 16;
                checked += check_all(sample, depth, NULL, masked);
                checked += check_all(sample, depth, &held, masked);
                if (sample_is_signed(sample) || sample_is_float(sample))
                    checked += check_all(sample, depth, &negative, masked);
                if (sample_bits(sample) > 8)
                    checked += check_all(sample, depth, &middle, masked);
                if (wide && sample != IMGSTAT_F32)
                    checked += check_all(sample, depth, &large, masked);
            }
    cr_assert_geq(checked, 1000, "%zu", checked);
}

/* In place where the type stays; masked samples take the other depth's hole. */
Test(image_holes, of_another_depth_in_place)
{
    uint8_t pixels[4] = {3, 15, 7, 9};
    static const uint8_t valid[4] = {1, 1, 0, 1}, expected[4] = {0, 255, 0, 128};
    const ImgstatMethod method = {.transform = IMGSTAT_STRETCH, .depth = IMGSTAT_DEPTH_8};
    ImagePro image;
    ImgstatTransfer *transfer;
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, pixels, 0, 4, 1, 1, IMGSTAT_U8, 4, NULL, NULL,
                                    &image, NULL),
                 IMGSTAT_OK);
    image.mask = valid;
    image.mask_pitch = 4;
    cr_assert_eq(imgstat_transfer_create(device, &method, &image, -1, NULL, &transfer, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(imgstat_transfer_apply(device, transfer, &image, -1, &image, NULL), IMGSTAT_OK);
    cr_expect_arr_eq(pixels, expected, 4);
    imgstat_transfer_destroy(transfer);
}
