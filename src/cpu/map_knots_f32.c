/* SPDX-License-Identifier: MIT */
/* map_knots_f32.c: 32-bit floats between the knots that cpu/map_knots.c found for them, as values.
 */
#include "cpu/loops_isa.h"
#include "cpu/map_blocks.h"
#include "transfer/knot_table.h"

/* Returns the output of sample i of a block; at a knot, the fraction to the next is 0. */
FORCE_INLINE double knot_value(const KnotBlock *block, size_t i, double lo, double hi)
{
    const double a = (double)block->left[i], at = (double)block->at[i];
    const double part = map_sub((double)block->x[i], a) / map_sub((double)block->right[i], a);
    return clamp_value(map_add(at, map_mul(map_sub((double)block->before[i], at), part)), lo, hi);
}

/* `step` is a constant where this is inlined. */
FORCE_INLINE void map_values(const KnotTable *table, const KnotBlock *block, size_t step, size_t n,
                             unsigned char *to)
{
    const Map *const map = table->map;
    const double nodata = table->nodata, lo = table->lo, hi = table->hi;
    const size_t bytes = sample_bits(table->output.sample) / 8;
    double y[KNOT_BLOCK];
    uint32_t some_stay = 0;
    for (size_t i = 0; i < n; i++) {
        some_stay |= value_is_passthrough((double)value_of_raw(block->raw[i]), nodata) ? 1 : 0;
        y[i] = knot_value(block, i, lo, hi);
    }
    store_block(table->output, y, n, to, step);
    for (size_t i = 0; some_stay && i < n; i += BLOCK) {
        const size_t here = n - i < BLOCK ? n - i : BLOCK;
        const unsigned char *const raw = (const unsigned char *)&block->raw[i];
        double x[BLOCK];
        Passthrough passthrough;
        load_values(IMGSTAT_F32, raw, 1, here, x);
        find_passthrough(map, nodata, raw, 1, x, here, &passthrough);
        store_passthrough(map, &passthrough, to + i * step * bytes, step);
    }
}

void ISA(map_knots_f32)(const KnotTable *table, const KnotBlock *block, size_t step, size_t n,
                        unsigned char *to)
{
    if (step == 1)
        map_values(table, block, 1, n, to);
    else
        map_values(table, block, step, n, to);
}
