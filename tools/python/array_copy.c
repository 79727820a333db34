/* SPDX-License-Identifier: MIT */
/* array_copy.c: copies in squares, so that both sides stay in the cache whatever their order. */
#include "array_copy.h"

#include <string.h>

enum { SQUARE = 64 }; /* 64 rows of 64 samples of 8 bytes: 32 KiB on the worse side */

/* Where the samples of one channel of a square lie. */
static SamplePlaces moved(SamplePlaces places, size_t row, size_t pixel, size_t channel)
{
    places.first += (int64_t)row * places.row + (int64_t)pixel * places.pixel +
                    (int64_t)channel * places.channel;
    return places;
}

static void copy_sample(unsigned char *to, const unsigned char *from, size_t bytes, bool swap)
{
    uint64_t value = 0;
    memcpy(&value, from, bytes);
    if (swap)
        value = __builtin_bswap64(value) >> (64 - 8 * bytes);
    memcpy(to, &value, bytes);
}

/* `bytes` and `swap` are constants where this is called. */
static inline __attribute__((always_inline)) void
copy_square(SamplePlaces to, SamplePlaces from, size_t rows, size_t pixels, size_t bytes, bool swap)
{
    for (size_t y = 0; y < rows; y++) {
        unsigned char *t = to.first + (int64_t)y * to.row;
        const unsigned char *f = from.first + (int64_t)y * from.row;
        for (size_t x = 0; x < pixels; x++, t += to.pixel, f += from.pixel)
            copy_sample(t, f, bytes, swap);
    }
}

static void copy_square_of(SamplePlaces to, SamplePlaces from, size_t rows, size_t pixels,
                           size_t bytes, bool swap)
{
    switch (bytes) {
    case 1:
        copy_square(to, from, rows, pixels, 1, false);
        return;
    case 2:
        swap ? copy_square(to, from, rows, pixels, 2, true)
             : copy_square(to, from, rows, pixels, 2, false);
        return;
    case 4:
        swap ? copy_square(to, from, rows, pixels, 4, true)
             : copy_square(to, from, rows, pixels, 4, false);
        return;
    default:
        swap ? copy_square(to, from, rows, pixels, 8, true)
             : copy_square(to, from, rows, pixels, 8, false);
    }
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool rows_dense(const SamplePlaces *places, const SampleCounts *counts)
{
    return (counts->channels == 1 || places->channel == (int64_t)counts->bytes) &&
           places->pixel == (int64_t)(counts->channels * counts->bytes);
}

/* Copies rows that are one piece of memory on both sides. */
static void copy_rows(SamplePlaces to, SamplePlaces from, size_t rows, size_t bytes)
{
    for (size_t y = 0; y < rows; y++)
        memcpy(to.first + (int64_t)y * to.row, from.first + (int64_t)y * from.row, bytes);
}

ImgstatResult samples_copy(SamplePlaces to, SamplePlaces from, SampleCounts counts, bool swap,
                           Work *work, ImgstatError *err)
{
    swap = swap && counts.bytes > 1;
    const bool dense = !swap && rows_dense(&to, &counts) && rows_dense(&from, &counts);
    const size_t side = dense ? counts.pixels : SQUARE;
    for (size_t y = 0; y < counts.rows; y += SQUARE)
        for (size_t x = 0; x < counts.pixels; x += side) {
            const size_t rows = smaller(counts.rows - y, SQUARE);
            if (work && work_cancelled(work)) {
                *err = (ImgstatError){.code = IMGSTAT_ERR_CANCELLED, .message = "interrupted"};
                return err->code;
            }
            if (dense)
                copy_rows(moved(to, y, 0, 0), moved(from, y, 0, 0), rows,
                          counts.pixels * counts.channels * counts.bytes);
            for (size_t c = 0; c < counts.channels && !dense; c++)
                copy_square_of(moved(to, y, x, c), moved(from, y, x, c), rows,
                               smaller(counts.pixels - x, SQUARE), counts.bytes, swap);
        }
    return IMGSTAT_OK;
}
