/* SPDX-License-Identifier: MIT */
/* read.h: a further read of an image by the CPU. One task does all that a request asks of a
 * rectangle, while the rectangle is in the cache of a core. */
#ifndef IMGSTAT_CPU_READ_H
#define IMGSTAT_CPU_READ_H

#include "cpu/cpu.h"
#include "device/read_request.h"

/* What one of the counts or gathers of a request looks for in a channel of the image. */
typedef struct CpuWanted {
    uint16_t channel;
    uint8_t shift;           /* shift of the digit */
    const RangeCount *range; /* this or the next is set; if both are NULL, digits are counted */
    KeyGather *gather;
    uint64_t lo, hi; /* keys, both included; lo > hi: none */
    uint64_t *bins;  /* n_bins on the host */
    size_t n_bins;
    size_t tables; /* tables of n_bins in which a thread counts */
    size_t first;  /* index of its first counter among those of a thread */
} CpuWanted;

/* One read. */
typedef struct CpuRead {
    CpuDevice *device;
    const PixelSource *source;
    const ImagePro *image; /* of the source, or derived from one */
    PixelView view;        /* VIEW_EACH or VIEW_JOINT */
    const ReadRequest *request;
    CpuGrid grid;
    CpuWanted *wanted; /* digits, ranges, gathers */
    size_t n;
    bool local; /* counters are kept per thread */
    bool too_many;
} CpuRead;

/* cpu/read_counts.c: digits, ranges, gathers. */
ImgstatResult cpu_counts_begin(CpuRead *read, ImgstatError *err);
void cpu_counts_rect(CpuRead *read, const CpuRect *rect, unsigned thread);
ImgstatResult cpu_counts_end(CpuRead *read, ImgstatError *err);

/* cpu/read_moments.c */
void cpu_central_rect(const CpuRead *read, const CpuRect *rect, unsigned thread);

#endif
