/* SPDX-License-Identifier: MIT */
/* isa.h: for source files that are compiled once per instruction set. CMakeLists.txt lists them and
 * defines IMGSTAT_ISA: portable, avx2 or avx512. base/cpu_features.h has these
 * levels. A build for one processor lacks some: IMGSTAT_WITHOUT_AVX2, IMGSTAT_WITHOUT_AVX512. */
#ifndef IMGSTAT_BASE_ISA_H
#define IMGSTAT_BASE_ISA_H

#define ISA_JOIN(name, isa)   name##_##isa
#define ISA_EXPAND(name, isa) ISA_JOIN(name, isa)

/* The name under which such a file exports `name`: name_portable, name_avx2 or name_avx512. */
#define ISA(name) ISA_EXPAND(name, IMGSTAT_ISA)

#if defined(IMGSTAT_WITHOUT_AVX2)
#define ISA_AVX2(name) name##_portable
#else
#define ISA_AVX2(name) name##_avx2
#endif
#if defined(IMGSTAT_WITHOUT_AVX512)
#define ISA_AVX512(name) name##_portable
#else
#define ISA_AVX512(name) name##_avx512
#endif

/* The initializer of an array by CpuLevel of what these files export as `name`. A level
 * that the build lacks is never chosen; its element is the portable one. */
#if defined(__x86_64__)
#define ISA_TABLE(name)                                   \
    {                                                     \
        name##_portable, ISA_AVX2(name), ISA_AVX512(name) \
    }
#else
#define ISA_TABLE(name) \
    {                   \
        name##_portable \
    }
#endif

#endif
