/* SPDX-License-Identifier: MIT */
/* luma.h: Rec. 709 luma and the scaling of a colour to a new luma; compiled by C and CUDA C.
 * docs/transforms.md explains the rules. */
#ifndef IMGSTAT_TRANSFER_LUMA_H
#define IMGSTAT_TRANSFER_LUMA_H

#include "transfer/map.h"

/* 0.2126, 0.7152 and 0.0722 in 65,536ths. They are rounded so that their sum is 65,536: the luma of
 * gray v is v. */
enum { LUMA_RED = 13933, LUMA_GREEN = 46871, LUMA_BLUE = 4732, LUMA_SHIFT = 16 };

/* Luma in 65,536ths, below 2^32, from the order keys of integers of at most 16 bits. */
IMGSTAT_INLINE uint32_t luma_fine(uint32_t r, uint32_t g, uint32_t b)
{
    return r * (uint32_t)LUMA_RED + g * (uint32_t)LUMA_GREEN + b * (uint32_t)LUMA_BLUE;
}

/* The key of the luma, rounded half up. 65535 * 65536 + 32768 < 2^32. */
IMGSTAT_INLINE uint32_t luma_key(uint32_t r, uint32_t g, uint32_t b)
{
    return (luma_fine(r, g, b) + (1u << (LUMA_SHIFT - 1))) >> LUMA_SHIFT;
}

/* Luma of wide and floating samples, given as values; products and sums in this order. Weights
 * below 1, so that no sum exceeds the largest double. */
IMGSTAT_INLINE double luma_value(double r, double g, double b)
{
    const double one = 1.0 / 65536.0;
    const double rg = map_add(map_mul(r, LUMA_RED * one), map_mul(g, LUMA_GREEN * one));
    return map_add(rg, map_mul(b, LUMA_BLUE * one));
}

/* The key of the luma of a pixel with these keys, which are those of defined samples. */
IMGSTAT_INLINE uint64_t luma_of_keys(ImgstatSample sample, const uint64_t key[3])
{
    if (sample_bits(sample) <= 16 && !sample_is_float(sample))
        return luma_key((uint32_t)key[0], (uint32_t)key[1], (uint32_t)key[2]);
    return map_key(sample, luma_value(map_value(sample, key[0]), map_value(sample, key[1]),
                                      map_value(sample, key[2])));
}

/* Divides: out = from * numerator / denominator, rounded half to even, at most 65,535. most: the
 * largest of the three products, at most 2^48. */
#ifdef __CUDA_ARCH__
/* A GPU divides slowly, so one reciprocal serves all three. The four roundings of floats err by
 * less than 2^-21, so a quotient is off by at most 1, and the exact remainder corrects it. */
IMGSTAT_INLINE void luma_quotients(const uint32_t from[3], uint64_t numerator, uint64_t denominator,
                                   uint64_t most, uint32_t out[3])
{
    const float inverse = __frcp_rn((float)denominator);
    if (most <= 255u * 255u * 65536u && denominator <= 255u * 65536u) { /* 8 bits: fits 32 */
        const uint32_t d = (uint32_t)denominator;
        for (int i = 0; i < 3; i++) {
            const uint32_t n = (uint32_t)numerator * from[i];
            uint32_t q = (uint32_t)((float)n * inverse);
            q -= q * d > n;
            q += n - q * d >= d;
            const uint32_t remainder = n - q * d, rest = d - remainder;
            out[i] = q + (remainder > rest || (remainder == rest && (q & 1)));
        }
        return;
    }
    for (int i = 0; i < 3; i++) {
        const uint64_t n = numerator * from[i];
        uint64_t q = (uint32_t)((float)n * inverse);
        q -= q * denominator > n;
        q += n - q * denominator >= denominator;
        out[i] = (uint32_t)ratio_finish(q, n - q * denominator, denominator);
    }
}
#else
IMGSTAT_INLINE void luma_quotients(const uint32_t from[3], uint64_t numerator, uint64_t denominator,
                                   uint64_t most, uint32_t out[3])
{
    if (most <= UINT32_MAX && denominator <= UINT32_MAX) { /* a cheaper division */
        for (int i = 0; i < 3; i++)
            out[i] = ratio_even32((uint32_t)(numerator * from[i]), (uint32_t)denominator);
        return;
    }
    for (int i = 0; i < 3; i++)
        out[i] = (uint32_t)ratio_even64(numerator * from[i], denominator);
}
#endif

/* Scales a colour (keys, at most 16 bits) to luma `to` of an output whose keys reach `top`. Every
 * component takes the factor to / luma, or the smaller one that brings the largest component to
 * `top`, so hue and saturation hold. Black becomes gray `to`. */
IMGSTAT_INLINE void luma_scale(const uint32_t from[3], uint32_t to, uint32_t top, uint32_t out[3])
{
    const uint64_t fine = luma_fine(from[0], from[1], from[2]);
    uint32_t largest = from[0] > from[1] ? from[0] : from[1];
    largest = from[2] > largest ? from[2] : largest;
    if (fine == 0) {
        out[0] = out[1] = out[2] = to;
        return;
    }
    uint64_t numerator = (uint64_t)to << LUMA_SHIFT; /* at most 2^32: times a component, 2^48 */
    uint64_t denominator = fine;
    /* 2^48 each: exact */
    if (numerator * largest > (uint64_t)top * denominator) {
        numerator = top;
        denominator = largest;
    }
    luma_quotients(from, numerator, denominator, numerator * largest, out);
}

/* ---- 8 bits: luma_scale without a division --------------------------------------------------- */

/* A quotient q = component * factor, below 256, is estimated as component * round(2^24 * factor),
 * where factor = min(to * (1 / luma), top / largest) is made of floats. Relative errors: that of
 * 1 / luma, a reciprocal within 2^-22 (an approximate one is within 1 ulp, 2^-23), and 2^-24 of
 * the product; top / largest is rounded, 2^-24; the smaller factor errs no more than both. The
 * integer adds half a unit times the component, so an estimate errs by less than
 * 255 * 1.25 * 2^-22 + 255 * 2^-25 = 5.5 / 65536. With half a unit and 6 / 65536 added it is at
 * least q + 1/2 and less than 12 / 65536 above that, so its upper 8 bits are q rounded unless the
 * 16 bits below them are at most LUMA_NEAR. Then q may be a tie or smaller by 1, which luma_settle
 * decides in integers. */
enum { LUMA_PLACES = 24, LUMA_MARGIN = 6, LUMA_NEAR = 2 * LUMA_MARGIN };
enum { LUMA_HALF = (1 << (LUMA_PLACES - 1)) + (LUMA_MARGIN << (LUMA_PLACES - 16)) };

/* to * 2^40, exact: the factor of 1 / luma. */
IMGSTAT_INLINE float luma_wanted(uint32_t to)
{
    return (float)to * 1099511627776.0f;
}

/* top / largest in 2^-24ths; any value for black. */
IMGSTAT_INLINE float luma_cap(uint32_t top, uint32_t largest)
{
    return (float)top * 16777216.0f / (float)(largest ? largest : 1u);
}

/* Corrects an estimate of numerator * component / denominator: its upper 8 bits become the quotient
 * rounded half to even. Twice the remainder of q - 1/2 is within 2^26, so 32 bits hold it. */
IMGSTAT_INLINE uint32_t luma_settle(uint32_t estimate, uint32_t component, uint32_t numerator,
                                    uint32_t denominator)
{
    const uint32_t q = estimate >> LUMA_PLACES;
    const int32_t beyond = (int32_t)(2 * numerator * component - (2 * q - 1) * denominator);
    return beyond < (int32_t)(q & 1) ? estimate - (1u << LUMA_PLACES) : estimate;
}

/* ---- 16 bits: luma_scale without a division -------------------------------------------------- */

/* A quotient q = component * factor, below 65536, is estimated as component * luma_ratio, which is
 * in 2^-32nds, in 64 bits. inverse: 1 / denominator within 2^-22. Each of the two steps errs by
 * less than 1.5 * 2^-22 of its dividend, the second one also by half a unit; the remainder of the
 * first is within 1.5 * 2^-22 of the ratio, and 2^-16. So an estimate errs by less than
 * 2^16 * (1.5 * 2^-22)^2 + 1.5 * 2^-22 + 2^16 * 2^-33 < 1.1 * 2^-17. With half a unit and 1.5 *
 * 2^-17 added, its upper 32 bits are q rounded unless the lower ones are at most LUMA_NEAR16. */
enum { LUMA_MARGIN16 = 3 << 14, LUMA_NEAR16 = 2 * LUMA_MARGIN16 };
static const uint32_t LUMA_HALF16 = (1u << 31) + LUMA_MARGIN16;

/* numerator / denominator, below 65536, in 2^-32nds. */
IMGSTAT_INLINE uint64_t luma_ratio(uint32_t numerator, uint32_t denominator, float inverse)
{
    const uint32_t upper = (uint32_t)((float)numerator * inverse * 65536.0f);
    const int64_t rest = (int64_t)(((uint64_t)numerator << 16) - (uint64_t)upper * denominator);
    const int32_t lower = (int32_t)rintf((float)rest * inverse * 65536.0f);
    return ((uint64_t)upper << 16) + (uint64_t)(int64_t)lower;
}

/* Corrects q, the upper bits of its estimate: the quotient rounded half to even. */
IMGSTAT_INLINE uint32_t luma_settle16(uint32_t q, uint32_t component, uint32_t numerator,
                                      uint32_t denominator)
{
    const int64_t beyond = (int64_t)(2 * (uint64_t)numerator * component) -
                           (2 * (int64_t)q - 1) * (int64_t)denominator;
    return beyond < (int64_t)(q & 1) ? q - 1 : q;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* The value of black: the lowest of signed integers, else 0. */
IMGSTAT_INLINE double luma_black(ImgstatSample sample)
{
    return sample_is_signed(sample) ? map_value(sample, 0) : 0.0;
}

/* luma_scale for values. black, to_black: the values of black of the two types, from which colours
 * are scaled. Where the luma is not above black, the difference of the lumas is added instead. */
IMGSTAT_INLINE void luma_scale_value(const double from[3], double black, double to, double top,
                                     double to_black, double out[3])
{
    const double above[3] = {map_sub(from[0], black), map_sub(from[1], black),
                             map_sub(from[2], black)};
    const double luma = luma_value(above[0], above[1], above[2]), wanted = map_sub(to, to_black);
    double largest = above[0] > above[1] ? above[0] : above[1];
    largest = above[2] > largest ? above[2] : largest;
    if (!(luma > 0.0)) {
        for (int i = 0; i < 3; i++)
            out[i] = map_add(map_add(above[i], map_sub(wanted, luma)), to_black);
        return;
    }
    double factor = wanted / luma;
    if (map_mul(factor, largest) > map_sub(top, to_black))
        factor = map_sub(top, to_black) / largest;
    for (int i = 0; i < 3; i++)
        out[i] = map_add(map_mul(above[i], factor), to_black);
}

#endif
