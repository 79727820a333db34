/* SPDX-License-Identifier: MIT */
/* compiler.h: extensions of C compilers. */
#ifndef IMGSTAT_BASE_COMPILER_H
#define IMGSTAT_BASE_COMPILER_H

/* Compiles a function into each caller, where its constant arguments are known. */
#define FORCE_INLINE static inline __attribute__((always_inline))

/* The number of elements of an array; not for pointers. */
#define ARRAY_LEN(array) (sizeof(array) / sizeof *(array))

/* Precedes a loop in which no iteration reads what another one wrote. */
#ifdef __clang__
#define LOOP_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define LOOP_INDEPENDENT _Pragma("GCC ivdep")
#endif

/* Whether this file is compiled for a processor with fused multiply-adds. */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
enum { HAS_FMA = 1 };
#else
enum { HAS_FMA = 0 };
#endif

#endif
