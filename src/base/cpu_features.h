/* SPDX-License-Identifier: MIT */
/* cpu_features.h: the set of instructions that loops are chosen for. */
#ifndef IMGSTAT_BASE_CPU_FEATURES_H
#define IMGSTAT_BASE_CPU_FEATURES_H

#include "imgstat.h"

/* Each has what those before it have. */
typedef enum CpuLevel {
    PROCESSOR_PORTABLE,
    PROCESSOR_AVX2,   /* and BMI 1 and 2, FMA, POPCNT */
    PROCESSOR_AVX512, /* F, BW, DQ, VL: vectors of 512 bits, of samples of every size */
    PROCESSOR_LEVELS
} CpuLevel;

extern const char *const cpu_features_level_names[PROCESSOR_LEVELS];

/* Whether the processor has the instructions, and this build the loops. */
bool cpu_features_supports(CpuLevel level);
/* The best level that is supported, or the one that IMGSTAT_CPU in the environment names;
 * IMGSTAT_ERR_ARG if it names none, IMGSTAT_ERR_DEVICE one that is not supported. */
ImgstatResult cpu_features_choose(CpuLevel *out, ImgstatError *err);
/* What that was when it was first asked for here; the best level where it failed. */
CpuLevel cpu_features_level(void);

#endif
