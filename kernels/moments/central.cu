/* SPDX-License-Identifier: MIT */
/* moments/central.cu: power sums about a center, segment by segment (docs/float-sums.md). */
#include "common/dispatch.cuh"
#include "common/tuning.cuh"
#include "common/wide_sample.cuh"
#include "device/measure.cuh"
#include "transfer/map.h"

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
 *   Idea      A warp keeps the 128 lanes of a segment in registers; the four sums of a segment are
 *             split into limbs and added in shared memory as integers.
 *   Work      8 double operations a sample.
 *   Memory    reads n samples once.
 *   Launch    blocks of 256, four an SM; warps take segments in a fixed order.
 *   Requires  tiles of the image are segments of rows; samples aligned. SAMPLE: F32, F64, or U32
 *             and U64 for all integers of the width.
 *   Result    limbs added to sums, not normalized.
 */
template <int SAMPLE>
static __global__ void __launch_bounds__(THREADS, CENTRAL_BLOCKS)
    central_sums(const __grid_constant__ WorkImage image, unsigned channel, double center,
                 CentralSums *sums)
{
    typedef RawOf<SAMPLE> Raw;
    __shared__ CentralSums block;
    const unsigned lane = threadIdx.x % 32;
    const bool whole =
        !WideType<SAMPLE>::FLOAT && sizeof(Raw) == 8 && center_is_whole(image.sample, center);
    const uint64_t middle = whole ? map_key(image.sample, center) : 0;
    unsigned long long *words = (unsigned long long *)&block, *to = (unsigned long long *)sums;
    for (unsigned i = threadIdx.x; i < sizeof block / 8; i += THREADS)
        words[i] = 0;
    __syncthreads();

    for (uint64_t tile = blockIdx.x * WARPS + threadIdx.x / 32; tile < image.tiles;
         tile += (uint64_t)gridDim.x * WARPS) {
        const RowSegment segment = tile_segment(image, tile, sizeof(Raw));
        const Raw *samples = (const Raw *)segment.samples + channel;
        const uint8_t *mask = segment.mask;
        const unsigned n = segment.n;
        double power[POWERS][4] = {{0}};
        for (unsigned x0 = lane; x0 < n; x0 += PIECE_LANES) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const unsigned x = x0 + 32 * i;
                if (x >= n || (mask && !mask[x]))
                    continue;
                const Raw raw = samples[(size_t)x * image.channels];
                const uint64_t key = wide_key<SAMPLE>(image, raw);
                if (!key_valid(image, (ImgstatSample)SAMPLE, key))
                    continue;
                const double d =
                    whole ? key_distance(key, middle) : wide_double<SAMPLE>(image, raw) - center;
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

static ImgstatResult launch_central(CudaDevice *device, const WorkImage &image, unsigned channel,
                                    double center, CentralSums *sums, ImgstatError *err)
{
    const unsigned blocks = cuda_blocks(device, (image.tiles + WARPS - 1) / WARPS, CENTRAL_BLOCKS);
    assert(channel < image.channels && blocks > 0 && image.tiles <= LAUNCH_SEGMENTS);
    return dispatch_unsigned(image.sample, [&](auto type) {
        return cuda_launch(device, device->stream, "central_sums",
                           central_sums<decltype(type)::value>, blocks, THREADS, 0, err, image,
                           channel, center, sums);
    });
}

/* Adds the sums so far to the caller's, and empties those on the device. */
static ImgstatResult fetch_sums(CudaDevice *device, unsigned channels, Central *out,
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

ImgstatResult cuda_central(CudaDevice *device, const ImagePro *image, const double *center,
                           Central *out, ImgstatError *err)
{
    if (sample_is_narrow(image->sample))
        return error_set(err, IMGSTAT_ERR_ARG,
                         "power sums of samples of at most 16 bits follow from their bins");
    const size_t bytes = image->channels * sizeof(CentralSums);
    IMGSTAT_TRY(cuda_reserve(device, &device->scratch, bytes, false, err));
    CUDA_TRY(device, err, cudaMemsetAsync(device->scratch.memory, 0, bytes, device->stream));
    uint64_t segments = 0; /* in the sums since they were last fetched */
    const auto add = [&](const ImagePro &band) {
        ImagePro aligned;
        IMGSTAT_TRY(cuda_align(device, &band, &aligned, err));
        const uint64_t per_row = (band.width + (uint64_t)PIECE - 1) / PIECE;
        for (uint32_t first = 0; first < band.height && per_row > 0;) {
            const uint64_t most = LAUNCH_SEGMENTS / per_row; /* a row has fewer segments */
            const uint32_t left = band.height - first;
            const uint32_t rows = left < most ? left : (uint32_t)most;
            const ImagePro part = image_band(&aligned, first, rows);
            WorkImage work;
            work_describe(&work, &part, PIECE, false, true);
            if (segments + work.tiles > LAUNCH_SEGMENTS) {
                IMGSTAT_TRY(fetch_sums(device, band.channels, out, err));
                segments = 0;
            }
            segments += work.tiles;
            for (unsigned c = 0; c < band.channels; c++)
                IMGSTAT_TRY(launch_central(device, work, c, center[c],
                                           (CentralSums *)device->scratch.memory + c, err));
            first += rows;
        }
        return IMGSTAT_OK;
    };
    IMGSTAT_TRY(cuda_stage_bands(device, image, add, err));
    return fetch_sums(device, image->channels, out, err);
}
