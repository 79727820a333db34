/* SPDX-License-Identifier: MIT */
/* helper_images.c: images of every shape and content on both devices. */
#define _GNU_SOURCE
#include "ops_images.h"
#include "support.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

Ops ops;

enum { SEVERAL = 20 }; /* failures that are said */

double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

uint64_t random64(void)
{
    return splitmix64(&ops.state);
}

uint32_t below(uint32_t n)
{
    return (uint32_t)(random64() % n);
}

_Noreturn void fail(const char *why)
{
    printf("%s\n", why);
    exit(1);
}

void must(ImgstatResult result)
{
    if (result != IMGSTAT_OK)
        fail(ops.error.message);
}

void complain(const char *format, ...)
{
    va_list args;
    if (ops.failures++ >= SEVERAL || ops.quiet)
        return;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
}

int ops_open(void)
{
    const char *seed = getenv("IMGSTAT_SEED"), *required = getenv("IMGSTAT_REQUIRE_CUDA");
    ops.seed = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    ops.state = ops.seed;
    ops.small = getenv("IMGSTAT_TEST_SMALL") != NULL;
    printf("seed %llu (IMGSTAT_SEED)\n", (unsigned long long)ops.seed);
    if (imgstat_device_list(NULL, 0) == 1) {
        const ImgstatResult result = imgstat_device_open("cuda", 0, &ops.cuda, &ops.error);
        printf("%s\n", result == IMGSTAT_OK ? "a CUDA device, and not listed" : ops.error.message);
        return (required && *required == '1') || result == IMGSTAT_OK ? 1 : 77;
    }
    must(imgstat_device_open("cpu", 0, &ops.cpu, &ops.error));
    must(imgstat_device_open("cuda", 0, &ops.cuda, &ops.error));
    ImgstatDeviceInfo info;
    imgstat_device_describe(ops.cuda, &info);
    printf("%s: %s\n", info.name, info.description);
    return 0;
}

void ops_close(void)
{
    imgstat_device_close(ops.cuda);
    imgstat_device_close(ops.cpu);
}

bool same_bytes(const void *expected, const void *got, size_t bytes, const char *what,
                const char *text)
{
    const unsigned char *const a = expected, *const b = got;
    ops.cases++;
    ops.compared += bytes;
    for (size_t i = 0; i < bytes; i++) {
        if (a[i] == b[i])
            continue;
        complain("%s: %s: byte %zu of %zu is %02x, expected %02x", text, what, i, bytes, b[i],
                 a[i]);
        return false;
    }
    return true;
}

void check_same_bytes(void)
{
    const unsigned char a[4] = {1, 2, 3, 4}, b[4] = {1, 2, 3, 5};
    const size_t before = ops.failures;
    ops.quiet = true;
    if (same_bytes(a, b, sizeof a, "self-test", "") || ops.failures != before + 1)
        fail("the comparison does not see a wrong byte");
    ops.quiet = false;
    ops.failures = before;
}

static double special(void)
{
    static const double values[] = {0.0,     -0.0,     1.0,       -1.0,     1e-310,    -1e-310,
                                    1e-45,   1e38,     -1e38,     3.4e38,   1e300,     -1e300,
                                    1.7e308, -1.7e308, NAN,       INFINITY, -INFINITY, 65504.0,
                                    6e-8,    -9999.0,  123456.789};
    return values[below(sizeof values / sizeof *values)];
}

/* A value of the pattern in [0, 1), or for floats anything. */
static double pattern_value(const Shape *shape, size_t i, size_t n)
{
    switch (shape->pattern) {
    case PATTERN_PRIME:
        return (double)(i % 251) / 251;
    case PATTERN_CONSTANT:
        return 0.37;
    case PATTERN_LARGEST:
        return 0.9999999999;
    case PATTERN_CHECKER:
        return i % 2 ? 0.9999999999 : 0.0;
    case PATTERN_SMOOTH:
        return (double)i / (double)n * 0.8 + (double)below(1000) * 1e-5;
    case PATTERN_TWELVE:
        return (double)below(4096) / 65536;
    case PATTERN_SKEWED: {
        const double u = (double)below(1 << 24) / (1 << 24);
        return u * u * u * u * u * u * u * u;
    }
    case PATTERN_MISLEAD:
        return i % 97 < 90 ? 0.5 + (double)below(64) / 65536 : below(2) ? 0.125 : 0.9;
    default:
        return (double)below(1 << 30) / (1 << 30);
    }
}

/* The lowest bytes of `raw` are the sample (this code runs on little-endian machines). */
static uint64_t pattern_raw(const Shape *shape, size_t i, size_t n)
{
    const ImgstatSample s = shape->sample;
    const unsigned bits = shape->bits ? shape->bits : sample_bits(s);
    if (shape->pattern == PATTERN_RANDOM)
        return random64() >> (64 - bits);
    if (!sample_is_float(s)) {
        double v = pattern_value(shape, i, n);
        if (shape->pattern == PATTERN_OFFSET)
            v = 0.75 + (double)below(100) * 1e-9;
        const uint64_t u = (uint64_t)ldexp(v, (int)bits);
        return sample_is_signed(s) ? sample_raw(s, u) : u;
    }
    double v = pattern_value(shape, i, n) * 200 - 50;
    if (shape->pattern == PATTERN_OFFSET)
        v = 1e7 + (double)below(1000) * 0.01;
    if (shape->pattern == PATTERN_SPECIAL)
        v = special();
    const float f = (float)v;
    uint32_t f_bits;
    uint64_t d_bits;
    memcpy(&f_bits, &f, 4);
    memcpy(&d_bits, &v, 8);
    if (s == IMGSTAT_F64)
        return d_bits;
    if (s == IMGSTAT_F32)
        return f_bits;
    if (shape->pattern == PATTERN_SPECIAL)
        return (uint64_t[]){0, 0x8000, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 1, 0x8001, 0x3C00}[below(9)];
    uint64_t key; /* f16: any nearby */
    const ImgstatValue value = {.sample = IMGSTAT_F64, .as.f = v};
    return sample_key_of(IMGSTAT_F16, value, &key) ? sample_raw(IMGSTAT_F16, key) : 0x3C00;
}

static void fill(TestImage *image)
{
    const Shape *shape = &image->shape;
    const size_t bytes = imgstat_sample_bytes(shape->sample);
    const size_t row = (size_t)shape->width * shape->channels, n = row * shape->height;
    size_t i = 0;
    if (bytes == 1 && n > (size_t)1 << 30) { /* fast enough for an image of gigabytes */
        unsigned char *at = image->cpu.host;
        for (; i < n; i++)
            at[i] = (unsigned char)(1 + i % 251);
        return;
    }
    for (uint32_t y = 0; y < shape->height; y++) {
        unsigned char *at = (unsigned char *)image->cpu.host + y * image->cpu.pitch;
        for (size_t x = 0; x < row; x++, i++) {
            const uint64_t raw = pattern_raw(shape, i, n);
            memcpy(at + x * bytes, &raw, bytes);
        }
    }
}

void test_image_upload(TestImage *image)
{
    if (image->memory.address)
        must(ops.cuda->ops->upload(ops.cuda, image->memory, 0, image->host, image->bytes,
                                   &ops.error));
}

TestImage test_image_create(const Shape *shape, bool on_device)
{
    TestImage image = {.shape = *shape};
    const size_t row = (size_t)shape->width * shape->channels * imgstat_sample_bytes(shape->sample);
    const size_t pitch = row + shape->gap;
    const size_t mask_pitch = shape->width + (shape->gap ? 3 : 0);
    image.bytes = shape->shift + pitch * shape->height + 1;
    image.host = malloc(image.bytes);
    if (!image.host)
        fail("out of memory");
    if (image.bytes < (size_t)1 << 30)
        memset(image.host, 0xEE, image.bytes);
    image.cpu = (ImagePro){.memory = IMGSTAT_HOST,
                           .host = (unsigned char *)image.host + shape->shift,
                           .pitch = pitch,
                           .width = shape->width,
                           .height = shape->height,
                           .first_row = below(3),
                           .channels = shape->channels,
                           .sample = shape->sample,
                           .bits = shape->bits ? shape->bits : (uint8_t)sample_bits(shape->sample)};
    fill(&image);
    if (shape->nodata && shape->width && shape->height) {
        image.cpu.has_nodata = true;
        image.cpu.nodata_key = test_image_key(&image);
    }
    if (shape->mask && shape->width && shape->height) {
        image.mask = malloc(mask_pitch * shape->height);
        if (!image.mask)
            fail("out of memory");
        for (size_t i = 0; i < mask_pitch * shape->height; i++)
            ((unsigned char *)image.mask)[i] = (unsigned char)below(3);
        image.cpu.mask = image.mask;
        image.cpu.mask_pitch = mask_pitch;
    }
    image.cuda = image.cpu;
    if (!on_device)
        return image;

    must(ops.cuda->ops->alloc(ops.cuda, image.bytes, &image.memory, &ops.error));
    test_image_upload(&image);
    image.cuda.memory = IMGSTAT_CUDA;
    image.cuda.host = NULL;
    image.cuda.device.address = image.memory.address + shape->shift;
    if (image.mask) {
        must(ops.cuda->ops->alloc(ops.cuda, mask_pitch * shape->height, &image.mask_memory,
                                  &ops.error));
        must(ops.cuda->ops->upload(ops.cuda, image.mask_memory, 0, image.mask,
                                   mask_pitch * shape->height, &ops.error));
        image.cuda.mask = (const uint8_t *)(uintptr_t)image.mask_memory.address;
    }
    return image;
}

void test_image_destroy(TestImage *image)
{
    ops.cuda->ops->release(ops.cuda, &image->memory);
    ops.cuda->ops->release(ops.cuda, &image->mask_memory);
    free(image->host);
    free(image->mask);
}

uint64_t test_image_key(const TestImage *image)
{
    const size_t bytes = imgstat_sample_bytes(image->shape.sample);
    const uint32_t y = below(image->shape.height);
    const size_t x = below(image->shape.width) * (size_t)image->shape.channels;
    uint64_t raw = 0;
    memcpy(&raw, (const unsigned char *)image->cpu.host + y * image->cpu.pitch + x * bytes, bytes);
    return sample_key(image->shape.sample, raw);
}

unsigned kept_cases_of_kind(void)
{
    return ops.small ? 8 : 128;
}

/* Of the 32 ways to make five choices, eight in which any two of them meet in all four ways; the
 * next kind has eight others. */
static unsigned few_choices(unsigned kind, unsigned i)
{
    return (i & 7) | ((i ^ i >> 1 ^ kind) & 1) << 3 | ((i ^ i >> 2) & 1) << 4;
}

KeptCase kept_case(ImgstatSample sample, uint8_t bits, unsigned kind, unsigned i)
{
    const unsigned how = ops.small ? few_choices(kind, i) : i;
    const bool alpha = how & 1, luma = how & 2, changed = how & 4;
    const ImgstatDepth depth = how & 8 ? IMGSTAT_DEPTH_16 : IMGSTAT_DEPTH_8;
    return (KeptCase){.shape = {.sample = sample,
                                .bits = bits,
                                .channels = alpha ? 4 : 3,
                                .width = 28 + below(8),
                                .height = 1 + below(20),
                                .gap = below(3),
                                .mask = below(3) == 0,
                                .nodata = below(2) != 0},
                      .method = {.channels = luma ? IMGSTAT_LUMA : IMGSTAT_EACH,
                                 .depth = changed ? depth : IMGSTAT_DEPTH_KEEP,
                                 .has_range = below(3) == 0,
                                 .lo = 2,
                                 .hi = 14},
                      .alpha = alpha ? 3 : -1,
                      .other = how & 16};
}

void shape_text(const Shape *shape, const char *what, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s %s x%u, %u bits, %u x %u, gap %u, shift %u, pattern %d%s%s", what,
             imgstat_sample_name(shape->sample), shape->channels, shape->bits, shape->width,
             shape->height, shape->gap, shape->shift, (int)shape->pattern,
             shape->mask ? ", mask" : "", shape->nodata ? ", nodata" : "");
}
