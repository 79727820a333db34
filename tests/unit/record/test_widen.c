/* SPDX-License-Identifier: MIT */
/* test_widen.c: counts of 8 bits on the scale of 16. */
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
    cr_assert_eq(record_widen(NULL, &record, NULL), IMGSTAT_OK);
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
