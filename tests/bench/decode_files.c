/* SPDX-License-Identifier: MIT */
/* decode_files: files in memory to pixels in the memory of a GPU, N at a time: the least time of
 * ten calls. tests/bench/nvimagecodec.py does the same with nvImageCodec.
 *
 * usage: decode_files N FILE... */
#include "imgstat_async.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 10 };

static void fail(const char *sentence)
{
    fprintf(stderr, "decode_files: %s\n", sentence);
    exit(1);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A whole file, in page-locked memory: as a loader would have it. */
static ImgstatEncoded read_file(const char *name)
{
    FILE *const from = fopen(name, "rb");
    void *bytes = NULL;
    long n = -1;
    if (from && fseek(from, 0, SEEK_END) == 0 && (n = ftell(from)) > 0 &&
        cudaMallocHost(&bytes, (size_t)n) == cudaSuccess) {
        rewind(from);
        if (fread(bytes, 1, (size_t)n, from) != (size_t)n)
            n = -1;
    }
    if (n <= 0)
        fail(name);
    fclose(from);
    return (ImgstatEncoded){.name = name, .bytes = bytes, .n_bytes = (size_t)n};
}

/* Memory for the pixels of file i. Returns its bytes. */
static size_t make_image(const ImgstatDecode *decode, size_t i, ImagePro *image)
{
    ImgstatPage page;
    ImgstatError err;
    void *pixels = NULL;
    if (imgstat_decode_page(decode, i, &page, &err) != IMGSTAT_OK)
        fail(err.message);
    const size_t row = (size_t)page.width * page.channels * imgstat_sample_bytes(page.sample);
    if (cudaMalloc(&pixels, row * page.height) != cudaSuccess)
        fail("out of memory of the GPU");
    *image = (ImagePro){.width = page.width,
                        .height = page.height,
                        .channels = page.channels,
                        .sample = page.sample,
                        .pitch = row,
                        .device.address = (uint64_t)(uintptr_t)pixels};
    return row * page.height;
}

int main(int argc, char **argv)
{
    ImgstatError err;
    ImgstatDevice *device = NULL;
    const size_t n = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    if (n == 0)
        fail("usage: decode_files N FILE...");
    if (imgstat_device_open("cuda:0", 0, &device, &err) != IMGSTAT_OK)
        fail(err.message);
    const size_t named = (size_t)argc - 2;
    ImgstatEncoded *const files = calloc(n, sizeof *files);
    ImagePro *const images = calloc(n, sizeof *images);
    ImgstatError *const results = calloc(n, sizeof *results);
    if (!files || !images || !results)
        fail("out of memory");
    for (size_t i = 0; i < n; i++)
        files[i] = i < named ? read_file(argv[i + 2]) : files[i % named];
    cudaStream_t stream;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
        fail("no stream");
    double least = 1e9;
    size_t bytes = 0, on_device = 0;
    for (int run = 0; run < RUNS; run++) {
        ImgstatDecode *decode = NULL;
        const double begin = seconds();
        if (imgstat_decode_create(device, files, n, NULL, &decode, &err) != IMGSTAT_OK)
            fail(err.message);
        for (size_t i = 0; run == 0 && i < n; i++)
            bytes += make_image(decode, i, &images[i]);
        if (imgstat_decode_async(decode, images, stream, &err) != IMGSTAT_OK ||
            imgstat_decode_finish(decode, stream, results, &err) != IMGSTAT_OK)
            fail(err.message);
        const double took = seconds() - begin;
        least = took < least ? took : least;
        on_device = 0;
        for (size_t i = 0; i < n; i++) {
            on_device += imgstat_decode_on_device(decode, i);
            if (results[i].code != IMGSTAT_OK)
                fail(results[i].message);
        }
        imgstat_decode_destroy(decode);
    }
    printf("imgstat: %zu files, %zu by the device, %.2f ms, %.1f GB/s of pixels\n", n, on_device,
           1e3 * least, (double)bytes / least * 1e-9);
    return 0;
}
