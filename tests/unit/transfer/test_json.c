/* SPDX-License-Identifier: MIT */
/* test_json.c: a saved transfer does what the one that was saved did; anything else is
 * refused. */
#include "transfer/json.h"

#include "helper_transform.h"
#include "support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static Transfer *reload(const Transfer *transfer)
{
    ImgstatError err = {0};
    char *const text = transfer_to_json(transfer, &err);
    cr_assert_not_null(text);
    Transfer *again;
    cr_assert_eq(transfer_from_json(text, strlen(text), "t.json", 0, &again, &err), IMGSTAT_OK,
                 "%s", err.message);
    char *const text_again = transfer_to_json(again, &err);
    cr_assert_str_eq(text, text_again);
    free(text);
    free(text_again);
    return again;
}

/* Applies both to `image` and compares the pixels. */
static void expect_same(Transfer *transfer, const ImagePro *image)
{
    Transfer *const again = reload(transfer);
    ImagePro a = image_like(image, transfer->range.sample),
             b = image_like(image, transfer->range.sample);
    cr_assert_eq(transfer_apply(transfer, image, -1, &a, NULL), IMGSTAT_OK);
    cr_assert_eq(transfer_apply(again, image, -1, &b, NULL), IMGSTAT_OK);
    cr_expect(image_equal(&a, &b));
    imgstat_image_release(&a);
    imgstat_image_release(&b);
    transfer_destroy(again);
    transfer_destroy(transfer);
}

Test(transfer_json, narrow_types_come_back)
{
    static const ImgstatSample types[] = {IMGSTAT_U8, IMGSTAT_I8, IMGSTAT_U16, IMGSTAT_I16,
                                          IMGSTAT_F16};
    static const ImgstatDepth depths[] = {IMGSTAT_DEPTH_KEEP, IMGSTAT_DEPTH_8, IMGSTAT_DEPTH_16,
                                          IMGSTAT_DEPTH_FLOAT};
    uint16_t samples[300];
    uint64_t seed = 4;
    for (size_t i = 0; i < 300; i++)
        samples[i] = (uint16_t)splitmix64(&seed);
    for (size_t t = 0; t < 5; t++)
        for (size_t d = 0; d < 4; d++) {
            ImagePro image = image_of(samples, 50, 1, 3, types[t], 0);
            image.has_nodata = d % 2;
            image.nodata_key =
                sample_key(types[t], samples[0] & (sample_bits(types[t]) == 8 ? 0xFF : 0x3FFF));
            const TransferShape shape = shape_of(&image, -1, true);
            Record *const record = plain_record(&image);
            const ImgstatMethod method = {
                .transform = IMGSTAT_EQUALIZE, .channels = IMGSTAT_EACH, .depth = depths[d]};
            Transfer *transfer;
            cr_assert_eq(
                transfer_create_counts(&method, &shape, record, NULL, NULL, &transfer, NULL),
                IMGSTAT_OK);
            expect_same(transfer, &image);
            record_destroy(record);
            imgstat_image_release(&image);
        }
}

Test(transfer_json, wide_types_come_back)
{
    static const ImgstatSample types[] = {IMGSTAT_U32, IMGSTAT_I32, IMGSTAT_F32,
                                          IMGSTAT_U64, IMGSTAT_I64, IMGSTAT_F64};
    static const ImgstatTransform transforms[] = {IMGSTAT_STRETCH, IMGSTAT_MEANSTD, IMGSTAT_GAMMA,
                                                  IMGSTAT_EQUALIZE};
    uint64_t seed = 8;
    size_t compared = 0;
    for (size_t t = 0; t < 6; t++)
        for (size_t m = 0; m < 4; m++) {
            uint64_t samples[200];
            for (size_t i = 0; i < 200; i++)
                samples[i] = splitmix64(&seed);
            ImagePro image = image_of(samples, 200, 1, 1, types[t], 0);
            RankBuilder builder;
            cr_assert_eq(rank_builder_init(NULL, &builder, 2, NULL), IMGSTAT_OK);
            const uint64_t one = map_key(types[t], 1.0), more = map_key(types[t], 1000.0);
            rank_builder_add(&builder, one, 1);
            rank_builder_add(&builder, more, 1);
            RankTable *const ranks = rank_builder_finish(&builder, NULL);
            const MapSource source = {.n = 2,
                                      .min_key = one,
                                      .max_key = more,
                                      .mean = 500.25,
                                      .origin = one + 77,
                                      .stddev = 0.1,
                                      .ranks = ranks};
            const ImgstatMethod method = {
                .transform = transforms[m], .mean = 3, .stddev = 4, .gamma = 0.3};
            const TransferShape shape = shape_of(&image, -1, false);
            Transfer *transfer;
            cr_assert_eq(transfer_create(NULL, &method, &shape, &source, NULL, &transfer, NULL),
                         IMGSTAT_OK);
            expect_same(transfer, &image);
            compared++;
            rank_table_destroy(ranks);
            imgstat_image_release(&image);
        }
    cr_assert_eq(compared, 24);
}

Test(transfer_json, file)
{
    ImagePro image = image_of(example_in, 8, 8, 1, IMGSTAT_U8, 8);
    const TransferShape shape = shape_of(&image, -1, false);
    Record *const record = plain_record(&image);
    const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE};
    ImgstatTransfer *transfer, *again;
    ImgstatError err = {0};
    cr_assert_eq(transfer_create_counts(&method, &shape, record, NULL, NULL, &transfer, NULL),
                 IMGSTAT_OK);
    char path[] = "/tmp/imgstat-transfer-XXXXXX";
    close(mkstemp(path));
    cr_expect_neq(imgstat_transfer_save(transfer, path, false, &err), IMGSTAT_OK,
                  "replaced without being asked");
    cr_assert_eq(imgstat_transfer_save(transfer, path, true, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(imgstat_transfer_load(path, 0, &again, &err), IMGSTAT_OK, "%s", err.message);
    ImagePro out = image_like(&image, IMGSTAT_U8),
             expected = image_of(example_out, 8, 8, 1, IMGSTAT_U8, 8);
    ImgstatDevice *device;
    cr_assert_eq(imgstat_device_open("cpu", 1, &device, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_transfer_apply(device, again, &image, -1, &out, &err), IMGSTAT_OK);
    imgstat_device_close(device);
    cr_expect(image_equal(&out, &expected));
    imgstat_transfer_destroy(again);
    char saved[4096] = {0}, text[4096];
    FILE *const file = fopen(path, "r");
    const size_t n = fread(saved, 1, sizeof saved, file) - 1; /* without its newline */
    fclose(file);
    saved[n] = '\0';
    cr_expect_eq(imgstat_transfer_text(transfer, NULL, 0), n);
    cr_assert_eq(imgstat_transfer_text(transfer, text, sizeof text), n);
    cr_expect_str_eq(text, saved);
    cr_assert_eq(imgstat_transfer_from_text("words", text, n, &again, &err), IMGSTAT_OK);
    expect_same(again, &image);
    cr_expect_eq(imgstat_transfer_from_text("words", text, n / 2, &again, &err),
                 IMGSTAT_ERR_FORMAT);
    cr_expect_eq(imgstat_transfer_load(path, 100, &again, &err), IMGSTAT_ERR_LIMIT);
    cr_expect(strstr(err.message, "more than the 100 bytes"), "%s", err.message);
    unlink(path);
    cr_expect_eq(imgstat_transfer_load(path, 0, &again, &err), IMGSTAT_ERR_IO);
    cr_expect_null(again);
    imgstat_transfer_destroy(transfer);
    imgstat_image_release(&out);
    imgstat_image_release(&expected);
    imgstat_image_release(&image);
    record_destroy(record);
}

Test(transfer_json, wrong_texts_are_refused)
{
    static const char *const good =
        "{\"imgstat_transfer\":1,\"method\":\"stretch\",\"like\":\"imgstat\",\"luma\":false,"
        "\"from\":{\"sample\":\"u32\",\"bits\":32},\"to\":{\"sample\":\"u32\",\"bits\":32,"
        "\"range\":[0,4294967295]},\"maps\":[{\"between\":[7,9]}]}";
    static const struct {
        const char *from, *to;
    } changes[] = {
        {"\"imgstat_transfer\":1", "\"imgstat_transfer\":2"},
        {"\"imgstat_transfer\":1,", ""},
        {"stretch", "clahe"},
        {"stretch", "shrink"},
        {"\"luma\":false", "\"luma\":0"},
        {"\"sample\":\"u32\"", "\"sample\":\"u33\""},
        {"\"bits\":32", "\"bits\":33"},
        {"\"bits\":32", "\"bits\":0"},
        {"[0,4294967295]", "[0,4294967296]"},
        {"[0,4294967295]", "[9,3]"},
        {"[0,4294967295]", "[0,1e400]"},
        {"[0,4294967295]", "[0]"},
        {"[7,9]", "[9,9]"},
        {"[7,9]", "[-1,9]"},
        {"[7,9]", "[7.5,9]"},
        {"[7,9]", "[7,99999999999999999999999]"},
        {"[7,9]", "null"},
        {"\"maps\":[{\"between\":[7,9]}]", "\"maps\":[]"},
        {"{\"between\":[7,9]}", "{}"},
        {"{\"between\":[7,9]}", "5"},
        {"{\"between\":[7,9]}", "{\"gamma\":0}"},
        {"{\"between\":[7,9]}", "{\"knots\":[]}"},
        {"{\"between\":[7,9]}", "{\"knots\":[[1,2]]}"},
        {"{\"between\":[7,9]}", "{\"knots\":[[2,0,0],[1,0,0]]}"},
        {"{\"between\":[7,9]}", "{\"knots\":[[2,0,1e999]]}"},
        {"{\"between\":[7,9]}", "{\"center\":1,\"divisor\":1,\"factor\":1}"},
        {"{\"between\":[7,9]}", "{\"center\":1,\"divisor\":-1,\"factor\":1,\"offset\":0}"},
        {"{\"between\":[7,9]}", "{\"center\":1,\"divisor\":1,\"factor\":-1,\"offset\":0}"},
        {"{\"between\":[7,9]}", "{\"unchanged\":false}"},
        {"{\"between\":[7,9]}", "{\"between\":[7,9],\"gamma\":2}"},
        {"{\"between\":[7,9]}", "{\"unchanged\":1}"},
        {"\"to\":{\"sample\":\"u32\",\"bits\":32", "\"to\":{\"sample\":\"u32\",\"bits\":31"},
        {"9]}]}", "9]}]"},
        {"9]}]}", "9]}]}x"},
        {"\"from\":{\"sample\":\"u32\"", "\"from\":{\"sample\":\"u8\""},
    };
    ImgstatError err;
    Transfer *transfer;
    cr_assert_eq(transfer_from_json(good, strlen(good), "t.json", 0, &transfer, &err), IMGSTAT_OK,
                 "%s", err.message);
    transfer_destroy(transfer);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const char *const at = strstr(good, changes[i].from);
        cr_assert_not_null(at);
        char text[1024];
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, changes[i].to,
                 at + strlen(changes[i].from));
        cr_expect_neq(transfer_from_json(text, strlen(text), "t.json", 0, &transfer, &err),
                      IMGSTAT_OK, "accepted: %s", text);
        cr_expect_null(transfer);
        cr_expect_eq(strncmp(err.message, "t.json: ", 8), 0, "%s", err.message);
    }
    for (size_t n = 0; n < strlen(good); n++) /* every beginning */
        cr_expect_neq(transfer_from_json(good, n, "t.json", 0, &transfer, &err), IMGSTAT_OK);
}

static void expect_read(const char *text, bool good)
{
    ImgstatError err = {0};
    Transfer *transfer = NULL;
    cr_expect_eq(transfer_from_json(text, strlen(text), "t.json", 0, &transfer, &err),
                 good ? IMGSTAT_OK : IMGSTAT_ERR_FORMAT, "%.300s: %s", text, err.message);
    transfer_destroy(transfer);
}

#define MEMBERS                                                                                    \
    "\"method\":\"stretch\",\"like\":\"imgstat\",\"luma\":false,\"from\":{\"sample\":\"u32\","     \
    "\"bits\":32},\"to\":{\"sample\":\"u32\",\"bits\":32,\"range\":[0,9]},\"maps\":[{\"gamma\":2}" \
    "]"

Test(transfer_json, sets)
{
    static const struct {
        const char *transfers;
        bool good;
    } sets[] = {
        {"[{" MEMBERS "}]", true},
        {"[{\"channel\":{\"c\":0}," MEMBERS "},{\"channel\":{\"c\":1}," MEMBERS "}]", true},
        {"[{\"channel\":{\"c\":1}," MEMBERS "},{\"channel\":{\"c\":1}," MEMBERS "}]", false},
        {"[{" MEMBERS "},{" MEMBERS "}]", false},
        {"[{\"channel\":{\"c\":4294967295}," MEMBERS "}]", true},
        {"[{\"channel\":{\"c\":4294967296}," MEMBERS "}]", false},
        {"[{\"channel\":{\"c\":-1}," MEMBERS "}]", false},
        {"[{\"channel\":1," MEMBERS "}]", false},
        {"[5]", false},
        {"[null]", false},
        {"[[]]", false},
        {"[{" MEMBERS "},5]", false},
        {"[]", false},
        {"{}", false},
        {"null", false},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char text[1024];
        snprintf(text, sizeof text, "{\"imgstat_transfer\":2,\"transfers\":%s}", sets[i].transfers);
        expect_read(text, sets[i].good);
    }
}

/* Samples that the bits of an output do not hold ran into those beside them. */
Test(transfer_json, bits_are_kept_to)
{
    char text[4096];
    int at = snprintf(text, sizeof text,
                      "{\"imgstat_transfer\":1,\"method\":\"stretch\",\"like\":\"imgstat\","
                      "\"luma\":false,\"from\":{\"sample\":\"u8\",\"bits\":4},\"to\":{\"sample\":"
                      "\"u8\",\"bits\":4,\"range\":[0,15]},\"maps\":[{\"table\":[");
    for (int v = 0; v < 256; v++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%d", v ? "," : "",
                       v < 16 ? 15 - v : 0);
    snprintf(text + at, sizeof text - (size_t)at, "]}]}");
    ImgstatError err;
    Transfer *transfer;
    cr_assert_eq(transfer_from_json(text, strlen(text), "t.json", 0, &transfer, &err), IMGSTAT_OK,
                 "%s", err.message);
    static const uint8_t samples[2] = {3, 200};
    ImagePro image = image_of(samples, 2, 1, 1, IMGSTAT_U8, 8),
             out = image_like(&image, IMGSTAT_U8);
    cr_expect_eq(transfer_apply(transfer, &image, -1, &out, &err), IMGSTAT_ERR_ARG);
    image.bits = 4;
    cr_expect_eq(transfer_apply(transfer, &image, -1, &out, &err), IMGSTAT_OK);
    imgstat_image_release(&image);
    imgstat_image_release(&out);
    transfer_destroy(transfer);
    memcpy(strstr(text, "[15,14"), "[16,14", 6);
    cr_expect_eq(transfer_from_json(text, strlen(text), "t.json", 0, &transfer, &err),
                 IMGSTAT_ERR_FORMAT);
}

/* Such entries were taken, and anything in the place of what stays. */
Test(transfer_json, entries_outside_the_range_are_refused)
{
    static const char *const narrow =
        "{\"imgstat_transfer\":1,\"method\":\"equalize\",\"like\":\"imgstat\",\"luma\":false,"
        "\"from\":{\"sample\":\"i8\",\"bits\":8},\"to\":{\"sample\":\"u8\",\"bits\":8,"
        "\"range\":[10,20]},\"nodata\":-127,\"maps\":[{\"table\":[%s,%s";
    static const struct {
        const char *first, *nodata;
        bool good;
    } entries[] = {{"10", "0", true},   {"20", "null", true}, {"9", "0", false},
                   {"21", "0", false},  {"null", "0", false}, {"10", "\"0\"", false},
                   {"10", "[]", false}, {"10", "300", false}, {"10", "true", false}};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        char text[2048];
        int n = snprintf(text, sizeof text, narrow, entries[i].first, entries[i].nodata);
        for (int v = 2; v < 256; v++)
            n += snprintf(text + n, sizeof text - (size_t)n, ",15");
        snprintf(text + n, sizeof text - (size_t)n, "]}]}");
        expect_read(text, entries[i].good);
    }
}

/* Not a number has no output: null is all that may be said of it. */
Test(transfer_json, entries_of_what_is_no_number_are_null)
{
    static const char *const first[] = {"null", "0", "\"x\"", "[]", "true"};
    char *const text = malloc(1 << 19);
    cr_assert_not_null(text);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        int n = sprintf(text,
                        "{\"imgstat_transfer\":1,\"method\":\"equalize\",\"like\":\"imgstat\","
                        "\"luma\":false,\"from\":{\"sample\":\"f16\",\"bits\":16},\"to\":"
                        "{\"sample\":\"u8\",\"bits\":8,\"range\":[0,255]},\"maps\":[{\"table\":[%s",
                        first[i]);
        for (uint32_t key = 1; key < 65536; key++)
            n += sprintf(text + n, map_undefined(IMGSTAT_F16, key) ? ",null" : ",7");
        sprintf(text + n, "]}]}");
        expect_read(text, i == 0);
    }
    free(text);
}

/* Entries of tables have 32 bits: such a transfer gave zeros. */
Test(transfer_json, tables_give_no_samples_of_64_bits)
{
    static const char *const to[] = {"f32", "u64", "i64", "f64"};
    for (size_t i = 0; i < 4; i++) {
        char text[256];
        ImgstatError err = {0};
        Transfer *transfer = NULL;
        snprintf(
            text, sizeof text,
            "{\"imgstat_transfer\":1,\"method\":\"stretch\",\"like\":\"imgstat\",\"luma\":false,"
            "\"from\":{\"sample\":\"u8\",\"bits\":8},\"to\":{\"sample\":\"%s\",\"bits\":32,"
            "\"range\":[0,9]},\"maps\":[{\"unchanged\":true}]}",
            to[i]);
        const ImgstatResult expected = i == 0 ? IMGSTAT_OK : IMGSTAT_ERR_FORMAT;
        cr_expect_eq(transfer_from_json(text, strlen(text), "t.json", 0, &transfer, &err), expected,
                     "%s: %s", to[i], err.message);
        transfer_destroy(transfer);
    }
}

/* A megabyte of text took 17 GB of memory. */
Test(transfer_json, maps_of_few_bytes_are_bounded)
{
    static const char head[] =
        "{\"imgstat_transfer\":1,\"method\":\"stretch\",\"like\":\"imgstat\",\"luma\":false,"
        "\"from\":{\"sample\":\"u16\",\"bits\":16},\"to\":{\"sample\":\"u16\",\"bits\":16,"
        "\"range\":[0,65535]},\"maps\":[{\"unchanged\":true}";
    static const char map[] = ",{\"unchanged\":true}";
    enum { MAPS = 65535 };
    char *const text = malloc(sizeof head + MAPS * sizeof map);
    cr_assert_not_null(text);
    size_t n = sizeof head - 1;
    memcpy(text, head, n);
    for (int i = 1; i < MAPS; i++, n += sizeof map - 1)
        memcpy(text + n, map, sizeof map - 1);
    memcpy(text + n, "]}", 2);
    ImgstatError err = {0};
    Transfer *transfer = NULL;
    cr_expect_eq(transfer_from_json(text, n + 2, "t.json", 0, &transfer, &err), IMGSTAT_ERR_LIMIT,
                 "%s", err.message);
    cr_expect_null(transfer);
    free(text);
}

/* json-c makes the nearest integer that it has of a longer one, so a range up to 1 and 30 zeros was
 * one up to 2^64. */
Test(transfer_json, integers_beyond_64_bits_are_refused)
{
    static const struct {
        const char *sample, *range;
        bool good;
    } cases[] = {
        {"u64", "[0,18446744073709551615]", true},
        {"u64", "[0,18446744073709551616]", false},
        {"u64", "[0,1000000000000000000000000000000]", false},
        {"i64", "[-9223372036854775808,9223372036854775807]", true},
        {"i64", "[-9223372036854775808,9223372036854775808]", false},
        {"i64", "[-9223372036854775809,0]", false},
        {"f64", "[0,18446744073709551615]", true},
        {"f64", "[0,18446744073709551617]", false},
        {"f64", "[0,18446744073709551617.0]", true},
        {"f64", "[-99999999999999999999,0]", false},
        {"f64", "[0,1e30]", true},
        {"f64", "[-1E+30,0]", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "{\"note\":\"99999999999999999999 \\\" 99999999999999999999\","
                 "\"imgstat_transfer\":1,\"method\":\"stretch\",\"like\":\"imgstat\","
                 "\"luma\":false,\"from\":{\"sample\":\"u32\",\"bits\":32},\"to\":"
                 "{\"sample\":\"%s\",\"bits\":64,\"range\":%s},\"maps\":[{\"unchanged\":true}]}",
                 cases[i].sample, cases[i].range);
        expect_read(text, cases[i].good);
    }
}

static ImgstatResult read_linear_map(const char *sample, int bits, const char *map,
                                     ImgstatError *err)
{
    char text[512];
    Transfer *transfer = NULL;
    snprintf(text, sizeof text,
             "{\"imgstat_transfer\":1,\"method\":\"meanstd\",\"like\":\"imgstat\",\"luma\":false,"
             "\"from\":{\"sample\":\"%s\",\"bits\":%d},\"to\":{\"sample\":\"%s\",\"bits\":%d,"
             "\"range\":[0,9]},\"maps\":[%s]}",
             sample, bits, sample, bits, map);
    const ImgstatResult result =
        transfer_from_json(text, strlen(text), "t.json", 0, &transfer, err);
    transfer_destroy(transfer);
    return result;
}

Test(transfer_json, what_is_missing_is_named)
{
    static const char *const maps[] = {"{\"center\":1,\"divisor\":\"x\",\"factor\":1,\"offset\":0}",
                                       "{\"center\":1,\"factor\":1,\"offset\":0}"};
    for (size_t i = 0; i < 2; i++) {
        ImgstatError err = {0};
        cr_expect_eq(read_linear_map("u32", 32, maps[i], &err), IMGSTAT_ERR_FORMAT);
        cr_expect_not_null(strstr(err.message, "\"divisor\" is missing"), "%s", err.message);
    }
}

/* From where it counts, a map of 64-bit integers says. */
Test(transfer_json, origin)
{
    const char *const linear = "{%s\"center\":0.5,\"divisor\":2,\"factor\":1,\"offset\":0}";
    static const struct {
        const char *sample, *origin;
        int bits;
        bool right;
    } cases[] = {{"u64", "\"origin\":18446744073709551615,", 64, true},
                 {"i64", "\"origin\":-9223372036854775808,", 64, true},
                 {"u64", "", 64, false},
                 {"u64", "\"origin\":-1,", 64, false},
                 {"i64", "\"origin\":1.5,", 64, false},
                 {"u64", "\"origin\":\"1\",", 64, false},
                 {"u32", "", 32, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ImgstatError err = {0};
        char map[256];
        snprintf(map, sizeof map, linear, cases[i].origin);
        const ImgstatResult result = read_linear_map(cases[i].sample, cases[i].bits, map, &err);
        cr_expect_eq(result, cases[i].right ? IMGSTAT_OK : IMGSTAT_ERR_FORMAT, "%zu: %s", i,
                     err.message);
        cr_expect(cases[i].right || strstr(err.message, "\"origin\" is missing"), "%s",
                  err.message);
    }
}

/* A table alone did not show where black and white were. */
Test(transfer_json, parameters_are_beside_tables)
{
    ImagePro image = image_of(example_in, 8, 8, 1, IMGSTAT_U8, 8);
    const TransferShape shape = shape_of(&image, -1, false);
    Record *const record = plain_record(&image);
    const double mean = 76.078125, stddev = 20.5;
    static const struct {
        ImgstatMethod method;
        const char *parameters; /* NULL: none */
        const char *wrong;
    } cases[] = {
        {{.transform = IMGSTAT_STRETCH}, "{\"black\":52,\"white\":154}", "{\"black\":52}"},
        {{.transform = IMGSTAT_PERCENTILE, .has_clip = true, .clip_lo = 5, .clip_hi = 5},
         "{\"black\":55,\"white\":122}",
         "{\"black\":55,\"white\":300}"},
        {{.transform = IMGSTAT_MEANSTD, .mean = 128, .stddev = 40},
         "{\"mean\":76.078125,\"stddev\":20.5,\"to_mean\":128.0,\"to_stddev\":40.0}",
         "{\"mean\":76.078125}"},
        {{.transform = IMGSTAT_GAMMA, .gamma = 0.5}, "{\"gamma\":0.5}", "{\"gamma\":\"no\"}"},
        {{.transform = IMGSTAT_EQUALIZE}, NULL, NULL},
        {{.transform = IMGSTAT_PERCENTILE, .like = IMGSTAT_LIKE_IMAGEJ}, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Transfer *transfer;
        ImgstatError err = {0};
        cr_assert_eq(transfer_create_counts(&cases[i].method, &shape, record, &mean, &stddev,
                                            &transfer, &err),
                     IMGSTAT_OK, "%zu: %s", i, err.message);
        char *const text = transfer_to_json(transfer, &err), *const about = malloc(1000);
        cr_assert(text && about);
        const size_t length = imgstat_transfer_describe(transfer, about, 1000);
        cr_expect_eq(length, strlen(about));
        cr_expect_null(strstr(about, "table"));
        const char *const at = strstr(text, "\"parameters\":");
        cr_expect_eq(at != NULL, cases[i].parameters != NULL, "%zu: %s", i, about);
        if (at && cases[i].parameters) {
            const char *const given = at + strlen("\"parameters\":");
            cr_expect(strncmp(given, cases[i].parameters, strlen(cases[i].parameters)) == 0,
                      "%zu: %s", i, given);
            cr_expect_not_null(strstr(about, cases[i].parameters), "%s", about);
            char *const other = malloc(strlen(text) + 100);
            cr_assert_not_null(other);
            sprintf(other, "%.*s%s%s", (int)(given - text), text, cases[i].wrong,
                    given + strlen(cases[i].parameters));
            expect_read(other, false);
            free(other);
        }
        char cut[10];
        cr_expect_eq(imgstat_transfer_describe(transfer, cut, sizeof cut), length);
        cr_expect(strlen(cut) == 9 && strncmp(cut, about, 9) == 0);
        cr_expect_eq(imgstat_transfer_describe(transfer, NULL, 0), length);
        free(about);
        free(text);
        expect_same(transfer, &image);
    }
    record_destroy(record);
    imgstat_image_release(&image);
}

/* Those of fewer bits than the scale that they were measured on. */
Test(transfer_json, black_and_white_between_levels)
{
    static const char given[] = "{\"black\":52.25,\"white\":154.5}";
    static const char *const wrong[] = {"{\"black\":-0.5,\"white\":154.5}",
                                        "{\"black\":52.25,\"white\":256.0}",
                                        "{\"black\":52.25,\"white\":\"154.5\"}"};
    ImagePro image = image_of(example_in, 8, 8, 1, IMGSTAT_U8, 8);
    const TransferShape shape = shape_of(&image, -1, false);
    Record *const record = plain_record(&image);
    const ImgstatMethod method = {.transform = IMGSTAT_STRETCH};
    Transfer *transfer;
    cr_assert_eq(transfer_create_counts(&method, &shape, record, NULL, NULL, &transfer, NULL),
                 IMGSTAT_OK);
    transfer->maps[0].black_part = 0.25;
    transfer->maps[0].white_part = 0.5;
    Transfer *const again = reload(transfer);
    cr_expect_eq(again->maps[0].black, 52);
    cr_expect_eq(again->maps[0].black_part, 0.25);
    cr_expect_eq(again->maps[0].white, 154);
    cr_expect_eq(again->maps[0].white_part, 0.5);
    char *const text = transfer_to_json(transfer, NULL), *const at =
                                                             text ? strstr(text, given) : NULL;
    cr_assert_not_null(at);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *const other = malloc(strlen(text) + 100);
        cr_assert_not_null(other);
        sprintf(other, "%.*s%s%s", (int)(at - text), text, wrong[i], at + strlen(given));
        expect_read(other, false);
        free(other);
    }
    free(text);
    transfer_destroy(again);
    transfer_destroy(transfer);
    record_destroy(record);
    imgstat_image_release(&image);
}
