/* SPDX-License-Identifier: MIT */
/* ranks/windows.cu: counting every key of many windows of 32-bit keys in one read a channel. */
#include "common/wide_sample.cuh"
#include "device/measure.cuh"

#include <stdlib.h>

enum { THREADS = 256, WARPS = THREADS / 32, BLOCKS_PER_SM = 8, KEYS = 65536, NO_SLOT = 0xFFFF };

/* Between windows_begin and windows_end. The buffer device->windows holds n * 65,536 counters of
 * 32 bits, then a best each, then a table of slots for each active channel. */
struct Windows {
    ImgstatSample sample;
    uint16_t channels;
    size_t n, active;
    uint16_t channel[WINDOWS_MOST]; /* active: those with windows */
    unsigned long long best[WINDOWS_MOST];
};

/*
 * count_windows: counts the keys of a channel that lie in a window.
 *
 *   Idea      A table says which window leading bits belong to; counters are in global memory, most
 *             of them in the L2 cache, equal keys of a warp are added together.
 *   Work      about 20 instructions a sample and an atomic addition.
 *   Memory    reads n samples and 128 KiB of slots; adds to 256 KiB a window.
 *   Launch    blocks of 256, eight an SM; warps take pieces by turns.
 *   Requires  samples aligned; fewer than 2^32 samples a window.
 *   Result    added to counts; integers, so every order gives the same.
 */
template <int SAMPLE>
static __global__ void __launch_bounds__(THREADS)
    count_windows(const __grid_constant__ WorkImage image, unsigned channel,
                  const uint16_t *__restrict__ slots, uint32_t *counts)
{
    for (uint64_t unit = blockIdx.x * WARPS + threadIdx.x / 32; unit < image.units;
         unit += (uint64_t)gridDim.x * WARPS) {
        uint64_t row, place;
        unit_place(image, unit, &row, &place);
        const uint64_t first = place * PIECE;
        const unsigned n = (unsigned)min((uint64_t)PIECE, image.row_pixels - first);
        const uint32_t *samples =
            (const uint32_t *)(image.pixels + row * image.pitch) + first * image.channels + channel;
        const uint8_t *mask = image.mask ? image.mask + row * image.mask_pitch + first : NULL;
#pragma unroll 4
        for (unsigned x = threadIdx.x % 32; x < n; x += 32) {
            if (mask && !mask[x])
                continue;
            const uint32_t key =
                (uint32_t)sample_key((ImgstatSample)SAMPLE, samples[(size_t)x * image.channels]);
            const uint32_t slot = __ldg(&slots[key >> 16]);
            if (slot == NO_SLOT || !wide_valid<SAMPLE>(image, key))
                continue;
            const uint32_t at = slot << 16 | (key & 0xFFFF);
            const unsigned peers = __match_any_sync(__activemask(), at);
            if (threadIdx.x % 32 == (unsigned)__ffs((int)peers) - 1)
                atomicAdd(&counts[at], (unsigned)__popc(peers));
        }
    }
}

/*
 * best_of_windows: the largest count of each window, and the smallest key that has it.
 *
 *   Idea      count and inverted key as one number, of which the maximum is wanted.
 *   Memory    reads 256 KiB a window.
 *   Launch    a block of 256 each.
 *   Result    best[window] = count << 16 | 65,535 - digit.
 */
static __global__ void __launch_bounds__(THREADS)
    best_of_windows(const uint32_t *__restrict__ counts, unsigned long long *best)
{
    __shared__ unsigned long long warp[WARPS];
    const uint32_t *mine = counts + (size_t)blockIdx.x * KEYS;
    uint64_t most = 0;
    for (unsigned k = threadIdx.x; k < KEYS; k += THREADS)
        most = max(most, (uint64_t)mine[k] << 16 | (KEYS - 1 - k));
    most = warp_max(most);
    if (threadIdx.x % 32 == 0)
        warp[threadIdx.x / 32] = most;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int w = 1; w < WARPS; w++)
        most = max(most, (uint64_t)warp[w]);
    best[blockIdx.x] = most;
}

/* ---- Host side ------------------------------------------------------------------------------- */

static uint32_t *counts_of(const CudaDevice *device)
{
    return (uint32_t *)device->windows.memory;
}

static unsigned long long *best_of(const CudaDevice *device, const Windows *windows)
{
    return (unsigned long long *)(counts_of(device) + windows->n * KEYS);
}

static uint16_t *slots_of(const CudaDevice *device, const Windows *windows, size_t k)
{
    return (uint16_t *)(best_of(device, windows) + windows->n) + k * KEYS;
}

/* The table of the k-th active channel, to the device. */
static ImgstatResult upload_slots(CudaDevice *device, const Windows *windows,
                                  const KeyWindow *window, size_t k, ImgstatError *err)
{
    const size_t bytes = KEYS * sizeof(uint16_t);
    IMGSTAT_TRY(cuda_reserve_host(device, &device->host, bytes, err));
    uint16_t *slots = (uint16_t *)device->host.memory;
    for (size_t i = 0; i < KEYS; i++)
        slots[i] = NO_SLOT;
    for (size_t i = 0; i < windows->n; i++)
        if (window[i].channel == windows->channel[k])
            slots[window[i].lead] = (uint16_t)i;
    CUDA_TRY(device, err,
             cudaMemcpyAsync(slots_of(device, windows, k), slots, bytes, cudaMemcpyHostToDevice,
                             device->stream));
    CUDA_TRY(device, err, cudaStreamSynchronize(device->stream)); /* the next table goes there */
    return IMGSTAT_OK;
}

static ImgstatResult prepare(CudaDevice *device, const Windows *windows, const KeyWindow *window,
                             ImgstatError *err)
{
    const size_t zeros = windows->n * (KEYS * sizeof(uint32_t) + sizeof(unsigned long long));
    const size_t bytes = zeros + windows->active * KEYS * sizeof(uint16_t);
    IMGSTAT_TRY(cuda_reserve(device, &device->windows, bytes, false, err));
    CUDA_TRY(device, err, cudaMemsetAsync(device->windows.memory, 0, zeros, device->stream));
    for (size_t k = 0; k < windows->active; k++)
        IMGSTAT_TRY(upload_slots(device, windows, window, k, err));
    return IMGSTAT_OK;
}

ImgstatResult cuda_windows_begin(Device *base, ImgstatSample sample, uint16_t channels,
                                 const KeyWindow *windows, size_t n, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    CUDA_ENTER(device, err);
    if (device->search || sample_bits(sample) != 32 || channels == 0 || n == 0 || n > WINDOWS_MOST)
        return error_set(err, IMGSTAT_ERR_ARG, "windows of keys that cannot be counted");
    for (size_t i = 0; i < n; i++)
        if (windows[i].channel >= channels)
            return error_set(err, IMGSTAT_ERR_ARG, "channel %u of an image with %u",
                             windows[i].channel, channels);
    Windows *made = (Windows *)calloc(1, sizeof *made);
    if (!made)
        return error_memory(err, sizeof *made, "windows");
    made->sample = sample;
    made->channels = channels;
    made->n = n;
    for (size_t i = 0, k; i < n; i++) {
        for (k = 0; k < made->active && made->channel[k] != windows[i].channel; k++) {
        }
        made->channel[k] = windows[i].channel;
        made->active += k == made->active;
    }
    const ImgstatResult res = prepare(device, made, windows, err);
    if (res == IMGSTAT_OK)
        device->search = made;
    else
        free(made);
    return res;
}

template <int SAMPLE>
static ImgstatResult launch_windows(CudaDevice *device, const WorkImage *image, unsigned channel,
                                    const uint16_t *slots, ImgstatError *err)
{
    const uint64_t blocks = (image->units + WARPS - 1) / WARPS;
    const uint64_t most = (uint64_t)device->properties.multiProcessorCount * BLOCKS_PER_SM;
    count_windows<SAMPLE>
        <<<(unsigned)(blocks < most ? blocks : most), THREADS, 0, device->stream>>>(
            *image, channel, slots, counts_of(device));
    return cuda_launched(device, device->stream, "count_windows", err);
}

static ImgstatResult read_windows(void *context, CudaDevice *device, const ImagePro *images,
                                  const uint32_t *origin, size_t n, ImgstatError *err)
{
    const Windows *windows = (const Windows *)context;
    (void)origin;
    for (size_t i = 0; i < n; i++) {
        ImagePro aligned;
        WorkImage work;
        IMGSTAT_TRY(cuda_align(device, &images[i], &aligned, err));
        work_describe(&work, &aligned, PIECE, false, false);
        for (size_t k = 0; work.units > 0 && k < windows->active; k++) {
            const uint16_t *slots = slots_of(device, windows, k), c = windows->channel[k];
            if (windows->sample == IMGSTAT_F32)
                IMGSTAT_TRY(launch_windows<IMGSTAT_F32>(device, &work, c, slots, err));
            else if (windows->sample == IMGSTAT_I32)
                IMGSTAT_TRY(launch_windows<IMGSTAT_I32>(device, &work, c, slots, err));
            else
                IMGSTAT_TRY(launch_windows<IMGSTAT_U32>(device, &work, c, slots, err));
        }
    }
    return IMGSTAT_OK;
}

ImgstatResult cuda_windows_add(Device *base, const ImagePro *image, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    Windows *windows = (Windows *)device->search;
    CUDA_ENTER(device, err);
    if (!windows || windows->sample != image->sample || windows->channels != image->channels)
        return error_set(err, IMGSTAT_ERR_ARG, "an image of other samples than the windows");
    return cuda_stage(device, image, 1, read_windows, windows, err);
}

static ImgstatResult take_best(CudaDevice *device, Windows *windows, KeyWindow *out,
                               ImgstatError *err)
{
    unsigned long long *best = best_of(device, windows);
    best_of_windows<<<(unsigned)windows->n, THREADS, 0, device->stream>>>(counts_of(device), best);
    IMGSTAT_TRY(cuda_launched(device, device->stream, "best_of_windows", err));
    CUDA_TRY(device, err,
             cudaMemcpyAsync(windows->best, best, windows->n * sizeof *best, cudaMemcpyDeviceToHost,
                             device->stream));
    CUDA_TRY(device, err, cudaStreamSynchronize(device->stream));
    for (size_t i = 0; i < windows->n; i++) {
        out[i].count = windows->best[i] >> 16;
        out[i].digit = out[i].count ? (uint16_t)(KEYS - 1 - (windows->best[i] & 0xFFFF)) : 0;
    }
    return IMGSTAT_OK;
}

ImgstatResult cuda_windows_end(Device *base, KeyWindow *windows, size_t n, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    Windows *search = (Windows *)device->search;
    const CudaStay stay(device);
    ImgstatResult res = IMGSTAT_OK;
    if (windows && (!search || n != search->n))
        res = error_set(err, IMGSTAT_ERR_ARG, "not the windows that were begun");
    else if (windows)
        res = cuda_enter(device, stay, err);
    if (windows && res == IMGSTAT_OK)
        res = take_best(device, search, windows, err);
    free(search);
    device->search = NULL;
    return res;
}
