/* SPDX-License-Identifier: MIT */
/* apply_float.c: straight lines over 32-bit floats, in values where transfer_math.h works in order
 * keys: the same operations in the same order, without branches, so that compilers make vectors of
 * them. Keys order floats as their values do; only the two zeros share one, and it is +0 that a key
 * becomes. */
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
