/* SPDX-License-Identifier: MIT */
/* test_dataset.c: streams of files that are measured into a data set: how many jobs are held, what
 * a program may do meanwhile, and files that change between two reads. */
#include "base/error.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 40, SIDE = 16 };

static char folder[] = "/tmp/imgstat-dataset-XXXXXX";
static char paths[FILES][64];

static void save(unsigned i, float add)
{
    ImagePro image;
    const ImgstatWrite how = {.replace = true};
    cr_assert_eq(imgstat_image_create(SIDE, SIDE, 1, IMGSTAT_F32, 0, &image, NULL), IMGSTAT_OK);
    for (unsigned k = 0; k < SIDE * SIDE; k++)
        ((float *)image.host)[k] = (float)(k * 7 % 251) + add;
    cr_assert_eq(imgstat_image_save(&image, -1, paths[i], NULL, &how, NULL), IMGSTAT_OK);
    imgstat_image_release(&image);
}

static void begin(void)
{
    cr_assert_not_null(mkdtemp(folder));
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%02u.tif", folder, i);
        save(i, (float)i);
    }
}

static void end(void)
{
    for (unsigned i = 0; i < FILES; i++)
        (void)!unlink(paths[i]);
    (void)!rmdir(folder);
}

TestSuite(dataset, .init = begin, .fini = end);

typedef enum Change { NONE, OTHER_PIXELS, NO_FILE, NO_RESTART } Change;

typedef struct Stream {
    size_t at, furthest;    /* furthest: jobs that were given and not yet reported */
    atomic_size_t reported; /* while another thread takes the next job */
    size_t stop_after, restarts;
    size_t read, read_at_most; /* files that were read again */
    Change change;
    char name[64]; /* of the latest job: it changes with the next one */
} Stream;

static bool next(void *context, ImgstatJob *job)
{
    Stream *const s = context;
    if (s->at == FILES)
        return false;
    snprintf(s->name, sizeof s->name, "%s", paths[s->at++]);
    job->input = s->name;
    if (s->restarts == 0 && s->at - s->reported > s->furthest)
        s->furthest = s->at - s->reported;
    return true;
}

static bool restart(void *context)
{
    Stream *const s = context;
    s->at = 0;
    s->restarts++;
    s->read = 0;
    if (s->change == OTHER_PIXELS)
        save(11, 1000);
    if (s->change == NO_FILE) /* the error is that of the first, while another is at work */
        for (unsigned i = 11; i < 14; i++)
            unlink(paths[i]);
    return s->change != NO_RESTART;
}

static bool done(void *context, const ImgstatDone *d)
{
    Stream *const s = context;
    s->reported = d->job + 1;
    return s->reported != s->stop_after;
}

static bool reading(void *context, size_t files)
{
    Stream *const s = context;
    cr_expect_eq(files, s->read + 1);
    s->read = files;
    return s->read != s->read_at_most;
}

/* Measures and computes; returns the median. */
static ImgstatResult run(Stream *s, unsigned threads, double *median, ImgstatError *err)
{
    const ImgstatMeasure how = {.median = true, .shape = true};
    const ImgstatJobStream stream = {.next = next, .restart = restart, .context = s};
    const ImgstatMeasureBatch batch = {
        .how = &how, .threads = threads, .progress = done, .reading = reading, .context = s};
    ImgstatDataset *set = NULL;
    cr_assert_eq(imgstat_dataset_create(&set, err), IMGSTAT_OK);
    ImgstatResult res = imgstat_dataset_measure(set, &batch, &stream, err);
    if (res == IMGSTAT_OK)
        res = imgstat_dataset_compute(set, &batch, &stream, err);
    if (res == IMGSTAT_OK) {
        ImgstatStats stats;
        imgstat_record_stats(imgstat_dataset_record(set, 0), 0, &stats);
        cr_expect_eq(stats.count, FILES * SIDE * SIDE);
        *median = stats.median;
    }
    imgstat_dataset_destroy(set);
    return res;
}

static int compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

Test(dataset, streams)
{
    static float all[FILES * SIDE * SIDE];
    for (unsigned i = 0; i < FILES; i++)
        for (unsigned k = 0; k < SIDE * SIDE; k++)
            all[i * SIDE * SIDE + k] = (float)(k * 7 % 251) + (float)i;
    qsort(all, FILES * SIDE * SIDE, sizeof *all, compare);
    const double wanted =
        ((double)all[FILES * SIDE * SIDE / 2 - 1] + (double)all[FILES * SIDE * SIDE / 2]) / 2;
    for (unsigned threads = 1; threads <= 3; threads++) {
        Stream s = {.at = 0};
        double median = 0;
        cr_assert_eq(run(&s, threads, &median, NULL), IMGSTAT_OK);
        cr_expect_eq(median, wanted);
        cr_expect_eq(s.read, FILES);
        cr_expect_eq(s.restarts, 1, "one more read of floats of 32 bits, not %zu", s.restarts);
        cr_expect(s.furthest <= FILES);
        if (threads == 1)
            cr_expect(s.furthest <= 6, "%zu jobs are held", s.furthest);
    }
}

Test(dataset, further_reads_end_where_a_program_says_so)
{
    for (unsigned threads = 1; threads <= 3; threads++) {
        Stream s = {.read_at_most = 9};
        ImgstatError error = {0};
        double median;
        cr_expect_eq(run(&s, threads, &median, &error), IMGSTAT_ERR_CANCELLED);
        cr_expect_eq(error.code, IMGSTAT_ERR_CANCELLED, "%s", error.message);
        cr_expect(s.read == 9 && s.restarts == 1, "%zu threads: %zu files, %zu times",
                  (size_t)threads, s.read, s.restarts);
    }
}

Test(dataset, changes_are_errors)
{
    const struct {
        Change change;
        ImgstatResult result;
        const char *says;
    } cases[] = {{OTHER_PIXELS, IMGSTAT_ERR_IO, "11.tif: changed between two reads"},
                 {NO_FILE, IMGSTAT_ERR_IO, "11.tif: No such file"},
                 {NO_RESTART, IMGSTAT_ERR_ARG, "cannot be read again"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned threads = 1; threads <= 4; threads++) {
            Stream s = {.change = cases[i].change};
            ImgstatError error = {0};
            double median;
            for (unsigned k = 11; k < 14; k++)
                save(k, (float)k);
            cr_expect_eq(run(&s, threads, &median, &error), cases[i].result);
            cr_expect(strstr(error.message, cases[i].says), "%s", error.message);
        }
}

Test(dataset, ends_when_asked)
{
    Stream s = {.stop_after = 5};
    double median;
    cr_expect_eq(run(&s, 2, &median, NULL), IMGSTAT_ERR_CANCELLED);
    cr_expect_eq(s.reported >= 5 && s.at < FILES, true);
}

/* ---- A file that is cut short ---- */

typedef enum Cut { BY_NOTHING, BY_PAGE, BY_CANCELLED } Cut;

typedef struct OneFile {
    Cut cut;
    bool given;
    atomic_bool cancelled;
} OneFile;

static bool one_file(void *context, ImgstatJob *job)
{
    static char path[4096];
    OneFile *const one = context;
    if (one->given)
        return false;
    snprintf(path, sizeof path, "%s/good-pages.tif", getenv("IMGSTAT_TESTDATA"));
    job->input = path;
    return one->given = true;
}

/* The first page is good, the second too large, and then the program has enough. */
static bool second_is_last(void *context, const ImgstatMeasured *measured)
{
    OneFile *const one = context;
    if (measured->number == 1)
        cr_expect_eq(measured->result, IMGSTAT_ERR_LIMIT);
    if (one->cut == BY_CANCELLED && measured->number == 1)
        one->cancelled = true;
    return one->cut != BY_PAGE || measured->number < 2;
}

static bool is_cancelled(void *context)
{
    return ((OneFile *)context)->cancelled;
}

Test(dataset, has_nothing_of_a_file_that_is_cut_short)
{
    for (Cut cut = BY_NOTHING; cut <= BY_CANCELLED; cut++) {
        OneFile one = {.cut = cut};
        const ImgstatJobStream stream = {.next = one_file, .context = &one};
        const ImgstatMeasureBatch batch = {.open.limits.max_bytes = 100, /* of 6, 120 and 96 */
                                           .page = second_is_last,
                                           .cancelled = is_cancelled,
                                           .context = &one};
        ImgstatDataset *set = NULL;
        ImgstatAccount account;
        cr_assert_eq(imgstat_dataset_create(&set, NULL), IMGSTAT_OK);
        cr_expect_eq(imgstat_dataset_measure(set, &batch, &stream, NULL),
                     cut == BY_CANCELLED ? IMGSTAT_ERR_CANCELLED : IMGSTAT_OK);
        imgstat_dataset_account(set, &account);
        cr_expect_eq(account.files, cut == BY_NOTHING, "%d", cut);
        cr_expect_eq(account.pages, cut == BY_NOTHING ? 2 : 0, "%d", cut);
        cr_expect_eq(account.all_failures, cut == BY_NOTHING, "%d", cut);
        cr_expect_eq(imgstat_dataset_records(set), cut == BY_NOTHING ? 2 : 0, "%d", cut);
        imgstat_dataset_destroy(set);
    }
}
