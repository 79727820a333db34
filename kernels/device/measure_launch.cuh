/* SPDX-License-Identifier: MIT */
/* device/measure_launch.cuh: images of one kind, described and launched together. */
#ifndef IMGSTAT_KERNELS_DEVICE_MEASURE_LAUNCH_CUH
#define IMGSTAT_KERNELS_DEVICE_MEASURE_LAUNCH_CUH

#include "device/measure.cuh"

/* What the images of one launch have in common. */
struct Kind {
    ImgstatSample sample;
    uint16_t channels; /* of the images */
    bool plain, bins;  /* bins: the records of wide samples have them */
};

/* record: NULL for what does not depend on it. */
Kind kind_of(const ImagePro *image, const DeviceRecord *record);
bool same_kind(const Kind &a, const Kind &b);

bool is_wide_float(ImgstatSample sample);

/* Bytes. */
size_t sample_size(ImgstatSample sample);

/* All rows begin on a boundary of so many bytes, a power of two. */
bool rows_aligned(const ImagePro *image, size_t bytes);

/* Pixels of a tile, and whether plain tiles are counted in bytes from a 16-byte boundary. */
uint64_t tile_size(const Kind &kind, bool *bytes);

/* Where a launch is ordered and what it works with. */
struct LaunchPlace {
    cudaStream_t stream;
    QueueMemory *queue;
    void *state; /* state_bytes; NULL: the device's own, which grows */
};

/* What n images of a launch need. */
size_t state_bytes(const Kind &kind, size_t n);

/* Cuts n described images of a kind into items, and measures them. distinct: no two of them share
 * a record. */
ImgstatResult launch_images(CudaDevice *device, const LaunchPlace &place, const Kind &kind,
                            WorkImage *images, size_t n, bool distinct, ImgstatError *err);

/* Measures n images that are like the model but for their places, if they are not too many;
 * otherwise *done is false, and nothing was done. */
ImgstatResult launch_alike(CudaDevice *device, const LaunchPlace &place, const Kind &kind,
                           const WorkImage *model, const WorkPlace *places, size_t n, bool distinct,
                           bool *done, ImgstatError *err);

/* The same of a series, with room for n places in the device's memory; the records follow each
 * other, record_bytes each. */
ImgstatResult launch_series(CudaDevice *device, const LaunchPlace &place, const Kind &kind,
                            const WorkImage *first, const DeviceSeries *series, size_t record_bytes,
                            WorkPlace *places, bool *done, ImgstatError *err);

#endif
