/* SPDX-License-Identifier: MIT */
/* merge_images.c: one record of several images, saved, loaded, and made a transfer for all of them.
 * usage: merge_images RECORD TRANSFER INPUT... */
#include <imgstat.h>

#include <stdio.h>
#include <stdlib.h>

/* Measures all images of a file and merges them into *total, which begins with the first file. */
static ImgstatResult add_file(ImgstatDevice *device, const char *path, ImgstatRecord **total,
                              ImgstatError *err)
{
    const ImgstatMeasure how = {.mergeable = true};
    ImgstatFile *file = NULL;
    ImgstatRecord *record = NULL;
    uint32_t *pages = NULL, n = 0;

    ImgstatResult res = imgstat_file_open(path, NULL, &file, err);
    if (res == IMGSTAT_OK) {
        const uint32_t most = imgstat_file_pages(file);
        pages = malloc(most * sizeof *pages);
        if (pages) {
            res = imgstat_file_find(file, NULL, pages, most, &n, err);
        } else {
            *err = (ImgstatError){.code = IMGSTAT_ERR_MEMORY, .message = "out of memory"};
            res = err->code;
        }
    }
    if (res == IMGSTAT_OK)
        res = imgstat_measure_pages(device, file, pages, n, &how, &record, err);
    if (res == IMGSTAT_OK && *total) {
        res = imgstat_record_merge(*total, record, err);
    } else if (res == IMGSTAT_OK) {
        *total = record;
        record = NULL;
    }
    imgstat_record_destroy(record);
    imgstat_file_close(file);
    free(pages);
    return res;
}

static void print(const ImgstatRecord *record)
{
    ImgstatKind kind;
    uint64_t files, pages;
    imgstat_record_kind(record, &kind);
    imgstat_record_images(record, &files, &pages);
    printf("%llu files, %llu pages\n", (unsigned long long)files, (unsigned long long)pages);
    for (uint16_t c = 0; c < kind.channels; c++) {
        ImgstatStats stats;
        double lo, hi;
        imgstat_record_stats(record, c, &stats);
        printf("%s: mean %.17g, largest in %s", kind.names[c], stats.mean, stats.max_file);
        if (imgstat_record_bounds(record, c, IMGSTAT_MEDIAN, &lo, &hi))
            printf(", median between %.9g and %.9g\n", lo, hi);
        else
            printf(", median %.17g\n", stats.median);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: merge_images RECORD TRANSFER INPUT...\n");
        return 2;
    }
    const ImgstatMeasure how = {.median = true};
    const ImgstatMethod method = {.transform = IMGSTAT_STRETCH};
    ImgstatDevice *device = NULL;
    ImgstatRecord *total = NULL, *loaded = NULL;
    ImgstatTransfer *transfer = NULL;
    ImgstatError err;

    ImgstatResult res = imgstat_device_open("cpu", 0, &device, &err);
    for (int i = 3; i < argc && res == IMGSTAT_OK; i++)
        res = add_file(device, argv[i], &total, &err);
    if (res == IMGSTAT_OK)
        res = imgstat_record_save(total, argv[1], true, &err);
    if (res == IMGSTAT_OK) /* by another program, say, on another day */
        res = imgstat_record_load(argv[1], &loaded, &err);
    if (res == IMGSTAT_OK)
        res = imgstat_record_compute(loaded, &how, &err);
    if (res == IMGSTAT_OK) {
        print(loaded);
        res = imgstat_transfer_from_record(&method, loaded, NULL, &transfer, &err);
    }
    if (res == IMGSTAT_OK)
        res = imgstat_transfer_save(transfer, argv[2], true, &err);
    if (res != IMGSTAT_OK)
        fprintf(stderr, "%s\n", err.message);

    imgstat_transfer_destroy(transfer);
    imgstat_record_destroy(loaded);
    imgstat_record_destroy(total);
    imgstat_device_close(device);
    return res == IMGSTAT_OK ? 0 : 1;
}
