/* SPDX-License-Identifier: MIT */
/* test_apply.c: transfers applied by the CUDA device give the bytes that transfer_apply gives:
 * every type, method, channel mode and depth, images anywhere in memory, on the host and on the
 * device. */
#include "cpu/map_rows.h"
#include "ops_images.h"
#include "support.h"
#include "transform/transfer_source.h"

#include <stdio.h>
#include <stdlib.h>

/* An output of the same geometry, poisoned, gaps between rows and around it included. */
typedef struct Output {
    unsigned char *cpu, *cuda; /* bytes each, on the host */
    size_t bytes, shift;
    ImagePro image; /* of cpu */
    DevMem memory;
} Output;

static Output output_create(const ImagePro *from, const ImgstatTransfer *transfer, uint32_t gap,
                            uint32_t shift)
{
    Output o = {.shift = shift};
    uint8_t bits;
    const ImgstatSample sample = imgstat_transfer_output(transfer, &bits);
    const size_t row = image_samples_per_row(from) * imgstat_sample_bytes(sample);
    o.bytes = shift + (row + gap) * from->height + 64;
    o.cpu = malloc(o.bytes);
    o.cuda = malloc(o.bytes);
    if (!o.cpu || !o.cuda)
        fail("out of memory");
    memset(o.cpu, POISON, o.bytes);
    memset(o.cuda, POISON, o.bytes);
    o.image = *from;
    o.image.memory = IMGSTAT_HOST;
    o.image.host = o.cpu + shift;
    o.image.mask = NULL;
    o.image.sample = sample;
    o.image.bits = bits;
    o.image.pitch = row + gap;
    must(ops.cuda->ops->alloc(ops.cuda, o.bytes, &o.memory, &ops.error));
    return o;
}

static void output_destroy(Output *o)
{
    ops.cuda->ops->release(ops.cuda, &o->memory);
    free(o->cpu);
    free(o->cuda);
}

/* From `from` to the output on the device or on the host. */
static void apply_to(const ImgstatTransfer *transfer, const ImagePro *from, int16_t alpha,
                     Output *o, bool on_device, const char *text)
{
    ImagePro to = o->image;
    to.host = o->cuda + o->shift;
    memset(o->cuda, POISON, o->bytes);
    if (on_device) {
        to.memory = IMGSTAT_CUDA;
        to.host = NULL;
        to.device.address = o->memory.address + o->shift;
        must(ops.cuda->ops->upload(ops.cuda, o->memory, 0, o->cuda, o->bytes, &ops.error));
    }
    must(ops.cuda->ops->apply(ops.cuda, transfer, from, alpha, &to, &ops.error));
    if (on_device)
        must(ops.cuda->ops->download(ops.cuda, o->cuda, o->memory, 0, o->bytes, &ops.error));
    (void)same_bytes(o->cpu, o->cuda, o->bytes, on_device ? "to the device" : "to the host", text);
}

/* The device's own pixels, rewritten; what lies between the rows stays. */
static void apply_in_place(const ImgstatTransfer *transfer, TestImage *image, int16_t alpha,
                           const Output *o, const char *text)
{
    const size_t row = image_samples_per_row(&image->cpu) * imgstat_sample_bytes(image->cpu.sample);
    unsigned char *const expected = malloc(image->bytes), *const got = malloc(image->bytes);
    if (!expected || !got)
        fail("out of memory");
    memcpy(expected, image->host, image->bytes);
    for (uint32_t y = 0; y < image->cpu.height; y++)
        memcpy(expected + image->shape.shift + y * image->cpu.pitch,
               o->cpu + o->shift + y * o->image.pitch, row);
    ImagePro to = image->cuda;
    must(ops.cuda->ops->apply(ops.cuda, transfer, &image->cuda, alpha, &to, &ops.error));
    must(ops.cuda->ops->download(ops.cuda, got, image->memory, 0, image->bytes, &ops.error));
    (void)same_bytes(expected, got, image->bytes, "in place", text);
    free(expected);
    free(got);
}

/* reference: what matching matches to. */
static ImgstatTransfer *transfer_for(const ImgstatMethod *method, const ImagePro *image,
                                     int16_t alpha, const ImagePro *reference)
{
    ImgstatTransfer *transfer = NULL;
    const ImgstatResult res = imgstat_transfer_create(
        ops.cpu, method, image, alpha, method->transform == IMGSTAT_MATCH ? reference : NULL,
        &transfer, &ops.error);
    if (res != IMGSTAT_OK && res != IMGSTAT_ERR_ARG && res != IMGSTAT_ERR_UNSUPPORTED)
        must(res);
    return transfer;
}

/* Through the public calls, the image and its reference in the device's memory. */
static void apply_public(const ImgstatMethod *method, const TestImage *image, int16_t alpha,
                         const TestImage *reference, Output *o, const char *text)
{
    ImgstatTransfer *transfer = NULL;
    ImagePro to = o->image;
    to.memory = IMGSTAT_CUDA;
    to.host = NULL;
    to.device.address = o->memory.address + o->shift;
    memset(o->cuda, POISON, o->bytes);
    must(ops.cuda->ops->upload(ops.cuda, o->memory, 0, o->cuda, o->bytes, &ops.error));
    must(imgstat_transfer_create(ops.cuda, method, &image->cuda, alpha,
                                 method->transform == IMGSTAT_MATCH ? &reference->cuda : NULL,
                                 &transfer, &ops.error));
    must(imgstat_transfer_apply(ops.cuda, transfer, &image->cuda, alpha, &to, &ops.error));
    must(ops.cuda->ops->download(ops.cuda, o->cuda, o->memory, 0, o->bytes, &ops.error));
    (void)same_bytes(o->cpu, o->cuda, o->bytes, "by the public calls", text);
    imgstat_transfer_destroy(transfer);
}

/* measured: the device measures the image, too. */
static bool one_case(const Shape *shape, const ImgstatMethod *method, int16_t alpha, bool measured)
{
    char text[256];
    const Shape other = {.sample = shape->sample,
                         .channels = shape->channels,
                         .width = 40,
                         .height = 30,
                         .pattern = PATTERN_SKEWED};
    TestImage image = test_image_create(shape, true);
    TestImage reference = test_image_create(&other, true);
    ImgstatTransfer *const transfer = transfer_for(method, &image.cpu, alpha, &reference.cpu);
    if (!transfer) { /* a method that this type does not have */
        test_image_destroy(&reference);
        test_image_destroy(&image);
        return false;
    }
    const TransferShape of = shape_of_input(method, &image.cpu, alpha);
    transfer->holes = transfer_holes_in_memory(transfer, &of);
    const uint32_t bytes = (uint32_t)imgstat_sample_bytes(shape->sample);
    const bool odd = below(4) == 0;
    Output o = output_create(&image.cpu, transfer, odd ? below(9) : shape->gap,
                             odd ? below(9) : shape->shift);
    if (shape->gap == 0 && !odd && below(2) && shape->shift % bytes == 0) {
        output_destroy(&o);
        o = output_create(&image.cpu, transfer, 0, 0);
    }
    snprintf(text, sizeof text,
             "transform %d, channels %d, depth %d, alpha %d: ", (int)method->transform,
             (int)method->channels, (int)method->depth, alpha);
    shape_text(shape, "", text + strlen(text), sizeof text - strlen(text));
    must(transfer_apply(transfer, &image.cpu, alpha, &o.image, &ops.error));
    apply_to(transfer, &image.cuda, alpha, &o, true, text);
    apply_to(transfer, &image.cpu, alpha, &o, false, text);
    apply_to(transfer, &image.cuda, alpha, &o, false, text);
    apply_to(transfer, &image.cpu, alpha, &o, true, text);
    if (measured)
        apply_public(method, &image, alpha, &reference, &o, text);
    if (o.image.sample == image.cpu.sample)
        apply_in_place(transfer, &image, alpha, &o, text);
    output_destroy(&o);
    imgstat_transfer_destroy(transfer);
    test_image_destroy(&reference);
    test_image_destroy(&image);
    return true;
}

static ImgstatMethod random_method(ImgstatTransform transform, ImgstatSample sample)
{
    ImgstatMethod method = {.transform = transform,
                            .channels = (ImgstatChannels)below(4),
                            .depth = (ImgstatDepth)below(4),
                            .mean = 100,
                            .stddev = 30,
                            .gamma = 0.4 + below(30) * 0.1};
    if (below(3) == 0 && method.depth != IMGSTAT_DEPTH_FLOAT && !sample_is_float(sample)) {
        method.has_range = true;
        method.lo = below(20);
        method.hi = 40 + below(80);
    }
    if (below(2)) {
        method.has_clip = true;
        method.clip_lo = below(30);
        method.clip_hi = below(30) * 0.5;
    }
    return method;
}

static Shape random_shape(ImgstatSample sample)
{
    static const uint32_t sides[] = {1, 2, 3, 7, 31, 32, 33, 64, 100, 255, 256, 257, 300};
    enum { SIDES = sizeof sides / sizeof *sides };
    const uint32_t bytes = (uint32_t)imgstat_sample_bytes(sample);
    Shape shape = {.sample = sample,
                   .channels = (uint16_t)(1 + below(5)),
                   .width = sides[below(SIDES)],
                   .height = sides[below(ops.small ? 7 : SIDES)],
                   .pattern = (Pattern)below(PATTERNS),
                   .mask = below(4) == 0,
                   .nodata = below(3) == 0};
    switch (below(4)) {
    case 0: /* anywhere */
        shape.gap = below(9);
        shape.shift = below(9);
        break;
    case 1: /* on its boundaries */
        shape.gap = below(5) * bytes;
        shape.shift = below(5) * bytes;
        break;
    default:
        break;
    }
    return shape;
}

/* What stays: alpha, masked and undefined samples, images without contrast, where the depth changes
 * within a type, where floats become integers, and where nothing does. */
static size_t kept_cases(void)
{
    static const struct {
        ImgstatSample sample;
        uint8_t bits;
        Pattern pattern;
    } kinds[] = {{IMGSTAT_U8, 4, PATTERN_CONSTANT},  {IMGSTAT_U8, 4, PATTERN_SMOOTH},
                 {IMGSTAT_U8, 0, PATTERN_CONSTANT},  {IMGSTAT_U16, 12, PATTERN_CONSTANT},
                 {IMGSTAT_U16, 12, PATTERN_SMOOTH},  {IMGSTAT_U16, 0, PATTERN_CONSTANT},
                 {IMGSTAT_F16, 0, PATTERN_SPECIAL},  {IMGSTAT_F32, 0, PATTERN_SPECIAL},
                 {IMGSTAT_F64, 0, PATTERN_SPECIAL},  {IMGSTAT_F32, 0, PATTERN_CONSTANT},
                 {IMGSTAT_U32, 24, PATTERN_CONSTANT}};
    size_t done = 0;
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (unsigned i = 0; i < kept_cases_of_kind(); i++) {
            KeptCase kept = kept_case(kinds[k].sample, kinds[k].bits, k, i);
            kept.shape.pattern = kinds[k].pattern;
            kept.method.transform = kept.other ? IMGSTAT_EQUALIZE : IMGSTAT_STRETCH;
            done += one_case(&kept.shape, &kept.method, kept.alpha, true);
        }
    return done;
}

/* Images that take several chunks between host and device, and tables in shared memory. Small: only
 * floats take chunks, five, since mapping them is all that costs little under what looks at every
 * access of shared memory; measuring them takes seconds for a million samples. */
static size_t large_cases(void)
{
    enum { SMALL_ROWS = 40, SMALL_ROWS_IN_CHUNKS = 420 };
    static const struct {
        ImgstatSample sample;
        uint16_t channels;
        ImgstatTransform transform;
        ImgstatDepth depth;
        ImgstatChannels mode;
    } cases[] = {
        {IMGSTAT_U8, 1, IMGSTAT_EQUALIZE, IMGSTAT_DEPTH_KEEP, IMGSTAT_JOINT},
        {IMGSTAT_U8, 3, IMGSTAT_EQUALIZE, IMGSTAT_DEPTH_16, IMGSTAT_JOINT},
        {IMGSTAT_U16, 1, IMGSTAT_EQUALIZE, IMGSTAT_DEPTH_KEEP, IMGSTAT_JOINT},
        {IMGSTAT_U16, 1, IMGSTAT_STRETCH, IMGSTAT_DEPTH_8, IMGSTAT_JOINT},
        {IMGSTAT_I16, 3, IMGSTAT_PERCENTILE, IMGSTAT_DEPTH_KEEP, IMGSTAT_JOINT},
        {IMGSTAT_F16, 1, IMGSTAT_GAMMA, IMGSTAT_DEPTH_KEEP, IMGSTAT_JOINT},
        {IMGSTAT_F32, 1, IMGSTAT_STRETCH, IMGSTAT_DEPTH_8, IMGSTAT_JOINT},
        {IMGSTAT_U8, 3, IMGSTAT_EQUALIZE, IMGSTAT_DEPTH_KEEP, IMGSTAT_LUMA},
    };
    size_t done = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint32_t gap = 0; gap < 2; gap++) {
            const bool in_chunks = !sample_is_narrow(cases[i].sample);
            const uint32_t small_rows = in_chunks ? SMALL_ROWS_IN_CHUNKS : SMALL_ROWS;
            const Shape shape = {.sample = cases[i].sample,
                                 .channels = cases[i].channels,
                                 .width = 5003,
                                 .height = ops.small ? small_rows : 4001,
                                 .gap = gap * 2 * (uint32_t)imgstat_sample_bytes(cases[i].sample),
                                 .pattern = PATTERN_SKEWED};
            const ImgstatMethod method = {.transform = cases[i].transform,
                                          .depth = cases[i].depth,
                                          .gamma = 1.7,
                                          .channels = cases[i].mode};
            done += one_case(&shape, &method, -1, !ops.small || !in_chunks);
        }
    return done;
}

/* Colours that take over a luma: rows that end around vectors and around the tiles of a warp, which
 * are 512 pixels of 8 bits, at all offsets from 16 bytes; black ones, ties, ranges within. */
static size_t luma_cases(void)
{
    static const uint32_t widths[] = {1,   2,   3,    4,    5,    15,   16,   17,   170,   511,
                                      512, 513, 1029, 1535, 1536, 8193, 8704, 9733, 100003};
    static const Pattern patterns[] = {PATTERN_RANDOM, PATTERN_SKEWED, PATTERN_SMOOTH,
                                       PATTERN_CHECKER, PATTERN_CONSTANT};
    const size_t n = sizeof widths / sizeof *widths - (ops.small ? 4 : 0);
    size_t done = 0;
    for (ImgstatSample sample = IMGSTAT_U8; sample <= IMGSTAT_U16; sample++)
        for (size_t w = 0; w < n; w++)
            for (uint32_t shift = 0; shift < 16; shift += ops.small ? 12 : 1) {
                const bool within = below(3) == 0, high = sample == IMGSTAT_U16 && below(2);
                const Shape shape = {.sample = sample,
                                     .bits = high ? 12 : 0,
                                     .channels = below(8) ? 3 : 4,
                                     .width = widths[w],
                                     .height = 1 + (below(4) == 0),
                                     .shift = sample == IMGSTAT_U8 ? shift : shift / 2 * 2,
                                     .pattern = high ? PATTERN_TWELVE : patterns[below(5)],
                                     .nodata = below(6) == 0};
                const ImgstatMethod method = {.transform =
                                                  below(3) ? IMGSTAT_EQUALIZE : IMGSTAT_STRETCH,
                                              .channels = IMGSTAT_LUMA,
                                              .has_range = within,
                                              .lo = 20,
                                              .hi = 180};
                done +=
                    one_case(&shape, &method, shape.channels == 4 && below(2) ? 3 : -1, !ops.small);
            }
    return done;
}

/* Wide samples of one map, without gaps or with such as keep rows on 16 bytes, to every depth: rows
 * that end around vectors and turns of blocks, and what stays. And a map a channel through knots.
 */
static size_t map_cases(void)
{
    static const uint32_t widths[] = {1, 2, 3, 4, 5, 255, 256, 1024, 4095, 4097, 9001};
    static const ImgstatSample types[] = {IMGSTAT_U32, IMGSTAT_I32, IMGSTAT_F32,
                                          IMGSTAT_U64, IMGSTAT_I64, IMGSTAT_F64};
    static const Pattern patterns[] = {PATTERN_RANDOM, PATTERN_SMOOTH,  PATTERN_SKEWED,
                                       PATTERN_OFFSET, PATTERN_SPECIAL, PATTERN_CHECKER};
    const size_t rounds = ops.small ? 1 : 4;
    size_t done = 0;
    for (size_t round = 0; round < rounds; round++)
        for (size_t s = 0; s < sizeof types / sizeof *types; s++)
            for (ImgstatTransform t = IMGSTAT_STRETCH; t <= IMGSTAT_MATCH; t++)
                for (ImgstatDepth depth = IMGSTAT_DEPTH_KEEP; depth <= IMGSTAT_DEPTH_FLOAT;
                     depth++) {
                    if (ops.small && below(2))
                        continue;
                    const uint32_t bytes = (uint32_t)imgstat_sample_bytes(types[s]);
                    const uint32_t width = widths[below(sizeof widths / sizeof *widths)];
                    const uint16_t channels = below(3) ? 1 : 3;
                    const uint32_t over = width * channels * bytes % 16;
                    const Shape shape = {.sample = types[s],
                                         .channels = channels,
                                         .width = width,
                                         .height = 1 + below(ops.small ? 3 : 9),
                                         .gap = below(2) ? 0 : (16 - over) % 16 + 16 * below(3),
                                         .pattern = patterns[below(6)],
                                         .nodata = below(3) == 0};
                    ImgstatMethod method = random_method(t, types[s]);
                    method.depth = depth;
                    method.channels = below(2) ? IMGSTAT_EACH : IMGSTAT_JOINT;
                    done += one_case(&shape, &method, -1, below(8) == 0);
                }
    return done;
}

int main(void)
{
    const int status = ops_open();
    if (status)
        return status;
    check_same_bytes();
    const double begin = seconds();
    const size_t rounds = ops.small ? 2 : 24;
    size_t done = 0, without = 0;
    for (size_t round = 0; round < rounds; round++)
        for (ImgstatSample sample = IMGSTAT_U8; sample <= IMGSTAT_F64; sample++)
            for (ImgstatTransform t = IMGSTAT_STRETCH; t <= IMGSTAT_MATCH; t++) {
                const Shape shape = random_shape(sample);
                const ImgstatMethod method = random_method(t, sample);
                const int16_t alpha =
                    below(3) == 0 && shape.channels > 1
                        ? (int16_t)(below(3) ? shape.channels - 1u : below(shape.channels))
                        : (int16_t)-1;
                if (one_case(&shape, &method, alpha, true))
                    done++;
                else
                    without++;
            }
    const size_t kept = kept_cases(), large = large_cases(), luma = luma_cases();
    const size_t maps = map_cases();
    printf(
        "apply: %zu transfers (%zu combinations have none), %zu of what stays, %zu large, %zu of "
        "luma, %zu of maps, %zu comparisons of %zu bytes, %.1f s, %zu failures\n",
        done, without, kept, large, luma, maps, ops.cases, ops.compared, seconds() - begin,
        ops.failures);
    ops_close();
    const bool few =
        ops.small ? kept < 80 || luma < 60 || maps < 40 : kept < 1300 || luma < 600 || maps < 480;
    return ops.failures > 0 || done < rounds * 20 || few ? 1 : 0;
}
