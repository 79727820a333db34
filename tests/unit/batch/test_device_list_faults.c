/* SPDX-License-Identifier: MIT */
/* test_device_list_faults.c: batches on a device that lacks memory, or is lost, in each of its
 * calls in turn, those for memory and copies included. Where the processor may take over, results
 * and files are its own; else each file that fails has one sentence and no output. The GPU is a
 * stand-in (stand_in.c). */
#include "imgstat.h"

#include "support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FILES = 3, BYTES = 1 << 18, PATH_BYTES = 128, TEXT_BYTES = 1024 };

static char folder[64], in[FILES][PATH_BYTES], out[FILES][PATH_BYTES], steps_path[PATH_BYTES];

/* What a batch may do, on a device that decodes or one that does not. */
typedef struct Way {
    const char *decode;
    bool measures;
    ImgstatTransform transform;
    size_t files; /* the first of them: CLAHE has no floats */
} Way;

static const Way ways[] = {{"", true, IMGSTAT_STRETCH, 3},
                           {"threads", true, IMGSTAT_STRETCH, 3},
                           {"", false, IMGSTAT_EQUALIZE, 3},
                           {"threads", false, IMGSTAT_STRETCH, 3},
                           {"threads", false, IMGSTAT_PERCENTILE, 3},
                           {"", false, IMGSTAT_CLAHE, 2}};
enum { WAYS = sizeof ways / sizeof *ways };

/* Of each file its sentence, "" if it is good, and its statistics or what was written. */
typedef struct Outcome {
    ImgstatResult result;
    char said[FILES][TEXT_BYTES], why[TEXT_BYTES];
    size_t n_said, fallen, bytes[FILES];
    unsigned char *got[FILES];
} Outcome;

static void make_file(size_t i, uint16_t channels, ImgstatSample sample, const char *ending)
{
    ImagePro image;
    snprintf(in[i], PATH_BYTES, "%s/in%zu.%s", folder, i, ending);
    snprintf(out[i], PATH_BYTES, "%s/out%zu.%s", folder, i, ending);
    cr_assert_eq(imgstat_image_create(61, 40, channels, sample, 0, &image, NULL), IMGSTAT_OK);
    const size_t row = 61u * channels * imgstat_sample_bytes(sample);
    for (size_t y = 0; y < 40; y++)
        for (size_t k = 0; k < row; k++)
            ((unsigned char *)image.host)[y * image.pitch + k] = (unsigned char)((k * 7 + y) % 61);
    cr_assert_eq(imgstat_image_save(&image, -1, in[i], NULL, NULL, NULL), IMGSTAT_OK);
    imgstat_image_release(&image);
}

static void begin(void)
{
    const char *const module = getenv("IMGSTAT_STAND_IN");
    if (!module)
        cr_skip_test("IMGSTAT_STAND_IN names no module");
    snprintf(folder, sizeof folder, "/tmp/imgstat-steps-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(steps_path, PATH_BYTES, "%s/steps", folder);
    setenv("IMGSTAT_CUDA_MODULE", module, 1);
    setenv("IMGSTAT_STAND_IN_GPUS", "1", 1);
    setenv("IMGSTAT_STAND_IN_STEPS", steps_path, 1);
    make_file(0, 3, IMGSTAT_U8, "png");
    make_file(1, 1, IMGSTAT_U16, "png");
    make_file(2, 1, IMGSTAT_F32, "tif");
}

static void end(void)
{
    (void)unlink(steps_path);
    for (size_t i = 0; i < FILES; i++) {
        (void)unlink(in[i]);
        (void)unlink(out[i]);
    }
    cr_assert_eq(rmdir(folder), 0, "something is left in %s", folder);
}

TestSuite(device_faults, .init = begin, .fini = end);

/* ---- Batches --------------------------------------------------------------------------------- */

static bool on_done(void *context, const ImgstatDone *done)
{
    Outcome *const o = context;
    snprintf(o->said[o->n_said++], TEXT_BYTES, "%s", done->message);
    return true;
}

static bool on_page(void *context, const ImgstatMeasured *measured)
{
    Outcome *const o = context;
    ImgstatStats stats = {0};
    if (!measured->record)
        return true;
    imgstat_record_stats(measured->record, 0, &stats);
    o->bytes[measured->job] =
        (size_t)snprintf((char *)o->got[measured->job], BYTES, "%a %a %a %llx", stats.mean,
                         stats.stddev, stats.skewness, (unsigned long long)stats.max.as.u);
    return true;
}

static void on_fallen(void *context, const char *why)
{
    Outcome *const o = context;
    o->fallen++;
    snprintf(o->why, TEXT_BYTES, "%s", why);
}

static void read_output(Outcome *o, size_t i)
{
    FILE *const file = fopen(out[i], "rb");
    o->bytes[i] = file ? fread(o->got[i], 1, BYTES, file) : 0;
    cr_assert(o->bytes[i] < BYTES);
    if (file)
        fclose(file);
}

static void run(const Way *way, const char *device, const char *step, bool falls_back, Outcome *o)
{
    ImgstatJob jobs[FILES] = {0};
    ImgstatError error;
    o->n_said = o->fallen = 0;
    setenv("IMGSTAT_DECODE", way->decode, 1);
    setenv("IMGSTAT_STAND_IN_STEP", step, 1);
    for (size_t i = 0; i < way->files; i++) {
        jobs[i] = (ImgstatJob){.input = in[i], .output = way->measures ? NULL : out[i]};
        (void)unlink(out[i]);
        o->bytes[i] = 0;
    }
    if (way->measures) {
        const ImgstatMeasure how = {.median = true, .shape = true};
        const ImgstatMeasureBatch batch = {.how = &how,
                                           .device = device,
                                           .threads = 1,
                                           .fallen_back = falls_back ? on_fallen : NULL,
                                           .page = on_page,
                                           .progress = on_done,
                                           .context = o};
        o->result = imgstat_batch_measure(&batch, jobs, way->files, &error);
    } else {
        const ImgstatBatch batch = {.method = {.transform = way->transform},
                                    .device = device,
                                    .threads = 1,
                                    .fallen_back = falls_back ? on_fallen : NULL,
                                    .progress = on_done,
                                    .context = o};
        o->result = imgstat_batch_run(&batch, jobs, way->files, &error);
        for (size_t i = 0; i < way->files; i++)
            read_output(o, i);
    }
    for (size_t i = 0; o->result != IMGSTAT_OK && i < way->files; i++) /* none was begun */
        snprintf(o->said[i], TEXT_BYTES, "%s", error.message);
}

static bool is_sentence(const char *text)
{
    return strstr(text, "cuda:0: ") && !strchr(text, '\n');
}

/* Returns how many files have failed. */
static size_t compare(const Way *way, const char *step, bool falls_back, const Outcome *expected,
                      const Outcome *o)
{
    size_t failed = 0;
    cr_expect(o->n_said == way->files || o->result != IMGSTAT_OK, "%s: files are missing", step);
    cr_expect(!falls_back || o->result == IMGSTAT_OK, "%s: %s", step, o->said[0]);
    cr_expect(o->fallen == 0 || is_sentence(o->why), "%s: reports %s", step, o->why);
    for (size_t i = 0; i < way->files; i++) {
        if (!falls_back && *o->said[i]) {
            cr_expect(is_sentence(o->said[i]), "%s: %s", step, o->said[i]);
            failed++;
            /* If the call has failed, the processor may have done some files before. */
            if (o->result == IMGSTAT_OK || o->bytes[i] == 0) {
                cr_expect_eq(o->bytes[i], 0, "%s: file %zu failed, and is there", step, i);
                continue;
            }
        } else {
            cr_expect_str_eq(o->said[i], "", "%s: file %zu: %s", step, i, o->said[i]);
        }
        cr_expect(o->bytes[i] == expected->bytes[i] &&
                      memcmp(o->got[i], expected->got[i], o->bytes[i]) == 0,
                  "%s: file %zu is not the processor's", step, i);
    }
    return failed;
}

static unsigned steps_of_last(void)
{
    unsigned n = 0;
    FILE *const file = fopen(steps_path, "r");
    cr_assert(file && fscanf(file, "%u", &n) == 1);
    fclose(file);
    return n;
}

static void check_way(const Way *way, Outcome *expected, Outcome *o)
{
    static const char *const faults[] = {"memory %u", "memory %u+", "lost %u+"};
    size_t failed = 0;
    run(way, "cpu", "", false, expected);
    cr_assert_eq(compare(way, "cpu", true, expected, expected), 0);
    run(way, "cuda", "", false, o);
    cr_assert_eq(compare(way, "no fault", true, expected, o), 0);
    const unsigned steps = steps_of_last();
    cr_expect_gt(steps, way->files, "%u calls", steps);
    for (unsigned n = 1; n <= steps; n++)
        for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
            const bool falls_back = (n + k) % 2;
            if (!is_run(n + k, 5))
                continue;
            char step[24];
            (void)snprintf(step, sizeof step, faults[k], n);
            run(way, "cuda", step, falls_back, o);
            failed += compare(way, step, falls_back, expected, o);
        }
    cr_expect_gt(failed, 0, "no file has failed");
    printf("%u calls of a device, %zu files failed\n", steps, failed);
}

Test(device_faults, at_every_call)
{
    Outcome expected = {0}, o = {0};
    for (size_t i = 0; i < FILES; i++) {
        expected.got[i] = malloc(BYTES);
        o.got[i] = malloc(BYTES);
        cr_assert(expected.got[i] && o.got[i]);
    }
    for (size_t w = 0; w < WAYS; w++)
        check_way(&ways[w], &expected, &o);
    for (size_t i = 0; i < FILES; i++) {
        free(expected.got[i]);
        free(o.got[i]);
    }
}
