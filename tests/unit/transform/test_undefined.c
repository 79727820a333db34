/* SPDX-License-Identifier: MIT */
/* test_undefined.c: what nodata, NaN and masked samples become, for every pair of types, and which
 * value stands for them. */
#include "base/pixel.h"
#include "support.h"
#include "transform/undefined.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 23, HEIGHT = 17, PIXELS = WIDTH * HEIGHT };

/* ---- Filling --------------------------------------------------------------------------------- */

typedef struct Case {
    ImagePro from, to;
    uint8_t mask[PIXELS];
    Undefined undefined;
} Case;

static uint64_t key_at(const ImagePro *image, size_t pixel, size_t channel)
{
    const size_t bytes = imgstat_sample_bytes(image->sample);
    const unsigned char *const row = image_row(image, pixel / WIDTH);
    return sample_key(image->sample,
                      load_raw(row + (pixel % WIDTH * image->channels + channel) * bytes, bytes));
}

static void set_key(ImagePro *image, size_t pixel, size_t channel, uint64_t key)
{
    const size_t bytes = imgstat_sample_bytes(image->sample);
    unsigned char *const row = row_of(image, pixel / WIDTH);
    store_raw(row + (pixel % WIDTH * image->channels + channel) * bytes, bytes,
              sample_raw(image->sample, key));
}

static uint64_t largest_key(ImgstatSample sample)
{
    const uint64_t sign = (uint64_t)1 << (sample_bits(sample) - 1);
    return sign | (sign - 1);
}

/* Any finite key near the middle, so that some outputs fall on the hole. */
static uint64_t some_key(ImgstatSample sample, uint64_t draw)
{
    const uint64_t middle = largest_key(sample) / 2 + 1;
    return middle + draw % 4;
}

/* Draws what is undefined, and what is done with it. */
static void case_make(Case *c, ImgstatSample in, ImgstatSample out, uint64_t *state)
{
    const uint64_t draw = splitmix64(state);
    const uint16_t channels = (uint16_t)(1 + draw % 4);
    cr_assert_eq(imgstat_image_create(WIDTH, HEIGHT, channels, in, 0, &c->from, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_image_create(WIDTH, HEIGHT, channels, out, 0, &c->to, NULL), IMGSTAT_OK);
    c->from.has_nodata = draw >> 8 & 1;
    c->from.nodata_key = some_key(in, 1);
    for (size_t i = 0; i < PIXELS; i++) {
        c->mask[i] = splitmix64(state) % 3 > 0;
        for (size_t k = 0; k < channels; k++) {
            uint64_t key = some_key(in, splitmix64(state));
            if (sample_is_float(in) && splitmix64(state) % 5 == 0)
                key =
                    splitmix64(state) % 2 ? sample_key_nan(in) : sample_key_infinity(in, true) - 1;
            set_key(&c->from, i, k, key);
            set_key(&c->to, i, k, some_key(out, splitmix64(state)));
        }
    }
    const bool masked = draw >> 9 & 1, fills = draw >> 10 & 1;
    if (masked || draw >> 11 & 1) {
        c->from.mask = c->mask;
        c->from.mask_pitch = WIDTH;
    }
    c->undefined = (Undefined){.any = masked || fills,
                               .alpha = (int16_t)(draw >> 14 & 1 ? channels - 1 : -1),
                               .holes = {.fills = fills,
                                         .masked = masked,
                                         .nan = draw >> 12 & 1,
                                         .whole = draw >> 13 & 1,
                                         .hole = some_key(out, 2),
                                         .mask_hole = some_key(out, draw >> 15 & 1 ? 2 : 3),
                                         .range = {.sample = out,
                                                   .has_nodata = fills,
                                                   .nodata_key = some_key(out, 2),
                                                   .lo_key = 0,
                                                   .hi_key = largest_key(out)}}};
}

static bool is_undefined(const Case *c, size_t pixel, size_t channel)
{
    const uint64_t key = key_at(&c->from, pixel, channel);
    if (c->from.has_nodata && key == c->from.nodata_key)
        return true;
    return sample_is_float(c->from.sample) &&
           (c->undefined.holes.nan || !sample_is_float(c->to.sample)) &&
           (key > sample_key_infinity(c->from.sample, false) ||
            key < sample_key_infinity(c->from.sample, true));
}

/* What sample `channel` of a pixel must be; before: the mapped image. */
static uint64_t expected(const Case *c, const ImagePro *before, size_t pixel, size_t channel)
{
    const Undefined *const u = &c->undefined;
    const uint64_t key = key_at(before, pixel, channel);
    bool any = false;
    if ((int)channel == u->alpha)
        return key;
    if (u->holes.masked && c->from.mask && !c->mask[pixel])
        return u->holes.mask_hole;
    if (!u->holes.fills)
        return key;
    for (size_t k = 0; k < c->from.channels; k++)
        any = any || (k < HOLES_COLOURS && (int)k != u->alpha && is_undefined(c, pixel, k));
    if (is_undefined(c, pixel, channel) || (u->holes.whole && any && channel < HOLES_COLOURS))
        return u->holes.hole;
    return range_avoid(&u->holes.range, key);
}

static void check(Case *c, ThreadPool *pool)
{
    ImagePro before;
    cr_assert_eq(
        imgstat_image_create(WIDTH, HEIGHT, c->to.channels, c->to.sample, 0, &before, NULL),
        IMGSTAT_OK);
    for (size_t y = 0; y < HEIGHT; y++)
        memcpy(row_of(&before, y), image_row(&c->to, y),
               image_samples_per_row(&c->to) * imgstat_sample_bytes(c->to.sample));
    undefined_fill(&c->undefined, pool, &c->from, &c->to);
    for (size_t i = 0; i < PIXELS; i++)
        for (size_t k = 0; k < c->to.channels; k++)
            cr_assert_eq(key_at(&c->to, i, k), expected(c, &before, i, k),
                         "%s to %s: pixel %zu, channel %zu", imgstat_sample_name(c->from.sample),
                         imgstat_sample_name(c->to.sample), i, k);
    imgstat_image_release(&before);
    imgstat_image_release(&c->from);
    imgstat_image_release(&c->to);
}

Test(undefined, every_pair_of_types)
{
    ThreadPool *pool = NULL;
    uint64_t state = 3;
    cr_assert_eq(thread_pool_create(3, &pool, NULL), IMGSTAT_OK);
    for (ImgstatSample in = IMGSTAT_U8; in <= IMGSTAT_F64; in++)
        for (ImgstatSample out = IMGSTAT_U8; out <= IMGSTAT_F64; out++)
            for (int again = 0; again < 6; again++) {
                Case c;
                case_make(&c, in, out, &state);
                check(&c, again % 2 ? pool : NULL);
            }
    thread_pool_destroy(pool);
}

Test(undefined, nothing_to_do)
{
    const uint8_t pixels[2] = {0, 1};
    ImagePro image;
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, pixels, 0, 2, 1, 1, IMGSTAT_U8, 8, NULL, NULL,
                                    &image, NULL),
                 IMGSTAT_OK);
    image.has_nodata = true;
    undefined_fill(&(Undefined){.any = false, .holes = {.fills = true, .hole = 9}}, NULL, &image,
                   &image);
    cr_assert_eq(pixels[0], 0);
    image.height = 0;
    undefined_fill(&(Undefined){.any = true, .holes = {.fills = true, .hole = 9}}, NULL, &image,
                   &image);
    cr_assert_eq(pixels[0], 0);
}

/* ---- The value ------------------------------------------------------------------------------- */

static ImgstatValue real(double value)
{
    return (ImgstatValue){.sample = IMGSTAT_F64, .as.f = value};
}

typedef struct Choice {
    ImgstatSample from;
    ImgstatDepth depth;
    const double *nodata, *wanted; /* of the page; of the output: NULL: not given */
    bool counts;                   /* samples of the page can be nodata */
    bool has_hole;
    double hole; /* where there is one */
    ImgstatResult result;
} Choice;

Test(undefined, values)
{
    static const double zero = 0, nine = -9999, third = 1.0 / 3, big = 300, nan = (double)NAN;
    static const Choice choices[] = {
        {IMGSTAT_U8, IMGSTAT_DEPTH_KEEP, &zero, NULL, true, false, 0, IMGSTAT_OK},
        {IMGSTAT_U16, IMGSTAT_DEPTH_8, &zero, NULL, true, false, 0, IMGSTAT_OK},
        {IMGSTAT_U16, IMGSTAT_DEPTH_8, &big, NULL, true, true, 0, IMGSTAT_OK},
        {IMGSTAT_F32, IMGSTAT_DEPTH_8, &nine, NULL, true, true, 0, IMGSTAT_OK},
        {IMGSTAT_F32, IMGSTAT_DEPTH_KEEP, &nine, NULL, true, false, 0, IMGSTAT_OK},
        {IMGSTAT_I16, IMGSTAT_DEPTH_16, &nine, NULL, true, true, 0, IMGSTAT_OK},
        {IMGSTAT_F32, IMGSTAT_DEPTH_16, &nan, NULL, false, true, 0, IMGSTAT_OK},
        {IMGSTAT_F32, IMGSTAT_DEPTH_FLOAT, &nan, NULL, false, false, 0, IMGSTAT_OK},
        {IMGSTAT_U8, IMGSTAT_DEPTH_KEEP, &big, NULL, false, false, 0, IMGSTAT_OK},
        {IMGSTAT_U8, IMGSTAT_DEPTH_KEEP, NULL, NULL, false, false, 0, IMGSTAT_OK},
        {IMGSTAT_U8, IMGSTAT_DEPTH_KEEP, NULL, &zero, false, true, 0, IMGSTAT_OK},
        {IMGSTAT_U8, IMGSTAT_DEPTH_KEEP, &zero, &big, true, false, 0, IMGSTAT_ERR_ARG},
        {IMGSTAT_U8, IMGSTAT_DEPTH_16, &zero, &big, true, true, 300, IMGSTAT_OK},
        {IMGSTAT_U8, IMGSTAT_DEPTH_KEEP, &zero, &third, true, false, 0, IMGSTAT_ERR_ARG},
        {IMGSTAT_U8, IMGSTAT_DEPTH_KEEP, &zero, &nan, true, false, 0, IMGSTAT_ERR_ARG},
        {IMGSTAT_F32, IMGSTAT_DEPTH_FLOAT, &nine, &nan, true, true, (double)NAN, IMGSTAT_OK},
        {IMGSTAT_F32, IMGSTAT_DEPTH_FLOAT, &nine, &nine, true, true, -9999, IMGSTAT_OK},
    };
    char name[] = "a file";
    const Source source = {.name = name};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const Choice *const choice = &choices[i];
        const ImgstatMethod method = {.depth = choice->depth};
        const ImgstatWrite write = {.has_nodata = choice->wanted,
                                    .nodata = real(choice->wanted ? *choice->wanted : 0)};
        const Pipeline pipeline = {.method = &method, .write = &write};
        Decoder decoder = {.source = &source};
        decoder.page.sample = choice->from;
        decoder.page.has_nodata = choice->nodata;
        decoder.page.nodata = real(choice->nodata ? *choice->nodata : 0);
        TransferShape shape = {
            .sample = choice->from, .channels = 1, .alpha = -1, .has_nodata = choice->counts};
        ImgstatError err = {.message = ""};
        uint8_t bits;
        const ImgstatSample to = transfer_output(&method, &shape, &bits);
        cr_assert_eq(undefined_choose(&pipeline, &decoder, &shape, &err), choice->result,
                     "choice %zu: %s", i, err.message);
        cr_assert_eq(shape.has_hole, choice->has_hole, "choice %zu", i);
        if (choice->result != IMGSTAT_OK)
            cr_assert_eq(strncmp(err.message, "a file: its output has ", 23), 0, "%s", err.message);
        if (!choice->has_hole)
            continue;
        const double hole = sample_double(to, shape.hole_key);
        cr_assert(isnan(choice->hole) ? isnan(hole) : hole == choice->hole, "choice %zu: %g", i,
                  hole);
    }
}

/* Significant bits limit a value that is asked for. */
Test(undefined, of_few_bits)
{
    char name[] = "a file";
    const Source source = {.name = name};
    for (uint64_t value = 14; value <= 256; value++) {
        const ImgstatWrite write = {.has_nodata = true,
                                    .nodata = {.sample = IMGSTAT_U64, .as.u = value}};
        for (ImgstatDepth depth = IMGSTAT_DEPTH_KEEP; depth <= IMGSTAT_DEPTH_8; depth++) {
            const ImgstatMethod method = {.depth = depth};
            const Pipeline pipeline = {.method = &method, .write = &write};
            Decoder decoder = {.source = &source};
            TransferShape shape = {.sample = IMGSTAT_U8, .bits = 4, .channels = 1, .alpha = -1};
            const uint64_t most = depth == IMGSTAT_DEPTH_KEEP ? 15 : 255;
            cr_assert_eq(undefined_choose(&pipeline, &decoder, &shape, NULL),
                         value <= most ? IMGSTAT_OK : IMGSTAT_ERR_ARG, "%u", (unsigned)value);
        }
    }
}
