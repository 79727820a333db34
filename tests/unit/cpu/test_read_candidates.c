/* SPDX-License-Identifier: MIT */
/* test_read_candidates.c: keys that measuring sets aside, and how many are below them, against
 * plain loops.
 */
#include "cpu/cpu.h"
#include "helper_cpu.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEVELS = 3, ROWS = 3 };

static uint64_t keys_compared;

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Zeros of both signs and the smallest values in place of what is not finite. */
static void make_finite(Random *random, ImagePro *image)
{
    const size_t bytes = sample_bits(image->sample) / 8;
    const uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
    const uint64_t inf = bytes == 4 ? 0x7F800000u : (uint64_t)0x7FF << 52;
    for (uint32_t y = 0; y < image->height; y++) {
        unsigned char *at = (unsigned char *)image->host + y * image->pitch;
        for (size_t i = 0; i < (size_t)image->width * image->channels; i++, at += bytes) {
            uint64_t raw = 0; /* little-endian, as the CPUs that have several levels */
            memcpy(&raw, at, bytes);
            if ((raw & inf) == inf || random_below(random, 50) == 0)
                raw = (random_below(random, 2) ? sign : 0) | random_below(random, 3);
            memcpy(at, &raw, bytes);
        }
    }
}

/* A bound of a range: keys that occur, the ends of the type, and those about zero. */
static uint64_t some_bound(Random *random, const ImagePro *image)
{
    const uint64_t zero = (uint64_t)1 << (sample_bits(image->sample) - 1);
    uint64_t key;
    test_valid(image, random_below(random, image->width), random_below(random, image->height),
               (uint16_t)random_below(random, image->channels), &key);
    switch (random_below(random, 8)) {
    case 0:
        return 0;
    case 1:
        return zero | (zero - 1);
    case 2:
        return zero - 2 + random_below(random, 4);
    default:
        return key;
    }
}

/* Counts those below, and with `keys` packs those from lo to hi. */
static size_t expect(const ImagePro *image, const KeyGather *gather, uint64_t *keys,
                     uint64_t *below)
{
    size_t n = 0;
    *below = 0;
    for (uint32_t y = 0; y < image->height; y++) {
        for (uint32_t x = 0; x < image->width; x++) {
            uint64_t key;
            if (!test_valid(image, x, y, gather->channel, &key))
                continue;
            *below += key < gather->lo;
            if (key >= gather->lo && key <= gather->hi)
                keys[n++] = key;
        }
    }
    return n;
}

static void check(Device *device, Random *random, const ImagePro *image)
{
    const size_t most = (size_t)image->width * image->height, n = ROWS * image->channels;
    KeyGather *const gathers = calloc(n, sizeof *gathers);
    uint64_t *const keys = calloc((n + 1) * most, sizeof *keys), *const expected = keys + n * most;
    cr_assert(gathers && keys);
    for (size_t i = 0; i < n; i++) {
        const uint64_t a = some_bound(random, image), b = some_bound(random, image);
        const bool none = random_below(random, 10) == 0;
        gathers[i] = (KeyGather){.channel = (uint16_t)(i % image->channels),
                                 .lo = none    ? 1
                                       : a < b ? a
                                               : b,
                                 .hi = none    ? 0
                                       : a < b ? b
                                               : a,
                                 .keys = keys + i * most,
                                 .capacity = most};
    }
    CandidateKeys aside = {.gathers = gathers, .n = n};
    DeviceRecord record = {.sample = image->sample, .channels = image->channels};
    const size_t bytes = record_bytes(image->sample, image->channels, 0);
    void *const tallies = expected_record(image, 0);
    cr_assert_eq(cpu_device_ops.alloc(device, bytes, &record.mem, NULL), IMGSTAT_OK);
    device->aside = &aside;
    cr_assert_eq(cpu_device_ops.measure(device, image, &record, 1, NULL), IMGSTAT_OK);
    device->aside = NULL;
    cr_assert_eq(memcmp((const void *)(uintptr_t)record.mem.address, tallies, bytes), 0);
    cr_assert_not(aside.full);
    for (size_t i = 0; i < n; i++) {
        uint64_t below;
        const size_t found = expect(image, &gathers[i], expected, &below);
        cr_assert(gathers[i].n == found && gathers[i].below == below,
                  "%s, %lx to %lx: %zu keys, not %zu, above %lu, not %lu",
                  imgstat_sample_name(image->sample), gathers[i].lo, gathers[i].hi, gathers[i].n,
                  found, gathers[i].below, below);
        qsort(gathers[i].keys, found, sizeof *keys, ascending);
        qsort(expected, found, sizeof *keys, ascending);
        cr_assert_eq(memcmp(gathers[i].keys, expected, found * sizeof *keys), 0);
        keys_compared += found;
    }
    cpu_device_ops.release(device, &record.mem);
    free(tallies);
    free(gathers);
    free(keys);
}

static void check_sample(ImgstatSample sample)
{
    Random random = random_begin(imgstat_sample_name(sample));
    keys_compared = 0;
    for (int level = 0; level < LEVELS; level++) {
        Device *const device = open_cpu(cpu_levels[level], 1 + random_below(&random, 3));
        cr_assert(device || level > 0);
        for (int round = 0; device && round < 120; round++) {
            TestImage test =
                test_image(&random, sample, 1 + random_below(&random, round % 8 ? 300 : 9000),
                           1 + random_below(&random, 20), (uint16_t)(1 + round % LOOP_CHANNELS),
                           (Pattern)random_below(&random, PATTERNS), random_below(&random, 2) * 5,
                           random_below(&random, 2) * 3, random_below(&random, 4) == 0,
                           random_below(&random, 6) == 0);
            if (sample_is_float(sample) && random_below(&random, 3))
                make_finite(&random, &test.image);
            check(device, &random, &test.image);
            test_image_release(&test);
        }
        cpu_device_ops.close(device);
    }
    fprintf(stderr, "%s: %llu keys compared\n", imgstat_sample_name(sample),
            (unsigned long long)keys_compared);
    cr_assert_gt(keys_compared, 100000);
}

Test(aside, u32)
{
    check_sample(IMGSTAT_U32);
}
Test(aside, i32)
{
    check_sample(IMGSTAT_I32);
}
Test(aside, f32)
{
    check_sample(IMGSTAT_F32);
}
Test(aside, u64)
{
    check_sample(IMGSTAT_U64);
}
Test(aside, i64)
{
    check_sample(IMGSTAT_I64);
}
Test(aside, f64)
{
    check_sample(IMGSTAT_F64);
}
