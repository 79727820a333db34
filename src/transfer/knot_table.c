/* SPDX-License-Identifier: MIT */
/* knot_table.c: tables by which a sample finds its place among the knots of a map. */
#include "transfer/knot_table.h"

/* Chooses the intervals and the sizes of the arrays. */
static uint32_t find_intervals(const Map *map, KnotTable *table)
{
    enum { INTERVALS = 4 }; /* intervals for each knot, at most */
    const uint32_t n = map->n_knots;
    const uint64_t span = table->last - table->first;
    uint64_t interval = 0;
    uint32_t most = 1, begin = 0;
    while (span >> table->shift >= (uint64_t)n * INTERVALS)
        table->shift++;
    for (uint32_t k = 0; k < n; k++) {
        const uint64_t own = (map->knots[k].key - table->first) >> table->shift;
        begin = own == interval ? begin : k;
        interval = own;
        most = k + 1 - begin > most ? k + 1 - begin : most;
    }
    for (table->half = 1; 2 * table->half <= most;)
        table->half *= 2;
    return (uint32_t)interval + 1;
}

static void fill_floats(KnotTable *table, size_t steps)
{
    const Map *const map = table->map;
    const uint32_t n = map->n_knots;
    const ImgstatSample to = map->to.sample;
    table->lo = map->to.lo;
    table->hi = map->to.hi;
    table->output = output_type_of(&map->to);
    table->nodata = nodata_of(map);
    for (uint32_t k = 0; k < n; k++) {
        const MapKnot *const knot = &map->knots[k];
        table->x[k] = value_of(knot->key);
        table->y[k] =
            (KnotValues){(float)map_value(to, knot->before), (float)map_value(to, knot->at)};
    }
    for (size_t i = 0; i < steps; i++)
        table->x[n + i] = INFINITY;
    table->least = table->x[0];
    table->most = table->x[n - 1];
    table->y[n] = (KnotValues){table->y[n - 1].at, table->y[n - 1].at};
}

/* Whether samples are 32-bit floats and their outputs are values of that type. */
static bool floats_hold(const Map *map)
{
    const ImgstatSample to = map->to.sample;
    return map->from == IMGSTAT_F32 &&
           (to == IMGSTAT_F32 || (sample_is_narrow(to) && to != IMGSTAT_F16));
}

KnotTable *knot_table_create(BufferCache *cache, const Map *map)
{
    if (map->kind != MAP_KNOTS || map->passthrough || sample_is_narrow(map->from))
        return NULL;
    const uint32_t n = map->n_knots;
    KnotTable made = {.map = map,
                      .first = map->knots[0].key,
                      .last = map->knots[n - 1].key,
                      .is_float = floats_hold(map)};
    const uint32_t intervals = find_intervals(map, &made);
    const size_t steps = 2 * (size_t)made.half;
    const size_t x = made.is_float ? (n + steps) * sizeof *made.x : 0;
    const size_t y = made.is_float ? (n + 1) * sizeof *made.y : 0;
    KnotTable *const table =
        buffer_cache_acquire(cache, sizeof *table + y + x + intervals * sizeof *table->below);
    if (!table)
        return NULL;
    *table = made;
    table->y = (KnotValues *)(void *)(table + 1);
    table->x = (float *)(void *)((unsigned char *)table->y + y);
    table->below = (uint32_t *)(void *)((unsigned char *)table->x + x);
    if (made.is_float)
        fill_floats(table, steps);
    uint32_t interval = 0;
    for (uint32_t k = 0; k < n; k++)
        while (interval <= (map->knots[k].key - table->first) >> table->shift)
            table->below[interval++] = k;
    return table;
}

void knot_table_destroy(KnotTable *table)
{
    buffer_cache_release(table);
}
