/* SPDX-License-Identifier: MIT */
/* apply_float.c: straight lines, knots and power laws over 32-bit floats, in values where
 * transfer_math.h works in order keys: the same operations in the same order, without branches, so
 * that compilers make vectors of them. Keys order floats as their values do; only the two zeros
 * share one, and it is +0 that a key becomes. */
#include "apply.h"

#include "processor.h"

/* What becomes of any output, as values. */
typedef struct Finish {
    double lo, hi;
    float stays;            /* nodata of the input; NaN: none */
    float avoided, instead; /* nodata of the output, and what is written in its place; NaN: none */
} Finish;

/* A map, and what its keys are as values. */
typedef struct Line {
    double from, divisor;  /* the unit is (x - from) / divisor; */
    double factor, offset; /* the output unit * factor + offset */
    float black, white;    /* at and beyond which there is lo or hi; infinite: never */
    double least, most;    /* units likewise */
    Finish finish;
} Line;

static float value_of(uint64_t key)
{
    const uint32_t raw = (uint32_t)sample_raw(IMGSTAT_F32, key);
    float value;
    memcpy(&value, &raw, sizeof value);
    return value;
}

static Finish finish_of(const Map *map)
{
    const MapRange *const to = &map->to;
    Finish finish = {.lo = to->lo,
                     .hi = to->hi,
                     .stays = map->has_nodata ? value_of(map->nodata_key) : NAN,
                     .avoided = NAN};
    if (to->has_nodata) {
        finish.avoided = value_of(to->nodata_key);
        finish.instead = value_of(range_avoid(to, to->nodata_key));
    }
    return finish;
}

static inline double limited(const Finish *f, double y)
{
    y = y > f->lo ? y : f->lo;
    return y < f->hi ? y : f->hi;
}

/* The output of the sample x with the bits `raw` that a map sends to y, within the limits. */
static inline uint32_t finished(const Finish *f, uint32_t raw, float x, double y)
{
    uint32_t made;
    float value = (float)y + 0.0f; /* never -0 */
    value = value == f->avoided ? f->instead : value;
    memcpy(&made, &value, sizeof made);
    const uint32_t magnitude = raw & 0x7FFFFFFFu; /* undefined from infinity on */
    return magnitude >= 0x7F800000u || x == f->stays ? raw : made;
}

static bool is_float_map(const Map *map)
{
    return map->from == IMGSTAT_F32 && map->to.sample == IMGSTAT_F32 && !map->passthrough;
}

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

/* ---- Knots --------------------------------------------------------------------------------- */

typedef struct KnotValues {
    float before, at;
} KnotValues;

/* The keys from the first knot to the last are cut into stretches of equal length. A sample's
 * stretch says how many knots lie below it; how many of the stretch's own do, halving finds, in as
 * many steps for each sample. */
struct KnotTable {
    Finish finish;
    uint32_t first, shift; /* key of the first knot; of a stretch, 2^shift keys */
    uint32_t half;         /* the first step: the largest power of two up to the most knots that
                              a stretch has */
    float least, most;     /* first and last knot */
    uint32_t *below;       /* a stretch each */
    float *x;              /* a knot each, then infinities for steps beyond */
    KnotValues *y;         /* a knot each, then one that continues the last */
};

/* Stretches and what else depends on the knots' places; the sizes of the arrays. */
static uint32_t stretches_of(const Map *map, KnotTable *table)
{
    enum { STRETCHES = 4 }; /* a knot, at most; one more */
    const uint32_t n = map->n_knots;
    const uint64_t span = map->knots[n - 1].key - map->knots[0].key;
    uint64_t stretch = 0;
    uint32_t most = 1, begin = 0;
    table->first = (uint32_t)map->knots[0].key;
    while (span >> table->shift >= (uint64_t)n * STRETCHES)
        table->shift++;
    for (uint32_t k = 0; k < n; k++) {
        const uint64_t own = (map->knots[k].key - table->first) >> table->shift;
        begin = own == stretch ? begin : k;
        stretch = own;
        most = k + 1 - begin > most ? k + 1 - begin : most;
    }
    for (table->half = 1; 2 * table->half <= most;)
        table->half *= 2;
    return (uint32_t)stretch + 1;
}

KnotTable *knot_table_create(Scratch *scratch, const Map *map)
{
    if (map->kind != MAP_KNOTS || !is_float_map(map))
        return NULL;
    KnotTable made = {.finish = finish_of(map)};
    const uint32_t n = map->n_knots, stretches = stretches_of(map, &made);
    const size_t steps = 2 * (size_t)made.half;
    KnotTable *const table = scratch_take(scratch, sizeof *table + (n + 1) * sizeof *table->y +
                                                       (n + steps) * sizeof *table->x +
                                                       stretches * sizeof *table->below);
    if (!table)
        return NULL;
    *table = made;
    table->y = (KnotValues *)(void *)(table + 1);
    table->x = (float *)(void *)(table->y + n + 1);
    table->below = (uint32_t *)(void *)(table->x + n + steps);
    uint32_t stretch = 0;
    for (uint32_t k = 0; k < n; k++) {
        const MapKnot *const knot = &map->knots[k];
        while (stretch <= (knot->key - table->first) >> table->shift)
            table->below[stretch++] = k;
        table->x[k] = value_of(knot->key);
        table->y[k] = (KnotValues){value_of(knot->before), value_of(knot->at)};
    }
    for (size_t i = 0; i < steps; i++)
        table->x[n + i] = INFINITY;
    table->least = table->x[0];
    table->most = table->x[n - 1];
    table->y[n] = (KnotValues){table->y[n - 1].at, table->y[n - 1].at};
    return table;
}

void knot_table_destroy(KnotTable *table)
{
    scratch_give(table);
}

enum { KNOT_BLOCK = 512 };

/* How many knots are at or below each of n samples that lie between the first and the last. */
static void count_knots(const KnotTable *table, const float *x, size_t n, uint32_t *count)
{
    for (size_t i = 0; i < n; i++) {
        int32_t raw;
        memcpy(&raw, &x[i], sizeof raw);
        const uint32_t key = (uint32_t)raw ^ ((uint32_t)(raw >> 31) | 0x80000000u);
        count[i] = table->below[(key - table->first) >> table->shift];
    }
    for (uint32_t half = table->half; half > 0; half /= 2)
        for (size_t i = 0; i < n; i++)
            count[i] += table->x[count[i] + half - 1] <= x[i] ? half : 0;
}

void apply_knots(const KnotTable *table, const unsigned char *from, size_t step, size_t n,
                 unsigned char *to)
{
    const Finish finish = table->finish;
    uint32_t raw[KNOT_BLOCK], count[KNOT_BLOCK];
    float x[KNOT_BLOCK];
    for (size_t first = 0; first < n; first += KNOT_BLOCK) {
        const size_t here = n - first < KNOT_BLOCK ? n - first : KNOT_BLOCK;
        for (size_t i = 0; i < here; i++) {
            memcpy(&raw[i], from + (first + i) * step * sizeof raw[i], sizeof raw[i]);
            memcpy(&x[i], &raw[i], sizeof x[i]);
            x[i] = x[i] > table->least ? x[i] : table->least; /* NaN: the first knot */
            x[i] = (x[i] < table->most ? x[i] : table->most) + 0.0f;
        }
        count_knots(table, x, here, count);
        for (size_t i = 0; i < here; i++) {
            const size_t right = count[i];
            float own;
            memcpy(&own, &raw[i], sizeof own);
            const double a = (double)table->x[right - 1], at = (double)table->y[right - 1].at;
            const double part =
                map_sub((double)x[i], a) / map_sub((double)table->x[right], a); /* 0 at a knot */
            const double rise = map_mul(map_sub((double)table->y[right].before, at), part);
            const uint32_t made =
                finished(&finish, raw[i], own, limited(&finish, map_add(at, rise)));
            memcpy(to + (first + i) * step * sizeof made, &made, sizeof made);
        }
    }
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
