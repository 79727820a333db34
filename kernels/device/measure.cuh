/* SPDX-License-Identifier: MIT */
/* device/measure.cuh: describing images for kernels. */
#ifndef IMGSTAT_KERNELS_DEVICE_MEASURE_CUH
#define IMGSTAT_KERNELS_DEVICE_MEASURE_CUH

#include "common/work_queue.cuh"

/* Describes an image in device memory, but for its record and items. tile: pixels, or if
 * tile_bytes bytes, of a tile; by_rows: tiles end with the rows even where rows have no gaps. */
void work_describe(WorkImage *out, const ImagePro *image, uint64_t tile, bool tile_bytes,
                   bool by_rows);

/* *out is the image, or a copy of it whose samples lie on their boundaries. */
ImgstatResult cuda_align(CudaDevice *device, const ImagePro *image, ImagePro *out,
                         ImgstatError *err);

/* Rows, if there are several, follow each other without gaps. */
bool image_is_flat(const ImagePro *image);

/* Adds an image of a wide type to the bins of its record, by the leading 16 bits of the keys. */
ImgstatResult cuda_count_bins(CudaDevice *device, const ImagePro *image, const DeviceRecord *record,
                              ImgstatError *err);
/* Counts all channels by the leading 16 bits of their keys in one read, and adds to `bins`. The
 * image must be one that cuda_can_count_leading accepts: few channels, no mask, rows on 16-byte
 * boundaries.
 */
bool cuda_can_count_leading(const ImagePro *image);
ImgstatResult cuda_count_leading(CudaDevice *device, const ImagePro *image, uint64_t *bins,
                                 ImgstatError *err);

/* cuda_count_leading of the 16 bits from `shift` on, of keys with a prefix; one channel. */
ImgstatResult cuda_count_prefixed(CudaDevice *device, const ImagePro *image, unsigned shift,
                                  uint64_t prefix, uint64_t *bins, ImgstatError *err);

/* Appends the valid keys of a channel to `keys`, which has room for `capacity` of them, each as
 * large as a sample, which is of 4 or 8 bytes; *found, in device memory, counts them. */
ImgstatResult cuda_append_keys(CudaDevice *device, const ImagePro *image, uint16_t channel,
                               uint64_t capacity, void *keys, unsigned long long *found,
                               ImgstatError *err);

#endif
