/* SPDX-License-Identifier: MIT */
/* map_power.c: power laws over samples that doubles hold. Logarithms and exponentials are computed
 * to some 40 bits, with a bound of the distance from the power and from map_power. If one output is
 * nearest to everything within the bound, map_power gives that output as well. About one of ten
 * thousand 32-bit floats remains, and all 64-bit floats: map_power itself maps these. */
#include "cpu/loops_isa.h"
#include "cpu/map_blocks.h"

/* Least logarithm that matters. No 32-bit range is wider than 2^129, so what lies below 2^-299 of
 * it is lost beside any output, and beside 0. */
static const double least_log = -300.0;

/* State of an output. */
enum {
    SETTLED,
    OPEN, /* map_powers finds it */
    TINY  /* its unit is below the inputs of map_powers */
};

/* Values of a map. Limits are variables, so that compilers see no constants and make no branches of
 * them. */
typedef struct Power {
    const Map *map;
    OutputType output;
    double nodata; /* nodata value, which passes; NaN: none */
    double black, span, exponent;
    double lo, hi, width; /* output range */
    double least, most;   /* units: below all of 32 bits that are above 0, which begin at
                             2^-149 / 2^129; 1 */
    double least_exact;   /* least unit whose power map_powers computes */
    double least_log;
    double slack; /* twice the error of adding lo */
} Power;

/* A block of samples in work. */
typedef struct Powers {
    double x[BLOCK];
    double unit[BLOCK], above[BLOCK]; /* unit, limited; above: 1 if it was above 0, else 0 */
    double log2[BLOCK];               /* logarithm of the power */
    double y[BLOCK];                  /* the output, */
    uint32_t open[BLOCK];             /* if SETTLED */
    bool some_stay, some_open;
    Passthrough passthrough;
} Powers;

static Power power_of(const Map *map)
{
    Power p = {.map = map,
               .output = output_type_of(&map->to),
               .nodata = nodata_of(map),
               .black = map_value(map->from, map->black),
               .exponent = map->factor,
               .least = 0x1p-290,
               .most = 1.0,
               .least_log = least_log};
    p.least_exact = exp2(-900.0 / p.exponent);
    p.span = map_sub(map_value(map->from, map->white), p.black);
    p.lo = map->to.lo;
    p.hi = map->to.hi;
    p.width = map_sub(p.hi, p.lo);
    p.slack = fabs(p.lo) * 0x1p-51;
    return p;
}

/* Returns a * b + c, rounded once or twice; the bound allows both. */
FORCE_INLINE double multiply_add(double a, double b, double c)
{
    return HAS_FMA ? fma(a, b, c) : a * b + c;
}

/* Converts values to units. */
FORCE_INLINE void find_units(const Power *p, size_t n, Powers *s)
{
    const double nodata = p->nodata, black = p->black, span = p->span;
    const double least = p->least, most = p->most;
    uint32_t passthrough = 0;
    for (size_t i = 0; i < n; i++) {
        const double unit = map_sub(s->x[i], black) / span;
        double within = unit > least ? unit : least; /* also for NaN */
        within = within < most ? within : most;
        passthrough |= value_is_passthrough(s->x[i], nodata) ? 1 : 0;
        s->above[i] = unit > 0.0 ? 1.0 : 0.0;
        s->open[i] = (uint32_t)(unit > 0.0) & (uint32_t)(unit < least) ? TINY : SETTLED;
        s->unit[i] = within;
    }
    for (size_t i = n; i < BLOCK; i++) {
        s->unit[i] = s->above[i] = 1.0;
        s->open[i] = SETTLED;
    }
    s->some_stay = passthrough != 0;
}

/* The lowest bits of 2^52 + x are those of the integer x. */
static const double whole_bits = 4503599627370496.0;

/* Splits a normal x > 0 into 2^exponent m, with m from the number of bits `root` to below twice
 * that. */
FORCE_INLINE double mantissa_of(double x, uint64_t root, double *exponent)
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

/* Computes log2 of 2^e m, with m between the roots of 1/2 and 2: e + s times a polynomial of z =
 * s^2, s = (m - 1) / (m + 1). The relative error is 2^-45.09; e and the rest never differ in sign,
 * so their sum is no worse. (Minimax polynomials, by the Remez algorithm.) */
FORCE_INLINE void find_logarithms(const Power *p, Powers *s)
{
    const uint64_t root = 0x3FE6A09E667F3BCD; /* root of 1/2, as bits */
    for (size_t i = 0; i < BLOCK; i++) {
        double e;
        const double m = mantissa_of(s->unit[i], root, &e);
        const double ratio = (m - 1.0) / (m + 1.0), z = ratio * ratio, z2 = z * z;
        const double a = multiply_add(z, 0.96179669411330659, 2.8853900817778499);
        const double b = multiply_add(z, 0.41220925105347611, 0.57707794237680154);
        const double c = multiply_add(z, 0.28289928145965199, 0.31990575510624353);
        const double factor = multiply_add(z2 * z2, c, multiply_add(z2, b, a)); /* shallow: fast */
        const double y = p->exponent * multiply_add(ratio, factor, e);
        s->log2[i] = y > p->least_log ? y : p->least_log;
    }
}

/* Computes 2^y = 2^n 2^f with a polynomial of f, -1/2 <= f <= 1/2; the relative error is 2^-40.23.
 * `to_float` is a constant where this is inlined: outputs are 32-bit floats, else integers. */
FORCE_INLINE void find_outputs(const Power *p, bool to_float, Powers *s)
{
    uint32_t any = 0;
    const double integer =
        6755399441055744.0; /* 1.5 * 2^52: adding it rounds, and the low bits hold the integer */
    const uint64_t one = (uint64_t)1023 << 52;
    for (size_t i = 0; i < BLOCK; i++) {
        const double y = s->log2[i], whole = y + integer, f = y - (whole - integer);
        const double f2 = f * f, f4 = f2 * f2;
        uint64_t bits;
        double scale;
        memcpy(&bits, &whole, sizeof bits);
        bits = (bits << 52) + one;
        memcpy(&scale, &bits, sizeof scale);
        const double a = multiply_add(f, 0.69314718054651436, 0.9999999999997623);
        const double b = multiply_add(f, 0.05550410939341089, 0.24022650698880321);
        const double c = multiply_add(f, 0.0013333452062791777, 0.0096181285428704102);
        const double d = multiply_add(f, 1.5309737294734561e-05, 0.00015403851744514194);
        const double upper = multiply_add(f4, 1.317585882142459e-06, multiply_add(f2, d, c));
        const double power = multiply_add(f4, upper, multiply_add(f2, b, a)) * scale * s->above[i];
        /* Error: |y| ln 2 2^-45.09 and 2^-40.23 of the power, the roundings here and those of
         * map_power (2^-47 for logarithms that matter); more than twice their sum. */
        const double part = power * p->width, value = part + p->lo;
        const double bound = multiply_add(part, multiply_add(y, -0x1p-42, 0x1p-39), p->slack);
        const double below = clamp_value(value - bound, p->lo, p->hi);
        const double beyond = clamp_value(value + bound, p->lo, p->hi);
        const double least = to_float ? (double)(float)below : rint(below);
        const double most = to_float ? (double)(float)beyond : rint(beyond);
        s->y[i] = most;
        s->open[i] |= least == most ? SETTLED : OPEN;
        any |= s->open[i];
    }
    s->some_open = any != 0;
}

/* Replaces n units from 2^-290 to 1 by map_power of them; powers are above 2^-300. Without
 * branches, so that compilers vectorize it. */
FORCE_INLINE void map_powers(double g, double *unit, size_t n)
{
    const uint64_t above_root = 0x3FE6A09E667F3BCE; /* the next double */
    for (size_t i = 0; i < n; i++) {
        double exponent;
        const double m = mantissa_of(unit[i], above_root, &exponent);
        const PowerLog log = power_log(m, exponent, g);
        const double whole = rint(log.high);
        const double scale = whole + 1023.0 + whole_bits; /* bits of the biased exponent */
        uint64_t bits;
        double factor;
        memcpy(&bits, &scale, sizeof bits);
        bits <<= 52;
        memcpy(&factor, &bits, sizeof factor);
        unit[i] = map_mul(power_fraction(log, whole), factor);
    }
}

/* Computes the outputs that the bound leaves open. */
FORCE_INLINE void find_exactly(const Power *p, size_t n, Powers *s)
{
    size_t open = 0;
    uint32_t at[BLOCK];
    double power[BLOCK];
    for (size_t i = 0; i < n; i++) {
        at[open] = (uint32_t)i;
        power[open] = s->unit[i];
        open += s->open[i] != SETTLED;
    }
    const bool together = HAS_FMA && p->exponent != 1.0; /* which changes nothing */
    if (together)
        map_powers(p->exponent, power, open);
    for (size_t k = 0; k < open; k++) {
        const size_t i = at[k];
        if (!together || s->open[i] & TINY)
            power[k] = map_power(map_sub(s->x[i], p->black) / p->span, p->exponent);
        double y = clamp_value(map_add(map_mul(power[k], p->width), p->lo), p->lo, p->hi);
        y = power[k] < 1.0 ? y : p->hi;
        s->y[i] = power[k] > 0.0 && s->above[i] > 0.0 ? y : p->lo;
    }
}

/* Computes the outputs of a block. */
FORCE_INLINE void find_powers(const Power *p, size_t n, Powers *s)
{
    find_units(p, n, s);
    if (p->output.sample == IMGSTAT_F64) {
        for (size_t i = 0; i < n; i++)
            s->open[i] |= s->unit[i] < p->least_exact ? TINY : OPEN;
        s->some_open = true;
    } else {
        find_logarithms(p, s);
        if (p->output.sample == IMGSTAT_F32)
            find_outputs(p, true, s);
        else
            find_outputs(p, false, s);
    }
    if (s->some_open)
        find_exactly(p, n, s);
}

/* `step` is a constant where this is inlined. */
FORCE_INLINE void power_row(const Map *map, const unsigned char *from, size_t step, size_t n,
                            unsigned char *to)
{
    const Power power = power_of(map);
    const size_t in = step * sample_bits(map->from) / 8;
    const size_t out = step * sample_bits(map->to.sample) / 8;
    Powers s;
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t here = n - first < BLOCK ? n - first : BLOCK;
        const unsigned char *const source = from + first * in;
        load_block(map->from, source, step, here, s.x);
        find_powers(&power, here, &s);
        if (s.some_stay)
            find_passthrough(map, power.nodata, source, step, s.x, here, &s.passthrough);
        store_block(power.output, s.y, here, to + first * out, step);
        if (s.some_stay)
            store_passthrough(map, &s.passthrough, to + first * out, step);
    }
}

void ISA(map_power)(const Map *map, const unsigned char *from, size_t step, size_t n,
                    unsigned char *to)
{
    if (step == 1)
        power_row(map, from, 1, n, to);
    else
        power_row(map, from, step, n, to);
}
