/* SPDX-License-Identifier: MIT */
/* test_map_blocks.c: straight lines, ratios, power laws and knots from every wide type to every
 * type give the bits of transfer/map.h. */
#include "cpu/loops.h"
#include "cpu/map_rows.h"
#include "helper_draw.h"
#include "helper_level.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 700, MOST_STEP = 3, ROUNDS = 200, KNOTS = 300 };

static const ImgstatSample wide[] = {IMGSTAT_U32, IMGSTAT_I32, IMGSTAT_F32,
                                     IMGSTAT_U64, IMGSTAT_I64, IMGSTAT_F64};
static const ImgstatSample outputs[] = {IMGSTAT_U8,  IMGSTAT_I8,  IMGSTAT_U16, IMGSTAT_I16,
                                        IMGSTAT_F16, IMGSTAT_U32, IMGSTAT_I32, IMGSTAT_F32,
                                        IMGSTAT_U64, IMGSTAT_I64, IMGSTAT_F64};

static Map draw_map(MapKind kind, ImgstatSample from, ImgstatSample sample)
{
    static const double powers[] = {1.0, 2.0, 0.5, 1.0 / 2.2, 2.2, 40.0, 1e9, 1e-300, 1e308};
    Map map = {.kind = kind, .from = from, .has_nodata = draw() % 2};
    MapRange *const to = &map.to;
    *to = draw_range(sample);
    map.nodata_key = draw_key(from);
    map.black = draw_key(from);
    map.white = draw_key(from);
    order(&map.black, &map.white);
    map.full_lo = map.black;
    map.full_hi = map.white;
    map.origin = draw_key(from);
    map.center = draw() % 3 ? map_value(from, draw_key(from)) : draw() % 2 ? 1e-310 : 0.3;
    map.divisor = draw() % 4 ? (double)(draw() % 1000 + 1) / 7.0 : draw() % 2 ? 1e-40 : 1e300;
    map.factor = kind == MAP_POWER ? powers[draw() % (sizeof powers / sizeof *powers)]
                 : draw() % 4      ? (double)(draw() % 1000 + 1) / 9.0
                                   : 1e30;
    map.offset = map_value(sample, draw_key(sample));
    return map;
}

static int by_key(const void *a, const void *b)
{
    const uint64_t x = ((const MapKnot *)a)->key, y = ((const MapKnot *)b)->key;
    return (x > y) - (x < y);
}

static void draw_knots(Map *map, MapKnot *knots)
{
    uint32_t n = 0;
    const size_t wanted = draw() % KNOTS + 1;
    for (size_t k = 0; k < wanted; k++)
        knots[k] = (MapKnot){.key = draw_key(map->from),
                             .before = draw_key(map->to.sample),
                             .at = draw_key(map->to.sample)};
    qsort(knots, wanted, sizeof *knots, by_key);
    for (size_t k = 0; k < wanted; k++)
        if (n == 0 || knots[k].key > knots[n - 1].key)
            knots[n++] = knots[k];
    map->knots = knots;
    map->n_knots = n;
}

/* Neighbours of what the map compares with, what lies between, any bits. */
static uint64_t draw_raw(const Map *map)
{
    const ImgstatSample s = map->from;
    const uint64_t near[] = {map->black, map->white, map->nodata_key, map->origin};
    const uint64_t span = map->white - map->black;
    switch (draw() % 8) {
    case 0:
        return draw() >> 3 & all_bits(s);
    case 1:
        return sample_raw(s, near[draw() % 4] + draw() % 5 - 2) & all_bits(s);
    case 2:
        return sample_is_float(s) ? sample_raw(s, sample_key_nan(s) - draw() % 3) : 0;
    case 3:
        return sample_raw(s, draw_key(s));
    case 4:
        if (map->kind == MAP_KNOTS)
            return sample_raw(s, map->knots[draw() % map->n_knots].key + draw() % 3 - 1) &
                   all_bits(s);
        return sample_raw(s, map->black + span / 2 + draw() % 3 - 1) & all_bits(s);
    default:
        return sample_raw(s, span == UINT64_MAX ? draw() : map->black + draw() % (span + 1));
    }
}

static bool apply(const Map *map, const unsigned char *from, size_t step, size_t n,
                  unsigned char *to)
{
    KnotTable *const table = map->kind == MAP_KNOTS ? knot_table_create(NULL, map) : NULL;
    cr_assert_eq(table != NULL, map->kind == MAP_KNOTS);
    const bool mapped = map_samples(map, table, from, step, n, to);
    knot_table_destroy(table);
    return mapped;
}

/* How many samples were mapped. */
static size_t check_map(const Map *map)
{
    static unsigned char from[8 * N], to[8 * N], expected[8 * N];
    const size_t in = sample_bits(map->from) / 8, out = sample_bits(map->to.sample) / 8;
    size_t compared = 0;
    for (size_t i = 0; i < N; i++)
        store_raw(from + i * in, in, draw_raw(map));
    for (size_t step = 1; step <= MOST_STEP; step++) {
        const size_t n = N / step - draw() % 40; /* that blocks do not divide */
        memset(to, 0xA5, sizeof to);
        if (!apply(map, from, step, n, to))
            return 0;
        memset(expected, 0xA5, sizeof expected);
        for (size_t i = 0; i < n; i++) {
            const uint64_t raw = load_raw(from + i * step * in, in);
            const uint64_t wanted = map_raw(map, map->from, map->to.sample, raw);
            const uint64_t got = load_raw(to + i * step * out, out);
            store_raw(expected + i * step * out, out, wanted);
            cr_assert_eq(got, wanted, "kind %d from %d to %d, %llx: %llx, not %llx", (int)map->kind,
                         (int)map->from, (int)map->to.sample, (unsigned long long)raw,
                         (unsigned long long)got, (unsigned long long)wanted);
        }
        cr_assert_arr_eq(to, expected, sizeof to, "beside the samples");
        compared += n;
        if (map->from != map->to.sample)
            continue;
        memcpy(to, from, sizeof to);
        cr_assert(apply(map, to, step, n, to));
        for (size_t i = 0; i < n; i++)
            cr_assert_eq(load_raw(to + i * step * out, out),
                         load_raw(expected + i * step * out, out), "in place");
    }
    return compared;
}

/* Types that doubles do not hold, and halves, have no loops but through knots. */
static bool doubles_hold(ImgstatSample from, ImgstatSample to)
{
    return !sample_exceeds_double(from) && !sample_exceeds_double(to) && to != IMGSTAT_F16;
}

static void check_types(CpuLevel level)
{
    static MapKnot knots[KNOTS];
    size_t compared = 0, pairs = 0;
    use_processor_level(level);
    for (size_t f = 0; f < sizeof wide / sizeof *wide; f++)
        for (size_t t = 0; t < sizeof outputs / sizeof *outputs; t++) {
            size_t of_kind[MAP_KNOTS + 1] = {0};
            for (size_t round = 0; round < ROUNDS; round++) {
                static const MapKind kinds[] = {MAP_AFFINE, MAP_LINEAR, MAP_POWER, MAP_KNOTS};
                Map map = draw_map(kinds[round % 4], wide[f], outputs[t]);
                if (map.kind == MAP_KNOTS)
                    draw_knots(&map, knots);
                of_kind[map.kind] += check_map(&map);
            }
            const bool held = doubles_hold(wide[f], outputs[t]);
            const bool by_ratio = !sample_is_float(wide[f]) && !sample_is_float(outputs[t]);
            cr_assert_eq(of_kind[MAP_AFFINE] > 0,
                         held && (!by_ratio || level > PROCESSOR_PORTABLE));
            cr_assert_eq(of_kind[MAP_LINEAR] > 0, held);
            cr_assert_eq(of_kind[MAP_POWER] > 0, held);
            cr_assert_gt(of_kind[MAP_KNOTS], 0);
            for (size_t k = 0; k <= MAP_KNOTS; k++)
                compared += of_kind[k];
            pairs++;
        }
    fprintf(stderr, "%s: %zu samples compared, of %zu pairs of types\n",
            cpu_features_level_names[level], compared, pairs);
}

Test(apply_types, bits_of_keys_by_portable_loops)
{
    check_types(PROCESSOR_PORTABLE);
}

Test(apply_types, bits_of_keys_by_avx2)
{
    check_types(PROCESSOR_AVX2);
}

Test(apply_types, bits_of_keys_by_avx512)
{
    check_types(PROCESSOR_AVX512);
}

Test(apply_types, leaves_what_stays_as_it_is)
{
    Map map = draw_map(MAP_AFFINE, IMGSTAT_F32, IMGSTAT_F32);
    unsigned char none[4];
    map.passthrough = map.same_scale = 1;
    cr_assert_not(map_samples(&map, NULL, none, 1, 0, none));
    map.kind = MAP_POWER;
    cr_assert_not(map_samples(&map, NULL, none, 1, 0, none));
    map = draw_map(MAP_LINEAR, IMGSTAT_F32, IMGSTAT_F32);
    cr_assert_not(map_power_fits(&map));
}

/* Every numerator of small ranges, ties among them, and of the largest. */
Test(apply_types, ratios)
{
    if (cpu_features_level() < PROCESSOR_AVX2)
        cr_skip_test("the processor has no avx2");
    size_t ties = 0;
    for (uint32_t range = 1; range < 260; range += 1 + range / 9)
        for (uint32_t width = 1; width < 600; width += 1 + width / 40) {
            Map map = {.kind = MAP_AFFINE, .from = IMGSTAT_U32, .black = 4000000000u};
            map.white = map.black + width;
            map.to = (MapRange){.sample = IMGSTAT_U16, .lo_key = 7, .hi_key = 7 + range, .lo = 7};
            map.to.hi = (double)map.to.hi_key;
            for (uint32_t a = 0; a <= width; a++) {
                const uint32_t x = 4000000000u + a;
                const uint64_t twice = 2 * (uint64_t)a * range;
                uint16_t got;
                cr_assert(cpu_loops()->map_linear(&map, (const unsigned char *)&x, 1, 1,
                                                  (unsigned char *)&got));
                uint64_t wanted = twice / (2 * (uint64_t)width);
                const uint64_t rest = twice - 2 * wanted * width;
                wanted += rest > width || (rest == width && wanted % 2);
                ties += rest == width;
                cr_assert_eq(got, 7 + wanted, "%u of %u in %u", a, width, range);
            }
        }
    cr_assert_gt(ties, 1000);
}
