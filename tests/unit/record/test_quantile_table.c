/* SPDX-License-Identifier: MIT */
/* test_quantile_table.c: order statistics of keys in any order are those of the same keys in
 * ascending order. */
#include "helper_keys.h"
#include "record/quantile_table.h"
#include "support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 200001, SMALL = 400, KINDS = 10 };

static uint64_t some_key(Random *random, unsigned kind, size_t i, size_t n)
{
    const uint64_t r = random_next(random);
    switch (kind) {
    case 0:
        return r;
    case 1:
        return r % 5;
    case 2:
        return 0xC059C05900000000u | r >> 50; /* a common beginning */
    case 3:
        return UINT64_MAX;
    case 4:
        return i; /* sorted */
    case 5:
        return n - i; /* reversed */
    case 6:
        return i < n / 2 ? i : n - i;
    case 7:
        return r % 1000 ? 1u << 20 | r % 4096 : r; /* nearly all in few places */
    case 8:
        return i + 1 == n ? 3 : UINT64_MAX - r % 2; /* all but one */
    default:
        return r % 64 ? (r % 7) << 40 : r; /* steps, and what lies between */
    }
}

typedef struct Arrays {
    uint64_t *keys, *sorted, *piece, *spare;
} Arrays;

static Arrays arrays_make(void)
{
    const size_t bytes = MOST * sizeof(uint64_t);
    return (Arrays){malloc(bytes), malloc(bytes), malloc(bytes), malloc(bytes)};
}

static void arrays_free(Arrays *a)
{
    free(a->keys);
    free(a->sorted);
    free(a->piece);
    free(a->spare);
}

static RankTable *table_of_sorted(const uint64_t *sorted, size_t n)
{
    RankBuilder builder;
    cr_assert_eq(rank_builder_init(NULL, &builder, n, NULL), IMGSTAT_OK);
    for (size_t i = 0; i < n; i++)
        rank_builder_add(&builder, sorted[i], 1);
    RankTable *const table = rank_builder_finish(&builder, NULL);
    rank_builder_release(&builder);
    return table;
}

/* In up to `pieces` pieces, each of which has all keys from a limit to the next. */
static RankTable *table_of_pieces(const Arrays *a, size_t n, size_t pieces, ThreadPool *pool)
{
    RankBuilder builder;
    cr_assert_eq(rank_builder_init(NULL, &builder, n, NULL), IMGSTAT_OK);
    for (size_t p = 0, begin = 0; begin < n; p++) {
        size_t end = p + 1 < pieces ? begin + (n - begin) / (pieces - p) : n, found = 0;
        while (end < n && end > 0 && a->sorted[end] == a->sorted[end - 1])
            end++;
        for (size_t i = 0; end > begin && i < n; i++)
            if (a->keys[i] >= a->sorted[begin] && a->keys[i] <= a->sorted[end - 1])
                a->piece[found++] = a->keys[i];
        cr_assert_eq(found, end - begin);
        if (found > 0)
            rank_builder_add_keys(&builder, a->piece, a->spare, found, a->sorted[end - 1], pool);
        begin = end;
    }
    RankTable *const table = rank_builder_finish(&builder, NULL);
    rank_builder_release(&builder);
    return table;
}

static size_t check_keys(Random *random, const Arrays *a, unsigned kind, size_t n, unsigned bits,
                         ThreadPool *pool)
{
    const unsigned shift = kind >= 4 && kind <= 6 ? 0 : 64 - bits;
    for (size_t i = 0; i < n; i++)
        a->keys[i] = a->sorted[i] = some_key(random, kind, i, n) >> shift;
    qsort(a->sorted, n, sizeof *a->sorted, keys_compare);
    RankTable *const expected = table_of_sorted(a->sorted, n);
    for (size_t pieces = 1; pieces <= 3; pieces++) {
        RankTable *const table = table_of_pieces(a, n, pieces, pieces == 2 ? NULL : pool);
        cr_assert_eq(table->n_knots, expected->n_knots, "kind %u, %zu keys of %u bits", kind, n,
                     bits);
        for (uint32_t k = 0; k < table->n_knots; k++) {
            const RankKnot *const knot = &table->knots[k], *const wanted = &expected->knots[k];
            cr_assert(knot->key == wanted->key && knot->below == wanted->below &&
                          knot->upto == wanted->upto,
                      "kind %u, %zu keys of %u bits: knot %u", kind, n, bits, k);
        }
        rank_table_destroy(table);
    }
    rank_table_destroy(expected);
    return 3 * n;
}

Test(rank_keys, like_sorted_keys)
{
    static const size_t large[] = {4096, 65537, MOST};
    Arrays arrays = arrays_make();
    ThreadPool *pool = NULL;
    cr_assert_eq(thread_pool_create(3, &pool, NULL), IMGSTAT_OK);
    Random random = {.state = 20261122};
    size_t compared = 0;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        for (size_t n = 1; n < SMALL; n++)
            compared +=
                check_keys(&random, &arrays, kind, n, 8 + (unsigned)(n + 7 * kind) % 57, pool);
        for (size_t l = 0; l < sizeof large / sizeof *large; l++)
            for (unsigned bits = 32; bits <= 64; bits += 32)
                compared += check_keys(&random, &arrays, kind, large[l], bits, pool);
    }
    fprintf(stderr, "rank_keys: %zu keys compared\n", compared);
    cr_assert_gt(compared, (size_t)KINDS * MOST);
    thread_pool_destroy(pool);
    arrays_free(&arrays);
}
