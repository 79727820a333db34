/* SPDX-License-Identifier: MIT */
/* fuzz_record: any bytes as saved records, as they are and with the checksum put right. What is
 * taken must be written as the same bytes, merge with itself, also off its bytes, and give
 * statistics and transfers without a fault. */
#include "record/record_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMORY = 64 << 20, CHECKSUM = 8 };

static ImgstatDataset *parse(const uint8_t *data, size_t size)
{
    ImgstatDataset *set = NULL;
    ImgstatError err = {.code = IMGSTAT_OK};
    const ImgstatResult result = imgstat_dataset_from_bytes("fuzz", data, size, MEMORY, &set, &err);
    if ((result == IMGSTAT_OK) != (set != NULL))
        abort();
    if (result != IMGSTAT_OK && result != IMGSTAT_ERR_MEMORY &&
        (err.code != result || strncmp(err.message, "fuzz: ", 6) != 0)) {
        fprintf(stderr, "result %d, error %d: %s\n", (int)result, (int)err.code, err.message);
        abort();
    }
    return set;
}

/* Everything that follows from a record. */
static void use(ImgstatRecord *record)
{
    const double p[] = {0, 1, 50, 99.9, 100};
    const ImgstatMethod stretch = {.transform = IMGSTAT_STRETCH};
    const ImgstatMeasure how = {.percentiles = p, .n_percentiles = 5, .median = true};
    ImgstatTransfer *transfer = NULL;
    ImgstatStats stats;
    char sum[48];
    ImgstatError err;
    if (record->kind->channels > 64 || (how.median && !record->record->bins))
        return;
    if (imgstat_record_compute(record, &how, &err) == IMGSTAT_OK) {
        for (uint16_t c = 0; c < record->kind->channels; c++) {
            double lo, hi;
            imgstat_record_stats(record, c, &stats);
            imgstat_record_sum(record, c, sum);
            for (size_t k = 0; k < 5; k++)
                if (imgstat_record_bounds(record, c, k, &lo, &hi) && !(lo <= hi))
                    abort();
        }
    }
    if (imgstat_transfer_from_record(&stretch, record, NULL, &transfer, &err) == IMGSTAT_OK)
        imgstat_transfer_destroy(transfer);
}

/* What is merged off the bytes is what they say, once and twice. */
static void merge(const uint8_t *data, size_t size, ImgstatDataset *set,
                  const ImgstatDataset *twice)
{
    ImgstatDataset *into = NULL, *sparse = NULL;
    if (imgstat_dataset_create(&into, NULL) != IMGSTAT_OK)
        return;
    const ImgstatResult read = dataset_read("fuzz", data, size, true, 2 * MEMORY, &sparse, NULL);
    if (read != IMGSTAT_OK && read != IMGSTAT_ERR_MEMORY)
        abort();
    memcpy(into->version, set->version, sizeof into->version); /* not that of this imgstat */
    if (sparse && imgstat_dataset_merge(into, sparse, NULL) == IMGSTAT_OK) {
        const ImgstatResult one = imgstat_dataset_merge(into, sparse, NULL);
        const ImgstatResult other = imgstat_dataset_merge(set, twice, NULL);
        const size_t n = imgstat_dataset_bytes(set, NULL, 0);
        uint8_t *const a = malloc(n), *const b = malloc(n);
        if (one != other || imgstat_dataset_bytes(into, NULL, 0) != n ||
            (a && b &&
             (imgstat_dataset_bytes(set, a, n) != n || imgstat_dataset_bytes(into, b, n) != n ||
              memcmp(a, b, n) != 0)))
            abort();
        free(a);
        free(b);
    }
    imgstat_dataset_destroy(into);
    imgstat_dataset_destroy(sparse);
}

static void try_bytes(const uint8_t *data, size_t size)
{
    ImgstatDataset *const set = parse(data, size), *const twice = set ? parse(data, size) : NULL;
    const size_t n = set ? imgstat_dataset_bytes(set, NULL, 0) : 0;
    uint8_t *const again = n ? malloc(n) : NULL;
    if (again &&
        (n != size || imgstat_dataset_bytes(set, again, n) != n || memcmp(again, data, n) != 0)) {
        fprintf(stderr, "%zu bytes are written as %zu\n", size, n);
        abort();
    }
    free(again);
    if (set && twice) /* refused for shards and for too many samples */
        merge(data, size, set, twice);
    for (size_t i = 0; set && i < imgstat_dataset_records(set); i++)
        use(imgstat_dataset_record(set, i));
    imgstat_dataset_destroy(set);
    imgstat_dataset_destroy(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_bytes(data, size);
    if (size < CHECKSUM)
        return 0;
    uint8_t *const copy = malloc(size);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    const uint64_t checksum = digest_checksum(copy, size - CHECKSUM);
    for (unsigned i = 0; i < CHECKSUM; i++)
        copy[size - CHECKSUM + i] = (uint8_t)(checksum >> (8 * i));
    try_bytes(copy, size);
    free(copy);
    return 0;
}
