/* SPDX-License-Identifier: MIT */
/* test_luma_wide.c: luma of floats, doubles and 32-bit integers, and colours at a new one, give the
 * bits of luma.h, pixel by pixel. */
#include "cpu/loops.h"
#include "cpu/map_rows.h"
#include "helper_draw.h"
#include "helper_level.h"
#include "helper_transform.h"
#include "transfer/luma.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { MOST_CHANNELS = 5, ROUNDS = 60, KNOTS = 300 };

static const ImgstatSample inputs[] = {IMGSTAT_U32, IMGSTAT_I32, IMGSTAT_F32, IMGSTAT_F64};
static const ImgstatSample outputs[] = {IMGSTAT_U8,  IMGSTAT_I8,  IMGSTAT_U16, IMGSTAT_I16,
                                        IMGSTAT_U32, IMGSTAT_I32, IMGSTAT_F32, IMGSTAT_F64};

/* Mostly of a value that images have; one of 40 any bits, undefined ones among them. */
static uint64_t draw_raw(ImgstatSample s)
{
    return draw() % 40 ? sample_raw(s, draw_key(s)) : draw() >> 5 & all_bits(s);
}

static bool is_valid(ImgstatSample s, uint64_t key, bool has_nodata, uint64_t nodata)
{
    return !map_undefined(s, key) && !(has_nodata && key == nodata);
}

/* Keys of a colour brought to the luma `to`. */
static void scaled_keys(ImgstatSample in, const uint64_t key[3], const MapRange *range, uint64_t to,
                        uint64_t out[3])
{
    const double colour[3] = {map_value(in, key[0]), map_value(in, key[1]), map_value(in, key[2])};
    double scaled[3];
    luma_scale_value(colour, luma_black(in), map_value(range->sample, to), range->hi,
                     luma_black(range->sample), scaled);
    for (size_t c = 0; c < 3; c++)
        out[c] = range_avoid(range, range_key(range, scaled[c]));
}

/* ---- Blocks -------------------------------------------------------------------------------- */

static uint64_t luma_of(ImgstatSample s, const uint64_t key[3])
{
    return map_key(s, luma_value(map_value(s, key[0]), map_value(s, key[1]), map_value(s, key[2])));
}

/* How many pixels were compared, and in *without those that have no luma. */
static size_t check_block(ImgstatSample in, ImgstatSample out, unsigned channels, size_t *without)
{
    static unsigned char from[8 * LUMA_BLOCK * MOST_CHANNELS], luma[8 * LUMA_BLOCK];
    static unsigned char to[8 * LUMA_BLOCK * MOST_CHANNELS + 1];
    const size_t in_bytes = sample_bits(in) / 8, out_bytes = sample_bits(out) / 8;
    const size_t n = LUMA_BLOCK - draw() % 2 * (draw() % LUMA_BLOCK);
    const bool has_nodata = draw() % 2, has_mask = draw() % 2;
    const uint64_t nodata = draw_key(in);
    const LumaWide wide = {in, channels, has_nodata ? map_value(in, nodata) : NAN};
    const MapRange range = draw_range(out);
    uint8_t mask[LUMA_BLOCK];
    LumaBlock block;
    bool all = true;
    for (size_t i = 0; i < n * channels; i++)
        store_raw(from + i * in_bytes, in_bytes,
                  draw() % 20 ? draw_raw(in) : sample_raw(in, nodata));
    for (size_t i = 0; i < n; i++) {
        mask[i] = draw() % 16 ? 255 : 0;
        store_raw(luma + i * out_bytes, out_bytes, sample_raw(out, draw_key(out)));
    }
    memset(to, 0xA5, sizeof to);
    cpu_loops()->luma_wide_load(&wide, from, has_mask ? mask : NULL, n, &block);
    cpu_loops()->luma_wide_store(&wide, &block, luma, n, &range, to);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *const at = from + i * channels * in_bytes;
        uint64_t key[3], wanted[3];
        bool has = !has_mask || mask[i];
        for (size_t c = 0; c < 3; c++) {
            key[c] = sample_key(in, load_raw(at + c * in_bytes, in_bytes));
            has = has && is_valid(in, key[c], has_nodata, nodata);
        }
        all = all && has;
        *without += !has;
        const uint64_t expected = has ? sample_raw(in, luma_of(in, key)) : 0;
        cr_assert_eq(block.has[i], has);
        cr_assert(load_raw(block.luma + i * in_bytes, in_bytes) == expected ||
                      map_undefined(in, sample_key(in, expected)),
                  "luma of %s", imgstat_sample_name(in));
        if (!has)
            continue;
        scaled_keys(in, key, &range, sample_key(out, load_raw(luma + i * out_bytes, out_bytes)),
                    wanted);
        for (unsigned c = 0; c < channels; c++) {
            const uint64_t got = load_raw(to + (i * channels + c) * out_bytes, out_bytes);
            const uint64_t untouched = 0xA5A5A5A5A5A5A5A5u & all_bits(out);
            cr_assert_eq(got, c < 3 ? sample_raw(out, wanted[c]) : untouched,
                         "%s to %s, %u channels, %u of pixel %zu: %llx", imgstat_sample_name(in),
                         imgstat_sample_name(out), channels, c, i, (unsigned long long)got);
        }
    }
    cr_assert_eq(block.all, all);
    cr_assert_eq(to[n * channels * out_bytes], 0xA5);
    return n;
}

static void check_level(CpuLevel level)
{
    size_t compared = 0, without = 0;
    use_processor_level(level);
    for (size_t f = 0; f < sizeof inputs / sizeof *inputs; f++)
        for (size_t t = 0; t < sizeof outputs / sizeof *outputs; t++)
            for (unsigned round = 0; round < ROUNDS; round++)
                compared += check_block(inputs[f], outputs[t], 3 + round % 3, &without);
    fprintf(stderr, "%s: %zu pixels, %zu without luma\n", cpu_features_level_names[level], compared,
            without);
    cr_assert(compared > 100000 && without > compared / 20 && without < compared / 2);
}

Test(luma_wide, bits_of_luma_scale_value_by_portable_loops)
{
    check_level(PROCESSOR_PORTABLE);
}

Test(luma_wide, bits_of_luma_scale_value_by_avx2)
{
    check_level(PROCESSOR_AVX2);
}

Test(luma_wide, bits_of_luma_scale_value_by_avx512)
{
    check_level(PROCESSOR_AVX512);
}

/* ---- Images -------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const uint64_t x = ((const RankKnot *)a)->key, y = ((const RankKnot *)b)->key;
    return (x > y) - (x < y);
}

/* An equalizing transfer through knots that are drawn. */
static Transfer *draw_transfer(const ImagePro *image, int16_t alpha, ImgstatDepth depth)
{
    static RankKnot knots[KNOTS];
    uint32_t n = 0;
    for (size_t k = 0; k < KNOTS; k++)
        knots[k].key = draw_key(image->sample);
    qsort(knots, KNOTS, sizeof *knots, by_key);
    for (size_t k = 0; k < KNOTS; k++)
        if (n == 0 || knots[k].key > knots[n - 1].key)
            knots[n++].key = knots[k].key;
    for (uint64_t k = 0; k < n; k++) {
        knots[k].below = 9 * k;
        knots[k].upto = 9 * k + 9;
    }
    RankTable ranks = {.n = (uint64_t)9 * n, .n_knots = n, .knots = knots};
    const MapSource source = {.n = ranks.n, .ranks = &ranks};
    const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE, .depth = depth};
    const TransferShape shape = shape_of(image, alpha, true);
    Transfer *transfer;
    cr_assert_eq(transfer_create(NULL, &method, &shape, &source, NULL, &transfer, NULL),
                 IMGSTAT_OK);
    cr_assert(transfer->luma);
    return transfer;
}

/* The samples that a pixel becomes. */
static void expect_pixel(const Transfer *transfer, const ImagePro *image, int16_t alpha,
                         const unsigned char *at, bool masked, uint64_t *raw)
{
    const ImgstatSample in = image->sample, out = transfer->range.sample;
    const size_t bytes = sample_bits(in) / 8;
    uint64_t key[3], made[3];
    bool has = !masked;
    for (size_t c = 0; c < 3; c++) {
        key[c] = sample_key(in, load_raw(at + c * bytes, bytes));
        has = has && is_valid(in, key[c], image->has_nodata, image->nodata_key);
    }
    if (has)
        scaled_keys(in, key, &transfer->range, map_sample(&transfer->maps[0], luma_of(in, key)),
                    made);
    for (unsigned c = 0; c < image->channels; c++)
        raw[c] = has && c < 3 ? sample_raw(out, made[c])
                              : map_raw(masked || (int)c == alpha ? &transfer->rescale
                                                                  : &transfer->passthrough,
                                        in, out, load_raw(at + c * bytes, bytes));
}

static size_t check_image(ImgstatSample in, ImgstatDepth depth, uint16_t channels)
{
    enum { WIDTH = 2 * LUMA_BLOCK + 45, HEIGHT = 3 };
    static uint8_t mask[WIDTH * HEIGHT];
    const size_t bytes = sample_bits(in) / 8;
    int16_t alpha = -1;
    if (channels > 3)
        alpha = (int16_t)(3 + draw() % (channels - 3u));
    ImagePro image = image_of(NULL, WIDTH, HEIGHT, channels, in, 0);
    image.has_nodata = draw() % 2;
    image.nodata_key = draw_key(in);
    for (uint32_t y = 0; y < HEIGHT; y++)
        for (size_t i = 0; i < (size_t)WIDTH * channels; i++)
            store_raw(row_of(&image, y) + i * bytes, bytes,
                      y == 0 || draw() % 50 ? sample_raw(in, draw_key(in)) : draw_raw(in));
    for (size_t i = 0; i < sizeof mask; i++)
        mask[i] = draw() % 30 ? 255 : 0;
    if (draw() % 2) {
        image.mask = mask;
        image.mask_pitch = WIDTH;
    }
    Transfer *const transfer = draw_transfer(&image, alpha, depth);
    const ImgstatSample out = transfer->range.sample;
    const size_t out_bytes = sample_bits(out) / 8;
    ImagePro made = image_like(&image, out);
    cr_assert_eq(transfer_apply(transfer, &image, alpha, &made, NULL), IMGSTAT_OK);
    for (uint32_t y = 0; y < HEIGHT; y++)
        for (size_t x = 0; x < WIDTH; x++) {
            uint64_t expected[MOST_CHANNELS];
            const bool masked = image.mask && !mask[y * WIDTH + x];
            expect_pixel(transfer, &image, alpha, image_row(&image, y) + x * channels * bytes,
                         masked, expected);
            for (unsigned c = 0; c < channels; c++)
                cr_assert_eq(
                    load_raw(image_row(&made, y) + (x * channels + c) * out_bytes, out_bytes),
                    expected[c], "%s to %s, %u channels, %u of %zu,%u", imgstat_sample_name(in),
                    imgstat_sample_name(out), channels, c, x, y);
        }
    if (in == out) { /* in place */
        cr_assert_eq(transfer_apply(transfer, &image, alpha, &image, NULL), IMGSTAT_OK);
        cr_assert(image_equal(&image, &made), "in place");
    }
    image.mask = NULL;
    transfer_destroy(transfer);
    imgstat_image_release(&made);
    imgstat_image_release(&image);
    return WIDTH * HEIGHT;
}

/* Rows of a plane are blocks that the last one of does not fill. */
Test(luma_wide, planes)
{
    enum { WIDTH = LUMA_BLOCK + 9, HEIGHT = 4 };
    size_t without = 0;
    for (size_t f = 0; f < sizeof inputs / sizeof *inputs; f++) {
        const ImgstatSample s = inputs[f];
        const size_t bytes = sample_bits(s) / 8;
        ImagePro image = image_of(NULL, WIDTH, HEIGHT, 4, s, 0), luma;
        image.has_nodata = true;
        image.nodata_key = draw_key(s);
        for (uint32_t y = 0; y < HEIGHT; y++)
            for (size_t i = 0; i < (size_t)WIDTH * 4; i++)
                store_raw(row_of(&image, y) + i * bytes, bytes,
                          sample_raw(s, draw() % 20 ? draw_key(s) : image.nodata_key));
        cr_assert_eq(luma_plane(NULL, &image, &luma, NULL), IMGSTAT_OK);
        for (uint32_t y = 0; y < HEIGHT; y++)
            for (size_t x = 0; x < WIDTH; x++) {
                uint64_t key[3];
                bool has = true;
                for (size_t c = 0; c < 3; c++) {
                    key[c] =
                        sample_key(s, load_raw(image_row(&image, y) + (4 * x + c) * bytes, bytes));
                    has = has && key[c] != image.nodata_key;
                }
                without += !has;
                cr_assert_eq(mask_row(&luma, y)[x], has);
                cr_assert_eq(load_raw(image_row(&luma, y) + x * bytes, bytes),
                             has ? sample_raw(s, luma_of(s, key)) : 0);
            }
        imgstat_image_release(&luma);
        imgstat_image_release(&image);
    }
    cr_assert_gt(without, 50);
}

Test(luma_wide, images)
{
    size_t compared = 0;
    for (size_t f = 0; f < sizeof inputs / sizeof *inputs; f++)
        for (ImgstatDepth depth = IMGSTAT_DEPTH_KEEP; depth <= IMGSTAT_DEPTH_FLOAT; depth++)
            for (unsigned round = 0; round < 12; round++)
                compared += check_image(inputs[f], depth, (uint16_t)(3 + round % 3));
    fprintf(stderr, "luma of wide images: %zu pixels compared\n", compared);
    cr_assert_gt(compared, 100000);
}
