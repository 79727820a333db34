/* SPDX-License-Identifier: MIT */
/* test_measure_batch.c: what a measuring batch reports of good and bad files, in which order; and
 * the small functions that a command line needs. */
#include "base/error.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 5 };

static char paths[N][256];
static ImgstatJob jobs[N];

static void begin(void)
{
    static const char *const names[N] = {"good-pages.tif", "bad-cut.tif", "no-such-file.png",
                                         "good-1x1.png", "photo.tif"};
    const char *const folder = getenv("IMGSTAT_TESTDATA");
    for (size_t i = 0; i < N; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s", folder ? folder : "testdata", names[i]);
        jobs[i] = (ImgstatJob){.input = paths[i]};
    }
}

TestSuite(measure_batch, .init = begin);

/* One letter a call, in order: of a page, a failure, the end of a good and a bad job. */
typedef struct Log {
    char calls[N][64];
    size_t n_done, stop_after;
    bool out_of_order;
} Log;

static void add(Log *log, size_t job, char letter)
{
    const size_t n = strlen(log->calls[job]);
    cr_assert_lt(n + 1, sizeof log->calls[job]);
    log->calls[job][n] = letter;
}

static bool on_page(void *context, const ImgstatMeasured *measured)
{
    cr_assert((measured->result == IMGSTAT_OK) == (measured->record != NULL));
    cr_assert_eq(measured->result == IMGSTAT_OK, measured->message[0] == '\0');
    if (measured->result == IMGSTAT_OK)
        cr_assert_eq(measured->page->page, measured->number);
    else
        cr_assert_eq(strncmp(measured->message, paths[measured->job], strlen(paths[0]) - 16), 0);
    add(context, measured->job, measured->result == IMGSTAT_OK ? 'p' : 'f');
    return true;
}

static bool on_done(void *context, const ImgstatDone *done)
{
    Log *const log = context;
    log->out_of_order |= done->job != log->n_done++;
    cr_assert_eq(done->result == IMGSTAT_OK, done->message[0] == '\0');
    add(log, done->job, done->result == IMGSTAT_OK ? 'G' : 'B');
    return log->n_done != log->stop_after;
}

static bool next_job(void *context, ImgstatJob *job)
{
    size_t *const at = context;
    if (*at == N)
        return false;
    *job = jobs[(*at)++];
    return true;
}

/* The same from an array and from a stream. */
static Log measure(unsigned threads, size_t stop_after)
{
    Log log[2] = {{.stop_after = stop_after}, {.stop_after = stop_after}};
    size_t at = 0;
    const ImgstatJobStream stream = {.next = next_job, .context = &at};
    ImgstatMeasureBatch batch = {.threads = threads, .page = on_page, .progress = on_done};
    batch.context = &log[0];
    cr_assert_eq(imgstat_batch_measure(&batch, jobs, N, NULL), IMGSTAT_OK);
    batch.context = &log[1];
    cr_assert_eq(imgstat_batch_measure_stream(&batch, &stream, NULL), IMGSTAT_OK);
    cr_assert(!log[0].out_of_order && !log[1].out_of_order);
    cr_assert_eq(log[0].n_done, log[1].n_done);
    for (size_t i = 0; stop_after == 0 && i < N; i++)
        cr_assert_str_eq(log[0].calls[i], log[1].calls[i]);
    return log[0];
}

Test(measure_batch, reports_every_page_in_order)
{
    for (unsigned threads = 1; threads <= 8; threads++) {
        const Log log = measure(threads, 0);
        cr_expect_str_eq(log.calls[0], "pppG");
        cr_expect_str_eq(log.calls[1], "fB");
        cr_expect_str_eq(log.calls[2], "fB");
        cr_expect_str_eq(log.calls[3], "pG");
        cr_expect_str_eq(log.calls[4], "pG");
    }
}

Test(measure_batch, stops)
{
    for (unsigned threads = 1; threads <= 3; threads++)
        cr_expect_eq(measure(threads, 2).n_done, 2);
}

static bool no_more(void *context, const ImgstatMeasured *measured)
{
    add(context, measured->job, 'p');
    return false;
}

/* A job whose pages were left out failed without a sentence. */
Test(measure_batch, leaves_out_pages)
{
    Log log = {.stop_after = 0};
    const ImgstatMeasureBatch batch = {.page = no_more, .progress = on_done, .context = &log};
    cr_assert_eq(imgstat_batch_measure(&batch, jobs, 1, NULL), IMGSTAT_OK);
    cr_expect_str_eq(log.calls[0], "pB");
}

Test(measure_batch, measures_one_page)
{
    jobs[0].pages = "1";
    jobs[4].pages = "9";
    const Log log = measure(2, 0);
    cr_expect_str_eq(log.calls[0], "pG");
    cr_expect_str_eq(log.calls[4], "fB");
}

Test(measure_batch, refuses_what_makes_no_sense)
{
    ImgstatError error;
    ImgstatMeasureBatch batch = {.page = NULL};
    cr_expect_eq(imgstat_batch_measure(&batch, jobs, N, &error), IMGSTAT_ERR_ARG);
    batch.page = on_page;
    cr_expect_eq(imgstat_batch_measure(NULL, jobs, N, &error), IMGSTAT_ERR_ARG);
    cr_expect_eq(imgstat_batch_measure(&batch, NULL, N, &error), IMGSTAT_ERR_ARG);
    cr_expect_eq(imgstat_batch_measure(&batch, NULL, 0, &error), IMGSTAT_OK);
    size_t at = N;
    const ImgstatJobStream none = {.next = next_job, .context = &at}, not_one = {.context = &at};
    cr_expect_eq(imgstat_batch_measure_stream(NULL, &none, &error), IMGSTAT_ERR_ARG);
    cr_expect_eq(imgstat_batch_measure_stream(&batch, NULL, &error), IMGSTAT_ERR_ARG);
    cr_expect_eq(imgstat_batch_measure_stream(&batch, &not_one, &error), IMGSTAT_ERR_ARG);
    cr_expect_eq(imgstat_batch_measure_stream(&batch, &none, &error), IMGSTAT_OK);
    ImgstatMeasureBatch by_all = batch;
    by_all.by = IMGSTAT_BY_ALL;
    cr_expect_eq(imgstat_batch_measure_stream(&by_all, &none, &error), IMGSTAT_ERR_ARG);
    ImgstatMeasureBatch small = batch; /* it took more, and did not say so */
    ImgstatDataset *set = NULL;
    small.memory = (32 << 20) - 1;
    cr_assert_eq(imgstat_dataset_create(&set, &error), IMGSTAT_OK);
    cr_expect_eq(imgstat_batch_measure(&small, NULL, 0, &error), IMGSTAT_ERR_ARG);
    cr_expect_eq(imgstat_batch_measure_stream(&small, &none, &error), IMGSTAT_ERR_ARG);
    cr_expect_eq(imgstat_dataset_measure(set, &small, &none, &error), IMGSTAT_ERR_ARG);
    cr_expect_eq(imgstat_dataset_compute(set, &small, NULL, &error), IMGSTAT_ERR_ARG);
    /* it called functions that are not there */
    const ImgstatPeers alone = {.rank = 0, .n = 2};
    ImgstatMeasureBatch with_peers = batch;
    with_peers.peers = &alone;
    cr_expect_eq(imgstat_dataset_compute(set, &with_peers, &none, &error), IMGSTAT_ERR_ARG);
    small.memory++;
    cr_expect_eq(imgstat_batch_measure(&small, NULL, 0, &error), IMGSTAT_OK);
    imgstat_dataset_destroy(set);
    batch.device = "abacus";
    cr_expect_eq(imgstat_batch_measure(&batch, jobs, N, &error), IMGSTAT_ERR_ARG);
    cr_expect(strstr(error.message, "abacus"), "%s", error.message);
}

Test(measure_batch, text_is_utf8)
{
    static const struct {
        const char *bytes, *plain, *masked;
    } cases[] = {{"a.png", "a.png", "a.png"},
                 {"", "", ""},
                 {"a\xff.png", "a\xEF\xBF\xBD.png", "a\xEF\xBF\xBD.png"},
                 {"\xe2\x82", "\xEF\xBF\xBD", "\xEF\xBF\xBD"},
                 {"n\nl\x7f", "n\nl\x7f", "n?l?"},
                 {"\xe6\x97\xa5", "\xe6\x97\xa5", "\xe6\x97\xa5"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int mask = 0; mask <= 1; mask++) {
            const char *const want = mask ? cases[i].masked : cases[i].plain;
            const size_t length = strlen(want);
            char out[16];
            for (size_t capacity = 0; capacity <= length + 1; capacity++) {
                memset(out, 'x', sizeof out);
                cr_expect_eq(imgstat_text_utf8(cases[i].bytes, mask, out, capacity), length);
                cr_expect(capacity == 0 || strlen(out) < capacity);
                cr_expect(capacity == 0 || strncmp(out, want, strlen(out)) == 0);
                cr_expect_eq(out[capacity], 'x');
            }
            cr_expect_str_eq(out, want);
        }
}

Test(measure_batch, formats_have_endings)
{
    cr_expect_str_eq(imgstat_format_of_name("a.PNG"), "png");
    cr_expect_str_eq(imgstat_format_of_name("x/a.tf8"), "tiff");
    cr_expect_null(imgstat_format_of_name("a.jpg"));
    cr_expect_null(imgstat_format_of_name("png"));
}

Test(measure_batch, transfers_fit_pages_of_their_kind)
{
    ImgstatDevice *device;
    ImgstatTransfer *transfer;
    ImagePro image;
    ImgstatPage page;
    const ImgstatMethod stretch = {.transform = IMGSTAT_STRETCH};
    cr_assert_eq(imgstat_device_open("cpu", 1, &device, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_image_load(paths[4], NULL, 0, &image, &page, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_transfer_create(device, &stretch, &image, -1, NULL, &transfer, NULL),
                 IMGSTAT_OK);
    ImgstatError error;
    cr_expect_eq(imgstat_transfer_fits(transfer, &page, NULL, &error), IMGSTAT_OK);
    page.sample = IMGSTAT_U16;
    page.bits = 16;
    cr_expect_neq(imgstat_transfer_fits(transfer, &page, NULL, &error), IMGSTAT_OK);
    imgstat_transfer_destroy(transfer);
    imgstat_image_release(&image);
    imgstat_device_close(device);
}
