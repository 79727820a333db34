/* SPDX-License-Identifier: MIT */
/* isa.h: source files that are compiled once per instruction set (the list is in CMakeLists.txt).
 * CMake defines IMGSTAT_ISA for them: portable, avx2 or avx512, as the levels of cpu_features.h are
 * called. */
#ifndef IMGSTAT_BASE_ISA_H
#define IMGSTAT_BASE_ISA_H

#define ISA_JOIN(name, isa)   name##_##isa
#define ISA_EXPAND(name, isa) ISA_JOIN(name, isa)

/* What such a file exports under a name: name_portable, name_avx2 ... */
#define ISA(name) ISA_EXPAND(name, IMGSTAT_ISA)

/* The initializer of an array by CpuLevel: what each of them exports under the name. */
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
