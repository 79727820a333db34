/* SPDX-License-Identifier: MIT */
/* test_clahe.c: the CUDA device measures luma and equalizes adaptively as the CPU does: records and
 * pixels are the same bytes, for every type, tiles that do not divide the image, masks and nodata,
 * images on the host and on the device, by imgstat's definition and by those of other programs. */
#include "ops_images.h"
#include "transform/clahe_page.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Luma ------------------------------------------------------------------------------------ */

static Record *luma_record(Device *device, const ImagePro *image)
{
    const DeviceOps *const on = device->ops;
    const size_t bytes = record_bytes(image->sample, 1, 0);
    DeviceRecord record = {.sample = image->sample, .channels = 1};
    Record *out;
    must(record_create(NULL, image->sample, 1, 0, &out, &ops.error));
    must(on->alloc(device, bytes, &record.mem, &ops.error));
    const PixelSource source = pixels_of(image);
    must(on->measure(device, &source, (PixelView){.channels = VIEW_LUMA}, &record, &ops.error));
    must(on->download(device, out->tally, record.mem, 0, bytes, &ops.error));
    on->release(device, &record.mem);
    return out;
}

static void luma_case(const Shape *shape)
{
    char text[256];
    TestImage image = test_image_create(shape, true);
    shape_text(shape, "luma: ", text, sizeof text);
    const size_t bytes = record_bytes(shape->sample, 1, 0);
    Record *const expected = luma_record(ops.cpu, &image.cpu);
    Record *const staged = luma_record(ops.cuda, &image.cpu);
    Record *const there = luma_record(ops.cuda, &image.cuda);
    (void)same_bytes(expected->tally, staged->tally, bytes, "from the host", text);
    (void)same_bytes(expected->tally, there->tally, bytes, "from the device", text);
    record_destroy(expected);
    record_destroy(staged);
    record_destroy(there);
    test_image_destroy(&image);
}

/* ---- Adaptive equalization ------------------------------------------------------------------- */

/* From and to the memory of the device. */
static void on_device(const ImgstatMethod *method, const TestImage *image, int16_t alpha,
                      const ImagePro *expected, const char *text)
{
    const size_t row = image_samples_per_row(expected) * imgstat_sample_bytes(expected->sample);
    const size_t bytes = row * expected->height;
    unsigned char *const got = malloc(bytes), *const packed = malloc(bytes);
    if (!got || !packed)
        fail("out of memory");
    DevMem memory;
    must(ops.cuda->ops->alloc(ops.cuda, bytes, &memory, &ops.error));
    ImagePro to = *expected;
    to.memory = IMGSTAT_CUDA;
    to.device_id = image->cuda.device_id;
    to.host = NULL;
    to.device.address = memory.address;
    to.pitch = row;
    must(imgstat_image_transform(ops.cuda, method, &image->cuda, alpha, NULL, &to, &ops.error));
    must(ops.cuda->ops->download(ops.cuda, got, memory, 0, bytes, &ops.error));
    for (uint32_t y = 0; y < expected->height; y++)
        memcpy(packed + y * row, image_row(expected, y), row);
    (void)same_bytes(packed, got, bytes, "on the device", text);
    ops.cuda->ops->release(ops.cuda, &memory);
    free(got);
    free(packed);
}

static bool clahe_case(const Shape *shape, const ImgstatMethod *method, int16_t alpha)
{
    char text[256];
    TestImage image = test_image_create(shape, true);
    ImagePro expected, got;
    const ImgstatResult res =
        imgstat_image_transform(ops.cpu, method, &image.cpu, alpha, NULL, &expected, &ops.error);
    snprintf(text, sizeof text,
             "like %d, channels %d, depth %d, alpha %d, %ux%u tiles, clip %g: ", (int)method->like,
             (int)method->channels, (int)method->depth, alpha, method->tiles_x, method->tiles_y,
             method->clip_limit);
    shape_text(shape, "", text + strlen(text), sizeof text - strlen(text));
    if (res != IMGSTAT_OK) { /* luma of gray, say: neither device does it */
        if (imgstat_image_transform(ops.cuda, method, &image.cpu, alpha, NULL, &got, NULL) != res)
            complain("%s: not refused alike", text);
        test_image_destroy(&image);
        return false;
    }
    must(imgstat_image_transform(ops.cuda, method, &image.cpu, alpha, NULL, &got, &ops.error));
    if (expected.pitch != got.pitch || expected.sample != got.sample)
        fail("the outputs have different shapes");
    for (uint32_t y = 0; y < expected.height; y++)
        if (!same_bytes(image_row(&expected, y), image_row(&got, y),
                        image_samples_per_row(&expected) * imgstat_sample_bytes(expected.sample),
                        "from the host", text))
            break;
    on_device(method, &image, alpha, &expected, text);
    imgstat_image_release(&expected);
    imgstat_image_release(&got);
    test_image_destroy(&image);
    return true;
}

static Shape random_shape(ImgstatSample sample, uint16_t channels)
{
    static const uint32_t sides[] = {1, 2, 7, 31, 33, 64, 65, 100, 255, 257, 640};
    enum { SIDES = sizeof sides / sizeof *sides };
    const bool gaps = below(3) == 0;
    const uint32_t bits = sample == IMGSTAT_U8 ? 8 : sample == IMGSTAT_U16 ? 16 : 0;
    return (Shape){.sample = sample,
                   .channels = channels,
                   .bits = (uint8_t)(bits && below(2) ? 1 + below(bits) : 0),
                   .width = sides[below(ops.small ? 7 : SIDES)],
                   .height = sides[below(ops.small ? 7 : SIDES)],
                   .gap = gaps ? below(9) : 0,
                   .shift = gaps ? below(9) : 0,
                   .pattern = (Pattern)below(PATTERNS),
                   .mask = below(4) == 0,
                   .nodata = below(3) == 0};
}

static ImgstatMethod random_method(void)
{
    static const ImgstatLike likes[] = {IMGSTAT_LIKE_IMGSTAT, IMGSTAT_LIKE_IMGSTAT,
                                        IMGSTAT_LIKE_OPENCV, IMGSTAT_LIKE_SKIMAGE};
    static const double clips[] = {0.0, 0.002, 0.01, 0.03, 0.5, 1.0, 4.0, 40.0};
    return (ImgstatMethod){.transform = IMGSTAT_CLAHE,
                           .channels = (ImgstatChannels)below(4),
                           .like = likes[below(4)],
                           .depth = (ImgstatDepth)below(3),
                           .has_range = below(6) == 0,
                           .lo = 10.0,
                           .hi = 100.0,
                           .tiles_x = below(2) ? below(12) : 0,
                           .tiles_y = below(2) ? below(12) : 0,
                           .clip_limit = clips[below(8)]};
}

/* Draws until one is not refused; returns how many were not. */
static size_t clahe_cases(ImgstatSample sample, size_t *without)
{
    enum { TRIES = 200 }; /* luma of gray is refused, and more */
    for (int i = 0; i < TRIES; i++) {
        const Shape shape = random_shape(sample, (uint16_t)(1 + below(5)));
        const ImgstatMethod method = random_method();
        const bool alpha = below(3) == 0 && shape.channels > 1;
        const uint32_t at = below(3) ? shape.channels - 1u : below(shape.channels);
        if (clahe_case(&shape, &method, alpha ? (int16_t)at : (int16_t)-1))
            return 1;
        ++*without;
    }
    return 0;
}

/* Alpha, masked samples and images without contrast, where the depth changes within a type, and
 * where not. */
static size_t kept_cases(void)
{
    static const struct {
        ImgstatSample sample;
        uint8_t bits;
    } kinds[] = {{IMGSTAT_U8, 4}, {IMGSTAT_U8, 0}, {IMGSTAT_U16, 12}, {IMGSTAT_U16, 0}};
    size_t done = 0;
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (unsigned i = 0; i < kept_cases_of_kind(); i++) {
            KeptCase kept = kept_case(kinds[k].sample, kinds[k].bits, k, i);
            kept.shape.pattern = kept.other ? PATTERN_CONSTANT : PATTERN_SMOOTH;
            kept.method.transform = IMGSTAT_CLAHE;
            done += clahe_case(&kept.shape, &kept.method, kept.alpha);
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
    const size_t rounds = ops.small ? 3 : 60;
    size_t done = 0, without = 0, lumas = 0;
    for (size_t round = 0; round < rounds; round++) {
        for (ImgstatSample sample = IMGSTAT_U8; sample <= IMGSTAT_F64; sample++) {
            const Shape shape = random_shape(sample, (uint16_t)(3 + below(3)));
            luma_case(&shape);
            lumas++;
        }
        for (ImgstatSample sample = IMGSTAT_U8; sample <= IMGSTAT_I16; sample++)
            done += clahe_cases(sample, &without);
    }
    const size_t kept = kept_cases();
    for (uint16_t channels = 1; channels <= 3 && !ops.small; channels += 2) { /* several chunks */
        const Shape shape = {.sample = channels > 1 ? IMGSTAT_U8 : IMGSTAT_U16,
                             .channels = channels,
                             .width = 3001,
                             .height = 2999,
                             .pattern = PATTERN_SMOOTH};
        const ImgstatMethod method = {.transform = IMGSTAT_CLAHE};
        const ImgstatMethod like = {.transform = IMGSTAT_CLAHE, .like = IMGSTAT_LIKE_OPENCV};
        done += clahe_case(&shape, &method, -1);
        done += clahe_case(&shape, &like, -1);
        luma_case(&(Shape){.sample = IMGSTAT_U8, .channels = 3, .width = 4001, .height = 1999});
    }
    printf("clahe: %zu images (%zu combinations are refused), %zu of what stays, %zu lumas, %zu "
           "comparisons of %zu bytes, %.1f s, %zu failures\n",
           done, without, kept, lumas, ops.cases, ops.compared, seconds() - begin, ops.failures);
    ops_close();
    /* one of each 8- and 16-bit type */
    return ops.failures > 0 || done < 4 * rounds || kept < (ops.small ? 30 : 480) ? 1 : 0;
}
