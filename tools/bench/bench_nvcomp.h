/* SPDX-License-Identifier: MIT */
/* bench_nvcomp.h: nvCOMP on the streams of bench_inflate.cu, where the build found it. */
#ifndef IMGSTAT_BENCH_NVCOMP_H
#define IMGSTAT_BENCH_NVCOMP_H

#include "bench.h"
#include "codec/inflate_streams.h"

/* The lists that nvCOMP takes instead of DeflatedStream, and its memory. */
typedef struct NvcompStreams NvcompStreams;

/* NULL: without nvCOMP, or after a failure that was reported. streams: in host memory. */
NvcompStreams *nvcomp_streams_create(Bench *bench, const DeflatedStream *streams, size_t n);
void nvcomp_streams_destroy(NvcompStreams *streams); /* accepts NULL */

/* Enqueues. verdicts: in device memory; become 0 where nvCOMP finds nothing wrong. */
cudaError_t nvcomp_inflate(Bench *bench, const NvcompStreams *streams, uint32_t *verdicts);

#endif
