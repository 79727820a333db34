/* SPDX-License-Identifier: MIT */
/* running_sum.h: turns differences into samples, for PNG's filter Sub and TIFF's predictor 2. */
#ifndef IMGSTAT_CODEC_RUNNING_SUM_H
#define IMGSTAT_CODEC_RUNNING_SUM_H

#include "base/cpu_features.h"
#include "base/isa.h"

typedef void RunningSum(uint8_t *row, size_t n, size_t word, size_t step);
extern RunningSum running_sum_portable, running_sum_avx2, running_sum_avx512;

/* Adds to each word of a row of n bytes all words before it in steps of `step` words. Words have
 * `word` bytes (1, 2, 4 or 8), in host byte order, at any address. */
static inline void running_sum(uint8_t *row, size_t n, size_t word, size_t step)
{
    static RunningSum *const of[] = ISA_TABLE(running_sum);
    of[cpu_features_level()](row, n, word, step);
}

#endif
