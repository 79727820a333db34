/* SPDX-License-Identifier: MIT */
/* test_record_file.c: data sets as bytes: the same for any tree of merges, read back, and refused.
 */
#include "record/record_file.h"

#include "helper_keys.h"
#include "helper_measure.h"
#include "support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static ImgstatDataset *new_set(void)
{
    ImgstatDataset *made = NULL;
    cr_assert(imgstat_dataset_create(&made, NULL) == IMGSTAT_OK);
    return made;
}

typedef struct Bytes {
    uint8_t *at;
    size_t n;
} Bytes;

static Bytes bytes_of(ImgstatDataset *set)
{
    Bytes bytes = {.n = imgstat_dataset_bytes(set, NULL, 0)};
    bytes.at = malloc(bytes.n);
    cr_assert(bytes.at && imgstat_dataset_bytes(set, bytes.at, bytes.n) == bytes.n);
    return bytes;
}

static void check_same(Bytes a, Bytes b, const char *what)
{
    size_t i = 0;
    while (i < a.n && i < b.n && a.at[i] == b.at[i])
        i++;
    cr_assert(a.n == b.n && i == a.n, "%s: %zu and %zu bytes, alike up to %zu", what, a.n, b.n, i);
}

static ImgstatDataset *read_back(Bytes bytes, const char *name)
{
    ImgstatDataset *set = NULL;
    ImgstatError error = {0};
    const ImgstatResult res = imgstat_dataset_from_bytes(name, bytes.at, bytes.n, 0, &set, &error);
    cr_assert(res == IMGSTAT_OK, "%s", error.message);
    return set;
}

/* ---- Many images ---- */

enum { IMAGES = 24, PIXELS = 35, CHANNELS = 2 };

/* Image i of a sample type, with NaN, infinities, nodata and masked samples here and there. */
static void add_image(ImgstatDataset *set, ImgstatSample sample, unsigned i, bool by_group)
{
    static const char *const groups[] = {"", "plate 1", "plate 2"};
    const ImgstatMeasure how = {.mergeable = true};
    Random random = {1000 * sample + i + 1};
    uint64_t room[PIXELS * CHANNELS];
    uint8_t mask[PIXELS];
    unsigned char *const pixels = (unsigned char *)room;
    const size_t bytes = imgstat_sample_bytes(sample);
    for (size_t k = 0; k < PIXELS * CHANNELS; k++) {
        const uint64_t bits = random_next(&random);
        const uint64_t some = i % 3 ? bits : bits % 7; /* equal extrema in several images */
        memcpy(pixels + k * bytes, &some, bytes);
    }
    for (size_t k = 0; k < PIXELS; k++)
        mask[k] = random_next(&random) % 10 > 0;
    ImagePro image = measure_wrap(pixels, 7, 5, CHANNELS, sample);
    if (i % 4 == 1) {
        image.mask = mask;
        image.mask_pitch = 7;
    }
    if (i % 4 == 2)
        imgstat_image_set_nodata(&image, (ImgstatValue){.sample = IMGSTAT_U8, .as.u = 3});
    ImgstatRecord *const record = measure_image(&image, &how);
    char name[32];
    snprintf(name, sizeof name, "folder/%u.tif", (i * 7) % IMAGES);
    SharedText *const file = shared_text_create(name, strlen(name));
    for (uint16_t c = 0; c < CHANNELS && i != 5; c++) /* 5: an image in memory */
        if (record->record->tally[c].n > 0)
            record->places[c] = (Places){
                shared_text_retain(file), shared_text_retain(file), i % 2, i % 2, 100, 100};
    shared_text_release(file);
    dataset_add_file(set, name, i % 11 == 3, NULL);
    image_record_count_file(record, name);
    if (i % 11 == 3) {
        ImgstatError error = {.code = IMGSTAT_ERR_TRUNCATED};
        snprintf(error.message, sizeof error.message, "%s: page 3 ends early", name);
        cr_assert(dataset_fail(set, name, &error, NULL) == IMGSTAT_OK);
    }
    measure_add(set, by_group ? groups[i % 3] : "", record);
}

/* Merges sets in an order and tree by chance; some are bytes in between. The last is left. */
static ImgstatDataset *merge_by_chance(ImgstatDataset **sets, size_t n, Random *random)
{
    for (; n > 1; n--) {
        const size_t a = random_next(random) % n;
        size_t b = random_next(random) % (n - 1);
        b += b >= a;
        if (random_next(random) % 3 == 0) {
            const Bytes bytes = bytes_of(sets[a]);
            imgstat_dataset_destroy(sets[a]);
            sets[a] = read_back(bytes, "some.rec");
            free(bytes.at);
        }
        ImgstatError error;
        cr_assert(imgstat_dataset_merge(sets[a], sets[b], &error) == IMGSTAT_OK, "%s",
                  error.message);
        imgstat_dataset_destroy(sets[b]);
        sets[b] = sets[n - 1];
        if (a == n - 1)
            sets[a == n - 1 ? b : a] = sets[n - 1];
    }
    return sets[0];
}

static void check_sample(ImgstatSample sample, bool by_group)
{
    ImgstatDataset *const whole = new_set();
    for (unsigned i = 0; i < IMAGES; i++)
        add_image(whole, sample, i, by_group);
    const Bytes expected = bytes_of(whole);
    for (uint64_t seed = 1; seed <= 6; seed++) {
        if (!is_run(seed, 6))
            continue;
        Random random = {seed};
        const size_t parts = 1 + random_next(&random) % 9;
        ImgstatDataset *sets[9];
        for (size_t k = 0; k < parts; k++) {
            sets[k] = new_set();
            for (unsigned i = 0; i < IMAGES; i++) /* backwards, and dealt out */
                if ((IMAGES - 1 - i) * 5 % parts == k)
                    add_image(sets[k], sample, IMAGES - 1 - i, by_group);
            const uint8_t set[16] = {9, 9};
            cr_assert(imgstat_dataset_set_shard(sets[k], (uint32_t)k, (uint32_t)parts, set, NULL) ==
                      IMGSTAT_OK);
        }
        ImgstatDataset *const merged = merge_by_chance(sets, parts, &random);
        const Bytes got = bytes_of(merged);
        check_same(expected, got, imgstat_sample_name(sample));
        ImgstatDataset *const again = read_back(got, NULL);
        const Bytes twice = bytes_of(again);
        check_same(expected, twice, "read and written again");
        free(got.at);
        free(twice.at);
        imgstat_dataset_destroy(merged);
        imgstat_dataset_destroy(again);
    }
    free(expected.at);
    imgstat_dataset_destroy(whole);
}

Test(bytes, do_not_depend_on_the_tree_of_merges)
{
    for (int s = IMGSTAT_U8; s <= IMGSTAT_F64; s++) {
        check_sample((ImgstatSample)s, false);
        check_sample((ImgstatSample)s, true);
    }
}

static void put_right(Bytes bytes)
{
    const uint64_t checksum = digest_checksum(bytes.at, bytes.n - 8);
    for (unsigned i = 0; i < 8; i++)
        bytes.at[bytes.n - 8 + i] = (uint8_t)(checksum >> (8 * i));
}

Test(bytes, have_the_version_of_the_latest_part)
{
    enum { VERSION_AT = 10 };
    static const uint16_t versions[][2][3] = {/* the earlier one, the later one */
                                              {{1, 9, 9}, {2, 0, 0}},
                                              {{1, 2, 9}, {1, 3, 0}},
                                              {{1, 2, 3}, {1, 2, 4}},
                                              {{7, 7, 7}, {7, 7, 7}}};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        for (int first = 0; first < 2; first++) {
            ImgstatDataset *set[2];
            for (int k = 0; k < 2; k++) {
                ImgstatDataset *const empty = new_set();
                const Bytes bytes = bytes_of(empty);
                for (int part = 0; part < 3; part++) {
                    const uint16_t number = versions[i][k][part];
                    memcpy(bytes.at + VERSION_AT + 2 * part, &number, 2);
                }
                put_right(bytes);
                set[k] = read_back(bytes, NULL);
                free(bytes.at);
                imgstat_dataset_destroy(empty);
            }
            ImgstatAccount account;
            cr_assert(imgstat_dataset_merge(set[first], set[!first], NULL) == IMGSTAT_OK);
            imgstat_dataset_account(set[first], &account);
            cr_expect(memcmp(account.version, versions[i][1], sizeof account.version) == 0,
                      "%zu: %u.%u.%u", i, account.version[0], account.version[1],
                      account.version[2]);
            imgstat_dataset_destroy(set[0]);
            imgstat_dataset_destroy(set[1]);
        }
}

/* A channel without a sample has no extrema, so no file either. */
Test(bytes, of_an_image_without_samples_are_read)
{
    const ImgstatKind kind = {.sample = IMGSTAT_F32, .channels = 1, .alpha = -1};
    ImgstatRecord *made = NULL, *again = NULL;
    Record *counts = NULL;
    SharedText *const file = shared_text_create("a.tif", 5);
    cr_assert(record_create(NULL, IMGSTAT_F32, 1, RECORD_BINS, &counts, NULL) == IMGSTAT_OK);
    counts->tally[0].nan = 2;
    cr_assert(image_record_create(&kind, counts, (ImagePlace){file, 3, 2}, &made, NULL) ==
              IMGSTAT_OK);
    shared_text_release(file);
    uint8_t bytes[256];
    const size_t n = imgstat_record_bytes(made, bytes, sizeof bytes);
    cr_assert(n > 0 && n <= sizeof bytes);
    ImgstatError error = {0};
    cr_assert(imgstat_record_from_bytes(bytes, n, &again, &error) == IMGSTAT_OK, "%s",
              error.message);
    ImgstatStats stats;
    imgstat_record_stats(again, 0, &stats);
    cr_expect(stats.nan == 2 && stats.count == 0 && *stats.min_file == '\0');
    imgstat_record_destroy(made);
    imgstat_record_destroy(again);
}

/* The last byte of the list of shards is full where their number divides by 8. */
Test(bytes, list_shards_of_any_number)
{
    const uint8_t id[16] = {1};
    for (uint32_t n = 2; n <= 25; n++)
        for (uint32_t k = 0; k < n; k++) {
            ImgstatDataset *const set = new_set();
            cr_assert(imgstat_dataset_set_shard(set, k, n, id, NULL) == IMGSTAT_OK);
            const Bytes bytes = bytes_of(set);
            ImgstatDataset *const again = read_back(bytes, NULL);
            ImgstatAccount account;
            imgstat_dataset_account(again, &account);
            cr_expect(account.shards == n && account.n_done == 1);
            for (uint32_t i = 0; i < (n + 7) / 8; i++)
                cr_expect_eq(account.done[i], i == k / 8 ? 1u << k % 8 : 0, "%u of %u", k, n);
            free(bytes.at);
            imgstat_dataset_destroy(set);
            imgstat_dataset_destroy(again);
        }
}

/* ---- Damage ---- */

/* A small set that has a bit of everything. */
static Bytes small_set(ImgstatSample sample)
{
    static const char *const names[] = {"left", "right"};
    const ImgstatKind kind = {.sample = sample,
                              .channels = CHANNELS,
                              .alpha = 1,
                              .photometric = "gray",
                              .names = names,
                              .has_nodata = true,
                              .nodata = {.sample = IMGSTAT_U8, .as.u = 3},
                              .alpha_masks = true,
                              .region = {1, 2, 3, 4}};
    ImgstatDataset *const set = new_set();
    ImgstatRecord *record = NULL;
    const uint8_t id[16] = {1, 2, 3};
    cr_assert(imgstat_record_create(&kind, &record, NULL) == IMGSTAT_OK);
    measure_add(set, "first", record);
    for (unsigned i = 0; i < 4; i++)
        add_image(set, sample, i, false);
    cr_assert(imgstat_dataset_set_shard(set, 2, 11, id, NULL) == IMGSTAT_OK);
    const Bytes bytes = bytes_of(set);
    imgstat_dataset_destroy(set);
    return bytes;
}

static ImgstatResult read_changed(Bytes bytes, ImgstatError *error)
{
    ImgstatDataset *set = NULL;
    const ImgstatResult res =
        imgstat_dataset_from_bytes("x.rec", bytes.at, bytes.n, 0, &set, error);
    cr_assert((res == IMGSTAT_OK) == (set != NULL));
    if (set) { /* what is taken has one form, and statistics that can be computed */
        const Bytes again = bytes_of(set);
        check_same(bytes, again, "taken");
        free(again.at);
        for (size_t i = 0; i < imgstat_dataset_records(set); i++)
            cr_assert(imgstat_record_compute(imgstat_dataset_record(set, i), NULL, NULL) ==
                      IMGSTAT_OK);
    } else {
        cr_assert(error->code == res && strncmp(error->message, "x.rec: ", 7) == 0, "%s",
                  error->message);
    }
    imgstat_dataset_destroy(set);
    return res;
}

Test(bytes, damaged_ones_are_refused)
{
    static const ImgstatSample samples[] = {IMGSTAT_U8, IMGSTAT_F16, IMGSTAT_I32, IMGSTAT_F64};
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++) {
        const Bytes bytes = small_set(samples[s]);
        const unsigned rare = s == 0 ? 1 : 8; /* others have thousands of bins each time */
        ImgstatError error;
        cr_assert(read_changed(bytes, &error) == IMGSTAT_OK, "%s", error.message);
        for (size_t n = 0; n < bytes.n; n++) { /* exactly so long, for a sanitizer to see */
            if (!is_run(n, 2 * rare))
                continue;
            const Bytes less = {.at = malloc(n ? n : 1), .n = n};
            memcpy(less.at, bytes.at, n);
            cr_assert(read_changed(less, &error) != IMGSTAT_OK);
            if (n > 24) {
                put_right(less);
                cr_assert(read_changed(less, &error) != IMGSTAT_OK, "%zu bytes", n);
            }
            free(less.at);
        }
        size_t taken = 0;
        for (size_t i = 0; i + 8 < bytes.n; i++) {
            for (unsigned bit = 0; bit < 8; bit++) {
                if (!is_run(i + bit, 8 * rare))
                    continue;
                bytes.at[i] ^= (uint8_t)(1u << bit);
                cr_assert(read_changed(bytes, &error) != IMGSTAT_OK, "byte %zu", i);
                put_right(bytes);
                taken += read_changed(bytes, &error) == IMGSTAT_OK; /* another record */
                bytes.at[i] ^= (uint8_t)(1u << bit);
                put_right(bytes);
            }
        }
        cr_assert(taken > 0 && taken < bytes.n * 8);
        free(bytes.at);
    }
}

static void check_refused(Bytes bytes, ImgstatResult code, const char *words)
{
    ImgstatError error = {0};
    cr_assert(read_changed(bytes, &error) == code, "%d: %s", error.code, error.message);
    cr_assert(strstr(error.message, words), "'%s' lacks '%s'", error.message, words);
}

Test(bytes, say_why_they_are_refused)
{
    const Bytes bytes = small_set(IMGSTAT_U16);
    bytes.at[8] = 2;
    put_right(bytes);
    check_refused(bytes, IMGSTAT_ERR_UNSUPPORTED, "version 2 of the format; this imgstat has");
    bytes.at[8] = 1;
    check_refused(bytes, IMGSTAT_ERR_FORMAT, "checksum is wrong");
    bytes.at[0] = 'x';
    check_refused(bytes, IMGSTAT_ERR_FORMAT, "x.rec: is no record of imgstat");
    bytes.at[0] = 0x89;
    put_right(bytes);
    const Bytes header = {.at = bytes.at, .n = 20};
    check_refused(header, IMGSTAT_ERR_TRUNCATED, "ends early");
    ImgstatDataset *set = NULL;
    ImgstatError error;
    cr_assert(imgstat_dataset_from_bytes("x.rec", bytes.at, bytes.n, 1 << 20, &set, &error) ==
              IMGSTAT_ERR_LIMIT);
    cr_assert(strstr(error.message, "x.rec: the records need more memory"), "%s", error.message);
    ImgstatRecord *record = NULL;
    cr_assert(imgstat_record_from_bytes(bytes.at, bytes.n, &record, &error) == IMGSTAT_ERR_ARG);
    cr_assert(strstr(error.message, "2 records, where one is wanted"), "%s", error.message);
    free(bytes.at);
}

/* ---- One record ---- */

Test(bytes, of_one_record)
{
    const uint8_t pixels[] = {1, 2, 3, 250};
    const ImgstatMeasure how = {.mergeable = true};
    const ImagePro image = measure_wrap(pixels, 2, 2, 1, IMGSTAT_U8);
    ImgstatRecord *const record = measure_image(&image, &how), *again = NULL;
    uint8_t bytes[512], more[512];
    const size_t n = imgstat_record_bytes(record, bytes, sizeof bytes);
    cr_assert(n > 0 && n < 128, "%zu", n);
    memset(more, 7, sizeof more);
    cr_assert(imgstat_record_bytes(record, more, n - 1) == n && more[0] == 7, "no room");
    cr_assert(imgstat_record_from_bytes(bytes, n, &again, NULL) == IMGSTAT_OK);
    cr_assert(imgstat_record_bytes(again, more, sizeof more) == n && memcmp(bytes, more, n) == 0);
    cr_assert(imgstat_record_merge(again, record, NULL) == IMGSTAT_OK);
    cr_assert(imgstat_record_compute(again, NULL, NULL) == IMGSTAT_OK);
    ImgstatStats stats;
    imgstat_record_stats(again, 0, &stats);
    cr_assert(stats.count == 8 && stats.sum == 512 && stats.max_at == 3);
    imgstat_record_destroy(again);
    imgstat_record_destroy(record);
}

Test(bytes, merged_with_itself)
{
    for (char name[] = "a"; name[0] <= 'h'; name[0]++) { /* some hashes carry when they double */
        const uint8_t pixels[] = {1, 2, 3, 250};
        const ImgstatMeasure how = {.mergeable = true};
        const ImagePro image = measure_wrap(pixels, 2, 2, 1, IMGSTAT_U8);
        ImgstatRecord *const record = measure_image(&image, &how), *again = NULL;
        uint8_t bytes[512], twice[512];
        image_record_count_file(record, name);
        const size_t n = imgstat_record_bytes(record, bytes, sizeof bytes);
        cr_assert(imgstat_record_from_bytes(bytes, n, &again, NULL) == IMGSTAT_OK);
        cr_assert(imgstat_record_merge(again, record, NULL) == IMGSTAT_OK);
        cr_assert(imgstat_record_merge(record, record, NULL) == IMGSTAT_OK);
        const size_t more = imgstat_record_bytes(record, bytes, sizeof bytes);
        cr_assert(imgstat_record_bytes(again, twice, sizeof twice) == more &&
                      memcmp(bytes, twice, more) == 0,
                  "%s", name);
        imgstat_record_destroy(again);
        imgstat_record_destroy(record);
    }
}

/* An index that int16_t does not hold was read as a negative one, and written as another record. */
Test(bytes, alpha_beyond_its_type_is_refused)
{
    const uint8_t held[] = {IMGSTAT_U8, 8, 0xc0, 0xb8, 0x02, 0x80, 0x80, 0x02};
    const uint8_t beyond[] = {0xc0, 0xb8, 0x02};
    const ImgstatKind kind = {
        .sample = IMGSTAT_U8, .bits = 8, .channels = 40000, .alpha = INT16_MAX};
    ImgstatRecord *record = NULL;
    cr_assert(imgstat_record_create(&kind, &record, NULL) == IMGSTAT_OK);
    Bytes bytes = {.n = imgstat_record_bytes(record, NULL, 0)};
    bytes.at = malloc(bytes.n);
    cr_assert(bytes.at && imgstat_record_bytes(record, bytes.at, bytes.n) == bytes.n);
    imgstat_record_destroy(record);
    size_t at = 0;
    while (at + sizeof held < bytes.n && memcmp(bytes.at + at, held, sizeof held) != 0)
        at++;
    cr_assert(at + sizeof held < bytes.n);
    memcpy(bytes.at + at + sizeof held - sizeof beyond, beyond, sizeof beyond);
    put_right(bytes);
    check_refused(bytes, IMGSTAT_ERR_FORMAT, "the kind of its images is wrong");
    free(bytes.at);
}

/* ---- Hostile numbers ---- */

/* Whether a record with a changed tally, files and pages is read from its bytes. */
static bool is_read(ImgstatRecord *record, const Tally *tally, uint64_t files, uint64_t pages)
{
    uint8_t bytes[4096];
    ImgstatRecord *again = NULL;
    ImgstatError error = {0};
    record->record->tally[0] = *tally;
    record->files = files;
    record->pages = pages;
    const size_t n = imgstat_record_bytes(record, bytes, sizeof bytes);
    cr_assert(n > 0 && n <= sizeof bytes);
    const ImgstatResult res = imgstat_record_from_bytes(bytes, n, &again, &error);
    cr_assert((res == IMGSTAT_OK) == (again != NULL));
    cr_assert(again || (res == IMGSTAT_ERR_FORMAT && strstr(error.message, "damaged")), "%s",
              error.message);
    imgstat_record_destroy(again);
    return res == IMGSTAT_OK;
}

static ImgstatRecord *wide_record(ImgstatSample sample, const void *pixels)
{
    const ImgstatMeasure how = {.mergeable = true};
    const ImagePro image = measure_wrap(pixels, 2, 2, 1, sample);
    return measure_image(&image, &how);
}

/* Of 4 samples: sums that no such samples have. */
Test(hostile, sums_of_integers_are_bounded)
{
    const int32_t small[] = {-3, 5, 1, -2}; /* sum 1, squares 39 */
    const int64_t far[] = {INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX};
    const uint64_t high[] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    ImgstatRecord *record = wide_record(IMGSTAT_I32, small);
    const Tally good = record->record->tally[0];
    cr_assert(good.sum[0] == 1 && good.sum2[0] == 39 && is_read(record, &good, 0, 1));
    const struct {
        uint64_t sum[2], sum2[3];
        bool read;
    } cases[] = {
        {{20, 0}, {100, 0, 0}, true}, /* four times the largest value and square */
        {{21, 0}, {100, 0, 0}, false},
        {{20, 0}, {101, 0, 0}, false},
        {{20, 0}, {99, 0, 0}, false}, /* less than the sum of the means' squares */
        {{(uint64_t)-12, UINT64_MAX}, {36, 0, 0}, true},
        {{(uint64_t)-13, UINT64_MAX}, {100, 0, 0}, false},
        {{0, (uint64_t)1 << 63}, {100, 0, 0}, false},
        {{1, UINT64_MAX >> 1}, {100, 0, 0}, false},
        {{1, 0}, {39, 1, 0}, false},
        {{1, 0}, {39, 0, (uint64_t)1 << 63}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Tally tally = good;
        memcpy(tally.sum, cases[i].sum, sizeof tally.sum);
        memcpy(tally.sum2, cases[i].sum2, sizeof tally.sum2);
        cr_expect(is_read(record, &tally, 0, 1) == cases[i].read, "case %zu", i);
    }
    imgstat_record_destroy(record);
    record = wide_record(IMGSTAT_I64, far);
    cr_expect(is_read(record, &record->record->tally[0], 0, 1), "the ends of the type");
    imgstat_record_destroy(record);
    record = wide_record(IMGSTAT_U64, high);
    const Tally most = record->record->tally[0];
    Tally above = most;
    cr_expect(is_read(record, &most, 0, 1), "the largest squares");
    above.sum2[0]++;
    cr_expect_not(is_read(record, &above, 0, 1));
    imgstat_record_destroy(record);
}

/* A count of segments that overflowed came round to 0 when records merged: the mean was defined. */
Test(hostile, counts_do_not_come_round)
{
    const float pixels[] = {1, 2, 3, 4};
    ImgstatRecord *const record = wide_record(IMGSTAT_F32, pixels);
    const Tally good = record->record->tally[0];
    Tally tally = good;
    tally.sum_overflow = tally.sum2_overflow = 4;
    cr_expect(is_read(record, &tally, 0, 1));
    tally.sum_overflow = 5;
    cr_expect_not(is_read(record, &tally, 0, 1));
    tally.sum_overflow = RECORD_MOST_SAMPLES;
    cr_expect_not(is_read(record, &tally, 0, 1));
    tally = good;
    tally.sum2_overflow = 5;
    cr_expect_not(is_read(record, &tally, 0, 1));
    const uint64_t most = RECORD_MOST_SAMPLES;
    cr_expect(is_read(record, &good, most, most));
    cr_expect_not(is_read(record, &good, most + 1, 1));
    cr_expect_not(is_read(record, &good, 1, most + 1));
    record->files = most;
    record->pages = most;
    ImgstatRecord *const other = wide_record(IMGSTAT_F32, pixels);
    ImgstatError error;
    cr_expect_eq(imgstat_record_merge(other, record, &error), IMGSTAT_ERR_LIMIT);
    cr_expect(strstr(error.message, "files or pages"), "%s", error.message);
    imgstat_record_destroy(other);
    uint8_t bytes[4096];
    const size_t n = imgstat_record_bytes(record, bytes, sizeof bytes);
    ImgstatDataset *a = NULL, *b = NULL;
    cr_assert(imgstat_dataset_from_bytes("a", bytes, n, 0, &a, &error) == IMGSTAT_OK);
    cr_assert(imgstat_dataset_from_bytes("b", bytes, n, 0, &b, &error) == IMGSTAT_OK);
    cr_expect_eq(imgstat_dataset_merge(a, b, &error), IMGSTAT_ERR_LIMIT);
    cr_expect(strstr(error.message, "b: more than 2^63 files"), "%s", error.message);
    imgstat_dataset_destroy(a);
    imgstat_dataset_destroy(b);
    imgstat_record_destroy(record);
    a = new_set();
    b = new_set(); /* the merged set could not have been read back */
    a->files = b->files = a->failed = b->failed = 1;
    a->all_failures = b->all_failures = most / 2;
    cr_expect_eq(imgstat_dataset_merge(a, b, &error), IMGSTAT_OK);
    const Bytes sum = bytes_of(a);
    ImgstatDataset *const again = read_back(sum, NULL);
    ImgstatAccount account;
    imgstat_dataset_account(again, &account);
    cr_expect_eq(account.all_failures, most - 1);
    b->all_failures = 2;
    cr_expect_eq(imgstat_dataset_merge(a, b, &error), IMGSTAT_ERR_LIMIT);
    cr_expect(strstr(error.message, "failures"), "%s", error.message);
    free(sum.at);
    imgstat_dataset_destroy(again);
    imgstat_dataset_destroy(a);
    imgstat_dataset_destroy(b);
}
