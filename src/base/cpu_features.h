/* SPDX-License-Identifier: MIT */
/* cpu_features.h: the instruction set that loops are chosen by. */
#ifndef IMGSTAT_BASE_CPU_FEATURES_H
#define IMGSTAT_BASE_CPU_FEATURES_H

#include "imgstat.h"

/* Instruction sets. Each includes those before it. */
typedef enum CpuLevel {
    PROCESSOR_PORTABLE,
    PROCESSOR_AVX2,   /* with BMI 1 and 2, FMA, POPCNT */
    PROCESSOR_AVX512, /* F, BW, DQ, VL: vectors of 512 bits for samples of every size */
    PROCESSOR_LEVELS
} CpuLevel;

/* Names by level, as IMGSTAT_CPU has them. */
extern const char *const cpu_features_level_names[PROCESSOR_LEVELS];

/* Returns whether the processor has all instructions of a level, and this build its loops. */
bool cpu_features_supports(CpuLevel level);

/* Chooses the level that IMGSTAT_CPU in the environment names, else the best one supported. Fails
 * with IMGSTAT_ERR_ARG for an unknown name, and with IMGSTAT_ERR_DEVICE for a level that is not
 * supported; *out is the best level even then. */
ImgstatResult cpu_features_choose(CpuLevel *out, ImgstatError *err);

/* Returns the level that the first call in this process chose. Ignores a wrong IMGSTAT_CPU. */
CpuLevel cpu_features_level(void);

#endif
