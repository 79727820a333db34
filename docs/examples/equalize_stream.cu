/* SPDX-License-Identifier: MIT */
/* equalize_stream.cu: a camera's pictures are on the GPU; each is equalized there, in the program's
 * own stream and, from the second on, as part of a CUDA graph: the host waits for nothing in
 * between. Ends by comparing every picture with what the processor makes of it. */
#include <imgstat_async.h>

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

enum { WIDTH = 640, HEIGHT = 480, CHANNELS = 3, BYTES = WIDTH * HEIGHT * CHANNELS, ROUNDS = 4 };

/* The next picture: darker than it should be. */
static __global__ void take_picture(uint8_t *pixels, const int *round)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < BYTES)
        pixels[i] =
            (uint8_t)((i * 2654435761u >> 24) / 4u + i / WIDTH % 32u + 5u * (unsigned)*round);
}

/* What the library makes of the same picture on the host. */
static bool same_as_host(const uint8_t *picture, const uint8_t *equalized)
{
    const ImgstatMethod method = {IMGSTAT_EQUALIZE};
    ImgstatError error;
    ImgstatDevice *cpu = NULL;
    ImagePro from, to;
    MUST(imgstat_device_open("cpu", 0, &cpu, &error));
    MUST(imgstat_image_wrap(IMGSTAT_HOST, 0, (void *)picture, 0, WIDTH, HEIGHT, CHANNELS,
                            IMGSTAT_U8, 8, NULL, NULL, &from, &error));
    MUST(imgstat_image_transform(cpu, &method, &from, -1, NULL, &to, &error));
    const bool same = memcmp(to.host, equalized, BYTES) == 0;
    imgstat_image_release(&to);
    imgstat_device_close(cpu);
    return same;
}

int main(void)
{
    const char *required = getenv("IMGSTAT_REQUIRE_CUDA");
    const ImgstatMethod method = {IMGSTAT_EQUALIZE};
    ImgstatError error;
    ImgstatDevice *device = NULL;
    if (imgstat_device_open("cuda:0", 0, &device, &error) != IMGSTAT_OK) {
        printf("%s\n", error.message);
        return required && *required == '1' ? 1 : 77;
    }

    uint8_t *picture_there, *equalized_there;
    int *round_there;
    cudaStream_t stream;
    MUST_CUDA(cudaMalloc(&picture_there, BYTES));
    MUST_CUDA(cudaMalloc(&equalized_there, BYTES));
    MUST_CUDA(cudaMalloc(&round_there, sizeof *round_there));
    MUST_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    /* Memory of the program, wrapped once; a chain for pictures of this kind, made once. */
    ImagePro picture, equalized;
    ImgstatChain *chain = NULL;
    MUST(imgstat_image_wrap(IMGSTAT_CUDA, 0, picture_there, 0, WIDTH, HEIGHT, CHANNELS, IMGSTAT_U8,
                            8, NULL, NULL, &picture, &error));
    MUST(imgstat_image_wrap(IMGSTAT_CUDA, 0, equalized_there, 0, WIDTH, HEIGHT, CHANNELS,
                            IMGSTAT_U8, 8, NULL, NULL, &equalized, &error));
    MUST(imgstat_chain_create(device, &method, &picture, -1, &chain, &error));

    cudaGraph_t graph = NULL;
    cudaGraphExec_t replay = NULL;
    uint8_t *const host = (uint8_t *)malloc(2 * BYTES);
    int wrong = host == NULL;
    for (int round = 0; round < ROUNDS && host; round++) {
        MUST_CUDA(
            cudaMemcpyAsync(round_there, &round, sizeof round, cudaMemcpyHostToDevice, stream));
        if (round == 1)
            MUST_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        if (round < 2) { /* run, then recorded */
            take_picture<<<(BYTES + 255) / 256, 256, 0, stream>>>(picture_there, round_there);
            MUST_CUDA(cudaGetLastError());
            MUST(imgstat_transform_async(chain, &picture, &equalized, stream, &error));
        }
        if (round == 1) {
            MUST_CUDA(cudaStreamEndCapture(stream, &graph));
            MUST_CUDA(cudaGraphInstantiate(&replay, graph, 0));
        }
        if (round >= 1)
            MUST_CUDA(cudaGraphLaunch(replay, stream));

        /* Only to look at it. */
        MUST_CUDA(cudaMemcpyAsync(host, picture_there, BYTES, cudaMemcpyDeviceToHost, stream));
        MUST_CUDA(
            cudaMemcpyAsync(host + BYTES, equalized_there, BYTES, cudaMemcpyDeviceToHost, stream));
        MUST_CUDA(cudaStreamSynchronize(stream));
        const bool same = same_as_host(host, host + BYTES);
        printf("picture %d: %s\n", round, same ? "as on the host" : "WRONG");
        wrong += !same;
    }

    free(host);
    if (replay)
        MUST_CUDA(cudaGraphExecDestroy(replay));
    if (graph)
        MUST_CUDA(cudaGraphDestroy(graph));
    imgstat_chain_destroy(chain);
    imgstat_image_release(&equalized);
    imgstat_image_release(&picture);
    imgstat_device_close(device);
    MUST_CUDA(cudaStreamDestroy(stream));
    MUST_CUDA(cudaFree(round_there));
    MUST_CUDA(cudaFree(equalized_there));
    MUST_CUDA(cudaFree(picture_there));
    return wrong > 0;
}
