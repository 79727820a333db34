/* SPDX-License-Identifier: MIT */
/* half.h: conversion between binary16 bits and doubles; compiled by C and by CUDA C. */
#ifndef IMGSTAT_BASE_HALF_H
#define IMGSTAT_BASE_HALF_H

#include "base/sample.h"

/* Returns the exact value of the binary16 number with the bits `raw`. */
IMGSTAT_INLINE double half_value(uint32_t raw)
{
    const uint32_t exponent = (raw >> 10) & 31u, fraction = raw & 1023u;
    const double sign = (raw & 0x8000u) ? -1.0 : 1.0;
    if (exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * (double)fraction * (1.0 / 16777216.0);
    const uint64_t bits = (uint64_t)(exponent + 1008u) << 52; /* 1023 - 15 */
    double power;
    memcpy(&power, &bits, sizeof power);
    return sign * power * (1.0 + (double)fraction * (1.0 / 1024.0));
}

/* Returns the bits of the binary16 number nearest to a finite double, rounded once, half to even.
 */
IMGSTAT_INLINE uint32_t half_raw(double value)
{
    const double magnitude = fabs(value);
    const uint32_t sign = signbit(value) ? 0x8000u : 0u;
    if (magnitude >= 65520.0)
        return sign | 0x7C00u;
    if (magnitude < 6.103515625e-05) /* below 2^-14: steps of 2^-24 */
        return sign | (uint32_t)rint(magnitude * 16777216.0);
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    const uint64_t kept = bits >> 42, lost = bits & (((uint64_t)1 << 42) - 1);
    const uint64_t tie = (uint64_t)1 << 41;
    const uint64_t up = lost > tie || (lost == tie && (kept & 1));
    return sign | (uint32_t)(kept + up - ((uint64_t)1008 << 10));
}

#endif
