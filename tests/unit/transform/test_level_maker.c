/* SPDX-License-Identifier: MIT */
/* test_level_maker.c: every pixel of a level is the mean of the samples that it covers, whatever
 * the sides, the type and the bands that rows come in. */
#include "helper_encode.h"
#include "support.h"
#include "transform/level_maker.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

TestSuite(level_maker, .init = encode_begin, .fini = encode_end);

typedef struct Case {
    EncodePage image;
    uint8_t *pixels; /* rows without gaps */
    const ImgstatValue *nodata;
    const uint8_t *mask; /* NULL, or where pixels count */
    uint32_t band;       /* rows that are given at once */
} Case;

/* What was written of a level. */
typedef struct Sink {
    Encoder base;
    uint8_t *at;
} Sink;

static ImgstatResult keep_page(Encoder *encoder, Decoder *like, ImgstatError *err)
{
    (void)like, (void)err;
    encoder->band_rows = 1;
    return IMGSTAT_OK;
}

static ImgstatResult keep_rows(Encoder *encoder, const void *rows, size_t pitch, uint32_t n,
                               ImgstatError *err)
{
    (void)err;
    uint8_t **const at = &((Sink *)encoder)->at;
    memcpy(*at, rows, pitch * n);
    *at += pitch * n;
    return IMGSTAT_OK;
}

static void no_release(Encoder *encoder)
{
    (void)encoder;
}

static void no_init(Encoder *encoder)
{
    (void)encoder;
}

static const EncodeFormat sink_format = {.name = "sink",
                                         .title = "Sink",
                                         .encoder_bytes = sizeof(Sink),
                                         .init = no_init,
                                         .begin_page = keep_page,
                                         .write_rows = keep_rows,
                                         .release = no_release};

static double value_of(const EncodePage *image, const uint8_t *pixels, size_t i)
{
    switch (image->sample) {
    case IMGSTAT_U8:
        return pixels[i];
    case IMGSTAT_I8:
        return ((const int8_t *)pixels)[i];
    case IMGSTAT_U16:
        return ((const uint16_t *)(const void *)pixels)[i];
    case IMGSTAT_I16:
        return ((const int16_t *)(const void *)pixels)[i];
    default:
        return (double)((const float *)(const void *)pixels)[i];
    }
}

/* The mean of a channel of the pixels that pixel x, y covers, as the level holds it. Masked pixels
 * are of it where no others have a value. */
static double expected(const Case *c, uint32_t width, uint32_t height, uint32_t x, uint32_t y,
                       uint16_t channel)
{
    const EncodePage *const image = &c->image;
    const uint64_t left = (uint64_t)x * image->width / width;
    const uint64_t right = (uint64_t)(x + 1) * image->width / width;
    const uint64_t top = (uint64_t)y * image->height / height;
    const uint64_t bottom = (uint64_t)(y + 1) * image->height / height;
    const double nodata = c->nodata ? imgstat_value_double(*c->nodata) : 0;
    double sum[2] = {0, 0}; /* of masked pixels, of others */
    uint64_t n[2] = {0, 0};
    for (uint64_t v = top; v < bottom; v++)
        for (uint64_t u = left; u < right; u++) {
            const uint64_t pixel = v * image->width + u;
            const double value = value_of(image, c->pixels, pixel * image->channels + channel);
            const bool valid = !c->mask || c->mask[pixel] || channel == image->alpha;
            if (isnan(value) || (c->nodata && value == nodata))
                continue;
            sum[valid] += value;
            n[valid]++;
        }
    const bool valid = n[1] > 0;
    const double mean = sum[valid] / (double)n[valid];
    if (image->sample == IMGSTAT_F32)
        return n[valid] ? (double)(float)mean : c->nodata ? nodata : (double)NAN;
    return n[valid] ? floor(mean + 0.5) : nodata;
}

static void check_level(const Case *c, const LevelMaker *maker, uint32_t page, uint32_t width,
                        uint32_t height)
{
    const EncodePage of = level_maker_page(maker, page);
    const EncodeOptions how = {.level = -1};
    Encoder *encoder = NULL;
    cr_assert_eq(of.width, width);
    cr_assert_eq(of.height, height);
    cr_assert_eq(of.channels, c->image.channels);
    cr_assert_eq(of.sample, c->image.sample);
    const size_t samples = (size_t)width * height * of.channels;
    uint8_t *const got = malloc(samples * imgstat_sample_bytes(of.sample));
    AtomicFile none = {.name = NULL};
    cr_assert_eq(encoder_create(&sink_format, &none, &how, NULL, &encoder, NULL), IMGSTAT_OK);
    ((Sink *)encoder)->at = got;
    cr_assert_eq(encoder_begin_page(encoder, NULL, &of, NULL), IMGSTAT_OK);
    cr_assert_eq(level_maker_write(maker, page, encoder, NULL), IMGSTAT_OK);
    cr_assert_eq(((Sink *)encoder)->at, got + samples * imgstat_sample_bytes(of.sample));
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            for (uint16_t k = 0; k < of.channels; k++) {
                const double want = expected(c, width, height, x, y, k);
                const double is = value_of(&of, got, ((size_t)y * width + x) * of.channels + k);
                cr_assert((isnan(want) && isnan(is)) || want == is,
                          "%s %u x %u to %u x %u: pixel %u, %u channel %u is %.17g, not %.17g",
                          imgstat_sample_name(of.sample), c->image.width, c->image.height, width,
                          height, x, y, k, is, want);
            }
    encoder_destroy(encoder);
    free(got);
}

static void give_rows(LevelMaker *maker, const Case *c, uint32_t y, uint32_t n)
{
    const EncodePage *const page = &c->image;
    const size_t pitch = (size_t)page->width * page->channels * imgstat_sample_bytes(page->sample);
    ImagePro rows;
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, c->pixels + y * pitch, 0, page->width, n,
                                    page->channels, page->sample, 0, NULL, NULL, &rows, NULL),
                 IMGSTAT_OK);
    rows.mask = c->mask ? c->mask + y * page->width : NULL;
    rows.mask_pitch = page->width;
    cr_assert_eq(level_maker_rows(maker, &rows, NULL), IMGSTAT_OK);
}

static void check(const Case *c, const uint32_t (*sides)[2], uint32_t n)
{
    LevelSpool spool = {.file = NULL};
    AtomicFile *output = NULL;
    LevelMaker *maker = NULL;
    cr_assert_eq(atomic_file_open(encode_path, true, 0666, &output, NULL), IMGSTAT_OK);
    cr_assert_eq(level_maker_create(&spool, output, &maker, NULL), IMGSTAT_OK);
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(level_maker_add(maker, 10 + i, sides[i][0], sides[i][1], NULL), IMGSTAT_OK);
    cr_assert_eq(level_maker_begin(maker, &c->image, c->nodata, NULL), IMGSTAT_OK);
    for (uint32_t y = 0; y < c->image.height; y += c->band) {
        const uint32_t left = c->image.height - y, rows = left < c->band ? left : c->band;
        give_rows(maker, c, y, rows);
    }
    for (uint32_t i = n; i-- > 0;)
        check_level(c, maker, 10 + i, sides[i][0], sides[i][1]);
    level_maker_destroy(maker);
    atomic_file_discard(spool.file);
    atomic_file_discard(output);
}

static const uint32_t halves[][2] = {{20, 15}, {10, 7}, {5, 3}, {1, 1}};
static const uint32_t odd[][2] = {{40, 31}, {39, 30}, {13, 30}, {40, 1}, {1, 31}, {17, 3}};

static Case case_of(ImgstatSample sample, uint16_t channels, uint32_t band)
{
    Case c = {.image = {.width = 40,
                        .height = 31,
                        .channels = channels,
                        .sample = sample,
                        .bits = (uint8_t)(8 * imgstat_sample_bytes(sample)),
                        .alpha = -1},
              .band = band};
    c.pixels = encode_pixels(&c.image);
    return c;
}

Test(level_maker, integers)
{
    static const ImgstatSample samples[] = {IMGSTAT_U8, IMGSTAT_I8, IMGSTAT_U16, IMGSTAT_I16};
    for (size_t i = 0; i < 4; i++)
        for (uint16_t channels = 1; channels <= 4; channels += 3) {
            Case c = case_of(samples[i], channels, 1 + (uint32_t)i * 10);
            const ImgstatValue nodata = {.sample = IMGSTAT_F64,
                                         .as.f = value_of(&c.image, c.pixels, 77)};
            check(&c, halves, 4);
            check(&c, odd, 6);
            c.nodata = &nodata;
            for (size_t k = 0; k < 400; k++) /* whole areas of it as well */
                memcpy(c.pixels + k * imgstat_sample_bytes(samples[i]),
                       c.pixels + 400 * imgstat_sample_bytes(samples[i]), 1);
            check(&c, halves, 4);
            free(c.pixels);
        }
}

/* Nothing that counts: nodata, or 0 without it; NaN of floats. */
Test(level_maker, areas_without_a_value)
{
    const ImgstatValue seven = {.sample = IMGSTAT_U8, .as.u = 7};
    Case c = case_of(IMGSTAT_U8, 1, 31);
    memset(c.pixels, 7, 40 * 31);
    c.pixels[39] = 9;
    c.nodata = &seven;
    check(&c, halves, 4);
    free(c.pixels);
    c = case_of(IMGSTAT_F32, 2, 5);
    float *const values = (float *)(void *)c.pixels;
    for (size_t i = 0; i < 40 * 31 * 2; i++)
        values[i] = i % 80 < 50 ? NAN : (float)(i * i % 977) / 3.0f;
    check(&c, halves, 4);
    check(&c, odd, 6);
    const ImgstatValue third = {.sample = IMGSTAT_F32, .as.f = (double)values[79]};
    c.nodata = &third;
    check(&c, halves, 4);
    free(c.pixels);
}

/* Half of a step goes up, below 0 as well. */
Test(level_maker, halves_go_up)
{
    static const int8_t pairs[] = {1, 2, -1, -2, 0, 1, -1, 0, 127, 126, -128, -127};
    static const uint32_t half[][2] = {{6, 1}};
    static const double want[] = {2, -1, 1, 0, 127, -127};
    Case c = {.image = {.width = 12, .height = 1, .channels = 1, .sample = IMGSTAT_I8, .bits = 8},
              .pixels = (uint8_t *)(uintptr_t)pairs,
              .band = 1};
    for (uint32_t x = 0; x < 6; x++)
        cr_assert_eq(expected(&c, 6, 1, x, 0, 0), want[x]);
    check(&c, half, 1);
}

/* Masked pixels have no part in an area unless nothing else has; alpha is never masked. */
Test(level_maker, masks)
{
    static uint8_t mask[40 * 31];
    static const ImgstatSample samples[] = {IMGSTAT_U8, IMGSTAT_I16, IMGSTAT_F32};
    for (uint64_t i = 0; i < sizeof mask; i++)
        mask[i] = (uint8_t)(i % 40 < 15 || mix64(i) % 3 ? 0 : 255);
    for (size_t i = 0; i < 3; i++) {
        Case c = case_of(samples[i], 4, 7);
        if (samples[i] == IMGSTAT_F32)
            for (size_t k = 0; k < 40 * 31 * 4; k++)
                ((float *)(void *)c.pixels)[k] = k % 7 ? (float)(k % 911) / 7.0f : NAN;
        const ImgstatValue nodata = {.sample = IMGSTAT_F64,
                                     .as.f = value_of(&c.image, c.pixels, 77)};
        c.mask = mask;
        c.image.alpha = 3;
        check(&c, halves, 4);
        c.nodata = &nodata;
        check(&c, odd, 6);
        free(c.pixels);
    }
}

/* Levels of two images share a spool. */
Test(level_maker, one_spool)
{
    LevelSpool spool = {.file = NULL};
    AtomicFile *output = NULL;
    LevelMaker *maker[2] = {NULL, NULL};
    Case c[2] = {case_of(IMGSTAT_U8, 1, 1), case_of(IMGSTAT_U16, 3, 1)};
    cr_assert_eq(atomic_file_open(encode_path, true, 0666, &output, NULL), IMGSTAT_OK);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(level_maker_create(&spool, output, &maker[i], NULL), IMGSTAT_OK);
        cr_assert_eq(level_maker_add(maker[i], 1, 20, 15, NULL), IMGSTAT_OK);
        cr_assert_eq(level_maker_begin(maker[i], &c[i].image, NULL, NULL), IMGSTAT_OK);
    }
    for (uint32_t y = 0; y < 31; y++)
        for (int i = 0; i < 2; i++)
            give_rows(maker[i], &c[i], y, 1);
    for (int i = 0; i < 2; i++)
        check_level(&c[i], maker[i], 1, 20, 15);
    for (int i = 0; i < 2; i++) {
        level_maker_destroy(maker[i]);
        free(c[i].pixels);
    }
    cr_assert_eq(spool.bytes, 20 * 15 + 20 * 15 * 3 * 2);
    atomic_file_discard(spool.file);
    atomic_file_discard(output);
}

Test(level_maker, too_many_levels)
{
    LevelSpool spool = {.file = NULL};
    AtomicFile *output = NULL;
    LevelMaker *maker = NULL;
    ImgstatError err = {.message = ""};
    cr_assert_eq(atomic_file_open(encode_path, true, 0666, &output, NULL), IMGSTAT_OK);
    cr_assert_eq(level_maker_create(&spool, output, &maker, NULL), IMGSTAT_OK);
    for (uint32_t i = 0; i < 64; i++)
        cr_assert_eq(level_maker_add(maker, i, 9, 9, &err), IMGSTAT_OK);
    cr_assert_eq(level_maker_add(maker, 64, 9, 9, &err), IMGSTAT_ERR_LIMIT);
    cr_assert_not_null(strstr(err.message, "more than 64 levels"), "%s", err.message);
    cr_assert_eq(strncmp(err.message, encode_path, strlen(encode_path)), 0, "%s", err.message);
    level_maker_destroy(maker);
    level_maker_destroy(NULL);
    atomic_file_discard(spool.file);
    atomic_file_discard(output);
}
