/* SPDX-License-Identifier: MIT */
/* processor.c: what the processor has, or less, as tests want it. */
#include "processor.h"

#include "result.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

const char *const processor_level_names[PROCESSOR_LEVELS] = {"portable", "avx2", "avx512"};

bool processor_supports(ProcessorLevel level)
{
#if defined(__x86_64__)
    switch (level) {
    case PROCESSOR_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               processor_supports(PROCESSOR_AVX2);
    case PROCESSOR_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
               __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
    default:
        return true;
    }
#else
    return level == PROCESSOR_PORTABLE;
#endif
}

bool processor_slow_bytes(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_is("amd");
#else
    return false;
#endif
}

static ProcessorLevel best_level(void)
{
    int level = PROCESSOR_LEVELS - 1;
    while (!processor_supports((ProcessorLevel)level))
        level--;
    return (ProcessorLevel)level;
}

ImgstatResult processor_choose(ProcessorLevel *out, ImgstatError *err)
{
    const char *const wanted = getenv("IMGSTAT_CPU");
    int level = 0;
    *out = best_level();
    if (!wanted || !*wanted)
        return IMGSTAT_OK;
    while (level < PROCESSOR_LEVELS && strcmp(wanted, processor_level_names[level]) != 0)
        level++;
    if (level == PROCESSOR_LEVELS)
        return error_set(err, IMGSTAT_ERR_ARG, "IMGSTAT_CPU=%s: not one of portable, avx2, avx512",
                         wanted);
    if (!processor_supports((ProcessorLevel)level))
        return error_set(err, IMGSTAT_ERR_DEVICE,
                         "IMGSTAT_CPU=%s: this processor does not support it", wanted);
    *out = (ProcessorLevel)level;
    return IMGSTAT_OK;
}

ProcessorLevel processor_level(void)
{
    static _Atomic int known = -1;
    int level = atomic_load_explicit(&known, memory_order_relaxed);
    if (level < 0) { /* threads that come here at once find the same */
        ProcessorLevel chosen;
        (void)processor_choose(&chosen, NULL);
        level = (int)chosen;
        atomic_store_explicit(&known, level, memory_order_relaxed);
    }
    return (ProcessorLevel)level;
}
