/* SPDX-License-Identifier: MIT */
/* test_luma_narrow.c: luma of many pixels at a time, by every set of instructions, against luma.h;
 * nothing beyond the pixels is written. */
#include "cpu/loops.h"

#include "helper_transform.h"
#include "support.h"
#include "transfer/luma.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1000, MOST_CHANNELS = 5, GUARD = 64 };

static uint32_t sample_at(const unsigned char *at, unsigned bytes, size_t i)
{
    return (uint32_t)load_raw(at + i * bytes, bytes);
}

/* The colour and the target of one pixel; a third are halves: the luma is a whole number m, and the
 * factor (m / 2) / m. */
static void draw_pixel(uint64_t *seed, unsigned bytes, uint32_t colour[3], uint32_t *to)
{
    static const uint32_t some[] = {0,   0,   1,   2,     3,     127,   128,
                                    254, 255, 256, 32767, 32768, 65534, 65535};
    const uint32_t all = bytes == 1 ? 255 : 65535;
    const uint64_t kind = splitmix64(seed) % 6;
    for (uint32_t c = 0; c < 3; c++)
        colour[c] = (uint32_t)(kind == 0 ? some[splitmix64(seed) % 14] : splitmix64(seed)) & all;
    *to = (uint32_t)(kind < 3 ? some[splitmix64(seed) % 14] : splitmix64(seed)) & all;
    if (kind < 4)
        return;
    if (bytes == 1) { /* a gray, or the largest component twice the others */
        colour[1] = colour[0] = colour[2] / (kind == 4 ? 1 : 2);
        return;
    }
    /* 46871 has an inverse modulo 2^16: a green that makes the luma whole */
    uint32_t inverse = 1;
    for (int k = 0; k < 5; k++)
        inverse *= 2 - LUMA_GREEN * inverse;
    colour[1] = (0u - (colour[0] * LUMA_RED + colour[2] * LUMA_BLUE)) * inverse & 0xFFFFu;
    const uint32_t whole = luma_key(colour[0], colour[1], colour[2]);
    *to = kind == 4 ? whole / 2 : whole / 2 * 3 & 0xFFFFu;
}

/* Whether a quotient of the pixel is a half. */
static bool is_half(const uint32_t colour[3], uint32_t to)
{
    const uint64_t fine = luma_fine(colour[0], colour[1], colour[2]);
    for (int c = 0; fine && c < 3; c++)
        if (((uint64_t)to << 17) * colour[c] % fine == 0 &&
            ((uint64_t)to << 17) * colour[c] / fine % 2)
            return true;
    return false;
}

static MapRange draw_range(uint64_t *seed, unsigned bytes)
{
    const uint32_t top = bytes == 1 ? 255 : 65535;
    MapRange range = {.sample = bytes == 1 ? IMGSTAT_U8 : IMGSTAT_U16, .hi_key = top};
    if (splitmix64(seed) % 2) {
        range.lo_key = splitmix64(seed) % top;
        range.hi_key = range.lo_key + 1 + splitmix64(seed) % (top - range.lo_key);
        range.has_nodata = splitmix64(seed) % 2;
        range.nodata_key = splitmix64(seed) % 2 ? range.hi_key : splitmix64(seed) % (top + 1);
    }
    return range;
}

typedef struct Pixels {
    unsigned bytes, channels;
    size_t n;
    MapRange range;
    unsigned char from[MOST * MOST_CHANNELS * 2], luma[MOST * 2];
    unsigned char expected[MOST * MOST_CHANNELS * 2], expected_luma[MOST * 2];
} Pixels;

static size_t draw_pixels(uint64_t *seed, Pixels *p)
{
    size_t halves = 0;
    for (size_t i = 0; i < p->n; i++) {
        const size_t first = i * p->channels;
        uint32_t colour[3], to, scaled[3];
        draw_pixel(seed, p->bytes, colour, &to);
        halves += is_half(colour, to);
        luma_scale(colour, to, (uint32_t)p->range.hi_key, scaled);
        store_raw(p->luma + i * p->bytes, p->bytes, to);
        store_raw(p->expected_luma + i * p->bytes, p->bytes,
                  luma_key(colour[0], colour[1], colour[2]));
        for (unsigned c = 0; c < p->channels; c++) {
            const uint64_t other = splitmix64(seed) & (p->bytes == 1 ? 255 : 65535);
            const size_t at = (first + c) * p->bytes;
            store_raw(p->from + at, p->bytes, c < 3 ? colour[c] : other);
            store_raw(p->expected + at, p->bytes,
                      c < 3 ? range_avoid(&p->range, range_clamp(&p->range, scaled[c])) : other);
        }
    }
    return halves;
}

static void expect_bytes(const unsigned char *out, size_t shift, const unsigned char *expected,
                         const Pixels *p, unsigned channels, const char *name)
{
    const size_t bytes = p->n * channels * p->bytes;
    cr_assert(guard_holds(out, GUARD + shift) && guard_holds(out + GUARD + shift + bytes, GUARD));
    for (size_t i = 0; i < p->n * channels; i++)
        cr_assert_eq(sample_at(out + GUARD + shift, p->bytes, i), sample_at(expected, p->bytes, i),
                     "%s, %u bytes, %u channels: pixel %zu of %zu at luma %u: %u, not %u", name,
                     p->bytes, p->channels, i / channels, p->n,
                     sample_at(p->luma, p->bytes, i / channels),
                     sample_at(out + GUARD + shift, p->bytes, i), sample_at(expected, p->bytes, i));
}

static void check(CpuLevel level, const Pixels *p, size_t shift)
{
    static unsigned char out[MOST * MOST_CHANNELS * 2 + 3 * GUARD];
    const CpuLoops *const loops = cpu_loops_of(level);
    const char *const name = cpu_features_level_names[level];
    unsigned char *const to = out + GUARD + shift;
    const size_t bytes = p->n * p->channels * p->bytes;
    guard_fill(out, sizeof out);
    loops->luma_narrow(p->from, p->bytes, p->channels, p->n, to);
    expect_bytes(out, shift, p->expected_luma, p, 1, name);
    guard_fill(out, sizeof out);
    loops->luma_narrow_scale(p->from, p->bytes, p->channels, p->n, p->luma, &p->range, to);
    expect_bytes(out, shift, p->expected, p, p->channels, name);
    memcpy(to, p->from, bytes); /* in place */
    loops->luma_narrow_scale(to, p->bytes, p->channels, p->n, p->luma, &p->range, to);
    expect_bytes(out, shift, p->expected, p, p->channels, name);
}

Test(luma_rescale, bits_of_luma_scale)
{
    static const size_t sizes[] = {0, 1, 2, 3, 15, 16, 17, 255, 256, 257, 513, MOST};
    static Pixels pixels;
    uint64_t seed = 23;
    size_t halves = 0, compared = 0, n_levels = 0;
    for (size_t round = 0; round < 40; round++)
        for (pixels.bytes = 1; pixels.bytes <= 2; pixels.bytes++)
            for (pixels.channels = 3; pixels.channels <= MOST_CHANNELS; pixels.channels++) {
                pixels.n = round < 12 ? sizes[round] : MOST;
                pixels.range = draw_range(&seed, pixels.bytes);
                halves += draw_pixels(&seed, &pixels);
                for (CpuLevel level = PROCESSOR_PORTABLE;
                     level < PROCESSOR_LEVELS && cpu_features_supports(level); level++) {
                    check(level, &pixels, round % 3);
                    compared += pixels.n;
                    n_levels = level + 1u;
                }
            }
    fprintf(stderr, "luma_rescale: %zu pixels compared, %zu halves, %zu variants\n", compared,
            halves, n_levels);
    cr_assert_gt(compared, 100000);
    cr_assert_gt(halves, 1000);
}

/* Every colour of bytes, to a few lumas. */
Test(luma_rescale, every_colour)
{
    enum { ROW = 256 };
    static const uint8_t lumas[] = {1, 2, 77, 128, 255};
    const MapRange range = {.sample = IMGSTAT_U8, .hi_key = 255};
    unsigned char from[ROW * 3], luma[ROW], out[ROW * 3];
    size_t compared = 0;
    for (uint32_t colour = 0; colour < 1u << 24; colour += ROW * 5) { /* and so every fifth row */
        const uint8_t to = lumas[colour / ROW % sizeof lumas];
        for (uint32_t i = 0; i < ROW; i++) {
            from[3 * i] = (uint8_t)(colour >> 16);
            from[3 * i + 1] = (uint8_t)(colour >> 8);
            from[3 * i + 2] = (uint8_t)i;
            luma[i] = to;
        }
        cpu_loops()->luma_narrow_scale(from, 1, 3, ROW, luma, &range, out);
        for (uint32_t i = 0; i < ROW; i++) {
            const uint32_t key[3] = {from[3 * i], from[3 * i + 1], from[3 * i + 2]};
            uint32_t scaled[3];
            luma_scale(key, to, 255, scaled);
            for (uint32_t c = 0; c < 3; c++)
                cr_assert_eq(out[3 * i + c], scaled[c], "%u,%u,%u at %u", key[0], key[1], key[2],
                             to);
            compared++;
        }
    }
    fprintf(stderr, "luma_rescale: %zu colours\n", compared);
    cr_assert_gt(compared, 3000000);
}

/* ---- Images -------------------------------------------------------------------------------- */

/* An image with a mask that leaves nothing out goes one pixel at a time. */
Test(luma_rescale, images_with_and_without_a_mask)
{
    static const ImgstatSample types[] = {IMGSTAT_U8, IMGSTAT_U16};
    uint64_t seed = 5;
    size_t compared = 0;
    for (size_t round = 0; round < 12; round++) {
        const size_t t = round % 2;
        const uint16_t channels = 3 + round / 2 % 2;
        const ImgstatDepth depth = (ImgstatDepth)(IMGSTAT_DEPTH_KEEP + round / 4);
        enum { WIDTH = 1031, HEIGHT = 5 };
        static uint8_t mask[WIDTH * HEIGHT];
        ImagePro image = image_of(NULL, WIDTH, HEIGHT, channels, types[t], 0);
        memset(mask, 1, sizeof mask);
        for (uint32_t y = 0; y < HEIGHT; y++)
            for (size_t i = 0; i < WIDTH * channels * imgstat_sample_bytes(types[t]); i++)
                row_of(&image, y)[i] = (unsigned char)(splitmix64(&seed) % (i % 256 + 1));
        const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE, .depth = depth};
        const int16_t alpha = channels == 4 ? 3 : -1;
        ImagePro fast = transformed(&method, &image, alpha, true);
        image.mask = mask;
        image.mask_pitch = WIDTH;
        ImagePro plain = transformed(&method, &image, alpha, true);
        cr_assert(image_equal(&fast, &plain), "%s to %s, %u channels",
                  imgstat_sample_name(types[t]), imgstat_sample_name(fast.sample), channels);
        compared += WIDTH * HEIGHT;
        image.mask = NULL;
        imgstat_image_release(&fast);
        imgstat_image_release(&plain);
        imgstat_image_release(&image);
    }
    cr_assert_gt(compared, 60000);
}

/* What a pixel becomes; it keeps its samples where it is masked or a colour is nodata. */
static void expect_pixel(const Transfer *transfer, const ImagePro *image, const unsigned char *at,
                         bool masked, uint64_t *expected)
{
    const size_t bytes = imgstat_sample_bytes(image->sample);
    const MapRange *const range = &transfer->range;
    uint32_t colour[3], scaled[3];
    uint64_t key[3];
    bool has = !masked;
    for (unsigned c = 0; c < image->channels; c++)
        expected[c] = load_raw(at + c * bytes, bytes);
    for (unsigned c = 0; c < 3; c++) {
        key[c] = expected[c];
        colour[c] = (uint32_t)key[c];
        has = has && !(image->has_nodata && key[c] == image->nodata_key);
    }
    if (!has)
        return;
    luma_scale(colour, transfer->tables[luma_of_keys(image->sample, key)], (uint32_t)range->hi_key,
               scaled);
    for (unsigned c = 0; c < 3; c++)
        expected[c] = range_avoid(range, range_clamp(range, scaled[c]));
}

Test(luma_rescale, pixels_without_a_luma)
{
    enum { WIDTH = 1031, HEIGHT = 3 };
    static uint8_t mask[WIDTH * HEIGHT];
    uint64_t seed = 9;
    size_t kept = 0, moved = 0;
    for (size_t round = 0; round < 48; round++) {
        const ImgstatSample sample = round % 2 ? IMGSTAT_U16 : IMGSTAT_U8;
        const uint16_t channels = (uint16_t)(3 + round / 2 % 3);
        const size_t bytes = imgstat_sample_bytes(sample);
        const int16_t alpha = channels > 3 ? 3 : -1;
        ImgstatError err = {0};
        ImagePro image = image_of(NULL, WIDTH, HEIGHT, channels, sample, 0), plane;
        for (uint32_t y = 0; y < HEIGHT; y++)
            for (size_t i = 0; i < (size_t)WIDTH * channels; i++)
                store_raw(row_of(&image, y) + i * bytes, bytes, splitmix64(&seed) % (i % 97 + 5));
        for (size_t i = 0; i < sizeof mask; i++) /* and a row without any */
            mask[i] = i >= 2 * WIDTH || splitmix64(&seed) % 7 > 0;
        image.has_nodata = round / 6 % 4 != 1;
        image.nodata_key = round / 6 % 4 == 2 ? 1u << 20 : round % 5; /* no sample has it */
        image.mask = round / 6 % 4 > 0 ? mask : NULL;
        image.mask_pitch = WIDTH;
        cr_assert_eq(luma_plane(NULL, &image, &plane, &err), IMGSTAT_OK, "%s", err.message);
        Record *const record = plain_record(&plane);
        const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE};
        const TransferShape shape = shape_of(&image, alpha, true);
        Transfer *transfer;
        cr_assert_eq(transfer_create_counts(&method, &shape, record, NULL, NULL, &transfer, &err),
                     IMGSTAT_OK, "%s", err.message);
        cr_assert(transfer->luma);
        ImagePro made = image_like(&image, sample);
        cr_assert_eq(transfer_apply(transfer, &image, alpha, &made, &err), IMGSTAT_OK, "%s",
                     err.message);
        for (uint32_t y = 0; y < HEIGHT; y++)
            for (size_t x = 0; x < WIDTH; x++) {
                uint64_t expected[MOST_CHANNELS];
                const unsigned char *const at = image_row(&image, y) + x * channels * bytes;
                expect_pixel(transfer, &image, at, image.mask && !mask[y * WIDTH + x], expected);
                if (plane.mask && !mask_row(&plane, y)[x])
                    cr_assert_eq(load_raw(image_row(&plane, y) + x * bytes, bytes), 0);
                bool same = true;
                for (unsigned c = 0; c < channels; c++) {
                    same = same && load_raw(at + c * bytes, bytes) == expected[c];
                    cr_assert_eq(load_raw(image_row(&made, y) + (x * channels + c) * bytes, bytes),
                                 expected[c], "%s, round %zu: %u of %zu,%u",
                                 imgstat_sample_name(sample), round, c, x, y);
                }
                kept += same;
                moved += !same;
            }
        cr_assert_eq(transfer_apply(transfer, &image, alpha, &image, &err), IMGSTAT_OK);
        cr_assert(image_equal(&image, &made), "in place");
        image.mask = NULL;
        transfer_destroy(transfer);
        record_destroy(record);
        imgstat_image_release(&plane);
        imgstat_image_release(&made);
        imgstat_image_release(&image);
    }
    cr_assert_gt(kept, 10000);
    cr_assert_gt(moved, 50000);
}
