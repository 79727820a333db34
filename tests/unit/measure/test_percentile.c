/* SPDX-License-Identifier: MIT */
/* test_percentile.c: order statistics of wide types against a sorted copy. */
#include "helper_keys.h"
#include "measure/percentile.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { N = 12000, CHANNELS = 2 };

static uint64_t some_key(Random *random, ImgstatSample sample, int pattern)
{
    const uint64_t r = random_next(random);
    const double x = pattern == 0   ? random_normal(random)
                     : pattern == 1 ? floor(10 * random_unit(random))
                     : pattern == 2 ? 1e9 + random_normal(random)
                                    : 4.25;
    switch (sample) {
    case IMGSTAT_F32:
        return key_of_float((float)x);
    case IMGSTAT_F64:
        return key_of_double(x);
    case IMGSTAT_U32:
    case IMGSTAT_I32:
        return pattern == 0 ? (uint32_t)r : (uint32_t)(int64_t)x;
    default:
        return pattern == 0 ? r : pattern == 1 ? UINT64_MAX - r % 9 : (uint64_t)(int64_t)(x * 1e6);
    }
}

/* Reads until nothing is left to find. */
static void search_all(PercentileSearch *search, const FurtherReads *reader)
{
    for (bool more = true; more;) {
        ReadRequest request = {0};
        cr_assert_eq(percentile_search_prepare(search, &request, &more, NULL), IMGSTAT_OK);
        cr_assert_leq(request.n_digits, (size_t)PERCENTILE_COUNTS);
        cr_assert_leq(request.n_gathers, (size_t)PERCENTILE_COUNTS);
        if (!more)
            return;
        cr_assert_eq(reader->read(reader->context, &request, NULL), IMGSTAT_OK);
        cr_assert_eq(percentile_search_advance(search, NULL), IMGSTAT_OK);
    }
}

/* Returns the reads that find one of N sorted keys: one a level after the first read, until few
 * keys have the same leading bits. */
static size_t reads_for(const uint64_t *sorted, uint64_t key, unsigned width)
{
    size_t reads = 0;
    for (unsigned shift = width - 16; shift > 0; shift -= 16) {
        size_t alike = 0;
        for (size_t i = 0; i < N; i++)
            alike += sorted[i] >> shift == key >> shift;
        reads++;
        if (alike <= PERCENTILE_FEW)
            break;
    }
    return reads;
}

static size_t check_all_ranks(ImgstatSample sample, int pattern)
{
    Random random = {100 + (uint64_t)pattern};
    static uint64_t key[CHANNELS * N], sorted[CHANNELS * N];
    for (size_t i = 0; i < CHANNELS * N; i++)
        key[i] = sorted[i] = some_key(&random, sample, pattern);
    for (size_t c = 0; c < CHANNELS; c++)
        qsort(sorted + c * N, N, sizeof sorted[0], keys_compare);
    Keys keys = {.sample = sample, .channels = CHANNELS, .n = N, .keys = key};
    Record *const record = keys_record(&keys);
    static const uint64_t ranks[] = {0,         1,     2,    29,    30,    N / 4,
                                     N / 2 - 1, N / 2, 8888, N - 3, N - 2, N - 1};
    enum { RANKS = sizeof ranks / sizeof ranks[0] };
    OrderStat stat[CHANNELS * RANKS];
    for (size_t i = 0; i < CHANNELS * RANKS; i++)
        stat[i] = (OrderStat){.channel = (uint16_t)(i / RANKS), .rank = ranks[i % RANKS]};
    PercentileSearch search;
    const FurtherReads reader = keys_reader(&keys);
    cr_assert_eq(percentile_search_start(NULL, &search, record, stat, CHANNELS * RANKS, NULL),
                 IMGSTAT_OK);
    search_all(&search, &reader);
    size_t most = 0;
    for (size_t i = 0; i < CHANNELS * RANKS; i++) {
        const uint64_t *const own = sorted + i / RANKS * N, expected = own[ranks[i % RANKS]];
        const size_t reads = reads_for(own, expected, sample_bits(sample));
        most = reads > most ? reads : most;
        cr_assert_eq(stat[i].key, expected);
    }
    cr_assert_eq(keys.reads, most);
    percentile_search_release(&search);
    record_destroy(record);
    return CHANNELS * RANKS;
}

Test(search, finds_every_rank)
{
    static const ImgstatSample wide[] = {IMGSTAT_U32, IMGSTAT_I32, IMGSTAT_F32,
                                         IMGSTAT_U64, IMGSTAT_I64, IMGSTAT_F64};
    size_t compared = 0;
    for (size_t s = 0; s < 6; s++)
        for (int pattern = 0; pattern < 4; pattern++)
            compared += check_all_ranks(wide[s], pattern);
    cr_assert_eq(compared, 6 * 4 * 24);
}

Test(search, narrow_types_need_no_read)
{
    static uint64_t key[N];
    Random random = {12};
    for (size_t i = 0; i < N; i++)
        key[i] = random_next(&random) % 65536;
    Keys keys = {.sample = IMGSTAT_U16, .channels = 1, .n = N, .keys = key};
    Record *const record = keys_record(&keys);
    OrderStat stat[3] = {{.rank = 0}, {.rank = 1234}, {.rank = N - 1}};
    PercentileSearch search;
    cr_assert_eq(percentile_search_start(NULL, &search, record, stat, 3, NULL), IMGSTAT_OK);
    ReadRequest request = {0};
    bool more = true;
    cr_assert_eq(percentile_search_prepare(&search, &request, &more, NULL), IMGSTAT_OK);
    cr_assert(!more);
    qsort(key, N, sizeof key[0], keys_compare);
    cr_assert(stat[0].key == key[0] && stat[1].key == key[1234] && stat[2].key == key[N - 1]);
    percentile_search_release(&search);
    record_destroy(record);
}

/* More order statistics in distinct bins than gathers of one read. */
Test(search, many_at_once)
{
    static uint64_t key[1000];
    static OrderStat stat[1000];
    for (size_t i = 0; i < 1000; i++) {
        key[i] = (uint64_t)i << 20 | i * 7919 % 1024;
        stat[i] = (OrderStat){.rank = i};
    }
    Keys keys = {.sample = IMGSTAT_U32, .channels = 1, .n = 1000, .keys = key};
    Record *const record = keys_record(&keys);
    const FurtherReads reader = keys_reader(&keys);
    PercentileSearch search;
    cr_assert_eq(percentile_search_start(NULL, &search, record, stat, 1000, NULL), IMGSTAT_OK);
    search_all(&search, &reader);
    cr_assert_eq(keys.reads, 8);
    for (size_t i = 0; i < 1000; i++)
        cr_assert_eq(stat[i].key, key[i]);
    percentile_search_release(&search);
    record_destroy(record);
}

/* A file that changes between reads is an error, not a wrong answer or a crash. */
Test(search, notices_other_pixels)
{
    uint64_t key[4] = {1, 2, 3, 4};
    Keys keys = {.sample = IMGSTAT_U32, .channels = 1, .n = 4, .keys = key};
    Record *const record = keys_record(&keys);
    OrderStat stat = {.rank = 3};
    PercentileSearch search;
    cr_assert_eq(percentile_search_start(NULL, &search, record, &stat, 1, NULL), IMGSTAT_OK);
    ReadRequest request = {0};
    bool more = false;
    cr_assert_eq(percentile_search_prepare(&search, &request, &more, NULL), IMGSTAT_OK);
    cr_assert(more && request.n_gathers == 1);
    ImgstatError err;
    cr_assert_eq(percentile_search_advance(&search, &err),
                 IMGSTAT_ERR_IO); /* nothing was counted */
    percentile_search_release(&search);
    stat = (OrderStat){.rank = 4};
    cr_assert_eq(percentile_search_start(NULL, &search, record, &stat, 1, &err), IMGSTAT_ERR_ARG);
    percentile_search_release(&search);
    record_destroy(record);
}
