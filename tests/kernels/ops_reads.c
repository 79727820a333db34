/* SPDX-License-Identifier: MIT */
/* ops_reads.c: reads beyond the first one and scans, whose results are words, on both devices. */
#include "ops_reads.h"
#include "device_calls.h"
#include "ops_images.h"
#include "transfer/transfer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void compare_words(const uint64_t *a, const uint64_t *b, size_t n, const char *what)
{
    ops.cases++;
    ops.compared += n * 8;
    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i]) {
            complain("%s: %zu: cpu %llx, cuda %llx", what, i, (unsigned long long)a[i],
                     (unsigned long long)b[i]);
            return;
        }
    }
}

static void check_digits(const TestImage *image)
{
    const ImgstatSample sample = image->shape.sample;
    static uint64_t bins[2][2][65536];
    DigitCount count[2][2];
    memset(bins, 0, sizeof bins);
    const uint64_t key = test_image_key(image);
    for (int d = 0; d < 2; d++) {
        for (int k = 0; k < 2; k++) {
            const uint32_t steps = sample_bits(sample) / 16;
            const uint32_t step = k == 0 ? steps - 1 : (uint32_t)(key % steps);
            count[d][k] = (DigitCount){.channel = (uint16_t)(image->shape.channels - 1)};
            count[d][k].shift = (uint8_t)(16 * step);
            count[d][k].prefix = step == steps - 1 ? 0 : key >> (16 * (step + 1));
            count[d][k].bins = bins[d][k];
        }
    }
    must(device_count_digits(ops.cpu, &image->cpu, count[0], 2, &ops.error));
    must(device_count_digits(ops.cuda, &image->cuda, count[1], 2, &ops.error));
    char what[160];
    shape_text(&image->shape, "count_digits", what, sizeof what);
    compare_words(bins[0][0], bins[1][0], 2 * 65536, what);
}

static int compare_keys(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void check_range(const TestImage *image)
{
    enum { MOST = 70000 };
    const ImgstatSample sample = image->shape.sample;
    uint64_t *edge = malloc((MOST + 1) * sizeof *edge);
    uint64_t *bins = calloc(2 * MOST, sizeof *bins);
    if (!edge || !bins)
        fail("out of memory");
    const uint32_t n = (uint32_t[]){1, 2, 256, 1000, MOST}[below(5)];
    /* Edges around two keys of the image, by value where a guess can be made. */
    uint64_t a = test_image_key(image), b = test_image_key(image);
    if (a > b) {
        const uint64_t t = a;
        a = b;
        b = t;
    }
    RangeCount count[2] = {{.n_bins = n, .edge = edge}, {.n_bins = n, .edge = edge}};
    const double lo = sample_double(sample, a), hi = sample_double(sample, b);
    const bool guess = isfinite(lo) && isfinite(hi) && hi > lo && isfinite(hi - lo) && below(3);
    if (guess) {
        for (uint32_t i = 0; i <= n; i++)
            edge[i] = sample_key_ceil(sample, lo + (hi - lo) * ((double)i / n));
    } else {
        for (uint32_t i = 0; i <= n; i++)
            edge[i] = a + (uint64_t)((double)(b - a) * ((double)i / n));
    }
    edge[0] = a;
    for (uint32_t i = 1; i <= n; i++)
        edge[i] = edge[i] < edge[i - 1] ? edge[i - 1] : edge[i];
    for (int d = 0; d < 2; d++) {
        count[d].channel = (uint16_t)(image->shape.channels - 1);
        count[d].lo = lo;
        count[d].per_bin = guess ? n / (hi - lo) : 0;
        count[d].bins = bins + (size_t)d * MOST;
    }
    if (guess && !isfinite(count[0].per_bin))
        count[0].per_bin = count[1].per_bin = 0;
    must(device_count_range(ops.cpu, &image->cpu, &count[0], 1, &ops.error));
    must(device_count_range(ops.cuda, &image->cuda, &count[1], 1, &ops.error));
    char what[160];
    shape_text(&image->shape, "count_range", what, sizeof what);
    compare_words(bins, bins + MOST, n, what);
    free(edge);
    free(bins);
}

static void check_gather(const TestImage *image)
{
    const size_t capacity = (size_t)image->shape.width * image->shape.height + 1;
    uint64_t *keys = malloc(2 * capacity * sizeof *keys);
    if (!keys)
        fail("out of memory");
    KeyGather gather[2];
    const uint64_t a = test_image_key(image), b = test_image_key(image);
    for (int d = 0; d < 2; d++) {
        gather[d] = (KeyGather){.channel = 0, .lo = a < b ? a : b, .hi = a < b ? b : a};
        gather[d].keys = keys + (size_t)d * capacity;
        gather[d].capacity = capacity;
    }
    must(device_gather(ops.cpu, &image->cpu, &gather[0], 1, &ops.error));
    must(device_gather(ops.cuda, &image->cuda, &gather[1], 1, &ops.error));
    char what[160];
    shape_text(&image->shape, "gather", what, sizeof what);
    if (gather[0].n != gather[1].n)
        complain("%s: cpu %zu keys, cuda %zu", what, gather[0].n, gather[1].n);
    for (int d = 0; d < 2; d++)
        qsort(gather[d].keys, gather[d].n, sizeof *keys, compare_keys);
    compare_words(gather[0].keys, gather[1].keys,
                  gather[0].n < gather[1].n ? gather[0].n : gather[1].n, what);
    /* Too little room is an error on both. */
    if (gather[0].n > 0) {
        for (int d = 0; d < 2; d++) {
            gather[d].capacity = gather[0].n - 1;
            gather[d].n = 0;
        }
        gather[1].capacity = gather[0].capacity;
        if (device_gather(ops.cpu, &image->cpu, &gather[0], 1, NULL) != IMGSTAT_ERR_IO ||
            device_gather(ops.cuda, &image->cuda, &gather[1], 1, NULL) != IMGSTAT_ERR_IO)
            complain("%s: more keys than there is room for, and no error", what);
    }
    free(keys);
}

/* The runs that the ranks of all steps are in, by sorting all keys. */
static void plain_runs(uint64_t *keys, size_t n, RankKnot *runs)
{
    qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t j = 0; j <= RANK_STEPS; j++) {
        const size_t rank = (size_t)((uint64_t)(n - 1) * j / RANK_STEPS);
        size_t below = rank, upto = rank + 1;
        if (j > 0 && runs[j - 1].upto > rank) { /* the same run */
            runs[j] = runs[j - 1];
            continue;
        }
        while (below > 0 && keys[below - 1] == keys[rank])
            below--;
        while (upto < n && keys[upto] == keys[rank])
            upto++;
        runs[j] = (RankKnot){keys[rank], below, upto};
    }
}

/* Two bands; n: what sort_begin is told. */
static ImgstatResult sort_bands(const TestImage *image, uint16_t channel, uint64_t n, bool *sorts,
                                uint64_t *taken, RankKnot *runs)
{
    const uint32_t rows = image->shape.height, first = 1 + rows / 3;
    const ImagePro high = image_band(&image->cuda, 0, first);
    const ImagePro low = image_band(&image->cuda, first, rows - first);
    must(ops.cuda->ops->sort_begin(ops.cuda, image->shape.sample, n, sorts, &ops.error));
    if (!*sorts)
        return IMGSTAT_OK;
    must(device_sort_add(ops.cuda, &low, channel, &ops.error));
    must(device_sort_add(ops.cuda, &high, channel, &ops.error));
    return ops.cuda->ops->sort_end(ops.cuda, taken, runs, &ops.error);
}

static void check_sort(const TestImage *image)
{
    enum { FEW = 1000 };
    static RankKnot runs[2][RANK_STEPS + 1];
    const uint16_t channel = (uint16_t)below(image->shape.channels);
    const size_t capacity = (size_t)image->shape.width * image->shape.height;
    KeyGather gather = {.channel = channel, .hi = UINT64_MAX, .capacity = capacity};
    char what[160];
    bool sorts;
    uint64_t taken = 0;
    shape_text(&image->shape, "sort", what, sizeof what);
    gather.keys = malloc(capacity * sizeof *gather.keys);
    if (!gather.keys)
        fail("out of memory");
    must(device_gather(ops.cpu, &image->cpu, &gather, 1, &ops.error));
    const size_t n = gather.n;
    memset(runs[1], 0xA5, sizeof runs[1]);
    must(sort_bands(image, channel, n, &sorts, &taken, runs[1]));
    if (sorts) {
        plain_runs(gather.keys, n, runs[0]);
        if (taken != n)
            complain("%s: %zu keys, cuda %llu", what, n, (unsigned long long)taken);
        compare_words(&runs[0][0].key, &runs[1][0].key, sizeof runs[0] / 8, what);
        /* Other pixels than were counted are found out, whether there is room for them or not. */
        for (int d = -1; d <= 1; d += 2) {
            must(sort_bands(image, channel, n + (size_t)(int64_t)d, &sorts, &taken, runs[1]));
            if (!sorts || taken != n)
                complain("%s: %zu keys, cuda %llu of %zu", what, n, (unsigned long long)taken,
                         n + (size_t)(int64_t)d);
        }
        must(ops.cuda->ops->sort_begin(ops.cuda, image->shape.sample, n, &sorts, &ops.error));
        if (ops.cuda->ops->sort_begin(ops.cuda, image->shape.sample, n, &sorts, NULL) !=
            IMGSTAT_ERR_ARG)
            complain("%s: begun twice, and no error", what);
        must(ops.cuda->ops->sort_end(ops.cuda, NULL, NULL, &ops.error));
    } else if (n > capacity / 2) {
        complain("%s: %zu keys are not sorted", what, n);
    }
    must(ops.cuda->ops->sort_begin(ops.cuda, image->shape.sample, FEW, &sorts, &ops.error));
    if (sorts || ops.cuda->ops->sort_end(ops.cuda, &taken, runs[1], NULL) != IMGSTAT_ERR_ARG)
        complain("%s: few keys are sorted", what);
    free(gather.keys);
}

void test_sort(void)
{
    for (int s = IMGSTAT_U32; s <= IMGSTAT_F64; s++) {
        for (int k = 0; k < (ops.small ? 2 : 24); k++) {
            Shape shape = {.sample = (ImgstatSample)s, .channels = (uint16_t)(1 + below(3))};
            shape.width = 400 + below(ops.small ? 10 : 3000);
            shape.height = 210 + below(ops.small ? 10 : 300);
            shape.pattern = (Pattern)below(PATTERNS);
            shape.mask = below(4) == 0;
            shape.nodata = below(4) == 0;
            shape.gap = below(3) ? 0 : below(30);
            shape.shift = below(3) ? 0 : below(16);
            TestImage image = test_image_create(&shape, below(3) > 0);
            check_sort(&image);
            test_image_destroy(&image);
        }
    }
}

static void check_central(const TestImage *image)
{
    enum { MOST = 8 };
    static Central central[2][MOST];
    double center[MOST];
    memset(central, 0, sizeof central);
    for (int c = 0; c < MOST; c++) {
        const double v = sample_double(image->shape.sample, test_image_key(image));
        center[c] = isfinite(v) ? v : 1.5;
    }
    must(device_central(ops.cpu, &image->cpu, center, central[0], &ops.error));
    must(device_central(ops.cuda, &image->cuda, center, central[1], &ops.error));
    char what[160];
    shape_text(&image->shape, "central", what, sizeof what);
    compare_words((const uint64_t *)(void *)central[0], (const uint64_t *)(void *)central[1],
                  image->shape.channels * sizeof(Central) / 8, what);
}

void test_reads(void)
{
    for (int s = IMGSTAT_U32; s <= IMGSTAT_F64; s++) {
        for (int k = 0; k < (ops.small ? 3 : 24); k++) {
            Shape shape = {.sample = (ImgstatSample)s, .channels = (uint16_t)(1 + below(5))};
            shape.width = k == 0 ? 1 : 1 + below(ops.small ? 200 : 5000);
            shape.height = 1 + below(ops.small ? 9 : 90);
            shape.pattern = (Pattern)below(PATTERNS);
            shape.mask = below(4) == 0;
            shape.nodata = below(4) == 0;
            shape.gap = below(3) ? 0 : below(30);
            shape.shift = below(3) ? 0 : below(16);
            TestImage image = test_image_create(&shape, below(3) > 0);
            check_digits(&image);
            check_range(&image);
            check_gather(&image);
            check_central(&image);
            test_image_destroy(&image);
        }
    }
}
