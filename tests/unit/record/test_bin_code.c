/* SPDX-License-Identifier: MIT */
/* test_bin_code.c: bins as bytes and back, how many these are, and bytes that nothing writes. */
#include "record/bin_code.h"

#include "helper_keys.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 65536 };

/* Reads bins [0, n), all 0 so far. */
static BinRange get(ByteReader *reader, uint64_t *bins, size_t n)
{
    SparseBins sparse;
    BinRange range;
    cr_assert(bins_get(reader, n, &sparse, &range));
    for (size_t i = 0; i < sparse.n; i++) {
        cr_assert(sparse.bin[i] < n && (i == 0 || sparse.bin[i] > sparse.bin[i - 1]));
        bins[sparse.bin[i]] = sparse.count[i];
    }
    free(sparse.count);
    return range;
}

/* Writes the bins, reads them back, and returns the bytes they took. */
static size_t code(const uint64_t *bins, size_t n)
{
    uint64_t *const again = calloc(n, sizeof *again);
    ByteWriter writer = {0};
    bins_put(&writer, bins, n);
    cr_assert(again && !writer.failed);
    ByteReader reader = {.at = writer.bytes, .end = writer.bytes + writer.n};
    const BinRange range = get(&reader, again, n);
    cr_assert(!reader.failed && reader.at == reader.end);
    uint64_t sum = 0;
    for (size_t k = 0; k < n; k++)
        sum = bins[k] > UINT64_MAX - sum ? UINT64_MAX : sum + bins[k];
    cr_assert(range.n == sum && (sum == 0 || (bins[range.first] > 0 && bins[range.last] > 0)));
    for (size_t k = 0; k < n && sum > 0; k++)
        cr_assert(bins[k] == 0 || (range.first <= k && k <= range.last));
    cr_assert(memcmp(bins, again, n * sizeof *bins) == 0);
    for (size_t cut = 0; cut < writer.n; cut += 1 + writer.n / 50) {
        ByteReader less = {.at = writer.bytes, .end = writer.bytes + cut};
        memset(again, 0, n * sizeof *again);
        get(&less, again, n);
        cr_assert(less.failed, "%zu of %zu bytes", cut, writer.n);
    }
    free(again);
    free(writer.bytes);
    return writer.n;
}

/* A count about `mean`, as so many photons have it. */
static uint64_t noisy(Random *random, double mean)
{
    const double x = mean + sqrt(mean) * random_normal(random);
    return x < 0 ? 0 : (uint64_t)x;
}

Test(bins, come_back)
{
    static uint64_t bins[BINS];
    Random random = {1};
    cr_assert(code(bins, 256) == 1, "none");
    bins[255] = UINT64_MAX;
    cr_assert(code(bins, 256) < 20);
    for (int round = 0; round < 200; round++) {
        const size_t n = 1 + random_next(&random) % 600;
        const unsigned sparse = (unsigned)(random_next(&random) % 9);
        for (size_t k = 0; k < n; k++) {
            const uint64_t x = random_next(&random);
            bins[k] = random_next(&random) % (1u << sparse) > 0 ? 0 : x >> (x % 64);
        }
        (void)code(bins, n);
    }
}

Test(bins, take_few_bytes)
{
    static uint64_t bins[BINS];
    Random random = {2};
    for (int k = 0; k < 256; k++) /* 24 million pixels of 8 bits */
        bins[k] = noisy(&random, 24e6 / 256 * (1 + sin(k / 40.0)));
    const size_t eight = code(bins, 256);
    memset(bins, 0, sizeof bins);
    for (int k = 0; k < 4096; k++) /* 20 million pixels of 12 bits, in 16 */
        bins[16 * k] = noisy(&random, 20e6 / 4096 * (1 + sin(k / 600.0)));
    const size_t twelve = code(bins, BINS);
    for (int k = 0; k < BINS; k++)
        bins[k] = noisy(&random, 1000);
    const size_t noise = code(bins, BINS);
    for (int k = 0; k < BINS; k++)
        bins[k] = random_next(&random) % 3000;
    const size_t uneven = code(bins, BINS);
    memset(bins, 0, sizeof bins);
    bins[777] = 1000;
    const size_t one = code(bins, BINS);
    for (int k = 0; k < BINS; k++)
        bins[k] = 5;
    const size_t flat = code(bins, BINS);
    fprintf(stderr, "bytes: %zu of 8 bits, %zu of 12 in 16, %zu and %zu of noise, %zu, %zu\n",
            eight, twelve, noise, uneven, one, flat);
    cr_assert(eight <= 1024 && twelve <= 6144 && noise <= 131072 && uneven <= 131072);
    cr_assert(one <= 16 && flat <= 32);
}

/* Bytes that are read but not written so say nothing that others do not say. */
Test(bins, have_one_form)
{
    Random random = {3};
    uint64_t bins[40];
    size_t taken = 0;
    for (int round = 0; round < 300000; round++) {
        uint8_t bytes[24];
        const size_t n = 2 + random_next(&random) % 22;
        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)(random_next(&random) >> (random_next(&random) % 8));
        bytes[0] = (uint8_t)(random_next(&random) % 12);
        ByteReader reader = {.at = bytes, .end = bytes + n};
        memset(bins, 0, sizeof bins);
        get(&reader, bins, 40);
        if (reader.failed)
            continue;
        ByteWriter writer = {0};
        bins_put(&writer, bins, 40);
        cr_assert(writer.n == (size_t)(reader.at - bytes) &&
                  memcmp(writer.bytes, bytes, writer.n) == 0);
        free(writer.bytes);
        taken++;
    }
    cr_assert(taken > 100, "%zu", taken);
}
