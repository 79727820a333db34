/* SPDX-License-Identifier: MIT */
/* map_linear.c: straight lines over samples that doubles hold, and ratios of 32-bit integers to
 * integers, without branches, so that compilers vectorize them. */
#include "cpu/loops_isa.h"
#include "cpu/map_blocks.h"

/* ---- Any types, by blocks of doubles --------------------------------------------------------- */

/* What maps a block. */
typedef struct Plan {
    const Map *map;
    Line line;
    Ratio ratio;
    bool is_line;
    OutputType output;
} Plan;

/* Maps the values of a block. Returns whether some samples pass. `sample` and `by_products` are
 * constants where this is inlined. */
FORCE_INLINE bool map_values(const Line *line, ImgstatSample sample, bool by_products,
                             const double *x, size_t n, double *y)
{
    const Line l = *line;
    uint32_t leaves = 0;
    for (size_t i = 0; i < n; i++) {
        leaves |= value_is_passthrough(x[i], l.passthrough) ? 1 : 0;
        y[i] = line_value(&l, sample, by_products, x[i]);
    }
    return leaves != 0;
}

FORCE_INLINE bool map_ratios(const Ratio *ratio, const double *x, size_t n, double *y)
{
    const Ratio r = *ratio;
    uint32_t leaves = 0;
    for (size_t i = 0; i < n; i++) {
        leaves |= x[i] == r.passthrough ? 1 : 0;
        y[i] = ratio_value(&r, x[i]);
    }
    return leaves != 0;
}

FORCE_INLINE bool map_block(const Plan *plan, const double *x, size_t n, double *y)
{
    if (!plan->is_line)
        return map_ratios(&plan->ratio, x, n, y);
    if (plan->map->from == IMGSTAT_F64)
        return map_values(&plan->line, IMGSTAT_F64, false, x, n, y);
    if (HAS_FMA && plan->line.inverse != 0.0)
        return map_values(&plan->line, IMGSTAT_F32, true, x, n, y);
    return map_values(&plan->line, IMGSTAT_F32, false, x, n, y);
}

/* `bytes`, of a sample, and `step` are constants where this is inlined. */
FORCE_INLINE void store_same(size_t bytes, uint64_t raw, double nodata, const double *x, size_t n,
                             unsigned char *to, size_t step)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char *const at = to + i * step * bytes;
        store_raw(at, bytes, x[i] == nodata ? raw : load_raw(at, bytes));
    }
}

/* Stores the integers that pass: all are nodata, and become the same. */
FORCE_INLINE void store_nodata(const Map *map, double nodata, const double *x, size_t n,
                               unsigned char *to, size_t step)
{
    const uint64_t raw =
        map_raw(map, map->from, map->to.sample, sample_raw(map->from, map->nodata_key));
    switch (sample_bits(map->to.sample)) {
    case 8:
        store_same(1, raw, nodata, x, n, to, step);
        return;
    case 16:
        store_same(2, raw, nodata, x, n, to, step);
        return;
    case 32:
        store_same(4, raw, nodata, x, n, to, step);
        return;
    default:
        store_same(8, raw, nodata, x, n, to, step);
    }
}

FORCE_INLINE void map_blocks(const Plan *plan, const unsigned char *from, size_t step, size_t n,
                             unsigned char *to)
{
    const ImgstatSample in = plan->map->from, out = plan->map->to.sample;
    const size_t in_step = step * sample_bits(in) / 8, out_step = step * sample_bits(out) / 8;
    const double nodata = plan->is_line ? plan->line.passthrough : plan->ratio.passthrough;
    const bool floats = sample_is_float(in);
    double x[BLOCK], y[BLOCK];
    Passthrough passthrough;
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t here = n - first < BLOCK ? n - first : BLOCK;
        const unsigned char *const source = from + first * in_step;
        unsigned char *const target = to + first * out_step;
        load_block(in, source, step, here, x);
        const bool some_stay = map_block(plan, x, here, y);
        if (some_stay && floats)
            find_passthrough(plan->map, nodata, source, step, x, here, &passthrough);
        store_block(plan->output, y, here, target, step);
        if (some_stay && floats)
            store_passthrough(plan->map, &passthrough, target, step);
        else if (some_stay)
            store_nodata(plan->map, nodata, x, here, target, step);
    }
}

bool ISA(map_linear)(const Map *map, const unsigned char *from, size_t step, size_t n,
                     unsigned char *to)
{
    Plan plan = {.map = map};
    plan.is_line = line_of(map, &plan.line);
    if (!plan.is_line && !(HAS_FMA && ratio_of(map, &plan.ratio)))
        return false;
    plan.output = output_type_of(&map->to);
    if (step == 1)
        map_blocks(&plan, from, 1, n, to);
    else
        map_blocks(&plan, from, step, n, to);
    return true;
}
