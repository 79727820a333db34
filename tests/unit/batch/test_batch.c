/* SPDX-License-Identifier: MIT */
/* test_batch.c: a batch whose device fails, at every call of it in turn: the CPU takes over,
 * the files are those of the CPU, and nothing half-written stays. The device is the CPU's under
 * another name, with a fault: the linker hands imgstat_device_open to this file. */
#include "batch/scheduler.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <tiffio.h>
#include <unistd.h>

/* ---- The device ------------------------------------------------------------------------------ */

static struct Fault {
    ImgstatResult result;
    bool lost;       /* it fails ever after; else once */
    size_t open_at;  /* this opening fails; 0: none */
    atomic_size_t n; /* calls so far, counted from 1; */
    size_t at;       /* this one fails; 0: none */
    atomic_size_t opened, fired;
} fault;

static ImgstatResult fail(ImgstatError *err)
{
    atomic_fetch_add(&fault.fired, 1);
    return error_set(err, fault.result, "cuda:0: a fault");
}

static bool fails(void)
{
    const size_t n = atomic_fetch_add(&fault.n, 1) + 1;
    return fault.at > 0 && (fault.lost ? n >= fault.at : n == fault.at);
}

static ImgstatResult measure(Device *device, const PixelSource *source, PixelView view,
                             const DeviceRecord *records, ImgstatError *err)
{
    return fails() ? fail(err) : cpu_device_ops.measure(device, source, view, records, err);
}

/* Some of it is counted before the fault. */
static ImgstatResult further_read(Device *device, const PixelSource *source, PixelView view,
                                  const ReadRequest *request, ImgstatError *err)
{
    const ImgstatResult res = cpu_device_ops.read(device, source, view, request, err);
    return fails() ? fail(err) : res;
}

static ImgstatResult apply(Device *device, const ImgstatTransfer *transfer, const ImagePro *from,
                           int16_t alpha, ImagePro *to, ImgstatError *err)
{
    return fails() ? fail(err) : cpu_device_ops.apply(device, transfer, from, alpha, to, err);
}

static ImgstatResult clahe_read(Device *device, ClahePage *page, const ImagePro *band,
                                ImgstatError *err)
{
    return fails() ? fail(err) : cpu_device_ops.clahe_read(device, page, band, err);
}

static ImgstatResult clahe_apply(Device *device, const ClahePage *page, const ImagePro *from,
                                 ImagePro *to, ImgstatError *err)
{
    return fails() ? fail(err) : cpu_device_ops.clahe_apply(device, page, from, to, err);
}

static DeviceOps faulty;

ImgstatResult __real_imgstat_device_open(const char *name, unsigned threads, ImgstatDevice **out,
                                         ImgstatError *err);
ImgstatResult __wrap_imgstat_device_open(const char *name, unsigned threads, ImgstatDevice **out,
                                         ImgstatError *err);

ImgstatResult __wrap_imgstat_device_open(const char *name, unsigned threads, ImgstatDevice **out,
                                         ImgstatError *err)
{
    if (strcmp(name, "cuda") != 0)
        return __real_imgstat_device_open(name, threads, out, err);
    *out = NULL;
    const size_t opened = atomic_fetch_add(&fault.opened, 1) + 1;
    if (fault.open_at > 0 && (fault.lost ? opened >= fault.open_at : opened == fault.open_at))
        return fail(err);
    IMGSTAT_TRY(__real_imgstat_device_open("cpu", threads, out, err));
    (*out)->ops = &faulty;
    return IMGSTAT_OK;
}

/* ---- Files ----------------------------------------------------------------------------------- */

enum { MOST = 8 };

static char folder[64];
static char paths[2 * MOST][128];
static ImgstatJob jobs[MOST];

static void begin(void)
{
    faulty = cpu_device_ops;
    faulty.name = "cuda";
    faulty.fetches = false;
    faulty.measure = measure;
    faulty.read = further_read;
    faulty.apply = apply;
    faulty.clahe_read = clahe_read;
    faulty.clahe_apply = clahe_apply;
    snprintf(folder, sizeof folder, "/tmp/imgstat-fall-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

/* Removes what is in the folder but the inputs; returns how many files that were. */
static size_t sweep(void)
{
    DIR *const dir = opendir(folder);
    size_t n = 0;
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[sizeof folder + sizeof entry->d_name];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            strncmp(entry->d_name, "in", 2) == 0)
            continue;
        n += unlink(path) == 0;
    }
    if (dir)
        closedir(dir);
    return n;
}

static void end(void)
{
    sweep();
    for (size_t i = 0; i < MOST; i++)
        (void)unlink(paths[i]);
    cr_assert_eq(rmdir(folder), 0);
}

TestSuite(fall_back, .init = begin, .fini = end);

/* n files of slopes, each other than the one before, and where they go. */
static void make_files(size_t n, uint32_t width, uint32_t height, uint16_t channels,
                       ImgstatSample sample)
{
    for (size_t i = 0; i < n; i++) {
        ImagePro image;
        cr_assert_eq(imgstat_image_create(width, height, channels, sample, 0, &image, NULL),
                     IMGSTAT_OK);
        const size_t row = (size_t)width * channels;
        for (size_t y = 0; y < height; y++)
            for (size_t k = 0; k < row; k++) {
                const float value = (float)((k * 7 + y * 13 + i) % 251) / 300.0f;
                unsigned char *const at = (unsigned char *)image.host + y * image.pitch;
                if (sample == IMGSTAT_F32)
                    memcpy(at + 4 * k, &value, sizeof value);
                else
                    at[k] = (unsigned char)(255.0f * value);
            }
        snprintf(paths[i], sizeof *paths, "%s/in%zu.tif", folder, i);
        snprintf(paths[MOST + i], sizeof *paths, "%s/out%zu.tif", folder, i);
        cr_assert_eq(imgstat_image_save(&image, -1, paths[i], NULL, NULL, NULL), IMGSTAT_OK);
        imgstat_image_release(&image);
        jobs[i] = (ImgstatJob){.input = paths[i], .output = paths[MOST + i]};
    }
}

static char *read_whole(const char *path, size_t *bytes)
{
    FILE *const file = fopen(path, "rb");
    struct stat st;
    cr_assert(file && fstat(fileno(file), &st) == 0, "%s", path);
    *bytes = (size_t)st.st_size;
    char *const all = malloc(*bytes + 1);
    cr_assert(all && fread(all, 1, *bytes, file) == *bytes);
    fclose(file);
    return all;
}

typedef struct Files {
    size_t n, bytes[MOST];
    char *all[MOST];
} Files;

static Files read_outputs(size_t n)
{
    Files files = {.n = n};
    for (size_t i = 0; i < n; i++)
        files.all[i] = read_whole(jobs[i].output, &files.bytes[i]);
    return files;
}

static void release(Files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->all[i]);
}

static bool equal(const Files *a, const Files *b)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->bytes[i] != b->bytes[i] || memcmp(a->all[i], b->all[i], a->bytes[i]) != 0)
            return false;
    return true;
}

/* ---- Batches --------------------------------------------------------------------------------- */

typedef struct Told {
    size_t fallen, good, bad;
    char why[sizeof((ImgstatError *)NULL)->message];
    char message[sizeof((ImgstatError *)NULL)->message]; /* of the job that failed last */
} Told;

static void on_fallen(void *context, const char *why)
{
    Told *const told = context;
    told->fallen++;
    snprintf(told->why, sizeof told->why, "%s", why);
}

static bool on_done(void *context, const ImgstatDone *done)
{
    Told *const told = context;
    told->good += done->result == IMGSTAT_OK;
    told->bad += done->result != IMGSTAT_OK;
    if (done->result != IMGSTAT_OK)
        snprintf(told->message, sizeof told->message, "%s", done->message);
    return true;
}

static ImgstatResult run(const ImgstatBatch *how, const char *device, size_t n, Told *told)
{
    ImgstatBatch batch = *how;
    *told = (Told){0};
    atomic_store(&fault.n, 0);
    atomic_store(&fault.opened, 0);
    atomic_store(&fault.fired, 0);
    batch.device = device;
    batch.memory = 32 << 20;
    batch.progress = on_done;
    batch.context = told;
    return imgstat_batch_run(&batch, jobs, n, NULL);
}

/* Lets every call fail, one after the other; how many there were. */
static size_t check_all(const ImgstatBatch *how, size_t n)
{
    ImgstatBatch batch = *how;
    Told told;
    batch.fallen_back = on_fallen;
    fault = (struct Fault){0};
    cr_assert_eq(run(&batch, "cpu", n, &told), IMGSTAT_OK);
    cr_assert(told.good == n && told.fallen == 0, "%s", told.message);
    Files expected = read_outputs(n);
    cr_assert_eq(sweep(), n);
    size_t calls = 0;
    for (size_t at = 1;; at++) {
        fault = (struct Fault){.result = at % 2 ? IMGSTAT_ERR_DEVICE : IMGSTAT_ERR_MEMORY,
                               .lost = at % 3 != 0,
                               .at = at};
        cr_assert_eq(run(&batch, "cuda", n, &told), IMGSTAT_OK);
        cr_assert(told.good == n && told.bad == 0, "call %zu: %s", at, told.message);
        Files files = read_outputs(n);
        cr_assert(equal(&expected, &files), "call %zu", at);
        release(&files);
        cr_assert_eq(sweep(), n, "call %zu: something is left", at);
        cr_assert_eq(told.fallen, fault.fired > 0, "call %zu: told %zu times", at, told.fallen);
        cr_assert(!told.fallen || strstr(told.why, "cuda:0: a fault"), "%s", told.why);
        if (fault.fired == 0)
            break;
        calls = at;
    }
    release(&expected);
    return calls;
}

Test(fall_back, in_the_midst_of_a_file)
{
    /* Three bands to read, three to write. */
    make_files(1, 3000, 3000, 1, IMGSTAT_U8);
    const ImgstatBatch batch = {.threads = 2};
    cr_assert_geq(check_all(&batch, 1), 6);
}

Test(fall_back, in_every_method)
{
    static const ImgstatMethod methods[] = {{.transform = IMGSTAT_PERCENTILE},
                                            {.transform = IMGSTAT_EQUALIZE},
                                            {.transform = IMGSTAT_MATCH}};
    make_files(4, 200, 150, 1, IMGSTAT_F32);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        ImgstatBatch batch = {.method = methods[i], .threads = 1};
        if (methods[i].transform == IMGSTAT_MATCH)
            batch.reference = paths[3];
        cr_expect_geq(check_all(&batch, 3), 9, "method %zu", i);
        batch.threads = 3;
        cr_expect_geq(check_all(&batch, 3), 9, "method %zu with threads", i);
        batch.together = IMGSTAT_BY_ALL;
        cr_expect_geq(check_all(&batch, 3), 7, "method %zu, together", i);
    }
}

Test(fall_back, in_luma_and_by_tiles)
{
    static const ImgstatMethod methods[] = {{.transform = IMGSTAT_EQUALIZE},
                                            {.transform = IMGSTAT_CLAHE}};
    make_files(2, 200, 150, 3, IMGSTAT_U8);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const ImgstatBatch batch = {.method = methods[i], .threads = 2};
        cr_expect_geq(check_all(&batch, 2), 4, "method %zu", i);
    }
}

/* A device that fails at the second page has counted the first, which is counted anew. */
Test(fall_back, in_a_later_page)
{
    static uint8_t row[200];
    make_files(2, 200, 150, 1, IMGSTAT_U8);
    TIFF *const tif = TIFFOpen(paths[0], "w");
    for (uint32_t page = 0; page < 3; page++) {
        TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, 200);
        TIFFSetField(tif, TIFFTAG_IMAGELENGTH, 100);
        TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, 8);
        TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        for (uint32_t y = 0; y < 100; y++) {
            for (uint32_t x = 0; x < 200; x++)
                row[x] = (uint8_t)(80 * page + (x + y) % 70);
            cr_assert_gt(TIFFWriteScanline(tif, row, y, 0), 0);
        }
        cr_assert_eq(TIFFWriteDirectory(tif), 1);
    }
    TIFFClose(tif);
    const ImgstatBatch batch = {
        .method = {.transform = IMGSTAT_EQUALIZE}, .threads = 1, .together = IMGSTAT_BY_ALL};
    cr_expect_geq(check_all(&batch, 2), 4);
}

/* The first worker's device, or another's, cannot be opened. */
Test(fall_back, at_opening)
{
    make_files(4, 60, 50, 1, IMGSTAT_U8);
    ImgstatBatch batch = {.threads = 4, .fallen_back = on_fallen};
    Told told;
    for (size_t at = 1; at <= 3; at++) {
        fault = (struct Fault){.result = IMGSTAT_ERR_DEVICE, .lost = true, .open_at = at};
        batch.together = at == 3 ? IMGSTAT_BY_ALL : IMGSTAT_BY_DEFAULT;
        cr_assert_eq(run(&batch, "cuda", 4, &told), IMGSTAT_OK);
        cr_expect(told.good == 4 && told.fallen == 1, "%zu: %s", at, told.message);
        cr_expect_str_eq(told.why, "cuda:0: a fault");
        cr_expect_eq(sweep(), 4);
    }
}

/* A device that was asked for: an error, and no file. */
Test(fall_back, only_where_it_is_allowed)
{
    make_files(2, 60, 50, 1, IMGSTAT_U8);
    const ImgstatBatch batch = {.threads = 1};
    Told told;
    fault = (struct Fault){.result = IMGSTAT_ERR_DEVICE, .lost = true, .open_at = 1};
    cr_expect_eq(run(&batch, "cuda", 2, &told), IMGSTAT_ERR_DEVICE);
    cr_expect_eq(told.good + told.bad, 0);
    fault = (struct Fault){.result = IMGSTAT_ERR_MEMORY, .at = 3}; /* the second file's first */
    cr_expect_eq(run(&batch, "cuda", 2, &told), IMGSTAT_OK);
    cr_expect(told.good == 1 && told.bad == 1, "%zu, %zu", told.good, told.bad);
    cr_expect(strstr(told.message, "in1.tif: cuda:0: a fault"), "%s", told.message);
    cr_expect_eq(sweep(), 1);
}

/* What is no failure of the device stays what it is. */
Test(fall_back, not_for_other_errors)
{
    make_files(2, 60, 50, 1, IMGSTAT_U8);
    const ImgstatBatch batch = {.threads = 1, .fallen_back = on_fallen};
    Told told;
    fault = (struct Fault){.result = IMGSTAT_ERR_IO, .at = 1};
    cr_expect_eq(run(&batch, "cuda", 2, &told), IMGSTAT_OK);
    cr_expect(told.good == 1 && told.bad == 1 && told.fallen == 0, "%s", told.message);
    cr_expect_eq(sweep(), 1);
}

/* ---- Measuring ------------------------------------------------------------------------------- */

/* What was reported of each job: void once it is restarted. */
typedef struct Found {
    Told told;
    size_t pages[MOST];
    atomic_size_t restarted; /* jobs are restarted by several threads */
    double sums[MOST], medians[MOST];
    size_t next; /* job that is reported next */
    bool out_of_order;
} Found;

static void on_found_fallen(void *context, const char *why)
{
    on_fallen(&((Found *)context)->told, why);
}

static bool on_found(void *context, const ImgstatMeasured *measured)
{
    Found *const found = context;
    ImgstatStats stats;
    if (measured->result != IMGSTAT_OK)
        return true;
    imgstat_record_stats(measured->record, 0, &stats);
    found->pages[measured->job]++;
    found->sums[measured->job] += stats.sum;
    found->medians[measured->job] = stats.median;
    return true;
}

static void on_restarted(void *context, size_t job)
{
    Found *const found = context;
    found->restarted++;
    found->pages[job] = 0;
    found->sums[job] = 0;
}

static bool on_measured(void *context, const ImgstatDone *done)
{
    Found *const found = context;
    found->out_of_order |= done->job != found->next++;
    return on_done(&found->told, done);
}

static ImgstatResult measure_all(const char *device, unsigned threads, bool falls, size_t n,
                                 Found *found)
{
    static const ImgstatMeasure how = {.median = true};
    const ImgstatMeasureBatch batch = {.how = &how,
                                       .device = device,
                                       .fallen_back = falls ? on_found_fallen : NULL,
                                       .threads = threads,
                                       .page = on_found,
                                       .restarted = on_restarted,
                                       .progress = on_measured,
                                       .context = found};
    *found = (Found){.next = 0};
    atomic_store(&fault.n, 0);
    atomic_store(&fault.opened, 0);
    atomic_store(&fault.fired, 0);
    return imgstat_batch_measure(&batch, jobs, n, NULL);
}

Test(fall_back, in_measuring)
{
    enum { N = 4 };
    make_files(N, 200, 150, 1, IMGSTAT_F32);
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        Found expected, found;
        fault = (struct Fault){0};
        cr_assert_eq(measure_all("cpu", threads, true, N, &expected), IMGSTAT_OK);
        cr_assert(expected.told.good == N && !expected.out_of_order && expected.restarted == 0);
        size_t calls = 0;
        for (size_t at = 1;; at++) {
            fault = (struct Fault){.result = at % 2 ? IMGSTAT_ERR_DEVICE : IMGSTAT_ERR_MEMORY,
                                   .lost = at % 3 != 0,
                                   .at = at};
            cr_assert_eq(measure_all("cuda", threads, true, N, &found), IMGSTAT_OK);
            cr_assert(found.told.good == N && !found.out_of_order, "call %zu", at);
            for (size_t i = 0; i < N; i++)
                cr_assert(found.pages[i] == 1 && found.sums[i] == expected.sums[i] &&
                              found.medians[i] == expected.medians[i],
                          "call %zu, job %zu", at, i);
            cr_assert_eq(found.told.fallen, fault.fired > 0, "call %zu", at);
            cr_assert_eq(found.restarted > 0, fault.fired > 0, "call %zu", at);
            if (fault.fired == 0)
                break;
            calls = at;
        }
        cr_assert_geq(calls, 2 * N);
    }
}

Test(fall_back, in_measuring_where_it_is_not_wanted)
{
    Found found;
    make_files(3, 20, 10, 1, IMGSTAT_U8);
    fault = (struct Fault){.result = IMGSTAT_ERR_DEVICE, .lost = true, .at = 2};
    cr_assert_eq(measure_all("cuda", 1, false, 3, &found), IMGSTAT_OK);
    cr_assert(found.told.good == 1 && found.told.bad == 2 && found.told.fallen == 0);
    cr_assert(strstr(found.told.message, "in2.tif: cuda:0: a fault"), "%s", found.told.message);
    fault = (struct Fault){.result = IMGSTAT_ERR_DEVICE, .lost = true, .open_at = 1};
    cr_assert_eq(measure_all("cuda", 1, false, 3, &found), IMGSTAT_ERR_DEVICE);
    cr_assert_eq(found.next, 0);
    cr_assert_eq(measure_all("cuda", 3, true, 3, &found), IMGSTAT_OK);
    cr_assert(found.told.good == 3 && found.told.fallen == 1);
}
