/* SPDX-License-Identifier: MIT */
/* test_device.c: what the CUDA device says of devices, memory and failures, and prefix sums of the
 * bins of records, which lie on any boundary of 8 bytes. */
#include "device_calls.h"
#include "ops_images.h"

#include <stdio.h>
#include <stdlib.h>

static void expect(bool good, const char *what)
{
    ops.cases++;
    if (!good)
        complain("%s", what);
}

/* An index that is out of range is told with the number there is. */
static void test_indices(void)
{
    ImgstatDeviceInfo info[64];
    ImgstatDevice *device = NULL;
    ImgstatError error = {0};
    size_t n = 0;
    const size_t listed = imgstat_device_list(info, 64);
    for (size_t i = 0; i < listed && i < 64; i++)
        n += strncmp(info[i].name, "cuda:", 5) == 0 && info[i].memory_bytes > 0;
    expect(n > 0 && strcmp(info[0].name, "cpu") == 0, "the CPU first, then each GPU");

    char name[24], count[24];
    snprintf(name, sizeof name, "cuda:%zu", n);
    snprintf(count, sizeof count, " %zu CUDA device", n);
    expect(imgstat_device_open(name, 1, &device, &error) == IMGSTAT_ERR_DEVICE && device == NULL,
           "an index out of range is an error");
    expect(strstr(error.message, name) != NULL && strstr(error.message, count) != NULL,
           error.message);

    snprintf(name, sizeof name, "cuda:%zu", n - 1);
    must(imgstat_device_open(name, 1, &device, &error));
    imgstat_device_describe(device, &info[0]);
    expect(strcmp(info[0].name, name) == 0, "a device knows its own name");
    imgstat_device_close(device);
}

/* More than there is: told, and the device works on. */
static void test_memory(void)
{
    ImgstatError error = {0};
    DevMem memory;
    ImgstatDeviceInfo info;
    imgstat_device_describe(ops.cuda, &info);
    expect(ops.cuda->ops->alloc(ops.cuda, (size_t)info.memory_bytes * 2, &memory, &error) ==
                   IMGSTAT_ERR_MEMORY &&
               memory.address == 0 && strstr(error.message, "out of device memory") != NULL,
           "more memory than the device has");

    uint64_t word = 0, back = 1;
    must(ops.cuda->ops->alloc(ops.cuda, sizeof word, &memory, &ops.error));
    must(ops.cuda->ops->download(ops.cuda, &back, memory, 0, sizeof back, &ops.error));
    expect(back == 0, "memory comes zeroed, also after a failure");
    expect(ops.cuda->ops->upload(ops.cuda, memory, 1, &word, sizeof word, &error) ==
               IMGSTAT_ERR_ARG,
           "an upload that reaches outside");
    ops.cuda->ops->release(ops.cuda, &memory);
}

/* Pinned buffers of any sizes, released in any order. */
static void test_pinned(void)
{
    static const size_t bytes[] = {1, 5 << 20, 100, 1 << 20, 0, 6 << 20};
    enum { N = sizeof bytes / sizeof bytes[0] };
    void *memory[N];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < N; i++) {
            must(ops.cuda->ops->host_alloc(ops.cuda, bytes[i], &memory[i], &ops.error));
            memset(memory[i], (int)i + 1, bytes[i]);
        }
        for (size_t i = 0; i < N; i++) {
            const unsigned char *const b = memory[i];
            expect(bytes[i] == 0 || (b[0] == i + 1 && b[bytes[i] - 1] == i + 1),
                   "pinned buffers overlap");
        }
        for (size_t i = N; i-- > 0;)
            ops.cuda->ops->host_release(ops.cuda, memory[round == 1 ? N - 1 - i : i]);
        for (size_t i = 0; i < N; i++) { /* one after the other */
            must(ops.cuda->ops->host_alloc(ops.cuda, bytes[i], &memory[0], &ops.error));
            memset(memory[0], 7, bytes[i]);
            ops.cuda->ops->host_release(ops.cuda, memory[0]);
        }
    }
}

/* Last, for the process has no CUDA after it: a failed kernel makes every further call an error. */
static void test_lost(void)
{
    if (ops.small) /* under a memory checker the failure would count as ours */
        return;
    ImgstatError error = {0};
    ImagePro image;
    DeviceRecord record = {.sample = IMGSTAT_U8, .channels = 1};
    must(ops.cuda->ops->alloc(ops.cuda, record_bytes(IMGSTAT_U8, 1, 0), &record.mem, &ops.error));
    /* NOLINTNEXTLINE: an address that nobody has */
    must(imgstat_image_wrap(IMGSTAT_CUDA, 0, (void *)(uintptr_t)0x1000, 0, 4096, 4096, 1,
                            IMGSTAT_U8, 0, NULL, NULL, &image, &ops.error));
    ImgstatResult result = device_measure(ops.cuda, &image, &record, 1, &error);
    if (result == IMGSTAT_OK)
        result = device_wait(ops.cuda, &error);
    expect(result == IMGSTAT_ERR_DEVICE && strncmp(error.message, "cuda:0: ", 8) == 0,
           "a failed kernel is an error of the device");
    expect(device_wait(ops.cuda, &error) == IMGSTAT_ERR_DEVICE, "and it stays one");
    DevMem memory;
    expect(ops.cuda->ops->alloc(ops.cuda, 8, &memory, &error) == IMGSTAT_ERR_DEVICE &&
               memory.address == 0,
           "for every further call");
    ops.cuda->ops->release(ops.cuda, &record.mem);
}

static void run(const char *name, void (*test)(void))
{
    const size_t cases = ops.cases, failures = ops.failures;
    test();
    printf("%-12s %7zu cases  %s\n", name, ops.cases - cases,
           ops.failures == failures ? "ok" : "FAILED");
    fflush(stdout);
}

int main(void)
{
    const int status = ops_open();
    if (status != 0)
        return status;
    run("indices", test_indices);
    run("memory", test_memory);
    run("pinned", test_pinned);
    run("lost", test_lost);
    printf("%zu cases, %zu failures, seed %llu\n", ops.cases, ops.failures,
           (unsigned long long)ops.seed);
    const bool failed = ops.cases == 0 || ops.failures > 0;
    ops_close();
    return failed;
}
