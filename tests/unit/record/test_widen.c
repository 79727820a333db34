/* SPDX-License-Identifier: MIT */
/* test_widen.c: counts of samples of few bits on the scale of more. */
#include "record/widen.h"

#include <criterion/criterion.h>

Test(widen, every_value)
{
    enum { CHANNELS = 2 };
    Record *record;
    cr_assert_eq(record_create(NULL, IMGSTAT_U8, CHANNELS, 0, &record, NULL), IMGSTAT_OK);
    for (size_t i = 0; i < CHANNELS * 256; i++)
        record->bins[i] = i * i;
    record_finalize(record, false, 0);
    record->tally[1].min_at = 7;
    record->tally[1].masked = 3;
    const uint64_t n[CHANNELS] = {record->tally[0].n, record->tally[1].n};
    cr_assert_eq(record_widen(NULL, &record, 8, 16, NULL), IMGSTAT_OK);
    cr_assert_eq(record->sample, IMGSTAT_U16);
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t v = 0; v < 65536; v++) {
            const size_t i = c * 256 + v / 257;
            cr_assert_eq(record->bins[c * 65536 + v], v % 257 == 0 ? i * i : 0);
        }
    for (size_t c = 0; c < CHANNELS; c++) {
        const Tally before = record->tally[c];
        cr_assert_eq(before.n, n[c]);
        cr_assert_eq(before.min_key, c == 0 ? 257 : 0);
        cr_assert_eq(before.max_key, 65535);
        record_finalize(record, false, 0); /* finds the same in the bins */
        cr_assert_eq(record->tally[c].min_key, before.min_key);
        cr_assert_eq(record->tally[c].max_key, before.max_key);
    }
    cr_assert_eq(record->tally[1].min_at, 7);
    cr_assert_eq(record->tally[1].masked, 3);
    record_destroy(record);
}

Test(widen, common_scales)
{
    static const struct {
        unsigned bits, other, common;
    } cases[] = {{8, 16, 16}, {16, 8, 16}, {1, 2, 2},   {1, 7, 7},    {4, 8, 8},
                 {4, 6, 12},  {3, 5, 15},  {2, 7, 14},  {12, 12, 12}, {8, 12, 0},
                 {10, 12, 0}, {12, 16, 0}, {14, 16, 0}, {4, 10, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(widen_common_bits(cases[i].bits, cases[i].other), cases[i].common, "%u, %u",
                     cases[i].bits, cases[i].other);
    cr_expect_eq(widen_factor(8, 16), 257);
    cr_expect_eq(widen_factor(1, 16), 65535);
    cr_expect_eq(widen_factor(2, 8), 85);
    cr_expect_eq(widen_factor(4, 8), 17);
    cr_expect_eq(widen_factor(4, 12), 273);
}

Test(widen, within_a_type)
{
    Record *record;
    cr_assert_eq(record_create(NULL, IMGSTAT_U8, 1, 0, &record, NULL), IMGSTAT_OK);
    for (size_t v = 0; v < 16; v++)
        record->bins[v] = v + 1;
    record_finalize(record, true, 0);
    cr_assert_eq(record_widen(NULL, &record, 4, 8, NULL), IMGSTAT_OK);
    cr_assert_eq(record->sample, IMGSTAT_U8);
    for (size_t v = 0; v < 256; v++)
        cr_assert_eq(record->bins[v], v > 0 && v % 17 == 0 ? v / 17 + 1 : 0);
    cr_assert_eq(record->tally[0].nodata, 1);
    cr_assert_eq(record->tally[0].min_key, 17);
    cr_assert_eq(record->tally[0].max_key, 255);
    record_destroy(record);
}
