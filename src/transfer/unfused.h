/* SPDX-License-Identifier: MIT */
/* unfused.h: sums and products of doubles that no compiler contracts into one rounding; compiled by
 * C and by CUDA C. */
#ifndef IMGSTAT_TRANSFER_UNFUSED_H
#define IMGSTAT_TRANSFER_UNFUSED_H

#include "base/sample.h"

#ifdef __CUDA_ARCH__
IMGSTAT_INLINE double map_add(double a, double b)
{
    return __dadd_rn(a, b);
}
IMGSTAT_INLINE double map_sub(double a, double b)
{
    return __dadd_rn(a, -b);
}
IMGSTAT_INLINE double map_mul(double a, double b)
{
    return __dmul_rn(a, b);
}
#else /* C is compiled with -ffp-contract=off */
IMGSTAT_INLINE double map_add(double a, double b)
{
    return a + b;
}
IMGSTAT_INLINE double map_sub(double a, double b)
{
    return a - b;
}
IMGSTAT_INLINE double map_mul(double a, double b)
{
    return a * b;
}
#endif

#endif
