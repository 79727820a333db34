/* SPDX-License-Identifier: MIT */
/* test_dataset_file.c: data sets that come from a pipe. */
#include "record/record_file.h"

#include <criterion/criterion.h>
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
    dataset_add_file(set, "a.tif", NULL);
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
