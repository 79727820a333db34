/* SPDX-License-Identifier: MIT */
/* test_codec.c: sources, limits, warnings, and what the public file interface answers. */
#include "codec/codec.h"
#include "helper_decode.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A gray PNG of 1 x 1 pixel: 137. */
static const unsigned char tiny_png[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
    0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00,
    0x00, 0x3a, 0x7e, 0x9b, 0x55, 0x00, 0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78,
    0xda, 0x63, 0xe8, 0x04, 0x00, 0x00, 0x8b, 0x00, 0x8a, 0x51, 0xc1, 0x42, 0xd8, 0x00,
    0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
};

static void make_dir(char dir[64])
{
    strcpy(dir, "/tmp/imgstat-test-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
}

static void write_file(const char *path, const void *bytes, size_t n)
{
    FILE *const file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

static void expect_open_error(const char *path, ImgstatResult code, const char *part)
{
    ImgstatFile *file = NULL;
    ImgstatError err;
    cr_assert_eq(imgstat_file_open(path, NULL, &file, &err), code, "%s: %s", path, err.message);
    cr_assert_null(file);
    cr_assert_eq(strncmp(err.message, path, strlen(path)), 0, "begins with the name: %s",
                 err.message);
    cr_assert_not_null(strstr(err.message, part), "%s", err.message);
}

static void expect_tiny(const char *path)
{
    ImgstatFile *file = NULL;
    ImgstatError err;
    ImgstatPage page;
    ImagePro image;
    cr_assert_eq(imgstat_file_open(path, NULL, &file, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(imgstat_file_page(file, 0, &page, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(page.width * page.height * page.channels, 1);
    cr_assert_eq(imgstat_image_create(1, 1, 1, IMGSTAT_U8, 8, &image, &err), IMGSTAT_OK);
    cr_assert_eq(imgstat_file_read(file, &image, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(*(const unsigned char *)image.host, 137);
    cr_assert_eq(imgstat_file_read(file, &image, &err), IMGSTAT_ERR_ARG, "no rows are left");
    imgstat_image_release(&image);
    imgstat_file_close(file);
}

Test(source, missing_directory_empty_and_other)
{
    char dir[64], path[96];
    make_dir(dir);
    expect_open_error(dir, IMGSTAT_ERR_IO, "is a directory");
    snprintf(path, sizeof path, "%s/a", dir);
    expect_open_error(path, IMGSTAT_ERR_IO, "No such file");
    write_file(path, "", 0);
    expect_open_error(path, IMGSTAT_ERR_FORMAT, "is empty");
    write_file(path, "GIF89a", 6);
    expect_open_error(path, IMGSTAT_ERR_FORMAT, "neither PNG nor TIFF");
    write_file(path, tiny_png, 5);
    expect_open_error(path, IMGSTAT_ERR_FORMAT, "neither PNG nor TIFF");
    write_file(path, tiny_png, 20);
    expect_open_error(path, IMGSTAT_ERR_TRUNCATED, "ends early");
    write_file(path, "II*\0\0\0", 6);
    expect_open_error(path, IMGSTAT_ERR_TRUNCATED, "header");
    write_file(path, tiny_png, sizeof tiny_png);
    expect_tiny(path);
    unlink(path);
    rmdir(dir);
}

static void *feed_fifo(void *path)
{
    write_file(path, tiny_png, sizeof tiny_png);
    return NULL;
}

Test(source, fifo_is_spooled, .timeout = 600)
{
    char dir[64], path[96];
    pthread_t feeder;
    make_dir(dir);
    snprintf(path, sizeof path, "%s/fifo", dir);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(pthread_create(&feeder, NULL, feed_fifo, path), 0);
    expect_tiny(path);
    pthread_join(feeder, NULL);
    unlink(path);
    rmdir(dir);
}

Test(source, standard_input_pipe_and_file, .timeout = 600)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], tiny_png, sizeof tiny_png), (ssize_t)sizeof tiny_png);
    close(ends[1]);
    cr_assert_geq(dup2(ends[0], STDIN_FILENO), 0);
    expect_tiny("-");
    expect_open_error("-", IMGSTAT_ERR_FORMAT, "is empty"); /* read to its end above */

    char dir[64], path[96];
    make_dir(dir);
    snprintf(path, sizeof path, "%s/a", dir);
    write_file(path, tiny_png, sizeof tiny_png);
    FILE *const file = freopen(path, "rb", stdin);
    cr_assert_not_null(file);
    expect_tiny("-");
    unlink(path);
    rmdir(dir);
}

Test(source, reads_at_positions)
{
    char path[] = "/tmp/imgstat-test-XXXXXX";
    const int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    write_file(path, "0123456789", 10);
    Source *source = NULL;
    cr_assert_eq(source_open(path, NULL, &source, NULL), IMGSTAT_OK);
    char bytes[8];
    size_t got = 99;
    cr_assert_eq(source_read(source, 7, bytes, 8, &got, NULL), IMGSTAT_OK);
    cr_assert_eq(got, 3);
    cr_assert_eq(memcmp(bytes, "789", 3), 0);
    cr_assert_eq(source_read(source, UINT64_MAX, bytes, 8, &got, NULL), IMGSTAT_OK);
    cr_assert_eq(got, 0);
    source_close(source);
    close(fd);
    unlink(path);
}

Test(limits, each_is_checked)
{
    ImgstatError err;
    const ImgstatLimits limits =
        limits_default((ImgstatLimits){.max_width = 100, .max_pixels = 5000, .max_bytes = 9000});
    cr_assert_eq(limits.max_height, 1000000);
    cr_assert_eq(limits_check(&limits, "f", 100, 50, 1, 1, &err), IMGSTAT_OK);
    cr_assert_eq(limits_check(&limits, "f", 101, 1, 1, 1, &err), IMGSTAT_ERR_LIMIT);
    cr_assert_eq(limits_check(&limits, "f", 1, 1000001, 1, 1, &err), IMGSTAT_ERR_LIMIT);
    cr_assert_eq(limits_check(&limits, "f", 100, 51, 1, 1, &err), IMGSTAT_ERR_LIMIT);
    cr_assert_eq(limits_check(&limits, "f", 100, 50, 2, 1, &err), IMGSTAT_ERR_LIMIT);
    cr_assert_eq(limits_check(&limits, "f", 100, 50, UINT64_MAX, 8, &err), IMGSTAT_ERR_LIMIT,
                 "no overflow");
    cr_assert_eq(limits_check(&limits, "f", 0, 50, 1, 1, &err), IMGSTAT_ERR_FORMAT);
    cr_assert_eq(strncmp(err.message, "f: ", 3), 0);
}

Test(warnings, each_sentence_once)
{
    DecodeHeard heard = {0};
    Warnings warnings = {.warn = decode_hear, .context = &heard, .name = "a\nb.tif"};
    warnings_report(&warnings, "row %d", 1);
    warnings_report(&warnings, "row %d", 1);
    cr_assert_eq(heard.n, 1);
    cr_assert_not_null(strstr(heard.last, ": row 1"));
    cr_assert_null(strchr(heard.last, '\n'), "control characters are masked");
    warnings_report(&warnings, "row %d", 2);
    cr_assert_eq(heard.n, 2);
    for (int i = 0; i < 1000; i++)
        warnings_report(&warnings, "row %d", i);
    cr_assert_leq(heard.n, 40, "a damaged file does not flood");
    warnings_release(&warnings);
}

Test(file, arguments_are_checked)
{
    char path[] = "/tmp/imgstat-test-XXXXXX";
    const int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    write_file(path, tiny_png, sizeof tiny_png);
    ImgstatFile *file = NULL;
    ImgstatError err;
    ImagePro image;
    cr_assert_eq(imgstat_file_open(path, NULL, &file, &err), IMGSTAT_OK);
    cr_assert_eq(imgstat_file_pages(file), 1);
    cr_assert_eq(imgstat_image_create(2, 1, 1, IMGSTAT_U8, 8, &image, &err), IMGSTAT_OK);
    cr_assert_eq(imgstat_file_read(file, &image, &err), IMGSTAT_ERR_ARG, "no page is selected");
    cr_assert_eq(imgstat_file_page(file, 1, NULL, &err), IMGSTAT_ERR_ARG, "no such page");
    cr_assert_eq(imgstat_file_page(file, 0, NULL, &err), IMGSTAT_OK);
    cr_assert_eq(imgstat_file_read(file, &image, &err), IMGSTAT_ERR_ARG, "not made for the page");
    cr_assert_str_eq(imgstat_file_channel(file, 0), "gray");
    cr_assert_str_eq(imgstat_file_channel(file, 7), "");
    imgstat_image_release(&image);
    imgstat_file_close(file);
    imgstat_file_close(NULL);
    close(fd);
    unlink(path);
}
