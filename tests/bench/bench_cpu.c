/* SPDX-License-Identifier: MIT */
/* bench_cpu.c: GB per second of processor time, of the CPU device's measurements: sample types by
 * patterns by instruction sets. Usage: bench_cpu [MEGABYTES] [THREADS] [SAMPLE]. Each figure is the
 * best of several runs, after the record was found equal to the portable one. */
#define _GNU_SOURCE
#include "device/device.h"
#include "device_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WIDTH = 4096, RUNS = 5, PATTERNS = 8, LEVELS = 3 };

static const char *const patterns[PATTERNS] = {"random",   "smooth",  "12-bit", "skewed",
                                               "constant", "checker", "two",    "mostly"};
static const char *const levels[LEVELS] = {"portable", "avx2", "avx512"};

/* Processor time, of all threads: what others run meanwhile is not in it. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 32 | *state << 32;
}

static uint64_t value(ImgstatSample sample, int pattern, uint64_t x, uint64_t y, uint64_t r)
{
    const unsigned bits = sample_bits(sample) > 16 ? 16 : sample_bits(sample);
    const uint64_t top = ((uint64_t)1 << bits) - 1;
    switch (pattern) {
    case 0:
        return r & top;
    case 1: /* slopes with a little noise */
        return (top / 4 + (x + y) * (top / 2) / (2 * WIDTH) + r % (top / 64 + 1)) & top;
    case 2:
        return r & (top >> 4);
    case 3:
        return (r & top) * (r >> 16 & top) / top * (r >> 32 & 0xFF) / 255;
    case 4:
        return 77;
    case 5:
        return (x + y) % 2 ? top : 0;
    case 6: /* of two values either */
        return r >> 40 & 1 ? top : 0;
    default: /* one value of a hundred is another */
        return (r >> 40) % 100 ? top : r & top;
    }
}

static void fill(ImagePro *image, int pattern)
{
    const size_t n = (size_t)WIDTH * image->channels;
    uint64_t state = 1;
    for (uint32_t y = 0; y < image->height; y++) {
        unsigned char *row = (unsigned char *)image->host + y * image->pitch;
        for (size_t i = 0; i < n; i++) {
            uint64_t v = value(image->sample, pattern, i / image->channels, y, next(&state));
            const float f = (float)v * 1.25f;
            const double d = (double)v * 1.25;
            switch (image->sample) {
            case IMGSTAT_F32:
                memcpy(row + 4 * i, &f, 4);
                break;
            case IMGSTAT_F64:
                memcpy(row + 8 * i, &d, 8);
                break;
            default:
                if (image->sample == IMGSTAT_I8 || image->sample == IMGSTAT_I16)
                    v ^= sample_key(image->sample, 0); /* in the order of unsigned ones */
                if (sample_bits(image->sample) == 32)
                    v *= 0x10001;
                if (sample_bits(image->sample) == 64)
                    v *= 0x1000100010001;
                memcpy(row + i * sample_bits(image->sample) / 8, &v,
                       sample_bits(image->sample) / 8);
            }
        }
    }
}

static Device *open_level(const char *level, unsigned threads)
{
    Device *device = NULL;
    setenv("IMGSTAT_CPU", level, 1);
    if (cpu_device_ops.open(0, threads, &device, NULL) != IMGSTAT_OK)
        return NULL;
    return device;
}

static void *measure(Device *device, const ImagePro *image, unsigned parts, double *seconds)
{
    const size_t bytes = record_bytes(image->sample, image->channels, parts);
    DeviceRecord record = {.sample = image->sample, .channels = image->channels, .parts = parts};
    void *out = malloc(bytes);
    if (!out || cpu_device_ops.alloc(device, bytes, &record.mem, NULL) != IMGSTAT_OK)
        exit(1);
    const double start = now();
    if (device_measure(device, image, &record, 1, NULL) != IMGSTAT_OK)
        exit(1);
    *seconds = now() - start;
    if (cpu_device_ops.download(device, out, record.mem, 0, bytes, NULL) != IMGSTAT_OK)
        exit(1);
    cpu_device_ops.release(device, &record.mem);
    return out;
}

static double bench(Device *device, const ImagePro *image, unsigned parts, const void *expected)
{
    const double bytes = (double)image->pitch * image->height;
    double best = 1e9;
    for (int run = 0; run < RUNS; run++) {
        double seconds;
        void *record = measure(device, image, parts, &seconds);
        if (memcmp(record, expected, record_bytes(image->sample, image->channels, parts)) != 0) {
            printf("records differ\n");
            exit(1);
        }
        free(record);
        best = seconds < best ? seconds : best;
    }
    return bytes / best / 1e9;
}

/* Level 2 of a radix descent: few samples have the prefix. */
static double bench_digits(Device *device, const ImagePro *image)
{
    static uint64_t bins[65536];
    const float f = 40000;
    uint32_t raw;
    memcpy(&raw, &f, 4);
    double best = 1e9;
    for (int run = 0; run < RUNS; run++) {
        DigitCount count = {
            .shift = 0, .prefix = sample_key(image->sample, raw) >> 16, .bins = bins};
        const double start = now();
        if (device_count_digits(device, image, &count, 1, NULL) != IMGSTAT_OK)
            exit(1);
        const double seconds = now() - start;
        best = seconds < best ? seconds : best;
    }
    return (double)image->pitch * image->height / best / 1e9;
}

static void bench_case(Device *const device[LEVELS], ImgstatSample sample, uint16_t channels,
                       unsigned parts, int pattern, size_t bytes)
{
    ImagePro image;
    const size_t row = (size_t)WIDTH * channels * (sample_bits(sample) / 8);
    double seconds;
    if (imgstat_image_create(WIDTH, (uint32_t)(bytes / row), channels, sample, 0, &image, NULL) !=
        IMGSTAT_OK)
        exit(1);
    fill(&image, pattern);
    void *expected = measure(device[0], &image, parts, &seconds);
    printf("%-4s x%u %-5s %-9s", imgstat_sample_name(sample), channels,
           sample_is_narrow(sample) || parts ? "bins" : "", patterns[pattern]);
    for (int level = 0; level < LEVELS; level++)
        printf("  %9.2f", device[level] ? bench(device[level], &image, parts, expected) : 0.0);
    for (int level = 0; sample == IMGSTAT_F32 && channels == 1 && level < LEVELS; level++)
        printf("  %s %.2f", level == 0 ? "digits" : "",
               device[level] ? bench_digits(device[level], &image) : 0.0);
    printf("\n");
    fflush(stdout);
    free(expected);
    imgstat_image_release(&image);
}

int main(int argc, char **argv)
{
    const size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 64) << 20;
    const unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    Device *device[LEVELS];
    for (int level = 0; level < LEVELS; level++)
        device[level] = open_level(levels[level], threads);
    if (!device[0] || bytes == 0)
        return 1;
    printf("%zu MiB, %u thread(s), GB/s: %14s %10s %10s\n", bytes >> 20, threads, levels[0],
           levels[1], levels[2]);
    for (ImgstatSample sample = IMGSTAT_U8; sample <= IMGSTAT_F64; sample++) {
        if (argc > 3 && strcmp(argv[3], imgstat_sample_name(sample)) != 0)
            continue;
        for (uint16_t channels = 1; channels <= 4;
             channels = (uint16_t)(channels == 1 ? 3 : channels + 1)) {
            for (int pattern = 0; pattern < PATTERNS; pattern++) {
                bench_case(device, sample, channels, 0, pattern, bytes);
                if (!sample_is_narrow(sample))
                    bench_case(device, sample, channels, RECORD_BINS, pattern, bytes);
            }
        }
    }
    for (int level = 0; level < LEVELS; level++)
        cpu_device_ops.close(device[level]);
    return 0;
}
