/* SPDX-License-Identifier: MIT */
/* ranks/sort.cu: order statistics of wide samples: all keys of a channel are gathered in the
 * device's memory and sorted there (by CUB), then ranks are looked up. */
#include "common/tuning.cuh"
#include "device/measure.cuh"

#define CCCL_DISABLE_NVTX /* its headers take a second to compile */
#include <cub/device/device_radix_sort.cuh>
#include <stdlib.h>

extern "C" {
#include "transfer/transfer.h"
}

enum {
    THREADS = SORT_THREADS,
    BOUNDARY = 256 /* bytes: of every part of the buffer; the counter has as many */
};

static const size_t RUNS_BYTES = (RANK_STEPS + 1) * sizeof(RankKnot);

/* Between sort_begin and sort_end. The buffer device->sort holds a counter, then keys, then as many
 * again, then what CUB needs, and in the end runs. */
struct Sorting {
    ImgstatSample sample;
    uint64_t n;
    size_t array, room; /* bytes of keys; of what is behind them */
};

/*
 * find_runs: the runs of equal keys that ranks of steps are in.
 *
 *   Idea      A rank a thread; where its key begins and ends is found by halving.
 *   Work      2 log2 n dependent loads a rank.
 *   Memory    some hundred bytes a rank, most from the cache; writes 24.
 *   Launch    <<<any, THREADS>>>.
 *   Requires  n > 0 keys in ascending order.
 *   Result    runs[j]: that of rank (n - 1) j / RANK_STEPS.
 */
template <typename Key>
static __global__ void __launch_bounds__(THREADS)
    find_runs(const Key *__restrict__ keys, uint64_t n, RankKnot *runs)
{
    const unsigned j = blockIdx.x * THREADS + threadIdx.x;
    if (j > RANK_STEPS)
        return;
    const uint64_t rank = (n - 1) * j / RANK_STEPS;
    const Key key = keys[rank];
    uint64_t below = 0, upto = n;
    for (uint64_t end = rank; below < end;) { /* the first that is not less */
        const uint64_t middle = below + (end - below) / 2;
        if (keys[middle] < key)
            below = middle + 1;
        else
            end = middle;
    }
    for (uint64_t begin = rank + 1; begin < upto;) { /* the first that is more */
        const uint64_t middle = begin + (upto - begin) / 2;
        if (keys[middle] > key)
            upto = middle;
        else
            begin = middle + 1;
    }
    runs[j] = RankKnot{key, below, upto};
}

/* ---- Host side ------------------------------------------------------------------------------- */

static unsigned long long *counter_of(const CudaDevice *device)
{
    return (unsigned long long *)device->sort.memory;
}

static char *keys_of(const CudaDevice *device)
{
    return (char *)device->sort.memory + BOUNDARY;
}

/* From keys to keys + n and back, as it is best; memory NULL: only sets *room. */
template <typename Key>
static cudaError_t sort_keys(CudaDevice *device, void *memory, size_t *room, void *keys,
                             void *spare, uint64_t n, const void **sorted)
{
    cub::DoubleBuffer<Key> both((Key *)keys, (Key *)spare);
    const cudaError_t status = cub::DeviceRadixSort::SortKeys(memory, *room, both, n, 0,
                                                              (int)sizeof(Key) * 8, device->stream);
    *sorted = both.Current();
    return status;
}

static cudaError_t sort_as(CudaDevice *device, const Sorting *sorting, void *memory, size_t *room,
                           const void **sorted)
{
    char *const keys = memory ? keys_of(device) : NULL;
    return sample_bits(sorting->sample) == 32
               ? sort_keys<uint32_t>(device, memory, room, keys, keys + sorting->array, sorting->n,
                                     sorted)
               : sort_keys<uint64_t>(device, memory, room, keys, keys + sorting->array, sorting->n,
                                     sorted);
}

/* *fits: false where that would leave others less than half of the free memory. */
static ImgstatResult reserve(CudaDevice *device, Sorting *sorting, bool *fits, ImgstatError *err)
{
    const void *unused;
    size_t bytes, available, all;
    *fits = false;
    if (!size_product(sorting->n, sample_bits(sorting->sample) / 8, &bytes) || bytes > SIZE_MAX / 4)
        return IMGSTAT_OK;
    sorting->array = (bytes + BOUNDARY - 1) / BOUNDARY * BOUNDARY;
    CUDA_TRY(device, err, sort_as(device, sorting, NULL, &sorting->room, &unused));
    if (sorting->room < RUNS_BYTES)
        sorting->room = RUNS_BYTES;
    const size_t wanted = BOUNDARY + 2 * sorting->array + sorting->room;
    CUDA_TRY(device, err, cudaMemGetInfo(&available, &all));
    if (wanted > device->sort.bytes && wanted > available / 2)
        return IMGSTAT_OK;
    const ImgstatResult res = cuda_reserve(device, &device->sort, wanted, false, err);
    *fits = res == IMGSTAT_OK;
    return res == IMGSTAT_ERR_MEMORY ? IMGSTAT_OK : res;
}

ImgstatResult cuda_sort_begin(Device *base, ImgstatSample sample, uint64_t n, bool *sorts,
                              ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    *sorts = false;
    CUDA_ENTER(device, err);
    if (device->sorting || sample_bits(sample) < 32)
        return error_set(err, IMGSTAT_ERR_ARG, "keys that cannot be sorted");
    if (n < SORT_LEAST)
        return IMGSTAT_OK;
    Sorting *made = (Sorting *)calloc(1, sizeof *made);
    if (!made)
        return error_memory(err, sizeof *made, "sorting");
    made->sample = sample;
    made->n = n;
    ImgstatResult res = reserve(device, made, sorts, err);
    if (res == IMGSTAT_OK && *sorts) {
        const cudaError_t status =
            cudaMemsetAsync(counter_of(device), 0, sizeof *counter_of(device), device->stream);
        if (status != cudaSuccess)
            res = cuda_failed(device, status, "cudaMemsetAsync", err);
    }
    *sorts = *sorts && res == IMGSTAT_OK;
    if (*sorts)
        device->sorting = made;
    else
        free(made);
    return res;
}

ImgstatResult cuda_sort_add(CudaDevice *device, const ImagePro *image, uint16_t channel,
                            ImgstatError *err)
{
    const Sorting *const sorting = (const Sorting *)device->sorting;
    if (!sorting || sorting->sample != image->sample)
        return error_set(err, IMGSTAT_ERR_ARG, "an image of other samples than are sorted");
    const auto append = [&](const ImagePro &band) {
        return cuda_append_keys(device, &band, channel, sorting->n, keys_of(device),
                                counter_of(device), err);
    };
    return cuda_stage_bands(device, image, append, err);
}

/* From the device's memory to the caller's. */
static ImgstatResult fetch(CudaDevice *device, void *to, const void *from, size_t bytes,
                           ImgstatError *err)
{
    IMGSTAT_TRY(cuda_reserve_host(device, &device->host, bytes, err));
    CUDA_TRY(
        device, err,
        cudaMemcpyAsync(device->host.memory, from, bytes, cudaMemcpyDeviceToHost, device->stream));
    CUDA_TRY(device, err, cudaStreamSynchronize(device->stream));
    memcpy(to, device->host.memory, bytes);
    return IMGSTAT_OK;
}

static ImgstatResult fetch_runs(CudaDevice *device, const Sorting *sorting, uint64_t *taken,
                                RankKnot *runs, ImgstatError *err)
{
    IMGSTAT_TRY(fetch(device, taken, counter_of(device), sizeof *taken, err));
    if (*taken != sorting->n)
        return IMGSTAT_OK;
    const void *sorted;
    size_t room = sorting->room;
    void *const memory = keys_of(device) + 2 * sorting->array;
    CUDA_TRY(device, err, sort_as(device, sorting, memory, &room, &sorted));
    RankKnot *const found = (RankKnot *)memory; /* CUB needs it no more */
    const unsigned blocks = RANK_STEPS / THREADS + 1;
    assert(sorting->n > 0 && sorting->room >= RUNS_BYTES);
    if (sample_bits(sorting->sample) == 32)
        find_runs<<<blocks, THREADS, 0, device->stream>>>((const uint32_t *)sorted, sorting->n,
                                                          found);
    else
        find_runs<<<blocks, THREADS, 0, device->stream>>>((const uint64_t *)sorted, sorting->n,
                                                          found);
    IMGSTAT_TRY(cuda_launched(device, device->stream, "find_runs", err));
    return fetch(device, runs, found, RUNS_BYTES, err);
}

/* Large memory is for others again. */
static ImgstatResult release_large(CudaDevice *device, ImgstatError *err)
{
    void *const memory = device->sort.memory;
    if (device->sort.bytes <= device->properties.totalGlobalMem / SORT_KEPT_SHARE)
        return IMGSTAT_OK;
    device->sort = CudaBuffer{NULL, 0};
    CUDA_TRY(device, err, cudaStreamSynchronize(device->stream));
    CUDA_TRY(device, err, cudaFree(memory));
    return IMGSTAT_OK;
}

ImgstatResult cuda_sort_end(Device *base, uint64_t *taken, RankKnot *runs, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    Sorting *sorting = (Sorting *)device->sorting;
    const CudaStay stay(device);
    ImgstatResult res = IMGSTAT_OK;
    if (runs && !sorting)
        res = error_set(err, IMGSTAT_ERR_ARG, "no sorting has begun");
    else if (sorting)
        res = cuda_enter(device, stay, err);
    if (runs && res == IMGSTAT_OK)
        res = fetch_runs(device, sorting, taken, runs, err);
    if (sorting && res == IMGSTAT_OK)
        res = release_large(device, err);
    free(sorting);
    device->sorting = NULL;
    return res;
}
