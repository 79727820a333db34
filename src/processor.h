/* SPDX-License-Identifier: MIT */
/* processor.h: what loops that are compiled for several sets of instructions ask the processor. */
#ifndef IMGSTAT_PROCESSOR_H
#define IMGSTAT_PROCESSOR_H

#include <stdbool.h>

/* Vectors of 512 bits, of samples of every size, and shorter ones with their instructions. */
static inline bool processor_has_avx512(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

#endif
