/* SPDX-License-Identifier: MIT */
/* test_clahe_compat.c: adaptive equalization like others by every set of instructions, against
 * their arithmetic, one pixel after the other; recorded outputs are in test_compat.c. */
#include "transfer/clahe.h"

#include "helper_level.h"
#include "helper_transform.h"
#include "support.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const ImgstatMethod method_default = {.transform = IMGSTAT_CLAHE};

/* An image that is equalized like others, in 2 x 3 tiles. */
typedef struct LikeCase {
    ImgstatSample sample;
    uint32_t width, height;
    uint32_t levels; /* of the noise in it; 0: every level of the type */
    bool flat;       /* every other sample is the same */
    bool undefined;  /* some are masked, and one level is nodata */
} LikeCase;

static void draw_like(const LikeCase *c, uint64_t *seed, ImagePro *image, uint8_t *mask)
{
    const size_t bytes = imgstat_sample_bytes(c->sample);
    const uint32_t levels = c->levels ? c->levels : 1u << 8 * bytes;
    for (uint32_t y = 0; y < c->height; y++)
        for (uint32_t x = 0; x < c->width; x++) {
            const uint64_t level = c->flat && x % 2 ? levels / 2 : splitmix64(seed) % levels;
            const uint64_t raw = sample_raw(c->sample, level + ((1u << 8 * bytes) - levels) / 3);
            store_raw((unsigned char *)image->host + y * image->pitch + x * bytes, bytes, raw);
            mask[(size_t)y * c->width + x] = splitmix64(seed) % 5 > 0;
        }
    if (!c->undefined)
        return;
    image->mask = mask;
    image->mask_pitch = c->width;
    image->has_nodata = true;
    image->nodata_key = sample_key(c->sample, load_raw(image_row(image, 0), bytes));
}

static bool like_key(const ImagePro *image, uint32_t x, uint32_t y, uint64_t *key)
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
            if (!like_key(image, x, y, &key))
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

/* A case's image and mask, and an instance for 2 by 3 tiles of it. */
static Clahe *begin_like(const LikeCase *c, ImgstatLike like, uint64_t *seed, ImagePro *image,
                         uint8_t **mask)
{
    ImgstatMethod method = method_default;
    method.like = like;
    method.tiles_x = 2;
    method.tiles_y = 3;
    *image = image_of(NULL, c->width, c->height, 1, c->sample, 0);
    *mask = malloc((size_t)c->width * c->height);
    cr_assert_not_null(*mask);
    draw_like(c, seed, image, *mask);
    uint64_t black = UINT64_MAX, white = 0, key;
    for (uint32_t y = 0; y < c->height; y++)
        for (uint32_t x = 0; x < c->width; x++)
            if (like_key(image, x, y, &key)) {
                black = key < black ? key : black;
                white = key > white ? key : white;
            }
    const TransferShape shape = shape_of(image, -1, false);
    Clahe *clahe;
    cr_assert_eq(
        clahe_create(NULL, &method, &shape, c->width, c->height, black, white, &clahe, NULL),
        IMGSTAT_OK);
    return clahe;
}

/* Counts, tables and pixels like opencv, one after the other, in two bands; returns how many
 * pixels. */
static size_t compare_opencv(const LikeCase *c, uint64_t *seed)
{
    ImagePro image;
    uint8_t *mask;
    Clahe *const clahe = begin_like(c, IMGSTAT_LIKE_OPENCV, seed, &image, &mask);
    ImagePro out = image_like(&image, c->sample);
    const size_t pixels = (size_t)c->width * c->height;
    const uint32_t bins = 1u << 8 * imgstat_sample_bytes(c->sample);
    uint64_t *const counts = calloc((size_t)6 * bins, sizeof *counts);
    uint32_t *const table = calloc((size_t)6 * bins, sizeof *table);
    cr_assert(counts && table);
    uint64_t key;
    for (uint32_t p = 0; p < clahe->x.padded * clahe->y.padded; p++) {
        const uint32_t px = p % clahe->x.padded, py = p / clahe->x.padded;
        if (like_key(&image, clahe_reflect(px, c->width), clahe_reflect(py, c->height), &key))
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
    cr_assert_not(clahe->unchanged);
    for (int k = 0; k < 2; k++)
        clahe_apply(clahe, &bands[k], 0, &outs[k]);
    compare_pixels(clahe, &image, &out, table);
    free(mask);
    free(counts);
    free(table);
    clahe_destroy(clahe);
    imgstat_image_release(&out);
    imgstat_image_release(&image);
    return pixels;
}

/* By the loops for a set of instructions: of whole tiles and of padded ones; those of many and of
 * few levels for their pixels; more of a level than 16 bits can count. */
static void compare_opencv_level(CpuLevel level)
{
    static const LikeCase cases[] = {
        {.sample = IMGSTAT_U8, .width = 1200, .height = 33},
        {.sample = IMGSTAT_U8, .width = 1201, .height = 35, .undefined = true},
        {.sample = IMGSTAT_U8, .width = 37, .height = 300, .levels = 90},
        {.sample = IMGSTAT_U8, .width = 2, .height = 3},
        {.sample = IMGSTAT_U8, .width = 203, .height = 61, .levels = 1},
        {.sample = IMGSTAT_U16, .width = 203, .height = 61, .levels = 1},
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
    use_processor_level(level);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        compared += compare_opencv(&cases[k], &seed);
    cr_assert_gt(compared, 2500000);
}

Test(clahe_like, opencv_by_portable_loops)
{
    compare_opencv_level(PROCESSOR_PORTABLE);
}

Test(clahe_like, opencv_by_avx2)
{
    compare_opencv_level(PROCESSOR_AVX2);
}

Test(clahe_like, opencv_by_avx512)
{
    compare_opencv_level(PROCESSOR_AVX512);
}

/* The gray of a pixel, from the tables and positions of an instance. */
static uint32_t skimage_gray(const Clahe *clahe, uint32_t x, uint32_t y, uint64_t key)
{
    const ClaheBlend bx = clahe->x.blend[x], by = clahe->y.blend[y];
    const uint32_t *const first = clahe->share + (size_t)by.first * clahe->x.tiles * clahe->bins;
    const uint32_t *const second = clahe->share + (size_t)by.second * clahe->x.tiles * clahe->bins;
    const size_t left = bx.first * clahe->bins + clahe->position[key];
    const size_t right = bx.second * clahe->bins + clahe->position[key];
    const uint32_t level[4] = {first[left], first[right], second[left], second[right]};
    return clahe_skimage(level, clahe->x.part[x], clahe->y.part[y]);
}

/* Extremes of the grays, and pixels, like skimage, one after the other, in two bands; returns how
 * many pixels. */
static size_t compare_skimage(const LikeCase *c, uint64_t *seed)
{
    ImagePro image;
    uint8_t *mask;
    Clahe *const clahe = begin_like(c, IMGSTAT_LIKE_SKIMAGE, seed, &image, &mask);
    ImagePro out = image_like(&image, c->sample);
    const size_t pixels = (size_t)c->width * c->height, bytes = imgstat_sample_bytes(c->sample);
    uint64_t key;
    cr_assert_not(clahe->unchanged);
    for (size_t t = 0; t < (size_t)clahe->x.tiles * clahe->y.tiles; t++)
        clahe_count(clahe, t, &image, 0);
    clahe_finish(clahe);
    const uint32_t half = c->height / 2, rest = c->height - half;
    ImagePro bands[] = {image_band(&image, 0, half), image_band(&image, half, rest)};
    ImagePro outs[] = {image_band(&out, 0, half), image_band(&out, half, rest)};
    for (int k = 0; k < 2; k++)
        clahe_observe(clahe, &bands[k], 0);
    for (int k = 0; k < 2; k++)
        clahe_apply(clahe, &bands[k], 0, &outs[k]);
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t y = 0; y < c->height; y++)
        for (uint32_t x = 0; x < c->width; x++)
            if (like_key(&image, x, y, &key)) {
                const uint32_t gray = skimage_gray(clahe, x, y, key);
                least = gray < least ? gray : least;
                most = gray > most ? gray : most;
            }
    cr_assert_eq(clahe->out_min, least);
    cr_assert_eq(clahe->out_max, most);
    for (uint32_t y = 0; y < c->height; y++)
        for (uint32_t x = 0; x < c->width; x++) {
            if (!like_key(&image, x, y, &key))
                continue;
            const uint64_t expected =
                clahe_skimage_key(skimage_gray(clahe, x, y, key), least, most, clahe->to.hi_key);
            const uint64_t mapped = load_raw(image_row(&out, y) + x * bytes, bytes);
            cr_assert_eq(sample_key(c->sample, mapped), range_avoid(&clahe->to, expected),
                         "%s, %ux%u, at %u,%u", imgstat_sample_name(c->sample), c->width, c->height,
                         x, y);
        }
    free(mask);
    clahe_destroy(clahe);
    imgstat_image_release(&out);
    imgstat_image_release(&image);
    return pixels;
}

static void compare_skimage_level(CpuLevel level)
{
    static const LikeCase cases[] = {
        {.sample = IMGSTAT_U8, .width = 1200, .height = 33},
        {.sample = IMGSTAT_U8, .width = 1201, .height = 35, .undefined = true},
        {.sample = IMGSTAT_U8, .width = 7, .height = 9},
        {.sample = IMGSTAT_U16, .width = 203, .height = 61, .levels = 1},
        {.sample = IMGSTAT_U16, .width = 1200, .height = 133},
        {.sample = IMGSTAT_U16, .width = 1201, .height = 35, .undefined = true},
        {.sample = IMGSTAT_U16, .width = 37, .height = 300, .levels = 3000},
        {.sample = IMGSTAT_U16, .width = 809, .height = 110, .levels = 901, .flat = true}};
    uint64_t seed = 22;
    size_t compared = 0;
    use_processor_level(level);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        compared += compare_skimage(&cases[k], &seed);
    cr_assert_gt(compared, 380000);
}

Test(clahe_like, skimage_by_portable_loops)
{
    compare_skimage_level(PROCESSOR_PORTABLE);
}

Test(clahe_like, skimage_by_avx2)
{
    compare_skimage_level(PROCESSOR_AVX2);
}

Test(clahe_like, skimage_by_avx512)
{
    compare_skimage_level(PROCESSOR_AVX512);
}

/* Before, the area was an int, and that of a tile of 65,536 x 65,536 pixels 0. */
Test(clahe_like, tiles_may_be_larger_than_an_int)
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
