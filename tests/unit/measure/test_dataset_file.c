/* SPDX-License-Identifier: MIT */
/* test_dataset_file.c: data sets that come from a pipe, and files that are merged at once. */
#include "record/record_file.h"

#include "helper_keys.h"
#include "helper_measure.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Loads "-" while standard input is a pipe with these bytes. */
static ImgstatResult load_from_pipe(const void *bytes, size_t n, ImgstatDataset **out,
                                    ImgstatError *err)
{
    int ends[2];
    const int saved = dup(STDIN_FILENO);
    cr_assert(saved >= 0 && pipe(ends) == 0);
    cr_assert(write(ends[1], bytes, n) == (ssize_t)n);
    cr_assert(close(ends[1]) == 0 && dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
    cr_assert(close(ends[0]) == 0);
    const ImgstatResult res = imgstat_dataset_load("-", UINT64_MAX, out, err);
    cr_assert(dup2(saved, STDIN_FILENO) == STDIN_FILENO && close(saved) == 0);
    return res;
}

/* Pipes of anything but images were refused: "is neither PNG nor TIFF". */
Test(dataset_file, is_read_from_a_pipe)
{
    ImgstatDataset *set = NULL, *again = NULL;
    ImgstatError error = {0};
    cr_assert(imgstat_dataset_create(&set, NULL) == IMGSTAT_OK);
    dataset_add_file(set, "a.tif", false, NULL);
    uint8_t bytes[256], more[256];
    const size_t n = imgstat_dataset_bytes(set, bytes, sizeof bytes);
    cr_assert(n > 0 && n <= sizeof bytes);
    cr_assert(load_from_pipe(bytes, n, &again, &error) == IMGSTAT_OK, "%s", error.message);
    cr_assert(imgstat_dataset_bytes(again, more, sizeof more) == n && memcmp(bytes, more, n) == 0);
    imgstat_dataset_destroy(again);
    imgstat_dataset_destroy(set);
}

Test(dataset_file, other_pipes_are_refused)
{
    static const char png[] = "\x89PNG\r\n\x1a\n and more";
    ImgstatDataset *set = NULL;
    ImgstatError error = {0};
    cr_assert(load_from_pipe(png, sizeof png, &set, &error) == IMGSTAT_ERR_FORMAT && !set);
    cr_assert(strstr(error.message, "-: is no record of imgstat"), "%s", error.message);
    cr_assert(load_from_pipe(png, 4, &set, &error) == IMGSTAT_ERR_FORMAT && !set);
}

/* Saves a data set with an image of some values; some bins hold many, most none. */
static void save_image(const char *path, ImgstatSample sample, unsigned seed)
{
    enum { WIDTH = 40, ROWS = 30, CHANNELS = 3 };
    static uint64_t room[WIDTH * ROWS * CHANNELS];
    const ImgstatMeasure how = {.mergeable = true};
    const size_t bytes = imgstat_sample_bytes(sample);
    Random random = {seed};
    for (size_t i = 0; i < (size_t)WIDTH * ROWS * CHANNELS; i++) {
        const uint64_t x = random_next(&random), some = x % 5 ? x % 700 * 16 : x;
        memcpy((char *)room + i * bytes, &some, bytes);
    }
    const ImagePro image = measure_wrap(room, WIDTH, ROWS, CHANNELS, sample);
    ImgstatRecord *const record = measure_image(&image, &how);
    cr_assert(imgstat_record_save(record, path, true, NULL) == IMGSTAT_OK);
    imgstat_record_destroy(record);
}

Test(dataset_file, merges_as_data_sets_do)
{
    char path[2][64];
    for (int i = 0; i < 2; i++)
        snprintf(path[i], sizeof path[i], "/tmp/test_dataset_file-%d-%d.rec", (int)getpid(), i);
    for (int s = IMGSTAT_U8; s <= IMGSTAT_F64; s++) {
        ImgstatDataset *wanted = NULL, *from = NULL, *into = NULL;
        save_image(path[0], (ImgstatSample)s, 1);
        save_image(path[1], (ImgstatSample)s, 2);
        cr_assert(imgstat_dataset_load(path[0], 0, &wanted, NULL) == IMGSTAT_OK);
        cr_assert(imgstat_dataset_load(path[1], 0, &from, NULL) == IMGSTAT_OK);
        cr_assert(imgstat_dataset_merge(wanted, from, NULL) == IMGSTAT_OK);
        cr_assert(imgstat_dataset_create(&into, NULL) == IMGSTAT_OK);
        for (int i = 0; i < 2; i++)
            cr_assert(imgstat_dataset_merge_file(into, path[i], 0, NULL) == IMGSTAT_OK);
        const size_t n = imgstat_dataset_bytes(wanted, NULL, 0);
        uint8_t *const a = malloc(n), *const b = malloc(n);
        cr_assert(imgstat_dataset_bytes(wanted, a, n) == n &&
                  imgstat_dataset_bytes(into, b, n) == n && memcmp(a, b, n) == 0);
        ImgstatError error;
        cr_assert(imgstat_dataset_merge_file(into, path[0], 1000, &error) == IMGSTAT_ERR_LIMIT);
        save_image(path[1], s == IMGSTAT_U8 ? IMGSTAT_U16 : IMGSTAT_U8, 2);
        cr_assert(imgstat_dataset_merge_file(into, path[1], 0, &error) == IMGSTAT_ERR_ARG);
        cr_assert(strncmp(error.message, path[1], strlen(path[1])) == 0 &&
                      strstr(error.message, path[0]),
                  "%s", error.message);
        cr_assert(imgstat_dataset_bytes(into, b, n) == n && memcmp(a, b, n) == 0, "unchanged");
        free(a);
        free(b);
        imgstat_dataset_destroy(wanted);
        imgstat_dataset_destroy(from);
        imgstat_dataset_destroy(into);
    }
    unlink(path[0]);
    unlink(path[1]);
}
