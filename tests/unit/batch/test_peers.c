/* SPDX-License-Identifier: MIT */
/* test_peers.c: processes that add up what they found: each has the sum, or the failure of the
 * first one that failed; and a batch and a data set that they measure together. */
#include "batch/peers.h"
#include "helper_peers.h"
#include "support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Sums ------------------------------------------------------------------------------------ */

typedef struct Sum {
    uint64_t value;
    ImgstatResult own, result;
    ImgstatError error;
    bool cuts; /* what it sends lacks its end */
} Sum;

static void put_sum(void *context, ByteWriter *writer)
{
    const Sum *const sum = context;
    put_number(writer, sum->value, sum->cuts ? 7 : 8);
}

static void clear_sum(void *context)
{
    ((Sum *)context)->value = 0;
}

static ImgstatResult add_sum(void *context, ByteReader *reader, ImgstatError *err)
{
    (void)err;
    ((Sum *)context)->value += get_number(reader, 8);
    return IMGSTAT_OK;
}

static void combine_sum(const ImgstatPeers *peers, void *own)
{
    Sum *const sum = own;
    const PeerData data = {.context = sum, .put = put_sum, .clear = clear_sum, .add = add_sum};
    for (int i = 0; i < 2; i++) { /* a second call does not take messages of the first */
        ImgstatResult res = sum->own;
        if (res != IMGSTAT_OK)
            res = error_set(&sum->error, res, "process %u fails", (unsigned)peers->rank);
        sum->result = peers_combine(peers, &data, res, &sum->error);
    }
}

static size_t run_sums(uint32_t n, Sum sums[PEERS_MOST], uint32_t silent)
{
    return peers_run(n, combine_sum, sums, sizeof(Sum), silent);
}

Test(peers, each_has_the_sum)
{
    for (uint32_t n = 1; n <= PEERS_MOST; n++) {
        Sum sums[PEERS_MOST] = {{0}};
        uint64_t expected = 0;
        for (uint32_t i = 0; i < n; i++)
            expected += sums[i].value = (uint64_t)1 << (8 * i);
        cr_expect(run_sums(n, sums, n) == 2 * 2 * (n - 1), "a tree, and back");
        for (uint32_t i = 0; i < n; i++)
            cr_expect(sums[i].result == IMGSTAT_OK && sums[i].value == n * expected,
                      "%u of %u: %llx", i, n, (unsigned long long)sums[i].value);
    }
}

/* Every set of processes that fail. A process that had failed itself kept its own failure. */
Test(peers, each_has_the_first_failure)
{
    enum { N = 6 };
    for (unsigned set = 1; set < 1u << N; set++) {
        Sum sums[PEERS_MOST] = {{0}};
        char sentence[40];
        snprintf(sentence, sizeof sentence, "process %d fails", __builtin_ctz(set));
        for (uint32_t i = 0; i < N; i++)
            sums[i].own = set >> i & 1 ? IMGSTAT_ERR_IO : IMGSTAT_OK;
        (void)run_sums(N, sums, N);
        for (uint32_t i = 0; i < N; i++) {
            cr_expect_eq(sums[i].result, IMGSTAT_ERR_IO);
            cr_expect_str_eq(sums[i].error.message, sentence);
        }
    }
}

Test(peers, messages_that_are_lost_or_cut_fail_in_all)
{
    enum { N = 5 };
    for (uint32_t bad = 1; bad < N; bad++) {
        Sum silent[PEERS_MOST] = {{0}}, cut[PEERS_MOST] = {{0}};
        char lost[40], damaged[40];
        snprintf(lost, sizeof lost, "process %u sent nothing", (unsigned)bad);
        snprintf(damaged, sizeof damaged, "process %u found what does not fit", (unsigned)bad);
        cut[bad].cuts = true;
        (void)run_sums(N, silent, bad);
        (void)run_sums(N, cut, N);
        for (uint32_t i = 0; i < N; i++) {
            cr_expect(silent[i].result == IMGSTAT_ERR_IO && cut[i].result == IMGSTAT_ERR_IO);
            cr_expect(strstr(silent[0].error.message, lost), "%s", silent[0].error.message);
            cr_expect(strstr(cut[i].error.message, damaged), "%s", cut[i].error.message);
        }
    }
}

/* ---- A read ---------------------------------------------------------------------------------- */

enum { BINS = 65536, RANGES = 5, KEYS = 40, CHANNELS = 2 };

/* What a process has of one. */
typedef struct Found {
    uint64_t digits[BINS], ranges[RANGES], keys[KEYS];
    DigitCount digit;
    RangeCount range;
    KeyGather gather;
    Central central[CHANNELS];
    ReadRequest request;
    ImgstatResult result;
    ImgstatError error;
} Found;

static void begin_found(Found *found, size_t capacity)
{
    found->digit = (DigitCount){.bins = found->digits};
    found->range = (RangeCount){.n_bins = RANGES, .bins = found->ranges};
    found->gather = (KeyGather){.keys = found->keys, .capacity = capacity};
    found->request = (ReadRequest){.digits = &found->digit,
                                   .n_digits = 1,
                                   .ranges = &found->range,
                                   .n_ranges = 1,
                                   .gathers = &found->gather,
                                   .n_gathers = 1,
                                   .central = found->central};
}

/* Adds what process i finds. */
static void find(Found *found, uint32_t i)
{
    for (size_t k = 0; k < BINS; k += 1 + 1000 * i)
        found->digits[k] += k + i;
    found->digits[BINS - 1] += 1;
    found->ranges[i % RANGES] += (uint64_t)1 << (40 + i);
    for (size_t k = 0; k < i; k++)
        found->keys[found->gather.n++] = 100 * i + k;
    found->central[i % CHANNELS].overflow += i;
}

static void combine_found(const ImgstatPeers *peers, void *own)
{
    Found *const found = own;
    find(found, peers->rank);
    found->result =
        peers_combine_request(peers, &found->request, CHANNELS, IMGSTAT_OK, &found->error);
}

static int compare_keys(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

Test(peers, a_read_is_added_up)
{
    enum { N = 5 };
    Found *const found = calloc(N + 1, sizeof *found), *const expected = found + N;
    cr_assert_not_null(found);
    for (uint32_t i = 0; i <= N; i++)
        begin_found(&found[i], KEYS);
    for (uint32_t i = 0; i < N; i++)
        find(expected, i);
    (void)peers_run(N, combine_found, found, sizeof *found, N);
    for (uint32_t i = 0; i < N; i++) {
        cr_expect_eq(found[i].result, IMGSTAT_OK);
        cr_expect(memcmp(found[i].digits, expected->digits, sizeof expected->digits) == 0);
        cr_expect(memcmp(found[i].ranges, expected->ranges, sizeof expected->ranges) == 0);
        cr_expect(memcmp(found[i].central, expected->central, sizeof expected->central) == 0);
        cr_assert_eq(found[i].gather.n, expected->gather.n);
        qsort(found[i].keys, found[i].gather.n, sizeof(uint64_t), compare_keys);
        cr_expect(memcmp(found[i].keys, expected->keys, sizeof expected->keys) == 0);
    }
    /* More keys than there are: the files have changed. */
    for (uint32_t i = 0; i < N; i++) {
        memset(&found[i], 0, sizeof found[i]);
        begin_found(&found[i], 8);
    }
    (void)peers_run(N, combine_found, found, sizeof *found, N);
    for (uint32_t i = 0; i < N; i++)
        cr_expect(found[i].result == IMGSTAT_ERR_IO &&
                      strstr(found[i].error.message, "the processes see different files"),
                  "%s", found[i].error.message);
    free(found);
}

Test(peers, records_are_sent_whole)
{
    static const ImgstatSample samples[] = {IMGSTAT_U8, IMGSTAT_U16, IMGSTAT_F32};
    for (int s = 0; s < 3; s++) {
        Record *record = NULL;
        cr_assert_eq(record_create(NULL, samples[s], 3, s == 2 ? RECORD_BINS : 0, &record, NULL),
                     IMGSTAT_OK);
        for (uint16_t c = 0; c < 3; c++)
            record->tally[c].n = 1000u * c + 7;
        record->bins[300] = UINT64_MAX;
        ByteWriter writer = {0};
        peers_put_record(&writer, record);
        ByteReader reader = {.at = writer.bytes, .end = writer.bytes + writer.n};
        Record *const again = peers_get_record(&reader);
        cr_assert(again && reader.at == reader.end);
        cr_expect(memcmp(again->tally, record->tally, 3 * sizeof *record->tally) == 0);
        cr_expect(memcmp(again->bins, record->bins,
                         3 * sample_record_bins(samples[s]) * sizeof *record->bins) == 0);
        record_destroy(again);
        for (size_t n = 0; n < writer.n; n++) {
            if (!is_run(n, s == 0 ? 2 : 16)) /* others have 65536 bins each time */
                continue;
            ByteReader cut = {.at = writer.bytes, .end = writer.bytes + n};
            cr_expect_null(peers_get_record(&cut), "%zu of %zu bytes", n, writer.n);
        }
        free(writer.bytes);
        record_destroy(record);
    }
}

/* ---- Files ----------------------------------------------------------------------------------- */

enum { FILES = 10, SIDE = 16, MISSING = 7 };

static char folder[] = "/tmp/imgstat-peers-XXXXXX";
static char paths[FILES][64];

static void begin(void)
{
    const ImgstatWrite how = {.replace = true};
    ImagePro image;
    cr_assert_not_null(mkdtemp(folder));
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%02u.tif", folder, i);
        cr_assert_eq(imgstat_image_create(SIDE, SIDE, 1, IMGSTAT_F32, 0, &image, NULL), IMGSTAT_OK);
        for (unsigned k = 0; k < SIDE * SIDE; k++)
            ((float *)image.host)[k] = (float)(k * 7 % 251) + (float)i / 3;
        if (i != MISSING)
            cr_assert_eq(imgstat_image_save(&image, -1, paths[i], NULL, &how, NULL), IMGSTAT_OK);
        imgstat_image_release(&image);
    }
}

static void end(void)
{
    for (unsigned i = 0; i < FILES; i++)
        (void)!unlink(paths[i]);
    (void)!rmdir(folder);
}

/* What a process makes. */
typedef struct Made {
    const char *device;
    ImgstatTransfer *transfer;
    size_t failed;
    double quantile;
    bool refuses; /* to read again */
    size_t at;    /* of its files */
    uint32_t rank, n;
    ImgstatResult result;
    ImgstatError error;
} Made;

static bool on_done(void *context, const ImgstatDone *done)
{
    ((Made *)context)->failed += done->result != IMGSTAT_OK;
    return true;
}

static void equalize(const ImgstatPeers *peers, void *own)
{
    Made *const made = own;
    ImgstatJob jobs[FILES] = {{0}};
    for (unsigned i = 0; i < FILES; i++)
        jobs[i].input = paths[i];
    const ImgstatBatch batch = {.method = {.transform = IMGSTAT_EQUALIZE},
                                .together = IMGSTAT_BY_ALL,
                                .device = made->device,
                                .threads = 1,
                                .progress = on_done,
                                .context = made,
                                .made = &made->transfer,
                                .peers = peers};
    made->result = imgstat_batch_run(&batch, jobs, FILES, &made->error);
}

/* The bytes of a saved transfer; the caller frees them. */
static char *saved(const ImgstatTransfer *transfer)
{
    char path[80], *bytes = NULL;
    size_t capacity = 0;
    snprintf(path, sizeof path, "%s/t.json", folder);
    cr_assert(transfer && imgstat_transfer_save(transfer, path, true, NULL) == IMGSTAT_OK);
    FILE *const in = fopen(path, "rb");
    cr_assert(in && getdelim(&bytes, &capacity, '\0', in) > 0);
    fclose(in);
    (void)!unlink(path);
    return bytes;
}

Test(peers, a_transfer_is_that_of_one_process, .init = begin, .fini = end)
{
    Made alone = {.device = "cpu"};
    peers_run(1, equalize, &alone, sizeof alone, 1);
    cr_assert_eq(alone.result, IMGSTAT_OK, "%s", alone.error.message);
    char *const expected = saved(alone.transfer);
    for (uint32_t n = 2; n <= PEERS_MOST; n += 3) {
        Made made[PEERS_MOST] = {{0}};
        for (uint32_t i = 0; i < n; i++)
            made[i].device = "cpu";
        peers_run(n, equalize, made, sizeof *made, n);
        for (uint32_t i = 0; i < n; i++) {
            cr_assert_eq(made[i].result, IMGSTAT_OK, "%s", made[i].error.message);
            cr_expect_eq(made[i].failed, 1, "each reports the file that is missing");
            char *const bytes = saved(made[i].transfer);
            cr_expect_str_eq(bytes, expected);
            free(bytes);
            imgstat_transfer_destroy(made[i].transfer);
        }
    }
    free(expected);
    imgstat_transfer_destroy(alone.transfer);
}

/* The others waited for a process whose devices could not be listed. */
Test(peers, a_process_that_cannot_begin_ends_all, .init = begin, .fini = end)
{
    Made made[3] = {{.device = "cpu"}, {.device = "cpu"}, {.device = "nothing"}};
    peers_run(3, equalize, made, sizeof *made, 3);
    for (uint32_t i = 0; i < 3; i++) {
        cr_expect_neq(made[i].result, IMGSTAT_OK);
        cr_expect(strstr(made[i].error.message, "nothing"), "%s", made[i].error.message);
        cr_expect_null(made[i].transfer);
    }
}

/* ---- A data set ------------------------------------------------------------------------------ */

/* All files, and when they are read again those of this process. */
static bool next(void *context, ImgstatJob *job)
{
    Made *const made = context;
    if (made->at >= FILES)
        return false;
    job->input = paths[made->at];
    made->at += made->n;
    return true;
}

static bool restart(void *context)
{
    Made *const made = context;
    made->at = made->rank;
    return !made->refuses;
}

static void compute_median(const ImgstatPeers *peers, void *own)
{
    Made *const made = own;
    const ImgstatMeasure how = {.median = true};
    const ImgstatJobStream stream = {.next = next, .restart = restart, .context = made};
    ImgstatMeasureBatch batch = {
        .how = &how, .device = made->device, .threads = 1, .context = made};
    ImgstatDataset *set = NULL;
    made->n = 1;
    made->result = imgstat_dataset_create(&set, &made->error);
    if (made->result == IMGSTAT_OK) {
        batch.device = "cpu";
        made->result = imgstat_dataset_measure(set, &batch, &stream, &made->error);
    }
    batch.device = made->device;
    batch.peers = peers;
    made->rank = peers->rank;
    made->n = peers->n;
    if (made->result == IMGSTAT_OK)
        made->result = imgstat_dataset_compute(set, &batch, &stream, &made->error);
    if (made->result == IMGSTAT_OK) {
        ImgstatStats stats;
        imgstat_record_stats(imgstat_dataset_record(set, 0), 0, &stats);
        made->quantile = stats.median;
    }
    imgstat_dataset_destroy(set);
}

Test(peers, a_data_set_is_that_of_one_process, .init = begin, .fini = end)
{
    Made alone = {.device = "cpu"};
    peers_run(1, compute_median, &alone, sizeof alone, 1);
    cr_assert_eq(alone.result, IMGSTAT_OK, "%s", alone.error.message);
    cr_assert(alone.quantile > 0);
    for (uint32_t n = 2; n <= 5; n++) {
        Made made[PEERS_MOST] = {{0}};
        for (uint32_t i = 0; i < n; i++)
            made[i].device = "cpu";
        peers_run(n, compute_median, made, sizeof *made, n);
        for (uint32_t i = 0; i < n; i++) {
            cr_expect_eq(made[i].result, IMGSTAT_OK, "%s", made[i].error.message);
            cr_expect_eq(made[i].quantile, alone.quantile);
        }
    }
}

Test(peers, a_process_that_cannot_read_again_ends_all, .init = begin, .fini = end)
{
    for (int k = 0; k < 2; k++) {
        Made made[3] = {{.device = "cpu"}, {.device = "cpu"}, {.device = "cpu"}};
        made[1].refuses = k == 0;
        made[1].device = k == 0 ? "cpu" : "nothing";
        peers_run(3, compute_median, made, sizeof *made, 3);
        for (uint32_t i = 0; i < 3; i++) {
            cr_expect_neq(made[i].result, IMGSTAT_OK);
            cr_expect(strstr(made[i].error.message, k == 0 ? "cannot be read again" : "nothing"),
                      "%s", made[i].error.message);
        }
    }
}
