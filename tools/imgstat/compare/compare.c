/* SPDX-License-Identifier: MIT */
/* compare.c: distances of distributions, and differences of samples. */
#include "compare/compare.h"
#include "text/text.h"

#include <math.h>
#include <string.h>

/* ---- Distributions ----------------------------------------------------------------------------
 */

typedef unsigned __int128 Product; /* of two numbers of samples */

/* Samples with the value v. */
static uint64_t count_of(const ImgstatHistogram *h, double v)
{
    const double k = v - h->lo;
    return k >= 0 && k < h->bins ? h->counts[(size_t)k] : 0;
}

/* Of integers of at most 16 bits: over all values, in parts of n_a n_b, so that nothing is rounded
 * before the end. */
static Apart by_values(const ImgstatHistogram *a, const ImgstatHistogram *b, uint64_t n_a,
                       uint64_t n_b)
{
    const Product whole = (Product)n_a * n_b; /* below 2^126 */
    Product part = 0, most = 0;
    uint64_t below_a = 0, below_b = 0, wholes = 0;
    const double hi = fmax(a->lo + a->bins, b->lo + b->bins);
    for (double v = fmin(a->lo, b->lo); v < hi; v++) {
        below_a += count_of(a, v);
        below_b += count_of(b, v);
        const Product x = (Product)below_a * n_b, y = (Product)below_b * n_a;
        const Product difference = x > y ? x - y : y - x;
        most = difference > most ? difference : most;
        part += difference;
        wholes += part >= whole;
        part -= part >= whole ? whole : 0;
    }
    return (Apart){.distance = (double)wholes + (double)part / (double)whole,
                   .share = (double)most / (double)whole};
}

double compare_percentile(const ImgstatRecord *record, uint16_t channel, size_t k)
{
    double lo, hi;
    if (imgstat_record_bounds(record, channel, k, &lo, &hi))
        return lo + (hi - lo) / 2;
    return imgstat_record_percentile(record, channel, k);
}

static Apart by_percentiles(const Compared *a, const Compared *b, uint16_t channel)
{
    Apart apart = {.share = (double)NAN};
    for (size_t k = 0; k < COMPARE_QUANTILES; k++)
        apart.distance += fabs(compare_percentile(a->record, channel, k) -
                               compare_percentile(b->record, channel, k)) /
                          COMPARE_QUANTILES;
    return apart;
}

Apart compare_distributions(const Compared *a, const Compared *b, uint16_t channel)
{
    ImgstatStats stats_a, stats_b;
    ImgstatHistogram of_a, of_b;
    imgstat_record_stats(a->record, channel, &stats_a);
    imgstat_record_stats(b->record, channel, &stats_b);
    if (a->kind.sample != b->kind.sample || stats_a.count == 0 || stats_b.count == 0)
        return (Apart){(double)NAN, (double)NAN};
    if (imgstat_record_histogram(a->record, channel, &of_a) && of_a.per_value &&
        imgstat_record_histogram(b->record, channel, &of_b) && of_b.per_value)
        return by_values(&of_a, &of_b, stats_a.count, stats_b.count);
    return by_percentiles(a, b, channel);
}

/* ---- Samples -----------------------------------------------------------------------------------
 */

enum { ROWS = 64 };

bool compare_is_alike(const Compared *a, const Compared *b)
{
    return a->file != NULL && b->file != NULL && a->page.width == b->page.width &&
           a->page.height == b->page.height && a->page.channels == b->page.channels &&
           a->page.sample == b->page.sample;
}

static double half_of(uint64_t raw)
{
    const int exponent = raw >> 10 & 31, fraction = raw & 1023;
    const double sign = raw >> 15 ? -1 : 1;
    if (exponent == 31)
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent != 0 ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

/* The low bits of a sample, little-endian or not. */
static uint64_t raw_of(const unsigned char *at, size_t bytes)
{
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (bytes) {
    case 1:
        memcpy(&one, at, sizeof one);
        return one;
    case 2:
        memcpy(&two, at, sizeof two);
        return two;
    case 4:
        memcpy(&four, at, sizeof four);
        return four;
    default:
        memcpy(&eight, at, sizeof eight);
        return eight;
    }
}

static double float_of(ImgstatSample sample, uint64_t raw)
{
    const uint32_t low = (uint32_t)raw;
    float single;
    double value;
    if (sample == IMGSTAT_F16)
        return half_of(raw);
    if (sample == IMGSTAT_F64) {
        memcpy(&value, &raw, sizeof value);
        return value;
    }
    memcpy(&single, &low, sizeof single);
    return (double)single;
}

/* The absolute difference of two floats. */
static double float_apart(ImgstatSample sample, uint64_t a, uint64_t b)
{
    const double x = float_of(sample, a), y = float_of(sample, b);
    return isnan(x) && isnan(y) ? 0 : fabs(x - y);
}

/* The absolute difference of two integers, exact. */
static uint64_t integer_apart(ImgstatSample sample, size_t bytes, uint64_t a, uint64_t b)
{
    const bool is_signed = sample == IMGSTAT_I8 || sample == IMGSTAT_I16 || sample == IMGSTAT_I32 ||
                           sample == IMGSTAT_I64;
    const uint64_t sign = is_signed ? (uint64_t)1 << (8 * bytes - 1) : 0;
    const uint64_t x = a ^ sign, y = b ^ sign; /* in the order of the values */
    return x > y ? x - y : y - x;
}

/* Sums of absolute differences and of their squares; and of those above 2^400, divided by 2^600.
 * Such squares never overflow, and what they lose is far below a plain sum that does. */
typedef struct Sums {
    double apart, square;
    double small_apart, small_square;
} Sums;

static void sums_add(Sums *sums, double apart)
{
    sums->apart += apart;
    sums->square += apart * apart;
    if (apart > 0x1p400) {
        const double small = apart * 0x1p-600;
        sums->small_apart += small;
        sums->small_square += small * small;
    }
}

static double sums_mean(const Sums *sums, double n)
{
    return isfinite(sums->apart) ? sums->apart / n : ldexp(sums->small_apart / n, 600);
}

static double sums_rms(const Sums *sums, double n)
{
    return isfinite(sums->square) ? sqrt(sums->square / n)
                                  : ldexp(sqrt(sums->small_square / n), 600);
}

static void compare_rows(const ImagePro *a, const ImagePro *b, Sums *sums, SampleDifference *sum)
{
    const size_t bytes = imgstat_sample_bytes(a->sample), n = (size_t)a->width * a->channels;
    const bool is_float = text_is_float(a->sample);
    for (uint32_t y = 0; y < a->height; y++) {
        const unsigned char *const of_a = (const unsigned char *)a->host + y * a->pitch;
        const unsigned char *const of_b = (const unsigned char *)b->host + y * b->pitch;
        sum->samples += n;
        for (size_t i = 0; i < n; i++) {
            const uint64_t raw_a = raw_of(of_a + i * bytes, bytes);
            const uint64_t raw_b = raw_of(of_b + i * bytes, bytes);
            const uint64_t whole = is_float ? 0 : integer_apart(a->sample, bytes, raw_a, raw_b);
            const double apart =
                is_float && raw_a != raw_b ? float_apart(a->sample, raw_a, raw_b) : (double)whole;
            sum->different += raw_a != raw_b && apart != 0;
            if (!isfinite(apart))
                continue;
            sum->finite++;
            sums_add(sums, apart);
            if (whole > sum->largest_integer || apart > sum->largest) {
                sum->largest = apart;
                sum->largest_integer = whole;
                sum->x = (uint32_t)(i / a->channels);
                sum->y = a->first_row + y;
                sum->channel = (uint16_t)(i % a->channels);
            }
        }
    }
}

/* Reads the next rows of a page. */
static ImgstatResult read_rows(const Compared *from, ImagePro *rows, uint32_t first, uint32_t n,
                               ImgstatError *err)
{
    rows->height = n;
    rows->first_row = first;
    return imgstat_file_read(from->file, rows, err);
}

ImgstatResult compare_samples(const Compared *a, const Compared *b, SampleDifference *out,
                              ImgstatError *err)
{
    const ImgstatPage *const page = &a->page;
    const uint32_t rows = page->height < ROWS ? page->height : ROWS;
    ImagePro of_a = {0}, of_b = {0};
    Sums sums = {0};
    *out = (SampleDifference){0};
    ImgstatResult result =
        imgstat_image_create(page->width, rows, page->channels, page->sample, 0, &of_a, err);
    if (result == IMGSTAT_OK)
        result =
            imgstat_image_create(page->width, rows, page->channels, page->sample, 0, &of_b, err);
    for (uint32_t y = 0; result == IMGSTAT_OK && y < page->height; y += rows) {
        const uint32_t n = page->height - y < rows ? page->height - y : rows;
        result = read_rows(a, &of_a, y, n, err);
        if (result == IMGSTAT_OK)
            result = read_rows(b, &of_b, y, n, err);
        if (result == IMGSTAT_OK)
            compare_rows(&of_a, &of_b, &sums, out);
    }
    imgstat_image_release(&of_a);
    imgstat_image_release(&of_b);
    out->mean = out->finite > 0 ? sums_mean(&sums, (double)out->finite) : (double)NAN;
    out->rms = out->finite > 0 ? sums_rms(&sums, (double)out->finite) : (double)NAN;
    return result;
}
