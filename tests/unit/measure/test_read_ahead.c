/* SPDX-License-Identifier: MIT */
/* test_read_ahead.c: bands of a page that is decoded on the side: what they hold, how long, and how
 * it ends. */
#include "measure/read_ahead.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

/* A decoder of bytes that tell their row; fails from a row on. */
typedef struct Made {
    Decoder base;
    uint32_t bad_row;
    uint32_t warned_rows; /* of the page: each is warned of */
    long pause_ns;
} Made;

static unsigned char value_of(uint32_t row)
{
    return (unsigned char)(row * 7 % 251);
}

static ImgstatResult read_rows(Decoder *decoder, void *to, size_t pitch, uint32_t rows,
                               ImgstatError *err)
{
    const Made *const made = (const Made *)decoder;
    const Warnings *const warnings = &decoder->warnings;
    const struct timespec pause = {.tv_nsec = made->pause_ns};
    nanosleep(&pause, NULL);
    for (uint32_t y = 0; y < rows; y++) {
        if (decoder->next_row + y == made->bad_row)
            return error_set(err, IMGSTAT_ERR_TRUNCATED, "row %u is missing", made->bad_row);
        memset((unsigned char *)to + y * pitch, value_of(decoder->next_row + y), pitch);
        char sentence[32];
        snprintf(sentence, sizeof sentence, "row %u", decoder->next_row + y);
        if (decoder->next_row + y < made->warned_rows)
            warnings->warn(warnings->context, sentence);
    }
    return IMGSTAT_OK;
}

static const Codec codec = {.name = "made", .read_rows = read_rows};
static const Source source = {.name = "made", .fd = -1};

enum { WIDTH = 5 };

static size_t bytes_compared;

static bool holds(const ImagePro *band)
{
    for (uint32_t y = 0; y < band->height; y++)
        for (uint32_t x = 0; x < WIDTH; x++, bytes_compared++)
            if (image_row(band, y)[x] != value_of(band->first_row + y))
                return false;
    return true;
}

static void check(uint32_t height, uint32_t rows, uint32_t slots, bool threaded, long decode_ns,
                  long use_ns)
{
    Made made = {.base = {.codec = &codec, .source = &source, .page = {.height = height}},
                 .bad_row = UINT32_MAX,
                 .pause_ns = decode_ns};
    const struct timespec pause = {.tv_nsec = use_ns};
    const uint32_t held = slots * rows < height ? slots * rows : height;
    ImagePro buffer, band;
    ReadAhead *ahead = NULL;
    cr_assert_eq(imgstat_image_create(WIDTH, held, 1, IMGSTAT_U8, 8, &buffer, NULL), IMGSTAT_OK);
    cr_assert_eq(read_ahead_start(&made.base, &buffer, 0, made.base.page.height, rows, threaded,
                                  &ahead, NULL),
                 IMGSTAT_OK);
    for (uint32_t row = 0; row < height; row += rows) {
        cr_assert_eq(read_ahead_next(ahead, &band, NULL), IMGSTAT_OK);
        cr_assert_eq(band.first_row, row);
        cr_assert_eq(band.height, height - row < rows ? height - row : rows);
        nanosleep(&pause, NULL); /* time enough to spoil a band that is in use */
        cr_assert(holds(&band), "%u rows by %u, %u slots, row %u", height, rows, slots, row);
    }
    read_ahead_stop(ahead);
    if (held == height) {
        buffer.first_row = 0;
        cr_assert(holds(&buffer), "a buffer of the page keeps all of it");
    }
    imgstat_image_release(&buffer);
}

Test(read_ahead, bands)
{
    bytes_compared = 0;
    for (uint32_t slots = 1; slots <= 4; slots++) {
        for (int threaded = 0; threaded < 2; threaded++) {
            check(1, 1, slots, threaded, 0, 0);
            check(64, 64, slots, threaded, 0, 0);
            check(64, 63, slots, threaded, 0, 100000);
            check(1000, 7, slots, threaded, 0, 0);
            check(60, 3, slots, threaded, 200000, 0);
            check(60, 3, slots, threaded, 0, 200000);
        }
    }
    cr_assert(bytes_compared > 40000, "%zu bytes compared", bytes_compared);
}

Test(read_ahead, comparison_can_fail)
{
    unsigned char pixels[WIDTH] = {0};
    const ImagePro band = {.host = pixels, .pitch = WIDTH, .width = WIDTH, .height = 1};
    cr_assert(holds(&band));
    pixels[3] = 1;
    cr_assert(!holds(&band));
}

/* The bands before the bad one are given; its error comes in its place. */
Test(read_ahead, error_in_its_place)
{
    for (int threaded = 0; threaded < 2; threaded++) {
        for (uint32_t bad = 0; bad < 5; bad++) {
            Made made = {.base = {.codec = &codec, .source = &source, .page = {.height = 50}},
                         .bad_row = 10 * bad + 3};
            ImagePro buffer, band;
            ReadAhead *ahead = NULL;
            ImgstatError err = {0};
            cr_assert_eq(imgstat_image_create(WIDTH, 20, 1, IMGSTAT_U8, 8, &buffer, NULL),
                         IMGSTAT_OK);
            cr_assert_eq(read_ahead_start(&made.base, &buffer, 0, made.base.page.height, 10,
                                          threaded, &ahead, &err),
                         IMGSTAT_OK);
            for (uint32_t k = 0; k < bad; k++)
                cr_assert(read_ahead_next(ahead, &band, &err) == IMGSTAT_OK && holds(&band));
            cr_assert_eq(read_ahead_next(ahead, &band, &err), IMGSTAT_ERR_TRUNCATED);
            char expected[32];
            snprintf(expected, sizeof expected, "row %u is missing", made.bad_row);
            cr_assert_str_eq(err.message, expected);
            read_ahead_stop(ahead);
            imgstat_image_release(&buffer);
        }
    }
}

Test(read_ahead, stopped_early)
{
    for (uint32_t taken = 0; taken < 4; taken++) {
        Made made = {.base = {.codec = &codec, .source = &source, .page = {.height = 400}},
                     .bad_row = UINT32_MAX};
        ImagePro buffer, band;
        ReadAhead *ahead = NULL;
        cr_assert_eq(imgstat_image_create(WIDTH, 20, 1, IMGSTAT_U8, 8, &buffer, NULL), IMGSTAT_OK);
        cr_assert_eq(
            read_ahead_start(&made.base, &buffer, 0, made.base.page.height, 10, true, &ahead, NULL),
            IMGSTAT_OK);
        for (uint32_t k = 0; k < taken; k++)
            cr_assert_eq(read_ahead_next(ahead, &band, NULL), IMGSTAT_OK);
        read_ahead_stop(ahead);
        imgstat_image_release(&buffer);
    }
    read_ahead_stop(NULL);
}

typedef struct Heard {
    pthread_t caller;
    uint32_t sentences;
} Heard;

static void hear(void *context, const char *sentence)
{
    Heard *const heard = context;
    char expected[32];
    snprintf(expected, sizeof expected, "row %u", heard->sentences++);
    cr_assert_str_eq(sentence, expected);
    cr_assert(pthread_equal(pthread_self(), heard->caller));
}

/* Each once, in order, to the caller's thread, those of bands that nobody takes as well. */
Test(read_ahead, warnings)
{
    for (uint32_t taken = 0; taken <= 5; taken++) {
        for (int threaded = 0; threaded < 2; threaded++) {
            Heard heard = {.caller = pthread_self()};
            Made made = {.base = {.codec = &codec,
                                  .source = &source,
                                  .page = {.height = 50},
                                  .warnings = {.warn = hear, .context = &heard}},
                         .bad_row = UINT32_MAX,
                         .warned_rows = 43};
            ImagePro buffer, band;
            ReadAhead *ahead = NULL;
            cr_assert_eq(imgstat_image_create(WIDTH, 20, 1, IMGSTAT_U8, 8, &buffer, NULL),
                         IMGSTAT_OK);
            cr_assert_eq(read_ahead_start(&made.base, &buffer, 0, made.base.page.height, 10,
                                          threaded, &ahead, NULL),
                         IMGSTAT_OK);
            for (uint32_t k = 0; k < taken; k++)
                cr_assert_eq(read_ahead_next(ahead, &band, NULL), IMGSTAT_OK);
            const uint32_t known = 10 * taken < 43 ? 10 * taken : 43;
            cr_assert(heard.sentences >= known);
            read_ahead_stop(ahead);
            cr_assert_eq(heard.sentences, made.base.next_row < 43 ? made.base.next_row : 43);
            cr_assert(made.base.warnings.warn == hear && made.base.warnings.context == &heard);
            imgstat_image_release(&buffer);
        }
    }
}
