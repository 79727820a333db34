/* SPDX-License-Identifier: MIT */
/* count_summed.h: counting 16-bit words in 8-bit counters without looking whether one of them comes
 * round, which is a branch that is predicted wrong. Sums of the counters, before and after, tell:
 * each word adds one to them, or takes 255. */
#ifndef IMGSTAT_CPU_COUNT_SUMMED_H
#define IMGSTAT_CPU_COUNT_SUMMED_H

#include "cpu/loops.h"

/* Pixels that are counted between looks at the sums: at most. */
enum { SUMMED_PIXELS = 1 << 16 };

/* Extrema of a channel by order key. The first of each is among the `stretch` pixels from min_at or
 * max_at on, or among those that are left of them. */
typedef struct SummedExtrema {
    uint64_t min, max;
    size_t min_at, max_at, stretch;
} SummedExtrema;

/* Counts n samples of interleaved channels of 16-bit integers, and finds their extrema, if a sample
 * of them says that counters would seldom come round. False, and nothing counted, if it does not,
 * or if one came round. n / channels <= SUMMED_PIXELS. All instruction sets do the same, since one
 * counter a cycle is what they reach. */
bool cpu_measure_summed(ImgstatSample sample, const void *x, size_t n, unsigned channels,
                        const LoopWords *to, LoopChoice *choice, SummedExtrema *extrema);

/* After words have been counted without. */
void cpu_forget_sums(const LoopWords *to, unsigned channels);

#endif
