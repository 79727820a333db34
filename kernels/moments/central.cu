/* SPDX-License-Identifier: MIT */
/* moments/central.cu: power sums about a center, segment by segment (docs/float-sums.md). */
#include "common/tuning.cuh"
#include "common/wide_sample.cuh"
#include "device/measure.cuh"
#include "transfer/map.h"

#include <cuda_fp16.h>
#include <stdlib.h>

enum { THREADS = CENTRAL_THREADS, WARPS = THREADS / 32, POWERS = 4 };
/* Segments a launch: every limb gets 2^26 * 2^32 at most, far below 2^63. */
static const uint64_t LAUNCH_SEGMENTS = 1ull << 26;

struct CentralSums {
    unsigned long long limb[POWERS][EXACT_LIMBS];
    unsigned long long overflow;
};

/*
 * central_sums: sums of d, d^2, d^3, d^4 of the distances of a channel's samples from a center.
 *
 *   Idea      A warp takes a segment and keeps its 128 lanes in registers; the four sums of a segment
 *             are split into limbs and added in shared memory as integers.
 *   Work      8 double operations a sample.
 *   Memory    reads n samples once.
 *   Launch    blocks of 256, four an SM; warps take segments in a fixed order.
 *   Requires  tiles of the image are segments of rows; samples aligned.
 *   Result    limbs added to sums, not normalized.
 */
template <int SAMPLE>
static __global__ void __launch_bounds__(THREADS, CENTRAL_BLOCKS)
    central_sums(const __grid_constant__ WorkImage image, unsigned channel, double center,
                 CentralSums *sums)
{
    typedef typename WideType<SAMPLE>::Raw Raw;
    __shared__ CentralSums block;
    const unsigned lane = threadIdx.x % 32;
    const bool whole = center_is_whole((ImgstatSample)SAMPLE, center);
    const uint64_t middle = whole ? map_key((ImgstatSample)SAMPLE, center) : 0;
    unsigned long long *words = (unsigned long long *)&block, *to = (unsigned long long *)sums;
    for (unsigned i = threadIdx.x; i < sizeof block / 8; i += THREADS)
        words[i] = 0;
    __syncthreads();

    for (uint64_t tile = blockIdx.x * WARPS + threadIdx.x / 32; tile < image.tiles;
         tile += (uint64_t)gridDim.x * WARPS) {
        uint64_t row, place;
        tile_place(image, tile, &row, &place);
        const uint64_t first = place * PIECE;
        const unsigned n = (unsigned)min((uint64_t)PIECE, image.row_pixels - first);
        const Raw *samples =
            (const Raw *)(image.pixels + row * image.pitch) + first * image.channels + channel;
        const uint8_t *mask = image.mask ? image.mask + row * image.mask_pitch + first : NULL;
        double power[POWERS][4] = {{0}};
        for (unsigned x0 = lane; x0 < n; x0 += PIECE_LANES) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const unsigned x = x0 + 32 * i;
                if (x >= n || (mask && !mask[x]))
                    continue;
                const Raw raw = samples[(size_t)x * image.channels];
                const uint64_t key = sample_key((ImgstatSample)SAMPLE, raw);
                if (!wide_valid<SAMPLE>(image, key))
                    continue;
                const double d =
                    whole ? key_distance(key, middle) : wide_double<SAMPLE>(raw) - center;
                const double square = d * d;
                power[0][i] += d;
                power[1][i] += square;
                power[2][i] += square * d;
                power[3][i] += square * square;
            }
        }
        double mine = 0;
#pragma unroll
        for (unsigned k = 0; k < POWERS; k += 2) {
            double sum, next;
            lanes_fold(power[k], power[k + 1], &sum, &next);
            mine = lane == k ? sum : lane == k + 1 ? next : mine;
        }
        if (__any_sync(ALL_LANES, !isfinite(mine))) {
            if (lane == 0)
                atomicAdd(&block.overflow, 1ull);
        } else if (lane < POWERS) {
            uint32_t limb;
            int64_t part[3];
            exact_split(mine, &limb, part);
            for (int i = 0; i < 3; i++)
                atomicAdd(&block.limb[lane][limb + i], (unsigned long long)part[i]);
        }
    }
    __syncthreads(); /* all segments are added */
    for (unsigned i = threadIdx.x; i < sizeof block / 8; i += THREADS) {
        if (words[i])
            atomicAdd(&to[i], words[i]);
    }
}

template <int SAMPLE>
static ImgstatResult launch_central(CudaDevice *device, const WorkImage *image, unsigned channel,
                                    double center, CentralSums *sums, ImgstatError *err)
{
    const uint64_t blocks = (image->tiles + WARPS - 1) / WARPS;
    const uint64_t most = (uint64_t)device->properties.multiProcessorCount * CENTRAL_BLOCKS;
    central_sums<SAMPLE><<<(unsigned)(blocks < most ? blocks : most), THREADS, 0, device->stream>>>(
        *image, channel, center, sums);
    return cuda_launched(device, device->stream, "central_sums", err);
}

static ImgstatResult run_central(CudaDevice *device, const WorkImage *image, unsigned channel,
                                 double center, CentralSums *sums, ImgstatError *err)
{
    switch ((ImgstatSample)image->sample) {
    case IMGSTAT_U32:
        return launch_central<IMGSTAT_U32>(device, image, channel, center, sums, err);
    case IMGSTAT_I32:
        return launch_central<IMGSTAT_I32>(device, image, channel, center, sums, err);
    case IMGSTAT_F32:
        return launch_central<IMGSTAT_F32>(device, image, channel, center, sums, err);
    case IMGSTAT_U64:
        return launch_central<IMGSTAT_U64>(device, image, channel, center, sums, err);
    case IMGSTAT_I64:
        return launch_central<IMGSTAT_I64>(device, image, channel, center, sums, err);
    case IMGSTAT_F64:
        return launch_central<IMGSTAT_F64>(device, image, channel, center, sums, err);
    default:
        return error_set(err, IMGSTAT_ERR_ARG,
                         "power sums of samples of at most 16 bits follow from their bins");
    }
}

/* Takes the sums so far off the device, adds them to the caller's, and begins again. */
static ImgstatResult take_sums(CudaDevice *device, unsigned channels, Central *out,
                               ImgstatError *err)
{
    const size_t bytes = channels * sizeof(CentralSums);
    IMGSTAT_TRY(cuda_reserve_host(device, &device->host, bytes, err));
    const CentralSums *sums = (const CentralSums *)device->host.memory;
    CUDA_TRY(device, err,
             cudaMemcpyAsync(device->host.memory, device->scratch.memory, bytes,
                             cudaMemcpyDeviceToHost, device->stream));
    CUDA_TRY(device, err, cudaStreamSynchronize(device->stream));
    CUDA_TRY(device, err, cudaMemsetAsync(device->scratch.memory, 0, bytes, device->stream));
    for (unsigned c = 0; c < channels; c++) {
        for (int k = 0; k < POWERS; k++) {
            ExactSum sum;
            memcpy(&sum, sums[c].limb[k], sizeof sum);
            exact_normalize(&sum);
            exact_merge(&out[c].power[k], &sum);
        }
        out[c].overflow += sums[c].overflow;
    }
    return IMGSTAT_OK;
}

struct CentralRead {
    const double *center;
    Central *out;
    uint64_t segments; /* since the last take */
};

static ImgstatResult read_central(void *context, CudaDevice *device, const ImagePro *images,
                                  const uint32_t *origin, size_t n, ImgstatError *err)
{
    CentralRead *read = (CentralRead *)context;
    (void)origin;
    for (size_t i = 0; i < n; i++) {
        const ImagePro *image = &images[i];
        ImagePro aligned;
        IMGSTAT_TRY(cuda_align(device, image, &aligned, err));
        const uint64_t per_row = (image->width + (uint64_t)PIECE - 1) / PIECE;
        for (uint32_t first = 0; first < image->height && per_row > 0;) {
            const uint64_t most =
                LAUNCH_SEGMENTS / per_row; /* a row has fewer segments than that */
            const uint32_t left = image->height - first;
            const uint32_t rows = left < most ? left : (uint32_t)most;
            const ImagePro band = image_band(&aligned, first, rows);
            WorkImage work;
            work_describe(&work, &band, PIECE, false, true);
            if (read->segments + work.tiles > LAUNCH_SEGMENTS) {
                IMGSTAT_TRY(take_sums(device, image->channels, read->out, err));
                read->segments = 0;
            }
            read->segments += work.tiles;
            for (unsigned c = 0; c < image->channels; c++)
                IMGSTAT_TRY(run_central(device, &work, c, read->center[c],
                                        (CentralSums *)device->scratch.memory + c, err));
            first += rows;
        }
    }
    return IMGSTAT_OK;
}

ImgstatResult cuda_central(Device *base, const ImagePro *image, const double *center, Central *out,
                           ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    CUDA_ENTER(device, err);
    const size_t bytes = image->channels * sizeof(CentralSums);
    IMGSTAT_TRY(cuda_reserve(device, &device->scratch, bytes, false, err));
    CUDA_TRY(device, err, cudaMemsetAsync(device->scratch.memory, 0, bytes, device->stream));
    CentralRead read = {center, out, 0};
    IMGSTAT_TRY(cuda_stage(device, image, 1, read_central, &read, err));
    return take_sums(device, image->channels, out, err);
}
