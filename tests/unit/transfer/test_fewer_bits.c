/* SPDX-License-Identifier: MIT */
/* test_fewer_bits.c: a transfer of 16 bits, for images of fewer. */
#include "transfer/fewer_bits.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* The transfer that a method makes of the u16 samples in these bins. */
static Transfer *make(const ImgstatMethod *method, const uint64_t counts[3])
{
    const TransferShape shape = {.sample = IMGSTAT_U16, .bits = 16, .channels = 1, .alpha = -1};
    uint64_t *const cdf = malloc(65536 * sizeof *cdf);
    Transfer *transfer;
    Record *record;
    cr_assert_eq(record_create(NULL, IMGSTAT_U16, 1, 0, &record, NULL), IMGSTAT_OK);
    record->bins[1000] = counts[0];
    record->bins[30000] = counts[1];
    record->bins[61000] = counts[2];
    record_finalize(record, false, 0);
    const MapSource source = map_source_counts(record, 0, cdf);
    cr_assert_eq(transfer_create(NULL, method, &shape, &source, NULL, &transfer, NULL), IMGSTAT_OK);
    record_destroy(record);
    free(cdf);
    return transfer;
}

Test(fewer_bits, every_value)
{
    static const uint64_t some[3] = {5, 3, 9}, one[3] = {0, 3, 0};
    static const ImgstatMethod methods[] = {
        {.transform = IMGSTAT_STRETCH, .depth = IMGSTAT_DEPTH_8},
        {.transform = IMGSTAT_EQUALIZE, .depth = IMGSTAT_DEPTH_8},
        {.transform = IMGSTAT_STRETCH, .depth = IMGSTAT_DEPTH_FLOAT}};
    for (size_t i = 0; i < 6; i++) {
        Transfer *const wide = make(&methods[i / 2], i % 2 ? one : some), *narrow;
        cr_assert_eq(transfer_fewer_bits(wide, 8, &narrow, NULL), IMGSTAT_OK);
        cr_assert_eq(narrow->from, IMGSTAT_U8);
        cr_assert_eq(narrow->range.sample, wide->range.sample);
        for (size_t v = 0; v < 256; v++)
            cr_assert_eq(narrow->tables[v], wide->tables[257 * v], "method %zu, %zu", i, v);
        transfer_destroy(narrow);
        cr_assert_eq(transfer_fewer_bits(wide, 4, &narrow, NULL), IMGSTAT_OK);
        cr_assert_eq(narrow->from_bits, 4);
        for (size_t v = 0; v < 16; v++)
            cr_assert_eq(narrow->tables[v], wide->tables[4369 * v], "method %zu, %zu", i, v);
        transfer_destroy(narrow);
        transfer_destroy(wide);
    }
}

/* They were lost, and with them the count of clamped samples. */
Test(fewer_bits, parameters)
{
    static const uint64_t counts[3] = {5, 3, 9};
    static const ImgstatMethod method = {.transform = IMGSTAT_STRETCH};
    Transfer *const wide = make(&method, counts), *narrow;
    cr_assert_eq(transfer_fewer_bits(wide, 8, &narrow, NULL), IMGSTAT_OK);
    const Map *const map = &narrow->maps[0];
    cr_expect(narrow->has_parameters);
    cr_expect_eq(map->kind, MAP_AFFINE);
    cr_expect_eq(map->black, 3); /* 1000 = 3 * 257 + 229 */
    cr_expect_eq(map->black_part, 229.0 / 257.0);
    cr_expect_eq(map->white, 237); /* 61000 = 237 * 257 + 91 */
    cr_expect_eq(map->white_part, 91.0 / 257.0);
    transfer_destroy(narrow);
    transfer_destroy(wide);
}
