/* SPDX-License-Identifier: MIT */
/* apply_power.c: power laws over 32-bit floats. Logarithms and exponentials to some 40 bits, with a
 * bound of how far they, and map_power, may be from the power; where one float is nearest to all
 * that lies within the bound, map_power comes to that float, too. Of some ten thousand samples one
 * is left, which map_power itself maps. */
#include "apply_float.h"

#include "processor.h"

#define BODY static inline __attribute__((always_inline))

enum { BLOCK = 128 };

/* The least logarithm that counts. No 32-bit range is wider than 2^129, so that what lies below
 * 2^-299 of it disappears beside any float, and beside 0. */
static const double least_log = -300.0;

/* A map's values. Limits are among them, so that compilers see no constants and make no branches of
 * them. */
typedef struct Power {
    Finish finish;
    double black, span, exponent, lo, width;
    double least, most; /* units: below all that are above 0, which begin at 2^-149 / 2^129; 1 */
    double least_log;
    double slack; /* twice what is lost where lo is added */
} Power;

/* A block of samples on its way. */
typedef struct Powers {
    uint32_t raw[BLOCK];
    double unit[BLOCK], above[BLOCK]; /* within the limits; 1 if it was above 0, else 0 */
    double log2[BLOCK];               /* of the power */
    float near[BLOCK];                /* the output, before the range limits it, */
    uint32_t open[BLOCK];             /* unless this is not 0 */
} Powers;

static Power power_of(const Map *map)
{
    Power p = {.finish = finish_of(map),
               .black = map_value(map->from, map->black),
               .exponent = map->factor,
               .least = 0x1p-290,
               .most = 1.0,
               .least_log = least_log};
    p.span = map_sub(map_value(map->from, map->white), p.black);
    p.lo = p.finish.lo;
    p.width = map_sub(p.finish.hi, p.lo);
    p.slack = fabs(p.lo) * 0x1p-51;
    return p;
}

/* a * b + c, rounded once or twice: the bound has room for both. `fused`: a constant where this is
 * inlined, true where there are such instructions. */
BODY double multiply_add(bool fused, double a, double b, double c)
{
    return fused ? fma(a, b, c) : a * b + c;
}

/* `step` is a constant where this is inlined. */
BODY void take_samples(const Power *p, const unsigned char *from, size_t step, size_t n, Powers *s)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t raw;
        memcpy(&raw, from + i * step * sizeof raw, sizeof raw);
        double unit = map_sub((double)value_of_raw(raw), p->black) / p->span;
        s->raw[i] = raw;
        s->above[i] = unit > 0.0 ? 1.0 : 0.0;
        unit = unit > p->least ? unit : p->least; /* NaN, too */
        s->unit[i] = unit < p->most ? unit : p->most;
    }
    for (size_t i = n; i < BLOCK; i++)
        s->unit[i] = s->above[i] = 1.0;
}

/* Bits of what is added to 2^52 stand in its own lowest ones. */
static const double whole_bits = 4503599627370496.0;

/* x = 2^exponent m, x normal and above 0, m from `root`, as bits, to below twice that. */
BODY double mantissa_of(double x, uint64_t root, double *exponent)
{
    const uint64_t fraction = ((uint64_t)1 << 52) - 1, one = (uint64_t)1023 << 52;
    uint64_t bits, biased;
    double m;
    memcpy(&bits, &x, sizeof bits);
    memcpy(&biased, &whole_bits, sizeof biased);
    bits += one - root;
    biased |= bits >> 52;
    memcpy(exponent, &biased, sizeof *exponent);
    bits = (bits & fraction) + root;
    memcpy(&m, &bits, sizeof m);
    *exponent -= whole_bits + 1023.0;
    return m;
}

/* log2 of 2^e m, with m from the root of 1/2 to that of 2, is e + a polynomial of z = s^2 times
 * s = (m - 1) / (m + 1): relatively 2^-45.09 off, e and the rest never having different signs, so
 * that their sum is no worse. (Minimax polynomials, by Remez' algorithm.) */
BODY void take_logarithms(const Power *p, bool fused, Powers *s)
{
    const uint64_t root = 0x3FE6A09E667F3BCD; /* of 1/2, as bits */
    for (size_t i = 0; i < BLOCK; i++) {
        double e;
        const double m = mantissa_of(s->unit[i], root, &e);
        const double ratio = (m - 1.0) / (m + 1.0), z = ratio * ratio, z2 = z * z;
        const double a = multiply_add(fused, z, 0.96179669411330659, 2.8853900817778499);
        const double b = multiply_add(fused, z, 0.41220925105347611, 0.57707794237680154);
        const double c = multiply_add(fused, z, 0.28289928145965199, 0.31990575510624353);
        const double factor =
            multiply_add(fused, z2 * z2, c, multiply_add(fused, z2, b, a)); /* shallow: fast */
        const double y = p->exponent * multiply_add(fused, ratio, factor, e);
        s->log2[i] = y > p->least_log ? y : p->least_log;
    }
}

/* 2^y = 2^n 2^f with a polynomial of f, from -1/2 to 1/2: relatively 2^-40.23 off. */
BODY void take_powers(const Power *p, bool fused, Powers *s)
{
    const double integer = 6755399441055744.0; /* 1.5 * 2^52: rounds, and the bits say to what */
    const uint64_t one = (uint64_t)1023 << 52;
    for (size_t i = 0; i < BLOCK; i++) {
        const double y = s->log2[i], whole = y + integer, f = y - (whole - integer);
        const double f2 = f * f, f4 = f2 * f2;
        uint64_t bits;
        double scale;
        memcpy(&bits, &whole, sizeof bits);
        bits = (bits << 52) + one;
        memcpy(&scale, &bits, sizeof scale);
        const double a = multiply_add(fused, f, 0.69314718054651436, 0.9999999999997623);
        const double b = multiply_add(fused, f, 0.05550410939341089, 0.24022650698880321);
        const double c = multiply_add(fused, f, 0.0013333452062791777, 0.0096181285428704102);
        const double d = multiply_add(fused, f, 1.5309737294734561e-05, 0.00015403851744514194);
        const double upper =
            multiply_add(fused, f4, 1.317585882142459e-06, multiply_add(fused, f2, d, c));
        const double power =
            multiply_add(fused, f4, upper, multiply_add(fused, f2, b, a)) * scale * s->above[i];
        /* What is off: |y| ln 2 2^-45.09 and 2^-40.23 of the power, its own roundings and those of
         * map_power (2^-47 for logarithms that count); all of that more than twice. */
        const double part = power * p->width, value = part + p->lo;
        const double bound =
            multiply_add(fused, part, multiply_add(fused, y, -0x1p-42, 0x1p-39), p->slack);
        const float least = (float)(value - bound), most = (float)(value + bound);
        s->near[i] = most;
        s->open[i] = least == most ? 0 : 1;
    }
}

/* Whether any is open. */
BODY uint32_t give_samples(const Finish *finish, const Powers *s, size_t step, size_t n,
                           unsigned char *to)
{
    uint32_t open = 0;
    for (size_t i = 0; i < n; i++) {
        const double value = limited(finish, (double)s->near[i]);
        const uint32_t made = finished(finish, s->raw[i], value_of_raw(s->raw[i]), value);
        memcpy(to + i * step * sizeof made, &made, sizeof made);
        open |= s->open[i];
    }
    return open;
}

/* map_power, the same operations, of n units from 2^-290 to 1, in their place; powers above 2^-300.
 * Without branches, so that compilers make vectors of it. */
BODY void map_powers(double g, double *unit, size_t n)
{
    const uint64_t above_root = 0x3FE6A09E667F3BCE; /* the next double */
    for (size_t i = 0; i < n; i++) {
        double exponent;
        const double m = mantissa_of(unit[i], above_root, &exponent);
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
        const double whole = rint(y);
        const double t = map_mul(map_add(map_sub(y, whole), y_low), 0.69314718055994531);
        double e = 1.0;
#pragma GCC unroll 32
        for (int k = 18; k >= 1; k--)
            e = fma(map_mul(e, t), 1.0 / (double)k, 1.0);
        const double scale = whole + 1023.0 + whole_bits; /* the biased exponent's bits */
        uint64_t bits;
        double factor;
        memcpy(&bits, &scale, sizeof bits);
        bits <<= 52;
        memcpy(&factor, &bits, sizeof factor);
        unit[i] = map_mul(e, factor);
    }
}

/* What the bound leaves open. Without fused multiply-adds keys do. */
BODY void give_exactly(const Map *map, const Power *p, bool fused, const Powers *s, size_t step,
                       size_t n, unsigned char *to)
{
    size_t open = 0;
    uint32_t at[BLOCK];
    double power[BLOCK];
    for (size_t i = 0; i < n; i++) {
        at[open] = (uint32_t)i;
        power[open] = s->unit[i];
        open += s->open[i];
    }
    if (fused)
        map_powers(p->exponent, power, open);
    for (size_t k = 0; k < open; k++) {
        const uint32_t raw = s->raw[at[k]];
        uint32_t made;
        if (fused) {
            const double value =
                power[k] >= 1.0 ? p->finish.hi : map_add(map_mul(power[k], p->width), p->lo);
            made = finished(&p->finish, raw, value_of_raw(raw), limited(&p->finish, value));
        } else
            made = (uint32_t)map_raw(map, IMGSTAT_F32, IMGSTAT_F32, raw);
        memcpy(to + at[k] * step * sizeof made, &made, sizeof made);
    }
}

BODY void power_row(const Map *map, bool fused, const unsigned char *from, size_t step, size_t n,
                    unsigned char *to)
{
    const Power power = power_of(map);
    Powers s;
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t here = n - first < BLOCK ? n - first : BLOCK;
        const size_t at = first * step * sizeof *s.raw;
        take_samples(&power, from + at, step, here, &s);
        take_logarithms(&power, fused, &s);
        take_powers(&power, fused, &s);
        if (give_samples(&power.finish, &s, step, here, to + at))
            give_exactly(map, &power, fused, &s, step, here, to + at);
    }
}

BODY void power_steps(const Map *map, bool fused, const unsigned char *from, size_t step, size_t n,
                      unsigned char *to)
{
    if (step == 1)
        power_row(map, fused, from, 1, n, to);
    else
        power_row(map, fused, from, step, n, to);
}

void apply_power_portable(const Map *map, const unsigned char *from, size_t step, size_t n,
                          unsigned char *to)
{
    power_steps(map, false, from, step, n, to);
}

#if defined(__x86_64__)
PROCESSOR_VECTORS("avx2,fma", "256")
void apply_power_avx2(const Map *map, const unsigned char *from, size_t step, size_t n,
                      unsigned char *to)
{
    power_steps(map, true, from, step, n, to);
}

PROCESSOR_VECTORS("avx512f,avx512bw,avx512dq,avx512vl,fma", "512")
void apply_power_avx512(const Map *map, const unsigned char *from, size_t step, size_t n,
                        unsigned char *to)
{
    power_steps(map, true, from, step, n, to);
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
    return apply_power_portable;
}

bool apply_power(const Map *map, const unsigned char *from, size_t step, size_t n,
                 unsigned char *to)
{
    if (map->kind != MAP_POWER || !is_float_map(map))
        return false;
    apply_power_best()(map, from, step, n, to);
    return true;
}
