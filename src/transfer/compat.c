/* SPDX-License-Identifier: MIT */
/* compat.c: other programs' equalization and percentile stretch, rounding included. */
#include "transfer/compat.h"

#include "base/error.h"
#include "transfer/ratio.h"
#include "transfer/transfer.h"

#include <stdio.h>
#include <stdlib.h>

/* Programs with a formula for each kind of transform. */
static const char *const like_names[] = {
    [IMGSTAT_LIKE_IMGSTAT] = "imgstat", [IMGSTAT_LIKE_OPENCV] = "opencv",
    [IMGSTAT_LIKE_SKIMAGE] = "skimage", [IMGSTAT_LIKE_IMAGEMAGICK] = "imagemagick",
    [IMGSTAT_LIKE_IMAGEJ] = "imagej",   [IMGSTAT_LIKE_IMAGEJ_CLASSIC] = "imagej",
    [IMGSTAT_LIKE_PILLOW] = "pillow",   [IMGSTAT_LIKE_VIPS] = "vips",
};

static bool has_formula(ImgstatTransform transform, ImgstatLike like)
{
    switch (transform) {
    case IMGSTAT_EQUALIZE:
        return true;
    case IMGSTAT_STRETCH:
    case IMGSTAT_PERCENTILE:
        return like != IMGSTAT_LIKE_OPENCV && like != IMGSTAT_LIKE_VIPS;
    case IMGSTAT_CLAHE:
        return like == IMGSTAT_LIKE_OPENCV || like == IMGSTAT_LIKE_SKIMAGE;
    default:
        return false;
    }
}

/* Writes "equalize, clahe": the methods that a program has a formula for. */
static void list_methods(ImgstatLike like, char *to, size_t room)
{
    size_t n = 0;
    to[0] = '\0';
    for (int i = 0; i <= IMGSTAT_CLAHE && n < room; i++)
        if (has_formula((ImgstatTransform)i, like))
            n += (size_t)snprintf(to + n, room - n, "%s%s", n > 0 ? ", " : "",
                                  transfer_transform_names[i]);
}

ImgstatResult compat_check(const ImgstatMethod *method, ImgstatError *err)
{
    const ImgstatLike like = method->like;
    char methods[96];
    if (like == IMGSTAT_LIKE_IMGSTAT)
        return IMGSTAT_OK;
    if ((unsigned)like > IMGSTAT_LIKE_VIPS)
        return error_set(err, IMGSTAT_ERR_ARG, "unknown program to be like");
    list_methods(like, methods, sizeof methods);
    if (!has_formula(method->transform, like))
        return error_set(err, IMGSTAT_ERR_ARG,
                         "%s has no formula of its own for %s; it has those for %s",
                         like_names[like], transfer_transform_names[method->transform], methods);
    if (method->has_range || method->has_in_range)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the formula of %s keeps the full scale: it takes no range",
                         like_names[like]);
    return IMGSTAT_OK;
}

ImgstatResult compat_check_samples(const ImgstatMethod *method, ImgstatSample sample,
                                   ImgstatSample to, ImgstatError *err)
{
    const ImgstatLike like = method->like;
    if (like == IMGSTAT_LIKE_IMGSTAT)
        return IMGSTAT_OK;
    /* Pillow, and equalizeHist of OpenCV, refuse 16-bit images. */
    const bool only8 = like == IMGSTAT_LIKE_PILLOW ||
                       (like == IMGSTAT_LIKE_OPENCV && method->transform == IMGSTAT_EQUALIZE);
    if (sample != IMGSTAT_U8 && (sample != IMGSTAT_U16 || only8))
        return error_set(
            err, IMGSTAT_ERR_UNSUPPORTED,
            "the formula of %s is defined for unsigned samples of 8%s bits, not for %s",
            like_names[like], only8 ? "" : " or 16", imgstat_sample_name(sample));
    if (to != sample)
        return error_set(err, IMGSTAT_ERR_ARG, "the formula of %s keeps the sample type",
                         like_names[like]);
    return IMGSTAT_OK;
}

/* ---- Counts -------------------------------------------------------------------------------- */

static uint64_t count_of(const uint64_t *cdf, uint32_t key)
{
    return key ? cdf[key] - cdf[key - 1] : cdf[0];
}

static uint32_t clamp_key(double x, uint32_t top)
{
    return !(x > 0.0) ? 0 : x >= (double)top ? top : (uint32_t)x;
}

static void identity(uint32_t bins, uint32_t *table)
{
    for (uint32_t key = 0; key < bins; key++)
        table[key] = key;
}

/* ---- Equalization -------------------------------------------------------------------------- */

/* equalizeHist of OpenCV: single precision, then the nearest integer, half to even. */
static void equalize_opencv(const uint64_t *cdf, uint32_t bins, uint32_t *table)
{
    const uint64_t n = cdf[bins - 1];
    const uint32_t first = cdf_above(cdf, bins, 0);
    if (cdf[first] == n) {
        identity(bins, table);
        return;
    }
    const float scale = ((float)bins - 1.0f) / (float)(n - cdf[first]);
    for (uint32_t key = 0; key < bins; key++) {
        const uint64_t sum = cdf[key] > cdf[first] ? cdf[key] - cdf[first] : 0;
        const float level = (float)sum * scale;
        table[key] = clamp_key((double)rintf(level), bins - 1);
    }
}

/* equalize_hist of scikit-image gives CDF / n in 0..1. The output is the nearest integer of that
 * share of the full scale. */
static void equalize_skimage(const uint64_t *cdf, uint32_t bins, uint32_t top, uint32_t *table)
{
    const double n = (double)cdf[bins - 1];
    for (uint32_t key = 0; key < bins; key++)
        table[key] = clamp_key(rint((double)cdf[key] / n * (double)top), top);
}

/* A share of the full scale as the 16-bit builds of ImageMagick 6 and GraphicsMagick write it:
 * rounded to 16 bits, then cut to the depth. */
static uint32_t magick_level(double share, uint32_t top)
{
    const uint64_t quantum = clamp_key(share + 0.5, 65535);
    return (uint32_t)(quantum * top / 65535u);
}

static void equalize_magick(const uint64_t *cdf, uint32_t bins, uint32_t top, uint32_t *table)
{
    const uint64_t black = cdf[0], white = cdf[bins - 1];
    if (black == white) {
        identity(bins, table);
        return;
    }
    for (uint32_t key = 0; key < bins; key++)
        table[key] =
            magick_level(65535.0 * (double)(cdf[key] - black) / (double)(white - black), top);
}

static double imagej_weight(const uint64_t *cdf, uint32_t key, bool classic)
{
    const double count = (double)count_of(cdf, key);
    return classic ? count : sqrt(count);
}

/* ImageJ: half of a level's weight lies below it, half above. By default a weight is the square
 * root of the count. */
static void equalize_imagej(const uint64_t *cdf, uint32_t bins, uint32_t top, bool classic,
                            uint32_t *table)
{
    double sum = imagej_weight(cdf, 0, classic);
    for (uint32_t key = 1; key < top; key++)
        sum += 2.0 * imagej_weight(cdf, key, classic);
    sum += imagej_weight(cdf, top, classic);
    const double scale = (double)top / sum;
    identity(bins, table);
    table[0] = 0;
    sum = imagej_weight(cdf, 0, classic);
    for (uint32_t key = 1; key < top; key++) {
        const double weight = imagej_weight(cdf, key, classic);
        sum += weight;
        table[key] = clamp_key(floor(sum * scale + 0.5), top);
        sum += weight;
    }
}

static void equalize_pillow(const uint64_t *cdf, uint32_t bins, uint32_t *table)
{
    const uint64_t n = cdf[bins - 1];
    const uint32_t first = cdf_above(cdf, bins, 0), last = cdf_above(cdf, bins, n - 1);
    const uint64_t step = first == last ? 0 : (n - count_of(cdf, last)) / 255;
    for (uint32_t key = 0; key < bins; key++) {
        const uint64_t below = key ? cdf[key - 1] : 0;
        const uint64_t level = step ? (step / 2 + below) / step : key;
        table[key] = level > 255 ? 255 : (uint32_t)level;
    }
}

/* libvips: floor(CDF * M / n) in single precision. Its 16-bit table, and so its output range, ends
 * at the largest sample. */
static void equalize_vips(const uint64_t *cdf, uint32_t bins, uint32_t *table)
{
    const uint64_t n = cdf[bins - 1];
    const uint32_t top = bins == 256 ? 255 : cdf_above(cdf, bins, n - 1);
    const float scale = (float)((double)top / (double)n);
    for (uint32_t key = 0; key < bins; key++)
        table[key] = clamp_key((double)(scale * (float)cdf[key]), top);
}

/* ---- Percentile stretch -------------------------------------------------------------------- */

/* Returns numpy's linear percentile of samples counted by key. */
static double percentile_linear(const uint64_t *cdf, uint32_t bins, double percent)
{
    const double rank = (double)(cdf[bins - 1] - 1) * (percent / 100.0);
    const double whole = floor(rank);
    const double low = cdf_above(cdf, bins, (uint64_t)whole);
    const uint64_t next = (uint64_t)ceil(rank);
    const double high = cdf_above(cdf, bins, next);
    const double part = rank - whole;
    /* as numpy interpolates: from the nearer end */
    return part < 0.5 ? low + (high - low) * part : high - (high - low) * (1.0 - part);
}

/* rescale_intensity of scikit-image between two percentiles, then a cast, which truncates. */
static void stretch_skimage(const uint64_t *cdf, uint32_t bins, uint32_t top, double clip_lo,
                            double clip_hi, uint32_t *table)
{
    const double black = percentile_linear(cdf, bins, clip_lo);
    const double white = percentile_linear(cdf, bins, 100.0 - clip_hi);
    for (uint32_t key = 0; key < bins; key++) {
        double x = (double)key < black ? black : (double)key > white ? white : (double)key;
        if (black != white)
            x = (x - black) / (white - black) * (double)top;
        table[key] = clamp_key(x, top);
    }
}

/* The other programs cut at the same black and white as imgstat; they round in their own ways. */
static void stretch_points(ImgstatLike like, uint32_t bins, uint32_t top, uint32_t black,
                           uint32_t white, uint32_t *table)
{
    if (black >= white) {
        identity(bins, table);
        return;
    }
    const double span = (double)white - (double)black;
    const double scale = (double)top / span, offset = -(double)black * scale;
    for (uint32_t key = 0; key < bins; key++) {
        const double above = (double)key - (double)black;
        if (like == IMGSTAT_LIKE_PILLOW)
            table[key] = clamp_key((double)key * scale + offset, top);
        else if (like == IMGSTAT_LIKE_IMAGEMAGICK)
            table[key] = magick_level(65535.0 * above / span, top);
        else
            table[key] = clamp_key(above / span * (double)top, top);
    }
}

static void stretch(const ImgstatMethod *method, const uint64_t *cdf, uint32_t bins, uint32_t top,
                    uint32_t *table)
{
    if (method->like == IMGSTAT_LIKE_SKIMAGE) {
        const Clip clip = transfer_clip_of(method);
        stretch_skimage(cdf, bins, top, clip.lo, clip.hi, table);
        return;
    }
    uint64_t black, white;
    transfer_clip_ranks(method, cdf[bins - 1], &black, &white);
    stretch_points(method->like, bins, top, cdf_above(cdf, bins, black),
                   cdf_above(cdf, bins, white), table);
}

/* ---- Tables -------------------------------------------------------------------------------- */

/* Fills a table by keys of the full scale. */
static void table_of(const ImgstatMethod *method, const MapRange *to, const uint64_t *cdf,
                     uint32_t bins, uint32_t *table)
{
    const uint32_t top = (uint32_t)to->hi_key;
    if (method->transform != IMGSTAT_EQUALIZE) {
        stretch(method, cdf, bins, top, table);
        return;
    }
    switch (method->like) {
    case IMGSTAT_LIKE_OPENCV:
        equalize_opencv(cdf, bins, table);
        return;
    case IMGSTAT_LIKE_SKIMAGE:
        equalize_skimage(cdf, bins, top, table);
        return;
    case IMGSTAT_LIKE_IMAGEMAGICK:
        equalize_magick(cdf, bins, top, table);
        return;
    case IMGSTAT_LIKE_IMAGEJ:
        equalize_imagej(cdf, bins, top, false, table);
        return;
    case IMGSTAT_LIKE_IMAGEJ_CLASSIC:
        equalize_imagej(cdf, bins, top, true, table);
        return;
    case IMGSTAT_LIKE_PILLOW:
        equalize_pillow(cdf, bins, table);
        return;
    case IMGSTAT_LIKE_VIPS:
        equalize_vips(cdf, bins, table);
        return;
    case IMGSTAT_LIKE_IMGSTAT:
        identity(bins, table);
        return;
    }
}

ImgstatResult compat_table(const ImgstatMethod *method, const MapRange *to, const uint64_t *cdf,
                           const uint32_t *full, uint32_t bins, uint32_t *table, ImgstatError *err)
{
    if (full[1] == 1) {
        table_of(method, to, cdf, bins, table);
        return IMGSTAT_OK;
    }
    uint64_t *const spread = calloc(bins, sizeof *spread);
    if (!spread)
        return error_memory(err, bins * sizeof *spread, "a transfer");
    for (uint32_t at = 0, key = 0; at < bins; at++) {
        while (key + 1 < bins && full[key + 1] <= at)
            key++;
        spread[at] = cdf[key];
    }
    table_of(method, to, spread, bins, table);
    free(spread);
    for (uint32_t key = 0; key < bins; key++) /* full[key] >= key */
        table[key] = table[full[key]];
    return IMGSTAT_OK;
}
