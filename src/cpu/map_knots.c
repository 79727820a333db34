/* SPDX-License-Identifier: MIT */
/* map_knots.c: maps samples through knots. The places of many samples among the knots are found at
 * once, without branches; then 32-bit floats are mapped as values (transfer/map_values.h), all
 * others as keys. */
#include "cpu/loops.h"
#include "cpu/map_rows.h"
#include "transfer/knot_table.h"

/* ---- Floats -------------------------------------------------------------------------------- */

/* Counts the knots at or below each of n samples that lie between the first and the last knot. */
static void count_floats(const KnotTable *table, const float *x, size_t n, uint32_t *count)
{
    const uint32_t from = (uint32_t)table->first;
    for (size_t i = 0; i < n; i++) {
        int32_t raw;
        memcpy(&raw, &x[i], sizeof raw);
        const uint32_t key = (uint32_t)raw ^ ((uint32_t)(raw >> 31) | 0x80000000u);
        count[i] = table->below[(key - from) >> table->shift];
    }
    for (uint32_t half = table->half; half > 0; half /= 2)
        for (size_t i = 0; i < n; i++)
            count[i] += table->x[count[i] + half - 1] <= x[i] ? half : 0;
}

/* Loads one after the other: vector gathers take as long, and wide ones longer. */
static void find_floats(const KnotTable *table, const unsigned char *from, size_t step, size_t n,
                        KnotBlock *block)
{
    uint32_t count[KNOT_BLOCK];
    for (size_t i = 0; i < n; i++) {
        float x;
        memcpy(&block->raw[i], from + i * step * sizeof *block->raw, sizeof *block->raw);
        memcpy(&x, &block->raw[i], sizeof x);
        x = x > table->least ? x : table->least; /* NaN: the first knot */
        block->x[i] = (x < table->most ? x : table->most) + 0.0f;
    }
    count_floats(table, block->x, n, count);
    for (size_t i = 0; i < n; i++) {
        const size_t right = count[i];
        block->left[i] = table->x[right - 1];
        block->right[i] = table->x[right];
        block->at[i] = table->y[right - 1].at;
        block->before[i] = table->y[right].before;
    }
}

static void apply_floats(const KnotTable *table, const unsigned char *from, size_t step, size_t n,
                         unsigned char *to)
{
    MapKnotsF32 *const map = cpu_loops()->map_knots_f32;
    const size_t in = step * sizeof(float), out = step * sample_bits(table->output.sample) / 8;
    KnotBlock block;
    for (size_t i = 0; i < n; i += KNOT_BLOCK) {
        const size_t here = n - i < KNOT_BLOCK ? n - i : KNOT_BLOCK;
        find_floats(table, from + i * in, step, here, &block);
        map(table, &block, step, here, to + i * out);
    }
}

/* ---- Other types --------------------------------------------------------------------------- */

/* Counts the knots at or below a key, in the same number of steps for every key, so that processors
 * overlap searches. */
static inline uint32_t count_of(const KnotTable *table, const MapKnot *knots, uint64_t own)
{
    const uint32_t n = table->map->n_knots;
    uint64_t key = own > table->first ? own : table->first;
    key = key < table->last ? key : table->last;
    uint32_t count = table->below[(key - table->first) >> table->shift];
    for (uint32_t half = table->half; half > 0; half /= 2) {
        const uint32_t at = count + half - 1;
        count += knots[at < n ? at : n - 1].key <= key ? half : 0;
    }
    return own < table->first ? 0 : count < n ? count : n;
}

/* `sample` is a constant where this is inlined. */
static inline void map_keys(ImgstatSample sample, const KnotTable *table, const unsigned char *from,
                            size_t step, size_t n, unsigned char *to)
{
    const Map *const map = table->map;
    const ImgstatSample to_sample = map->to.sample;
    const size_t in = sample_bits(sample) / 8, out = sample_bits(to_sample) / 8;
    uint64_t raw[KNOT_BLOCK];
    uint32_t count[KNOT_BLOCK];
    for (size_t first = 0; first < n; first += KNOT_BLOCK) {
        const size_t here = n - first < KNOT_BLOCK ? n - first : KNOT_BLOCK;
        for (size_t i = 0; i < here; i++) {
            raw[i] = load_raw(from + (first + i) * step * in, in);
            count[i] = count_of(table, map->knots, sample_key(sample, raw[i]));
        }
        for (size_t i = 0; i < here; i++)
            store_raw(to + (first + i) * step * out, out,
                      map_raw_between_knots(map, sample, to_sample, map_left_knot(map, count[i]),
                                            map_right_knot(map, count[i]), raw[i]));
    }
}

void apply_knots(const KnotTable *table, const unsigned char *from, size_t step, size_t n,
                 unsigned char *to)
{
    switch (table->map->from) {
    case IMGSTAT_F32:
        if (table->is_float)
            apply_floats(table, from, step, n, to);
        else
            map_keys(IMGSTAT_F32, table, from, step, n, to);
        return;
    case IMGSTAT_F64:
        map_keys(IMGSTAT_F64, table, from, step, n, to);
        return;
    case IMGSTAT_U32:
        map_keys(IMGSTAT_U32, table, from, step, n, to);
        return;
    default:
        map_keys(table->map->from, table, from, step, n, to);
    }
}
