/* SPDX-License-Identifier: MIT */
/* test_imgstat.c: what a program asks for that makes no sense is an error, and outputs are empty.
 * All of the public header's fallible functions crashed before where a pointer was NULL that must
 * not be. */
#include "imgstat_async.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ImgstatDevice *device;
static ImgstatFile *file; /* of one page, none of them selected */
static ImagePro gray;     /* 4 x 2 of u16 */
static ImgstatRecord *record;
static ImgstatTransfer *transfer;
static ImgstatPending *pending;
static ImgstatChain *chain;
static char path[1024];
static const ImgstatMethod equalize = {.transform = IMGSTAT_EQUALIZE};

static void begin(void)
{
    static const uint16_t pixels[8] = {1, 5, 2, 5, 9, 30, 4, 4};
    snprintf(path, sizeof path, "%s/good-rgb.png", getenv("IMGSTAT_TESTDATA"));
    const ImgstatMeasure how = {.histogram = true};
    cr_assert_eq(imgstat_device_open("cpu", 1, &device, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_file_open(path, NULL, &file, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, pixels, 0, 4, 2, 1, IMGSTAT_U16, 0, NULL, NULL,
                                    &gray, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(imgstat_measure_image(device, &gray, &how, &record, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_transfer_create(device, &equalize, &gray, -1, NULL, &transfer, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(imgstat_pending_create(device, IMGSTAT_U16, 1, &pending, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_chain_create(device, &equalize, &gray, -1, &chain, NULL), IMGSTAT_OK);
}

static void end(void)
{
    imgstat_chain_destroy(chain);
    imgstat_pending_destroy(pending);
    imgstat_transfer_destroy(transfer);
    imgstat_record_destroy(record);
    imgstat_image_release(&gray);
    imgstat_file_close(file);
    imgstat_device_close(device);
}

TestSuite(misuse, .init = begin, .fini = end);

/* The call is an error of the caller's, and says so with the name of the function. */
#define CHECK_NULL(function, ...)                                                             \
    do {                                                                                      \
        ImgstatError err = {.code = IMGSTAT_OK};                                              \
        cr_assert_eq(function(__VA_ARGS__, &err), IMGSTAT_ERR_ARG);                           \
        cr_assert_eq(err.code, IMGSTAT_ERR_ARG);                                              \
        cr_assert_eq(strncmp(err.message, #function ": ", sizeof #function + 1), 0, "%s: %s", \
                     #function, err.message);                                                 \
        checked++;                                                                            \
    } while (0)

static void *const somewhere = &gray; /* not looked at */

Test(misuse, null_of_devices_and_images)
{
    size_t checked = 0;
    ImgstatDevice *opened = somewhere;
    CHECK_NULL(imgstat_device_open, NULL, 0, &opened);
    cr_assert_null(opened);
    CHECK_NULL(imgstat_device_open, "cpu", 0, NULL);
    CHECK_NULL(imgstat_image_create, 1, 1, 1, IMGSTAT_U8, 0, NULL);
    CHECK_NULL(imgstat_image_wrap, IMGSTAT_HOST, 0, path, 0, 1, 1, 1, IMGSTAT_U8, 0, NULL, NULL,
               NULL);
    cr_assert_eq(checked, 4);
}

static ImgstatResult no_bytes(void *context, const void *bytes, size_t n, ImgstatError *err)
{
    (void)context, (void)bytes, (void)n, (void)err;
    cr_assert(false, "nothing is written");
    return IMGSTAT_ERR_IO;
}

Test(misuse, null_of_files)
{
    size_t checked = 0;
    ImgstatFile *opened = somewhere;
    ImagePro image;
    ImgstatPage page;
    CHECK_NULL(imgstat_file_open, NULL, NULL, &opened);
    cr_assert_null(opened);
    CHECK_NULL(imgstat_file_open, path, NULL, NULL);
    static const ImgstatInput no_reader = {.bytes = 1};
    opened = somewhere;
    CHECK_NULL(imgstat_file_open_input, "name", NULL, NULL, &opened);
    cr_assert_null(opened);
    CHECK_NULL(imgstat_file_open_input, "name", &no_reader, NULL, &opened);
    uint32_t pages[1], n;
    ImgstatLayout layout;
    CHECK_NULL(imgstat_pages_check, NULL);
    CHECK_NULL(imgstat_file_find, NULL, NULL, pages, 1, &n);
    CHECK_NULL(imgstat_file_find, file, NULL, NULL, 1, &n);
    CHECK_NULL(imgstat_file_find, file, NULL, pages, 1, NULL);
    CHECK_NULL(imgstat_file_layout, NULL, &layout);
    CHECK_NULL(imgstat_file_layout, file, NULL);
    CHECK_NULL(imgstat_file_page, NULL, 0, &page);
    CHECK_NULL(imgstat_file_read, NULL, &gray);
    CHECK_NULL(imgstat_file_read, file, NULL);
    CHECK_NULL(imgstat_image_load, NULL, NULL, 0, &image, NULL);
    CHECK_NULL(imgstat_image_load, path, NULL, 0, NULL, NULL);
    CHECK_NULL(imgstat_image_save, NULL, -1, "unwritten.png", NULL, NULL);
    CHECK_NULL(imgstat_image_save, &gray, -1, NULL, NULL, NULL);
    static const ImgstatOutput no_writer = {.context = NULL};
    CHECK_NULL(imgstat_image_save_to, &gray, -1, "a.png", NULL, NULL, NULL);
    CHECK_NULL(imgstat_image_save_to, &gray, -1, "a.png", &no_writer, NULL, NULL);
    const ImgstatOutput output = {.write = no_bytes};
    CHECK_NULL(imgstat_image_save_to, NULL, -1, "a.png", &output, NULL, NULL);
    CHECK_NULL(imgstat_image_save_to, &gray, -1, NULL, &output, NULL, NULL);
    cr_assert_eq(checked, 21);
    cr_assert_neq(access("unwritten.png", F_OK), 0);
}

Test(misuse, null_of_measuring)
{
    size_t checked = 0;
    ImgstatRecord *made = somewhere;
    ImgstatPending *room = somewhere;
    CHECK_NULL(imgstat_measure_file, NULL, file, 0, NULL, &made);
    cr_assert_null(made);
    CHECK_NULL(imgstat_measure_file, device, NULL, 0, NULL, &made);
    CHECK_NULL(imgstat_measure_file, device, file, 0, NULL, NULL);
    made = somewhere;
    CHECK_NULL(imgstat_measure_image, NULL, &gray, NULL, &made);
    cr_assert_null(made);
    CHECK_NULL(imgstat_measure_image, device, NULL, NULL, &made);
    CHECK_NULL(imgstat_measure_image, device, &gray, NULL, NULL);
    static const uint32_t pages[1];
    CHECK_NULL(imgstat_measure_pages, NULL, file, pages, 1, NULL, &made);
    CHECK_NULL(imgstat_measure_pages, device, NULL, pages, 1, NULL, &made);
    CHECK_NULL(imgstat_measure_pages, device, file, NULL, 1, NULL, &made);
    CHECK_NULL(imgstat_measure_pages, device, file, pages, 1, NULL, NULL);
    CHECK_NULL(imgstat_measure_images, NULL, &gray, 1, NULL, &made);
    CHECK_NULL(imgstat_measure_images, device, NULL, 1, NULL, &made);
    CHECK_NULL(imgstat_measure_images, device, &gray, 1, NULL, NULL);
    CHECK_NULL(imgstat_pending_create, NULL, IMGSTAT_U8, 1, &room);
    cr_assert_null(room);
    CHECK_NULL(imgstat_pending_create, device, IMGSTAT_U8, 1, NULL);
    CHECK_NULL(imgstat_measure_async, NULL, &gray, NULL);
    CHECK_NULL(imgstat_measure_async, pending, NULL, NULL);
    CHECK_NULL(imgstat_pending_record, NULL, NULL, NULL, &made);
    CHECK_NULL(imgstat_pending_record, pending, NULL, NULL, NULL);
    CHECK_NULL(imgstat_pending_create_series, NULL, IMGSTAT_U8, 1, 2, &room);
    CHECK_NULL(imgstat_pending_create_series, device, IMGSTAT_U8, 1, 2, NULL);
    CHECK_NULL(imgstat_measure_series_async, NULL, &gray, 1, 0, NULL);
    CHECK_NULL(imgstat_measure_series_async, pending, NULL, 1, 0, NULL);
    CHECK_NULL(imgstat_pending_record_of, NULL, 0, NULL, NULL, &made);
    CHECK_NULL(imgstat_pending_record_of, pending, 0, NULL, NULL, NULL);
    cr_assert_eq(checked, 25);
}

Test(misuse, null_of_records)
{
    size_t checked = 0;
    ImgstatRecord *made = somewhere;
    static const ImgstatKind kind = {.sample = IMGSTAT_U16, .channels = 1, .alpha = -1};
    CHECK_NULL(imgstat_record_create, NULL, &made);
    cr_assert_null(made);
    CHECK_NULL(imgstat_record_create, &kind, NULL);
    CHECK_NULL(imgstat_record_merge, NULL, record);
    CHECK_NULL(imgstat_record_merge, record, NULL);
    CHECK_NULL(imgstat_record_compute, NULL, NULL);
    CHECK_NULL(imgstat_record_set_kind, NULL, &kind);
    CHECK_NULL(imgstat_record_set_kind, record, NULL);
    made = somewhere;
    CHECK_NULL(imgstat_record_from_bytes, NULL, 1, &made);
    cr_assert_null(made);
    CHECK_NULL(imgstat_record_from_bytes, path, 1, NULL);
    CHECK_NULL(imgstat_record_save, NULL, "unwritten.imgstat", false);
    CHECK_NULL(imgstat_record_save, record, NULL, false);
    made = somewhere;
    CHECK_NULL(imgstat_record_load, NULL, &made);
    cr_assert_null(made);
    CHECK_NULL(imgstat_record_load, path, NULL);
    cr_assert_eq(checked, 13);
    cr_assert_neq(access("unwritten.imgstat", F_OK), 0);
}

Test(misuse, null_of_data_sets)
{
    size_t checked = 0;
    ImgstatDataset *set, *made = somewhere;
    ImgstatTransfer *transfers = somewhere;
    static const uint8_t id[16];
    static const ImgstatMeasureBatch batch = {.device = "cpu"};
    static const ImgstatJobStream no_jobs = {.context = NULL};
    cr_assert_eq(imgstat_dataset_create(&set, NULL), IMGSTAT_OK);
    CHECK_NULL(imgstat_dataset_create, NULL);
    CHECK_NULL(imgstat_dataset_merge, NULL, set);
    CHECK_NULL(imgstat_dataset_merge, set, NULL);
    CHECK_NULL(imgstat_dataset_merge_file, NULL, path, 0);
    CHECK_NULL(imgstat_dataset_merge_file, set, NULL, 0);
    CHECK_NULL(imgstat_dataset_from_bytes, NULL, NULL, 1, 0, &made);
    cr_assert_null(made);
    CHECK_NULL(imgstat_dataset_from_bytes, NULL, path, 1, 0, NULL);
    CHECK_NULL(imgstat_dataset_save, NULL, "unwritten.imgstat", false);
    CHECK_NULL(imgstat_dataset_save, set, NULL, false);
    made = somewhere;
    CHECK_NULL(imgstat_dataset_load, NULL, 0, &made);
    cr_assert_null(made);
    CHECK_NULL(imgstat_dataset_load, path, 0, NULL);
    CHECK_NULL(imgstat_dataset_set_shard, NULL, 0, 2, id);
    CHECK_NULL(imgstat_dataset_set_shard, set, 0, 2, NULL);
    CHECK_NULL(imgstat_dataset_measure, NULL, &batch, &no_jobs);
    CHECK_NULL(imgstat_dataset_measure, set, NULL, &no_jobs);
    CHECK_NULL(imgstat_dataset_measure, set, &batch, NULL);
    CHECK_NULL(imgstat_dataset_measure, set, &batch, &no_jobs);
    CHECK_NULL(imgstat_dataset_compute, NULL, &batch, NULL);
    CHECK_NULL(imgstat_dataset_compute, set, NULL, NULL);
    CHECK_NULL(imgstat_dataset_compute, set, &batch, &no_jobs);
    CHECK_NULL(imgstat_transfer_from_dataset, NULL, set, &transfers);
    cr_assert_null(transfers);
    CHECK_NULL(imgstat_transfer_from_dataset, &equalize, NULL, &transfers);
    CHECK_NULL(imgstat_transfer_from_dataset, &equalize, set, NULL);
    cr_assert_eq(checked, 23);
    cr_assert_neq(access("unwritten.imgstat", F_OK), 0);
    imgstat_dataset_destroy(set);
}

Test(misuse, null_of_transfers)
{
    size_t checked = 0;
    ImgstatTransfer *made = somewhere;
    ImgstatChain *linked = somewhere;
    ImagePro to;
    CHECK_NULL(imgstat_method_check, NULL);
    CHECK_NULL(imgstat_transfer_create, NULL, &equalize, &gray, -1, NULL, &made);
    cr_assert_null(made);
    CHECK_NULL(imgstat_transfer_create, device, NULL, &gray, -1, NULL, &made);
    CHECK_NULL(imgstat_transfer_create, device, &equalize, NULL, -1, NULL, &made);
    CHECK_NULL(imgstat_transfer_create, device, &equalize, &gray, -1, NULL, NULL);
    made = somewhere;
    CHECK_NULL(imgstat_transfer_from_record, NULL, record, NULL, &made);
    cr_assert_null(made);
    CHECK_NULL(imgstat_transfer_from_record, &equalize, NULL, NULL, &made);
    CHECK_NULL(imgstat_transfer_from_record, &equalize, record, NULL, NULL);
    ImgstatPage page = {.sample = IMGSTAT_U16, .channels = 1, .alpha = -1};
    CHECK_NULL(imgstat_transfer_fits, NULL, &page, NULL);
    CHECK_NULL(imgstat_transfer_fits, transfer, NULL, NULL);
    CHECK_NULL(imgstat_image_transform_to, NULL, &equalize, &gray, -1, NULL, &gray);
    CHECK_NULL(imgstat_image_transform_to, device, NULL, &gray, -1, NULL, &gray);
    CHECK_NULL(imgstat_image_transform_to, device, &equalize, NULL, -1, NULL, &gray);
    CHECK_NULL(imgstat_image_transform_to, device, &equalize, &gray, -1, NULL, NULL);
    CHECK_NULL(imgstat_transfer_save, NULL, "unwritten.json", false);
    CHECK_NULL(imgstat_transfer_save, transfer, NULL, false);
    made = somewhere;
    CHECK_NULL(imgstat_transfer_load, NULL, 0, &made);
    cr_assert_null(made);
    CHECK_NULL(imgstat_transfer_load, path, 0, NULL);
    made = somewhere;
    CHECK_NULL(imgstat_transfer_from_text, NULL, "{}", 2, &made);
    cr_assert_null(made);
    CHECK_NULL(imgstat_transfer_from_text, "text", NULL, 2, &made);
    CHECK_NULL(imgstat_transfer_from_text, "text", "{}", 2, NULL);
    CHECK_NULL(imgstat_transfer_apply, NULL, transfer, &gray, -1, &gray);
    CHECK_NULL(imgstat_transfer_apply, device, NULL, &gray, -1, &gray);
    CHECK_NULL(imgstat_transfer_apply, device, transfer, NULL, -1, &gray);
    CHECK_NULL(imgstat_transfer_apply, device, transfer, &gray, -1, NULL);
    CHECK_NULL(imgstat_image_transform, NULL, &equalize, &gray, -1, NULL, &to);
    CHECK_NULL(imgstat_image_transform, device, NULL, &gray, -1, NULL, &to);
    CHECK_NULL(imgstat_image_transform, device, &equalize, NULL, -1, NULL, &to);
    CHECK_NULL(imgstat_image_transform, device, &equalize, &gray, -1, NULL, NULL);
    CHECK_NULL(imgstat_chain_create, NULL, &equalize, &gray, -1, &linked);
    cr_assert_null(linked);
    CHECK_NULL(imgstat_chain_create, device, NULL, &gray, -1, &linked);
    CHECK_NULL(imgstat_chain_create, device, &equalize, NULL, -1, &linked);
    CHECK_NULL(imgstat_chain_create, device, &equalize, &gray, -1, NULL);
    CHECK_NULL(imgstat_transform_async, NULL, &gray, &gray, NULL);
    CHECK_NULL(imgstat_transform_async, chain, NULL, &gray, NULL);
    CHECK_NULL(imgstat_transform_async, chain, &gray, NULL, NULL);
    CHECK_NULL(imgstat_transform_series_async, NULL, &gray, 0, &gray, 0, 1, NULL);
    CHECK_NULL(imgstat_transform_series_async, chain, NULL, 0, &gray, 0, 1, NULL);
    CHECK_NULL(imgstat_transform_series_async, chain, &gray, 0, NULL, 0, 1, NULL);
    cr_assert_eq(checked, 39);
    cr_assert_neq(access("unwritten.json", F_OK), 0);
}

static bool no_page(void *context, const ImgstatMeasured *measured)
{
    (void)context, (void)measured;
    cr_assert(false, "nothing is measured");
    return false;
}

Test(misuse, null_of_batches)
{
    size_t checked = 0;
    const ImgstatBatch batch = {.method = equalize};
    const ImgstatJob job = {.input = path, .output = NULL};
    CHECK_NULL(imgstat_batch_run, NULL, &job, 1);
    CHECK_NULL(imgstat_batch_run, &batch, NULL, 1);
    const ImgstatMeasureBatch measured = {.page = no_page}, unheard = {.page = NULL};
    const ImgstatJobStream no_jobs = {.context = NULL};
    CHECK_NULL(imgstat_batch_measure, NULL, &job, 1);
    CHECK_NULL(imgstat_batch_measure, &unheard, &job, 1);
    CHECK_NULL(imgstat_batch_measure, &measured, NULL, 1);
    CHECK_NULL(imgstat_batch_measure_stream, NULL, &no_jobs);
    CHECK_NULL(imgstat_batch_measure_stream, &measured, NULL);
    CHECK_NULL(imgstat_batch_measure_stream, &measured, &no_jobs);
    cr_assert_eq(checked, 8);
    cr_assert_eq(imgstat_batch_run(&batch, &job, 1, NULL), IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_batch_run(&batch, NULL, 0, NULL), IMGSTAT_OK);
}

Test(misuse, null_that_may_be)
{
    uint8_t bits;
    ImgstatRecord *made;
    cr_assert_eq(imgstat_transfer_output(transfer, NULL), imgstat_transfer_output(transfer, &bits));
    cr_assert_eq(imgstat_chain_output(chain, NULL), imgstat_chain_output(chain, &bits));
    cr_assert_eq(imgstat_measure_image(device, &gray, NULL, &made, NULL), IMGSTAT_OK);
    imgstat_record_destroy(made);
    cr_assert_eq(imgstat_file_page(file, 0, NULL, NULL), IMGSTAT_OK);
}

/* A PNG was measured whatever page was named. */
Test(misuse, pages_that_are_not_there)
{
    ImgstatRecord *made = somewhere;
    ImgstatError err;
    cr_assert_eq(imgstat_measure_file(device, file, 1, NULL, &made, &err), IMGSTAT_ERR_ARG);
    cr_assert_null(made);
    cr_assert(strstr(err.message, "has no page 1; it has 1"), "%s", err.message);
    cr_assert_eq(imgstat_file_page(file, 1, NULL, NULL), IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_measure_file(device, file, 0, NULL, &made, &err), IMGSTAT_OK);
    imgstat_record_destroy(made);
}

/* The program had a grammar of its own, and took "1.0,1.00" for two pages. */
Test(misuse, texts_that_name_pages)
{
    static const char *const good[] = {"0",     "0,3-5,2.1",           "3-3,4",
                                       "5,0-4", "1.0,1,0.0.0,0.0,1.1", "99999999999,99999999998"};
    static const char *const none[] = {
        "",  ",",  "0,",    ",0",  "0-", "-1",  "1..0", "1.",    "2-1", ".0",     "0-1-2",
        "a", "0 ", "1.0-2", "0;1", "+1", "1-x", "0,,1", "1-2.0", "0x1", "0,1.0.", "1.0,-"};
    static const char *const twice[] = {"0,0",        "0-2,1",   "1,3,0-4",         "2,1.0,1.0",
                                        "1.0,2,1.00", "0-1,1-2", "4.0.1,4.0,4.0.1", "00,0"};
    ImgstatError err;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_expect_eq(imgstat_pages_check(good[i], &err), IMGSTAT_OK, "%s", good[i]);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        cr_expect_eq(imgstat_pages_check(none[i], &err), IMGSTAT_ERR_ARG, "%s", none[i]);
        cr_expect(strstr(err.message, "\" names no pages;"), "%s: %s", none[i], err.message);
    }
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) {
        cr_expect_eq(imgstat_pages_check(twice[i], &err), IMGSTAT_ERR_ARG, "%s", twice[i]);
        cr_expect(strstr(err.message, "\" names a page twice"), "%s: %s", twice[i], err.message);
    }
}

Test(misuse, pages_measured_as_one)
{
    ImgstatRecord *made = somewhere;
    ImgstatError err;
    const uint32_t pages[2] = {0, 1};
    cr_assert_eq(imgstat_measure_pages(NULL, file, pages, 1, NULL, &made, NULL), IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_measure_pages(device, NULL, pages, 1, NULL, &made, NULL), IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_measure_pages(device, file, NULL, 1, NULL, &made, NULL), IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_measure_pages(device, file, pages, 1, NULL, NULL, NULL), IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_measure_pages(device, file, pages, 0, NULL, &made, NULL), IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_measure_pages(device, file, pages, 2, NULL, &made, &err), IMGSTAT_ERR_ARG);
    cr_assert_null(made);
    cr_assert(strstr(err.message, "page 1: has no page 1; it has 1"), "%s", err.message);
}

/* It crashed: there was no page to take tags from. */
Test(misuse, like_a_file_of_which_no_page_is_selected)
{
    ImgstatError err;
    const ImgstatWrite how = {.replace = true};
    cr_assert_eq(imgstat_image_save(&gray, -1, "unwritten.png", file, &how, &err), IMGSTAT_ERR_ARG);
    cr_assert(strstr(err.message, "no page is selected"), "%s", err.message);
    cr_assert_neq(access("unwritten.png", F_OK), 0);
}

Test(misuse, compressions_that_are_not_written)
{
    ImgstatError err;
    const ImgstatWrite jpeg = {.compression = "jpeg"}, lzw = {.compression = "lzw"};
    cr_assert_eq(imgstat_image_save(&gray, -1, "unwritten.tif", NULL, &jpeg, &err),
                 IMGSTAT_ERR_ARG);
    cr_assert(strstr(err.message, "lzw, packbits"), "%s", err.message);
    cr_assert_eq(imgstat_image_save(&gray, -1, "unwritten.png", NULL, &lzw, &err), IMGSTAT_ERR_ARG);
    cr_assert(strstr(err.message, "deflate, none"), "%s", err.message);
    cr_assert_neq(access("unwritten.tif", F_OK), 0);
}

/* Memory behind the record was read. */
Test(misuse, channels_that_are_not_there)
{
    ImgstatStats stats;
    ImgstatHistogram histogram;
    ImgstatValue value;
    char sum[48];
    for (int channel = 1; channel <= UINT16_MAX; channel += channel) {
        const uint16_t c = (uint16_t)channel;
        imgstat_record_stats(record, c, &stats);
        cr_assert_eq(stats.count, 0);
        cr_assert(isnan(stats.mean) && isnan(stats.median) && isnan(stats.entropy));
        cr_assert(isnan(imgstat_record_percentile(record, c, 0)));
        cr_assert_not(imgstat_record_exact(record, c, IMGSTAT_MEDIAN, &value));
        cr_assert_not(imgstat_record_histogram(record, c, &histogram));
        cr_assert_not(imgstat_record_edge(record, c, 0, &value));
        imgstat_record_sum(record, c, sum);
        cr_assert_str_eq(sum, "null");
    }
    cr_assert(imgstat_record_histogram(record, 0, &histogram));
    imgstat_record_stats(record, 0, &stats);
    cr_assert_eq(stats.count, 8);
}

/* The percentile behind the last of the list was the median. */
Test(misuse, percentiles_that_are_not_in_the_list)
{
    static const float pixels[4] = {1, 5, 2, 30};
    const double list[2] = {0, 100};
    const ImgstatMeasure how = {.percentiles = list, .n_percentiles = 2, .median = true};
    const ImgstatMeasure mergeable = {.mergeable = true};
    ImagePro floats, three = gray;
    ImgstatRecord *exact = NULL, *bounded = NULL;
    ImgstatValue value;
    double lo, hi;
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, pixels, 0, 4, 1, 1, IMGSTAT_F32, 0, NULL, NULL,
                                    &floats, NULL),
                 IMGSTAT_OK);
    three.width = 3;
    three.height = 1;
    cr_assert_eq(imgstat_measure_image(device, &three, &how, &exact, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_measure_image(device, &floats, &mergeable, &bounded, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_record_compute(bounded, &how, NULL), IMGSTAT_OK);
    cr_assert(imgstat_record_exact(exact, 0, 1, &value));
    cr_assert_eq(value.as.u, 5);
    cr_assert(imgstat_record_exact(exact, 0, IMGSTAT_MEDIAN, &value));
    cr_assert_eq(value.as.u, 2);
    cr_assert_not(imgstat_record_exact(exact, 0, 2, &value));
    cr_assert(imgstat_record_bounds(bounded, 0, IMGSTAT_MEDIAN, &lo, &hi));
    cr_assert_not(imgstat_record_bounds(bounded, 0, 2, &lo, &hi));
    imgstat_record_destroy(exact);
    imgstat_record_destroy(bounded);
}

/* Such a record was saved, and could not be read. */
Test(misuse, texts_of_kinds_that_records_do_not_keep)
{
    static char text[IMGSTAT_NAME_MOST + 2];
    const char *const names[1] = {text};
    const ImgstatKind named = {.sample = IMGSTAT_U16, .channels = 1, .alpha = -1, .names = names};
    const ImgstatKind coloured = {
        .sample = IMGSTAT_U16, .channels = 1, .alpha = -1, .photometric = text};
    ImgstatRecord *made = somewhere;
    memset(text, 'n', sizeof text - 1);
    cr_assert_eq(imgstat_record_create(&named, &made, NULL), IMGSTAT_ERR_ARG);
    cr_assert_null(made);
    cr_assert_eq(imgstat_record_create(&coloured, &made, NULL), IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_record_set_kind(record, &named, NULL), IMGSTAT_ERR_ARG);
    text[IMGSTAT_NAME_MOST] = '\0';
    cr_assert_eq(imgstat_record_create(&named, &made, NULL), IMGSTAT_OK);
    const size_t n = imgstat_record_bytes(made, NULL, 0);
    void *const bytes = malloc(n);
    ImgstatRecord *read = NULL;
    ImgstatKind kind;
    cr_assert_eq(imgstat_record_bytes(made, bytes, n), n);
    cr_assert_eq(imgstat_record_from_bytes(bytes, n, &read, NULL), IMGSTAT_OK);
    imgstat_record_kind(read, &kind);
    cr_assert_str_eq(kind.names[0], text);
    imgstat_record_destroy(read);
    imgstat_record_destroy(made);
    free(bytes);
}

static void check_measure(ImgstatMeasure how)
{
    ImgstatRecord *made = somewhere;
    cr_assert_eq(imgstat_measure_image(device, &gray, &how, &made, NULL), IMGSTAT_ERR_ARG);
    cr_assert_null(made);
}

/* Percentiles without a list crashed; an unknown method was taken for the nearest rank. */
/* Rows of a mask were read over each other, and pixels of all rows left out by the first. */
Test(misuse, rows_of_masks_that_overlap)
{
    static const uint8_t mask[8] = {1, 0, 1, 1, 0, 1, 1, 1};
    ImgstatRecord *measured = NULL;
    ImgstatTransfer *made = NULL;
    ImagePro masked = gray, one_row = gray, to;
    masked.mask = one_row.mask = mask;
    one_row.height = 1;
    cr_assert_eq(imgstat_measure_image(device, &one_row, NULL, &measured, NULL), IMGSTAT_OK);
    imgstat_record_destroy(measured);
    const ImgstatMethod match = {.transform = IMGSTAT_MATCH}, clahe = {.transform = IMGSTAT_CLAHE};
    for (masked.mask_pitch = 0; masked.mask_pitch < 4; masked.mask_pitch++) {
        cr_assert_eq(imgstat_measure_image(device, &masked, NULL, &measured, NULL),
                     IMGSTAT_ERR_ARG);
        cr_assert_eq(imgstat_measure_async(pending, &masked, NULL, NULL), IMGSTAT_ERR_ARG);
        cr_assert_eq(imgstat_transfer_create(device, &equalize, &masked, -1, NULL, &made, NULL),
                     IMGSTAT_ERR_ARG);
        cr_assert_eq(imgstat_transfer_create(device, &match, &gray, -1, &masked, &made, NULL),
                     IMGSTAT_ERR_ARG);
        cr_assert_eq(imgstat_transfer_apply(device, transfer, &masked, -1, &gray, NULL),
                     IMGSTAT_ERR_ARG);
        cr_assert_eq(imgstat_image_transform(device, &equalize, &masked, -1, NULL, &to, NULL),
                     IMGSTAT_ERR_ARG);
        cr_assert_eq(imgstat_image_transform(device, &clahe, &masked, -1, NULL, &to, NULL),
                     IMGSTAT_ERR_ARG);
        cr_assert_eq(imgstat_transform_async(chain, &masked, &gray, NULL, NULL), IMGSTAT_ERR_ARG);
    }
    cr_assert_eq(imgstat_measure_image(device, &masked, NULL, &measured, NULL), IMGSTAT_OK);
    ImgstatStats stats;
    imgstat_record_stats(measured, 0, &stats);
    cr_assert(stats.masked == 2 && stats.count == 6);
    imgstat_record_destroy(measured);
}

/* Whether an image at `at` of a canvas shares bytes with another one, found byte by byte. */
static bool shares(const ImagePro *a, size_t a_row, const ImagePro *b, size_t b_row)
{
    for (uint32_t i = 0; i < a->height; i++)
        for (uint32_t k = 0; k < b->height; k++) {
            const unsigned char *const p = (unsigned char *)a->host + i * a->pitch;
            const unsigned char *const q = (unsigned char *)b->host + k * b->pitch;
            if (p < q + b_row && q < p + a_row)
                return true;
        }
    return false;
}

/* The output had samples made from what was written before. */
Test(misuse, outputs_that_share_samples)
{
    enum { PITCH = 12, BYTES = 40 * PITCH };
    static _Alignas(16) unsigned char canvas[BYTES];
    size_t refused = 0, taken = 0;
    for (int to_words = 0; to_words < 2; to_words++)
        for (uint32_t width = 1; width <= PITCH; width += width < 3 ? 1 : 3)
            for (uint32_t height = 1; height <= 4; height++)
                for (size_t dense = 0; dense < 2; dense++)
                    for (size_t at = 0; at < BYTES - 4 * 2 * PITCH; at += 1 + (size_t)to_words) {
                        const size_t pitch = dense ? width : PITCH, row = width << to_words;
                        const size_t to_pitch = dense ? row : PITCH;
                        const ImgstatMethod method = {.transform = IMGSTAT_STRETCH,
                                                      .depth = to_words ? IMGSTAT_DEPTH_16
                                                                        : IMGSTAT_DEPTH_KEEP};
                        ImagePro from, to;
                        if (row > to_pitch)
                            continue;
                        cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, canvas + 20 * PITCH, pitch,
                                                        width, height, 1, IMGSTAT_U8, 8, NULL, NULL,
                                                        &from, NULL),
                                     IMGSTAT_OK);
                        cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, canvas + at, to_pitch,
                                                        width, height, 1,
                                                        to_words ? IMGSTAT_U16 : IMGSTAT_U8, 0,
                                                        NULL, NULL, &to, NULL),
                                     IMGSTAT_OK);
                        const bool same = at == 20 * PITCH && !to_words;
                        const bool bad = !same && shares(&from, width, &to, row);
                        const ImgstatResult res =
                            imgstat_image_transform_to(device, &method, &from, -1, NULL, &to, NULL);
                        cr_assert_eq(res, bad ? IMGSTAT_ERR_ARG : IMGSTAT_OK, "%u x %u, at %zu",
                                     width, height, at);
                        refused += bad;
                        taken += !bad;
                    }
    cr_assert(refused > 1000 && taken > 1000, "%zu refused, %zu taken", refused, taken);
}

Test(misuse, measures)
{
    const double wrong = NAN;
    check_measure((ImgstatMeasure){.n_percentiles = 1});
    check_measure((ImgstatMeasure){.n_percentiles = 1, .percentiles = &wrong});
    check_measure((ImgstatMeasure){.percentile_method = (ImgstatPercentile)2});
    check_measure((ImgstatMeasure){.percentile_method = (ImgstatPercentile)-1});
    ImgstatPending *room = somewhere;
    cr_assert_eq(imgstat_pending_create(device, (ImgstatSample)11, 1, &room, NULL),
                 IMGSTAT_ERR_ARG);
    cr_assert_null(room);
    cr_assert_eq(imgstat_pending_create(device, IMGSTAT_U8, 0, &room, NULL), IMGSTAT_ERR_ARG);
}

static void check_method(ImgstatMethod method, int16_t alpha)
{
    ImgstatTransfer *made = somewhere;
    ImgstatChain *linked = somewhere;
    ImagePro to;
    cr_assert_eq(imgstat_transfer_create(device, &method, &gray, alpha, NULL, &made, NULL),
                 IMGSTAT_ERR_ARG);
    cr_assert_null(made);
    cr_assert_eq(imgstat_chain_create(device, &method, &gray, alpha, &linked, NULL),
                 IMGSTAT_ERR_ARG);
    cr_assert_null(linked);
    cr_assert_eq(imgstat_image_transform(device, &method, &gray, alpha, NULL, &to, NULL),
                 IMGSTAT_ERR_ARG);
    cr_assert_null(to.host);
    method.transform = IMGSTAT_CLAHE;
    if (method.channels || method.depth || alpha != -1)
        cr_assert_eq(imgstat_image_transform(device, &method, &gray, alpha, NULL, &to, NULL),
                     IMGSTAT_ERR_ARG);
}

/* Unknown transforms, channels and depths were taken for others. */
Test(misuse, methods)
{
    check_method((ImgstatMethod){.transform = (ImgstatTransform)(IMGSTAT_CLAHE + 1)}, -1);
    check_method((ImgstatMethod){.transform = (ImgstatTransform)-1}, -1);
    check_method((ImgstatMethod){.channels = (ImgstatChannels)(IMGSTAT_LUMA + 1)}, -1);
    check_method((ImgstatMethod){.depth = (ImgstatDepth)(IMGSTAT_DEPTH_FLOAT + 1)}, -1);
    check_method((ImgstatMethod){.transform = IMGSTAT_GAMMA, .gamma = NAN}, -1);
    check_method((ImgstatMethod){.has_range = true, .lo = 2, .hi = 1}, -1);
    check_method(equalize, -2);
    check_method(equalize, 1);
    cr_assert_eq(imgstat_transfer_apply(device, transfer, &gray, -2, &gray, NULL), IMGSTAT_ERR_ARG);
}

/* Both were told that a reference belongs to matching. */
Test(misuse, matching_without_a_reference)
{
    const ImgstatMethod match = {.transform = IMGSTAT_MATCH};
    ImgstatError err = {0};
    ImagePro out;
    cr_assert_eq(imgstat_image_transform(device, &match, &gray, -1, NULL, &out, &err),
                 IMGSTAT_ERR_ARG);
    cr_assert_str_eq(err.message, "matching needs a reference");
    cr_assert_eq(imgstat_image_transform(device, &equalize, &gray, -1, &gray, &out, &err),
                 IMGSTAT_ERR_ARG);
    cr_assert_str_eq(err.message, "a reference belongs to matching, and to nothing else");
    const ImgstatMethod clahe = {.transform = IMGSTAT_CLAHE}; /* it dropped the reference */
    cr_assert_eq(imgstat_image_transform(device, &clahe, &gray, -1, &gray, &out, &err),
                 IMGSTAT_ERR_ARG);
    cr_assert_str_eq(err.message, "a reference belongs to matching, and to nothing else");
    const ImgstatJob job = {.input = path, .output = "out.png"};
    cr_assert_eq(imgstat_batch_run(&(ImgstatBatch){.method = match}, &job, 1, &err),
                 IMGSTAT_ERR_ARG);
    cr_assert_str_eq(err.message, "matching needs a reference");
}

static void keep_sentence(void *context, const char *sentence)
{
    snprintf(context, 128, "%s", sentence);
}

/* What an output lacks of its input was lost. */
Test(misuse, saving_warns)
{
    const char *const folder = getenv("IMGSTAT_TESTDATA");
    char name[512], sentence[128] = "";
    snprintf(name, sizeof name, "%s/good-interlaced.png", folder ? folder : "../testdata");
    ImgstatFile *like;
    ImgstatPage page;
    ImagePro image;
    cr_assert_eq(imgstat_image_load(name, NULL, 0, &image, &page, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_file_open(name, NULL, &like, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_file_page(like, 0, NULL, NULL), IMGSTAT_OK);
    const ImgstatWrite how = {
        .format = "png", .replace = true, .warn = keep_sentence, .warn_context = sentence};
    cr_assert_eq(imgstat_image_save(&image, page.alpha, "/dev/null", like, &how, NULL), IMGSTAT_OK);
    cr_assert_str_eq(sentence, "/dev/null: written without interlacing");
    imgstat_file_close(like);
    imgstat_image_release(&image);
}

/* The nodata value of an image was lost. */
Test(misuse, nodata_is_saved)
{
    static const ImgstatValue want = {.sample = IMGSTAT_I16, .as.i = -9};
    char saved[] = "/tmp/imgstat-nodata-XXXXXX";
    close(mkstemp(saved));
    ImagePro image;
    ImgstatPage page;
    cr_assert_eq(imgstat_image_create(3, 2, 1, IMGSTAT_I16, 0, &image, NULL), IMGSTAT_OK);
    imgstat_image_set_nodata(&image, want);
    const ImgstatWrite tiff = {.format = "tiff", .replace = true};
    cr_assert_eq(imgstat_image_save(&image, -1, saved, NULL, &tiff, NULL), IMGSTAT_OK);
    imgstat_image_release(&image);
    cr_assert_eq(imgstat_image_load(saved, NULL, 0, &image, &page, NULL), IMGSTAT_OK);
    cr_expect(page.has_nodata);
    cr_expect_eq(page.nodata.as.i, -9);
    imgstat_image_release(&image);
    unlink(saved);
}

/* Whether the n-th call has come; counts them down. */
static bool nth_call(void *context)
{
    return --*(int *)context == 0;
}

/* The sentence had no name. */
Test(misuse, saving_is_cancelled)
{
    char saved[] = "/tmp/imgstat-cancelled-XXXXXX";
    close(mkstemp(saved));
    ImagePro image;
    cr_assert_eq(imgstat_image_create(300, 200, 1, IMGSTAT_U8, 0, &image, NULL), IMGSTAT_OK);
    int n = 0, calls;
    ImgstatResult res;
    do {
        const ImgstatWrite how = {
            .format = "png", .replace = true, .cancelled = nth_call, .cancelled_context = &calls};
        struct stat st;
        calls = ++n;
        ImgstatError err = {.message = ""};
        char named[128];
        res = imgstat_image_save(&image, -1, saved, NULL, &how, &err);
        (void)snprintf(named, sizeof named, "%s: interrupted", saved);
        cr_assert_str_eq(err.message, res == IMGSTAT_OK ? "" : named);
        cr_assert_eq(stat(saved, &st), 0);
        cr_assert_eq(st.st_size > 0, res == IMGSTAT_OK);
        cr_assert_eq(res, calls > 0 ? IMGSTAT_OK : IMGSTAT_ERR_CANCELLED);
    } while (res != IMGSTAT_OK);
    cr_assert_gt(n, 3, "%d", n);
    imgstat_image_release(&image);
    unlink(saved);
}
