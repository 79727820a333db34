/* SPDX-License-Identifier: MIT */
/* test_histogram.c: bins by their definition, sample by sample; the ends of every type. */
#include "helper_keys.h"
#include "record/histogram.h"

#include <criterion/criterion.h>
#include <float.h>
#include <stdlib.h>

/* By comparison of values with edges lo + k w; the last bin is closed. SIZE_MAX: in none. */
static size_t slow_bin(double lo, double hi, uint32_t bins, double x)
{
    if (x < lo || x > hi)
        return SIZE_MAX;
    const double w = (hi - lo) / bins;
    for (uint32_t k = bins - 1; k > 0; k--)
        if (x >= lo + k * w)
            return k;
    return 0;
}

/* Counts of a wide histogram as a device makes them. */
static void count(Histogram *h, Keys *keys, uint16_t channel)
{
    RangeCount range = {.channel = channel, .n_bins = h->bins, .edge = h->edge, .bins = h->counts};
    const ReadRequest pass = {.ranges = &range, .n_ranges = 1};
    const FurtherReads reader = keys_reader(keys);
    cr_assert_eq(reader.read(reader.context, &pass, NULL), IMGSTAT_OK);
}

static size_t check(ImgstatSample sample, const uint64_t *key, size_t n, const ImgstatMeasure *how)
{
    Keys keys = {.sample = sample, .channels = 1, .n = n, .keys = key};
    Record *const record = keys_record(&keys);
    Histogram h;
    cr_assert_eq(histogram_create(NULL, record, 0, 0, how, &h, NULL), IMGSTAT_OK);
    if (!sample_is_narrow(sample))
        count(&h, &keys, 0);
    cr_assert_eq(h.bins, how->bins);
    if (how->has_range)
        cr_assert(h.lo == how->lo && h.hi == how->hi);
    uint64_t *const expected = calloc(h.bins, sizeof *expected);
    for (size_t i = 0; i < n; i++) {
        const size_t k = slow_bin(h.lo, h.hi, h.bins, sample_double(sample, key[i]));
        if (k != SIZE_MAX)
            expected[k]++;
    }
    for (uint32_t k = 0; k < h.bins; k++)
        cr_assert_eq(h.counts[k], expected[k], "%s bin %u of %u", imgstat_sample_name(sample), k,
                     h.bins);
    if (h.per_bin > 0) /* the guess is within a bin */
        for (size_t i = 0; i < n; i++) {
            const size_t k = slow_bin(h.lo, h.hi, h.bins, sample_double(sample, key[i]));
            const double guess = (sample_double(sample, key[i]) - h.lo) * h.per_bin;
            cr_assert(k == SIZE_MAX || fabs(floor(guess) - (double)k) <= 1);
        }
    free(expected);
    histogram_release(&h);
    record_destroy(record);
    return n;
}

static const ImgstatSample types[] = {IMGSTAT_U8,  IMGSTAT_I8,  IMGSTAT_U16, IMGSTAT_I16,
                                      IMGSTAT_F16, IMGSTAT_U32, IMGSTAT_I32, IMGSTAT_F32,
                                      IMGSTAT_U64, IMGSTAT_I64, IMGSTAT_F64};

static uint64_t some_key(Random *random, ImgstatSample sample)
{
    uint64_t key = 0;
    const double x = floor(64 * random_normal(random)) / (random_next(random) % 2 ? 1 : 16);
    if (sample_is_float(sample)) {
        cr_assert(sample_key_of(sample, (ImgstatValue){.sample = IMGSTAT_F64, .as.f = x}, &key));
        return key;
    }
    const uint64_t width = sample_bits(sample), r = random_next(random);
    const uint64_t middle = sample_is_signed(sample) ? (uint64_t)1 << (width - 1) : 100;
    return middle + r % 100 - 50;
}

Test(histogram, by_definition)
{
    enum { N = 400 };
    Random random = {15};
    static uint64_t key[N];
    size_t compared = 0;
    for (size_t s = 0; s < 11; s++) {
        for (int round = 0; round < 60; round++) {
            for (size_t i = 0; i < N; i++)
                key[i] = some_key(&random, types[s]);
            ImgstatMeasure how = {.histogram = true,
                                  .bins = 1 + (uint32_t)(random_next(&random) % 300)};
            how.has_range =
                round % 3 || (s < 4); /* narrow integers without a range have their own */
            how.lo = floor(100 * random_normal(&random)) / 7;
            how.hi = how.lo + (round % 7 ? floor(200 * random_unit(&random)) / 3 : 0);
            compared += check(types[s], key, N, &how);
        }
    }
    cr_assert_eq(compared, 11 * 60 * N);
}

static Histogram create(ImgstatSample sample, Keys *keys, uint8_t bits, const ImgstatMeasure *how)
{
    Histogram h;
    keys->sample = sample;
    keys->channels = 1;
    Record *const record = keys_record(keys);
    cr_assert_eq(histogram_create(NULL, record, 0, bits, how, &h, NULL), IMGSTAT_OK);
    if (!sample_is_narrow(sample))
        count(&h, keys, 0);
    record_destroy(record);
    return h;
}

Test(histogram, one_bin_a_value)
{
    const uint64_t key[] = {0, 5, 5, 15};
    Keys keys = {.n = 4, .keys = key};
    ImgstatMeasure how = {.histogram = true};
    Histogram h = create(IMGSTAT_U8, &keys, 4, &how);
    cr_assert(h.per_value && h.bins == 16 && h.lo == 0 && h.hi == 15);
    cr_assert(h.counts[0] == 1 && h.counts[5] == 2 && h.counts[15] == 1);
    histogram_release(&h);
    h = create(IMGSTAT_U8, &keys, 3, &how); /* a sample has more bits than it should */
    cr_assert(h.bins == 256 && h.counts[15] == 1);
    histogram_release(&h);
    h = create(IMGSTAT_I16, &keys, 0, &how);
    cr_assert(h.per_value && h.bins == 65536 && h.lo == -32768 && h.hi == 32767 &&
              h.counts[5] == 2);
    histogram_release(&h);
    how.bins = 4; /* equal bins over all values */
    h = create(IMGSTAT_U8, &keys, 4, &how);
    cr_assert(!h.per_value && h.bins == 4 && h.lo == 0 && h.hi == 16);
    cr_assert(h.counts[0] == 1 && h.counts[1] == 2 && h.counts[2] == 0 && h.counts[3] == 1);
    histogram_release(&h);
    how = (ImgstatMeasure){.histogram = true, .has_range = true, .lo = -2.5, .hi = 5.5};
    h = create(IMGSTAT_U8, &keys, 0, &how);
    cr_assert(h.per_value && h.lo == -2 && h.hi == 5 && h.bins == 8 && h.counts[2] == 1 &&
              h.counts[7] == 2);
    histogram_release(&h);
    how.lo = 0.2, how.hi = 0.8; /* no value at all */
    h = create(IMGSTAT_U8, &keys, 0, &how);
    cr_assert(!h.per_value && h.bins == 256);
    for (uint32_t k = 0; k < 256; k++)
        cr_assert_eq(h.counts[k], 0);
    histogram_release(&h);
}

static uint64_t total(const Histogram *h)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < h->bins; k++)
        sum += h->counts[k];
    return sum;
}

Test(histogram, range_of_the_samples)
{
    ImgstatMeasure how = {.histogram = true};
    const uint64_t same[] = {key_of_float(2.5f), key_of_float(2.5f), key_of_float(2.5f)};
    Keys keys = {.n = 3, .keys = same};
    Histogram h = create(IMGSTAT_F32, &keys, 0, &how);
    cr_assert(h.bins == 256 && h.lo == 2.5 && h.hi == 2.5 && h.counts[255] == 3 && total(&h) == 3);
    histogram_release(&h);

    keys.n = 0;
    h = create(IMGSTAT_F32, &keys, 0, &how);
    cr_assert(isnan(h.lo) && isnan(h.hi) && total(&h) == 0);
    histogram_release(&h);

    const uint64_t far[] = {key_of_double(-DBL_MAX), key_of_double(0), key_of_double(DBL_MAX)};
    keys = (Keys){.n = 3, .keys = far};
    h = create(IMGSTAT_F64, &keys, 0, &how);
    cr_assert(h.counts[0] == 1 && h.counts[128] == 1 && h.counts[255] == 1 && h.per_bin == 0);
    histogram_release(&h);

    const uint64_t tiny[] = {key_of_double(0), key_of_double(5e-324)};
    keys = (Keys){.n = 2, .keys = tiny};
    h = create(IMGSTAT_F64, &keys, 0, &how);
    cr_assert_eq(total(&h), 2);
    histogram_release(&h);

    const uint64_t half[] = {sample_key(IMGSTAT_F16, 0x3C00), sample_key(IMGSTAT_F16, 0x4000)};
    keys = (Keys){.n = 2, .keys = half};
    h = create(IMGSTAT_F16, &keys, 0, &how);
    cr_assert(h.bins == 256 && h.lo == 1 && h.hi == 2 && h.counts[0] == 1 && h.counts[255] == 1);
    histogram_release(&h);

    /* Near 2^63 doubles are 1,024 apart: the outer edges are the keys, not their doubles. */
    const uint64_t big[] = {((uint64_t)1 << 63) + 3, ((uint64_t)1 << 63) + 5};
    keys = (Keys){.n = 2, .keys = big};
    h = create(IMGSTAT_U64, &keys, 0, &how);
    cr_assert(h.per_bin == 0 && total(&h) == 2);
    histogram_release(&h);
}

Test(histogram, largest_integers)
{
    const uint64_t key[] = {UINT64_MAX, UINT64_MAX - 1, 0, 0};
    Keys keys = {.n = 4, .keys = key};
    ImgstatMeasure how = {.histogram = true, .bins = 2};
    Histogram h = create(IMGSTAT_U64, &keys, 0, &how);
    cr_assert(h.has_top); /* the caller counts the top key by another way */
    cr_assert(h.counts[0] == 2 && h.counts[1] == 1);
    histogram_release(&h);
    how = (ImgstatMeasure){.histogram = true, .bins = 2, .has_range = true, .lo = 0, .hi = 0x1p64};
    h = create(IMGSTAT_U64, &keys, 0, &how);
    cr_assert(h.has_top && h.counts[0] == 2 && h.counts[1] == 1);
    histogram_release(&h);
    how.hi = 0x1p64 - 2048; /* the largest double below */
    h = create(IMGSTAT_U64, &keys, 0, &how);
    cr_assert(!h.has_top && h.counts[0] == 2 && h.counts[1] == 0);
    histogram_release(&h);
    how.lo = 0x1p64, how.hi = 1e30;
    h = create(IMGSTAT_U64, &keys, 0, &how);
    cr_assert(!h.has_top && total(&h) == 0);
    histogram_release(&h);
    how.lo = -5, how.hi = -1;
    h = create(IMGSTAT_U64, &keys, 0, &how);
    cr_assert(!h.has_top && total(&h) == 0);
    histogram_release(&h);
}

/* The largest value went to the last bin also where the range ends far above it. */
Test(histogram, largest_integer_has_its_own_bin)
{
    const uint64_t key[] = {UINT64_MAX};
    Keys keys = {.n = 1, .keys = key};
    ImgstatMeasure how = {.histogram = true, .bins = 8, .has_range = true, .lo = 0, .hi = 0x1p66};
    Histogram h = create(IMGSTAT_U64, &keys, 0, &how);
    cr_assert(h.has_top && h.top_bin == 1); /* bins of 2^63 */
    histogram_release(&h);
    h = create(IMGSTAT_I64, &keys, 0, &how);
    cr_assert(h.has_top && h.top_bin == 0);
    histogram_release(&h);
    how.has_range = false;
    h = create(IMGSTAT_U64, &keys, 0, &how);
    cr_assert(h.has_top && h.top_bin == 7);
    histogram_release(&h);
}

/* Whether double rounds the one value up or down decided on the bin. */
Test(histogram, constant_beyond_double)
{
    for (uint64_t step = 0; step < 2048; step += 511) {
        const uint64_t key[] = {((uint64_t)3 << 61) + step, ((uint64_t)3 << 61) + step};
        Keys keys = {.n = 2, .keys = key};
        const ImgstatMeasure how = {.histogram = true, .bins = 5};
        Histogram h = create(IMGSTAT_U64, &keys, 0, &how);
        cr_assert(h.counts[4] == 2 && total(&h) == 2, "offset %llu", (unsigned long long)step);
        histogram_release(&h);
    }
}

/* All were in the last bin, or in that which the rounding of an edge left: doubles near 2^60 are
 * 256 apart. */
Test(histogram, narrow_range_beyond_double)
{
    enum { N = 41 };
    static const uint64_t first[] = {((uint64_t)1 << 60) + 77, ((uint64_t)1 << 53) + 1,
                                     UINT64_MAX - 2 * N};
    size_t compared = 0;
    for (size_t f = 0; f < sizeof first / sizeof *first; f++) {
        for (uint32_t bins = 1; bins < 300; bins += 7) {
            uint64_t key[N], expected[300] = {0};
            for (uint64_t i = 0; i < N; i++) {
                const uint64_t k = 2 * i * bins / (2 * (N - 1));
                key[i] = first[f] + 2 * i;
                expected[k < bins ? k : bins - 1]++;
            }
            Keys keys = {.n = N, .keys = key};
            const ImgstatMeasure how = {.histogram = true, .bins = bins};
            Histogram h = create(IMGSTAT_U64, &keys, 0, &how);
            for (uint32_t k = 0; k < bins; k++)
                cr_assert_eq(h.counts[k], expected[k], "bin %u of %u", k, bins);
            compared += bins;
            histogram_release(&h);
        }
    }
    cr_assert_gt(compared, 10000);
    const uint64_t top[] = {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 8};
    Keys keys = {.n = 3, .keys = top};
    const ImgstatMeasure how = {.histogram = true, .bins = 4};
    Histogram h = create(IMGSTAT_U64, &keys, 0, &how);
    cr_assert(h.has_top && h.top_bin == 3); /* the caller counts it by another way */
    cr_assert(h.counts[0] == 1 && h.counts[3] == 1 && total(&h) == 2);
    histogram_release(&h);
}

/* Edges rounded to double left the smallest sample out of bin 0: doubles near 2^46 are 64 to one,
 * and near 1e15 eight. */
Test(histogram, bins_finer_than_double)
{
    static const struct {
        double lo, apart;
        uint32_t parts; /* samples are this many parts of it from each other */
    } spans[] = {{79002927605997, 1, 1}, {1e15, 1, 8},
                 {-1e15, 1, 8},          {1e15, 3, 24},
                 {0x1p50 - 1, 2, 4},     {-0x1p50 - 1, 2, 4},
                 {0, 0x1p-1060, 16384},  {-0x1p-1064, 0x1p-1063, 2048}};
    size_t compared = 0;
    for (size_t s = 0; s < sizeof spans / sizeof *spans; s++) {
        const double lo = spans[s].lo, apart = spans[s].apart;
        const uint32_t n = spans[s].parts + 1;
        uint64_t *const key = calloc(n, sizeof *key);
        for (uint32_t i = 0; i < n; i++)
            key[i] = key_of_double(lo + apart * i / (n - 1));
        for (uint32_t bins = n; bins <= 40000; bins = bins * 3 / 2 + 1) {
            const bool asked = bins % 2;
            const ImgstatMeasure how = {
                .histogram = true, .bins = bins, .has_range = asked, .lo = lo, .hi = lo + apart};
            uint64_t *const expected = calloc(bins, sizeof *expected);
            for (uint64_t i = 0; i < n; i++)
                expected[i < n - 1 ? i * bins / (n - 1) : bins - 1]++;
            Keys keys = {.n = n, .keys = key};
            Histogram h = create(IMGSTAT_F64, &keys, 0, &how);
            for (uint32_t k = 0; k < bins; k++)
                cr_assert_eq(h.counts[k], expected[k], "span %zu, bin %u of %u", s, k, bins);
            compared += bins;
            histogram_release(&h);
            free(expected);
        }
        free(key);
    }
    cr_assert_gt(compared, 100000);

    const uint64_t middle = (uint64_t)1 << 63;
    const uint64_t two[] = {middle + 79002927605997, middle + 79002927605998};
    Keys keys = {.n = 2, .keys = two};
    const ImgstatMeasure how = {.histogram = true};
    Histogram h = create(IMGSTAT_I64, &keys, 0, &how);
    cr_assert(h.counts[0] == 1 && h.counts[255] == 1);
    histogram_release(&h);
}

Test(histogram, refuses)
{
    ImgstatError err;
    ImgstatMeasure how = {.histogram = true, .has_range = true, .lo = 1, .hi = 0};
    cr_assert_eq(histogram_check(&how, &err), IMGSTAT_ERR_ARG);
    how.hi = 1;
    cr_assert_eq(histogram_check(&how, &err), IMGSTAT_OK);
    how.hi = (double)INFINITY;
    cr_assert_eq(histogram_check(&how, &err), IMGSTAT_ERR_ARG);
    how.hi = (double)NAN;
    cr_assert_eq(histogram_check(&how, &err), IMGSTAT_ERR_ARG);
    how = (ImgstatMeasure){.bins = HISTOGRAM_MAX_BINS + 1};
    cr_assert_eq(histogram_check(&how, &err), IMGSTAT_ERR_ARG);
}
