/* SPDX-License-Identifier: MIT */
/* cpu_features.c: asks the processor. Tests can choose a lower level. */
#include "base/cpu_features.h"

#include "base/error.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

const char *const cpu_features_level_names[PROCESSOR_LEVELS] = {"portable", "avx2", "avx512"};

static bool is_compiled(CpuLevel level)
{
#if defined(IMGSTAT_WITHOUT_AVX2)
    if (level == PROCESSOR_AVX2)
        return false;
#endif
#if defined(IMGSTAT_WITHOUT_AVX512)
    if (level == PROCESSOR_AVX512)
        return false;
#endif
    return level < PROCESSOR_LEVELS;
}

static bool processor_has(CpuLevel level)
{
#if defined(__x86_64__)
    switch (level) {
    case PROCESSOR_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               processor_has(PROCESSOR_AVX2);
    case PROCESSOR_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
               __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("popcnt");
    default:
        return true;
    }
#else
    return level == PROCESSOR_PORTABLE;
#endif
}

bool cpu_features_supports(CpuLevel level)
{
    return is_compiled(level) && processor_has(level);
}

static CpuLevel best_level(void)
{
    int level = PROCESSOR_LEVELS - 1;
    while (!cpu_features_supports((CpuLevel)level))
        level--;
    return (CpuLevel)level;
}

ImgstatResult cpu_features_choose(CpuLevel *out, ImgstatError *err)
{
    const char *const wanted = getenv("IMGSTAT_CPU");
    int level = 0;
    *out = best_level();
    if (!wanted || !*wanted)
        return IMGSTAT_OK;
    while (level < PROCESSOR_LEVELS && strcmp(wanted, cpu_features_level_names[level]) != 0)
        level++;
    if (level == PROCESSOR_LEVELS)
        return error_set(err, IMGSTAT_ERR_ARG, "IMGSTAT_CPU=%s: not one of portable, avx2, avx512",
                         wanted);
    if (!is_compiled((CpuLevel)level))
        return error_set(err, IMGSTAT_ERR_DEVICE, "IMGSTAT_CPU=%s: this build has no loops for it",
                         wanted);
    if (!processor_has((CpuLevel)level))
        return error_set(err, IMGSTAT_ERR_DEVICE,
                         "IMGSTAT_CPU=%s: this processor does not support it", wanted);
    *out = (CpuLevel)level;
    return IMGSTAT_OK;
}

CpuLevel cpu_features_level(void)
{
    static _Atomic int known = -1;
    int level = atomic_load_explicit(&known, memory_order_relaxed);
    if (level < 0) { /* threads that get here at the same time find the same level */
        CpuLevel chosen;
        (void)cpu_features_choose(&chosen, NULL);
        level = (int)chosen;
        atomic_store_explicit(&known, level, memory_order_relaxed);
    }
    return (CpuLevel)level;
}
