/* SPDX-License-Identifier: MIT */
/* test_record.c: merging is associative and commutative, bit for bit; settling. */
#include "helper_keys.h"

#include <criterion/criterion.h>

/* Few distinct values, so that extrema tie often. */
static void random_tally(Random *random, Tally *tally)
{
    *tally = (Tally){0};
    if (random_next(random) % 5 == 0)
        return;
    tally->n = 1 + random_next(random) % 3;
    if (random_next(random) % 5 == 0) { /* samples, none of them valid */
        tally->min_key = 1;
    } else {
        tally->min_key = random_next(random) % 3;
        tally->max_key = tally->min_key + random_next(random) % 3;
        tally->min_at = random_next(random) % 4;
        tally->max_at = random_next(random) % 4;
    }
    tally->nan = random_next(random) % 9;
    tally->pinf = random_next(random) % 9;
    tally->ninf = random_next(random) % 9;
    tally->nodata = random_next(random) % 9;
    tally->masked = random_next(random) % 9;
    for (int i = 0; i < 2; i++)
        tally->sum[i] = random_next(random);
    for (int i = 0; i < 3; i++)
        tally->sum2[i] = random_next(random);
    tally->sum_overflow = random_next(random) % 2;
    for (int i = 0; i < 20; i++) {
        exact_add(&tally->fsum,
                  ldexp(random_normal(random), (int)(random_next(random) % 2000) - 1000));
        exact_add(&tally->fsum2, random_unit(random));
    }
    exact_normalize(&tally->fsum);
    exact_normalize(&tally->fsum2);
}

static Record *random_record(Random *random, ImgstatSample sample)
{
    Record *record;
    cr_assert_eq(record_create(NULL, sample, 2, RECORD_BINS, &record, NULL), IMGSTAT_OK);
    for (int c = 0; c < 2; c++)
        random_tally(random, &record->tally[c]);
    for (int i = 0; i < 100; i++)
        record->bins[random_next(random) % (2 * sample_record_bins(sample))] +=
            random_next(random) % 5;
    return record;
}

static Record *copy(const Record *record)
{
    Record *out;
    cr_assert_eq(record_create(NULL, record->sample, record->channels, record->parts, &out, NULL),
                 IMGSTAT_OK);
    memcpy(out->tally, record->tally,
           record_bytes(record->sample, record->channels, record->parts));
    return out;
}

static void assert_same(const Record *a, const Record *b)
{
    cr_assert_eq(memcmp(a->tally, b->tally, record_bytes(a->sample, a->channels, a->parts)), 0);
}

static void check_merges(Random *random, ImgstatSample sample)
{
    Record *const a = random_record(random, sample), *const b = random_record(random, sample);
    Record *const c = random_record(random, sample);
    Record *const ab = copy(a), *const ba = copy(b), *const ab_c = copy(a), *const bc = copy(b);
    Record *const a_bc = copy(a), *const same = copy(a);
    Record *empty;
    cr_assert_eq(record_create(NULL, sample, 2, RECORD_BINS, &empty, NULL), IMGSTAT_OK);
    record_merge(ab, b);
    record_merge(ba, a);
    assert_same(ab, ba);
    record_merge(ab_c, b);
    record_merge(ab_c, c);
    record_merge(bc, c);
    record_merge(a_bc, bc);
    assert_same(ab_c, a_bc);
    record_merge(same, empty);
    assert_same(same, a);
    record_merge(empty, a);
    assert_same(empty, a);
    Record *const all[] = {a, b, c, ab, ba, ab_c, bc, a_bc, same, empty};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        record_destroy(all[i]);
}

Test(record, merge_is_a_commutative_monoid)
{
    Random random = {4};
    for (int i = 0; i < 300; i++)
        check_merges(&random, i % 2 ? IMGSTAT_I8 : IMGSTAT_U8);
    for (int i = 0; i < 20; i++)
        check_merges(&random, i % 2 ? IMGSTAT_F32 : IMGSTAT_U64);
}

Test(record, first_position_wins_ties)
{
    Tally a = {.n = 1, .min_key = 5, .max_key = 9, .min_at = 70, .max_at = 3};
    const Tally b = {.n = 2, .min_key = 5, .max_key = 9, .min_at = 60, .max_at = 4};
    tally_merge(&a, &b);
    cr_assert_eq(a.n, 3);
    cr_assert_eq(a.min_at, 60);
    cr_assert_eq(a.max_at, 3);
    const Tally lower = {.n = 1, .min_key = 4, .max_key = 4, .min_at = 900, .max_at = 900};
    tally_merge(&a, &lower);
    cr_assert_eq(a.min_key, 4);
    cr_assert_eq(a.min_at, 900);
    cr_assert_eq(a.max_key, 9);
}

Test(record, sums_carry)
{
    Tally a = {.n = 1, .sum = {UINT64_MAX, 0}, .sum2 = {UINT64_MAX, UINT64_MAX, 7}};
    const Tally b = {.n = 1, .sum = {1, 0}, .sum2 = {1, 0, 0}};
    tally_merge(&a, &b);
    cr_assert(a.sum[0] == 0 && a.sum[1] == 1);
    cr_assert(a.sum2[0] == 0 && a.sum2[1] == 0 && a.sum2[2] == 8);
}

Test(record, settle_sorts_out_halfs)
{
    Record *record;
    cr_assert_eq(record_create(NULL, IMGSTAT_F16, 1, 0, &record, NULL), IMGSTAT_OK);
    const uint16_t raw[] = {0x7E00, 0xFE01, 0xFE01, 0x7C00, 0xFC00, 0xFC00,
                            0xFC00, 0x3C00, 0xC000, 0x8000, 0x5000};
    for (size_t i = 0; i < sizeof raw / sizeof raw[0]; i++)
        record->bins[sample_key(IMGSTAT_F16, raw[i])]++;
    record->tally->n = sizeof raw / sizeof raw[0];
    record->tally->min_at = 8;
    record->tally->masked = 3;
    for (int again = 0; again < 2; again++) { /* settling twice changes nothing */
        record_finalize(record, true, sample_key(IMGSTAT_F16, 0x5000));
        cr_assert_eq(record->tally->n, 3);
        cr_assert_eq(record->tally->nan, 3);
        cr_assert_eq(record->tally->pinf, 1);
        cr_assert_eq(record->tally->ninf, 3);
        cr_assert_eq(record->tally->nodata, 1);
        cr_assert_eq(record->tally->masked, 3);
        cr_assert_eq(record->tally->min_key, sample_key(IMGSTAT_F16, 0xC000));
        cr_assert_eq(record->tally->max_key, sample_key(IMGSTAT_F16, 0x3C00));
        cr_assert_eq(record->tally->min_at, 8);
    }
    uint64_t left = 0;
    for (size_t k = 0; k < 65536; k++)
        left += record->bins[k];
    cr_assert_eq(left, 3);
    record_destroy(record);
}

Test(record, settle_without_valid_samples)
{
    Record *record;
    cr_assert_eq(record_create(NULL, IMGSTAT_U8, 1, 0, &record, NULL), IMGSTAT_OK);
    record->bins[7] = 10;
    record->tally[0] = (Tally){.n = 10, .min_key = 1};
    record_finalize(record, true, 7);
    const Tally expected = {.nodata = 10};
    cr_assert_eq(memcmp(record->tally, &expected, sizeof expected), 0);
    record_destroy(record);
    record_destroy(NULL);
}
