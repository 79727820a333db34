/* SPDX-License-Identifier: MIT */
/* test_job.c: inputs and outputs of the program itself: memory, readers that fail, short reads. */
#include "batch/job.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A file in memory, and how its reader behaves. */
typedef struct Memory {
    uint8_t *data;
    size_t bytes;
    size_t at_most;    /* bytes a call; 0: all */
    uint64_t fails_at; /* reads of this byte and later fail; 0: never */
    uint64_t ends_at;  /* the reader has no byte from there on; 0: all are there */
    bool says_nothing; /* a failure writes no sentence */
    bool returns_more; /* than it was asked for */
    bool does_not_open;
    atomic_int open, opened, outside;
} Memory;

static ImgstatResult memory_open(void *context, ImgstatError *err)
{
    Memory *const memory = context;
    if (memory->does_not_open) {
        snprintf(err->message, sizeof err->message, "the store is closed");
        return IMGSTAT_ERR_IO;
    }
    atomic_fetch_add(&memory->open, 1);
    atomic_fetch_add(&memory->opened, 1);
    return IMGSTAT_OK;
}

static void memory_close(void *context)
{
    atomic_fetch_sub(&((Memory *)context)->open, 1);
}

static ImgstatResult memory_read(void *context, uint64_t offset, void *to, size_t bytes,
                                 size_t *got, ImgstatError *err)
{
    Memory *const memory = context;
    if (bytes == 0 || offset > memory->bytes || bytes > memory->bytes - offset)
        atomic_fetch_add(&memory->outside, 1);
    if (memory->fails_at > 0 && offset + bytes > memory->fails_at) {
        if (!memory->says_nothing)
            snprintf(err->message, sizeof err->message, "the store\nsays no");
        return IMGSTAT_ERR_IO;
    }
    if (memory->returns_more) {
        *got = bytes + 1;
        return IMGSTAT_OK;
    }
    if (memory->at_most > 0 && bytes > memory->at_most)
        bytes = memory->at_most;
    if (memory->ends_at > 0 && offset + bytes > memory->ends_at)
        bytes = offset < memory->ends_at ? (size_t)(memory->ends_at - offset) : 0;
    memcpy(to, memory->data + offset, bytes);
    *got = bytes;
    return IMGSTAT_OK;
}

static void path_of(const char *name, char *path, size_t room)
{
    const char *const folder = getenv("IMGSTAT_TESTDATA");
    snprintf(path, room, "%s/%s", folder ? folder : "testdata", name);
}

static Memory load(const char *name)
{
    char path[300];
    path_of(name, path, sizeof path);
    FILE *const stream = fopen(path, "rb");
    cr_assert_not_null(stream, "%s", path);
    Memory memory = {.data = malloc(1 << 20)};
    memory.bytes = fread(memory.data, 1, 1 << 20, stream);
    cr_assert(memory.bytes > 0 && memory.bytes < 1 << 20);
    fclose(stream);
    return memory;
}

static ImgstatInput input_of(Memory *memory)
{
    return (ImgstatInput){.bytes = memory->bytes,
                          .open = memory_open,
                          .read_at = memory_read,
                          .close = memory_close,
                          .context = memory};
}

/* ---- Inputs ---- */

/* Hash of all samples of all pages, and how many. */
static uint64_t samples_of(ImgstatFile *file, size_t *n)
{
    uint64_t hash = 14695981039346656037u;
    for (uint32_t page = 0; page < imgstat_file_pages(file); page++) {
        ImgstatPage info;
        ImagePro image;
        cr_assert_eq(imgstat_file_page(file, page, &info, NULL), IMGSTAT_OK);
        cr_assert_eq(imgstat_image_create(info.width, info.height, info.channels, info.sample,
                                          info.bits, &image, NULL),
                     IMGSTAT_OK);
        cr_assert_eq(imgstat_file_read(file, &image, NULL), IMGSTAT_OK);
        const size_t row = (size_t)info.width * info.channels * imgstat_sample_bytes(info.sample);
        for (uint32_t y = 0; y < info.height; y++)
            for (size_t i = 0; i < row; i++, ++*n)
                hash = (hash ^ ((uint8_t *)image.host)[y * image.pitch + i]) * 1099511628211u;
        imgstat_image_release(&image);
    }
    return hash;
}

/* Every way through the decoders: PNG, interlaced, strips, tiles, planes, LZW and deflate of our
 * own, libtiff for the rest, several pages, BigTIFF. */
static const char *const good[] = {
    "good-rgb.png",   "good-interlaced.png", "good-gray16.png",       "good-palette.png",
    "good-tiled.tif", "good-planar.tif",     "good-planar-tiled.tif", "good-bigtiff.tif",
    "good-pages.tif", "good-bigendian.tif",  "good-packed12.tif",     "good-palette.tif",
    "photo.tif",      "good-float32.tif",    "good-bilevel.tif"};

Test(job, memory_is_read_as_a_file_is)
{
    static const char *const modes[] = {"auto", "plain", "threads"};
    static const size_t at_most[] = {0, 1000, 7};
    size_t compared = 0;
    for (size_t m = 0; m < 3; m++)
        for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
            for (size_t k = 0; k < 3; k++) {
                setenv("IMGSTAT_DECODE", modes[m], 1);
                Memory memory = load(good[i]);
                memory.at_most = at_most[k];
                const ImgstatInput input = input_of(&memory);
                char path[300];
                path_of(good[i], path, sizeof path);
                ImgstatFile *file = NULL, *same = NULL;
                ImgstatError error = {.message = ""};
                cr_assert_eq(imgstat_file_open_input("memory", &input, NULL, &file, &error),
                             IMGSTAT_OK, "%s: %s", good[i], error.message);
                cr_assert_eq(imgstat_file_open(path, NULL, &same, NULL), IMGSTAT_OK);
                size_t n = 0, n_same = 0;
                cr_expect_eq(samples_of(file, &n), samples_of(same, &n_same), "%s", good[i]);
                cr_expect_eq(n, n_same);
                compared += n;
                imgstat_file_close(same);
                imgstat_file_close(file);
                cr_expect_eq(atomic_load(&memory.open), 0);
                cr_expect_eq(atomic_load(&memory.opened), 1);
                cr_expect_eq(atomic_load(&memory.outside), 0, "%s", good[i]);
                free(memory.data);
            }
    cr_assert_gt(compared, 100000);
}

static void expect_failure(Memory *memory, ImgstatResult code, const char *sentence)
{
    const ImgstatInput input = input_of(memory);
    ImgstatFile *file = NULL;
    ImgstatError error = {.message = ""};
    ImgstatResult res = imgstat_file_open_input("s3://b/x", &input, NULL, &file, &error);
    ImgstatDevice *device;
    ImgstatRecord *record = NULL;
    cr_assert_eq(imgstat_device_open("cpu", 2, &device, NULL), IMGSTAT_OK);
    if (res == IMGSTAT_OK)
        res = imgstat_measure_file(device, file, 0, NULL, &record, &error);
    cr_expect_eq(res, code, "%d: %s", (int)res, error.message);
    cr_expect_eq(error.code, code);
    cr_expect(strstr(error.message, sentence), "%s", error.message);
    cr_expect_eq(strncmp(error.message, "s3://b/x: ", 10), 0, "%s", error.message);
    imgstat_record_destroy(record);
    imgstat_file_close(file);
    imgstat_device_close(device);
    cr_expect_eq(atomic_load(&memory->open), 0);
}

Test(job, a_reader_that_fails_is_named)
{
    static const char *const names[] = {"good-rgb.png", "photo.tif", "good-tiled.tif"};
    for (size_t i = 0; i < 3; i++) {
        Memory memory = load(names[i]);
        const size_t bytes = memory.bytes;
        memory.fails_at = 4; /* the header */
        expect_failure(&memory, IMGSTAT_ERR_IO, "the store?says no");
        memory.says_nothing = true;
        expect_failure(&memory, IMGSTAT_ERR_IO, "cannot be read");
        memory.fails_at = 0;
        memory.returns_more = true;
        expect_failure(&memory, IMGSTAT_ERR_IO, "its reader returned ");
        memory.returns_more = false;
        memory.does_not_open = true;
        expect_failure(&memory, IMGSTAT_ERR_IO, "the store is closed");
        memory.does_not_open = false;
        memory.bytes = 0;
        expect_failure(&memory, IMGSTAT_ERR_FORMAT, "is empty");
        memory.bytes = bytes;
        memory.ends_at = 3;
        expect_failure(&memory, IMGSTAT_ERR_FORMAT, "is neither PNG nor TIFF");
        free(memory.data);
    }
    Memory memory = load("good-rgb.png");
    char sentence[64]; /* it named the size that was declared */
    for (memory.ends_at = 10; memory.ends_at < memory.bytes - 12; memory.ends_at += 100) {
        snprintf(sentence, sizeof sentence, "ends early, after %zu bytes", (size_t)memory.ends_at);
        expect_failure(&memory, IMGSTAT_ERR_TRUNCATED, sentence);
    }
    free(memory.data);
    memory = load("photo.tif"); /* its directory is at the end, where it was damaged, not missing */
    memory.ends_at = memory.bytes / 2;
    expect_failure(&memory, IMGSTAT_ERR_TRUNCATED, "its directory does not lie inside the file");
    free(memory.data);
}

/* ---- Jobs ---- */

/* What an output was given. */
typedef struct Sink {
    uint8_t *data;
    size_t bytes, calls;
    size_t fails_at; /* the call that fails, counted from 1; 0: none */
    bool finish_fails;
    int finished; /* calls of finish */
    bool complete;
} Sink;

static ImgstatResult sink_write(void *context, const void *bytes, size_t n, ImgstatError *err)
{
    Sink *const sink = context;
    cr_assert_eq(sink->finished, 0);
    if (++sink->calls == sink->fails_at) {
        snprintf(err->message, sizeof err->message, "the bucket is full");
        return IMGSTAT_ERR_IO;
    }
    sink->data = realloc(sink->data, sink->bytes + n);
    memcpy(sink->data + sink->bytes, bytes, n);
    sink->bytes += n;
    return IMGSTAT_OK;
}

static ImgstatResult sink_finish(void *context, bool complete, ImgstatError *err)
{
    Sink *const sink = context;
    (void)err;
    sink->finished++;
    sink->complete = complete;
    return sink->finish_fails ? IMGSTAT_ERR_IO : IMGSTAT_OK;
}

typedef struct Seen {
    ImgstatResult result;
    char message[1024];
    size_t n;
} Seen;

static bool on_done(void *context, const ImgstatDone *done)
{
    Seen *const seen = context;
    seen->result = done->result;
    snprintf(seen->message, sizeof seen->message, "%s", done->message);
    seen->n++;
    return true;
}

static Seen transform(Memory *memory, Sink *sink, ImgstatGrouping together)
{
    const ImgstatInput input = input_of(memory);
    const ImgstatOutput output = {.write = sink_write, .finish = sink_finish, .context = sink};
    const ImgstatJob job = {.input = "-", .output = "out.tif", .source = &input, .sink = &output};
    Seen seen = {.n = 0};
    const ImgstatBatch batch = {.method.transform = IMGSTAT_EQUALIZE,
                                .together = together,
                                .threads = 2,
                                .skip_existing = true,
                                .progress = on_done,
                                .context = &seen};
    ImgstatError error = {.message = ""};
    cr_assert_eq(imgstat_batch_run(&batch, &job, 1, &error), IMGSTAT_OK, "%s", error.message);
    cr_assert_eq(seen.n, 1);
    cr_expect_eq(atomic_load(&memory->open), 0);
    return seen;
}

/* With `replace`, the job that was done last took the place of the other one's output. */
Test(job, two_jobs_of_one_output_are_refused)
{
    char path[300], folder[] = "/tmp/imgstat-jobs-XXXXXX", to[2][64];
    ImgstatError error;
    Memory memory = load("photo.tif");
    const ImgstatInput input = input_of(&memory);
    cr_assert_not_null(mkdtemp(folder));
    snprintf(to[0], sizeof to[0], "%s/a.tif", folder);
    snprintf(to[1], sizeof to[1], "%s/b.tif", folder);
    path_of("photo.tif", path, sizeof path);
    ImgstatJob jobs[] = {{.input = path, .output = to[0]},
                         {.input = "other", .output = to[1], .source = &input},
                         {.input = path, .output = (char[64]){0}}};
    snprintf((char *)(uintptr_t)jobs[2].output, 64, "%s", to[0]);
    for (int replace = 0; replace < 2; replace++) {
        const ImgstatBatch batch = {.method.transform = IMGSTAT_EQUALIZE, .write.replace = replace};
        cr_expect_eq(imgstat_batch_run(&batch, jobs, 3, &error), IMGSTAT_ERR_ARG);
        cr_expect(strstr(error.message, " would both become ") && strstr(error.message, to[0]),
                  "%s", error.message);
        cr_expect(access(to[0], F_OK) != 0 && access(to[1], F_OK) != 0, "nothing is written");
    }
    const ImgstatBatch batch = {.method.transform = IMGSTAT_EQUALIZE};
    cr_expect_eq(imgstat_batch_run(&batch, jobs, 2, &error), IMGSTAT_OK);
    cr_expect(unlink(to[0]) == 0 && unlink(to[1]) == 0);
    /* Whether the second job read its input before the first one replaced it was not certain. */
    cr_assert_eq(
        imgstat_batch_run(&batch, &(ImgstatJob){.input = path, .output = to[0]}, 1, &error),
        IMGSTAT_OK);
    const ImgstatJob chain[] = {{.input = path, .output = to[0]},
                                {.input = to[0], .output = to[1]}};
    for (int which = 0; which < 4; which++) {
        const ImgstatBatch replaces = {.method.transform =
                                           which == 1 ? IMGSTAT_MATCH : IMGSTAT_EQUALIZE,
                                       .reference = which == 1 ? to[0] : NULL,
                                       .open.mask = which == 2 ? to[0] : NULL,
                                       .skip_existing = which == 3,
                                       .write.replace = which != 3};
        const size_t n = which == 0 || which == 3 ? 2 : 1;
        cr_expect_eq(imgstat_batch_run(&replaces, chain, n, &error), IMGSTAT_ERR_ARG);
        cr_expect(strstr(error.message, " would replace ") && access(to[1], F_OK) != 0, "%s",
                  error.message);
    }
    const ImgstatBatch in_place = {.method.transform = IMGSTAT_EQUALIZE, .write.replace = true};
    const ImgstatJob own = {.input = to[0], .output = to[0]};
    cr_expect_eq(imgstat_batch_run(&in_place, &own, 1, &error), IMGSTAT_OK);
    cr_expect(unlink(to[0]) == 0 && rmdir(folder) == 0);
    /* Outputs of the program itself have names that need not differ. */
    Sink sinks[2] = {{.data = NULL}, {.data = NULL}};
    ImgstatOutput outputs[2];
    for (int i = 0; i < 2; i++) {
        outputs[i] =
            (ImgstatOutput){.write = sink_write, .finish = sink_finish, .context = &sinks[i]};
        jobs[i] = (ImgstatJob){.input = path, .output = "out.tif", .sink = &outputs[i]};
    }
    cr_expect_eq(imgstat_batch_run(&batch, jobs, 2, &error), IMGSTAT_OK);
    cr_expect(sinks[0].complete && sinks[1].complete);
    free(sinks[0].data);
    free(sinks[1].data);
    free(memory.data);
}

Test(job, memory_to_memory_gives_the_bytes_of_file_to_file)
{
    char path[300], to[] = "/tmp/imgstat-job-XXXXXX";
    Memory memory = load("photo.tif");
    path_of("photo.tif", path, sizeof path);
    close(mkstemp(to));
    const ImgstatJob job = {.input = path, .output = to};
    const ImgstatBatch batch = {.method.transform = IMGSTAT_EQUALIZE, .write.replace = true};
    cr_assert_eq(imgstat_batch_run(&batch, &job, 1, NULL), IMGSTAT_OK);
    for (int all = 0; all < 2; all++) { /* together, the input is read twice: "-" is but its name */
        Sink sink = {.data = NULL};
        const Seen seen = transform(&memory, &sink, all ? IMGSTAT_BY_ALL : IMGSTAT_BY_DEFAULT);
        cr_expect_eq(seen.result, IMGSTAT_OK, "%s", seen.message);
        cr_expect(sink.finished == 1 && sink.complete);
        FILE *const stream = fopen(to, "rb");
        uint8_t *const wanted = malloc(1 << 20);
        const size_t bytes = fread(wanted, 1, 1 << 20, stream);
        fclose(stream);
        cr_assert_gt(bytes, 1000);
        cr_assert_eq(sink.bytes, bytes);
        cr_expect_arr_eq(sink.data, wanted, bytes);
        free(wanted);
        free(sink.data);
    }
    unlink(to);
    free(memory.data);
}

Test(job, an_output_that_fails_is_not_complete)
{
    Memory memory = load("photo.tif");
    for (size_t fails_at = 1; fails_at < 4; fails_at++) {
        Sink sink = {.fails_at = fails_at};
        const Seen seen = transform(&memory, &sink, IMGSTAT_BY_DEFAULT);
        cr_expect_eq(seen.result, IMGSTAT_ERR_IO);
        cr_expect_str_eq(seen.message, "out.tif: the bucket is full");
        cr_expect_eq(sink.calls, fails_at);
        cr_expect(sink.finished == 1 && !sink.complete);
        free(sink.data);
    }
    Sink late = {.finish_fails = true};
    Seen seen = transform(&memory, &late, IMGSTAT_BY_DEFAULT);
    cr_expect_eq(seen.result, IMGSTAT_ERR_IO);
    cr_expect_str_eq(seen.message, "out.tif: cannot be written");
    free(late.data);
    Sink never = {.data = NULL}; /* the input fails before there is anything to write */
    memory.ends_at = memory.bytes / 2;
    seen = transform(&memory, &never, IMGSTAT_BY_DEFAULT);
    cr_expect_neq(seen.result, IMGSTAT_OK);
    cr_expect_eq(strncmp(seen.message, "-: ", 3), 0, "%s", seen.message);
    cr_expect(never.calls == 0 && never.finished == 0);
    free(memory.data);
}

Test(job, an_image_is_saved_to_an_output)
{
    ImagePro image;
    cr_assert_eq(imgstat_image_create(40, 30, 1, IMGSTAT_U8, 0, &image, NULL), IMGSTAT_OK);
    for (size_t i = 0; i < 40 * 30; i++)
        ((uint8_t *)image.host)[i / 40 * image.pitch + i % 40] = (uint8_t)(i % 251);
    Sink sink = {.data = NULL};
    const ImgstatOutput output = {.write = sink_write, .context = &sink};
    ImgstatError error;
    cr_assert_eq(imgstat_image_save_to(&image, -1, "x.png", &output, NULL, NULL, &error),
                 IMGSTAT_OK);
    Memory memory = {.data = sink.data, .bytes = sink.bytes};
    const ImgstatInput input = input_of(&memory);
    ImgstatFile *file;
    size_t n = 0;
    cr_assert_eq(imgstat_file_open_input("x", &input, NULL, &file, &error), IMGSTAT_OK);
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < 40 * 30; i++)
        hash = (hash ^ (uint8_t)(i % 251)) * 1099511628211u;
    cr_expect_eq(samples_of(file, &n), hash);
    cr_expect_eq(n, 40 * 30);
    imgstat_file_close(file);
    sink.fails_at = sink.calls + 1;
    cr_expect_eq(imgstat_image_save_to(&image, -1, "x.png", &output, NULL, NULL, &error),
                 IMGSTAT_ERR_IO);
    cr_expect_str_eq(error.message, "x.png: the bucket is full");
    cr_expect_eq(imgstat_image_save_to(&image, -1, "x.jpg", &output, NULL, NULL, &error),
                 IMGSTAT_ERR_ARG);
    const ImgstatOutput none = {.context = &sink};
    cr_expect_eq(imgstat_image_save_to(&image, -1, "x.png", &none, NULL, NULL, &error),
                 IMGSTAT_ERR_ARG);
    free(sink.data);
    imgstat_image_release(&image);
}

static bool on_page(void *context, const ImgstatMeasured *measured)
{
    ImgstatStats stats;
    if (!measured->record)
        return false;
    imgstat_record_stats(measured->record, 0, &stats);
    ((double *)context)[measured->job] += stats.sum;
    return true;
}

Test(job, a_batch_measures_memory_and_files)
{
    enum { N = 40 };
    char path[300];
    Memory memory = load("photo.tif");
    const ImgstatInput input = input_of(&memory), no_reader = {.bytes = 1};
    ImgstatJob jobs[N];
    double sums[N] = {0};
    path_of("photo.tif", path, sizeof path);
    for (int i = 0; i < N; i++)
        jobs[i] =
            i % 2 ? (ImgstatJob){.input = "member", .source = &input} : (ImgstatJob){.input = path};
    const ImgstatMeasureBatch batch = {.threads = 4, .page = on_page, .context = sums};
    cr_assert_eq(imgstat_batch_measure(&batch, jobs, N, NULL), IMGSTAT_OK);
    for (int i = 0; i < N; i++)
        cr_expect(sums[i] > 0 && sums[i] == sums[0]);
    cr_expect_eq(atomic_load(&memory.opened), N / 2);
    cr_expect_eq(atomic_load(&memory.open), 0);
    jobs[3].source = &no_reader;
    cr_expect_eq(imgstat_batch_measure(&batch, jobs, N, NULL), IMGSTAT_ERR_ARG);
    free(memory.data);
}
