/* SPDX-License-Identifier: MIT */
/* test_clahe.c: properties of adaptive equalization; recorded outputs are in test_compat.c.
 */
#include "transfer/clahe.h"

#include "helper_transform.h"
#include "support.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const ImgstatMethod method_default = {.transform = IMGSTAT_CLAHE};

/* The same picture with every 8-bit sample v as v * factor + offset. */
static ImagePro widened(const ImagePro *image, uint32_t factor, uint32_t offset)
{
    ImagePro out = image_like(image, IMGSTAT_U16);
    for (uint32_t y = 0; y < image->height; y++)
        for (uint32_t x = 0; x < image->width; x++)
            ((uint16_t *)(void *)((char *)out.host + y * out.pitch))[x] =
                (uint16_t)(image_row(image, y)[x] * factor + offset);
    return out;
}

Test(clahe, depth_does_not_matter)
{
    static const uint32_t factors[][2] = {{257, 0}, {16, 0}, {16, 300}, {1, 0}, {1, 4000}};
    size_t compared = 0;
    ImagePro image = pattern_image("slope", 131, 97, IMGSTAT_U8);
    ImgstatMethod to8 = method_default;
    to8.depth = IMGSTAT_DEPTH_8;
    ImagePro narrow = adapted(&method_default, &image, 1000), first = {0};
    for (size_t f = 0; f < 5; f++) {
        ImagePro wide = widened(&image, factors[f][0], factors[f][1]);
        ImagePro as8 = adapted(&to8, &wide, 1000);
        cr_expect(image_equal(&as8, &narrow), "8-bit output of %u v + %u", factors[f][0],
                  factors[f][1]);
        ImagePro out = adapted(&method_default, &wide, 1000);
        if (!first.host)
            first = out;
        else {
            cr_expect(image_equal(&out, &first), "16-bit output of %u v + %u", factors[f][0],
                      factors[f][1]);
            imgstat_image_release(&out);
        }
        compared++;
        imgstat_image_release(&as8);
        imgstat_image_release(&wide);
    }
    cr_assert_eq(compared, 5);
    imgstat_image_release(&first);
    imgstat_image_release(&narrow);
    imgstat_image_release(&image);
}

Test(clahe, bands_do_not_matter)
{
    static const ImgstatLike likes[] = {IMGSTAT_LIKE_IMGSTAT, IMGSTAT_LIKE_OPENCV,
                                        IMGSTAT_LIKE_SKIMAGE};
    ImagePro image = pattern_image("dark", 101, 67, IMGSTAT_U16);
    for (size_t k = 0; k < 3; k++) {
        ImgstatMethod method = method_default;
        method.like = likes[k];
        ImagePro whole = adapted(&method, &image, 1000);
        for (uint32_t rows = 1; rows < 67; rows += 11) {
            ImagePro banded = adapted(&method, &image, rows);
            cr_expect(image_equal(&whole, &banded));
            imgstat_image_release(&banded);
        }
        imgstat_image_release(&whole);
    }
    imgstat_image_release(&image);
}

/* Tiles that cover the image, differ by at most a pixel, and blend without a jump. */
Test(clahe, geometry)
{
    size_t compared = 0;
    for (uint32_t length = 1; length < 90; length++)
        for (uint32_t tiles = 1; tiles <= (length < 17 ? length : 17); tiles++) {
            cr_assert_eq(clahe_edge(0, tiles, length), 0);
            cr_assert_eq(clahe_edge(tiles, tiles, length), length);
            double last = -1;
            for (uint32_t p = 0; p < length; p++) {
                const uint32_t tile = clahe_tile(p, tiles, length);
                cr_assert(clahe_edge(tile, tiles, length) <= p &&
                          p < clahe_edge(tile + 1, tiles, length));
                const ClaheBlend blend = clahe_blend(p, tiles, length);
                cr_assert(blend.second < tiles && blend.second - blend.first <= 1 &&
                          blend.weight < CLAHE_WEIGHT);
                const double at =
                    blend.first + blend.weight / 65536.0 * (blend.second - blend.first);
                cr_assert_geq(at, last);
                if (last >= 0) /* a step is at most the inverse of the distance between centers */
                    cr_assert_leq(at - last, 1.0 / (length / tiles) + 1e-4);
                last = at;
                compared++;
            }
        }
    cr_assert_gt(compared, 10000);
}

/* A tile's table by the definition: gifts tried one after the other, in doubles. */
Test(clahe, limited_counts)
{
    uint64_t seed = 2;
    for (int round = 0; round < 50; round++) {
        uint64_t counts[256] = {0}, n = 0;
        for (int k = 0; k < 256; k++) {
            counts[k] = splitmix64(&seed) % 5 ? 0 : splitmix64(&seed) % 400;
            n += counts[k];
        }
        const double fraction = 0.005 + (double)(round % 10) * 0.004;
        const double limit = fraction * (double)n;
        double low = 0, high = limit;
        for (int step = 0; step < 200; step++) { /* bisection for the gift that restores n */
            const double gift = (low + high) / 2;
            double sum = 0;
            for (int k = 0; k < 256; k++)
                sum += (double)counts[k] + gift < limit ? (double)counts[k] + gift : limit;
            if (sum < (double)n)
                low = gift;
            else
                high = gift;
        }
        uint32_t share[256];
        clahe_shares(counts, (uint64_t)(fraction * 1e9 + 0.5), share);
        double sum = 0;
        for (int k = 0; k < 256; k++) {
            sum += (double)counts[k] + high < limit ? (double)counts[k] + high : limit;
            cr_assert_float_eq(share[k] / (double)CLAHE_UNIT, sum / (double)n, 1e-4);
            const double rise = (share[k] - (k ? share[k - 1] : 0)) / (double)CLAHE_UNIT;
            cr_assert_leq(rise, fraction * 1.001, "the slope exceeds the limit");
        }
        cr_assert_eq(share[255], CLAHE_UNIT);
    }
}

Test(clahe, one_tile_without_limit_is_the_cumulative_distribution)
{
    ImagePro image = pattern_image("noise", 64, 48, IMGSTAT_U8);
    ImgstatMethod method = method_default;
    method.tiles_x = method.tiles_y = 1;
    method.clip_limit = 1;
    ImagePro out = adapted(&method, &image, 1000);
    size_t compared = 0;
    for (uint32_t y = 0; y < 48; y++)
        for (uint32_t x = 0; x < 64; x++) {
            size_t count = 0;
            for (uint32_t i = 0; i < 48 * 64; i++)
                count += image_row(&image, i / 64)[i % 64] <= image_row(&image, y)[x];
            const double expected = 255.0 * (double)count / (48 * 64);
            cr_assert_float_eq(image_row(&out, y)[x], expected, 0.51);
            compared++;
        }
    cr_assert_eq(compared, 64 * 48);
    imgstat_image_release(&out);
    imgstat_image_release(&image);
}

Test(clahe, undefined_and_constant_stay)
{
    ImagePro image = pattern_image("noise", 40, 30, IMGSTAT_U8);
    uint8_t mask[40 * 30];
    for (size_t i = 0; i < sizeof mask; i++)
        mask[i] = i % 7 != 0;
    image.mask = mask;
    image.mask_pitch = 40;
    image.has_nodata = true;
    image.nodata_key = image_row(&image, 0)[1];
    ImagePro out = adapted(&method_default, &image, 7);
    size_t kept = 0;
    for (uint32_t i = 0; i < 40 * 30; i++) {
        const uint8_t before = image_row(&image, i / 40)[i % 40],
                      after = image_row(&out, i / 40)[i % 40];
        const bool undefined = !mask[i] || before == image.nodata_key;
        kept += undefined;
        cr_assert(undefined ? after == before : after != image.nodata_key);
    }
    cr_assert_gt(kept, 170);
    imgstat_image_release(&out);
    imgstat_image_release(&image);
    image = image_of(NULL, 9, 9, 1, IMGSTAT_U8, 8);
    out = adapted(&method_default, &image, 3);
    cr_assert(image_equal(&image, &out));
    imgstat_image_release(&out);
    imgstat_image_release(&image);
}

Test(clahe, any_size)
{
    size_t compared = 0;
    for (uint32_t width = 1; width < 20; width++)
        for (uint32_t height = 1; height < 20; height += 3) {
            ImagePro image = pattern_image("noise", width, height, IMGSTAT_U16);
            ImagePro out = adapted(&method_default, &image, 2);
            compared += out.width * out.height;
            imgstat_image_release(&out);
            imgstat_image_release(&image);
        }
    cr_assert_gt(compared, 1000);
}

/* One channel of an image by the definition, pixel by pixel; at most 8 x 8 tiles, default limit. */
typedef struct Plain {
    const ImagePro *image;
    uint16_t channel;
    uint32_t tiles_x, tiles_y;
    uint64_t black, white;
    uint32_t share[8 * 8][CLAHE_NODES];
} Plain;

static bool plain_key(const Plain *plain, uint32_t x, uint32_t y, uint64_t *key)
{
    const ImagePro *const image = plain->image;
    const size_t bytes = imgstat_sample_bytes(image->sample);
    uint64_t raw = 0;
    memcpy(&raw, image_row(image, y) + (x * image->channels + plain->channel) * bytes, bytes);
    *key = sample_key(image->sample, raw);
    return !(image->has_nodata && *key == image->nodata_key) &&
           !(image->mask && !image->mask[y * image->mask_pitch + x]);
}

static void plain_make(Plain *plain, const ImagePro *image, uint16_t channel, uint32_t tiles_x,
                       uint32_t tiles_y)
{
    static uint64_t counts[8 * 8][CLAHE_NODES];
    uint64_t key;
    *plain = (Plain){.image = image, .channel = channel, .black = UINT64_MAX};
    plain->tiles_x = image->width < tiles_x ? image->width : tiles_x;
    plain->tiles_y = image->height < tiles_y ? image->height : tiles_y;
    memset(counts, 0, sizeof counts);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < image->width * image->height; i++) {
            const uint32_t x = i % image->width, y = i / image->width;
            if (!plain_key(plain, x, y, &key))
                continue;
            if (pass == 0) {
                plain->black = key < plain->black ? key : plain->black;
                plain->white = key > plain->white ? key : plain->white;
            } else if (plain->black < plain->white) {
                counts[clahe_tile(y, plain->tiles_y, image->height) * plain->tiles_x +
                       clahe_tile(x, plain->tiles_x, image->width)]
                      [clahe_node(clahe_position(key, plain->black, plain->white))]++;
            }
        }
    for (uint32_t t = 0; t < plain->tiles_x * plain->tiles_y; t++)
        clahe_shares(counts[t], 10000000, plain->share[t]);
}

static uint64_t plain_map(const Plain *plain, uint32_t x, uint32_t y)
{
    const ImagePro *const image = plain->image;
    const uint64_t top = ((uint64_t)1 << sample_bits(image->sample)) - 1;
    const ClaheBlend bx = clahe_blend(x, plain->tiles_x, image->width);
    const ClaheBlend by = clahe_blend(y, plain->tiles_y, image->height);
    uint64_t key;
    if (!plain_key(plain, x, y, &key) || plain->black >= plain->white)
        return key;
    const uint32_t at = clahe_position(key, plain->black, plain->white);
    const uint64_t share[4] = {
        clahe_share(plain->share[by.first * plain->tiles_x + bx.first], at),
        clahe_share(plain->share[by.first * plain->tiles_x + bx.second], at),
        clahe_share(plain->share[by.second * plain->tiles_x + bx.first], at),
        clahe_share(plain->share[by.second * plain->tiles_x + bx.second], at)};
    const uint64_t mapped = clahe_key(share, bx.weight, by.weight, 0, top);
    if (!image->has_nodata || mapped != image->nodata_key)
        return mapped;
    return mapped == top ? mapped - 1 : mapped + 1;
}

static size_t compare_plain(ImgstatDevice *device, const ImagePro *image, uint32_t tiles_x,
                            uint32_t tiles_y)
{
    static Plain plain;
    ImgstatMethod method = method_default;
    method.channels = IMGSTAT_EACH;
    method.tiles_x = tiles_x;
    method.tiles_y = tiles_y;
    ImagePro out;
    ImgstatError err;
    cr_assert_eq(imgstat_image_transform(device, &method, image, -1, NULL, &out, &err), IMGSTAT_OK,
                 "%s", err.message);
    const size_t bytes = imgstat_sample_bytes(image->sample);
    for (uint16_t c = 0; c < image->channels; c++) {
        plain_make(&plain, image, c, tiles_x, tiles_y);
        for (uint32_t y = 0; y < image->height; y++)
            for (uint32_t x = 0; x < image->width; x++) {
                uint64_t raw = 0;
                memcpy(&raw, image_row(&out, y) + (x * image->channels + c) * bytes, bytes);
                const uint64_t key = sample_key(image->sample, raw);
                cr_assert_eq(key, plain_map(&plain, x, y), "%s, %ux%ux%u, channel %u at %u,%u",
                             imgstat_sample_name(image->sample), image->width, image->height,
                             image->channels, c, x, y);
            }
    }
    imgstat_image_release(&out);
    return (size_t)image->width * image->height * image->channels;
}

/* Narrow and wide tiles, rows longer than what is mapped at once, threads. */
Test(clahe, pixels_are_as_defined)
{
    static const uint32_t sizes[][2] = {{1, 9}, {5, 40}, {203, 31}, {1000, 67}, {9001, 17}};
    static const unsigned threads[] = {1, 3};
    uint64_t seed = 5;
    size_t compared = 0;
    for (size_t t = 0; t < 2; t++) {
        ImgstatDevice *device;
        cr_assert_eq(imgstat_device_open("cpu", threads[t], &device, NULL), IMGSTAT_OK);
        for (ImgstatSample sample = IMGSTAT_U8; sample <= IMGSTAT_I16; sample++)
            for (size_t k = 0; k < 5; k++) {
                const uint16_t channels = (uint16_t)(1 + splitmix64(&seed) % 3);
                ImagePro image = image_of(NULL, sizes[k][0], sizes[k][1], channels, sample, 0);
                const size_t row = (size_t)image.width * channels * imgstat_sample_bytes(sample);
                const bool few = splitmix64(&seed) % 2; /* levels */
                for (size_t i = 0; i < row * image.height; i++)
                    ((unsigned char *)image.host)[i / row * image.pitch + i % row] =
                        (unsigned char)(few ? 60 + splitmix64(&seed) % 80 : splitmix64(&seed));
                uint8_t *const mask = malloc((size_t)image.width * image.height);
                cr_assert_not_null(mask);
                for (size_t i = 0; i < (size_t)image.width * image.height; i++)
                    mask[i] = splitmix64(&seed) % 9 > 0;
                compared += compare_plain(device, &image, 8, 8);
                compared += compare_plain(device, &image, 1, 1);
                compared += compare_plain(device, &image, 2, 3);
                image.mask = mask;
                image.mask_pitch = image.width;
                compared += compare_plain(device, &image, 8, 8);
                image.has_nodata = true;
                image.nodata_key = 100;
                compared += compare_plain(device, &image, 8, 8);
                image.mask = NULL;
                image.mask_pitch = 0;
                compared += compare_plain(device, &image, 8, 8);
                free(mask);
                imgstat_image_release(&image);
            }
        imgstat_device_close(device);
    }
    cr_assert_gt(compared, 10000000);
}

Test(clahe, what_it_does_not_take_is_refused)
{
    Clahe *clahe;
    TransferShape shape = {.sample = IMGSTAT_F32, .channels = 1, .alpha = -1};
    cr_expect_eq(clahe_create(NULL, &method_default, &shape, 9, 9, 0, 1, &clahe, NULL),
                 IMGSTAT_ERR_UNSUPPORTED);
    shape.sample = IMGSTAT_U8;
    cr_expect_eq(clahe_create(NULL, &method_default, &shape, 0, 9, 0, 1, &clahe, NULL),
                 IMGSTAT_ERR_ARG);
    ImgstatMethod method = method_default;
    method.clip_limit = -1;
    cr_expect_eq(clahe_create(NULL, &method, &shape, 9, 9, 0, 1, &clahe, NULL), IMGSTAT_ERR_ARG);
    cr_expect_null(clahe);
}

/* Before, OpenCV's limit was cut to an int whatever its size, so that a large one limited most of
 * all, and above 1e9 they were refused as if negative. */
Test(clahe, limits_beyond_the_tile_limit_nothing)
{
    static const ImgstatLike like[] = {IMGSTAT_LIKE_IMGSTAT, IMGSTAT_LIKE_OPENCV,
                                       IMGSTAT_LIKE_SKIMAGE};
    static const double huge[] = {1e9, 4294967296.0, 1e20, 1e308, INFINITY};
    ImgstatDevice *device;
    ImagePro image = pattern_image("noise", 300, 200, IMGSTAT_U8);
    size_t compared = 0;
    cr_assert_eq(imgstat_device_open("cpu", 1, &device, NULL), IMGSTAT_OK);
    for (size_t i = 0; i < 3; i++) {
        ImgstatMethod method = method_default;
        ImagePro want, got;
        method.tiles_x = method.tiles_y = 2;
        method.like = like[i];
        method.clip_limit = 256; /* OpenCV: all of a tile in one of 256 bins */
        cr_assert_eq(imgstat_image_transform(device, &method, &image, -1, NULL, &want, NULL),
                     IMGSTAT_OK);
        for (size_t k = 0; k < sizeof huge / sizeof *huge; k++) {
            method.clip_limit = huge[k];
            cr_assert_eq(imgstat_image_transform(device, &method, &image, -1, NULL, &got, NULL),
                         IMGSTAT_OK);
            cr_expect(image_equal(&got, &want), "%d, %g", (int)like[i], huge[k]);
            compared++;
            imgstat_image_release(&got);
        }
        imgstat_image_release(&want);
    }
    imgstat_image_release(&image);
    imgstat_device_close(device);
    cr_assert_eq(compared, 15u);
}

/* Before, rows were looked for where they are in a larger image: beyond the tiles. */
Test(clahe, a_band_by_itself_is_a_whole_image)
{
    ImgstatDevice *device;
    ImagePro image = pattern_image("noise", 33, 21, IMGSTAT_U8), whole, band;
    cr_assert_eq(imgstat_device_open("cpu", 1, &device, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_image_transform(device, &method_default, &image, -1, NULL, &whole, NULL),
                 IMGSTAT_OK);
    image.first_row = 40;
    cr_assert_eq(imgstat_image_transform(device, &method_default, &image, -1, NULL, &band, NULL),
                 IMGSTAT_OK);
    for (uint32_t y = 0; y < image.height; y++)
        cr_expect_arr_eq((char *)whole.host + y * whole.pitch, (char *)band.host + y * band.pitch,
                         image.width);
    imgstat_image_release(&whole);
    imgstat_image_release(&band);
    imgstat_image_release(&image);
    imgstat_device_close(device);
}
