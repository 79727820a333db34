/* SPDX-License-Identifier: MIT */
/* test_recolour.c: luma of many pixels at a time, by every set of instructions, against luma.h;
 * nothing beyond the pixels is written. */
#include "recolour.h"

#include "helper_transform.h"
#include "luma.h"

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
    const uint64_t kind = seeded_next(seed) % 6;
    for (uint32_t c = 0; c < 3; c++)
        colour[c] = (uint32_t)(kind == 0 ? some[seeded_next(seed) % 14] : seeded_next(seed)) & all;
    *to = (uint32_t)(kind < 3 ? some[seeded_next(seed) % 14] : seeded_next(seed)) & all;
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
    if (seeded_next(seed) % 2) {
        range.lo_key = seeded_next(seed) % top;
        range.hi_key = range.lo_key + 1 + seeded_next(seed) % (top - range.lo_key);
        range.has_nodata = seeded_next(seed) % 2;
        range.nodata_key = seeded_next(seed) % 2 ? range.hi_key : seeded_next(seed) % (top + 1);
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
            const uint64_t other = seeded_next(seed) & (p->bytes == 1 ? 255 : 65535);
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
    for (size_t i = 0; i < GUARD + shift; i++)
        cr_assert_eq(out[i], 0xA5);
    for (size_t i = 0; i < GUARD; i++)
        cr_assert_eq(out[GUARD + shift + bytes + i], 0xA5);
    for (size_t i = 0; i < p->n * channels; i++)
        cr_assert_eq(sample_at(out + GUARD + shift, p->bytes, i), sample_at(expected, p->bytes, i),
                     "%s, %u bytes, %u channels: pixel %zu of %zu at luma %u: %u, not %u", name,
                     p->bytes, p->channels, i / channels, p->n,
                     sample_at(p->luma, p->bytes, i / channels),
                     sample_at(out + GUARD + shift, p->bytes, i), sample_at(expected, p->bytes, i));
}

static void check(ProcessorLevel level, const Pixels *p, size_t shift)
{
    static unsigned char out[MOST * MOST_CHANNELS * 2 + 3 * GUARD];
    const Recolours *const loops = recolours_of(level);
    const char *const name = processor_level_names[level];
    unsigned char *const to = out + GUARD + shift;
    const size_t bytes = p->n * p->channels * p->bytes;
    memset(out, 0xA5, sizeof out);
    loops->luma(p->from, p->bytes, p->channels, p->n, to);
    expect_bytes(out, shift, p->expected_luma, p, 1, name);
    memset(out, 0xA5, sizeof out);
    loops->scale(p->from, p->bytes, p->channels, p->n, p->luma, &p->range, to);
    expect_bytes(out, shift, p->expected, p, p->channels, name);
    memcpy(to, p->from, bytes); /* in place */
    loops->scale(to, p->bytes, p->channels, p->n, p->luma, &p->range, to);
    expect_bytes(out, shift, p->expected, p, p->channels, name);
}

Test(recolour, bits_of_luma_scale)
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
                for (ProcessorLevel level = PROCESSOR_PORTABLE;
                     level < PROCESSOR_LEVELS && processor_supports(level); level++) {
                    check(level, &pixels, round % 3);
                    compared += pixels.n;
                    n_levels = level + 1u;
                }
            }
    fprintf(stderr, "recolour: %zu pixels compared, %zu halves, %zu variants\n", compared, halves,
            n_levels);
    cr_assert_gt(compared, 100000);
    cr_assert_gt(halves, 1000);
}

/* Every colour of bytes, to a few lumas. */
Test(recolour, every_colour)
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
        recolours()->scale(from, 1, 3, ROW, luma, &range, out);
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
    fprintf(stderr, "recolour: %zu colours\n", compared);
    cr_assert_gt(compared, 3000000);
}

/* ---- 32-bit floats ------------------------------------------------------------------------- */

enum { FLOATS = 1000 };

typedef struct Floats {
    unsigned channels;
    MapRange range;
    uint32_t from[FLOATS * MOST_CHANNELS], expected[FLOATS * MOST_CHANNELS];
    float luma[FLOATS], expected_luma[FLOATS];
    bool valid[FLOATS];
} Floats;

static uint32_t draw_float(uint64_t *seed)
{
    static const float some[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 1e-45f, 3.4028235e38f, -3.4e38f};
    const uint64_t kind = seeded_next(seed) % 16;
    float value = (float)(seeded_next(seed) % 20001) / 20000.0f;
    uint32_t raw;
    value = kind == 0 ? some[seeded_next(seed) % 8] : kind == 1 ? -value : value;
    memcpy(&raw, &value, sizeof raw);
    return kind == 2 ? (uint32_t)seeded_next(seed) : raw; /* any bits: NaN, infinities too */
}

static float finite_float(uint64_t *seed)
{
    float value;
    do {
        const uint32_t raw = draw_float(seed);
        memcpy(&value, &raw, sizeof value);
    } while (!isfinite(value));
    return value + 0.0f;
}

static uint64_t key_of_float(float value)
{
    uint32_t raw;
    memcpy(&raw, &value, sizeof raw);
    return sample_key(IMGSTAT_F32, raw);
}

static void draw_floats(uint64_t *seed, Floats *f)
{
    const float a = finite_float(seed), b = finite_float(seed);
    const bool whole = seeded_next(seed) % 2;
    f->range = (MapRange){.sample = IMGSTAT_F32,
                          .lo = whole ? 0.0 : (double)(a < b ? a : b),
                          .hi = whole ? 1.0 : (double)(a < b ? b : a),
                          .has_nodata = seeded_next(seed) % 2};
    f->range.lo_key = key_of_float((float)f->range.lo);
    f->range.hi_key = key_of_float((float)f->range.hi);
    f->range.nodata_key =
        seeded_next(seed) % 2 ? f->range.hi_key : key_of_float(finite_float(seed));
    for (size_t i = 0; i < FLOATS; i++) {
        uint32_t *const from = f->from + i * f->channels, *const out =
                                                              f->expected + i * f->channels;
        double colour[3], scaled[3];
        f->valid[i] = true;
        for (unsigned c = 0; c < f->channels; c++)
            from[c] = out[c] = draw_float(seed);
        for (unsigned c = 0; c < 3; c++) {
            const uint64_t key = sample_key(IMGSTAT_F32, from[c]);
            f->valid[i] = f->valid[i] && !map_undefined(IMGSTAT_F32, key);
            colour[c] = map_value(IMGSTAT_F32, key);
        }
        f->luma[i] = finite_float(seed);
        f->expected_luma[i] = 0.0f;
        if (!f->valid[i])
            continue;
        f->expected_luma[i] = (float)map_value(
            IMGSTAT_F32, map_key(IMGSTAT_F32, luma_value(colour[0], colour[1], colour[2])));
        luma_scale_value(colour, 0, (double)f->luma[i], f->range.hi, 0, scaled);
        for (unsigned c = 0; c < 3; c++)
            out[c] = (uint32_t)sample_raw(IMGSTAT_F32,
                                          range_avoid(&f->range, range_key(&f->range, scaled[c])));
    }
}

static void check_floats(ProcessorLevel level, const Floats *f, size_t n)
{
    static uint32_t out[(FLOATS + 1) * MOST_CHANNELS];
    float luma[FLOATS + 1];
    uint8_t valid[FLOATS + 1];
    const Recolours *const loops = recolours_of(level);
    const char *const name = processor_level_names[level];
    const size_t samples = n * f->channels;
    luma[n] = 77.0f;
    valid[n] = 77;
    loops->luma_float(f->from, f->channels, n, luma, valid);
    cr_assert(luma[n] == 77.0f && valid[n] == 77);
    cr_assert_eq(memcmp(luma, f->expected_luma, n * sizeof *luma), 0, "%s", name);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(valid[i], f->valid[i]);
    for (int in_place = 0; in_place < 2; in_place++) {
        memset(out, 0xA5, sizeof out);
        if (in_place)
            memcpy(out, f->from, samples * sizeof *out);
        loops->scale_float(in_place ? out : f->from, f->channels, n, f->luma, &f->range, out);
        for (size_t i = 0; i < samples; i++)
            cr_assert_eq(out[i], f->expected[i], "%s, %u channels, sample %zu: %08x, not %08x",
                         name, f->channels, i, out[i], f->expected[i]);
        cr_assert_eq(out[samples], 0xA5A5A5A5u);
    }
}

Test(recolour, bits_of_luma_scale_value)
{
    static const size_t sizes[] = {0, 1, 2, 15, 17, 255, 256, 257, FLOATS};
    static Floats floats;
    uint64_t seed = 31;
    size_t compared = 0, n_levels = 0;
    for (size_t round = 0; round < 60; round++)
        for (floats.channels = 3; floats.channels <= MOST_CHANNELS; floats.channels++) {
            const size_t n = round < 9 ? sizes[round] : FLOATS;
            draw_floats(&seed, &floats);
            for (ProcessorLevel level = PROCESSOR_PORTABLE;
                 level < PROCESSOR_LEVELS && processor_supports(level); level++) {
                check_floats(level, &floats, n);
                compared += n;
                n_levels = level + 1u;
            }
        }
    fprintf(stderr, "recolour: %zu pixels of floats compared, %zu variants\n", compared, n_levels);
    cr_assert_gt(compared, 100000);
}

/* ---- Images -------------------------------------------------------------------------------- */

/* An image with a mask that leaves nothing out goes one pixel at a time. */
Test(recolour, images_with_and_without_a_mask)
{
    static const ImgstatSample types[] = {IMGSTAT_U8, IMGSTAT_U16};
    uint64_t seed = 5;
    size_t compared = 0;
    for (size_t t = 0; t < 2; t++)
        for (uint16_t channels = 3; channels <= 4; channels++) {
            enum { WIDTH = 1031, HEIGHT = 5 };
            static uint8_t mask[WIDTH * HEIGHT];
            ImagePro image = image_of(NULL, WIDTH, HEIGHT, channels, types[t], 0);
            memset(mask, 1, sizeof mask);
            for (uint32_t y = 0; y < HEIGHT; y++)
                for (size_t i = 0; i < WIDTH * channels * imgstat_sample_bytes(types[t]); i++)
                    row_of(&image, y)[i] = (unsigned char)(seeded_next(&seed) % (i % 256 + 1));
            const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE};
            const int16_t alpha = channels == 4 ? 3 : -1;
            ImagePro fast = transformed(&method, &image, alpha, true);
            image.mask = mask;
            image.mask_pitch = WIDTH;
            ImagePro plain = transformed(&method, &image, alpha, true);
            cr_assert(image_equal(&fast, &plain), "%s, %u channels", imgstat_sample_name(types[t]),
                      channels);
            compared += WIDTH * HEIGHT;
            image.mask = NULL;
            imgstat_image_release(&fast);
            imgstat_image_release(&plain);
            imgstat_image_release(&image);
        }
    cr_assert_gt(compared, 20000);
}

/* A float image's luma, by a transfer through knots; NaN in it. */
Test(recolour, float_images_with_and_without_a_mask)
{
    enum { WIDTH = 1300, HEIGHT = 4, KNOTS = 300 };
    static uint8_t mask[WIDTH * HEIGHT];
    static RankKnot knots[KNOTS];
    uint64_t seed = 9;
    size_t compared = 0;
    memset(mask, 1, sizeof mask);
    for (uint64_t k = 0; k < KNOTS; k++)
        knots[k] =
            (RankKnot){.key = key_of_float((float)k / KNOTS), .below = 9 * k, .upto = 9 * k + 9};
    RankTable ranks = {.n = 9 * KNOTS, .n_knots = KNOTS, .knots = knots};
    const MapSource source = {.n = ranks.n, .ranks = &ranks};
    for (uint16_t channels = 3; channels <= 4; channels++) {
        ImagePro image = image_of(NULL, WIDTH, HEIGHT, channels, IMGSTAT_F32, 0);
        for (uint32_t y = 0; y < HEIGHT; y++)
            for (size_t i = 0; i < (size_t)WIDTH * channels; i++) {
                const uint32_t raw = draw_float(&seed);
                memcpy(row_of(&image, y) + i * sizeof raw, &raw, sizeof raw);
            }
        const int16_t alpha = channels == 4 ? 3 : -1;
        const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE};
        const TransferShape shape = shape_of(&image, alpha, true);
        Transfer *transfer;
        cr_assert_eq(transfer_create(NULL, &method, &shape, &source, NULL, &transfer, NULL),
                     IMGSTAT_OK);
        cr_assert(transfer->luma);
        cr_assert_not_null(transfer->knot_tables[0]);
        ImagePro fast = image_like(&image, IMGSTAT_F32), plain = image_like(&image, IMGSTAT_F32);
        ImagePro luma, plain_luma;
        cr_assert_eq(transfer_apply(transfer, &image, alpha, &fast, NULL), IMGSTAT_OK);
        cr_assert_eq(luma_plane(NULL, &image, &luma, NULL), IMGSTAT_OK);
        image.mask = mask;
        image.mask_pitch = WIDTH;
        cr_assert_eq(transfer_apply(transfer, &image, alpha, &plain, NULL), IMGSTAT_OK);
        cr_assert_eq(luma_plane(NULL, &image, &plain_luma, NULL), IMGSTAT_OK);
        cr_assert(image_equal(&fast, &plain), "%u channels", channels);
        cr_assert(image_equal(&luma, &plain_luma), "%u channels", channels);
        cr_assert_eq(memcmp(luma.mask, plain_luma.mask, sizeof mask), 0);
        compared += WIDTH * HEIGHT;
        image.mask = NULL;
        transfer_destroy(transfer);
        imgstat_image_release(&fast);
        imgstat_image_release(&plain);
        imgstat_image_release(&luma);
        imgstat_image_release(&plain_luma);
        imgstat_image_release(&image);
    }
    cr_assert_gt(compared, 10000);
}
