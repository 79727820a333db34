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

static size_t check_filters(UnfilterRow *unfilter)
{
    static const size_t pixels[] = {1, 2, 3, 4, 6, 8};
    size_t cases = 0;
    for (size_t p = 0; p < sizeof pixels / sizeof *pixels; p++) {
        for (size_t n = pixels[p]; n <= MOST; n += pixels[p]) {
            for (unsigned filter = 0; filter <= 4; filter++) {
                for (unsigned kind = 0; kind < 4; kind++, cases++) {
                    /* Exactly as large as they may be read. */
                    uint8_t *const from = malloc(n), *const above = malloc(n);
                    uint8_t got[MOST + 2 * GUARD], want[MOST];
                    guard_fill(got, sizeof got);
                    fill(from, n, kind);
                    fill(above, n, kind ^ (n & 1));
                    naive_png(filter, from, above, want, n, pixels[p]);
                    unfilter(filter, from, above, got + GUARD, n, pixels[p]);
                    cr_assert_arr_eq(got + GUARD, want, n, "filter %u, %zu bytes a pixel, %zu",
                                     filter, pixels[p], n);
                    check_guards(got, n);
                    free(from);
                    free(above);
                }
            }
        }
    }
    return cases;
}

Test(undo, png_filters)
{
    static UnfilterRow *const of[] = ISA_TABLE(unfilter_row);
    size_t cases = 0;
    for (size_t level = 0; level < ARRAY_LEN(of); level++)
        if (cpu_features_supports((CpuLevel)level))
            cases += check_filters(of[level]);
    printf("%zu rows compared\n", cases);
    cr_assert_gt(cases, 1000);
}

static size_t check_paeth_rows(UnfilterRows *unfilter)
{
    size_t cases = 0;
    for (size_t step = 1; step <= 4; step += step == 1 ? 2 : 1) {
        for (size_t n = step; n <= MOST; n += step) {
            for (unsigned kind = 0; kind < 4; kind++, cases++) {
                uint8_t *const from = malloc(n), *const below = malloc(n), *const above = malloc(n);
                uint8_t got[MOST + 2 * GUARD], got_below[MOST + 2 * GUARD], want[MOST],
                    want_below[MOST];
                guard_fill(got, sizeof got);
                guard_fill(got_below, sizeof got_below);
                fill(from, n, kind);
                fill(below, n, kind);
                fill(above, n, kind ^ (n & 1));
                naive_png(4, from, above, want, n, step);
                naive_png(4, below, want, want_below, n, step);
                unfilter(from, below, above, got + GUARD, got_below + GUARD, n, step);
                cr_assert_arr_eq(got + GUARD, want, n, "%zu bytes a pixel, %zu", step, n);
                cr_assert_arr_eq(got_below + GUARD, want_below, n, "%zu bytes a pixel, %zu: below",
                                 step, n);
                check_guards(got, n);
                check_guards(got_below, n);
                free(from);
                free(below);
                free(above);
            }
        }
    }
    return cases;
}

Test(undo, paeth_rows)
{
    static UnfilterRows *const of[] = ISA_TABLE(unfilter_paeth_rows);
    size_t cases = 0;
    for (size_t level = 0; level < ARRAY_LEN(of); level++)
        if (cpu_features_supports((CpuLevel)level))
            cases += check_paeth_rows(of[level]);
    printf("%zu pairs of rows compared\n", cases);
    cr_assert_gt(cases, 500);
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
