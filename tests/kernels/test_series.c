/* SPDX-License-Identifier: MIT */
/* test_series.c: series of images are measured and transformed in one launch, or image by image,
 * with the bytes that the processor gives for each. */
#include "helper_outputs.h"
#include "transform/transfer_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Images that are bands of one, `rows` high; the last of their rows may belong to none. */
typedef struct Bands {
    Shape shape; /* of one of them, with all its rows */
    uint32_t n, unused;
} Bands;

static TestImage bands_create(const Bands *bands, bool on_device)
{
    Shape all = bands->shape;
    all.height *= bands->n;
    return test_image_create(&all, on_device);
}

static ImagePro band_of(const Bands *bands, const ImagePro *all, uint32_t i)
{
    const uint32_t rows = bands->shape.height;
    return image_band(all, i * rows, rows - bands->unused);
}

static void bands_text(const Bands *bands, const char *what, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s, %u images without %u rows: ", what, (unsigned)bands->n,
             (unsigned)bands->unused);
    shape_text(&bands->shape, "", text + strlen(text), bytes - strlen(text));
}

/* ---- Measuring ---- */

/* Half of them, then all twice: what is left over from the times before would show. */
static void measure_on(Device *device, const Bands *bands, const ImagePro *all, cudaStream_t stream,
                       void *out)
{
    const DeviceOps *const on = device->ops;
    const ImagePro first = band_of(bands, all, 0);
    DeviceSeries series = {.step = (int64_t)(bands->shape.height * all->pitch)};
    const size_t bytes = record_bytes(all->sample, all->channels, 0);
    DevMem records, scratch;
    must(on->alloc(device, bands->n * bytes, &records, &ops.error));
    must(on->alloc(device, on->async_bytes(all->sample, all->channels, bands->n), &scratch,
                   &ops.error));
    must(device_wait(device, &ops.error));
    const DeviceRecord record = {
        .mem = {records.address, bytes}, .sample = all->sample, .channels = all->channels};
    for (int turn = 0; turn < 3; turn++) {
        series.n = turn == 0 ? (bands->n + 1) / 2 : bands->n;
        must(on->measure_async(device, stream, &first, &series, &record, scratch, &ops.error));
    }
    must(on->wait(device, stream, &ops.error));
    must(on->download(device, out, records, 0, bands->n * bytes, &ops.error));
    on->release(device, &records);
    on->release(device, &scratch);
}

static void measured_case(const Bands *bands, cudaStream_t stream)
{
    const size_t bytes = bands->n * record_bytes(bands->shape.sample, bands->shape.channels, 0);
    void *const expected = malloc(bytes), *const got = malloc(bytes);
    char text[256];
    if (!expected || !got)
        fail("out of memory");
    TestImage image = bands_create(bands, true);
    bands_text(bands, "measured", text, sizeof text);
    measure_on(ops.cpu, bands, &image.cpu, stream, expected);
    measure_on(ops.cuda, bands, &image.cuda, stream, got);
    (void)same_bytes(expected, got, bytes, "records", text);
    test_image_destroy(&image);
    free(expected);
    free(got);
}

/* Images of an item and of several, with and without gaps, from boundaries on and not. */
static size_t measured_cases(cudaStream_t stream)
{
    static const Bands bands[] = {
        {{.channels = 1, .width = 64, .height = 16}, 40, 0},
        {{.channels = 1, .width = 333, .height = 16}, 9, 5},
        {{.channels = 3, .width = 48, .height = 32}, 150, 1},
        {{.channels = 2, .width = 31, .height = 7, .gap = 8}, 20, 0}, /* not on 16 bytes */
        {{.channels = 4, .width = 128, .height = 64, .gap = 16}, 12, 0},
        {{.channels = 6, .width = 80, .height = 8}, 5, 0},
        {{.channels = 1, .width = 1, .height = 16}, 300, 0},
        {{.channels = 1, .width = 512, .height = 512}, 33, 0},
        {{.channels = 1, .width = 2048, .height = 1024}, 3, 1},
        {{.channels = 3, .width = 5000, .height = 160}, 2, 0},
    };
    static const Pattern patterns[] = {PATTERN_RANDOM, PATTERN_SKEWED, PATTERN_SPECIAL};
    size_t done = 0;
    for (size_t i = 0; i < sizeof bands / sizeof *bands; i++)
        for (ImgstatSample sample = IMGSTAT_U8; sample <= IMGSTAT_F64; sample++)
            for (int k = 0; k < 3; k++) {
                Bands b = bands[i];
                b.shape.sample = sample;
                b.shape.pattern = patterns[k];
                b.shape.nodata = k == 1;
                const uint64_t samples =
                    (uint64_t)b.n * b.shape.width * b.shape.height * b.shape.channels;
                if (samples > (ops.small ? 1u << 16 : k > 0 ? 1u << 22 : 1u << 24))
                    continue;
                measured_case(&b, stream);
                done++;
            }
    return done;
}

/* ---- Transforms ---- */

static void mapped_case(const Bands *bands, const ImgstatMethod *method, cudaStream_t stream)
{
    TestImage image = bands_create(bands, true);
    const ImagePro first = band_of(bands, &image.cuda, 0);
    const TransferShape of = shape_of_input(method, &first, -1);
    const uint64_t pixels = (uint64_t)bands->shape.height * bands->shape.width;
    DeviceTransform *transform;
    uint8_t bits;
    char text[256];
    bands_text(bands, method->transform == IMGSTAT_EQUALIZE ? "equalized" : "stretched", text,
               sizeof text);
    must(ops.cuda->ops->transform_create(ops.cuda, method, &of, pixels, &transform, &ops.error));
    Output o = output_create(&image.cpu, transfer_output(method, &of, &bits));
    memset(o.expected, 0xA5, o.bytes); /* unused rows are not written */
    for (uint32_t i = 0; i < bands->n; i++) {
        const ImagePro from = band_of(bands, &image.cpu, i);
        ImagePro to = band_of(bands, &o.cpu, i);
        map_on_cpu(method, &from, -1, &to);
    }
    poison(&o);
    ImagePro to = band_of(bands, &o.cuda, 0);
    const DeviceSeries series = {bands->n, (int64_t)(bands->shape.height * first.pitch),
                                 (int64_t)(bands->shape.height * to.pitch)};
    for (int turn = 0; turn < 2; turn++)
        must(ops.cuda->ops->transform_async(transform, stream, &first, &to, &series, &ops.error));
    must_cuda(cudaStreamSynchronize(stream));
    compare(&o, "mapped", text);
    output_destroy(&o);
    ops.cuda->ops->transform_destroy(transform);
    test_image_destroy(&image);
}

/* What one launch does, and what it does not: of 8 bits, images that a block keeps, or reads twice;
 * of 16, those of clusters of 4, 8 and 16 blocks up to the last vector, with tails of less than
 * one. */
static const Bands mapped[] = {
    {{.sample = IMGSTAT_U8, .channels = 1, .width = 64, .height = 32}, 300, 0},
    {{.sample = IMGSTAT_I8, .channels = 1, .width = 64, .height = 32}, 300, 0},
    {{.sample = IMGSTAT_U8, .channels = 3, .width = 64, .height = 5}, 150, 0},
    {{.sample = IMGSTAT_U8, .channels = 4, .width = 32, .height = 32}, 40, 0},
    {{.sample = IMGSTAT_U8, .channels = 1, .width = 30, .height = 8}, 40, 0},
    {{.sample = IMGSTAT_U8, .channels = 1, .width = 16, .height = 1}, 100, 0},
    {{.sample = IMGSTAT_U8, .channels = 1, .width = 17, .height = 16}, 70, 3},
    {{.sample = IMGSTAT_U8, .channels = 1, .width = 33, .height = 3}, 70, 0},
    {{.sample = IMGSTAT_U8, .channels = 1, .width = 64, .height = 8, .gap = 16}, 40, 0},
    {{.sample = IMGSTAT_U8, .channels = 1, .width = 64, .height = 64}, 5, 0},
    {{.sample = IMGSTAT_U8, .channels = 1, .width = 512, .height = 512}, 36, 0},
    {{.sample = IMGSTAT_U8, .channels = 1, .width = 700, .height = 800}, 36, 0},
    {{.sample = IMGSTAT_U8, .channels = 1, .width = 1024, .height = 1024}, 36, 0},
    {{.sample = IMGSTAT_U8, .channels = 1, .width = 1040, .height = 1024}, 36, 0},
    {{.sample = IMGSTAT_U16, .channels = 1, .width = 64, .height = 16}, 300, 0},
    {{.sample = IMGSTAT_I16, .channels = 1, .width = 64, .height = 16}, 70, 0},
    {{.sample = IMGSTAT_U16, .channels = 1, .width = 1, .height = 16}, 40, 15},
    {{.sample = IMGSTAT_I16, .channels = 1, .width = 33, .height = 16}, 40, 1},
    {{.sample = IMGSTAT_U16, .channels = 3, .width = 101, .height = 32, .bits = 12}, 20, 3},
    {{.sample = IMGSTAT_U16, .channels = 1, .width = 60, .height = 8, .gap = 16}, 20, 0},
    {{.sample = IMGSTAT_U16, .channels = 1, .width = 333, .height = 3}, 9, 0},
    {{.sample = IMGSTAT_U16, .channels = 1, .width = 512, .height = 512}, 70, 0},
    {{.sample = IMGSTAT_I16, .channels = 1, .width = 512, .height = 512}, 9, 1},
    {{.sample = IMGSTAT_U16, .channels = 1, .width = 509, .height = 528}, 9, 14},
    {{.sample = IMGSTAT_I16, .channels = 4, .width = 362, .height = 360}, 9, 0},
    {{.sample = IMGSTAT_U16, .channels = 1, .width = 728, .height = 720}, 36, 0},
    {{.sample = IMGSTAT_U16, .channels = 1, .width = 1024, .height = 512}, 5, 0},
    {{.sample = IMGSTAT_I16, .channels = 1, .width = 1024, .height = 513}, 5, 0},
    {{.sample = IMGSTAT_U16, .channels = 1, .width = 1024, .height = 1024}, 9, 0},
    {{.sample = IMGSTAT_I16, .channels = 1, .width = 1031, .height = 1024}, 3, 8},
    {{.sample = IMGSTAT_U16, .channels = 1, .width = 1024, .height = 1025}, 3, 0},
};

static size_t mapped_cases(cudaStream_t stream)
{
    static const Pattern patterns[] = {PATTERN_SMOOTH, PATTERN_SKEWED, PATTERN_CONSTANT,
                                       PATTERN_RANDOM};
    static const ImgstatTransform transforms[] = {IMGSTAT_EQUALIZE, IMGSTAT_PERCENTILE};
    size_t done = 0;
    for (size_t i = 0; i < sizeof mapped / sizeof *mapped; i++)
        for (int k = 0; k < 8; k++) {
            Bands bands = mapped[i];
            bands.shape.nodata = k % 2;
            bands.shape.pattern = patterns[k / 2];
            const ImgstatMethod method = {.transform = transforms[(k % 2) ^ (k / 2 % 2)],
                                          .channels = IMGSTAT_JOINT,
                                          .depth = k == 5 ? IMGSTAT_DEPTH_8 : IMGSTAT_DEPTH_KEEP,
                                          .has_clip = true,
                                          .clip_lo = 1,
                                          .clip_hi = 2};
            if (ops.small && (uint64_t)bands.shape.width * bands.shape.height * bands.n > 1 << 17)
                continue;
            mapped_case(&bands, &method, stream);
            done++;
        }
    return done;
}

int main(void)
{
    const int status = ops_open();
    if (status)
        return status;
    check_outputs();
    check_same_bytes();
    const double begin = seconds();
    cudaStream_t stream;
    must_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const size_t measured = measured_cases(stream), done = mapped_cases(stream);
    printf("series: %zu measured, %zu mapped, %zu comparisons of %zu bytes, %.1f s, %zu failures\n",
           measured, done, ops.cases, ops.compared, seconds() - begin, ops.failures);
    must_cuda(cudaStreamDestroy(stream));
    ops_close();
    if (measured < (ops.small ? 60 : 200) || done < (ops.small ? 60 : 200))
        fail("too few cases");
    return ops.failures > 0;
}
