/* SPDX-License-Identifier: MIT */
/* helper_level.h: a test by the loops for one set of instructions. */
#ifndef IMGSTAT_HELPER_LEVEL_H
#define IMGSTAT_HELPER_LEVEL_H

#include "base/cpu_features.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* First in a test, which is a process of its own. Skips it where the processor lacks them. */
static inline void use_processor_level(CpuLevel level)
{
    if (!cpu_features_supports(level))
        cr_skip_test("the processor has no %s", cpu_features_level_names[level]);
    setenv("IMGSTAT_CPU", cpu_features_level_names[level], 1);
    cr_assert_eq(cpu_features_level(), level);
}

#endif
