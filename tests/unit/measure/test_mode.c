/* SPDX-License-Identifier: MIT */
/* test_mode.c: the mode of wide types against a sorted copy, with room for few and many keys. */
#include "helper_keys.h"
#include "measure/mode.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { N = 5000 };

static uint64_t slow_mode(const uint64_t *key, size_t n)
{
    static uint64_t sorted[N];
    memcpy(sorted, key, n * sizeof *key);
    qsort(sorted, n, sizeof *sorted, keys_compare);
    uint64_t best = sorted[0];
    size_t most = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && sorted[end] == sorted[i]; end++) {
        }
        if (end - i > most) {
            most = end - i;
            best = sorted[i];
        }
    }
    return best;
}

static void check(Keys *keys, size_t room)
{
    enum { MOST_RANGES = 64 };
    Record *const record = keys_record(keys);
    FurtherReads reads = keys_reader(keys);
    reads.room = room;
    keys->gathered_most = keys->ranges_most = 0;
    for (uint16_t c = 0; c < keys->channels; c++) {
        uint64_t mode = 0;
        ImgstatError err = {0};
        cr_assert_eq(mode_find(record, c, reads, &mode, &err), IMGSTAT_OK, "%s", err.message);
        cr_assert_eq(mode, slow_mode(keys->keys + c * keys->n, keys->n), "room %zu", room);
    }
    cr_assert_leq(keys->gathered_most, room);
    cr_assert_leq(keys->ranges_most, MOST_RANGES);
    record_destroy(record);
}

static uint64_t some_key(Random *random, ImgstatSample sample, int pattern)
{
    const uint64_t r = random_next(random);
    uint64_t key;
    switch (pattern) {
    case 0:
        key = r; /* hardly a value twice */
        break;
    case 1:
        key = key_of_double(floor(50 * random_normal(random)));
        break;
    case 2:
        key = key_of_double(random_normal(random));
        break;
    case 3:
        key = UINT64_MAX - r % 3;
        break;
    case 4:
        key = r % 4 ? (uint64_t)5 << 61 | r % 3000 : r; /* most share all but the last digit */
        break;
    default:
        key = (r % 40) << 58 | r % 7; /* ties between far bins */
        break;
    }
    return sample_bits(sample) == 32 ? key >> 32 : key;
}

Test(mode, smallest_most_frequent_value)
{
    static uint64_t key[2 * N];
    static const size_t sizes[] = {1, 2, 3, 100, N}, rooms[] = {1, 64, 1000, N, MODE_KEYS};
    static const ImgstatSample wide[] = {IMGSTAT_U32, IMGSTAT_F64};
    size_t compared = 0;
    for (int pattern = 0; pattern < 6; pattern++) {
        for (size_t i = 0; i < 50; i++) {
            Random random = {13 + i};
            const size_t n = sizes[i / 10], room = rooms[i / 2 % 5];
            if (n == N && room < 1000) /* thousands of slow reads */
                continue;
            for (size_t k = 0; k < 2 * n; k++)
                key[k] = some_key(&random, wide[i % 2], pattern);
            Keys keys = {.sample = wide[i % 2], .channels = 2, .n = n, .keys = key};
            check(&keys, room);
            compared++;
        }
    }
    cr_assert_gt(compared, 250);
}

Test(mode, one_value_needs_no_read)
{
    static uint64_t key[N];
    for (size_t i = 0; i < N; i++)
        key[i] = key_of_double(2.5);
    Keys keys = {.sample = IMGSTAT_F64, .channels = 1, .n = N, .keys = key};
    check(&keys, MODE_KEYS);
    cr_assert_eq(keys.reads, 0);
}

Test(mode, two_values_need_few_reads)
{
    static uint64_t key[N];
    for (size_t i = 0; i < N; i++)
        key[i] = key_of_double(i % 3 ? 2.5 : 2.75);
    Keys keys = {.sample = IMGSTAT_F64, .channels = 1, .n = N, .keys = key};
    check(&keys, MODE_KEYS);
    cr_assert_eq(keys.reads, 1);
    keys.reads = 0;
    check(&keys, 100);
    cr_assert_eq(keys.reads, 3); /* the fuller bin, split down to whole keys, rules out the other */
}
