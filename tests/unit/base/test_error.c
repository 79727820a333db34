/* SPDX-License-Identifier: MIT */
/* test_error.c: messages are safe to print, whatever names are in them. */
#include "base/error.h"
#include "base/utf8.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char *masked(ImgstatError *err, const char *name)
{
    cr_assert_eq(error_set(err, IMGSTAT_ERR_IO, "%s", name), IMGSTAT_ERR_IO);
    cr_assert_eq(err->code, IMGSTAT_ERR_IO);
    return err->message;
}

Test(result, masks_controls)
{
    ImgstatError err;
    cr_assert_str_eq(masked(&err, "plain.tif"), "plain.tif");
    cr_assert_str_eq(masked(&err, "a\nb\tc\x1b[31m\x7f"), "a?b?c?[31m?");
    cr_assert_str_eq(masked(&err, "\xC2\x9B"
                                  "31m"),
                     "?31m"); /* C1: CSI */
    cr_assert_str_eq(masked(&err, "gpj.\xE2\x80\xAE"
                                  "fit"),
                     "gpj.?fit");                        /* right to left override */
    cr_assert_str_eq(masked(&err, "\xE2\x80\xA8"), "?"); /* line separator */
}

Test(result, replaces_what_is_not_utf8)
{
    ImgstatError err;
    cr_assert_str_eq(masked(&err, "\xC3\xBC \xE2\x82\xAC \xF0\x9F\x98\x80"),
                     "\xC3\xBC \xE2\x82\xAC \xF0\x9F\x98\x80");
    cr_assert_str_eq(masked(&err, "a\xFFz"), "a\xEF\xBF\xBDz");
    cr_assert_str_eq(masked(&err, "\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD"); /* overlong */
    cr_assert_str_eq(masked(&err, "\xE0\x80\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    cr_assert_str_eq(masked(&err, "\xED\xA0\x80"),
                     "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"); /* surrogate */
    cr_assert_str_eq(masked(&err, "\xF4\x90\x80\x80"),
                     "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    cr_assert_str_eq(masked(&err, "cut \xE2\x82"), "cut \xEF\xBF\xBD");
}

/* The message was cut at its end, and a file with a long name lost the cause. */
Test(result, leaves_out_the_middle_between_characters)
{
    ImgstatError err;
    for (size_t lead = 0; lead < 4; lead++) {
        char name[6000];
        size_t n = lead;
        memset(name, 'x', lead);
        while (n + 4 < sizeof name) {
            memcpy(name + n, "\xF0\x9F\x98\x80", 4);
            n += 4;
        }
        name[n] = '\0';
        (void)!error_file(&err, IMGSTAT_ERR_IO, name, "cause");
        const size_t head = lead + (509 - lead) / 4 * 4, tail = (511 - 7) / 4 * 4;
        cr_assert_eq(strlen(err.message), head + 3 + tail + 7);
        cr_assert_eq(memcmp(err.message, name, head), 0);
        cr_assert_eq(memcmp(err.message + head, "\xE2\x80\xA6", 3), 0);
        cr_assert_eq(memcmp(err.message + head + 3, name + n - tail, tail), 0);
        cr_assert_str_eq(err.message + head + 3 + tail, ": cause");
        cr_assert(utf8_is_valid(err.message));
    }
}

Test(result, leaves_out_no_more_than_must_be)
{
    ImgstatError err;
    char text[6001];
    memset(text, 'x', 1025);
    text[1023] = '\0';
    cr_assert_str_eq(masked(&err, text), text);
    text[1023] = 'x';
    text[1024] = '\0';
    cr_assert_eq(strlen(masked(&err, text)), 1023);
    cr_assert_eq(strspn(err.message, "x"), 509);
    cr_assert_eq(memcmp(err.message + 509, "\xE2\x80\xA6", 3), 0);
    cr_assert_eq(strspn(err.message + 512, "x"), 511);
    /* Characters that shrink to a byte, or grow to three, count as what they become. */
    for (size_t i = 0; i < 3069; i += 3)
        memcpy(text + i, "\xE2\x80\xA8", 3);
    text[3069] = '\0';
    cr_assert_eq(strlen(masked(&err, text)), 1023);
    cr_assert_eq(strspn(err.message, "?"), 1023);
    memset(text, 0xFF, 342);
    text[342] = '\0';
    cr_assert_eq(strlen(masked(&err, text)), 169 * 3 + 3 + 170 * 3);
}

Test(result, codes)
{
    cr_assert_eq(error_set(NULL, IMGSTAT_ERR_ARG, "nobody listens"), IMGSTAT_ERR_ARG);
    ImgstatError err;
    cr_assert_eq(error_memory(&err, 123, "pixels"), IMGSTAT_ERR_MEMORY);
    cr_assert_str_eq(err.message, "out of memory for 123 bytes of pixels");
    cr_assert_str_eq(imgstat_result_name(IMGSTAT_ERR_TRUNCATED), "truncated");
    cr_assert_str_eq(imgstat_result_name(IMGSTAT_ERR_LIMIT), "limit");
    cr_assert_str_eq(imgstat_result_name((ImgstatResult)99), "unknown");
}

/* A name with controls was said twice: "a?b: a?b: damaged". */
Test(result, names_come_once)
{
    ImgstatError err;
    (void)!error_set(&err, IMGSTAT_ERR_LIMIT, "too much");
    cr_assert_eq(error_add_file(&err, IMGSTAT_ERR_LIMIT, "a\nb"), IMGSTAT_ERR_LIMIT);
    cr_assert_str_eq(err.message, "a?b: too much");
    cr_assert_eq(error_add_file(&err, IMGSTAT_ERR_LIMIT, "a\nb"), IMGSTAT_ERR_LIMIT);
    cr_assert_str_eq(err.message, "a?b: too much");
    cr_assert_eq(err.code, IMGSTAT_ERR_LIMIT);
    cr_assert_eq(error_add_file(&err, IMGSTAT_OK, "c"), IMGSTAT_OK);
    cr_assert_str_eq(err.message, "a?b: too much");
    cr_assert_eq(error_add_file(NULL, IMGSTAT_ERR_IO, "c"), IMGSTAT_ERR_IO);
}

Test(result, long_names_come_once)
{
    ImgstatError err, again;
    for (size_t n = 400; n <= 1400; n += 100) {
        char name[1500];
        for (size_t i = 0; i < n; i++)
            name[i] = (char)('a' + i % 23);
        name[n] = '\0';
        (void)!error_file(&err, IMGSTAT_ERR_LIMIT, name, "%0700d", 1);
        cr_assert_gt(err.file_bytes, 0);
        cr_assert_lt(err.file_bytes, strlen(err.message));
        again = err;
        cr_assert_eq(error_add_file(&again, IMGSTAT_ERR_LIMIT, name), IMGSTAT_ERR_LIMIT);
        cr_assert_str_eq(again.message, err.message);
        cr_assert_eq(error_add_page(&again, IMGSTAT_ERR_LIMIT, 7, "7"), IMGSTAT_ERR_LIMIT);
        cr_assert_gt(again.file_bytes, 0);
        cr_assert(utf8_is_valid(again.message));
    }
}

/* A name, and what it is in a message. */
static void check_file_and_page(const char *name, const char *shown)
{
    ImgstatError err;
    char expected[1200];
    (void)!error_file(&err, IMGSTAT_ERR_FORMAT, name, "damaged");
    cr_assert_eq(err.file_bytes, strlen(shown));
    cr_assert_not(err.has_page);
    cr_assert_eq(error_add_page(&err, IMGSTAT_ERR_FORMAT, 3, "3"), IMGSTAT_ERR_FORMAT);
    snprintf(expected, sizeof expected, "%s: page 3: damaged", shown);
    cr_assert_str_eq(err.message, expected);
    cr_assert_eq(err.file_bytes, strlen(shown));
    cr_assert(err.has_page);
    cr_assert_eq(err.page, 3);
    cr_assert_eq(error_add_page(&err, IMGSTAT_ERR_FORMAT, 4, "4"), IMGSTAT_ERR_FORMAT);
    cr_assert_str_eq(err.message, expected);
}

Test(result, file_and_page_are_fields)
{
    ImgstatError err;
    check_file_and_page("a.tif", "a.tif");
    check_file_and_page("page 3", "page 3");
    check_file_and_page("a: b\n", "a: b?");
    check_file_and_page("\xFF.tif", "\xEF\xBF\xBD.tif");
    (void)!error_set(&err, IMGSTAT_ERR_LIMIT, "too much");
    cr_assert_eq(err.file_bytes, 0);
    cr_assert_eq(error_add_page(&err, IMGSTAT_ERR_LIMIT, 1, "1"), IMGSTAT_ERR_LIMIT);
    cr_assert_str_eq(err.message, "too much");
    cr_assert_eq(error_add_page(NULL, IMGSTAT_ERR_LIMIT, 1, "1"), IMGSTAT_ERR_LIMIT);
}
