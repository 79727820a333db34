/* SPDX-License-Identifier: MIT */
/* test_read.c: digit and range counts, gathering, central sums of the CPU device against plain
 * loops. */
#include "device/read_request.h"
#include "device_calls.h"
#include "helper_cpu.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEVELS = 3, DIGITS = 4, EDGES = 9 };

typedef struct Compared {
    uint64_t cases, samples;
} Compared;

static void report(const char *test, const Compared *compared)
{
    fprintf(stderr, "%s: %llu cases, %llu samples compared\n", test,
            (unsigned long long)compared->cases, (unsigned long long)compared->samples);
    cr_assert_gt(compared->cases, 0);
    cr_assert_gt(compared->samples, 0);
}

/* A key that occurs, valid or not. */
static uint64_t some_key(Random *random, const ImagePro *image)
{
    uint64_t key;
    test_valid(image, random_below(random, image->width), random_below(random, image->height),
               (uint16_t)random_below(random, image->channels), &key);
    return key;
}

static void check_digits(Device *device, Random *random, const ImagePro *image)
{
    static uint64_t got[DIGITS][65536], expected[DIGITS][65536];
    DigitCount counts[DIGITS];
    const uint32_t bits = sample_bits(image->sample);
    memset(got, 0, sizeof got);
    memset(expected, 0, sizeof expected);
    for (int i = 0; i < DIGITS; i++) {
        const uint8_t shift = (uint8_t)(bits == 64 ? 16 * random_below(random, 3) : 0);
        const uint64_t key = some_key(random, image);
        counts[i] = (DigitCount){.channel = (uint16_t)random_below(random, image->channels),
                                 .shift = shift,
                                 .prefix = bits <= 16 ? 0 : key >> (shift + 16),
                                 .bins = got[i]};
        got[i][3] = expected[i][3] = 5; /* added to */
        for (uint32_t y = 0; y < image->height; y++) {
            for (uint32_t x = 0; x < image->width; x++) {
                uint64_t k;
                if (test_valid(image, x, y, counts[i].channel, &k) &&
                    k >> shift >> 16 == counts[i].prefix)
                    expected[i][(k >> shift) & 0xFFFF]++;
            }
        }
    }
    cr_assert_eq(device_count_digits(device, image, counts, DIGITS, NULL), IMGSTAT_OK);
    cr_assert_eq(memcmp(got, expected, sizeof got), 0, "digits of %s",
                 imgstat_sample_name(image->sample));
}

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void check_range(Device *device, Random *random, const ImagePro *image)
{
    uint64_t edge[2][EDGES], got[2][EDGES] = {{0}}, expected[2][EDGES] = {{0}};
    RangeCount counts[2];
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < EDGES; k++)
            edge[i][k] = some_key(random, image); /* some equal, some of NaN */
        qsort(edge[i], EDGES, sizeof **edge, ascending);
        counts[i] = (RangeCount){.channel = (uint16_t)random_below(random, image->channels),
                                 .n_bins = EDGES - 1,
                                 .edge = edge[i],
                                 .lo = 50,
                                 .per_bin = i ? 0.03 : 0,
                                 .bins = got[i]};
        for (uint32_t y = 0; y < image->height; y++) {
            for (uint32_t x = 0; x < image->width; x++) {
                uint64_t key;
                if (!test_valid(image, x, y, counts[i].channel, &key))
                    continue;
                for (int k = 0; k + 1 < EDGES; k++)
                    expected[i][k] += key >= edge[i][k] && key < edge[i][k + 1];
            }
        }
    }
    cr_assert_eq(device_count_range(device, image, counts, 2, NULL), IMGSTAT_OK);
    cr_assert_eq(memcmp(got, expected, sizeof got), 0, "ranges of %s",
                 imgstat_sample_name(image->sample));
}

static void check_gather(Device *device, Random *random, const ImagePro *image)
{
    const size_t most = (size_t)image->width * image->height;
    uint64_t *got = calloc(most + 1, sizeof *got), *expected = calloc(most + 1, sizeof *expected);
    KeyGather gather = {.channel = (uint16_t)random_below(random, image->channels), .keys = got};
    cr_assert(got && expected);
    const uint64_t a = some_key(random, image), b = some_key(random, image);
    gather.lo = a < b ? a : b;
    gather.hi = a < b ? b : a;
    size_t n = 0;
    for (uint32_t y = 0; y < image->height; y++) {
        for (uint32_t x = 0; x < image->width; x++) {
            uint64_t key;
            if (test_valid(image, x, y, gather.channel, &key) && key >= gather.lo &&
                key <= gather.hi)
                expected[n++] = key;
        }
    }
    gather.capacity = n;
    cr_assert_eq(device_gather(device, image, &gather, 1, NULL), IMGSTAT_OK);
    cr_assert_eq(gather.n, n);
    qsort(got, n, sizeof *got, ascending);
    qsort(expected, n, sizeof *expected, ascending);
    cr_assert_eq(memcmp(got, expected, n * sizeof *got), 0, "keys of %s",
                 imgstat_sample_name(image->sample));
    if (n > 0) { /* one too few places */
        got[n - 1] = 12345;
        gather.n = 0;
        gather.capacity = n - 1;
        cr_assert_eq(device_gather(device, image, &gather, 1, NULL), IMGSTAT_ERR_IO);
        cr_assert_eq(got[n - 1], 12345);
        cr_assert_leq(gather.n, n - 1);
    }
    free(got);
    free(expected);
}

static void expect_power_piece(const ImagePro *image, uint32_t x0, uint32_t y, uint16_t channel,
                               double center, Central *out)
{
    double lane[4][128] = {{0}};
    for (uint32_t x = x0; x < image->width && x < x0 + 4096; x++) {
        uint64_t key;
        if (!test_valid(image, x, y, channel, &key))
            continue;
        const double v = sample_double(image->sample, key);
        const volatile double d = v - center, d2 = d * d, d3 = d2 * d, d4 = d2 * d2;
        const double power[4] = {d, d2, d3, d4};
        for (int p = 0; p < 4; p++)
            lane[p][(x - x0) % 128] += power[p];
    }
    for (int h = 64; h; h /= 2)
        for (int l = 0; l < h; l++)
            for (int p = 0; p < 4; p++)
                lane[p][l] += lane[p][l + h];
    bool bad = false;
    for (int p = 0; p < 4; p++)
        bad = bad || !isfinite(lane[p][0]);
    out->overflow += bad;
    for (int p = 0; p < 4 && !bad; p++)
        exact_add(&out->power[p], lane[p][0]);
}

static void check_central(Device *device, const ImagePro *image)
{
    double center[8];
    Central got[8] = {{{{{0}}}, 0}}, expected[8] = {{{{{0}}}, 0}};
    for (uint16_t c = 0; c < image->channels; c++) {
        center[c] = 10.25 * c;
        for (uint32_t y = 0; y < image->height; y++)
            for (uint32_t x = 0; x < image->width; x += 4096)
                expect_power_piece(image, x, y, c, center[c], &expected[c]);
        for (int p = 0; p < 4; p++)
            exact_normalize(&expected[c].power[p]);
    }
    cr_assert_eq(device_central(device, image, center, got, NULL), IMGSTAT_OK);
    cr_assert_eq(memcmp(got, expected, sizeof got), 0, "central sums of %s",
                 imgstat_sample_name(image->sample));
}

/* Rows of an image for whoever asks, as a file gives them. */
typedef struct Copying {
    const ImagePro *image;
    unsigned char *rows[8]; /* a thread each */
} Copying;

static const void *copy_rows(void *context, unsigned thread, uint32_t row, uint32_t rows)
{
    Copying *const copying = context;
    const ImagePro *const image = copying->image;
    const size_t bytes = (size_t)image->width * image->channels * sample_bits(image->sample) / 8;
    free(copying->rows[thread]);
    copying->rows[thread] = aligned_alloc(64, (rows * bytes / 64 + 1) * 64);
    cr_assert(copying->rows[thread]);
    for (uint32_t y = 0; y < rows; y++)
        memcpy(copying->rows[thread] + y * bytes,
               (const unsigned char *)image->host + (row + y) * image->pitch, bytes);
    return copying->rows[thread];
}

static void read_in_turn(Device *device, const ImagePro *image, const ReadRequest *request)
{
    cr_assert_eq(device_count_digits(device, image, request->digits, request->n_digits, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(device_count_range(device, image, request->ranges, request->n_ranges, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(device_gather(device, image, request->gathers, request->n_gathers, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(device_central(device, image, request->center, request->central, NULL),
                 IMGSTAT_OK);
}

/* What each thing is by a call of its own, all of them are in one read. */
static void check_together(Device *device, Random *random, const ImagePro *image)
{
    static uint64_t bins[2][65536];
    enum { MOST = 64 };
    const size_t most = (size_t)image->width * image->height;
    uint64_t edge[EDGES], counted[2][EDGES] = {{0}}, *const keys = calloc(2 * most, sizeof *keys);
    double center[MOST] = {0};
    Central *const central = calloc(2 * MOST, sizeof *central);
    const uint16_t channel = (uint16_t)random_below(random, image->channels);
    const uint64_t key = some_key(random, image);
    cr_assert(keys && central && image->channels <= MOST);
    memset(bins, 0, sizeof bins);
    for (int k = 0; k < EDGES; k++)
        edge[k] = some_key(random, image);
    qsort(edge, EDGES, sizeof *edge, ascending);
    Copying copying = {.image = image};
    ImagePro hollow = *image;
    hollow.host = NULL;
    hollow.pitch = (size_t)image->width * image->channels * sample_bits(image->sample) / 8;
    const PixelSource rows = {.images = &hollow, .n = 1, .rows = copy_rows, .context = &copying};
    KeyGather gather[2];
    for (size_t i = 0; i < 2; i++) {
        DigitCount digit = {.channel = channel,
                            .prefix = sample_bits(image->sample) <= 16 ? 0 : key >> 16,
                            .bins = bins[i]};
        RangeCount range = {
            .channel = channel, .n_bins = EDGES - 1, .edge = edge, .bins = counted[i]};
        gather[i] = (KeyGather){.channel = channel,
                                .lo = edge[1],
                                .hi = edge[4],
                                .keys = keys + i * most,
                                .capacity = most};
        const ReadRequest request = {.digits = &digit,
                                     .n_digits = 1,
                                     .ranges = &range,
                                     .n_ranges = 1,
                                     .gathers = &gather[i],
                                     .n_gathers = 1,
                                     .center = center,
                                     .central = central + i * MOST};
        if (i && !image->mask)
            cr_assert_eq(
                cpu_device_ops.read(device, &rows, (PixelView){.alpha = -1}, &request, NULL),
                IMGSTAT_OK);
        else if (i)
            cr_assert_eq(device_read(device, image, &request, NULL), IMGSTAT_OK);
        else
            read_in_turn(device, image, &request);
        qsort(gather[i].keys, gather[i].n, sizeof *keys, ascending);
    }
    cr_assert_eq(memcmp(bins[0], bins[1], sizeof bins[0]), 0);
    cr_assert_eq(memcmp(counted[0], counted[1], sizeof counted[0]), 0);
    cr_assert_eq(gather[0].n, gather[1].n);
    cr_assert_eq(memcmp(keys, keys + most, gather[0].n * sizeof *keys), 0);
    cr_assert_eq(memcmp(central, central + MOST, MOST * sizeof *central), 0);
    for (size_t t = 0; t < sizeof copying.rows / sizeof *copying.rows; t++)
        free(copying.rows[t]);
    free(keys);
    free(central);
}

static void check_sample(ImgstatSample sample)
{
    const unsigned threads[] = {1, 2, 3, 7};
    Random random = random_begin(imgstat_sample_name(sample));
    Compared compared = {0};
    for (int level = 0; level < LEVELS; level++) {
        Device *device = open_cpu(cpu_levels[level], threads[random_below(&random, 4)]);
        cr_assert(device || level > 0);
        for (int round = 0; device && round < 60; round++) {
            if (!is_run((uint64_t)round, 3))
                continue;
            const uint32_t width = 1 + random_below(&random, round % 8 ? 500 : 20000);
            const uint32_t height = 1 + random_below(&random, round % 8 ? 40 : 20);
            TestImage test =
                test_image(&random, sample, width, height, (uint16_t)(1 + random_below(&random, 5)),
                           (Pattern)(round % PATTERNS), random_below(&random, 2) * 5,
                           random_below(&random, 2) * 3, random_below(&random, 3) == 0,
                           random_below(&random, 4) == 0);
            check_digits(device, &random, &test.image);
            check_range(device, &random, &test.image);
            check_gather(device, &random, &test.image);
            check_central(device, &test.image);
            check_together(device, &random, &test.image);
            compared.cases++;
            compared.samples += (uint64_t)width * height * test.image.channels;
            test_image_release(&test);
        }
        cpu_device_ops.close(device);
    }
    report(imgstat_sample_name(sample), &compared);
}

Test(cpu_reads, u8)
{
    check_sample(IMGSTAT_U8);
}
Test(cpu_reads, i16)
{
    check_sample(IMGSTAT_I16);
}
Test(cpu_reads, f16)
{
    check_sample(IMGSTAT_F16);
}
Test(cpu_reads, u32)
{
    check_sample(IMGSTAT_U32);
}
Test(cpu_reads, i32)
{
    check_sample(IMGSTAT_I32);
}
Test(cpu_reads, f32)
{
    check_sample(IMGSTAT_F32);
}
Test(cpu_reads, u64)
{
    check_sample(IMGSTAT_U64);
}
Test(cpu_reads, i64)
{
    check_sample(IMGSTAT_I64);
}
Test(cpu_reads, f64)
{
    check_sample(IMGSTAT_F64);
}

Test(cpu_reads, many_channels)
{
    Random random = random_begin("many channels");
    Compared compared = {0};
    Device *const device = open_cpu("portable", 3);
    cr_assert(device);
    for (int round = 0; round < 6; round++) {
        TestImage test = test_image(&random, IMGSTAT_U32, 300, 40, 64, PATTERN_SMOOTH, 0, 0, false,
                                    round % 2 == 0);
        check_together(device, &random, &test.image);
        compared.cases++;
        compared.samples += (uint64_t)300 * 40 * 64;
        test_image_release(&test);
    }
    cpu_device_ops.close(device);
    report("many channels", &compared);
}
