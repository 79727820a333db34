/* SPDX-License-Identifier: MIT */
/* power.h: powers of numbers from 0 to 1 from operations that every device rounds alike; compiled
 * by C and by CUDA C. */
#ifndef IMGSTAT_TRANSFER_POWER_H
#define IMGSTAT_TRANSFER_POWER_H

#include "transfer/unfused.h"

/* Unrolls a short loop whose bounds are constants; nvcc does it by itself. */
#ifdef __CUDACC__
#define POWER_UNROLL
#else
#define POWER_UNROLL _Pragma("GCC unroll 32")
#endif

/* log2 of x^g as high + low. */
typedef struct PowerLog {
    double high, low;
} PowerLog;

/* The logarithm of (2^exponent m)^g; m from the root of 1/2 to that of 2. */
IMGSTAT_INLINE PowerLog power_log(double m, double exponent, double g)
{
    /* log m = 2 atanh s, s = (m - 1) / (m + 1), |s| < 0.172; low is the error of s */
    const double top = m - 1.0; /* exact */
    const double bottom = m + 1.0;
    const double s = top / bottom;
    const double bottom_low = (m - (bottom - 1.0)); /* error of the sum m + 1 */
    const double s_low = (fma(-s, bottom, top) - map_mul(s, bottom_low)) / bottom;
    const double z = map_mul(s, s);
    double series = 1.0 / 23.0;
    POWER_UNROLL
    for (int k = 21; k >= 3; k -= 2)
        series = fma(series, z, 1.0 / (double)k);
    const double tail = fma(map_mul(map_mul(s, z), series), 1.0, s_low); /* log m = 2 (s + tail) */
    /* log2 x = exponent + 2 (s + tail) / ln 2, as high + low */
    const double c = 2.8853900817779268, c_low = 4.0710547481862066e-17; /* 2 / ln 2 */
    const double main_part = map_mul(s, c);
    const double main_low = map_add(fma(s, c, -main_part), fma(s, c_low, map_mul(tail, c)));
    const double high = map_add(exponent, main_part);
    const double low = map_add(map_sub(main_part, map_sub(high, exponent)), main_low);
    PowerLog log;
    log.high = map_mul(g, high);
    log.low = map_add(fma(g, high, -log.high), map_mul(g, low));
    return log;
}

/* 2^(log - whole), where `whole` is log.high, rounded. */
IMGSTAT_INLINE double power_fraction(PowerLog log, double whole)
{
    const double t = map_mul(map_add(map_sub(log.high, whole), log.low), 0.69314718055994531);
    double e = 1.0;
    POWER_UNROLL
    for (int k = 18; k >= 1; k--)
        e = fma(map_mul(e, t), 1.0 / (double)k, 1.0);
    return e;
}

/* x^g within 1e-15; 0 <= x <= 1, g > 0. The pow of a library differs between devices. */
IMGSTAT_INLINE double map_power(double x, double g)
{
    if (!(x > 0.0))
        return 0.0;
    if (x >= 1.0 || g == 1.0)
        return x >= 1.0 ? 1.0 : x;
    int exponent = 0;
    uint64_t bits;
    if (x < 2.2250738585072014e-308) { /* subnormal: */
        x *= 18014398509481984.0;      /* 2^54 */
        exponent = -54;
    }
    memcpy(&bits, &x, sizeof bits);
    exponent += (int)(bits >> 52) - 1023;
    bits = (bits & (((uint64_t)1 << 52) - 1)) | ((uint64_t)1023 << 52);
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    const PowerLog log = power_log(m, (double)exponent, g);
    if (log.high < -1080.0)
        return 0.0;
    const double n = rint(log.high);
    double e = power_fraction(log, n);
    int scale = (int)n; /* -1080 .. 0 */
    if (scale < -1000) {
        e *= 9.332636185032189e-302; /* 2^-1000 */
        scale += 1000;
    }
    const uint64_t power = (uint64_t)(scale + 1023) << 52;
    double factor;
    memcpy(&factor, &power, sizeof factor);
    return map_mul(e, factor);
}

#endif
