/* SPDX-License-Identifier: MIT */
/* test_map_linear.c: straight lines, knots and power laws over 32-bit floats give the bits that
 * order keys give. */
#include "cpu/loops.h"
#include "cpu/map_rows.h"
#include "helper_level.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 4096, ROUNDS = 300, MOST_STEP = 3 };

static uint64_t state = 88172645463325252u;

static uint32_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static uint64_t key_of(float value)
{
    uint32_t raw;
    memcpy(&raw, &value, sizeof raw);
    return sample_key(IMGSTAT_F32, raw);
}

/* Of any magnitude, or of one that images have, or special. */
static uint64_t draw_key(void)
{
    static const float special[] = {0.0f,          1.0f,           -1.0f,  1e-45f, -1e-45f,
                                    3.4028235e38f, -3.4028235e38f, 255.0f, 0.5f};
    switch (draw() % 3) {
    case 0: {
        const uint64_t key = draw();
        return map_undefined(IMGSTAT_F32, key) || key == 0x7FFFFFFFu ? key_of(0.25f) : key;
    }
    case 1:
        return key_of((float)(draw() % 20001) / 100.0f - 100.0f);
    default:
        return key_of(special[draw() % (sizeof special / sizeof *special)]);
    }
}

static Map draw_map(MapKind kind)
{
    Map map = {.kind = kind, .from = IMGSTAT_F32, .has_nodata = draw() % 2};
    MapRange *const to = &map.to;
    *to = (MapRange){.sample = IMGSTAT_F32, .has_nodata = draw() % 2};
    map.nodata_key = draw_key();
    map.black = draw_key();
    map.white = draw_key();
    to->lo_key = draw_key();
    to->hi_key = draw_key();
    if (map.white < map.black) {
        const uint64_t swap = map.black;
        map.black = map.white;
        map.white = swap;
    }
    if (to->hi_key < to->lo_key) {
        const uint64_t swap = to->lo_key;
        to->lo_key = to->hi_key;
        to->hi_key = swap;
    }
    to->lo = map_value(IMGSTAT_F32, to->lo_key);
    to->hi = map_value(IMGSTAT_F32, to->hi_key);
    to->nodata_key = draw() % 2 ? to->hi_key : draw() % 2 ? to->lo_key : draw_key();
    map.center = map_value(IMGSTAT_F32, draw_key());
    map.divisor = draw() % 2 ? 1e-40 : 17.25;
    map.factor = draw() % 2 ? 1e30 : 0.125;
    map.offset = map_value(IMGSTAT_F32, draw_key());
    return map;
}

/* What map_row of cpu/map_rows.c says. */
static uint32_t expected(const Map *map, uint32_t raw)
{
    const uint64_t key = sample_key(IMGSTAT_F32, raw);
    if (map_undefined(IMGSTAT_F32, key) || (map->has_nodata && key == map->nodata_key))
        return raw;
    return (uint32_t)sample_raw(IMGSTAT_F32, map_sample(map, key));
}

/* Any bits, and neighbours of what the map compares with. */
static void draw_samples(const Map *map, uint32_t *raw)
{
    const uint64_t key[] = {map->black, map->white, map->nodata_key, map->to.lo_key,
                            map->to.hi_key};
    for (size_t i = 0; i < N; i++)
        switch (draw() % 4) {
        case 0:
            raw[i] = draw();
            break;
        case 1:
            raw[i] = (uint32_t)sample_raw(IMGSTAT_F32, key[draw() % 5] + draw() % 5 - 2);
            break;
        case 2:
            raw[i] = (uint32_t)sample_raw(IMGSTAT_F32, draw_key());
            break;
        default:
            raw[i] = draw() % 2 ? 0x80000000u : 0x7F800000u + draw() % 3;
        }
}

static void check_map(const Map *map, size_t *compared)
{
    static uint32_t from[N], to[N];
    draw_samples(map, from);
    for (size_t step = 1; step <= MOST_STEP; step += 2) {
        const size_t n = N / step - draw() % 40; /* that vectors do not divide */
        memset(to, 0xA5, sizeof to);
        if (!cpu_loops()->map_linear(map, (const unsigned char *)from, step, n,
                                     (unsigned char *)to)) {
            cr_assert(map->black >= map->white && map->kind == MAP_AFFINE);
            return;
        }
        for (size_t i = 0; i < N; i++) {
            const bool mapped = i % step == 0 && i / step < n;
            cr_assert_eq(to[i], mapped ? expected(map, from[i]) : 0xA5A5A5A5u,
                         "kind %d, %08x: %08x, not %08x", (int)map->kind, from[i], to[i],
                         expected(map, from[i]));
            *compared += mapped;
        }
        memcpy(to, from, sizeof to);
        cr_assert(
            cpu_loops()->map_linear(map, (const unsigned char *)to, step, n, (unsigned char *)to));
        for (size_t i = 0; i < N; i++)
            cr_assert_eq(to[i], i % step == 0 && i / step < n ? expected(map, from[i]) : from[i]);
    }
}

/* By the loops for a set of instructions. */
static void check_lines(CpuLevel level)
{
    size_t compared = 0;
    use_processor_level(level);
    for (size_t round = 0; round < ROUNDS; round++) {
        const Map affine = draw_map(MAP_AFFINE), linear = draw_map(MAP_LINEAR);
        check_map(&affine, &compared);
        check_map(&linear, &compared);
    }
    cr_assert_gt(compared, ROUNDS * N);
    fprintf(stderr, "%s: %zu samples compared\n", cpu_features_level_names[level], compared);
}

Test(apply_float, bits_of_keys_by_portable_loops)
{
    check_lines(PROCESSOR_PORTABLE);
}

Test(apply_float, bits_of_keys_by_avx2)
{
    check_lines(PROCESSOR_AVX2);
}

Test(apply_float, bits_of_keys_by_avx512)
{
    check_lines(PROCESSOR_AVX512);
}

/* ---- Knots --------------------------------------------------------------------------------- */

enum { MOST_KNOTS = 20000, KNOT_ROUNDS = 60 };

static int by_key(const void *a, const void *b)
{
    const uint64_t x = ((const MapKnot *)a)->key, y = ((const MapKnot *)b)->key;
    return (x > y) - (x < y);
}

/* Anywhere; neighbouring keys and one far away; steps of a value. */
static uint32_t draw_knots(MapKnot *knots, uint32_t wanted)
{
    const unsigned kind = draw() % 3;
    const uint64_t begin = key_of(0.75f);
    uint32_t n = 0;
    for (uint32_t k = 0; k < wanted; k++) {
        knots[k].key = kind == 0   ? draw_key()
                       : kind == 2 ? key_of((float)(draw() % 65536) / 65535.0f)
                       : k > 0     ? begin + draw() % (4 * wanted)
                                   : key_of(1e30f);
        knots[k].before = draw() % 4 ? key_of((float)(draw() % 1000) / 999.0f) : draw_key();
        knots[k].at = draw() % 4 ? key_of((float)(draw() % 1000) / 999.0f) : draw_key();
    }
    qsort(knots, wanted, sizeof *knots, by_key);
    for (uint32_t k = 0; k < wanted; k++)
        if (n == 0 || knots[k].key > knots[n - 1].key)
            knots[n++] = knots[k];
    return n;
}

static void draw_near_knots(const Map *map, uint32_t *raw)
{
    draw_samples(map, raw);
    for (size_t i = 0; i < N; i += 2) {
        const uint64_t key = map->knots[draw() % map->n_knots].key;
        const uint64_t next = map->knots[draw() % map->n_knots].key;
        raw[i] = (uint32_t)sample_raw(IMGSTAT_F32, i % 4 ? key + draw() % 3 - 1 : (key + next) / 2);
    }
}

static size_t check_knots(const Map *map)
{
    static uint32_t from[N], to[N];
    size_t compared = 0;
    KnotTable *const table = knot_table_create(NULL, map);
    cr_assert_not_null(table);
    draw_near_knots(map, from);
    for (size_t step = 1; step <= MOST_STEP; step += 2) {
        const size_t n = N / step;
        memset(to, 0xA5, sizeof to);
        apply_knots(table, (const unsigned char *)from, step, n, (unsigned char *)to);
        for (size_t i = 0; i < N; i++) {
            const bool mapped = i % step == 0 && i / step < n;
            const uint32_t wanted = mapped ? expected(map, from[i]) : 0xA5A5A5A5u;
            cr_assert_eq(to[i], wanted, "%u knots, %08x: %08x, not %08x", map->n_knots, from[i],
                         to[i], wanted);
            compared += mapped;
        }
        memcpy(to, from, sizeof to);
        apply_knots(table, (const unsigned char *)to, step, n, (unsigned char *)to);
        for (size_t i = 0; i < N; i++)
            cr_assert_eq(to[i], i % step == 0 && i / step < n ? expected(map, from[i]) : from[i]);
    }
    knot_table_destroy(table);
    return compared;
}

static void check_all_knots(CpuLevel level)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 100, 1000, MOST_KNOTS};
    static MapKnot knots[MOST_KNOTS];
    size_t compared = 0;
    use_processor_level(level);
    for (size_t round = 0; round < KNOT_ROUNDS; round++) {
        Map map = draw_map(MAP_KNOTS);
        map.n_knots = draw_knots(knots, sizes[round % (sizeof sizes / sizeof *sizes)]);
        map.knots = knots;
        compared += check_knots(&map);
    }
    fprintf(stderr, "apply_float: %zu samples compared through knots, %s\n", compared,
            cpu_features_level_names[level]);
    cr_assert_gt(compared, KNOT_ROUNDS * N);
}

Test(apply_float, knots)
{
    check_all_knots(PROCESSOR_PORTABLE);
}

Test(apply_float, knots_by_avx2)
{
    check_all_knots(PROCESSOR_AVX2);
}

Test(apply_float, knots_by_avx512)
{
    check_all_knots(PROCESSOR_AVX512);
}

/* ---- Power laws ---------------------------------------------------------------------------- */

enum { POWER_ROUNDS = 60 };

static size_t check_samples(CpuLevel level, const Map *map, const uint32_t *from)
{
    static uint32_t to[N];
    size_t compared = 0;
    for (size_t step = 1; step <= MOST_STEP; step += 2) {
        const size_t n = N / step - step % 2;
        memset(to, 0xA5, sizeof to);
        cpu_loops_of(level)->map_power(map, (const unsigned char *)from, step, n,
                                       (unsigned char *)to);
        for (size_t i = 0; i < N; i++) {
            const bool mapped = i % step == 0 && i / step < n;
            const uint32_t wanted = mapped ? expected(map, from[i]) : 0xA5A5A5A5u;
            cr_assert_eq(to[i], wanted, "%s, power %.9g, %08x: %08x, not %08x",
                         cpu_features_level_names[level], map->factor, from[i], to[i], wanted);
            compared += mapped;
        }
        memcpy(to, from, sizeof to);
        cpu_loops_of(level)->map_power(map, (const unsigned char *)to, step, n,
                                       (unsigned char *)to);
        for (size_t i = 0; i < N; i++)
            cr_assert_eq(to[i], i % step == 0 && i / step < n ? expected(map, from[i]) : from[i]);
    }
    return compared;
}

/* By all loops that the processor has. */
static size_t check_power(const Map *map, const uint32_t *from)
{
    size_t compared = 0;
    for (CpuLevel level = PROCESSOR_PORTABLE;
         level < PROCESSOR_LEVELS && cpu_features_supports(level); level++)
        compared += check_samples(level, map, from);
    return compared;
}

static void set_unit_range(Map *map, float white, float lo)
{
    map->black = key_of(0.0f);
    map->white = key_of(white);
    map->to.lo_key = key_of(lo);
    map->to.hi_key = key_of(1.0f);
    map->to.lo = (double)lo;
    map->to.hi = 1.0;
}

Test(apply_float, power_laws)
{
    static const double powers[] = {1.0,    2.0, 0.5,   1.0 / 2.2, 2.2,    1e-3,  40.0,
                                    3000.0, 1e9, 0.999, 1e-300,    5e-324, 1e308, 1.7e308};
    static uint32_t from[N];
    size_t compared = 0;
    for (size_t round = 0; round < POWER_ROUNDS; round++) {
        Map map = draw_map(MAP_POWER);
        map.factor = powers[round % (sizeof powers / sizeof *powers)];
        if (round % 2)
            set_unit_range(&map, round % 4 == 1 ? 1.0f : 1e-30f, 0.0f);
        draw_samples(&map, from);
        for (size_t i = 0; i < N; i += 2) { /* where the law holds */
            const double black = map_value(IMGSTAT_F32, map.black);
            const double white = map_value(IMGSTAT_F32, map.white);
            const float value = (float)(black + (white - black) * (draw() % 4096) / 4095.0);
            memcpy(&from[i], &value, sizeof value);
        }
        compared += check_power(&map, from);
    }
    fprintf(stderr, "apply_float: %zu samples compared through power laws\n", compared);
    cr_assert_gt(compared, POWER_ROUNDS * N);
}

/* Samples of all magnitudes, to the end of the range and to its middle, which lies at 0; and such
 * as have squares halfway between two floats, where only the exact power tells which is nearest:
 * one after the other, and many times the same. */
Test(apply_float, power_laws_near_halves)
{
    enum { FIRST = 4097, LAST = 5791 }; /* odd: squares of 25 bits */
    static uint32_t from[N];
    size_t compared = 0;
    for (size_t round = 0; round < POWER_ROUNDS; round++) {
        Map map = {.kind = MAP_POWER, .from = IMGSTAT_F32, .to = {.sample = IMGSTAT_F32}};
        set_unit_range(&map, 1.0f, round % 4 == 1 ? -1.0f : 0.0f);
        map.factor = round % 2 ? exp2((double)(draw() % 2001) / 250.0 - 4.0) : 2.0;
        for (size_t i = 0; i < N; i++) {
            const unsigned odd = FIRST + (i < N / 2 ? 2 * (unsigned)i % (LAST - FIRST) : 0);
            const float half = ldexpf((float)odd, -13 - (int)(i % 3));
            if (i % 4 == 3)
                from[i] = draw() % 0x3F800001u;
            else
                memcpy(&from[i], &half, sizeof half);
        }
        compared += check_power(&map, from);
    }
    fprintf(stderr, "apply_float: %zu samples compared near halves\n", compared);
    cr_assert_gt(compared, POWER_ROUNDS * N);
}
