/* SPDX-License-Identifier: MIT */
/* test_imgstat_threads.c: threads with a device and files each, which share records, a data set and
 * transfers that none of them changes, get what one thread alone gets. tests/threads.sh runs it
 * under ThreadSanitizer, which finds what they write to. */
#include "imgstat.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, TIMES = 3, WIDTH = 61, HEIGHT = 40, RECORDS = 2, TRANSFERS = 3, FILES = 3 };

static ImagePro wide, narrow; /* f32; three channels of u16 */
static ImgstatRecord *computed[RECORDS], *mergeable[RECORDS];
static ImgstatDataset *dataset;
static ImgstatTransfer *transfers[TRANSFERS]; /* of `narrow`: a table, a line, one for luma */
static char paths[FILES][1024];               /* the last one is damaged */
static pthread_barrier_t start;

static const double percentiles[] = {1, 50, 99};
static const ImgstatMeasure everything = {.percentiles = percentiles,
                                          .n_percentiles = 3,
                                          .median = true,
                                          .mode = true,
                                          .shape = true,
                                          .histogram = true,
                                          .hash = true,
                                          .preview = 8};

/* ---- What a thread reads: all of it is written as text or bytes, which are compared ---- */

static void write_record(FILE *to, const ImgstatRecord *record)
{
    for (uint16_t c = 0; c < imgstat_record_channels(record); c++) {
        ImgstatStats stats;
        ImgstatHistogram histogram;
        char sum[48];
        imgstat_record_stats(record, c, &stats);
        imgstat_record_sum(record, c, sum);
        fprintf(to, "%llu %a %a %a %a %a %llu %s %s %s\n", (unsigned long long)stats.count,
                stats.mean, stats.stddev, stats.median, stats.entropy, stats.kurtosis,
                (unsigned long long)stats.low, stats.min_file, stats.max_file, sum);
        for (size_t k = 0; k < everything.n_percentiles; k++) {
            double lo = 0, hi = 0;
            const bool bounds = imgstat_record_bounds(record, c, k, &lo, &hi);
            fprintf(to, "%a %d %a %a\n", imgstat_record_percentile(record, c, k), bounds, lo, hi);
        }
        for (uint32_t k = 0; imgstat_record_histogram(record, c, &histogram) && k < 9; k++) {
            ImgstatValue edge;
            cr_assert(imgstat_record_edge(record, c, k, &edge));
            fprintf(to, "%llu %a\n", (unsigned long long)histogram.counts[k],
                    imgstat_value_double(edge));
        }
    }
    uint8_t hash[16] = {0};
    uint32_t w = 0, h = 0;
    const float *const preview = imgstat_record_preview(record, &w, &h);
    (void)imgstat_record_hash(record, hash);
    fwrite(hash, 1, sizeof hash, to);
    if (preview)
        fwrite(preview, sizeof *preview, (size_t)w * h, to);
}

static void write_kind(FILE *to, const ImgstatRecord *record)
{
    ImgstatKind kind;
    uint64_t files, pages;
    imgstat_record_kind(record, &kind);
    imgstat_record_images(record, &files, &pages);
    fprintf(to, "%s %s %s %u %llu %llu\n", imgstat_record_group(record),
            imgstat_sample_name(kind.sample), kind.photometric, kind.channels,
            (unsigned long long)files, (unsigned long long)pages);
    const size_t n = imgstat_record_bytes(record, NULL, 0);
    char *const bytes = malloc(n);
    cr_assert(n > 0 && imgstat_record_bytes(record, bytes, n) == n);
    fwrite(bytes, 1, n, to);
    free(bytes);
}

/* Merges it into a record of the thread's own, and makes a transfer of it. */
static void use_record(FILE *to, const ImgstatRecord *record)
{
    ImgstatKind kind;
    ImgstatRecord *sum;
    ImgstatTransfer *transfer;
    const ImgstatMethod stretch = {.channels = IMGSTAT_EACH};
    imgstat_record_kind(record, &kind);
    cr_assert_eq(imgstat_record_create(&kind, &sum, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_record_merge(sum, record, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_record_merge(sum, record, NULL), IMGSTAT_OK);
    const ImgstatMeasure how = {.percentiles = percentiles, .n_percentiles = 3};
    cr_assert_eq(imgstat_record_compute(sum, &how, NULL), IMGSTAT_OK);
    write_record(to, sum);
    write_kind(to, record);
    cr_assert_eq(imgstat_transfer_from_record(&stretch, record, NULL, &transfer, NULL), IMGSTAT_OK);
    imgstat_transfer_destroy(transfer);
    imgstat_record_destroy(sum);
}

static void use_dataset(FILE *to)
{
    ImgstatAccount account;
    ImgstatDataset *sum;
    ImgstatTransfer *transfer;
    const ImgstatMethod stretch = {.channels = IMGSTAT_EACH};
    for (size_t i = 0; i < imgstat_dataset_records(dataset); i++)
        use_record(to, imgstat_dataset_record(dataset, i));
    imgstat_dataset_account(dataset, &account);
    fprintf(to, "%llu %llu\n", (unsigned long long)account.files,
            (unsigned long long)account.pages);
    for (size_t i = 0; i < account.n_failures; i++)
        fprintf(to, "%s\n", account.failures[i].message);
    cr_assert_eq(imgstat_dataset_create(&sum, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_dataset_merge(sum, dataset, NULL), IMGSTAT_OK);
    const size_t n = imgstat_dataset_bytes(dataset, NULL, 0);
    char *const bytes = malloc(n), *const merged = malloc(n);
    cr_assert(n > 0 && imgstat_dataset_bytes(dataset, bytes, n) == n);
    cr_assert(imgstat_dataset_bytes(sum, merged, n) == n && memcmp(bytes, merged, n) == 0);
    fwrite(bytes, 1, n, to);
    cr_assert_eq(imgstat_transfer_from_dataset(&stretch, dataset, &transfer, NULL), IMGSTAT_OK);
    imgstat_transfer_destroy(transfer);
    imgstat_dataset_destroy(sum);
    free(bytes);
    free(merged);
}

static void use_transfer(FILE *to, ImgstatDevice *device, const ImgstatTransfer *transfer)
{
    static const size_t row = (size_t)WIDTH * 3 * sizeof(uint16_t);
    ImagePro mapped;
    cr_assert_eq(imgstat_image_create(WIDTH, HEIGHT, 3, IMGSTAT_U16, 0, &mapped, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_transfer_apply(device, transfer, &narrow, -1, &mapped, NULL), IMGSTAT_OK);
    for (uint32_t y = 0; y < HEIGHT; y++)
        fwrite((const char *)mapped.host + y * mapped.pitch, 1, row, to);
    imgstat_image_release(&mapped);
    const size_t n = imgstat_transfer_text(transfer, NULL, 0) + 1;
    char *const text = malloc(n);
    cr_assert_eq(imgstat_transfer_text(transfer, text, n), n - 1);
    fprintf(to, "%s\n", text);
    cr_assert_lt(imgstat_transfer_describe(transfer, text, n), n);
    fprintf(to, "%s %zu\n", text, imgstat_transfer_count(transfer));
    free(text);
}

/* Objects of the thread's own, of the same pixels and files as the other threads'. */
static void use_own(FILE *to, ImgstatDevice *device)
{
    ImgstatRecord *record;
    ImgstatFile *file;
    cr_assert_eq(imgstat_measure_image(device, &wide, &everything, &record, NULL), IMGSTAT_OK);
    write_record(to, record);
    imgstat_record_destroy(record);
    for (size_t i = 0; i < FILES - 1; i++) {
        cr_assert_eq(imgstat_file_open(paths[i], NULL, &file, NULL), IMGSTAT_OK);
        cr_assert_eq(imgstat_measure_file(device, file, 0, &everything, &record, NULL), IMGSTAT_OK);
        write_record(to, record);
        imgstat_record_destroy(record);
        imgstat_file_close(file);
    }
    ImgstatError err;
    cr_assert_neq(imgstat_file_open("/nonexistent", NULL, &file, &err), IMGSTAT_OK);
    fprintf(to, "%s %s %s %s\n", err.message, imgstat_version(), imgstat_libraries(),
            imgstat_devices_built());
}

/* Returns all that is read as one piece of `bytes` bytes, which free() frees. */
static char *look(unsigned threads, size_t *bytes)
{
    char *text;
    ImgstatDevice *device;
    FILE *const to = open_memstream(&text, bytes);
    cr_assert_eq(imgstat_device_open("cpu", threads, &device, NULL), IMGSTAT_OK);
    for (size_t i = 0; i < RECORDS; i++) {
        write_record(to, computed[i]);
        use_record(to, mergeable[i]);
    }
    use_dataset(to);
    for (size_t i = 0; i < TRANSFERS; i++)
        use_transfer(to, device, transfers[i]);
    use_own(to, device);
    imgstat_device_close(device);
    fclose(to);
    return text;
}

/* ---- The test ---- */

typedef struct Looker {
    pthread_t thread;
    char *seen[TIMES];
    size_t bytes[TIMES];
} Looker;

static void *run(void *context)
{
    Looker *const looker = context;
    pthread_barrier_wait(&start);
    for (unsigned i = 0; i < TIMES; i++)
        looker->seen[i] = look(1 + i % 2, &looker->bytes[i]);
    return NULL;
}

/* Takes the files in an order that is not that of their groups. */
static bool next(void *context, ImgstatJob *job)
{
    size_t *const taken = context;
    if (*taken == FILES)
        return false;
    *job = (ImgstatJob){.input = paths[*taken], .group = *taken % 2 ? "a" : "b"};
    ++*taken;
    return true;
}

static void begin(void)
{
    static uint16_t shorts[WIDTH * HEIGHT * 3];
    static float floats[WIDTH * HEIGHT];
    static const char *const names[FILES] = {"good-rgb.png", "photo.tif", "bad-crc.png"};
    static const ImgstatMethod methods[TRANSFERS] = {
        {.transform = IMGSTAT_EQUALIZE}, {.channels = IMGSTAT_EACH}, {.channels = IMGSTAT_LUMA}};
    for (size_t i = 0; i < sizeof shorts / sizeof shorts[0]; i++)
        shorts[i] = (uint16_t)(i * i % 4093);
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++)
        floats[i] = (float)(i * i % 4093) / 7;
    ImgstatDevice *device;
    const ImgstatMeasure merges = {.mergeable = true};
    cr_assert_eq(imgstat_device_open("cpu", 1, &device, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, shorts, 0, WIDTH, HEIGHT, 3, IMGSTAT_U16, 0,
                                    NULL, NULL, &narrow, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, floats, 0, WIDTH, HEIGHT, 1, IMGSTAT_F32, 0,
                                    NULL, NULL, &wide, NULL),
                 IMGSTAT_OK);
    for (size_t i = 0; i < RECORDS; i++) {
        const ImagePro *const image = i ? &wide : &narrow;
        cr_assert_eq(imgstat_measure_image(device, image, &everything, &computed[i], NULL),
                     IMGSTAT_OK);
        cr_assert_eq(imgstat_measure_image(device, image, &merges, &mergeable[i], NULL),
                     IMGSTAT_OK);
    }
    for (size_t i = 0; i < TRANSFERS; i++)
        cr_assert_eq(
            imgstat_transfer_create(device, &methods[i], &narrow, -1, NULL, &transfers[i], NULL),
            IMGSTAT_OK);
    imgstat_device_close(device);

    size_t taken = 0;
    const ImgstatMeasureBatch batch = {.device = "cpu", .threads = 1};
    const ImgstatJobStream jobs = {.next = next, .context = &taken};
    for (size_t i = 0; i < FILES; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s", getenv("IMGSTAT_TESTDATA"), names[i]);
    cr_assert_eq(imgstat_dataset_create(&dataset, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_dataset_measure(dataset, &batch, &jobs, NULL), IMGSTAT_OK);
}

static void end(void)
{
    imgstat_dataset_destroy(dataset);
    for (size_t i = 0; i < TRANSFERS; i++)
        imgstat_transfer_destroy(transfers[i]);
    for (size_t i = 0; i < RECORDS; i++) {
        imgstat_record_destroy(computed[i]);
        imgstat_record_destroy(mergeable[i]);
    }
    imgstat_image_release(&narrow);
    imgstat_image_release(&wide);
}

Test(threads, share_what_none_of_them_changes, .init = begin, .fini = end)
{
    Looker lookers[THREADS];
    pthread_barrier_init(&start, NULL, THREADS);
    for (int t = 0; t < THREADS; t++)
        cr_assert(pthread_create(&lookers[t].thread, NULL, run, &lookers[t]) == 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(lookers[t].thread, NULL);
    pthread_barrier_destroy(&start);
    size_t bytes;
    char *const alone = look(1, &bytes);
    cr_assert_gt(bytes, WIDTH * HEIGHT * 3 * sizeof(uint16_t) * TRANSFERS);
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < TIMES; i++) {
            cr_expect(lookers[t].bytes[i] == bytes && memcmp(lookers[t].seen[i], alone, bytes) == 0,
                      "thread %d, time %d", t, i);
            free(lookers[t].seen[i]);
        }
    free(alone);
}
