/* SPDX-License-Identifier: MIT */
/* test_device_list.c: how the devices of a list are dealt out, and what a batch does if some of
 * them fail. GPUs are stand-ins (stand_in.c). */
#include "batch/device_list.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPENED = 12, JOBS = 20 };

static char photo[512];

static void begin(void)
{
    const char *const module = getenv("IMGSTAT_STAND_IN"), *const folder =
                                                               getenv("IMGSTAT_TESTDATA");
    if (!module)
        cr_skip_test("IMGSTAT_STAND_IN names no module");
    setenv("IMGSTAT_CUDA_MODULE", module, 1);
    setenv("IMGSTAT_STAND_IN_GPUS", "3", 1);
    setenv("IMGSTAT_STAND_IN_FAULT", "", 1);
    setenv("IMGSTAT_STAND_IN_MEET", "0", 1);
    snprintf(photo, sizeof photo, "%s/photo.tif", folder ? folder : "testdata");
}

TestSuite(device_list, .init = begin);

typedef struct Told {
    size_t reports, good, bad, out_of_order;
    char why[256];
    double sum[JOBS];
} Told;

static void on_fallen(void *context, const char *why)
{
    Told *const told = context;
    told->reports++;
    const size_t used = strlen(told->why);
    snprintf(told->why + used, sizeof told->why - used, "%s;", why);
}

/* The numbers of the devices that are opened one after another, "c" for the CPU, "-" for none. */
static void open_some(DeviceList *list, size_t n, char *out)
{
    ImgstatDevice *device[OPENED];
    for (size_t i = 0; i < n; i++) {
        const char *name;
        ImgstatError error;
        const ImgstatResult res = device_list_open(list, 1, &name, &device[i], &error);
        out[i] = (char)(res != IMGSTAT_OK ? '-' : strcmp(name, "cpu") == 0 ? 'c' : name[5]);
    }
    for (size_t i = 0; i < n; i++)
        imgstat_device_close(device[i]);
    out[n] = '\0';
}

static void check_opened(const char *text, const char *fault, bool reports, const char *expected)
{
    DeviceList list;
    Told told = {0};
    char found[OPENED + 1];
    setenv("IMGSTAT_STAND_IN_FAULT", fault, 1);
    cr_assert_eq(device_list_init(&list, text, reports ? on_fallen : NULL, &told, NULL),
                 IMGSTAT_OK);
    open_some(&list, strlen(expected), found);
    cr_expect_str_eq(found, expected, "%s with %s: %s, expected %s", text, fault, found, expected);
    device_list_release(&list);
}

Test(device_list, devices_are_opened_in_turn)
{
    check_opened("cuda:0,1", "", false, "010101");
    check_opened("cuda:2,0,2", "", false, "202202");
    check_opened("cuda:all", "", true, "012012");
    check_opened("cuda:1", "", true, "111");
    check_opened("cpu", "", false, "cc");
    check_opened(NULL, "", false, "cc");
}

Test(device_list, what_cannot_be_opened_is_left_out)
{
    check_opened("cuda:0,1,2", "1:0", false, "0-202020");
    check_opened("cuda:0,1,2", "1:0", true, "02020202");
    check_opened("cuda:1,1,0", "1:0", false, "-000");
    check_opened("cuda:0,1", "0:0 1:0", true, "ccc");
    check_opened("cuda:0,1", "0:0 1:0", false, "----");
}

Test(device_list, a_lost_device_is_replaced)
{
    const ImgstatError why = {.code = IMGSTAT_ERR_DEVICE, .message = "cuda:1: gone"};
    for (int reports = 0; reports < 2; reports++) {
        DeviceList list;
        Told told = {0};
        char found[OPENED + 1];
        cr_assert_eq(device_list_init(&list, "cuda:0,1,1", reports ? on_fallen : NULL, &told, NULL),
                     IMGSTAT_OK);
        cr_expect_eq(device_list_fail(&list, "cuda:1", IMGSTAT_ERR_FORMAT, &why), false);
        cr_expect_eq(device_list_replaces(&list, "cuda:1"), false);
        cr_expect_eq(device_list_fail(&list, "cpu", IMGSTAT_ERR_DEVICE, &why), false);
        cr_expect_eq(device_list_fail(&list, "cuda:1", IMGSTAT_ERR_DEVICE, &why), reports);
        cr_expect(device_list_replaces(&list, "cuda:1") && !device_list_replaces(&list, "cuda:0"));
        open_some(&list, 3, found);
        cr_expect_str_eq(found, "000");
        device_list_report(&list);
        device_list_report(&list);
        cr_expect_str_eq(told.why, reports ? "cuda:1: gone;" : "");
        cr_expect_eq(device_list_fail(&list, "cuda:0", IMGSTAT_ERR_MEMORY, &why), reports);
        cr_expect_eq(device_list_replaces(&list, "cuda:0"), reports, "memory may be free again");
        (void)device_list_fail(&list, "cuda:0", IMGSTAT_ERR_DEVICE, &why);
        cr_expect_eq(device_list_replaces(&list, "cuda:0"), reports, "there is no other");
        open_some(&list, 2, found);
        cr_expect_str_eq(found, reports ? "cc" : found);
        device_list_report(&list);
        cr_expect_eq(told.reports, 2 * (size_t)reports);
        device_list_release(&list);
    }
}

Test(device_list, what_is_not_here)
{
    DeviceList list;
    ImgstatError error;
    Told told = {0};
    char found[OPENED + 1];
    cr_expect_eq(device_list_init(&list, "cuda:0,3", NULL, NULL, &error), IMGSTAT_ERR_DEVICE);
    cr_expect_str_eq(error.message, "cuda:3: there are 3 CUDA devices, counted from 0");
    cr_expect_eq(device_list_init(&list, "cuda:0,x", on_fallen, &told, &error), IMGSTAT_ERR_ARG);
    cr_assert_eq(device_list_init(&list, "cuda:0,3", on_fallen, &told, &error), IMGSTAT_OK);
    open_some(&list, 2, found);
    cr_expect_str_eq(found, "cc");
    device_list_report(&list);
    cr_expect_str_eq(told.why, "cuda:3: there are 3 CUDA devices, counted from 0;");
    device_list_release(&list);
}

/* ---- Batches --------------------------------------------------------------------------------- */

static bool on_page(void *context, const ImgstatMeasured *measured)
{
    Told *const told = context;
    ImgstatStats stats;
    if (measured->record) {
        imgstat_record_stats(measured->record, 0, &stats);
        told->sum[measured->job] = stats.mean;
    }
    return true;
}

static bool on_done(void *context, const ImgstatDone *done)
{
    Told *const told = context;
    told->out_of_order += done->job != told->good + told->bad;
    told->good += done->result == IMGSTAT_OK;
    told->bad += done->result != IMGSTAT_OK;
    return true;
}

static void measure_photos(const char *device, const char *fault, bool reports, Told *told)
{
    ImgstatJob jobs[JOBS];
    ImgstatError error;
    *told = (Told){0};
    setenv("IMGSTAT_STAND_IN_FAULT", fault, 1);
    for (size_t i = 0; i < JOBS; i++)
        jobs[i] = (ImgstatJob){.input = photo};
    const ImgstatMeasureBatch batch = {.device = device,
                                       .threads = 3,
                                       .fallen_back = reports ? on_fallen : NULL,
                                       .page = on_page,
                                       .progress = on_done,
                                       .context = told};
    cr_assert_eq(imgstat_batch_measure(&batch, jobs, JOBS, &error), IMGSTAT_OK, "%s",
                 error.message);
    cr_assert(told->good + told->bad == JOBS && told->out_of_order == 0);
}

/* With a report no job fails, whoever is lost; every device that is lost is reported once. */
Test(device_list, others_take_over)
{
    Told cpu, told;
    setenv("IMGSTAT_STAND_IN_MEET", "3", 1);
    measure_photos("cpu", "", true, &cpu);
    static const char *const faults[] = {"", "1:1", "2:1 0:1", "0:1 1:1 2:1", "1:0 2:1"};
    static const size_t reports[] = {0, 1, 2, 3, 2};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        measure_photos("cuda:0,1,2", faults[i], true, &told);
        cr_expect(told.bad == 0 && told.reports == reports[i], "%s: %zu failed, %zu reports",
                  faults[i], told.bad, told.reports);
        cr_expect_eq(memcmp(told.sum, cpu.sum, sizeof cpu.sum), 0, "%s", faults[i]);
    }
}

/* Without one, only the job that the device had fails. */
Test(device_list, a_named_device_that_is_lost_fails_its_job)
{
    Told told;
    setenv("IMGSTAT_STAND_IN_MEET", "3", 1);
    measure_photos("cuda:0,1,2", "1:1", false, &told);
    cr_expect_eq(told.bad, 1);
    measure_photos("cuda:0,1,2", "1:1 2:0", false, &told);
    cr_expect_eq(told.bad, 2);
}

/* ---- Pipes ----------------------------------------------------------------------------------- */

/* Writes the photo to a FIFO, for one reader. */
static void *write_photo(void *fifo)
{
    static char bytes[1 << 20];
    FILE *const from = fopen(photo, "rb");
    cr_assert_not_null(from);
    const size_t n = fread(bytes, 1, sizeof bytes, from);
    fclose(from);
    const int to = open(fifo, O_WRONLY);
    cr_assert(n < sizeof bytes && write(to, bytes, n) == (ssize_t)n);
    close(to);
    return NULL;
}

static bool on_sentence(void *context, const ImgstatDone *done)
{
    Told *const told = context;
    if (done->job == 0)
        snprintf(told->why, sizeof told->why, "%s", done->message);
    told->bad += done->result != IMGSTAT_OK;
    return true;
}

static void ignore_fallen(void *context, const char *why)
{
    (void)context;
    (void)why;
}

/* A pipe whose device is lost fails with the device's sentence, for its bytes are gone: it was
 * opened once more, and waited for ever for somebody to write. */
Test(device_list, a_pipe_is_not_read_twice, .timeout = 60)
{
    char folder[] = "/tmp/imgstat-pipe-XXXXXX", fifo[64], out[64], other[64], expected[128];
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    (void)snprintf(out, sizeof out, "%s/out.tif", folder);
    (void)snprintf(other, sizeof other, "%s/other.tif", folder);
    (void)snprintf(expected, sizeof expected, "%s: cuda:0: it was unplugged", fifo);
    cr_assert_eq(mkfifo(fifo, 0600), 0);
    setenv("IMGSTAT_STAND_IN_FAULT", "0:1", 1);
    for (int writes = 0; writes < 2; writes++) {
        const ImgstatJob jobs[] = {{.input = fifo, .output = writes ? out : NULL},
                                   {.input = photo, .output = writes ? other : NULL}};
        Told told = {0};
        ImgstatError error;
        pthread_t writer;
        cr_assert_eq(pthread_create(&writer, NULL, write_photo, fifo), 0);
        const ImgstatMeasureBatch measure = {.device = "cuda:0",
                                             .threads = 1,
                                             .fallen_back = ignore_fallen,
                                             .page = on_page,
                                             .progress = on_sentence,
                                             .context = &told};
        const ImgstatBatch transform = {.method = {.transform = IMGSTAT_STRETCH},
                                        .device = "cuda:0",
                                        .threads = 1,
                                        .fallen_back = ignore_fallen,
                                        .progress = on_sentence,
                                        .context = &told};
        cr_assert_eq(writes ? imgstat_batch_run(&transform, jobs, 2, &error)
                            : imgstat_batch_measure(&measure, jobs, 2, &error),
                     IMGSTAT_OK, "%s", error.message);
        cr_assert_eq(pthread_join(writer, NULL), 0);
        cr_expect_str_eq(told.why, expected);
        cr_expect_eq(told.bad, 1, "the processor does the other file");
        cr_expect_neq(access(out, F_OK), 0, "half an output");
    }
    cr_assert_eq(unlink(fifo), 0);
    cr_assert_eq(unlink(other), 0);
    cr_assert_eq(rmdir(folder), 0);
}
