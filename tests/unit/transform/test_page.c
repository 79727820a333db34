/* SPDX-License-Identifier: MIT */
/* test_page.c: what a transform leaves as it is becomes the same in every channel mode, and by
 * adaptive equalization: alpha, masked and undefined samples, images without contrast. Before, luma
 * and adaptive equalization copied it where only the depth within a type changed, and luma knew
 * nothing of the output range. */
#include "helper_transform.h"
#include "support.h"
#include "transfer/json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static ImgstatDevice *device;

static void open_device(void)
{
    cr_assert_eq(imgstat_device_open("cpu", 1, &device, NULL), IMGSTAT_OK);
}

static void close_device(void)
{
    imgstat_device_close(device);
}

TestSuite(passthrough, .init = open_device, .fini = close_device);

static ImagePro made(const ImgstatMethod *method, const ImagePro *image, int16_t alpha)
{
    ImagePro out;
    ImgstatError err;
    cr_assert_eq(imgstat_image_transform(device, method, image, alpha, NULL, &out, &err),
                 IMGSTAT_OK, "%s", err.message);
    return out;
}

static uint64_t raw_at(const ImagePro *image, size_t pixel, size_t channel)
{
    const size_t bytes = imgstat_sample_bytes(image->sample);
    const size_t x = pixel % image->width, y = pixel / image->width;
    uint64_t raw = 0;
    memcpy(&raw, image_row(image, y) + (x * image->channels + channel) * bytes, bytes);
    return raw;
}

static void set_raw(ImagePro *image, size_t pixel, size_t channel, uint64_t raw)
{
    const size_t bytes = imgstat_sample_bytes(image->sample);
    const size_t x = pixel % image->width, y = pixel / image->width;
    memcpy(row_of(image, y) + (x * image->channels + channel) * bytes, &raw, bytes);
}

/* v of `full` in 65535, half to even. */
static uint16_t scaled(uint32_t v, uint32_t full)
{
    return (uint16_t)ratio_even((uint64_t)v, 65535, full);
}

Test(passthrough, alpha_and_constant_colours_of_other_depth)
{
    static const ImgstatTransform methods[] = {IMGSTAT_EQUALIZE, IMGSTAT_CLAHE};
    static const uint16_t rgba[8] = {100, 2000, 300, 4095, 4000, 10, 20, 2048};
    static const uint16_t dark[6] = {100, 0, 1, 100, 0, 1};
    ImagePro clear = image_of(rgba, 2, 1, 4, IMGSTAT_U16, 12);
    ImagePro even = image_of(dark, 2, 1, 3, IMGSTAT_U16, 12);
    for (size_t k = 0; k < 2; k++)
        for (ImgstatChannels mode = IMGSTAT_EACH; mode <= IMGSTAT_LUMA; mode += 2) {
            const ImgstatMethod method = {
                .transform = methods[k], .channels = mode, .depth = IMGSTAT_DEPTH_16};
            ImagePro out = made(&method, &clear, 3);
            cr_expect_eq(raw_at(&out, 0, 3), 65535, "method %zu, mode %d", k, (int)mode);
            cr_expect_eq(raw_at(&out, 1, 3), scaled(2048, 4095));
            imgstat_image_release(&out);
            out = made(&method, &even, -1);
            for (size_t i = 0; i < 6; i++)
                cr_expect_eq(raw_at(&out, i / 3, i % 3), scaled(dark[i], 4095),
                             "method %zu, mode %d: sample %zu", k, (int)mode, i);
            imgstat_image_release(&out);
        }
    imgstat_image_release(&clear);
    imgstat_image_release(&even);
}

/* A level at nodata's place in the new depth took its value. */
Test(passthrough, constant_samples_do_not_become_nodata)
{
    static const ImgstatTransform methods[] = {IMGSTAT_EQUALIZE, IMGSTAT_CLAHE};
    const uint8_t gray[4] = {3, 3, 51, 3}; /* 3 of 15 is 51 of 255 */
    ImagePro image = image_of(gray, 4, 1, 1, IMGSTAT_U8, 4);
    image.has_nodata = true;
    image.nodata_key = 51;
    for (size_t k = 0; k < 2; k++) {
        const ImgstatMethod method = {.transform = methods[k], .depth = IMGSTAT_DEPTH_8};
        ImagePro out = made(&method, &image, -1);
        const uint8_t expected[4] = {52, 52, 51, 52};
        cr_expect_arr_eq(out.host, expected, 4, "method %zu", k);
        imgstat_image_release(&out);
    }
    imgstat_image_release(&image);
}

/* Seeded pixels; which of them are masked. */
typedef struct Case {
    ImagePro image;
    uint8_t mask[13 * 7];
    int16_t alpha;
} Case;

static void case_make(Case *c, ImgstatSample sample, uint8_t bits, uint64_t *seed)
{
    const uint64_t draw = splitmix64(seed);
    const uint16_t channels = draw % 2 ? 4 : 3;
    *c = (Case){.image = image_of(NULL, 13, 7, channels, sample, bits), .alpha = draw % 2 ? 3 : -1};
    for (size_t i = 0; i < sizeof c->mask; i++)
        c->mask[i] = splitmix64(seed) % 4 > 0;
    if (draw & 2) {
        c->image.mask = c->mask;
        c->image.mask_pitch = 13;
    }
    c->image.has_nodata = draw & 4;
}

static bool is_masked(const Case *c, size_t pixel)
{
    return c->image.mask && !c->mask[pixel];
}

/* One level a channel; alpha and what is masked is anything. */
static void case_fill_even(Case *c, uint64_t *seed)
{
    ImagePro *const image = &c->image;
    const unsigned width = 8 * (unsigned)imgstat_sample_bytes(image->sample);
    const uint64_t most = ((uint64_t)1 << (image->bits ? image->bits : width)) - 1;
    uint64_t level[4];
    for (size_t k = 0; k < 4; k++)
        level[k] = splitmix64(seed) & most;
    image->nodata_key = sample_key(image->sample, splitmix64(seed) & most);
    for (size_t i = 0; i < sizeof c->mask; i++)
        for (size_t k = 0; k < image->channels; k++) {
            const bool any = (int)k == c->alpha || is_masked(c, i);
            const bool none = image->has_nodata && splitmix64(seed) % 5 == 0;
            set_raw(image, i, k,
                    none  ? sample_raw(image->sample, image->nodata_key)
                    : any ? splitmix64(seed) & most
                          : level[k]);
        }
}

/* Of nodata that the output cannot hold: in luma mode all colours of such a pixel become 0. */
static void make_holes_whole(const Case *c, ImagePro *out)
{
    const ImgstatSample in = c->image.sample;
    const double nodata = sample_double(in, c->image.nodata_key);
    const double most = out->sample == IMGSTAT_U8 ? 255.0 : 65535.0;
    if (!c->image.has_nodata || out->sample == in || (nodata >= 0.0 && nodata <= most))
        return;
    for (size_t i = 0; i < sizeof c->mask; i++) {
        bool any = false;
        for (size_t k = 0; k < 3; k++)
            any = any || sample_key(in, raw_at(&c->image, i, k)) == c->image.nodata_key;
        for (size_t k = 0; any && k < 3; k++)
            set_raw(out, i, k, 0);
    }
}

Test(passthrough, images_without_contrast_are_alike)
{
    static const struct {
        ImgstatSample sample;
        uint8_t bits;
        ImgstatDepth depth;
    } kinds[] = {{IMGSTAT_U8, 4, IMGSTAT_DEPTH_8},   {IMGSTAT_U8, 4, IMGSTAT_DEPTH_KEEP},
                 {IMGSTAT_U8, 1, IMGSTAT_DEPTH_16},  {IMGSTAT_U8, 8, IMGSTAT_DEPTH_8},
                 {IMGSTAT_U16, 12, IMGSTAT_DEPTH_8}, {IMGSTAT_U16, 12, IMGSTAT_DEPTH_16},
                 {IMGSTAT_U16, 9, IMGSTAT_DEPTH_16}, {IMGSTAT_U16, 0, IMGSTAT_DEPTH_8},
                 {IMGSTAT_I16, 0, IMGSTAT_DEPTH_8},  {IMGSTAT_I8, 0, IMGSTAT_DEPTH_16}};
    static const struct {
        ImgstatTransform transform;
        ImgstatChannels channels;
    } ways[] = {{IMGSTAT_EQUALIZE, IMGSTAT_LUMA},
                {IMGSTAT_STRETCH, IMGSTAT_LUMA},
                {IMGSTAT_PERCENTILE, IMGSTAT_EACH},
                {IMGSTAT_CLAHE, IMGSTAT_EACH},
                {IMGSTAT_CLAHE, IMGSTAT_LUMA}};
    uint64_t seed = 8;
    size_t compared = 0;
    for (int round = 0; round < 40; round++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            Case c;
            case_make(&c, kinds[k].sample, kinds[k].bits, &seed);
            case_fill_even(&c, &seed);
            ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE,
                                    .channels = IMGSTAT_EACH,
                                    .depth = kinds[k].depth,
                                    .has_range = round % 3 == 0,
                                    .lo = 3,
                                    .hi = 14};
            ImagePro each = made(&method, &c.image, c.alpha);
            ImagePro luma = made(&method, &c.image, c.alpha);
            make_holes_whole(&c, &luma);
            for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
                method.transform = ways[w].transform;
                method.channels = ways[w].channels;
                ImagePro out = made(&method, &c.image, c.alpha);
                const bool whole = method.channels == IMGSTAT_LUMA;
                cr_expect(image_equal(whole ? &luma : &each, &out), "kind %zu, way %zu, round %d",
                          k, w, round);
                imgstat_image_release(&out);
                compared++;
            }
            imgstat_image_release(&each);
            imgstat_image_release(&luma);
            imgstat_image_release(&c.image);
        }
    cr_assert_eq(compared, 40 * 10 * 5);
}

/* NaN, infinite and nodata samples, alpha and masked pixels of floats; returns how many. */
static size_t compare_kept(const Case *c, const ImagePro *each, const ImagePro *luma)
{
    size_t compared = 0;
    for (size_t i = 0; i < sizeof c->mask; i++)
        for (size_t k = 0; k < c->image.channels; k++) {
            const uint64_t key = sample_key(c->image.sample, raw_at(&c->image, i, k));
            const bool defined = !map_undefined(c->image.sample, key) &&
                                 !(c->image.has_nodata && key == c->image.nodata_key);
            if (defined && (int)k != c->alpha && !is_masked(c, i))
                continue;
            cr_assert_eq(raw_at(each, i, k), raw_at(luma, i, k), "%s, pixel %zu, channel %zu",
                         imgstat_sample_name(c->image.sample), i, k);
            compared++;
        }
    return compared;
}

static void case_fill_floats(Case *c, uint64_t *seed)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 0.25, -0.0, 0.5, 0.75, 1.0, 2.0};
    c->image.nodata_key = map_key(c->image.sample, splitmix64(seed) % 2 ? 0.0 : 1.0);
    for (size_t i = 0; i < sizeof c->mask; i++)
        for (size_t k = 0; k < c->image.channels; k++) {
            const double v = values[splitmix64(seed) % (sizeof values / sizeof *values)];
            const uint64_t key =
                v == v ? map_key(c->image.sample, v) : sample_key_nan(c->image.sample);
            set_raw(&c->image, i, k, sample_raw(c->image.sample, key));
        }
}

Test(passthrough, undefined_samples_are_alike)
{
    uint64_t seed = 3;
    size_t compared = 0;
    for (int round = 0; round < 60; round++)
        for (ImgstatSample sample = IMGSTAT_F16; sample <= IMGSTAT_F64; sample++)
            for (ImgstatDepth depth = IMGSTAT_DEPTH_KEEP; depth <= IMGSTAT_DEPTH_FLOAT; depth++) {
                Case c;
                const bool whole = depth == IMGSTAT_DEPTH_8 || depth == IMGSTAT_DEPTH_16;
                case_make(&c, sample, 0, &seed);
                case_fill_floats(&c, &seed);
                ImgstatMethod method = {.transform = IMGSTAT_STRETCH,
                                        .channels = IMGSTAT_EACH,
                                        .depth = depth,
                                        .has_range = whole && round % 2,
                                        .lo = 10,
                                        .hi = 100};
                ImagePro each = made(&method, &c.image, c.alpha);
                method.channels = IMGSTAT_LUMA;
                ImagePro luma = made(&method, &c.image, c.alpha);
                compared += compare_kept(&c, &each, &luma);
                imgstat_image_release(&each);
                imgstat_image_release(&luma);
                imgstat_image_release(&c.image);
            }
    cr_assert_gt(compared, 100000);
}

Test(passthrough, nan_becomes_the_low_end_of_the_range)
{
    const float rgb[9] = {0.1f, 0.2f, 0.3f, NAN, 0.5f, 0.5f, 0.9f, 0.8f, 0.7f};
    ImagePro image = image_of(rgb, 3, 1, 3, IMGSTAT_F32, 0);
    for (ImgstatChannels mode = IMGSTAT_EACH; mode <= IMGSTAT_LUMA; mode++) {
        ImgstatMethod method = {
            .channels = mode, .depth = IMGSTAT_DEPTH_8, .has_range = true, .lo = 10, .hi = 100};
        ImagePro out = made(&method, &image, -1);
        cr_expect_eq(raw_at(&out, 1, 0), 10, "mode %d", (int)mode);
        imgstat_image_release(&out);
        method.has_range = false;
        out = made(&method, &image, -1);
        cr_expect_eq(raw_at(&out, 1, 0), 0);
        imgstat_image_release(&out);
    }
    imgstat_image_release(&image);
}

/* A table says what becomes of luma, which is not what becomes of colours that stay. */
Test(passthrough, saved_transfers_know)
{
    static const uint16_t dark[8] = {100, 0, 1, 4000, 100, 0, 1, 77};
    ImagePro image = image_of(dark, 2, 1, 4, IMGSTAT_U16, 12);
    for (ImgstatChannels mode = IMGSTAT_EACH; mode <= IMGSTAT_LUMA; mode++) {
        const ImgstatMethod method = {
            .transform = IMGSTAT_EQUALIZE, .channels = mode, .depth = IMGSTAT_DEPTH_16};
        ImgstatTransfer *transfer, *loaded;
        ImgstatError err;
        cr_assert_eq(imgstat_transfer_create(device, &method, &image, 3, NULL, &transfer, &err),
                     IMGSTAT_OK);
        char *const text = transfer_to_json(transfer, &err);
        cr_assert_not_null(text);
        cr_assert_eq(transfer_from_json(text, strlen(text), "text", 0, &loaded, &err), IMGSTAT_OK,
                     "%s", err.message);
        ImagePro first = image_like(&image, IMGSTAT_U16), second = image_like(&image, IMGSTAT_U16);
        cr_assert_eq(transfer_apply(transfer, &image, 3, &first, &err), IMGSTAT_OK);
        cr_assert_eq(transfer_apply(loaded, &image, 3, &second, &err), IMGSTAT_OK);
        cr_expect(image_equal(&first, &second), "mode %d", (int)mode);
        cr_expect_eq(raw_at(&second, 0, 3), scaled(4000, 4095));
        cr_expect(mode == IMGSTAT_JOINT || raw_at(&second, 0, 2) == scaled(1, 4095));
        free(text);
        imgstat_transfer_destroy(transfer);
        imgstat_transfer_destroy(loaded);
        imgstat_image_release(&first);
        imgstat_image_release(&second);
    }
    imgstat_image_release(&image);
}

/* It was cut to 0..1, as alpha of integers is scaled. Masked samples become 0. */
Test(passthrough, alpha_of_halves_keeps_its_values_as_floats)
{
    static const uint16_t halves[6] = {0x3800, 0x5B23, 0x3C00, 0xD5A3, 0x5B23, 0x7C00};
    static const float expected[6] = {0.0f, 228.375f, 1.0f, -90.1875f, 0.0f, INFINITY};
    static const uint8_t mask[3] = {1, 1, 0};
    ImagePro image = image_of(halves, 3, 1, 2, IMGSTAT_F16, 16);
    image.mask = mask;
    image.mask_pitch = 3;
    const ImgstatMethod method = {.depth = IMGSTAT_DEPTH_FLOAT};
    ImagePro out = made(&method, &image, 1);
    for (size_t i = 0; i < 6; i++) {
        float value;
        const uint32_t raw = (uint32_t)raw_at(&out, i / 2, i % 2);
        memcpy(&value, &raw, sizeof value);
        cr_expect_eq(value, expected[i], "sample %zu is %g", i, (double)value);
    }
    imgstat_image_release(&out);
    imgstat_image_release(&image);
}

/* Of `count` floats, as they come and after the transfer was saved. */
static void expect_matched(const ImagePro *image, const ImagePro *reference,
                           ImgstatChannels channels, const float *expected, size_t count)
{
    const ImgstatMethod method = {
        .transform = IMGSTAT_MATCH, .channels = channels, .depth = IMGSTAT_DEPTH_FLOAT};
    ImgstatTransfer *transfers[3];
    ImgstatError err;
    cr_assert_eq(
        imgstat_transfer_create(device, &method, image, -1, reference, &transfers[0], &err),
        IMGSTAT_OK, "%s", err.message);
    char *const text = transfer_to_json(transfers[0], &err);
    cr_assert_not_null(text);
    cr_assert_eq(transfer_from_json(text, strlen(text), "text", 0, &transfers[1], &err), IMGSTAT_OK,
                 "%s", err.message);
    const TransferShape nowhere = {.has_nodata = true, .nodata_key = map_key(image->sample, 77.0)};
    cr_assert_eq(transfer_with_nodata(NULL, transfers[0], &nowhere, &transfers[2], &err),
                 IMGSTAT_OK);
    for (size_t t = 0; t < 3; t++) {
        ImagePro out = image_like(image, IMGSTAT_F32);
        cr_assert_eq(imgstat_transfer_apply(device, transfers[t], image, -1, &out, &err),
                     IMGSTAT_OK, "%s", err.message);
        for (size_t i = 0; i < count; i++) {
            float value;
            const uint32_t raw = (uint32_t)raw_at(&out, i / image->channels, i % image->channels);
            memcpy(&value, &raw, sizeof value);
            cr_expect(value == expected[i] || (isnan(value) && isnan(expected[i])),
                      "%s, transfer %zu: sample %zu is %g", imgstat_sample_name(image->sample), t,
                      i, (double)value);
        }
        imgstat_image_release(&out);
    }
    for (size_t t = 3; t-- > 0;) /* knots are those of the first */
        imgstat_transfer_destroy(transfers[t]);
    free(text);
}

/* A reference's values may be any floats: what did not become one of them was scaled to all that a
 * float can be, 0.5 to 0 and 1 to 3.4e38. */
Test(passthrough, what_is_matched_to_nothing_keeps_its_scale)
{
    static const uint16_t halves[4] = {0x0000, 0x3800, 0x3C00, 0x3400};
    static const uint32_t words[3] = {0, 0x80000000u, 0xFFFFFFFFu};
    static const uint16_t no_half = 0x7E00;
    static const uint32_t no_float = 0x7FC00000u;
    static const float as_halves[4] = {0.0f, 0.5f, 1.0f, 0.25f}, as_words[3] = {0.0f, 0.5f, 1.0f};
    ImagePro narrow = image_of(halves, 4, 1, 1, IMGSTAT_F16, 16),
             wide = image_of(words, 3, 1, 1, IMGSTAT_U32, 32),
             empty = image_of(&no_half, 1, 1, 1, IMGSTAT_F16, 16),
             void_float = image_of(&no_float, 1, 1, 1, IMGSTAT_F32, 32);
    expect_matched(&narrow, &empty, IMGSTAT_EACH, as_halves, 4);
    expect_matched(&wide, &void_float, IMGSTAT_EACH, as_words, 3);
    /* a pixel without luma, and a gray that becomes the reference's 4 */
    static const uint16_t colours[6] = {0x3800, 0x7E00, 0x3C00, 0x3800, 0x3800, 0x3800};
    static const uint16_t four[3] = {0x4400, 0x4400, 0x4400};
    static const float as_colours[6] = {0.5f, NAN, 1.0f, 4.0f, 4.0f, 4.0f};
    ImagePro rgb = image_of(colours, 2, 1, 3, IMGSTAT_F16, 16),
             bright = image_of(four, 1, 1, 3, IMGSTAT_F16, 16);
    expect_matched(&rgb, &bright, IMGSTAT_LUMA, as_colours, 6);
    imgstat_image_release(&narrow);
    imgstat_image_release(&wide);
    imgstat_image_release(&empty);
    imgstat_image_release(&void_float);
    imgstat_image_release(&rgb);
    imgstat_image_release(&bright);
}

/* One sample is left, which is black and white: no contrast, narrow or wide. */
Test(passthrough, samples_of_which_one_is_not_clipped)
{
    static const uint32_t wide[4] = {5, 1, 30, 2};
    static const uint8_t narrow[4] = {5, 1, 30, 2};
    static const double clips[][2] = {{99.9, 0}, {0, 99.9}, {50, 49.99}, {60, 39}};
    for (uint32_t n = 1; n <= 4; n++)
        for (size_t k = 0; k < 4; k++) {
            const ImgstatMethod method = {.transform = IMGSTAT_PERCENTILE,
                                          .has_clip = true,
                                          .clip_lo = clips[k][0],
                                          .clip_hi = clips[k][1]};
            ImagePro image = image_of(wide, n, 1, 1, IMGSTAT_U32, 32);
            ImagePro out = made(&method, &image, -1);
            cr_expect_arr_eq(out.host, wide, n * sizeof *wide, "%u samples, clip %zu", n, k);
            imgstat_image_release(&image);
            imgstat_image_release(&out);
            image = image_of(narrow, n, 1, 1, IMGSTAT_U8, 8);
            out = made(&method, &image, -1);
            cr_expect_arr_eq(out.host, narrow, n, "%u samples, clip %zu", n, k);
            imgstat_image_release(&image);
            imgstat_image_release(&out);
        }
}
