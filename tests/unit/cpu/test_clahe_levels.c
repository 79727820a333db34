/* SPDX-License-Identifier: MIT */
/* test_clahe_levels.c: levels of four tiles, joined and mixed by every set of instructions, against
 * clahe_math.h; nothing beyond the pixels and the places is written. */
#include "cpu/clahe_levels.h"

#include "helper_transform.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { PLACES = 65536, MOST = 300, GUARD = 64 };

static uint32_t tables[4][PLACES];
static ClaheLevels joined[PLACES];

static void draw_tables(uint64_t *seed, uint32_t bins)
{
    for (int t = 0; t < 4; t++)
        for (uint32_t k = 0; k < bins; k++)
            tables[t][k] = seeded_next(seed) % 9 ? (uint32_t)(seeded_next(seed) % bins) : bins - 1;
}

/* Weights that OpenCV has for tiles of so many pixels, halves and all or nothing among them. */
static float draw_weight(uint64_t *seed)
{
    const uint64_t tile = 1 + seeded_next(seed) % 700;
    const float at = (float)(seeded_next(seed) % (tile * 8)) * (1.0f / (float)tile) - 0.5f;
    return at - floorf(at);
}

static void join(const ClaheLevelsLoops *loops, size_t begin, size_t end)
{
    const uint32_t *const four[4] = {tables[0], tables[1], tables[2], tables[3]};
    memset(joined, 0xA5, sizeof joined);
    loops->join(four, begin, end, joined);
    for (size_t k = 0; k < PLACES; k++) {
        const bool made = k >= begin && k < end;
        const ClaheLevels at = clahe_levels_at(four, k);
        cr_assert_eq(joined[k].upper, made ? at.upper : 0xA5A5A5A5, "place %zu", k);
        cr_assert_eq(joined[k].lower, made ? at.lower : 0xA5A5A5A5, "place %zu", k);
    }
}

static void mix(const ClaheLevelsLoops *loops, uint64_t *seed, uint32_t bins, size_t begin,
                size_t end, size_t n)
{
    uint16_t place[MOST + GUARD], out[MOST + GUARD];
    float weight[MOST + GUARD];
    const float y_weight = draw_weight(seed);
    const size_t off = seeded_next(seed) % 16;
    for (size_t i = 0; i < n; i++) {
        place[off + i] = (uint16_t)(begin + seeded_next(seed) % (end - begin));
        weight[off + i] = draw_weight(seed);
    }
    memset(out, 0xA5, sizeof out);
    loops->opencv(joined, place + off, n, weight + off, y_weight, bins, out + off);
    for (size_t i = 0; i < MOST + GUARD; i++) {
        uint64_t expected = 0xA5A5;
        if (i >= off && i < off + n) {
            const uint32_t level[4] = {tables[0][place[i]], tables[1][place[i]],
                                       tables[2][place[i]], tables[3][place[i]]};
            expected = clahe_opencv(level, weight[i], y_weight, bins);
        }
        cr_assert_eq(out[i], expected, "%zu of %zu pixels: %u, not %u", i, n, out[i],
                     (unsigned)expected);
    }
}

/* Levels are below 16,384 there; any parts of a tile. */
static void mix_grays(const ClaheLevelsLoops *loops, uint64_t *seed, size_t begin, size_t end,
                      size_t n)
{
    uint16_t place[MOST + GUARD], out[MOST + GUARD];
    double part[MOST + GUARD];
    const double tile = (double)(1 + seeded_next(seed) % 700);
    const double y_part = floor(tile * 0.37) / tile;
    const size_t off = seeded_next(seed) % 16;
    for (size_t i = 0; i < n; i++) {
        place[off + i] = (uint16_t)(begin + seeded_next(seed) % (end - begin));
        part[off + i] = (double)(seeded_next(seed) % (uint64_t)tile) / tile;
    }
    memset(out, 0xA5, sizeof out);
    loops->skimage(joined, place + off, n, part + off, y_part, out + off);
    for (size_t i = 0; i < MOST + GUARD; i++) {
        uint32_t expected = 0xA5A5;
        if (i >= off && i < off + n) {
            const uint32_t level[4] = {tables[0][place[i]], tables[1][place[i]],
                                       tables[2][place[i]], tables[3][place[i]]};
            expected = clahe_skimage(level, part[i], y_part);
        }
        cr_assert_eq(out[i], expected, "%zu of %zu pixels: %u, not %u", i, n, out[i], expected);
    }
}

static size_t compare(CpuLevel level)
{
    const ClaheLevelsLoops *const loops = clahe_levels_of(level);
    uint64_t seed = 31;
    size_t compared = 0;
    for (uint32_t round = 0; round < 40; round++) {
        const uint32_t bins = round % 2 ? 256 : PLACES;
        const size_t begin = round < 4 ? 0 : seeded_next(&seed) % bins;
        const size_t end = round < 4 ? bins : begin + 1 + seeded_next(&seed) % (bins - begin);
        draw_tables(&seed, bins);
        join(loops, begin, end);
        for (size_t n = 0; n <= MOST; n += n < 40 ? 1 : 13, compared += n)
            mix(loops, &seed, bins, begin, end, n);
        draw_tables(&seed, 16384);
        join(loops, 0, 256);
        for (size_t n = 0; n <= MOST; n += n < 40 ? 1 : 13, compared += n)
            mix_grays(loops, &seed, 0, 256, n);
    }
    return compared;
}

Test(clahe_levels, pixels_are_as_defined)
{
    size_t compared = 0, variants = 0;
    for (CpuLevel level = PROCESSOR_PORTABLE;
         level < PROCESSOR_LEVELS && cpu_features_supports(level); level++, variants++)
        compared += compare(level);
    fprintf(stderr, "clahe_levels: %zu pixels compared, %zu variants\n", compared, variants);
    cr_assert_gt(compared, 300000 * variants);
    cr_assert_gt(variants, 0);
}

/* Every half up to the largest level, and what is next to it. */
Test(clahe_levels, rounding_is_half_to_even)
{
    size_t compared = 0;
    for (uint32_t k = 0; k < 65536; k++, compared++) {
        const float half = (float)k + 0.5f;
        cr_assert_eq(clahe_rounded((float)k), (float)k);
        cr_assert_eq(clahe_rounded(half), rintf(half));
        cr_assert_eq(clahe_rounded(nextafterf(half, 0)), rintf(nextafterf(half, 0)));
        cr_assert_eq(clahe_rounded(nextafterf(half, 1e9f)), rintf(nextafterf(half, 1e9f)));
    }
    cr_assert_eq(compared, 65536);
}
