/* SPDX-License-Identifier: MIT */
/* test_map_knots.c: samples of every wide type through knots to every type give the bits that
 * looking among all knots gives. */
#include "cpu/map_rows.h"
#include "helper_cpu.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1500, MOST_STEP = 3, MOST_KNOTS = 5000 };

static uint64_t all_of(ImgstatSample sample)
{
    return UINT64_MAX >> (64 - sample_bits(sample));
}

/* Anywhere; near each other; the ends; of floats also what is not finite. */
static uint64_t draw_key(Random *random, ImgstatSample sample)
{
    const uint64_t all = all_of(sample), r = random_next(random);
    switch (r % 6) {
    case 0:
        return (all / 2 + r % 4096) & all;
    case 1:
        return all - r / 6 % 3;
    case 2:
        return r / 6 % 3;
    case 3:
        return all / 4 * 3 + r % 9;
    default:
        return random_next(random) & all;
    }
}

static uint64_t defined_key(Random *random, ImgstatSample sample)
{
    for (;;) {
        const uint64_t key = draw_key(random, sample);
        if (!map_undefined(sample, key) && sample_key(sample, sample_raw(sample, key)) == key)
            return key;
    }
}

static int by_key(const void *a, const void *b)
{
    const uint64_t x = ((const MapKnot *)a)->key, y = ((const MapKnot *)b)->key;
    return (x > y) - (x < y);
}

static uint32_t draw_knots(Random *random, ImgstatSample from, ImgstatSample to, MapKnot *knots,
                           uint32_t wanted)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < wanted; k++)
        knots[k] = (MapKnot){.key = defined_key(random, from),
                             .before = defined_key(random, to),
                             .at = defined_key(random, to)};
    qsort(knots, wanted, sizeof *knots, by_key);
    for (uint32_t k = 0; k < wanted; k++)
        if (n == 0 || knots[k].key > knots[n - 1].key)
            knots[n++] = knots[k];
    return n;
}

static Map draw_map(Random *random, ImgstatSample from, ImgstatSample to)
{
    Map map = {.kind = MAP_KNOTS, .from = from, .has_nodata = random_next(random) % 2};
    uint64_t lo = defined_key(random, to), hi = defined_key(random, to);
    map.nodata_key = defined_key(random, from);
    map.to = (MapRange){.sample = to,
                        .lo_key = lo < hi ? lo : hi,
                        .hi_key = lo < hi ? hi : lo,
                        .has_nodata = random_next(random) % 2};
    map.to.nodata_key = random_next(random) % 2 ? map.to.lo_key : defined_key(random, to);
    map.to.lo = map_value(to, map.to.lo_key);
    map.to.hi = map_value(to, map.to.hi_key);
    return map;
}

static size_t check_map(Random *random, const Map *map)
{
    static unsigned char from[N * 8], to[N * 8];
    const size_t in = sample_bits(map->from) / 8, out = sample_bits(map->to.sample) / 8;
    size_t compared = 0;
    KnotTable *const table = knot_table_create(NULL, map);
    cr_assert_not_null(table);
    for (size_t i = 0; i < N; i++) {
        const uint64_t knot = map->knots[random_next(random) % map->n_knots].key;
        const uint64_t near = (knot + random_next(random) % 3 - 1) & all_of(map->from);
        const uint64_t raw = i % 16 == 0  ? random_next(random)
                             : i % 2 == 0 ? sample_raw(map->from, near)
                                          : sample_raw(map->from, draw_key(random, map->from));
        store_raw(from + i * in, in, raw & all_of(map->from));
    }
    for (size_t step = 1; step <= MOST_STEP; step += 2) {
        const size_t n = N / step;
        memset(to, 0xA5, sizeof to);
        apply_knots(table, from, step, n, to);
        for (size_t i = 0; i < N; i++) {
            const bool mapped = i % step == 0 && i / step < n;
            const uint64_t raw = load_raw(from + i * in, in), got = load_raw(to + i * out, out);
            const uint64_t wanted = mapped ? map_raw(map, map->from, map->to.sample, raw)
                                           : 0xA5A5A5A5A5A5A5A5u & all_of(map->to.sample);
            cr_assert_eq(got, wanted, "%s to %s, %u knots, %llx: %llx, not %llx",
                         imgstat_sample_name(map->from), imgstat_sample_name(map->to.sample),
                         map->n_knots, (unsigned long long)raw, (unsigned long long)got,
                         (unsigned long long)wanted);
            compared += mapped;
        }
    }
    if (map->from == map->to.sample) { /* in place */
        static unsigned char both[N * 8];
        memcpy(both, from, sizeof both);
        apply_knots(table, from, 1, N, to);
        apply_knots(table, both, 1, N, both);
        cr_assert_eq(memcmp(both, to, N * in), 0);
    }
    knot_table_destroy(table);
    return compared;
}

Test(apply_knots, like_the_search_among_all)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 60, 1000, MOST_KNOTS};
    static MapKnot knots[MOST_KNOTS];
    Random random = {.state = 20261122};
    size_t compared = 0;
    for (int from = IMGSTAT_U32; from <= IMGSTAT_F64; from++)
        for (int to = IMGSTAT_U8; to <= IMGSTAT_F64; to++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                Map map = draw_map(&random, (ImgstatSample)from, (ImgstatSample)to);
                map.knots = knots;
                map.n_knots = draw_knots(&random, map.from, map.to.sample, knots, sizes[s]);
                compared += check_map(&random, &map);
            }
    fprintf(stderr, "apply_knots: %zu samples compared\n", compared);
    cr_assert_gt(compared, (size_t)6 * 11 * 8 * N);
}

Test(apply_knots, has_no_table_for_other_maps)
{
    static const MapKnot knot = {.key = 0x80000000u};
    Random random = {.state = 1};
    Map map = draw_map(&random, IMGSTAT_U32, IMGSTAT_U32);
    map.knots = &knot;
    map.n_knots = 1;
    map.from = IMGSTAT_U16;
    cr_assert_null(knot_table_create(NULL, &map));
    map.from = IMGSTAT_F32;
    map.kind = MAP_LINEAR;
    cr_assert_null(knot_table_create(NULL, &map));
    map.kind = MAP_KNOTS;
    map.passthrough = 1;
    cr_assert_null(knot_table_create(NULL, &map));
    knot_table_destroy(NULL);
}
