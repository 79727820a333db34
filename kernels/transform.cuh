/* SPDX-License-Identifier: MIT */
/* transform.cuh: what turns counts into tables, and images small enough to be transformed at once.
 */
#ifndef IMGSTAT_TRANSFORM_CUH
#define IMGSTAT_TRANSFORM_CUH

#include "apply.cuh"

/* What turns counts into tables. */
struct Finish {
    const uint64_t *bins; /* of the record: channels * entries */
    uint64_t *cdf;        /* n_maps * 65,536, of types with so many bins */
    const Map *blank;     /* n_maps: all but what the counts tell */
    Map *maps;            /* the finished ones: what applying reads of them */
    uint32_t *by_key;
    unsigned char *by_raw;
    uint32_t from, to, n_maps;
    uint32_t channels; /* of the record */
    int32_t alpha;
    uint32_t joint; /* one map from the counts of all channels but alpha */
    uint32_t equalize;
    uint32_t has_nodata;
    uint64_t nodata_key;
    uint64_t nano_lo, nano_hi; /* what is cut at either end */
};

/* Counters that launches use by turns: each empties those of the next. Zero before the first.
 * Blocks share out the copies, as additions to the same place queue. */
enum { SMALL_COPIES = 4 };

struct SmallCounters {
    uint32_t counts[2][SMALL_COPIES][256];
    uint32_t turn;
};

/* Whether one launch can do it all (transform_small.cu): one map for all samples of 8 bits, which
 * fit the multiprocessors. Then it does, in the stream's order. */
bool transform_is_small(const CudaDevice *device, const Finish *finish, const ApplyPixels *pixels);
ImgstatResult launch_transform_small(CudaDevice *device, cudaStream_t stream, const Finish *finish,
                                     SmallCounters *counters, const ApplyPixels *pixels,
                                     ImgstatError *err);

#endif
