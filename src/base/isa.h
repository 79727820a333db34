/* SPDX-License-Identifier: MIT */
/* isa.h: source files that are compiled once per instruction set (the list is in CMakeLists.txt).
 * CMake defines IMGSTAT_ISA for them: portable, avx2 or avx512, as the levels of cpu_features.h are
 * called. A build for one processor lacks levels: IMGSTAT_WITHOUT_AVX2, IMGSTAT_WITHOUT_AVX512. */
#ifndef IMGSTAT_BASE_ISA_H
#define IMGSTAT_BASE_ISA_H

#define ISA_JOIN(name, isa)   name##_##isa
#define ISA_EXPAND(name, isa) ISA_JOIN(name, isa)

/* What such a file exports under a name: name_portable, name_avx2 ... */
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

/* The initializer of an array by CpuLevel: what each of them exports under the name. No level that
 * the build lacks is chosen (cpu_features.h); its element is the portable one. */
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
