/* SPDX-License-Identifier: MIT */
/* maps/apply.cuh: what the kernels that apply a transfer share: the pixels of both images, the
 * transfer in device memory, samples that may lie anywhere. */
#ifndef IMGSTAT_KERNELS_MAPS_APPLY_CUH
#define IMGSTAT_KERNELS_MAPS_APPLY_CUH

#include "common/inline.cuh"
#include "common/tuning.cuh"
#include "device/cuda_device.h"

extern "C" {
#include "transfer/transfer.h"
}

enum { KEPT_MAPS = 2 }; /* rescale, passthrough */

/* A transfer in device memory. Narrow types have tables, which are n_maps and then that of
 * rescale. */
struct ApplyTransfer {
    const Map *maps;        /* n_maps, then rescale, then passthrough */
    const uint32_t *by_key; /* output bits by order key */
    const void *by_raw;     /* the same by the sample's bits, each as large as an output sample */
    const Map *host_maps;   /* n_maps, in the host's memory: of the call that launches */
    void *groups;           /* of knots (maps/knots.cu), those of each map group_pitch bytes on */
    size_t group_pitch;     /* 0: there are none */
    MapRange range;
    ImgstatSample from, to;
    uint32_t n_maps;
    uint32_t luma, copies; /* copies: transfer_copies */
};

/* Both images. Without gaps between rows and without a mask they are one long row. */
struct ApplyPixels {
    const unsigned char *from;
    unsigned char *to;
    const uint8_t *mask; /* NULL: none */
    uint64_t from_pitch, to_pitch, mask_pitch;
    uint64_t width, rows; /* pixels */
    uint32_t channels;
    int32_t alpha;
    uint32_t aligned; /* every sample of both lies on its boundary */
    uint32_t has_nodata;
    uint64_t nodata_key;
};

/* Which table or map serves a channel; n_maps stands for rescale. */
DEVICE uint32_t map_of_channel(uint32_t channel, int alpha, uint32_t n_maps)
{
    if ((int)channel == alpha)
        return n_maps;
    return n_maps > 1 ? channel - (alpha >= 0 && (int)channel > alpha) : 0;
}

/* Samples that may lie anywhere. Byte by byte is rare, and its loop is not unrolled: it stands in
 * every kernel several times. */
DEVICE uint64_t load_sample(const unsigned char *at, uint32_t bytes, bool aligned)
{
    if (bytes == 1)
        return *at;
    if (aligned)
        return bytes == 2   ? *(const uint16_t *)at
               : bytes == 4 ? *(const uint32_t *)at
                            : *(const uint64_t *)at;
    uint64_t raw = 0;
#pragma unroll 1
    for (uint32_t b = 0; b < bytes; b++)
        raw |= (uint64_t)at[b] << (8 * b);
    return raw;
}

DEVICE void store_sample(unsigned char *at, uint32_t bytes, uint64_t raw, bool aligned)
{
    if (bytes == 1)
        *at = (unsigned char)raw;
    else if (!aligned)
#pragma unroll 1
        for (uint32_t b = 0; b < bytes; b++)
            at[b] = (unsigned char)(raw >> (8 * b));
    else if (bytes == 2)
        *(uint16_t *)at = (uint16_t)raw;
    else if (bytes == 4)
        *(uint32_t *)at = (uint32_t)raw;
    else
        *(uint64_t *)at = raw;
}

/* a * b + c, for sure in one instruction: additions of shifted bytes would become more of what
 * picks them. */
DEVICE uint32_t multiply_add(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t sum;
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
    return sum;
}

static inline unsigned map_blocks(const CudaDevice *device, uint64_t threads)
{
    return cuda_blocks(device, (threads + MAP_THREADS - 1) / MAP_THREADS, MAP_BLOCKS);
}

/* Enqueue on a stream; nothing waits or allocates. */
ImgstatResult launch_apply_narrow(CudaDevice *device, cudaStream_t stream,
                                  const ApplyTransfer *transfer, const ApplyPixels *pixels,
                                  ImgstatError *err);
ImgstatResult launch_apply_wide(CudaDevice *device, cudaStream_t stream,
                                const ApplyTransfer *transfer, const ApplyPixels *pixels,
                                ImgstatError *err);
ImgstatResult launch_apply_luma(CudaDevice *device, cudaStream_t stream,
                                const ApplyTransfer *transfer, const ApplyPixels *pixels,
                                ImgstatError *err);
/* Luma of the pixels of `from`, rows without gaps, and (unless NULL) whether each has one. */
ImgstatResult launch_luma_plane(CudaDevice *device, cudaStream_t stream, ImgstatSample sample,
                                const ApplyPixels *pixels, unsigned char *luma,
                                unsigned char *valid, ImgstatError *err);
/* The planes that launch_luma_plane makes of an image, as an image of one channel. */
ImagePro luma_plane_image(const ImagePro *image, const unsigned char *luma,
                          const unsigned char *valid);
/* Whichever of the first three it is. */
ImgstatResult launch_apply(CudaDevice *device, cudaStream_t stream, const ApplyTransfer *transfer,
                           const ApplyPixels *pixels, ImgstatError *err);
/* maps/holes.cu: what undefined samples of a mapped image become. */
ImgstatResult launch_holes(CudaDevice *device, cudaStream_t stream, const Holes *holes,
                           ImgstatSample from, ImgstatSample to, const ApplyPixels *pixels,
                           ImgstatError *err);
/* Narrow types: fills by_raw from by_key. */
ImgstatResult launch_tables_by_raw(CudaDevice *device, cudaStream_t stream,
                                   const ApplyTransfer *transfer, ImgstatError *err);
/* maps/knots.cu: whether all maps have knots, which lie in groups, and applying them. */
bool knots_fit(const CudaDevice *device, const ApplyTransfer *transfer, const ApplyPixels *pixels);
ImgstatResult launch_apply_knots(CudaDevice *device, cudaStream_t stream,
                                 const ApplyTransfer *transfer, const ApplyPixels *pixels,
                                 ImgstatError *err);
/* Fills groups from the maps' knots; and the bytes that the groups of n_knots take. */
ImgstatResult launch_knot_groups(CudaDevice *device, cudaStream_t stream,
                                 const ApplyTransfer *transfer, ImgstatError *err);
size_t knot_group_bytes(ImgstatSample from, ImgstatSample to, uint32_t n_knots);
/* Calls `launch` with images in device memory that together are from and to, which are checked for
 * their place alone: as they are, or band by band where one is on the host, and then waits. */
typedef ImgstatResult (*ApplyLaunch)(const void *context, CudaDevice *device, const ImagePro *from,
                                     const ImagePro *to, ImgstatError *err);
ImgstatResult cuda_apply_images(CudaDevice *device, const ImagePro *from, const ImagePro *to,
                                ApplyLaunch launch, const void *context, ImgstatError *err);
/* from and to in device memory, checked. */
ApplyPixels apply_pixels(const ImagePro *from, int16_t alpha, const ImagePro *to);

#endif
