/* SPDX-License-Identifier: MIT */
/* test_devices.cu: every GPU gives what the processor gives, whichever the calling thread's own
 * device is, and leaves it that one. With one GPU: threads that have it, and that have none yet. */
#include "imgstat_async.h"

#include <cuda.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thread>

#define MUST(call)                                             \
    do {                                                       \
        if ((call) != IMGSTAT_OK) {                            \
            printf("%s: %s\n", #call, error.message);          \
            exit(1);                                           \
        }                                                      \
        check(context() == was, #call " changes the context"); \
    } while (0)

#define MUST_CUDA(call)                                            \
    do {                                                           \
        const cudaError_t status = (call);                         \
        if (status != cudaSuccess) {                               \
            printf("%s: %s\n", #call, cudaGetErrorString(status)); \
            exit(1);                                               \
        }                                                          \
    } while (0)

enum { WIDTH = 701, HEIGHT = 503, NONE = -1 };

typedef struct Kind {
    ImgstatSample sample;
    uint16_t channels;
    size_t bytes; /* of a sample */
} Kind;

static const Kind kinds[] = {{IMGSTAT_U8, 1, 1}, {IMGSTAT_U16, 3, 2}, {IMGSTAT_F32, 1, 4}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };
static const ImgstatTransform transforms[] = {IMGSTAT_EQUALIZE, IMGSTAT_STRETCH, IMGSTAT_CLAHE};
enum { TRANSFORMS = sizeof transforms / sizeof transforms[0] };

static decltype(&cuCtxGetCurrent) get_current;
static size_t checks, failures;
static int gpu, own; /* the one that works, and the calling thread's device, or NONE */
static ImgstatDevice *cpu;

static CUcontext context(void)
{
    CUcontext now = NULL;
    (void)get_current(&now);
    return now;
}

static void check(bool good, const char *what)
{
    checks++;
    if (good)
        return;
    failures++;
    printf("cuda:%d, own device %d: %s\n", gpu, own, what);
}

static ImagePro wrap(const Kind &kind, ImgstatMemory memory, int number, void *pixels)
{
    ImgstatError error;
    ImagePro image;
    if (imgstat_image_wrap(memory, number, pixels, 0, WIDTH, HEIGHT, kind.channels, kind.sample, 0,
                           NULL, NULL, &image, &error) != IMGSTAT_OK) {
        printf("%s\n", error.message);
        exit(1);
    }
    return image;
}

/* What a program has: pixels, the same on the GPU and room for others there, and a stream. */
typedef struct Held {
    Kind kind;
    size_t bytes;
    unsigned char *pixels;
    void *there, *to;
    cudaStream_t stream;
} Held;

/* Every sample counts: values depend on the place, floats lie between integers. */
static void fill(const Kind &kind, unsigned char *pixels)
{
    uint32_t state = 7;
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT * kind.channels; i++) {
        state = state * 1664525u + 1013904223u;
        const uint32_t v = (state >> 24) * (i % WIDTH + 1) / WIDTH;
        const uint16_t word = (uint16_t)(v * 17);
        const float value = (float)v / 3;
        if (kind.sample == IMGSTAT_U8)
            pixels[i] = (unsigned char)v;
        else if (kind.sample == IMGSTAT_U16)
            memcpy(pixels + i * 2, &word, 2);
        else
            memcpy(pixels + i * 4, &value, 4);
    }
}

static Held hold(const Kind &kind)
{
    Held held = {kind, (size_t)WIDTH * HEIGHT * kind.channels * kind.bytes, NULL, NULL, NULL, NULL};
    held.pixels = (unsigned char *)malloc(held.bytes);
    fill(kind, held.pixels);
    MUST_CUDA(cudaMalloc(&held.there, held.bytes));
    MUST_CUDA(cudaMalloc(&held.to, held.bytes));
    MUST_CUDA(cudaStreamCreateWithFlags(&held.stream, cudaStreamNonBlocking));
    MUST_CUDA(cudaMemcpy(held.there, held.pixels, held.bytes, cudaMemcpyHostToDevice));
    return held;
}

static void let_go(Held *held)
{
    MUST_CUDA(cudaStreamDestroy(held->stream));
    MUST_CUDA(cudaFree(held->to));
    MUST_CUDA(cudaFree(held->there));
    free(held->pixels);
}

static bool same_stats(const ImgstatRecord *a, const ImgstatRecord *b, uint16_t channels)
{
    for (uint16_t c = 0; c < channels; c++) {
        ImgstatStats x, y;
        imgstat_record_stats(a, c, &x);
        imgstat_record_stats(b, c, &y);
        if (x.count != (uint64_t)WIDTH * HEIGHT || x.count != y.count || x.min.as.u != y.min.as.u ||
            x.max.as.u != y.max.as.u || x.mean != y.mean || x.stddev != y.stddev)
            return false;
    }
    return true;
}

/* Rows without gaps, and an image's. */
static bool same_rows(const unsigned char *got, const ImagePro &expected, const Held &held)
{
    const size_t row = held.bytes / HEIGHT;
    size_t wrong = 0;
    for (size_t y = 0; y < HEIGHT; y++)
        wrong += memcmp(got + y * row, (const char *)expected.host + y * expected.pitch, row) != 0;
    return wrong == 0;
}

static void measure(ImgstatDevice *device, const Held &held, CUcontext was)
{
    const Kind &kind = held.kind;
    const ImagePro host = wrap(kind, IMGSTAT_HOST, 0, held.pixels);
    const ImagePro there = wrap(kind, IMGSTAT_CUDA, gpu, held.there);
    ImgstatError error;
    ImgstatRecord *expected = NULL, *record = NULL;
    ImgstatPending *pending = NULL;
    MUST(imgstat_measure_image(cpu, &host, NULL, &expected, &error));
    for (const ImagePro *image : {&host, &there}) {
        MUST(imgstat_measure_image(device, image, NULL, &record, &error));
        check(same_stats(record, expected, kind.channels), "measured");
        imgstat_record_destroy(record);
    }
    MUST(imgstat_pending_create(device, kind.sample, kind.channels, &pending, &error));
    MUST(imgstat_measure_async(pending, &there, held.stream, &error));
    MUST(imgstat_pending_record(pending, held.stream, NULL, &record, &error));
    check(same_stats(record, expected, kind.channels), "measured in a stream");
    imgstat_record_destroy(record);
    imgstat_record_destroy(expected);
    imgstat_pending_destroy(pending);
    check(context() == was, "destroying what measures changes the context");
}

/* What the GPU made of the image, from its memory; looked at by a thread of its own, since the
 * runtime gives its callers a context. */
static void compare(const Held &held, const ImagePro &expected, const char *what)
{
    std::thread([&] {
        unsigned char *const got = (unsigned char *)malloc(held.bytes);
        MUST_CUDA(cudaSetDevice(gpu));
        MUST_CUDA(cudaStreamSynchronize(held.stream));
        MUST_CUDA(cudaMemcpy(got, held.to, held.bytes, cudaMemcpyDeviceToHost));
        MUST_CUDA(cudaMemset(held.to, 0xA5, held.bytes));
        MUST_CUDA(cudaDeviceSynchronize());
        check(same_rows(got, expected, held), what);
        free(got);
    }).join();
}

static void transform(ImgstatDevice *device, const Held &held, CUcontext was)
{
    const Kind &kind = held.kind;
    const ImagePro host = wrap(kind, IMGSTAT_HOST, 0, held.pixels);
    const ImagePro there = wrap(kind, IMGSTAT_CUDA, gpu, held.there);
    ImagePro to = wrap(kind, IMGSTAT_CUDA, gpu, held.to);
    for (ImgstatTransform transform : transforms) {
        ImgstatError error;
        ImgstatMethod method = {};
        ImgstatChain *chain = NULL;
        ImagePro expected, got;
        method.transform = transform;
        if (transform == IMGSTAT_CLAHE && kind.sample == IMGSTAT_F32)
            continue;
        MUST(imgstat_image_transform(cpu, &method, &host, NONE, NULL, &expected, &error));
        MUST(imgstat_image_transform(device, &method, &host, NONE, NULL, &got, &error));
        check(got.pitch == expected.pitch &&
                  memcmp(got.host, expected.host, HEIGHT * got.pitch) == 0,
              "a host image transformed");
        imgstat_image_release(&got);
        MUST(imgstat_image_transform(device, &method, &there, NONE, NULL, &to, &error));
        compare(held, expected, "a device image transformed");
        if (transform != IMGSTAT_CLAHE && kind.sample != IMGSTAT_F32) {
            MUST(imgstat_chain_create(device, &method, &there, NONE, &chain, &error));
            MUST(imgstat_transform_async(chain, &there, &to, held.stream, &error));
            compare(held, expected, "transformed in a stream");
            imgstat_chain_destroy(chain);
            check(context() == was, "destroying a chain changes the context");
        }
        imgstat_image_release(&expected);
    }
}

static ImgstatDevice *open_gpu(CUcontext was)
{
    ImgstatDevice *device = NULL;
    ImgstatError error;
    char name[24];
    snprintf(name, sizeof name, "cuda:%d", gpu);
    MUST(imgstat_device_open(name, 2, &device, &error));
    return device;
}

static void refuse(ImgstatDevice *device, const Held &held, CUcontext was)
{
    ImgstatError error;
    ImgstatRecord *record = NULL;
    const ImagePro elsewhere = wrap(held.kind, IMGSTAT_CUDA, gpu + 1, held.there);
    check(imgstat_measure_image(device, &elsewhere, NULL, &record, &error) == IMGSTAT_ERR_ARG &&
              strstr(error.message, "cuda:") != NULL && record == NULL,
          "pixels on another GPU are refused");
    check(context() == was, "an error changes the context");
}

/* In a thread whose program works with the GPU `own`, or with none. */
static void use(const Held *held)
{
    if (own != NONE)
        MUST_CUDA(cudaSetDevice(own));
    const CUcontext was = context();
    check((was == NULL) == (own == NONE), "the thread has the context of its own device");
    imgstat_device_close(open_gpu(was));
    ImgstatDevice *const device = open_gpu(was);
    for (size_t k = 0; k < KINDS; k++) {
        measure(device, held[k], was);
        transform(device, held[k], was);
        refuse(device, held[k], was);
    }
    imgstat_device_close(device);
    check(context() == was, "closing changes the context");
}

static bool find_current(void)
{
    cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
    return cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", (void **)&get_current, 12000,
                                            cudaEnableDefault, &found) == cudaSuccess;
#else
    return cudaGetDriverEntryPoint("cuCtxGetCurrent", (void **)&get_current, cudaEnableDefault,
                                   &found) == cudaSuccess;
#endif
}

int main(void)
{
    const char *required = getenv("IMGSTAT_REQUIRE_CUDA");
    ImgstatError error;
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0 || !find_current()) {
        printf("no CUDA device\n");
        return required && *required == '1' ? 1 : 77;
    }
    if (imgstat_device_open("cpu", 0, &cpu, &error) != IMGSTAT_OK) {
        printf("%s\n", error.message);
        return 1;
    }
    /* First a thread without a context in a process that has none either. */
    for (gpu = 0; gpu < gpus; gpu++) {
        own = NONE;
        std::thread([] {
            const CUcontext was = context();
            imgstat_device_close(open_gpu(was));
        }).join();
    }
    for (gpu = 0; gpu < gpus; gpu++) {
        Held held[KINDS];
        MUST_CUDA(cudaSetDevice(gpu));
        for (size_t k = 0; k < KINDS; k++)
            held[k] = hold(kinds[k]);
        for (own = NONE; own < gpus; own++)
            std::thread(use, held).join();
        for (size_t k = 0; k < KINDS; k++)
            let_go(&held[k]);
    }
    imgstat_device_close(cpu);
    printf("%d GPUs, %zu checks, %zu failures\n", gpus, checks, failures);
    return checks == 0 || failures > 0;
}
