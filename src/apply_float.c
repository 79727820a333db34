/* SPDX-License-Identifier: MIT */
/* apply_float.c: straight lines and power laws over 32-bit floats, in values where
 * transfer_math.h works in order keys: the same operations in the same order, without branches, so
 * that compilers make vectors of them. Keys order floats as their values do; only the two zeros
 * share one, and it is +0 that a key becomes. */
#include "apply_float.h"

#include "processor.h"

/* A map, and what its keys are as values. */
typedef struct Line {
    double from, divisor;  /* the unit is (x - from) / divisor; */
    double factor, offset; /* the output unit * factor + offset */
    float black, white;    /* at and beyond which there is lo or hi; infinite: never */
    double least, most;    /* units likewise */
    Finish finish;
} Line;

/* ---- Straight lines ------------------------------------------------------------------------ */

/* False for maps that are no straight line. */
static bool line_of(const Map *map, Line *line)
{
    const MapRange *const to = &map->to;
    *line = (Line){.black = -INFINITY, .white = INFINITY, .least = -INFINITY, .most = INFINITY};
    if (!is_float_map(map))
        return false;
    line->finish = finish_of(map);
    if (map->kind == MAP_LINEAR && map->divisor > 0.0 && map->factor > 0.0) {
        line->from = map->center;
        line->divisor = map->divisor;
        line->factor = map->factor;
        line->offset = map->offset;
        return true;
    }
    if (map->kind != MAP_AFFINE || map->black >= map->white)
        return false;
    line->black = value_of(map->black);
    line->white = value_of(map->white);
    line->from = (double)line->black;
    line->divisor = map_sub((double)line->white, (double)line->black);
    line->factor = map_sub(to->hi, to->lo);
    line->offset = to->lo;
    line->least = 0.0;
    line->most = 1.0;
    return true;
}

/* `step` is a constant where this is inlined. */
static inline __attribute__((always_inline)) void
map_line(const Line *line, const unsigned char *from, size_t step, size_t n, unsigned char *to)
{
    const Line l = *line;
    for (size_t i = 0; i < n; i++) {
        uint32_t raw, made;
        float x;
        memcpy(&raw, from + i * step * sizeof raw, sizeof raw);
        memcpy(&x, &raw, sizeof x);
        const double unit = map_sub((double)x, l.from) / l.divisor;
        double y = limited(&l.finish, map_add(map_mul(unit, l.factor), l.offset));
        y = unit > l.least ? y : l.finish.lo;
        y = unit < l.most ? y : l.finish.hi;
        y = x > l.black ? y : l.finish.lo;
        y = x < l.white ? y : l.finish.hi;
        made = finished(&l.finish, raw, x, y);
        memcpy(to + i * step * sizeof made, &made, sizeof made);
    }
}

static inline __attribute__((always_inline)) void
map_steps(const Line *line, const unsigned char *from, size_t step, size_t n, unsigned char *to)
{
    if (step == 1)
        map_line(line, from, 1, n, to);
    else
        map_line(line, from, step, n, to);
}

#if defined(__x86_64__)
PROCESSOR_VECTORS("avx2", "256")
static void line_avx2(const Line *line, const unsigned char *from, size_t step, size_t n,
                      unsigned char *to)
{
    map_steps(line, from, step, n, to);
}

PROCESSOR_VECTORS("avx512f,avx512bw,avx512dq,avx512vl", "512")
static void line_avx512(const Line *line, const unsigned char *from, size_t step, size_t n,
                        unsigned char *to)
{
    map_steps(line, from, step, n, to);
}
#endif

bool apply_line(const Map *map, const unsigned char *from, size_t step, size_t n, unsigned char *to)
{
    Line line;
    if (!line_of(map, &line))
        return false;
#if defined(__x86_64__)
    if (processor_level() >= PROCESSOR_AVX512) {
        line_avx512(&line, from, step, n, to);
        return true;
    }
    if (processor_level() >= PROCESSOR_AVX2) {
        line_avx2(&line, from, step, n, to);
        return true;
    }
#endif
    map_steps(&line, from, step, n, to);
    return true;
}

/* ---- Power law ----------------------------------------------------------------------------- */

/* Where processors have a fused multiply-add; else keys do. */
#if defined(__x86_64__)

#define BODY static inline __attribute__((always_inline))

/* map_power, the same operations, for x from 2^-1022 to below 1 and g that is not 1, without
 * branches. *log2: of the power, below -1080 where that is 0. */
BODY double power_of(double x, double g, double *log2)
{
    const double integer = 4503599627370496.0; /* 2^52: the bits of what is added to it */
    const uint64_t fraction = ((uint64_t)1 << 52) - 1, one = (uint64_t)1023 << 52;
    uint64_t bits, biased;
    double m, exponent;
    memcpy(&bits, &x, sizeof bits);
    memcpy(&biased, &integer, sizeof biased);
    biased |= bits >> 52;
    memcpy(&exponent, &biased, sizeof exponent);
    exponent -= integer + 1023.0;
    bits = (bits & fraction) | one;
    memcpy(&m, &bits, sizeof m);
    const bool above = m > 1.4142135623730951;
    m *= above ? 0.5 : 1.0;
    exponent += above ? 1.0 : 0.0;
    const double top = m - 1.0, bottom = m + 1.0, s = top / bottom;
    const double bottom_low = m - (bottom - 1.0);
    const double s_low = (fma(-s, bottom, top) - map_mul(s, bottom_low)) / bottom;
    const double z = map_mul(s, s);
    double series = 1.0 / 23.0;
#pragma GCC unroll 32
    for (int k = 21; k >= 3; k -= 2)
        series = fma(series, z, 1.0 / (double)k);
    const double tail = fma(map_mul(map_mul(s, z), series), 1.0, s_low);
    const double c = 2.8853900817779268, c_low = 4.0710547481862066e-17;
    const double main_part = map_mul(s, c);
    const double main_low = map_add(fma(s, c, -main_part), fma(s, c_low, map_mul(tail, c)));
    const double high = map_add(exponent, main_part);
    const double low = map_add(map_sub(main_part, map_sub(high, exponent)), main_low);
    const double y = map_mul(g, high), y_low = map_add(fma(g, high, -y), map_mul(g, low));
    const double n = rint(y), t = map_mul(map_add(map_sub(y, n), y_low), 0.69314718055994531);
    double e = 1.0;
#pragma GCC unroll 32
    for (int k = 18; k >= 1; k--)
        e = fma(map_mul(e, t), 1.0 / (double)k, 1.0);
    const bool far = n < -1000.0;
    e *= far ? 9.332636185032189e-302 : 1.0;                    /* 2^-1000 */
    const double scale = n + (far ? 2023.0 : 1023.0) + integer; /* the biased exponent's bits */
    double factor;
    memcpy(&bits, &scale, sizeof bits);
    bits <<= 52;
    memcpy(&factor, &bits, sizeof factor);
    *log2 = y;
    return map_mul(e, factor);
}

BODY void power_row(const Map *map, const unsigned char *from, size_t step, size_t n,
                    unsigned char *to)
{
    const Finish finish = finish_of(map);
    const double black = map_value(map->from, map->black), gamma = map->factor;
    const double span = map_sub(map_value(map->from, map->white), black);
    const double lo = finish.lo, hi = finish.hi, width = map_sub(hi, lo);
    for (size_t i = 0; i < n; i++) {
        uint32_t raw;
        float x;
        memcpy(&raw, from + i * step * sizeof raw, sizeof raw);
        memcpy(&x, &raw, sizeof x);
        const double unit = map_sub((double)x, black) / span; /* 0, or beyond 2^-149 / 2^129 */
        double log2;
        const double t = power_of(unit, gamma, &log2);
        double y = limited(&finish, map_add(map_mul(t, width), lo));
        y = t > 0.0 ? y : lo;
        y = t >= 1.0 ? hi : y;
        y = log2 < -1080.0 ? lo : y;
        y = unit > 0.0 ? y : lo;
        y = unit >= 1.0 ? hi : y;
        const uint32_t made = finished(&finish, raw, x, y);
        memcpy(to + i * step * sizeof made, &made, sizeof made);
    }
}

__attribute__((target("avx2,fma"))) void apply_power_avx2(const Map *map, const unsigned char *from,
                                                          size_t step, size_t n, unsigned char *to)
{
    if (step == 1)
        power_row(map, from, 1, n, to);
    else
        power_row(map, from, step, n, to);
}

__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma"))) void
apply_power_avx512(const Map *map, const unsigned char *from, size_t step, size_t n,
                   unsigned char *to)
{
    if (step == 1)
        power_row(map, from, 1, n, to);
    else
        power_row(map, from, step, n, to);
}

#endif

static ApplyPower *apply_power_best(void)
{
#if defined(__x86_64__)
    if (processor_level() >= PROCESSOR_AVX512)
        return apply_power_avx512;
    if (processor_level() >= PROCESSOR_AVX2)
        return apply_power_avx2;
#endif
    return NULL;
}

bool apply_power(const Map *map, const unsigned char *from, size_t step, size_t n,
                 unsigned char *to)
{
    ApplyPower *const best = apply_power_best();
    if (!best || map->kind != MAP_POWER || !is_float_map(map) || map->factor == 1.0)
        return false;
    best(map, from, step, n, to);
    return true;
}
