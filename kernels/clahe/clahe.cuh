/* SPDX-License-Identifier: MIT */
/* clahe/clahe.cuh: adaptive equalization in device memory, and what is launched for it. */
#ifndef IMGSTAT_KERNELS_CLAHE_CLAHE_CUH
#define IMGSTAT_KERNELS_CLAHE_CLAHE_CUH

#include "maps/apply.cuh"

extern "C" {
#include "transfer/clahe.h"
}

struct ClaheSide {
    uint32_t length, tiles, tile, padded; /* as ClaheAxis */
    const ClaheBlend *blend;
    const float *weight;
    const double *part;
};

/* A ClahePage in device memory. Instances (a channel each, or luma) differ in their tables alone.
 */
struct ClaheWork {
    uint32_t like;
    ImgstatSample from, to;
    uint32_t n, luma, channels;
    int32_t alpha;
    uint32_t has_nodata;
    uint64_t nodata_key;
    uint64_t nano;
    uint32_t bins, entries; /* counters a tile; keys of a sample */
    uint32_t by_key;        /* default, samples of 8 bits: shares are by key, not by node */
    ClaheSide x, y;
    MapRange range, colours;     /* of what is mapped; luma: then of the colours */
    const uint32_t *unchanged;   /* n */
    const uint32_t *position;    /* n * entries */
    const uint32_t *passthrough; /* entries: output bits of a sample that stays, */
    const uint32_t *rescale;     /* and of alpha, or where the mask is 0 */
    uint64_t *counts;            /* n * tiles * bins */
    uint32_t *share;             /* the same */
    uint32_t *observed;          /* n * 2: smallest and largest gray, like skimage */
};

/* What mapping takes. */
struct ClaheMapping {
    ClaheWork work;
    Holes holes;
};

/* A band in device memory. */
struct ClaheBand {
    ApplyPixels pixels; /* not made one long row */
    uint32_t first_row;
};

/* Enqueue on the device's stream; images are in device memory and not empty. */
ImgstatResult launch_clahe_count(CudaDevice *device, const ClaheWork *work, const ImagePro *band,
                                 ImgstatError *err);
ImgstatResult launch_clahe_tables(CudaDevice *device, const ClaheWork *work, ImgstatError *err);
ImgstatResult launch_clahe_observe(CudaDevice *device, const ClaheWork *work, const ImagePro *band,
                                   ImgstatError *err);
ImgstatResult launch_clahe_map(CudaDevice *device, const ClaheMapping *mapping,
                               const ImagePro *from, const ImagePro *to, ImgstatError *err);

#endif
