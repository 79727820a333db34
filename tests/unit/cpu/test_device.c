/* SPDX-License-Identifier: MIT */
/* test_device.c: opening, describing, memory and threads of the CPU device; many images in one
 * call. */
#include "cpu/map_rows.h"
#include "device_calls.h"
#include "helper_cpu.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

Test(cpu_device, opens_by_level)
{
    ImgstatDeviceInfo info;
    Device *device = open_cpu("portable", 3);
    cr_assert(device);
    imgstat_device_describe(device, &info);
    cr_assert_str_eq(info.name, "cpu");
    cr_assert(strstr(info.description, ", 3 threads, portable"), "%s", info.description);
    cr_assert_gt(info.memory_bytes, 0);
    cr_assert_eq(device_wait(device, NULL), IMGSTAT_OK);
    cpu_device_ops.close(device);
    cpu_device_ops.close(NULL);
    cr_assert_eq(cpu_device_ops.list(&info, 1), 1);
    cr_assert_str_eq(info.name, "cpu");
    cr_assert_eq(cpu_device_ops.list(NULL, 0), 1);
}

Test(cpu_device, refuses_what_it_is_not)
{
    const char *const wrong[] = {"sse9", "AVX2", "avx2 ", "portable,avx2"};
    ImgstatError err;
    Device *device;
    for (size_t i = 0; i < 4; i++) {
        setenv("IMGSTAT_CPU", wrong[i], 1);
        cr_assert_eq(cpu_device_ops.open(0, 1, &device, &err), IMGSTAT_ERR_ARG);
        cr_assert_null(device);
        cr_assert(strstr(err.message, wrong[i]) && strstr(err.message, "avx512"), "%s",
                  err.message);
    }
    unsetenv("IMGSTAT_CPU");
    cr_assert_neq(cpu_device_ops.open(1, 1, &device, &err), IMGSTAT_OK);
    cr_assert_null(device);
}

Test(cpu_device, memory)
{
    Device *device = open_cpu("portable", 1);
    DevMem mem;
    unsigned char in[5] = {1, 2, 3, 4, 5}, out[8];
    void *host;
    cr_assert_eq(cpu_device_ops.alloc(device, 8, &mem, NULL), IMGSTAT_OK);
    cr_assert_eq(cpu_device_ops.upload(device, mem, 3, in, 5, NULL), IMGSTAT_OK);
    cr_assert_eq(cpu_device_ops.download(device, out, mem, 0, 8, NULL), IMGSTAT_OK);
    cr_assert_eq(memcmp(out, (unsigned char[]){0, 0, 0, 1, 2, 3, 4, 5}, 8), 0);
    cr_assert_eq(cpu_device_ops.upload(device, mem, 4, in, 5, NULL), IMGSTAT_ERR_ARG);
    cr_assert_eq(cpu_device_ops.download(device, out, mem, 9, 0, NULL), IMGSTAT_ERR_ARG);
    cpu_device_ops.release(device, &mem);
    cr_assert_eq(mem.address, 0);
    cpu_device_ops.release(device, &mem);
    cr_assert_eq(cpu_device_ops.alloc(device, SIZE_MAX / 2, &mem, NULL), IMGSTAT_ERR_MEMORY);
    cr_assert_eq(mem.address, 0);
    cr_assert_eq(cpu_device_ops.host_alloc(device, 100, &host, NULL), IMGSTAT_OK);
    memset(host, 1, 100);
    cpu_device_ops.host_release(device, host);
    cr_assert_eq(cpu_device_ops.host_alloc(device, SIZE_MAX, &host, NULL), IMGSTAT_ERR_MEMORY);
    cpu_device_ops.close(device);
}

Test(cpu_device, refuses_bad_images)
{
    Device *device = open_cpu("portable", 2);
    Random random = {1};
    TestImage test = test_image(&random, IMGSTAT_U8, 4, 4, 2, PATTERN_RAMP, 0, 0, false, false);
    DeviceRecord record = {.sample = IMGSTAT_U8, .channels = 2};
    cr_assert_eq(cpu_device_ops.alloc(device, record_bytes(IMGSTAT_U8, 2, 0), &record.mem, NULL),
                 IMGSTAT_OK);
    DeviceRecord other = record;
    other.sample = IMGSTAT_U16;
    cr_assert_eq(device_measure(device, &test.image, &other, 1, NULL), IMGSTAT_ERR_ARG);
    other = record;
    other.mem.bytes--;
    cr_assert_eq(device_measure(device, &test.image, &other, 1, NULL), IMGSTAT_ERR_ARG);
    ImagePro image = test.image;
    image.memory = IMGSTAT_CUDA;
    cr_assert_eq(device_measure(device, &image, &record, 1, NULL), IMGSTAT_ERR_ARG);
    uint64_t bins[65536];
    DigitCount digits = {.channel = 2, .bins = bins};
    cr_assert_eq(device_count_digits(device, &test.image, &digits, 1, NULL), IMGSTAT_ERR_ARG);
    cpu_device_ops.release(device, &record.mem);
    test_image_release(&test);
    cpu_device_ops.close(device);
}

/* Images of different types, sizes and channels in one call, each with its own record. */
Test(cpu_device, many_images_in_one_call)
{
    enum { MANY = 300 };
    Random random = random_begin("many images");
    uint64_t compared = 0;
    for (int level = 0; level < 3; level++) {
        Device *device = open_cpu(cpu_levels[level], 3);
        static TestImage test[MANY];
        static ImagePro image[MANY];
        static DeviceRecord record[MANY];
        static void *expected[MANY];
        cr_assert(device || level > 0);
        for (int i = 0; device && i < MANY; i++) {
            const uint16_t channels = (uint16_t)(1 + random_below(&random, 4));
            const ImgstatSample sample = (ImgstatSample)random_below(&random, IMGSTAT_F64 + 1);
            const bool large = i % 100 == 0;
            test[i] = test_image(&random, large ? IMGSTAT_U8 : sample,
                                 large ? 2000 : random_below(&random, 64),
                                 large ? 1000 : random_below(&random, 64), channels,
                                 (Pattern)random_below(&random, PATTERNS), 0, 0, false,
                                 random_below(&random, 9) == 0);
            image[i] = test[i].image;
            record[i] = (DeviceRecord){
                .sample = image[i].sample, .channels = channels, .parts = (unsigned)(i & 1)};
            expected[i] = expected_record(&image[i], record[i].parts);
            cr_assert_eq(cpu_device_ops.alloc(
                             device, record_bytes(image[i].sample, channels, record[i].parts),
                             &record[i].mem, NULL),
                         IMGSTAT_OK);
        }
        if (device)
            cr_assert_eq(device_measure(device, image, record, MANY, NULL), IMGSTAT_OK);
        for (int i = 0; device && i < MANY; i++) {
            cr_assert_eq(memcmp(expected[i], (const void *)(uintptr_t)record[i].mem.address,
                                record[i].mem.bytes),
                         0, "%s image %d, %s", cpu_levels[level], i,
                         imgstat_sample_name(image[i].sample));
            compared += (uint64_t)image[i].width * image[i].height * image[i].channels;
            cpu_device_ops.release(device, &record[i].mem);
            test_image_release(&test[i]);
            free(expected[i]);
        }
        cpu_device_ops.close(device);
    }
    fprintf(stderr, "many images: %llu samples compared\n", (unsigned long long)compared);
    cr_assert_gt(compared, 0);
}

static DeviceRecord record_for(Device *device, ImgstatSample sample, uint16_t channels)
{
    DeviceRecord record = {.sample = sample, .channels = channels, .parts = RECORD_BINS};
    const size_t bytes = record_bytes(sample, channels, record.parts);
    cr_assert_eq(cpu_device_ops.alloc(device, bytes, &record.mem, NULL), IMGSTAT_OK);
    return record;
}

static bool same_records(const DeviceRecord *a, const DeviceRecord *b)
{
    return memcmp((const void *)(uintptr_t)a->mem.address, (const void *)(uintptr_t)b->mem.address,
                  a->mem.bytes) == 0;
}

/* Threads that are taken away lose what they hold, and begin anew when they come back. */
Test(cpu_device, uses_as_many_threads_as_it_is_told)
{
    static const unsigned threads[] = {4, 1, 4, 0, 2, 0, 0, 9, 3};
    static const ImgstatSample samples[] = {IMGSTAT_U8, IMGSTAT_U16, IMGSTAT_F32};
    Random random = random_begin("threads");
    Device *device = open_cpu(cpu_levels[0], 4);
    unsigned compared = 0;
    cr_assert(device);
    for (size_t s = 0; s < 3; s++) {
        TestImage test =
            test_image(&random, samples[s], 1900, 1100, 3, PATTERN_RANDOM, 0, 0, false, false);
        DeviceRecord first = record_for(device, samples[s], 3);
        for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
            DeviceRecord record = record_for(device, samples[s], 3);
            cpu_device_ops.use_threads(device, threads[i]);
            cr_assert_eq(device_measure(device, &test.image, i ? &record : &first, 1, NULL),
                         IMGSTAT_OK);
            cr_expect(i == 0 || same_records(&record, &first), "%u threads", threads[i]);
            compared += i > 0;
            cpu_device_ops.release(device, &record.mem);
        }
        cpu_device_ops.release(device, &first.mem);
        test_image_release(&test);
    }
    cpu_device_ops.close(device);
    cr_assert_eq(compared, 24);
}

/* Luma is made and measured piece by piece. */
Test(cpu_device, luma_of_several_pieces)
{
    static const ImgstatSample samples[] = {IMGSTAT_U8, IMGSTAT_I16, IMGSTAT_F32};
    Random random = random_begin("pieces");
    Device *device = open_cpu(cpu_levels[0], 3);
    cr_assert(device);
    for (size_t s = 0; s < 3; s++) {
        const uint32_t height = (uint32_t)(2600 / imgstat_sample_bytes(samples[s]));
        TestImage test =
            test_image(&random, samples[s], 2603, height, 3, PATTERN_MIXED, 0, 0, s == 1, s == 2);
        DeviceRecord pieces = record_for(device, samples[s], 1);
        DeviceRecord whole = record_for(device, samples[s], 1);
        ImagePro luma;
        cr_assert_gt(test.image.pitch * height, IMAGE_BAND_BYTES);
        cr_assert_eq(luma_plane(NULL, &test.image, &luma, NULL), IMGSTAT_OK);
        cr_assert_eq(device_measure(device, &luma, &whole, 1, NULL), IMGSTAT_OK);
        cr_assert_eq(device_measure_luma(device, &test.image, &pieces, NULL), IMGSTAT_OK);
        cr_expect(same_records(&pieces, &whole), "%s", imgstat_sample_name(samples[s]));
        imgstat_image_release(&luma);
        cpu_device_ops.release(device, &pieces.mem);
        cpu_device_ops.release(device, &whole.mem);
        test_image_release(&test);
    }
    cpu_device_ops.close(device);
}
