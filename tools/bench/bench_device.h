/* SPDX-License-Identifier: MIT */
/* bench_device.h: rows of imgstat's own CUDA device, through the table that programs use. */
#ifndef IMGSTAT_BENCH_DEVICE_H
#define IMGSTAT_BENCH_DEVICE_H

#include "bench_check.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens the library's device, whose stream everything then uses; without one compiled in, its rows
 * are left out. */
void bench_device_open(Bench *bench);
void bench_device_close(Bench *bench);

void bench_device_record(Bench *bench, const BenchCase *c, const Truth *truth);
void bench_device_scan(Bench *bench, const BenchCase *c);

/* The same work by others: bench_record_cub.cu, bench_record_npp.cu. */
void bench_cub_record(Bench *bench, const BenchCase *c, const Truth *truth);
void bench_npp_record(Bench *bench, const BenchCase *c, const Truth *truth);

#ifdef __cplusplus
}
#endif
#endif
