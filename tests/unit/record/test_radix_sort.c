/* SPDX-License-Identifier: MIT */
/* test_radix_sort.c: keys of every kind sorted by one thread and by several, against qsort. */
#include "helper_keys.h"
#include "record/radix_sort.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 700001 };

static uint64_t some_key(Random *random, unsigned kind, size_t i)
{
    const uint64_t r = random_next(random);
    switch (kind) {
    case 0:
        return r;
    case 1:
        return r % 5;
    case 2:
        return 0xC059000000000000u | r >> 20; /* a common beginning */
    case 3:
        return 77;
    case 4:
        return i; /* sorted */
    default:
        return r % 1000 ? 1u << 20 | r % 4096 : r; /* nearly all in one bucket */
    }
}

Test(key_sort, like_qsort)
{
    static const size_t length[] = {0, 1, 2, 1000, 131071, 131072, 200003, MOST};
    uint64_t *const keys = malloc(MOST * sizeof *keys), *const spare = malloc(MOST * sizeof *keys);
    uint64_t *const expected = malloc(MOST * sizeof *keys);
    Random random = {.state = 20261121};
    size_t compared = 0;
    for (unsigned threads = 1; threads <= 4; threads++) {
        ThreadPool *pool = NULL;
        cr_assert_eq(thread_pool_create(threads, &pool, NULL), IMGSTAT_OK);
        for (unsigned kind = 0; kind < 6; kind++) {
            for (size_t l = 0; l < sizeof length / sizeof *length; l++) {
                const size_t n = length[l];
                for (size_t i = 0; i < n; i++)
                    keys[i] = expected[i] = some_key(&random, kind, i);
                qsort(expected, n, sizeof *expected, keys_compare);
                const uint64_t *const got =
                    keys_sort_together(threads == 1 ? NULL : pool, NULL, keys, spare, n);
                cr_assert(got == keys || got == spare);
                cr_assert_eq(memcmp(got, expected, n * sizeof *got), 0, "kind %u, %zu keys", kind,
                             n);
                compared += n;
            }
        }
        thread_pool_destroy(pool);
    }
    cr_assert_gt(compared, 10 * MOST);
    free(keys);
    free(spare);
    free(expected);
}
