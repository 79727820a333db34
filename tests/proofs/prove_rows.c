/* SPDX-License-Identifier: MIT */
/* prove_rows: PNG's filters undone, TIFF's predictors and packed samples, in rows of every length,
 * each in memory of its own, against their definitions. Of Paeth's filter and of floats of 24 bits
 * every value; unpacking moves bits and nothing else, so of packed samples each bit alone. */
#include "base/cpu_features.h"
#include "codec/running_sum.h"
#include "png/filter.h"
#include "tiff/decoder.h"
#include "tiff/predictor.h"

#include "any.h"

#include <math.h>

enum { ROW = 48, BYTES = 256 };

static const size_t pixel_sizes[] = {1, 2, 3, 4, 6, 8};

/* What a row holds where values do not matter. */
static uint8_t *some_bytes(size_t n, unsigned seed)
{
    uint8_t *const bytes = malloc(n + !n);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)((i + 1) * (seed + 37) * 151 >> 3);
    return bytes;
}

static uint8_t paeth(int a, int b, int c)
{
    const int p = a + b - c, pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);
    return (uint8_t)(pa <= pb && pa <= pc ? a : pb <= pc ? b : c);
}

static uint8_t unfiltered(unsigned filter, uint8_t x, uint8_t a, uint8_t b, uint8_t c)
{
    const unsigned guess = filter == 0   ? 0
                           : filter == 1 ? a
                           : filter == 2 ? b
                           : filter == 3 ? (a + b) / 2u
                                         : paeth(a, b, c);
    return (uint8_t)(x + guess);
}

static void unfilter_plainly(unsigned filter, const uint8_t *from, const uint8_t *above,
                             uint8_t *to, size_t n, size_t step)
{
    for (size_t i = 0; i < n; i++)
        to[i] = unfiltered(filter, from[i], i < step ? 0 : to[i - step], above[i],
                           i < step ? 0 : above[i - step]);
}

/* Every loop of this processor. */
static unsigned levels(void)
{
    return (unsigned)cpu_features_level() + 1;
}

/* Undoes the filters of rows, with the loops of a level. */
static void prove_group(unsigned level, const uint8_t *filter, size_t rows, size_t n, size_t step)
{
    static UnfilterRows *const rows_of[] = ISA_TABLE(unfilter_rows);
    uint8_t *const from = some_bytes(rows * (1 + n), 1), *const above = some_bytes(n, 2);
    uint8_t *const to = malloc(rows * n), *const expected = malloc(rows * n);
    for (size_t y = 0; y < rows; y++) {
        from[y * (1 + n)] = filter[y];
        unfilter_plainly(filter[y], from + y * (1 + n) + 1, y ? expected + (y - 1) * n : above,
                         expected + y * n, n, step);
    }
    rows_of[level](&(FilteredRows){from, rows, n, above, to, n}, step);
    demand(memcmp(to, expected, rows * n) == 0, "rows");
    free(from);
    free(above);
    free(to);
    free(expected);
}

static void prove_filters(void)
{
    const size_t step = pixel_sizes[any(6)], n = step * (1 + any(ROW / (unsigned)step));
    const uint8_t filter = (uint8_t)any(5);
    prove_group(any(levels()), &filter, 1, n, step);
}

/* Rows that are undone together: every number of them and every place of their ends. */
static void prove_groups(void)
{
    static const char mixtures[][5] = {{4}, {3, 4, 3, 3, 4}, {4, 0, 1, 4, 2}};
    const size_t step = pixel_sizes[any(6)], n = step * (64 + any(18)), rows = 2 + any(32);
    const char *const mixture = mixtures[any(3)];
    uint8_t filter[33];
    for (size_t y = 0; y < rows; y++)
        filter[y] = (uint8_t)mixture[mixture == mixtures[0] ? 0 : y % 5];
    prove_group(any(levels()), filter, rows, n, step);
}

/* Paeth's filter, or the average, of a and c and every b: two pixels, of which the first makes a.
 */
static void prove_values(void)
{
    const uint8_t a = (uint8_t)any(BYTES), c = (uint8_t)any(BYTES);
    for (unsigned size = 0; size < 6; size += 5)
        for (unsigned filter = 3; filter < 5; filter++) {
            const size_t step = pixel_sizes[size];
            uint8_t line[1 + 32] = {(uint8_t)filter}, *const from = line + 1, above[32],
                             to[32] = {0};
            for (unsigned b = 0; b < BYTES; b += (unsigned)step) {
                for (size_t k = 0; k < step; k++) {
                    above[k] = c;
                    above[step + k] = above[2 * step + k] = (uint8_t)(b + k);
                    from[k] = (uint8_t)(a - (filter == 3 ? c / 2 : c));
                }
                unfilter_rows_portable(&(FilteredRows){line, 1, 3 * step, above, to, 0}, step);
                for (size_t k = 0; k < step; k++)
                    demand(to[step + k] == unfiltered(filter, 0, a, (uint8_t)(b + k), c),
                           "a value");
            }
        }
}

static void prove_sums(void)
{
    static RunningSum *const sum_of[] = ISA_TABLE(running_sum);
    const size_t word = (size_t)1 << any(4), step = 1 + any(9), words = any(ROW);
    const size_t n = words * word;
    uint8_t *const row = some_bytes(n, 4), *const expected = some_bytes(n, 4);
    for (size_t i = step; i < words; i++) {
        uint64_t sum = 0, before = 0;
        memcpy(&sum, expected + i * word, word);
        memcpy(&before, expected + (i - step) * word, word);
        sum += before;
        memcpy(expected + i * word, &sum, word);
    }
    sum_of[any(levels())](row, n, word, step);
    demand(memcmp(row, expected, n) == 0, "a sum");
    free(row);
    free(expected);
}

/* Predictor 3, and what the encoder makes of the floats. */
static void prove_floats(void)
{
    const size_t bytes = (size_t)2 << any(3), step = 1 + any(5), words = step * (1 + any(9));
    const size_t n = bytes * words;
    uint8_t *const row = some_bytes(n, 5), *const was = some_bytes(n, 5),
                   *const scratch = malloc(n);
    const TiffShape shape = {.bits = (uint16_t)(8 * bytes),
                             .predictor = PREDICTOR_FLOATINGPOINT,
                             .per_tile = (uint16_t)step,
                             .row_bytes = n};
    tiff_predictor_encode(&shape, row, scratch);
    tiff_predictor_join_floats(row, n, bytes, step, scratch);
    demand(memcmp(row, was, n) == 0, "floats");
    free(row);
    free(was);
    free(scratch);
}

/* Samples of every width, of which one has one bit. */
static void prove_packed(void)
{
    const unsigned bits = 1 + any(64), n = 1 + any(bound(9, 17)), set = any(n * bits);
    const bool is_signed = bits > 1 && any(2);
    static const ImgstatSample samples[] = {IMGSTAT_U8, IMGSTAT_U16, IMGSTAT_U32, IMGSTAT_U64,
                                            IMGSTAT_I8, IMGSTAT_I16, IMGSTAT_I32, IMGSTAT_I64};
    const unsigned size = bits <= 8 ? 0 : bits <= 16 ? 1 : bits <= 32 ? 2 : 3;
    const size_t bytes = (size_t)1 << size, packed = (n * bits + 7) / 8;
    uint8_t *const from = calloc(1, packed), *const to = malloc(n * bytes);
    from[set / 8] = (uint8_t)(128 >> set % 8);
    const TiffLayout layout = {.bits = (uint16_t)bits};
    tiff_unpack(&layout, samples[size + 4 * is_signed], from, to, n);
    for (unsigned i = 0; i < n; i++) {
        uint64_t is = 0, should = 0;
        memcpy(&is, to + i * bytes, bytes);
        if (set / bits == i)
            should = (uint64_t)1 << (bits - 1 - set % bits);
        if (set == i * bits && is_signed) /* the sign */
            should = (0 - should) & (UINT64_MAX >> (64 - 8 * bytes));
        demand(is == should, "a packed sample");
    }
    free(from);
    free(to);
}

/* 256 of all floats of 24 bits. */
static void prove_floats24(void)
{
    const TiffLayout layout = {.bits = 24};
    const uint32_t high = any(BYTES) << 16 | any(BYTES) << 8;
    for (uint32_t raw = high; raw < high + BYTES; raw++) {
        const uint8_t from[] = {(uint8_t)raw, (uint8_t)(raw >> 8), (uint8_t)(raw >> 16)};
        const int exponent = (int)(raw >> 16 & 127), fraction = (int)(raw & 0xFFFF);
        float is;
        tiff_unpack(&layout, IMGSTAT_F32, from, &is, 1);
        const double size = exponent == 127 ? fraction ? NAN : INFINITY
                            : exponent == 0 ? ldexp(fraction, -62 - 16)
                                            : ldexp(65536 + fraction, exponent - 63 - 16);
        demand(isnan(size) ? isnan(is) : is == (float)(raw >> 23 ? -size : size), "a float");
        demand(!signbit(is) == !(raw >> 23), "a sign");
    }
}

void prove(void)
{
    static void (*const parts[])(void) = {prove_filters, prove_groups, prove_values,  prove_sums,
                                          prove_floats,  prove_packed, prove_floats24};
    parts[any(sizeof parts / sizeof *parts)]();
}
