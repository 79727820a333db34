/* SPDX-License-Identifier: MIT */
/* test_bands.c: rows that are decoded at a time, and those that a region needs. */
#include "codec/bands.h"

#include <criterion/criterion.h>

enum { MIB = 1 << 20 };

static bool tiles_begin(Decoder *decoder, unsigned threads)
{
    (void)decoder;
    return threads > 0;
}

static const Codec streams = {.name = "streams"};
static const Codec tiles = {.name = "tiles", .tiles_begin = tiles_begin};

static Decoder decoder_of(const Codec *codec, uint32_t height, uint32_t unit, uint32_t seeks)
{
    return (Decoder){
        .codec = codec,
        .page = {.width = 100, .height = height, .channels = 1, .mask = IMGSTAT_NO_PAGE},
        .caps = {.band_rows = unit, .unit_rows = seeks}};
}

Test(bands, are_whole_rows_of_tiles)
{
    static const struct {
        const Codec *codec;
        uint32_t height, unit;
        size_t row_bytes;
        uint32_t rows;
    } rows[] = {
        {&tiles, 10000, 1, 4 * MIB / 1000, 1000}, /* 4,194 bytes; 1,000 rows are within 4 MiB */
        {&tiles, 10000, 256, 4 * MIB / 1000, 768},
        {&tiles, 10000, 2000, 4 * MIB / 1000, 2000},
        {&tiles, 700, 256, 4 * MIB / 1000, 700},
        {&streams, 10000, 1, MIB / 500, 500},
        {&streams, 10, 1, MIB / 500, 10},
        {&tiles, 10000, 16, 64 * (size_t)MIB, 16},
        {&tiles, 10000, 16, 0, 10000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Decoder decoder = decoder_of(rows[i].codec, rows[i].height, rows[i].unit, 0);
        const uint32_t got = bands_rows(&decoder, rows[i].row_bytes);
        cr_expect_eq(got, rows[i].rows, "%zu: %u rows", i, got);
    }
}

Test(bands, hold_a_region)
{
    static const struct {
        uint32_t height, seeks, y, n, rows, first, end;
    } cases[] = {
        {1000, 10, 0, 1, 100, 0, 100},
        {1000, 10, 99, 2, 100, 0, 200},
        {1000, 10, 100, 100, 100, 100, 200},
        {1000, 10, 100, 101, 100, 100, 300},
        {950, 10, 901, 49, 100, 900, 950},
        {1000, 0, 500, 1, 100, 0, 600},
        {1000, 0, 999, 1, 300, 0, 1000},
        {UINT32_MAX, 1, UINT32_MAX - 1, 1, 7, 4294967292, UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Decoder decoder = decoder_of(&tiles, cases[i].height, 1, cases[i].seeks);
        const ImgstatRegion region = {3, cases[i].y, 5, cases[i].n};
        RowRange range = bands_of_region(&decoder, &region, cases[i].rows);
        cr_expect_eq(range.first, cases[i].first, "%zu: from %u", i, range.first);
        cr_expect_eq(range.first + range.n, cases[i].end, "%zu: %u rows", i, range.n);
        decoder.page.mask = 1; /* whose rows are read beside */
        range = bands_of_region(&decoder, &region, cases[i].rows);
        cr_expect(range.first == 0 && range.n == cases[i].end, "%zu with a mask", i);
    }
}
