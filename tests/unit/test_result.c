/* SPDX-License-Identifier: MIT */
/* test_result.c: messages are safe to print, whatever names are in them. */
#include "result.h"

#include <criterion/criterion.h>
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
    cr_assert_str_eq(masked(&err, "cut \xE2\x82"), "cut \xEF\xBF\xBD\xEF\xBF\xBD");
}

Test(result, cuts_between_characters)
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
        const size_t length = strlen(masked(&err, name));
        cr_assert_eq(length, lead + (1023 - lead) / 4 * 4);
        cr_assert_eq(memcmp(err.message, name, length), 0);
    }
    /* The longest message that one byte each gives, of characters that shrink to one byte. */
    char separators[6001];
    for (size_t i = 0; i < 6000; i += 3)
        memcpy(separators + i, "\xE2\x80\xA8", 3);
    separators[6000] = '\0';
    const char *const message = masked(&err, separators);
    cr_assert_eq(strlen(message), 1023);
    cr_assert_eq(strspn(message, "?"), 1023);
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
    cr_assert_eq(error_name(&err, IMGSTAT_ERR_LIMIT, "a\nb"), IMGSTAT_ERR_LIMIT);
    cr_assert_str_eq(err.message, "a?b: too much");
    cr_assert_eq(error_name(&err, IMGSTAT_ERR_LIMIT, "a\nb"), IMGSTAT_ERR_LIMIT);
    cr_assert_str_eq(err.message, "a?b: too much");
    cr_assert_eq(err.code, IMGSTAT_ERR_LIMIT);
    cr_assert_eq(error_name(&err, IMGSTAT_OK, "c"), IMGSTAT_OK);
    cr_assert_str_eq(err.message, "a?b: too much");
    cr_assert_eq(error_name(NULL, IMGSTAT_ERR_IO, "c"), IMGSTAT_ERR_IO);
}
