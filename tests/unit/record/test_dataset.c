/* SPDX-License-Identifier: MIT */
/* test_dataset.c: records of many images: merged in any order, by group and kind, and refused. */
#include "record/dataset.h"

#include "helper_keys.h"
#include "helper_measure.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>

static ImgstatRecord *record_of(const void *pixels, uint32_t width, uint32_t height,
                                uint16_t channels, ImgstatSample sample)
{
    const ImgstatMeasure how = {.mergeable = true};
    const ImagePro image = measure_wrap(pixels, width, height, channels, sample);
    return measure_image(&image, &how);
}

/* As if it were page `page` of a file. */
static void place(ImgstatRecord *record, const char *file, uint32_t page)
{
    SharedText *const name = shared_text_create(file, strlen(file));
    for (uint16_t c = 0; c < record->kind->channels; c++) {
        Places *const places = &record->places[c];
        if (record->record->tally[c].n == 0)
            continue;
        *places =
            (Places){shared_text_retain(name), shared_text_retain(name), page, page, 100, 100};
    }
    shared_text_release(name);
    image_record_count_file(record, file);
}

/* ---- Records ---- */

Test(record, first_place_is_that_of_the_smallest_name)
{
    const uint8_t pixels[3][4] = {{5, 9, 2, 2}, {2, 9, 3, 3}, {9, 2, 2, 9}};
    const char *const files[3] = {"b.png", "a.png", "a.png"};
    const uint32_t pages[3] = {0, 7, 3};
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int o = 0; o < 6; o++) {
        const ImgstatKind kind = {.sample = IMGSTAT_U8, .channels = 1, .alpha = -1};
        ImgstatRecord *total = NULL;
        cr_assert(imgstat_record_create(&kind, &total, NULL) == IMGSTAT_OK);
        for (int i = 0; i < 3; i++) {
            const int k = orders[o][i];
            ImgstatRecord *const one = record_of(pixels[k], 2, 2, 1, IMGSTAT_U8);
            place(one, files[k], pages[k]);
            cr_assert(imgstat_record_merge(total, one, NULL) == IMGSTAT_OK);
            imgstat_record_destroy(one);
        }
        ImgstatStats stats;
        imgstat_record_stats(total, 0, &stats);
        cr_assert(stats.count == 12 && stats.min.as.u == 2 && stats.max.as.u == 9);
        cr_assert_str_eq(stats.min_file, "a.png");
        cr_assert_str_eq(stats.max_file, "a.png");
        cr_assert(stats.min_page == 3 && stats.min_at == 1, "%u %zu", stats.min_page,
                  (size_t)stats.min_at);
        cr_assert(stats.max_page == 3 && stats.max_at == 0);
        cr_assert(isnan(stats.mean), "nothing was computed");
        uint64_t n_files, n_pages;
        imgstat_record_images(total, &n_files, &n_pages);
        cr_assert(n_files == 3 && n_pages == 3);
        cr_assert(imgstat_record_compute(total, NULL, NULL) == IMGSTAT_OK);
        imgstat_record_stats(total, 0, &stats);
        cr_assert_float_eq(stats.mean, 57 / 12.0, 1e-15);
        cr_assert_float_eq(stats.median, 3, 1e-15);
        imgstat_record_destroy(total);
    }
}

/* Parts of an array of one row that are measured one by one say what the whole array says. */
static void check_parts(ImgstatSample sample, uint64_t seed)
{
    enum { N = 3000, PARTS = 7 };
    static uint64_t room[N];
    const size_t bytes = imgstat_sample_bytes(sample);
    unsigned char *const pixels = (unsigned char *)room;
    Random random = {seed};
    for (size_t i = 0; i < N; i++) {
        const uint64_t bits = random_next(&random) >> (random_next(&random) % 50);
        memcpy(pixels + i * bytes, &bits, bytes);
    }
    ImgstatRecord *whole = record_of(pixels, N, 1, 1, sample), *part[PARTS];
    for (int i = 0; i < PARTS; i++) {
        const size_t first = (size_t)i * N / PARTS, end = (size_t)(i + 1) * N / PARTS;
        part[i] = record_of(pixels + first * bytes, (uint32_t)(end - first), 1, 1, sample);
        part[i]->record->tally[0].min_at += first; /* as a band of one image has it */
        part[i]->record->tally[0].max_at += first;
    }
    for (int left = PARTS; left > 1; left--) { /* a tree of merges by chance */
        const int a = (int)(random_next(&random) % (unsigned)left);
        int b = (int)(random_next(&random) % (unsigned)(left - 1));
        b += b >= a;
        ImgstatError error;
        cr_assert(imgstat_record_merge(part[a], part[b], &error) == IMGSTAT_OK, "%s",
                  error.message);
        imgstat_record_destroy(part[b]);
        part[b] = part[left - 1];
        if (a == left - 1)
            part[a] = part[b];
    }
    const double p[] = {0, 1, 25, 50, 99.5, 100};
    const bool narrow = sample_is_narrow(sample);
    const ImgstatMeasure how = {
        .percentiles = p, .n_percentiles = 6, .median = true, .shape = narrow, .histogram = narrow};
    const ImagePro image = measure_wrap(pixels, N, 1, 1, sample);
    ImgstatRecord *const exact = measure_image(&image, &how);
    cr_assert(imgstat_record_compute(part[0], &how, NULL) == IMGSTAT_OK);
    cr_assert(imgstat_record_compute(whole, &how, NULL) == IMGSTAT_OK);
    ImgstatStats a, b;
    imgstat_record_stats(part[0], 0, &a);
    imgstat_record_stats(exact, 0, &b);
    cr_assert(a.count == b.count && a.nan == b.nan && a.inf == b.inf);
    cr_assert(a.min.as.u == b.min.as.u && a.max.as.u == b.max.as.u);
    for (size_t k = 0; k <= 6; k++) {
        double lo, hi;
        const double value = k < 6 ? imgstat_record_percentile(part[0], 0, k) : a.median;
        const double truth = k < 6 ? imgstat_record_percentile(exact, 0, k) : b.median;
        const bool bounded =
            imgstat_record_bounds(part[0], 0, k < 6 ? k : IMGSTAT_MEDIAN, &lo, &hi);
        cr_assert(!(narrow && bounded));
        if (bounded)
            cr_assert(isnan(value) && lo <= truth && truth <= hi && lo < hi, "%s %zu",
                      imgstat_sample_name(sample), k);
        else
            cr_assert(value == truth, "%s %zu: %g, not %g", imgstat_sample_name(sample), k, value,
                      truth);
    }
    if (narrow)
        cr_assert(measure_compare(part[0], exact) == 1);
    if (!sample_is_float(sample)) { /* float sums are rounded within pieces */
        cr_assert(a.mean == b.mean && a.variance == b.variance);
        char sum[2][48];
        imgstat_record_sum(part[0], 0, sum[0]);
        imgstat_record_sum(exact, 0, sum[1]);
        cr_assert_str_eq(sum[0], sum[1]);
    }
    imgstat_record_destroy(part[0]);
    imgstat_record_destroy(whole);
    imgstat_record_destroy(exact);
}

Test(record, parts_say_what_the_whole_says)
{
    for (int s = IMGSTAT_U8; s <= IMGSTAT_F64; s++)
        for (uint64_t seed = 1; seed <= 5; seed++)
            check_parts((ImgstatSample)s, seed);
}

static uint64_t sum_of(ImgstatRecord *record)
{
    ImgstatStats stats;
    cr_assert(imgstat_record_compute(record, NULL, NULL) == IMGSTAT_OK);
    imgstat_record_stats(record, 0, &stats);
    return (uint64_t)stats.sum;
}

static void check_refused(ImgstatResult result, const ImgstatError *error, ImgstatResult code,
                          const char *words)
{
    cr_assert(result == code && error->code == code, "%d: %s", result, error->message);
    cr_assert(strstr(error->message, words), "'%s' lacks '%s'", error->message, words);
}

Test(record, other_kinds_are_refused)
{
    static const char *const rgb[] = {"red", "green", "blue"}, *const bgr[] = {"blue", "green",
                                                                               "red"};
    const ImgstatKind base = {.sample = IMGSTAT_U8,
                              .bits = 8,
                              .channels = 3,
                              .alpha = -1,
                              .photometric = "rgb",
                              .names = rgb};
    struct {
        ImgstatKind kind;
        const char *words;
    } other[] = {
        {base, "a record of u16 does not merge with one of u8"},
        {base, "a record of 7 significant bits does not merge with one of 8"},
        {base, "a record of 2 channels does not merge with one of 3"},
        {base, "alpha in channel 2 does not merge with one of no alpha channel"},
        {base, "a record of lab does not merge with one of rgb"},
        {base, "a channel 0 that is blue does not merge with one of a channel 0 that is red"},
        {base, "the nodata value 9 does not merge with one of no nodata value that was given"},
        {base, "no nodata at all does not merge with one of no nodata value that was given"},
        {base, "pixels whose masks were ignored does not"},
        {base, "pixels that a given mask leaves does not"},
        {base, "indices of palettes does not merge with one of colours of palettes"},
        {base, "the region 1,2,3,4 does not merge with one of whole images"},
    };
    other[0].kind.sample = IMGSTAT_U16;
    other[0].kind.bits = 16;
    other[1].kind.bits = 7;
    other[2].kind.channels = 2;
    other[3].kind.alpha = 2;
    other[4].kind.photometric = "lab";
    other[5].kind.names = bgr;
    other[6].kind.has_nodata = other[7].kind.has_nodata = true;
    other[6].kind.nodata = (ImgstatValue){.sample = IMGSTAT_F64, .as.f = 9};
    other[7].kind.nodata = (ImgstatValue){.sample = IMGSTAT_I16, .as.i = -9};
    other[8].kind.ignore_masks = true;
    other[9].kind.mask = true;
    other[10].kind.indices = true;
    other[11].kind.region = (ImgstatRegion){1, 2, 3, 4};
    ImgstatRecord *into = NULL;
    ImgstatError error;
    cr_assert(imgstat_record_create(&base, &into, NULL) == IMGSTAT_OK);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        ImgstatRecord *from = NULL;
        cr_assert(imgstat_record_create(&other[i].kind, &from, NULL) == IMGSTAT_OK);
        check_refused(imgstat_record_merge(into, from, &error), &error, IMGSTAT_ERR_ARG,
                      other[i].words);
        cr_assert(imgstat_record_merge(into, from, NULL) == IMGSTAT_ERR_ARG);
        imgstat_record_destroy(from);
    }
    imgstat_record_destroy(into);
}

Test(record, images_in_memory_fit_those_of_files)
{
    static const char *const gray[] = {"gray"};
    const ImgstatKind kind = {
        .sample = IMGSTAT_U8, .channels = 1, .alpha = -1, .photometric = "gray", .names = gray};
    const uint8_t pixels[] = {1, 2, 3, 4};
    ImgstatRecord *bare = record_of(pixels, 2, 2, 1, IMGSTAT_U8), *named = NULL;
    ImgstatKind has;
    cr_assert(imgstat_record_create(&kind, &named, NULL) == IMGSTAT_OK);
    cr_assert(imgstat_record_merge(bare, named, NULL) == IMGSTAT_OK);
    imgstat_record_kind(bare, &has);
    cr_assert_str_eq(has.photometric, "gray");
    cr_assert_str_eq(has.names[0], "gray");
    imgstat_record_destroy(bare);
    imgstat_record_destroy(named);
}

Test(record, kinds_of_images_in_memory_are_set)
{
    static const char *const gray[] = {"gray"}, *const blue[] = {"blue"};
    const uint8_t pixels[] = {1, 2, 3, 4};
    const uint16_t wide[] = {1, 2, 3, 4};
    ImgstatRecord *const record = record_of(pixels, 2, 2, 1, IMGSTAT_U8);
    ImgstatRecord *const other = record_of(pixels, 2, 2, 1, IMGSTAT_U8);
    ImgstatRecord *const u16 = record_of(wide, 2, 2, 1, IMGSTAT_U16);
    ImgstatKind kind, of_u16, has;
    ImgstatError error;
    imgstat_record_kind(record, &kind); /* its texts are the record's */
    kind.has_nodata = true;
    kind.nodata = (ImgstatValue){.sample = IMGSTAT_F64, .as.f = 9};
    cr_assert(imgstat_record_set_kind(record, &kind, &error) == IMGSTAT_OK);
    imgstat_record_kind(record, &has);
    cr_assert(has.has_nodata && has.nodata.sample == IMGSTAT_U8 && has.nodata.as.u == 9);
    check_refused(imgstat_record_merge(record, other, &error), &error, IMGSTAT_ERR_ARG,
                  "no nodata value that was given does not merge with one of the nodata value 9");
    cr_assert(imgstat_record_set_kind(other, &has, &error) == IMGSTAT_OK);
    cr_assert(imgstat_record_merge(record, other, &error) == IMGSTAT_OK);
    cr_assert_eq(sum_of(record), 20);

    imgstat_record_kind(u16, &of_u16);
    check_refused(imgstat_record_set_kind(record, &of_u16, &error), &error, IMGSTAT_ERR_ARG,
                  "a record of u8 does not become one of u16");
    imgstat_record_kind(record, &has);
    has.bits = 7;
    check_refused(imgstat_record_set_kind(record, &has, &error), &error, IMGSTAT_ERR_ARG, "bits");
    has.bits = 8;
    has.alpha = 1;
    check_refused(imgstat_record_set_kind(record, &has, &error), &error, IMGSTAT_ERR_ARG, "alpha");
    has.alpha = -1;
    has.photometric = "gray";
    has.names = gray;
    cr_assert(imgstat_record_set_kind(record, &has, &error) == IMGSTAT_OK);
    has.names = blue;
    check_refused(imgstat_record_set_kind(record, &has, &error), &error, IMGSTAT_ERR_ARG,
                  "a channel 0 that is gray does not become one of a channel 0 that is blue");
    imgstat_record_kind(record, &has);
    cr_assert_str_eq(has.names[0], "gray");
    imgstat_record_destroy(record);
    imgstat_record_destroy(other);
    imgstat_record_destroy(u16);
}

Test(record, counts_and_sizes_are_limited)
{
    const ImgstatKind kind = {.sample = IMGSTAT_U8, .channels = 1, .alpha = -1};
    ImgstatRecord *a = NULL, *b = NULL;
    ImgstatError error;
    cr_assert(imgstat_record_create(&kind, &a, NULL) == IMGSTAT_OK);
    cr_assert(imgstat_record_create(&kind, &b, NULL) == IMGSTAT_OK);
    a->record->tally[0].masked = b->record->tally[0].nodata = (uint64_t)1 << 62;
    check_refused(imgstat_record_merge(a, b, &error), &error, IMGSTAT_ERR_LIMIT, "2^63 samples");
    cr_assert(a->record->tally[0].nodata == 0);
    imgstat_record_destroy(a);
    imgstat_record_destroy(b);
    const ImgstatKind wide = {.sample = IMGSTAT_U16, .channels = 65535, .alpha = -1};
    check_refused(imgstat_record_create(&wide, &a, &error), &error, IMGSTAT_ERR_LIMIT, "65535");
    cr_assert(!a);
    const ImgstatKind none = {.sample = IMGSTAT_U16, .alpha = -1};
    check_refused(imgstat_record_create(&none, &a, &error), &error, IMGSTAT_ERR_ARG, "channel");
    static char text[IMGSTAT_NAME_MOST + 2];
    memset(text, 'a', IMGSTAT_NAME_MOST + 1);
    const char *const long_name[] = {text};
    ImgstatKind texts = {.sample = IMGSTAT_U8, .channels = 1, .alpha = -1, .names = long_name};
    check_refused(imgstat_record_create(&texts, &a, &error), &error, IMGSTAT_ERR_ARG, "more than");
    text[IMGSTAT_NAME_MOST] = '\0';
    cr_assert(imgstat_record_create(&texts, &a, NULL) == IMGSTAT_OK);
    imgstat_record_destroy(a);
}

Test(record, merging_forgets_what_was_computed)
{
    const uint8_t pixels[2][2] = {{1, 3}, {5, 11}};
    const double p = 100;
    const ImgstatMeasure how = {.percentiles = &p, .n_percentiles = 1, .histogram = true};
    ImgstatRecord *const into = record_of(pixels[0], 2, 1, 1, IMGSTAT_U8);
    ImgstatRecord *const from = record_of(pixels[1], 2, 1, 1, IMGSTAT_U8);
    ImgstatStats stats;
    cr_assert(imgstat_record_compute(into, &how, NULL) == IMGSTAT_OK);
    cr_assert(imgstat_record_percentile(into, 0, 0) == 3);
    cr_assert(imgstat_record_merge(into, from, NULL) == IMGSTAT_OK);
    imgstat_record_stats(into, 0, &stats);
    cr_expect(stats.count == 4 && isnan(stats.mean), "%g", stats.mean);
    cr_expect(isnan(imgstat_record_percentile(into, 0, 0)));
    cr_assert(imgstat_record_compute(into, &how, NULL) == IMGSTAT_OK);
    imgstat_record_stats(into, 0, &stats);
    cr_expect_eq(stats.mean, 5);
    cr_expect_eq(imgstat_record_percentile(into, 0, 0), 11);
    imgstat_record_destroy(into);
    imgstat_record_destroy(from);
}

Test(record, wide_types_need_counts_and_pixels)
{
    const float pixels[] = {1, 2, 3, 4};
    const ImagePro image = measure_wrap(pixels, 2, 2, 1, IMGSTAT_F32);
    ImgstatRecord *const without = measure_image(&image, NULL);
    ImgstatRecord *const with = record_of(pixels, 2, 2, 1, IMGSTAT_F32);
    const double p = 30;
    ImgstatMeasure how = {.percentiles = &p, .n_percentiles = 1};
    ImgstatError error;
    check_refused(imgstat_record_merge(with, without, &error), &error, IMGSTAT_ERR_ARG,
                  "has no counts");
    check_refused(imgstat_record_compute(without, &how, &error), &error, IMGSTAT_ERR_ARG,
                  "no counts");
    cr_assert(imgstat_record_compute(with, &how, &error) == IMGSTAT_OK);
    how.mode = true;
    check_refused(imgstat_record_compute(with, &how, &error), &error, IMGSTAT_ERR_ARG,
                  "a record of f32 samples has no mode: that takes the pixels");
    how = (ImgstatMeasure){.histogram = true};
    check_refused(imgstat_record_compute(with, &how, &error), &error, IMGSTAT_ERR_ARG, "histogram");
    how = (ImgstatMeasure){.region = {.width = 1, .height = 1}};
    check_refused(imgstat_record_compute(with, &how, &error), &error, IMGSTAT_ERR_ARG, "region");
    imgstat_record_destroy(without);
    imgstat_record_destroy(with);
}

/* ---- Data sets ---- */

static ImgstatDataset *dataset_new(const char *source)
{
    ImgstatDataset *made = NULL;
    cr_assert(imgstat_dataset_create(&made, NULL) == IMGSTAT_OK);
    made->source = source ? shared_text_create(source, strlen(source)) : NULL;
    return made;
}

static void add(ImgstatDataset *dataset, const char *group, uint8_t value, ImgstatSample sample)
{
    char name[16];
    snprintf(name, sizeof name, "%u.png", value);
    uint8_t pixels[2] = {value, 0};
    ImgstatRecord *const record = record_of(pixels, 1, 1, 1, sample);
    place(record, name, 0);
    dataset_add_file(dataset, name, false, NULL);
    measure_add(dataset, group, record);
}

Test(dataset, records_come_by_group_and_kind)
{
    ImgstatDataset *const dataset = dataset_new(NULL);
    add(dataset, "b", 1, IMGSTAT_U8);
    add(dataset, "a", 2, IMGSTAT_U16);
    add(dataset, "a", 3, IMGSTAT_U8);
    add(dataset, NULL, 4, IMGSTAT_U8);
    add(dataset, "b", 5, IMGSTAT_U8);
    cr_assert(imgstat_dataset_records(dataset) == 4);
    static const char *const groups[] = {"", "a", "a", "b"};
    static const ImgstatSample samples[] = {IMGSTAT_U8, IMGSTAT_U8, IMGSTAT_U16, IMGSTAT_U8};
    static const uint64_t sums[] = {4, 3, 2, 6};
    for (size_t i = 0; i < 4; i++) {
        ImgstatKind kind;
        ImgstatRecord *const record = imgstat_dataset_record(dataset, i);
        imgstat_record_kind(record, &kind);
        cr_assert_str_eq(imgstat_record_group(record), groups[i]);
        cr_assert(kind.sample == samples[i] && sum_of(record) == sums[i]);
    }
    cr_assert(!imgstat_dataset_record(dataset, 4));
    ImgstatAccount account;
    imgstat_dataset_account(dataset, &account);
    cr_assert(account.files == 5 && account.pages == 5 && account.shards == 0);
    imgstat_dataset_destroy(dataset);
}

/* A kind or group that changed would have been in another place of the set, or twice in it. */
Test(dataset, records_of_a_set_are_not_merged_into)
{
    ImgstatDataset *const set = dataset_new(NULL);
    add(set, "a", 1, IMGSTAT_U8);
    add(set, "b", 2, IMGSTAT_U8);
    ImgstatRecord *const first = imgstat_dataset_record(set, 0);
    ImgstatRecord *const second = imgstat_dataset_record(set, 1), *own = NULL;
    ImgstatError error;
    ImgstatKind kind;
    check_refused(imgstat_record_merge(first, second, &error), &error, IMGSTAT_ERR_ARG,
                  "is that of a data set");
    imgstat_record_kind(first, &kind);
    check_refused(imgstat_record_set_kind(first, &kind, &error), &error, IMGSTAT_ERR_ARG,
                  "is that of a data set");
    cr_assert(imgstat_record_create(&kind, &own, NULL) == IMGSTAT_OK);
    cr_assert(imgstat_record_merge(own, first, NULL) == IMGSTAT_OK);
    cr_assert(imgstat_record_merge(own, second, NULL) == IMGSTAT_OK);
    cr_expect_eq(sum_of(own), 3);
    cr_expect_eq(sum_of(first), 1);
    cr_expect_str_eq(imgstat_record_group(first), "a");
    imgstat_record_destroy(own);
    imgstat_dataset_destroy(set);
}

Test(dataset, account_does_not_depend_on_order)
{
    ImgstatDataset *const a = dataset_new(NULL), *const b = dataset_new(NULL);
    ImgstatError error = {.code = IMGSTAT_ERR_IO};
    ImgstatAccount x, y;
    static const char *const names[] = {"p", "q", "r"};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 2; k++) {
            ImgstatDataset *const set = k ? b : a;
            const char *const name = names[k ? 2 - i : i];
            snprintf(error.message, sizeof error.message, "%s: is missing", name);
            dataset_add_file(set, name, true, NULL);
            cr_assert(dataset_fail(set, name, &error, NULL) == IMGSTAT_OK);
        }
    }
    imgstat_dataset_account(a, &x);
    imgstat_dataset_account(b, &y);
    cr_assert(memcmp(x.digest, y.digest, sizeof x.digest) == 0 && x.n_failures == 3);
    for (int i = 0; i < 3; i++) {
        cr_assert_str_eq(x.failures[i].name, names[i]);
        cr_assert_str_eq(y.failures[i].name, names[i]);
        cr_assert(strncmp(x.failures[i].message, names[i], 1) == 0 &&
                  x.failures[i].code == IMGSTAT_ERR_IO);
    }
    dataset_add_file(a, "p", false, NULL);
    imgstat_dataset_account(a, &x);
    cr_assert(memcmp(x.digest, y.digest, sizeof x.digest) != 0, "a name that comes twice counts");
    imgstat_dataset_destroy(a);
    imgstat_dataset_destroy(b);
}

static void add_missing(ImgstatDataset *set, unsigned i)
{
    ImgstatError error = {.code = IMGSTAT_ERR_IO};
    char name[16];
    snprintf(name, sizeof name, "%05u.png", i);
    snprintf(error.message, sizeof error.message, "%s: is missing", name);
    dataset_add_file(set, name, true, NULL);
    cr_assert(dataset_fail(set, name, &error, NULL) == IMGSTAT_OK);
}

/* The first ones in their order, however they came together. */
Test(dataset, lists_some_failures_and_counts_all)
{
    enum { FAILURES = 25013, STEP = 7919 };
    static const size_t wanted[] = {0, 1, 7, IMGSTAT_FAILURES_LISTED, SIZE_MAX};
    for (size_t w = 0; w < 5; w++) {
        ImgstatDataset *parts[3];
        const size_t listed = wanted[w] < FAILURES ? wanted[w] : FAILURES;
        for (unsigned k = 0; k < 3; k++) {
            parts[k] = dataset_new(NULL);
            if (wanted[w] != IMGSTAT_FAILURES_LISTED)
                imgstat_dataset_list_failures(parts[k], wanted[w]);
        }
        for (unsigned i = 0; i < FAILURES; i++)
            add_missing(parts[i % 3], i * STEP % FAILURES);
        cr_assert(imgstat_dataset_merge(parts[1], parts[2], NULL) == IMGSTAT_OK);
        cr_assert(imgstat_dataset_merge(parts[0], parts[1], NULL) == IMGSTAT_OK);
        const size_t n = imgstat_dataset_bytes(parts[0], NULL, 0);
        uint8_t *const bytes = malloc(n);
        cr_assert(bytes && imgstat_dataset_bytes(parts[0], bytes, n) == n);
        ImgstatDataset *again = NULL;
        cr_assert(imgstat_dataset_from_bytes(NULL, bytes, n, 0, &again, NULL) == IMGSTAT_OK);
        free(bytes);
        ImgstatAccount account;
        imgstat_dataset_account(again, &account);
        cr_assert(account.files == FAILURES && account.failed == FAILURES &&
                  account.all_failures == FAILURES && account.n_failures == listed);
        for (unsigned i = 0; i < listed; i++) {
            char name[16];
            snprintf(name, sizeof name, "%05u.png", i);
            cr_assert_str_eq(account.failures[i].name, name);
        }
        imgstat_dataset_destroy(again);
        for (unsigned k = 0; k < 3; k++)
            imgstat_dataset_destroy(parts[k]);
    }
}

Test(dataset, merging_adds_groups_and_refuses_other_kinds)
{
    ImgstatDataset *const a = dataset_new("a.rec"), *const b = dataset_new("b.rec");
    ImgstatDataset *const other = dataset_new("other.rec"), *const of_file =
                                                                dataset_new("file.rec");
    ImgstatError error;
    add(a, "x", 1, IMGSTAT_U8);
    add(b, "x", 2, IMGSTAT_U8);
    add(b, "y", 3, IMGSTAT_U8);
    add(other, "y", 4, IMGSTAT_U16);
    cr_assert(imgstat_dataset_merge(a, b, &error) == IMGSTAT_OK);
    cr_assert(imgstat_dataset_records(a) == 2 && imgstat_dataset_records(b) == 2);
    cr_assert(sum_of(imgstat_dataset_record(a, 0)) == 3);
    check_refused(imgstat_dataset_merge(a, other, &error), &error, IMGSTAT_ERR_ARG,
                  "other.rec: holds u16, b.rec u8, in group 'y'");
    add(other, "y", 4, IMGSTAT_U8); /* one kind more than a has */
    check_refused(imgstat_dataset_merge(a, other, &error), &error, IMGSTAT_ERR_ARG, "u16");
    check_refused(imgstat_dataset_merge(a, a, &error), &error, IMGSTAT_ERR_ARG, "itself");
    static const char *const gray[] = {"gray"};
    const ImgstatKind named = {
        .sample = IMGSTAT_U8, .channels = 1, .alpha = -1, .photometric = "gray", .names = gray};
    ImgstatRecord *record = NULL;
    cr_assert(imgstat_record_create(&named, &record, NULL) == IMGSTAT_OK);
    measure_add(of_file, "x", record);
    check_refused(imgstat_dataset_merge(a, of_file, &error), &error, IMGSTAT_ERR_ARG,
                  "file.rec: holds gray, a.rec images of unknown colours, in group 'x'");
    imgstat_dataset_destroy(of_file);
    cr_assert(sum_of(imgstat_dataset_record(a, 1)) == 3, "nothing changed");
    imgstat_dataset_destroy(a);
    imgstat_dataset_destroy(b);
    imgstat_dataset_destroy(other);
}

/* Both lists of groups are gone through at once: each may have some that the other lacks. */
Test(dataset, other_kinds_are_found_among_other_groups)
{
    static const char *const groups[2][4] = {{"b", "d", "e", "g"}, {"a", "b", "c", "g"}};
    for (int swapped = 0; swapped < 2; swapped++)
        for (int other = 0; other < 2; other++) {
            ImgstatDataset *const set[2] = {dataset_new("a.rec"), dataset_new("b.rec")};
            ImgstatError error;
            for (int k = 0; k < 2; k++)
                for (int i = 0; i < 4; i++)
                    add(set[k], groups[k ^ swapped][i], (uint8_t)(i + 1),
                        other && k == 1 && i == 3 ? IMGSTAT_U16 : IMGSTAT_U8);
            const ImgstatResult res = imgstat_dataset_merge(set[0], set[1], &error);
            if (other) {
                check_refused(res, &error, IMGSTAT_ERR_ARG,
                              "b.rec: holds u16, a.rec u8, in group 'g'");
            } else {
                cr_assert(res == IMGSTAT_OK && imgstat_dataset_records(set[0]) == 6);
                cr_expect_eq(sum_of(imgstat_dataset_record(set[0], 1)), 3, "b");
                cr_expect_eq(sum_of(imgstat_dataset_record(set[0], 5)), 8, "g");
            }
            imgstat_dataset_destroy(set[0]);
            imgstat_dataset_destroy(set[1]);
        }
}

/* A set that began empty is called by the first file that it took in. */
Test(dataset, sentences_name_the_first_file_of_an_empty_set)
{
    const uint8_t set[16] = {1};
    ImgstatDataset *const total = dataset_new(NULL), *const none = dataset_new("none.rec");
    ImgstatDataset *const shard = dataset_new("shard.rec"), *const third = dataset_new("third.rec");
    ImgstatError error;
    add(none, "", 1, IMGSTAT_U8);
    cr_assert(imgstat_dataset_set_shard(shard, 0, 3, set, NULL) == IMGSTAT_OK);
    cr_assert(imgstat_dataset_set_shard(third, 2, 3, set, NULL) == IMGSTAT_OK);
    cr_assert(imgstat_dataset_merge(total, shard, NULL) == IMGSTAT_OK);
    cr_assert(imgstat_dataset_merge(total, third, NULL) == IMGSTAT_OK);
    check_refused(imgstat_dataset_merge(total, none, &error), &error, IMGSTAT_ERR_ARG,
                  "none.rec: is no shard, shard.rec is a shard of a set");
    imgstat_dataset_destroy(total);
    imgstat_dataset_destroy(none);
    imgstat_dataset_destroy(shard);
    imgstat_dataset_destroy(third);
}

Test(dataset, shards_come_once_and_complete_a_set)
{
    enum { N = 11 };
    uint8_t set[16] = {1};
    ImgstatDataset *const total = dataset_new("total.rec"), *const other = dataset_new("other.rec");
    ImgstatDataset *const none = dataset_new("none.rec");
    ImgstatError error;
    ImgstatAccount account;
    add(none, "", 1, IMGSTAT_U8);
    for (uint32_t k = 0; k < N; k++) {
        ImgstatDataset *const shard = dataset_new("shard.rec");
        add(shard, "", (uint8_t)k, k % 2 ? IMGSTAT_U8 : IMGSTAT_U16);
        cr_assert(imgstat_dataset_set_shard(shard, k, N, set, NULL) == IMGSTAT_OK);
        cr_assert(imgstat_dataset_set_shard(shard, k, N, set, NULL) == IMGSTAT_ERR_ARG);
        cr_assert(imgstat_dataset_merge(total, shard, &error) == IMGSTAT_OK, "%s", error.message);
        imgstat_dataset_account(total, &account);
        if (k + 1 < N) {
            cr_assert(account.shards == N && account.n_done == k + 1 && account.set[0] == 1);
            cr_assert(account.done[k / 8] >> (k % 8) & 1);
            check_refused(imgstat_dataset_merge(total, shard, &error), &error, IMGSTAT_ERR_ARG,
                          "has it too");
            check_refused(imgstat_dataset_merge(total, none, &error), &error, IMGSTAT_ERR_ARG,
                          "none.rec: is no shard, total.rec is a shard of a set");
        }
        imgstat_dataset_destroy(shard);
    }
    cr_assert(account.shards == 0 && imgstat_dataset_records(total) == 2);
    cr_assert(sum_of(imgstat_dataset_record(total, 0)) == 25);
    cr_assert(sum_of(imgstat_dataset_record(total, 1)) == 30);
    ImgstatDataset *const first = dataset_new("first.rec");
    cr_assert(imgstat_dataset_set_shard(first, 0, N, set, NULL) == IMGSTAT_OK);
    set[15] = 1;
    cr_assert(imgstat_dataset_set_shard(other, 1, N, set, NULL) == IMGSTAT_OK);
    check_refused(imgstat_dataset_merge(first, other, &error), &error, IMGSTAT_ERR_ARG,
                  "other.rec: is a shard of a set, first.rec is one of another");
    check_refused(imgstat_dataset_set_shard(none, 5, 5, set, &error), &error, IMGSTAT_ERR_ARG,
                  "no shard");
    check_refused(imgstat_dataset_set_shard(none, 1, (1 << 24) + 1, set, &error), &error,
                  IMGSTAT_ERR_ARG, "16777217 shards are more than 16777216");
    imgstat_dataset_destroy(first);
    imgstat_dataset_destroy(total);
    imgstat_dataset_destroy(other);
    imgstat_dataset_destroy(none);
}

/* ---- Threads ---- */

enum { THREADS = 4, FILES_EACH = 200 };

static void *fill(void *context)
{
    ImgstatDataset *const dataset = context;
    for (int i = 0; i < FILES_EACH; i++)
        add(dataset, i % 2 ? "odd" : "even", (uint8_t)i, i % 3 ? IMGSTAT_U8 : IMGSTAT_U16);
    return NULL;
}

Test(dataset, threads_fill_one)
{
    ImgstatDataset *const dataset = dataset_new(NULL);
    pthread_t thread[THREADS];
    for (int t = 0; t < THREADS; t++)
        cr_assert(pthread_create(&thread[t], NULL, fill, dataset) == 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    ImgstatAccount account;
    imgstat_dataset_account(dataset, &account);
    cr_assert(account.files == THREADS * FILES_EACH && account.pages == THREADS * FILES_EACH);
    uint64_t sum = 0;
    for (size_t i = 0; i < 4; i++)
        sum += sum_of(imgstat_dataset_record(dataset, i));
    cr_assert(sum == THREADS * FILES_EACH * (FILES_EACH - 1) / 2);
    imgstat_dataset_destroy(dataset);
}
