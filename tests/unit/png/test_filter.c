/* SPDX-License-Identifier: MIT */
/* test_filter.c: PNG's filters against the formulas of the standard, for every processor's
 * version; the choice among them. */
#include "png/filter.h"
#include "support.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(png_filter);

enum { MOST = 1400 };

/* Section 9.2 of the PNG specification. */
static int paeth_predictor(int a, int b, int c)
{
    const int p = a + b - c, pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);
    if (pa <= pb && pa <= pc)
        return a;
    return pb <= pc ? b : c;
}

static uint8_t filtered(unsigned filter, const uint8_t *row, const uint8_t *above, size_t i,
                        size_t step)
{
    const int a = i < step ? 0 : row[i - step], b = above[i], c = i < step ? 0 : above[i - step];
    const int guess[PNG_FILTERS] = {0, a, b, (a + b) / 2, paeth_predictor(a, b, c)};
    return (uint8_t)(row[i] - guess[filter]);
}

/* kind 0: anything; 1: near values; 2: only the extremes and their neighbours. */
static void fill(uint8_t *row, unsigned kind, uint32_t *state)
{
    static const uint8_t ends[] = {0, 1, 127, 128, 129, 254, 255, 2};
    for (size_t i = 0; i < MOST; i++) {
        *state = *state * 1664525u + 1013904223u;
        const uint32_t r = *state >> 9;
        row[i] = (uint8_t)(kind == 0 ? r : kind == 1 ? 100 + r % 7 : ends[r % 8]);
    }
}

static size_t check(const PngFilters *filters)
{
    static const size_t steps[] = {1, 2, 3, 4, 6, 8};
    static const size_t sizes[] = {1,  2,  3,  8,  31,  32,  33,   38,   40,   64,
                                   65, 67, 72, 73, 130, 500, 1003, 1025, 1215, MOST};
    uint8_t row[MOST], above[MOST], to[MOST + 1];
    uint32_t state = 7;
    size_t compared = 0;
    for (unsigned kind = 0; kind < 3; kind++)
        for (size_t s = 0; s < 6; s++)
            for (size_t w = 0; w < sizeof sizes / sizeof *sizes; w++) {
                const size_t n = sizes[w], step = steps[s] < n ? steps[s] : n;
                uint64_t cost[PNG_FILTERS], sampled[PNG_FILTERS];
                fill(row, kind, &state);
                fill(above, kind, &state);
                filters->costs(row, above, n, step, false, cost);
                if (n > PNG_SAMPLED_ROW)
                    filters->costs(row, above, n, step, true, sampled);
                for (unsigned f = 0; f < PNG_FILTERS; f++) {
                    uint64_t sum = 0, sample = 0;
                    guard_fill(to, sizeof to);
                    filters->apply(f, row, above, n, step, to);
                    for (size_t i = 0; i < n; i++, compared++) {
                        const uint8_t expected = filtered(f, row, above, i, step);
                        cr_assert_eq(to[i], expected, "filter %u, byte %zu of %zu, step %zu", f, i,
                                     n, step);
                        sum += (uint64_t)abs((int8_t)expected);
                        sample += i % 256 < 192 ? 0 : (uint64_t)abs((int8_t)expected);
                    }
                    cr_assert_eq(to[n], POISON);
                    cr_assert_eq(cost[f], sum, "filter %u, %zu bytes, step %zu", f, n, step);
                    cr_assert(n <= 1024 || sampled[f] == sample, "filter %u, %zu bytes, step %zu",
                              f, n, step);
                }
            }
    return compared;
}

Test(png_filter, portable)
{
    cr_assert_gt(check(&png_filters_portable), 100000);
}

Test(png_filter, this_processor)
{
    cr_assert_gt(check(png_filters()), 100000);
}

Test(png_filter, the_least_sum_is_chosen)
{
    uint8_t row[64], above[64] = {0}, to[65];
    for (size_t i = 0; i < 64; i++)
        row[i] = (uint8_t)(10 + 4 * i); /* a ramp: Sub leaves 4s */
    png_filter_row(png_filters(), row, above, 64, 1, PNG_CHOOSE_LEAST, to);
    cr_expect_eq(to[0], 1);
    memcpy(above, row, 64); /* as the row above: nothing is left */
    png_filter_row(png_filters(), row, above, 64, 1, PNG_CHOOSE_LEAST, to);
    cr_expect_eq(to[0], 2);
    cr_expect_eq(to[64], 0);
    png_filter_row(png_filters(), row, above, 64, 1, PNG_CHOOSE_NONE, to);
    cr_expect_eq(to[0], 0);
    cr_expect_arr_eq(to + 1, row, 64);
}

/* Where the sample looks, the row is that above; elsewhere it is level. */
Test(png_filter, a_sample_decides_in_long_rows)
{
    uint8_t row[1025], above[1025], to[1026];
    for (size_t i = 0; i < sizeof row; i++) {
        row[i] = (uint8_t)(i % 256 < 192 ? 7 : 37 * i);
        above[i] = (uint8_t)(row[i] + (i % 256 < 192 ? 60 + i % 2 : 0));
    }
    png_filter_row(png_filters(), row, above, 1025, 1, PNG_CHOOSE_SAMPLED, to);
    cr_expect_eq(to[0], 2);
    png_filter_row(png_filters(), row, above, 1024, 1, PNG_CHOOSE_SAMPLED, to);
    cr_expect_neq(to[0], 2, "all bytes of a row of 1024 count");
    png_filter_row(png_filters(), row, above, 1025, 1, PNG_CHOOSE_LEAST, to);
    cr_expect_neq(to[0], 2);
}
