/* SPDX-License-Identifier: MIT */
/* bench_check.h: what results must be, from serial loops and from kernels too plain to be wrong. */
#ifndef IMGSTAT_BENCH_CHECK_H
#define IMGSTAT_BENCH_CHECK_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_MAX_CHANNELS = 4 };

/* What a record must hold of one channel. */
typedef struct ChannelTruth {
    uint64_t n;
    double min, max, sum, sum2; /* sum exact below 2^53, sum2 nearly */
} ChannelTruth;

typedef struct Truth {
    ChannelTruth channel[BENCH_MAX_CHANNELS];
    uint64_t *bins; /* channels * n_bins, on the host; NULL for wide types */
    size_t n_bins;
    double serial_ms; /* the serial loop on the first serial_bytes */
    size_t serial_bytes;
} Truth;

/* Of the input in slot 0. The plain kernel is itself checked against the serial loop on the first
 * megabytes. False after a report. */
bool truth_create(Bench *bench, const BenchCase *c, Truth *truth);
void truth_release(Truth *truth);

/* Prefix sums: true if every out[i] continues the one before it by the right element of in. */
bool scan_is_right(Bench *bench, ImgstatSample sample, const void *in, const void *out, size_t n,
                   bool inclusive);

#ifdef __cplusplus
}
#endif
#endif
