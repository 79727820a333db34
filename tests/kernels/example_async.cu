/* SPDX-License-Identifier: MIT */
/* example_async.cu: a program whose pixels are on the GPU measures them in its own stream: once
 * plainly, then many times from a CUDA graph, with a kernel of its own that uses the counts in
 * between. Checks the results against a loop on the host. */
#include "imgstat_async.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(call)                                    \
    do {                                              \
        if ((call) != IMGSTAT_OK) {                   \
            printf("%s: %s\n", #call, error.message); \
            exit(1);                                  \
        }                                             \
    } while (0)

#define MUST_CUDA(call)                                            \
    do {                                                           \
        const cudaError_t status = (call);                         \
        if (status != cudaSuccess) {                               \
            printf("%s: %s\n", #call, cudaGetErrorString(status)); \
            exit(1);                                               \
        }                                                          \
    } while (0)

enum { WIDTH = 1000, HEIGHT = 700, PIXELS = WIDTH * HEIGHT, ROUNDS = 5 };

/* The next picture of a camera: values around `round`. */
static __global__ void take_picture(uint8_t *pixels, const int *round)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < PIXELS)
        pixels[i] = (uint8_t)(i * 2654435761u % 200u + (unsigned)*round);
}

/* Uses the counts where they are: how many pixels are at least 128. */
static __global__ void count_bright(const unsigned long long *counts, unsigned long long *bright)
{
    *bright = 0;
    for (int v = 128; v < 256; v++)
        *bright += counts[v];
}

static int check(const ImgstatStats &stats, unsigned long long bright, int round)
{
    uint64_t sum = 0, expected_bright = 0;
    unsigned low = 255, high = 0;
    for (unsigned i = 0; i < PIXELS; i++) {
        const unsigned v = (i * 2654435761u % 200u + (unsigned)round) & 255u;
        sum += v;
        low = v < low ? v : low;
        high = v > high ? v : high;
        expected_bright += v >= 128;
    }
    const bool good = stats.count == PIXELS && stats.min.as.u == low && stats.max.as.u == high &&
                      stats.sum == (double)sum && bright == expected_bright;
    printf("round %d: %llu..%llu, mean %.4f, %llu bright: %s\n", round,
           (unsigned long long)stats.min.as.u, (unsigned long long)stats.max.as.u, stats.mean,
           bright, good ? "ok" : "WRONG");
    return !good;
}

int main(void)
{
    const char *required = getenv("IMGSTAT_REQUIRE_CUDA");
    ImgstatError error;
    ImgstatDevice *device = NULL;
    if (imgstat_device_open("cuda:0", 0, &device, &error) != IMGSTAT_OK) {
        printf("%s\n", error.message);
        return required && *required == '1' ? 1 : 77;
    }

    uint8_t *pixels;
    int *round_there;
    unsigned long long *bright_there, bright;
    cudaStream_t stream;
    MUST_CUDA(cudaMalloc(&pixels, PIXELS));
    MUST_CUDA(cudaMalloc(&round_there, sizeof *round_there));
    MUST_CUDA(cudaMalloc(&bright_there, sizeof *bright_there));
    MUST_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    /* Wrapped once: the address, the pitch (0: rows without gaps), and what the bytes are. */
    ImagePro image;
    ImgstatPending *pending = NULL;
    MUST(imgstat_image_wrap(IMGSTAT_CUDA, 0, pixels, 0, WIDTH, HEIGHT, 1, IMGSTAT_U8, 8, NULL, NULL,
                            &image, &error));
    MUST(imgstat_pending_create(device, IMGSTAT_U8, 1, &pending, &error));
    const unsigned long long *counts =
        (const unsigned long long *)(uintptr_t)imgstat_pending_counts(pending, 0).address;

    /* Everything below is ordered by the stream; nothing waits until a record is asked for. Having
     * run once, it can be recorded as a graph. */
    cudaGraph_t graph = NULL;
    cudaGraphExec_t replay = NULL;
    int wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        MUST_CUDA(
            cudaMemcpyAsync(round_there, &round, sizeof round, cudaMemcpyHostToDevice, stream));
        if (round == 1)
            MUST_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        if (round < 2) {
            take_picture<<<(PIXELS + 255) / 256, 256, 0, stream>>>(pixels, round_there);
            MUST_CUDA(cudaGetLastError());
            MUST(imgstat_measure_async(pending, &image, stream, &error));
            count_bright<<<1, 1, 0, stream>>>(counts, bright_there);
            MUST_CUDA(cudaGetLastError());
        }
        if (round == 1) {
            MUST_CUDA(cudaStreamEndCapture(stream, &graph));
            MUST_CUDA(cudaGraphInstantiate(&replay, graph, 0));
        }
        if (round >= 1)
            MUST_CUDA(cudaGraphLaunch(replay, stream));
        MUST_CUDA(
            cudaMemcpyAsync(&bright, bright_there, sizeof bright, cudaMemcpyDeviceToHost, stream));

        ImgstatRecord *record = NULL;
        ImgstatStats stats;
        MUST(imgstat_pending_record(pending, stream, NULL, &record, &error)); /* waits */
        imgstat_record_stats(record, 0, &stats);
        wrong += check(stats, bright, round);
        imgstat_record_destroy(record);
    }

    MUST_CUDA(cudaGraphExecDestroy(replay));
    MUST_CUDA(cudaGraphDestroy(graph));
    imgstat_pending_destroy(pending);
    imgstat_image_release(&image);
    imgstat_device_close(device);
    MUST_CUDA(cudaStreamDestroy(stream));
    MUST_CUDA(cudaFree(bright_there));
    MUST_CUDA(cudaFree(round_there));
    MUST_CUDA(cudaFree(pixels));
    return wrong > 0;
}
