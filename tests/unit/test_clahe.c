/* SPDX-License-Identifier: MIT */
/* test_clahe.c: properties of adaptive equalization; recorded outputs are in test_transfer_like.c.
 */
#include "clahe.h"

#include "helper_transform.h"
#include "processor.h"

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
            counts[k] = seeded_next(&seed) % 5 ? 0 : seeded_next(&seed) % 400;
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
                const uint16_t channels = (uint16_t)(1 + seeded_next(&seed) % 3);
                ImagePro image = image_of(NULL, sizes[k][0], sizes[k][1], channels, sample, 0);
                const size_t row = (size_t)image.width * channels * imgstat_sample_bytes(sample);
                const bool few = seeded_next(&seed) % 2; /* levels */
                for (size_t i = 0; i < row * image.height; i++)
                    ((unsigned char *)image.host)[i / row * image.pitch + i % row] =
                        (unsigned char)(few ? 60 + seeded_next(&seed) % 80 : seeded_next(&seed));
                uint8_t *const mask = malloc((size_t)image.width * image.height);
                cr_assert_not_null(mask);
                for (size_t i = 0; i < (size_t)image.width * image.height; i++)
                    mask[i] = seeded_next(&seed) % 9 > 0;
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

/* An image that is equalized like opencv, in 2 x 3 tiles. */
typedef struct OpencvCase {
    ImgstatSample sample;
    uint32_t width, height;
    uint32_t levels; /* of the noise in it; 0: every level of the type */
    bool flat;       /* every other sample is the same */
    bool undefined;  /* some are masked, and one level is nodata */
} OpencvCase;

static void draw_opencv(const OpencvCase *c, uint64_t *seed, ImagePro *image, uint8_t *mask)
{
    const size_t bytes = imgstat_sample_bytes(c->sample);
    const uint32_t levels = c->levels ? c->levels : 1u << 8 * bytes;
    for (uint32_t y = 0; y < c->height; y++)
        for (uint32_t x = 0; x < c->width; x++) {
            const uint64_t level = c->flat && x % 2 ? levels / 2 : seeded_next(seed) % levels;
            const uint64_t raw = sample_raw(c->sample, level + ((1u << 8 * bytes) - levels) / 3);
            store_raw((unsigned char *)image->host + y * image->pitch + x * bytes, bytes, raw);
            mask[(size_t)y * c->width + x] = seeded_next(seed) % 5 > 0;
        }
    if (!c->undefined)
        return;
    image->mask = mask;
    image->mask_pitch = c->width;
    image->has_nodata = true;
    image->nodata_key = sample_key(c->sample, load_raw(image_row(image, 0), bytes));
}

static bool opencv_key(const ImagePro *image, uint32_t x, uint32_t y, uint64_t *key)
{
    const size_t bytes = imgstat_sample_bytes(image->sample);
    *key = sample_key(image->sample, load_raw(image_row(image, y) + x * bytes, bytes));
    return !(image->mask && !image->mask[y * image->mask_pitch + x]) &&
           !(image->has_nodata && *key == image->nodata_key);
}

/* The table of a tile as OpenCV makes it, bin by bin; area, limit: as it computes them. */
static void opencv_table(const uint64_t *counts, uint32_t bins, uint64_t area, uint64_t limit,
                         uint32_t *table)
{
    uint64_t clipped = 0, sum = 0;
    for (uint32_t k = 0; k < bins; k++)
        clipped += counts[k] > limit ? counts[k] - limit : 0;
    const uint64_t rest = clipped % bins, step = rest && bins / rest > 1 ? bins / rest : 1;
    for (uint32_t k = 0; k < bins; k++) {
        sum += (counts[k] < limit ? counts[k] : limit) + clipped / bins;
        sum += k % step == 0 && k / step < rest;
        const float level = rintf((float)sum * ((float)(bins - 1) / (float)area));
        table[k] = level > (float)(bins - 1) ? bins - 1 : (uint32_t)level;
    }
}

static void compare_counts(const Clahe *clahe, const uint64_t *counts)
{
    for (size_t t = 0; t < 6; t++)
        for (uint64_t key = clahe->black; key <= clahe->white; key++)
            cr_assert_eq(clahe->counts[t * clahe->bins + key], counts[t * clahe->bins + key],
                         "tile %zu, key %u", t, (unsigned)key);
}

static void compare_pixels(const Clahe *clahe, const ImagePro *image, const ImagePro *out,
                           const uint32_t *table)
{
    const size_t bytes = imgstat_sample_bytes(image->sample);
    for (uint32_t y = 0; y < image->height; y++)
        for (uint32_t x = 0; x < image->width; x++) {
            const ClaheBlend bx = clahe->x.blend[x], by = clahe->y.blend[y];
            const uint32_t tiles[4] = {by.first * 2 + bx.first, by.first * 2 + bx.second,
                                       by.second * 2 + bx.first, by.second * 2 + bx.second};
            uint64_t key;
            uint32_t level[4];
            if (!opencv_key(image, x, y, &key))
                continue;
            for (int t = 0; t < 4; t++)
                level[t] = table[(size_t)tiles[t] * clahe->bins + key];
            const uint64_t mapped = load_raw(image_row(out, y) + x * bytes, bytes);
            const uint64_t expected =
                clahe_opencv(level, clahe->x.weight[x], clahe->y.weight[y], clahe->bins);
            cr_assert_eq(sample_key(image->sample, mapped), range_avoid(&clahe->to, expected),
                         "%s, %ux%u, at %u,%u", imgstat_sample_name(image->sample), image->width,
                         image->height, x, y);
        }
}

/* Counts, tables and pixels like opencv, one after the other, in two bands; returns how many
 * pixels. */
static size_t compare_opencv(const OpencvCase *c, uint64_t *seed)
{
    ImgstatMethod method = method_default;
    method.like = IMGSTAT_LIKE_OPENCV;
    method.tiles_x = 2;
    method.tiles_y = 3;
    ImagePro image = image_of(NULL, c->width, c->height, 1, c->sample, 0);
    ImagePro out = image_like(&image, c->sample);
    const size_t pixels = (size_t)c->width * c->height;
    const uint32_t bins = 1u << 8 * imgstat_sample_bytes(c->sample);
    uint8_t *const mask = malloc(pixels);
    uint64_t *const counts = calloc((size_t)6 * bins, sizeof *counts);
    uint32_t *const table = calloc((size_t)6 * bins, sizeof *table);
    cr_assert(mask && counts && table);
    draw_opencv(c, seed, &image, mask);
    uint64_t black = UINT64_MAX, white = 0, key;
    for (size_t i = 0; i < pixels; i++)
        if (opencv_key(&image, (uint32_t)(i % c->width), (uint32_t)(i / c->width), &key)) {
            black = key < black ? key : black;
            white = key > white ? key : white;
        }
    const TransferShape shape = shape_of(&image, -1, false);
    Clahe *clahe;
    cr_assert_eq(
        clahe_create(NULL, &method, &shape, c->width, c->height, black, white, &clahe, NULL),
        IMGSTAT_OK);
    for (uint32_t p = 0; p < clahe->x.padded * clahe->y.padded; p++) {
        const uint32_t px = p % clahe->x.padded, py = p / clahe->x.padded;
        if (opencv_key(&image, clahe_reflect(px, c->width), clahe_reflect(py, c->height), &key))
            counts[(size_t)(py / clahe->y.tile * 2 + px / clahe->x.tile) * bins + key]++;
    }
    const uint64_t area = (uint64_t)clahe->x.tile * clahe->y.tile, limit = 40 * area / bins;
    for (size_t t = 0; t < 6; t++) {
        clahe_count(clahe, t, &image, 0);
        opencv_table(counts + t * bins, bins, area, limit > 1 ? limit : 1, table + t * bins);
    }
    compare_counts(clahe, counts);
    clahe_finish(clahe);
    const uint32_t first = c->height / 2, rest = c->height - first;
    ImagePro bands[] = {image_band(&image, 0, first), image_band(&image, first, rest)};
    ImagePro outs[] = {image_band(&out, 0, first), image_band(&out, first, rest)};
    for (int k = 0; k < 2 && !clahe->unchanged; k++)
        clahe_apply(clahe, &bands[k], 0, &outs[k]);
    if (!clahe->unchanged)
        compare_pixels(clahe, &image, &out, table);
    const size_t compared = clahe->unchanged ? 0 : pixels;
    free(mask);
    free(counts);
    free(table);
    clahe_destroy(clahe);
    imgstat_image_release(&out);
    imgstat_image_release(&image);
    return compared;
}

/* By the loops for a set of instructions: of whole tiles and of padded ones; those of many and of
 * few levels for their pixels; more of a level than 16 bits can count. */
static void compare_opencv_level(ProcessorLevel level)
{
    static const OpencvCase cases[] = {
        {.sample = IMGSTAT_U8, .width = 1200, .height = 33},
        {.sample = IMGSTAT_U8, .width = 1201, .height = 35, .undefined = true},
        {.sample = IMGSTAT_U8, .width = 37, .height = 300, .levels = 90},
        {.sample = IMGSTAT_U8, .width = 2, .height = 3},
        {.sample = IMGSTAT_U16, .width = 1200, .height = 33},
        {.sample = IMGSTAT_U16, .width = 1201, .height = 35, .undefined = true},
        {.sample = IMGSTAT_U16, .width = 37, .height = 300, .levels = 3000},
        {.sample = IMGSTAT_U16, .width = 2, .height = 3},
        {.sample = IMGSTAT_U16, .width = 1031, .height = 501, .levels = 9000},
        {.sample = IMGSTAT_U16, .width = 1030, .height = 600, .levels = 20000},
        {.sample = IMGSTAT_U16, .width = 809, .height = 1100, .levels = 9001, .flat = true},
        {.sample = IMGSTAT_U16, .width = 700, .height = 501, .levels = 70, .undefined = true}};
    uint64_t seed = 21;
    size_t compared = 0;
    if (!processor_supports(level))
        cr_skip_test("the processor has no %s", processor_level_names[level]);
    setenv("IMGSTAT_CPU", processor_level_names[level], 1);
    cr_assert_eq(processor_level(), level);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        compared += compare_opencv(&cases[k], &seed);
    cr_assert_gt(compared, 2500000);
}

Test(clahe, opencv_by_portable_loops)
{
    compare_opencv_level(PROCESSOR_PORTABLE);
}

Test(clahe, opencv_by_avx2)
{
    compare_opencv_level(PROCESSOR_AVX2);
}

Test(clahe, opencv_by_avx512)
{
    compare_opencv_level(PROCESSOR_AVX512);
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

/* Before, the area was an int, and that of a tile of 65,536 x 65,536 pixels 0. */
Test(clahe, tiles_may_be_larger_than_an_int)
{
    const uint64_t area = UINT64_C(1) << 32;
    const Clahe clahe = {.like = IMGSTAT_LIKE_OPENCV,
                         .clip_limit = 40,
                         .white = 255,
                         .bins = 256,
                         .x = {.tile = 65536},
                         .y = {.tile = 65536}};
    uint64_t counts[256] = {[7] = area / 2, [200] = area / 2};
    uint32_t share[256];
    clahe_opencv_shares(&clahe, counts, share);
    /* 40/256 of the area stay in each, the rest is spread evenly: 176/256/256 each. */
    for (uint32_t k = 0; k < 256; k++) {
        const double all = (k + 1) * 176.0 / 256 / 256 + ((k >= 7) + (k >= 200)) * 40.0 / 256;
        cr_expect_eq(share[k], (uint32_t)rint(255 * all), "%u", k);
    }
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
