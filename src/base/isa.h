/* SPDX-License-Identifier: MIT */
/* isa.h: for source files that are compiled once per instruction set. CMakeLists.txt lists them and
 * defines IMGSTAT_ISA: portable, avx2 or avx512. base/cpu_features.h has these levels. */
#ifndef IMGSTAT_BASE_ISA_H
#define IMGSTAT_BASE_ISA_H

#define ISA_JOIN(name, isa)   name##_##isa
#define ISA_EXPAND(name, isa) ISA_JOIN(name, isa)

/* The name under which such a file exports `name`: name_portable, name_avx2 or name_avx512. */
#define ISA(name) ISA_EXPAND(name, IMGSTAT_ISA)

/* The initializer of an array by CpuLevel of what these files export as `name`. */
#if defined(__x86_64__)
#define ISA_TABLE(name)                             \
    {                                               \
        name##_portable, name##_avx2, name##_avx512 \
    }
#else
#define ISA_TABLE(name) \
    {                   \
        name##_portable \
    }
#endif

#endif
