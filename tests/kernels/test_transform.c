/* SPDX-License-Identifier: MIT */
/* test_transform.c: measuring, making a transfer and applying it on the device alone gives the
 * bytes that the processor gives, called directly and replayed from a graph. */
#include "helper_hog.h"
#include "helper_outputs.h"
#include "transform/transfer_source.h"

#include <stdio.h>
#include <stdlib.h>

static void expect(const ImgstatMethod *method, const TestImage *image, int16_t alpha, Output *o)
{
    map_on_cpu(method, &image->cpu, alpha, &o->cpu);
}

/* Other pixels in the same place; the nodata value stays. */
static void change_pixels(TestImage *image, Pattern pattern)
{
    Shape shape = image->shape;
    shape.pattern = pattern;
    shape.mask = shape.nodata = false;
    TestImage other = test_image_create(&shape, false);
    memcpy(image->host, other.host, image->bytes);
    test_image_destroy(&other);
    test_image_upload(image);
}

/* Recorded once; replayed over pixels that the recording has not seen. */
static void replay(DeviceTransform *transform, const ImgstatMethod *method, TestImage *image,
                   int16_t alpha, Output *o, cudaStream_t stream, const char *text)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    must_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    must(ops.cuda->ops->transform_async(transform, stream, &image->cuda, &o->cuda,
                                        &(DeviceSeries){.n = 1}, &ops.error));
    must_cuda(cudaStreamEndCapture(stream, &graph));
    must_cuda(cudaGraphInstantiate(&exec, graph, 0));
    for (int turn = 0; turn < 2; turn++) {
        change_pixels(image, turn ? PATTERN_SMOOTH : PATTERN_SKEWED);
        expect(method, image, alpha, o);
        poison(o);
        must_cuda(cudaGraphLaunch(exec, stream));
        must_cuda(cudaStreamSynchronize(stream));
        compare(o, "replayed", text);
    }
    must_cuda(cudaGraphExecDestroy(exec));
    must_cuda(cudaGraphDestroy(graph));
}

static bool one_case(const Shape *shape, const ImgstatMethod *method, int16_t alpha,
                     cudaStream_t stream)
{
    char text[256];
    TestImage image = test_image_create(shape, true);
    const TransferShape of = shape_of_input(method, &image.cpu, alpha);
    uint8_t bits;
    DeviceTransform *transform;
    const ImgstatResult res = ops.cuda->ops->transform_create(
        ops.cuda, method, &of, (uint64_t)shape->width * shape->height, &transform, &ops.error);
    if (res != IMGSTAT_OK) { /* luma without colours, say: not for the processor either */
        if (transfer_check(method, &of, NULL) == IMGSTAT_OK)
            must(res);
        test_image_destroy(&image);
        return false;
    }
    snprintf(text, sizeof text,
             "transform %d, channels %d, depth %d, alpha %d: ", (int)method->transform,
             (int)method->channels, (int)method->depth, alpha);
    shape_text(shape, "", text + strlen(text), sizeof text - strlen(text));
    Output o = output_create(&image.cpu, transfer_output(method, &of, &bits));
    expect(method, &image, alpha, &o);
    for (int turn = 0; turn < 2; turn++) { /* twice: nothing is left over from the first time */
        poison(&o);
        must(ops.cuda->ops->transform_async(transform, stream, &image.cuda, &o.cuda,
                                            &(DeviceSeries){.n = 1}, &ops.error));
        must_cuda(cudaStreamSynchronize(stream));
        compare(&o, "called", text);
    }
    replay(transform, method, &image, alpha, &o, stream, text);
    output_destroy(&o);
    ops.cuda->ops->transform_destroy(transform);
    test_image_destroy(&image);
    return true;
}

static Shape random_shape(ImgstatSample sample)
{
    static const uint32_t sides[] = {1, 2, 7, 31, 33, 64, 100, 255, 257, 640};
    enum { SIDES = sizeof sides / sizeof *sides };
    const uint32_t bytes = (uint32_t)imgstat_sample_bytes(sample);
    const bool gaps = below(3) == 0;
    return (Shape){.sample = sample,
                   .channels = (uint16_t)(1 + below(5)),
                   .width = sides[below(ops.small ? 5 : SIDES)],
                   .height = sides[below(ops.small ? 5 : SIDES)],
                   .gap = gaps ? below(5) * bytes : 0,
                   .shift = gaps ? below(5) * bytes : 0,
                   .pattern = (Pattern)below(PATTERNS),
                   .mask = below(4) == 0,
                   .nodata = below(3) == 0,
                   .bits = below(3)                ? 0
                           : sample == IMGSTAT_U8  ? 4
                           : sample == IMGSTAT_U16 ? 12
                                                   : 0};
}

static ImgstatMethod random_method(ImgstatTransform transform)
{
    return (ImgstatMethod){.transform = transform,
                           .channels = (ImgstatChannels)below(4),
                           .depth = (ImgstatDepth)below(4),
                           .has_clip = below(2) != 0,
                           .clip_lo = below(30),
                           .clip_hi = below(30) * 0.5};
}

/* Alpha, masked and undefined samples, and images without contrast, where the depth changes within
 * a type, and where not. */
static size_t kept_cases(cudaStream_t stream)
{
    static const struct {
        ImgstatSample sample;
        uint8_t bits;
    } kinds[] = {{IMGSTAT_U8, 4}, {IMGSTAT_U16, 12}, {IMGSTAT_U16, 0}, {IMGSTAT_F16, 0}};
    size_t done = 0;
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (unsigned i = 0; i < kept_cases_of_kind(); i++) {
            KeptCase kept = kept_case(kinds[k].sample, kinds[k].bits, k, i);
            kept.shape.gap *= (uint32_t)imgstat_sample_bytes(kept.shape.sample);
            kept.shape.pattern = kept.other ? PATTERN_CONSTANT : PATTERN_SMOOTH;
            kept.method.transform = below(2) ? IMGSTAT_EQUALIZE : IMGSTAT_STRETCH;
            done += one_case(&kept.shape, &kept.method, kept.alpha, stream);
        }
    return done;
}

/* Images that one launch transforms: around vectors of 16 samples, blocks (of 132, the last two of
 * the one of 1,081,365 samples have none, and the last one of 48,998,417 least beside the others),
 * and what a block keeps in registers and in shared memory; the last is too large. */
static size_t plain_cases(cudaStream_t stream)
{
    static const Shape shapes[] = {
        {.sample = IMGSTAT_U8, .channels = 1, .width = 1, .height = 1},
        {.sample = IMGSTAT_I8, .channels = 1, .width = 15, .height = 1},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 16, .height = 1},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 17, .height = 1, .nodata = true},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 128, .height = 128},
        {.sample = IMGSTAT_U8, .channels = 3, .width = 43, .height = 99, .bits = 4},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 333, .height = 5, .bits = 4, .nodata = true},
        {.sample = IMGSTAT_I8, .channels = 3, .width = 129, .height = 127},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 1009, .height = 1021},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 1081365, .height = 1},
        {.sample = IMGSTAT_I8, .channels = 1, .width = 2048, .height = 1056},
        {.sample = IMGSTAT_U8, .channels = 3, .width = 1499, .height = 1201},
        {.sample = IMGSTAT_I8, .channels = 1, .width = 3001, .height = 2903},
        {.sample = IMGSTAT_U8, .channels = 3, .width = 2003, .height = 2101, .nodata = true},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 4099, .height = 4097},
        {.sample = IMGSTAT_U8, .channels = 4, .width = 2703, .height = 2801, .nodata = true},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 5301, .height = 5203},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 6200, .height = 6100},
        {.sample = IMGSTAT_I8, .channels = 1, .width = 6503, .height = 6401, .nodata = true},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 47579151, .height = 1},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 7001, .height = 6803},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 48998417, .height = 1},
        {.sample = IMGSTAT_I8, .channels = 1, .width = 7101, .height = 7103, .nodata = true},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 51904527, .height = 1},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 51904528, .height = 1},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 8193, .height = 8191},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 11585, .height = 11585}, /* < 2^27 */
        {.sample = IMGSTAT_U8, .channels = 1, .width = 16384, .height = 8192},
    };
    static const Pattern patterns[] = {PATTERN_RANDOM, PATTERN_CONSTANT, PATTERN_SKEWED};
    enum { LARGE = 64 << 20 };
    const size_t n = ops.small ? 8 : sizeof shapes / sizeof *shapes;
    size_t done = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 3; k++) {
            Shape shape = shapes[i];
            if (k > 0 && (size_t)shape.width * shape.height > LARGE)
                continue;
            shape.pattern = patterns[k];
            const ImgstatMethod method = {
                .transform = k == 2 ? IMGSTAT_PERCENTILE : IMGSTAT_EQUALIZE,
                .channels = IMGSTAT_JOINT,
                .depth = shape.bits ? IMGSTAT_DEPTH_8 : IMGSTAT_DEPTH_KEEP};
            done += one_case(&shape, &method, -1, stream);
        }
    return done;
}

/* Images of 16 bits that are counted in tables: around vectors of 8 samples, tables (of 16,384
 * samples and more), and waves of 132; the last two are too large, or have a mask. A counter of the
 * one of 8,649,703 samples holds all that 16 bits do. */
static size_t word_cases(cudaStream_t stream)
{
    static const Shape shapes[] = {
        {.sample = IMGSTAT_U16, .channels = 1, .width = 1, .height = 1},
        {.sample = IMGSTAT_I16, .channels = 1, .width = 7, .height = 1},
        {.sample = IMGSTAT_U16, .channels = 1, .width = 8, .height = 1, .nodata = true},
        {.sample = IMGSTAT_I16, .channels = 1, .width = 9, .height = 3, .nodata = true},
        {.sample = IMGSTAT_U16, .channels = 3, .width = 43, .height = 99, .bits = 12},
        {.sample = IMGSTAT_U16, .channels = 1, .width = 16384, .height = 1},
        {.sample = IMGSTAT_I16, .channels = 1, .width = 16389, .height = 1},
        {.sample = IMGSTAT_U16, .channels = 3, .width = 129, .height = 127, .bits = 12},
        {.sample = IMGSTAT_U16, .channels = 1, .width = 333, .height = 555, .nodata = true},
        {.sample = IMGSTAT_I16, .channels = 4, .width = 1009, .height = 1021},
        {.sample = IMGSTAT_U16, .channels = 1, .width = 2162695, .height = 1},
        {.sample = IMGSTAT_U16, .channels = 1, .width = 8649703, .height = 1},
        {.sample = IMGSTAT_U16, .channels = 1, .width = 8649704, .height = 1},
        {.sample = IMGSTAT_I16, .channels = 1, .width = 3001, .height = 2903},
        {.sample = IMGSTAT_U16, .channels = 1, .width = 17299399, .height = 1},
        {.sample = IMGSTAT_U16, .channels = 1, .width = 4161, .height = 4159},
        {.sample = IMGSTAT_I16, .channels = 3, .width = 257, .height = 255, .mask = true},
    };
    static const Pattern patterns[] = {PATTERN_RANDOM, PATTERN_CONSTANT, PATTERN_SMOOTH};
    const size_t n = ops.small ? 8 : sizeof shapes / sizeof *shapes;
    size_t done = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 3; k++) {
            Shape shape = shapes[i];
            shape.pattern = patterns[k];
            const ImgstatMethod method = {
                .transform = k == 2 ? IMGSTAT_PERCENTILE : IMGSTAT_EQUALIZE,
                .channels = IMGSTAT_JOINT,
                .depth = i % 4 == 3 ? IMGSTAT_DEPTH_8 : IMGSTAT_DEPTH_KEEP};
            done += one_case(&shape, &method, -1, stream);
        }
    return done;
}

/* One transform for images that are counted in a way of their own and for those that are not, as
 * they have gaps, or a mask, or begin on no boundary, or are larger than they should be: neither
 * leaves the other any counts. */
static size_t by_turns(ImgstatSample sample, uint16_t channels, ImgstatChannels mode, bool masks,
                       cudaStream_t stream)
{
    enum { IMAGES = 6 };
    const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE, .channels = mode};
    const uint32_t bytes = (uint32_t)imgstat_sample_bytes(sample);
    DeviceTransform *transform = NULL;
    TestImage image[IMAGES];
    Output o[IMAGES];
    for (int i = 0; i < IMAGES; i++) {
        const Shape shape = {.sample = sample,
                             .channels = channels,
                             .width = 301,
                             .height = i == 5 && mode != IMGSTAT_LUMA ? 301 : 57,
                             .gap = i == 1 ? 5 * bytes : 0,
                             .shift = i == 3 ? bytes : 0,
                             .mask = masks && i % 2,
                             .pattern = i % 2 ? PATTERN_SMOOTH : PATTERN_RANDOM};
        image[i] = test_image_create(&shape, true);
        const TransferShape of = shape_of_input(&method, &image[i].cpu, -1);
        if (!transform)
            must(ops.cuda->ops->transform_create(ops.cuda, &method, &of,
                                                 (uint64_t)shape.width * shape.height, &transform,
                                                 &ops.error));
        o[i] = output_create(&image[i].cpu, sample);
        expect(&method, &image[i], -1, &o[i]);
        poison(&o[i]);
    }
    must_cuda(cudaDeviceSynchronize());
    for (int i = 0; i < IMAGES; i++)
        must(ops.cuda->ops->transform_async(transform, stream, &image[i].cuda, &o[i].cuda,
                                            &(DeviceSeries){.n = 1}, &ops.error));
    must_cuda(cudaStreamSynchronize(stream));
    for (int i = 0; i < IMAGES; i++) {
        char text[64];
        snprintf(text, sizeof text, "image %d of one transform", i);
        compare(&o[i], "by turns", text);
        output_destroy(&o[i]);
        test_image_destroy(&image[i]);
    }
    ops.cuda->ops->transform_destroy(transform);
    return IMAGES;
}

/* An image, its transform and what must come out. */
typedef struct Trial {
    TestImage image;
    DeviceTransform *transform;
    Output output;
} Trial;

static Trial trial_create(Device *device, const ImgstatMethod *method, const Shape *shape,
                          int16_t alpha)
{
    uint8_t bits;
    Trial trial = {.image = test_image_create(shape, true)};
    const TransferShape of = shape_of_input(method, &trial.image.cpu, alpha);
    must(device->ops->transform_create(device, method, &of, trial.image.bytes, &trial.transform,
                                       &ops.error));
    trial.output = output_create(&trial.image.cpu, transfer_output(method, &of, &bits));
    expect(method, &trial.image, alpha, &trial.output);
    poison(&trial.output);
    return trial;
}

static void trial_start(Trial *trial, cudaStream_t stream)
{
    must(ops.cuda->ops->transform_async(trial->transform, stream, &trial->image.cuda,
                                        &trial->output.cuda, &(DeviceSeries){.n = 1}, &ops.error));
}

static void trial_destroy(Trial *trial)
{
    output_destroy(&trial->output);
    ops.cuda->ops->transform_destroy(trial->transform);
    test_image_destroy(&trial->image);
}

/* Devices open on one GPU: what one allows a kernel must do for what another has launched. */
static size_t two_devices(cudaStream_t stream)
{
    enum { ROUNDS = 3 };
    const Shape shapes[2] = {
        {.sample = IMGSTAT_U8, .channels = 4, .width = 61, .height = 33},
        {.sample = IMGSTAT_U8, .channels = 2, .width = 61, .height = 33},
    };
    const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE, .channels = IMGSTAT_EACH};
    Device *device[2] = {ops.cuda, NULL};
    Trial trial[2];
    must(imgstat_device_open("cuda:0", 0, &device[1], &ops.error));
    for (int i = 0; i < 2; i++)
        trial[i] = trial_create(device[i], &method, &shapes[i], i ? 1 : -1);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < 2; i++) {
            poison(&trial[i].output);
            trial_start(&trial[i], stream);
            must_cuda(cudaStreamSynchronize(stream));
            compare(&trial[i].output, "two devices", i ? "the second" : "the first");
        }
    for (int i = 0; i < 2; i++)
        trial_destroy(&trial[i]);
    imgstat_device_close(device[1]);
    return 2 * ROUNDS;
}

/* RGB whose luma is counted without a plane, or with nodata by one: rows around the tiles of a
 * warp, which are 512 pixels, at offsets from 16 bytes. */
static size_t luma_cases(cudaStream_t stream)
{
    static const uint32_t widths[] = {1, 5, 16, 511, 512, 513, 1047, 16389, 100003, 1500000};
    static const uint32_t shifts[] = {0, 1, 2, 4, 8, 12};
    static const Pattern patterns[] = {PATTERN_RANDOM, PATTERN_SKEWED, PATTERN_SMOOTH,
                                       PATTERN_CONSTANT};
    const size_t n = sizeof widths / sizeof *widths - (ops.small ? 3 : 0);
    size_t done = 0;
    for (size_t w = 0; w < n; w++)
        for (size_t s = 0; s < sizeof shifts / sizeof *shifts; s++) {
            const Shape shape = {.sample = IMGSTAT_U8,
                                 .channels = 3,
                                 .width = widths[w],
                                 .height = 1 + below(2),
                                 .shift = shifts[s],
                                 .pattern = patterns[below(4)],
                                 .nodata = below(4) == 0};
            const ImgstatMethod method = {.transform =
                                              below(2) ? IMGSTAT_EQUALIZE : IMGSTAT_PERCENTILE,
                                          .channels = IMGSTAT_LUMA};
            done += one_case(&shape, &method, -1, stream);
        }
    return done;
}

/* Other work has all multiprocessors but one, and does not end before the transform has: blocks
 * that wait for blocks must not wait for those that cannot begin. */
static size_t busy_cases(cudaStream_t stream)
{
    static const Shape shapes[] = {
        {.sample = IMGSTAT_U8, .channels = 1, .width = 1009, .height = 1021},
        {.sample = IMGSTAT_I8, .channels = 1, .width = 2048, .height = 1056, .nodata = true},
        {.sample = IMGSTAT_U8, .channels = 3, .width = 2731, .height = 2049},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 7001, .height = 6803},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 8193, .height = 8191},
    };
    const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE, .channels = IMGSTAT_JOINT};
    const size_t n = sizeof shapes / sizeof *shapes;
    for (size_t i = 0; i < n; i++) {
        Trial trial = trial_create(ops.cuda, &method, &shapes[i], -1);
        for (int turn = 0; turn < 3; turn++) { /* the last one without hindrance */
            poison(&trial.output);
            must_cuda(cudaDeviceSynchronize());
            Hog hog = {0};
            if (turn < 2)
                must_cuda(hog_start(&hog, 1));
            trial_start(&trial, stream);
            if (turn == 0) /* a second one waits for the first, and neither for the hog */
                trial_start(&trial, stream);
            must_cuda(cudaStreamSynchronize(stream));
            if (turn < 2 && cudaStreamQuery(hog.stream) != cudaErrorNotReady)
                fail("the transform ended only after what kept the multiprocessors busy");
            must_cuda(hog_stop(&hog));
            compare(&trial.output, "beside other work", "");
        }
        trial_destroy(&trial);
    }
    return n;
}

/* Streams whose launches overlap as they like: blocks with all their pixels in registers, with some
 * in shared memory of images that do and that do not fit the cache, and with more than both hold;
 * words. */
static size_t parallel_cases(void)
{
    enum { STREAMS = 8, ROUNDS = 60 };
    const Shape shapes[STREAMS] = {
        {.sample = IMGSTAT_U8, .channels = 1, .width = 1500, .height = 700},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 4096, .height = 4000},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 2003, .height = 1999},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 4300, .height = 4200},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 6001, .height = 5803},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 7000, .height = 6900},
        {.sample = IMGSTAT_U8, .channels = 1, .width = 7400, .height = 7300},
        {.sample = IMGSTAT_U16, .channels = 1, .width = 1700, .height = 1600},
    };
    const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE};
    Trial trial[STREAMS];
    cudaStream_t stream[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        must_cuda(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
        trial[i] = trial_create(ops.cuda, &method, &shapes[i], -1);
    }
    must_cuda(cudaDeviceSynchronize());
    for (int round = 0; round < (ops.small ? 1 : ROUNDS); round++)
        for (int i = 0; i < STREAMS; i++)
            trial_start(&trial[i], stream[i]);
    must_cuda(cudaDeviceSynchronize());
    for (int i = 0; i < STREAMS; i++) {
        compare(&trial[i].output, "beside other streams", "");
        must_cuda(cudaStreamDestroy(stream[i]));
        trial_destroy(&trial[i]);
    }
    return STREAMS;
}

int main(void)
{
    const int status = ops_open();
    if (status)
        return status;
    check_outputs();
    static const ImgstatTransform transforms[] = {IMGSTAT_STRETCH, IMGSTAT_PERCENTILE,
                                                  IMGSTAT_EQUALIZE};
    const double begin = seconds();
    const size_t rounds = ops.small ? 1 : 40;
    size_t done = 0, without = 0;
    cudaStream_t stream;
    must_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    done += plain_cases(stream);
    const size_t kept = kept_cases(stream);
    const size_t lumas = luma_cases(stream) + by_turns(IMGSTAT_U8, 3, IMGSTAT_LUMA, false, stream);
    const size_t words = word_cases(stream);
    size_t mixed = by_turns(IMGSTAT_U16, 1, IMGSTAT_JOINT, false, stream);
    mixed += by_turns(IMGSTAT_I16, 3, IMGSTAT_JOINT, true, stream);
    mixed += by_turns(IMGSTAT_U16, 3, IMGSTAT_LUMA, true, stream);
    mixed += by_turns(IMGSTAT_U8, 2, IMGSTAT_EACH, true, stream);
    mixed += two_devices(stream);
    if (!ops.small) /* what looks at every access takes too long for waiting */
        done += busy_cases(stream);
    done += parallel_cases();
    for (size_t round = 0; round < rounds; round++)
        for (ImgstatSample sample = IMGSTAT_U8; sample <= IMGSTAT_F16; sample++)
            for (size_t t = 0; t < 3; t++) {
                const Shape shape = random_shape(sample);
                const ImgstatMethod method = random_method(transforms[t]);
                const bool alpha = below(3) == 0 && shape.channels > 1;
                const uint32_t at = below(3) ? shape.channels - 1u : below(shape.channels);
                if (one_case(&shape, &method, alpha ? (int16_t)at : (int16_t)-1, stream))
                    done++;
                else
                    without++;
            }
    printf(
        "transform: %zu transforms (%zu combinations have none), %zu of what stays, %zu of luma, "
        "%zu of words, %zu by turns, %zu comparisons of %zu bytes, %.1f s, %zu "
        "failures\n",
        done, without, kept, lumas, words, mixed, ops.cases, ops.compared, seconds() - begin,
        ops.failures);
    must_cuda(cudaStreamDestroy(stream));
    ops_close();
    if (done < rounds * 8 || kept < (ops.small ? 30 : 480) || lumas < 40 || words < 24 ||
        mixed < 30)
        return 1;
    return ops.failures > 0 ? 1 : 0;
}
