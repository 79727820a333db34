/* SPDX-License-Identifier: MIT */
/* test_filter_undo.c: PNG's filters and TIFF's predictors undone, against loops written from their
 * definitions: every instruction set, filter, pixel size and many lengths, with guard bytes around
 * the rows. */
#include "base/compiler.h"
#include "codec/running_sum.h"
#include "png/filter.h"
#include "support.h"
#include "tiff/predictor.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 300, GUARD = 32 };

static uint32_t state = 20261120;

static uint8_t next_byte(void)
{
    state = state * 1664525u + 1013904223u;
    return (uint8_t)(state >> 24);
}

/* Random, or few values: then Paeth's ties and equal neighbours come often. */
static void fill(uint8_t *to, size_t n, unsigned kind)
{
    for (size_t i = 0; i < n; i++)
        to[i] = kind == 0 ? next_byte() : kind == 1 ? next_byte() % 3 : kind == 2 ? 0xFF : 0x80;
}

static int distance(int a, int b)
{
    return a > b ? a - b : b - a;
}

/* PNG specification, section 9. */
static uint8_t predicted(unsigned filter, int a, int b, int c)
{
    const int p = a + b - c;
    switch (filter) {
    case 0:
        return 0;
    case 1:
        return (uint8_t)a;
    case 2:
        return (uint8_t)b;
    case 3:
        return (uint8_t)((a + b) / 2);
    default:
        if (distance(p, a) <= distance(p, b) && distance(p, a) <= distance(p, c))
            return (uint8_t)a;
        return (uint8_t)(distance(p, b) <= distance(p, c) ? b : c);
    }
}

static void naive_png(unsigned filter, const uint8_t *from, const uint8_t *above, uint8_t *to,
                      size_t n, size_t step)
{
    for (size_t i = 0; i < n; i++) {
        const int a = i < step ? 0 : to[i - step], b = above[i], c = i < step ? 0 : above[i - step];
        to[i] = (uint8_t)(from[i] + predicted(filter, a, b, c));
    }
}

static void check_guards(const uint8_t *memory, size_t n)
{
    cr_assert(guard_holds(memory, GUARD) && guard_holds(memory + GUARD + n, GUARD),
              "a byte outside of %zu was written", n);
}

static const size_t pixel_sizes[] = {1, 2, 3, 4, 6, 8};

/* Compares n_rows rows of n bytes whose filters `filter` has. Rows in memory are exactly as large
 * as they may be read, and those written PAD bytes apart. */
static void check_rows(UnfilterRows *unfilter, const unsigned *filter, size_t n_rows, size_t n,
                       size_t step, unsigned kind)
{
    enum { PAD = 5 };
    const size_t pitch = n + PAD, room = (n_rows - 1) * pitch + n;
    uint8_t *const from = malloc(n_rows * (1 + n)), *const above = malloc(n);
    uint8_t *const got = malloc(room + 2 * GUARD), *const want = malloc(n_rows * n);
    guard_fill(got, room + 2 * GUARD);
    fill(from, n_rows * (1 + n), kind);
    fill(above, n, kind ^ (n & 1));
    for (size_t y = 0; y < n_rows; y++) {
        from[y * (1 + n)] = (uint8_t)filter[y];
        naive_png(filter[y], from + y * (1 + n) + 1, y ? want + (y - 1) * n : above, want + y * n,
                  n, step);
    }
    unfilter(&(FilteredRows){from, n_rows, n, above, got + GUARD, pitch}, step);
    for (size_t y = 0; y < n_rows; y++) {
        cr_assert_arr_eq(got + GUARD + y * pitch, want + y * n, n,
                         "row %zu of %zu, filter %u, %zu bytes a pixel, %zu", y, n_rows, filter[y],
                         step, n);
        if (y + 1 < n_rows)
            cr_assert(guard_holds(got + GUARD + y * pitch + n, PAD), "written behind a row");
    }
    check_guards(got, room);
    free(from);
    free(above);
    free(got);
    free(want);
}

/* Each filter, and each length. */
static size_t check_lengths(UnfilterRows *unfilter)
{
    size_t cases = 0;
    for (size_t p = 0; p < ARRAY_LEN(pixel_sizes); p++)
        for (size_t n = pixel_sizes[p]; n <= MOST; n += pixel_sizes[p])
            for (unsigned filter = 0; filter <= 4; filter++)
                for (unsigned kind = 0; kind < 4; kind++, cases++)
                    check_rows(unfilter, &filter, 1, n, pixel_sizes[p], kind);
    return cases;
}

/* Rows from 2 on, of lengths about those of which some are undone together, with mixed filters. */
static size_t check_mixtures(UnfilterRows *unfilter)
{
    enum { MOST_ROWS = 2 * UNFILTER_ROWS + 3 };
    static const size_t pixels[] = {1,  7,  16, 63, 64, 65, 66,  67, 71,
                                    72, 79, 80, 81, 95, 96, 127, 200};
    static const char mixtures[][6] = {"4", "3", "43", "01234", "34200", "11114", "22334"};
    size_t cases = 0;
    for (size_t p = 0; p < ARRAY_LEN(pixel_sizes); p++)
        for (size_t w = 0; w < ARRAY_LEN(pixels); w++)
            for (size_t n_rows = 2; n_rows <= MOST_ROWS; n_rows++, cases++) {
                const char *const mixture = mixtures[(cases + n_rows) % ARRAY_LEN(mixtures)];
                const size_t length = strlen(mixture);
                unsigned filter[MOST_ROWS];
                for (size_t y = 0; y < n_rows; y++)
                    filter[y] = (unsigned)mixture[(length == 5 ? next_byte() : y) % length] - '0';
                check_rows(unfilter, filter, n_rows, pixels[w] * pixel_sizes[p], pixel_sizes[p],
                           (unsigned)cases % 8 / 2);
            }
    return cases;
}

Test(undo, png_filters)
{
    static UnfilterRows *const of[] = ISA_TABLE(unfilter_rows);
    size_t cases = 0;
    for (size_t level = 0; level < ARRAY_LEN(of); level++)
        if (cpu_features_supports((CpuLevel)level))
            cases += check_lengths(of[level]) + check_mixtures(of[level]);
    printf("%zu rows and groups of rows compared\n", cases);
    cr_assert_gt(cases, 1000);
}

/* Little-endian or big, the words are the host's. */
static uint64_t word(const uint8_t *at, size_t bytes)
{
    uint64_t w64;
    uint32_t w32;
    uint16_t w16;
    switch (bytes) {
    case 1:
        return *at;
    case 2:
        memcpy(&w16, at, 2);
        return w16;
    case 4:
        memcpy(&w32, at, 4);
        return w32;
    default:
        memcpy(&w64, at, 8);
        return w64;
    }
}

static size_t check_sums(RunningSum *sum_up)
{
    size_t cases = 0;
    for (size_t bytes = 1; bytes <= 8; bytes *= 2) {
        for (size_t step = 1; step <= 9; step++) {
            for (size_t n = 0; n + bytes <= MOST; n += bytes, cases++) {
                uint8_t got[MOST + 2 * GUARD], from[MOST];
                guard_fill(got, sizeof got);
                fill(from, n, 0);
                memcpy(got + GUARD, from, n);
                sum_up(got + GUARD, n, bytes, step);
                const uint64_t all = bytes == 8 ? ~(uint64_t)0 : ((uint64_t)1 << 8 * bytes) - 1;
                for (size_t i = 0; i < n; i += bytes) {
                    uint64_t sum = 0;
                    for (size_t k = i / bytes % step * bytes; k <= i; k += step * bytes)
                        sum += word(from + k, bytes);
                    cr_assert_eq(word(got + GUARD + i, bytes), sum & all,
                                 "%zu bytes, step %zu, length %zu: at %zu", bytes, step, n, i);
                }
                check_guards(got, n);
            }
        }
    }
    return cases;
}

Test(undo, running_sums)
{
    static RunningSum *const of[] = ISA_TABLE(running_sum);
    size_t cases = 0;
    for (size_t level = 0; level < ARRAY_LEN(of); level++)
        if (cpu_features_supports((CpuLevel)level))
            cases += check_sums(of[level]);
    printf("%zu rows compared\n", cases);
    cr_assert_gt(cases, 1000);
}

/* Adobe's technical note on predictor 3: bytes of the floats in planes, highest first, then
 * differences of bytes. */
Test(undo, floats)
{
    size_t cases = 0;
    for (size_t bytes = 2; bytes <= 8; bytes *= 2) {
        for (size_t step = 1; step <= 5; step++) {
            for (size_t words = step; words * bytes <= MOST; words += step, cases++) {
                const size_t n = words * bytes;
                uint8_t want[MOST], coded[MOST], scratch[MOST];
                fill(want, n, 0);
                for (size_t w = 0; w < words; w++)
                    for (size_t b = 0; b < bytes; b++)
                        coded[b * words + w] =
                            (uint8_t)(word(want + w * bytes, bytes) >> 8 * (bytes - 1 - b));
                for (size_t i = n; i-- > step;)
                    coded[i] = (uint8_t)(coded[i] - coded[i - step]);
                tiff_predictor_join_floats(coded, n, bytes, step, scratch);
                cr_assert_arr_eq(coded, want, n, "%zu bytes, step %zu, %zu words", bytes, step,
                                 words);
            }
        }
    }
    printf("%zu rows compared\n", cases);
    cr_assert_gt(cases, 100);
}
