/* SPDX-License-Identifier: MIT */
/* method.c: what a method means for an image: channels, output type and range, checks. */
#include "transfer/compat.h"
#include "transfer/ratio.h"
#include "transfer/transfer.h"

#include <stdio.h>

const char *const transfer_transform_names[] = {"stretch",  "percentile", "meanstd", "gamma",
                                                "equalize", "match",      "clahe"};
const char *const transfer_like_names[] = {"imgstat", "opencv",         "skimage", "imagemagick",
                                           "imagej",  "imagej-classic", "pillow",  "vips"};

/* ---- Choices that follow from method and image --------------------------------------------- */

ImgstatChannels transfer_channels(const ImgstatMethod *method, const TransferShape *shape)
{
    if (shape->channels - (shape->alpha >= 0) <= 1)
        return IMGSTAT_EACH;
    if (method->channels != IMGSTAT_CHANNELS_DEFAULT)
        return method->channels;
    switch (method->transform) {
    case IMGSTAT_EQUALIZE:
    case IMGSTAT_CLAHE:
        return shape->rgb ? IMGSTAT_LUMA : IMGSTAT_EACH;
    case IMGSTAT_MATCH:
        return IMGSTAT_EACH;
    default:
        return IMGSTAT_JOINT;
    }
}

uint16_t transfer_maps(const ImgstatMethod *method, const TransferShape *shape)
{
    if (transfer_channels(method, shape) != IMGSTAT_EACH)
        return 1;
    const int colours = shape->channels - (shape->alpha >= 0);
    return (uint16_t)(colours > 0 ? colours : 1);
}

ImgstatSample transfer_output(const ImgstatMethod *method, const TransferShape *shape,
                              uint8_t *bits)
{
    *bits = 0;
    switch (method->depth) {
    case IMGSTAT_DEPTH_8:
        return IMGSTAT_U8;
    case IMGSTAT_DEPTH_16:
        return IMGSTAT_U16;
    case IMGSTAT_DEPTH_FLOAT:
        return shape->sample == IMGSTAT_F64 ? IMGSTAT_F64 : IMGSTAT_F32;
    case IMGSTAT_DEPTH_KEEP:
        break;
    }
    if (method->like == IMGSTAT_LIKE_IMGSTAT) /* other programs make 8 or 16 bits of fewer */
        *bits = shape->kept_bits ? shape->kept_bits : shape->bits;
    if (shape->kept_bits)
        return shape->kept_bits > 8 ? IMGSTAT_U16 : IMGSTAT_U8;
    return shape->sample;
}

bool transfer_measures(const ImgstatMethod *method)
{
    return method->transform != IMGSTAT_GAMMA && !method->has_in_range;
}

/* ---- Values, plain or in per cent of full scale ---- */

/* Returns the key of an end of a range. Integers round half to even. */
static uint64_t range_end(ImgstatSample sample, uint8_t bits, double value, bool percent)
{
    if (!percent)
        return map_key(sample, value);
    uint64_t lo, hi;
    sample_full_scale(sample, bits, &lo, &hi);
    if (sample_is_float(sample))
        return map_key(sample, value / 100);
    return key_between(lo, hi, value / 100);
}

/* Returns a value of full scale; it may lie beyond the type. */
static double scaled_value(ImgstatSample sample, uint8_t bits, double value, bool percent)
{
    if (!percent)
        return value;
    uint64_t lo, hi;
    sample_full_scale(sample, bits, &lo, &hi);
    const double least = map_value(sample, lo);
    return least + value / 100 * (map_value(sample, hi) - least);
}

double transfer_mean(const ImgstatMethod *method, ImgstatSample sample, uint8_t bits)
{
    return scaled_value(sample, bits, method->mean, method->mean_percent);
}

double transfer_stddev(const ImgstatMethod *method, ImgstatSample sample, uint8_t bits)
{
    const double zero = scaled_value(sample, bits, 0, method->stddev_percent);
    return scaled_value(sample, bits, method->stddev, method->stddev_percent) - zero;
}

void transfer_in_range(const ImgstatMethod *method, ImgstatSample sample, uint8_t bits,
                       uint64_t *black, uint64_t *white)
{
    *black = range_end(sample, bits, method->in_lo, method->in_lo_percent);
    *white = range_end(sample, bits, method->in_hi, method->in_hi_percent);
}

PlainValues transfer_plain_values(const ImgstatMethod *method)
{
    const bool range = method->has_range && !(method->lo_percent && method->hi_percent);
    const bool moments =
        method->transform == IMGSTAT_MEANSTD && !(method->mean_percent && method->stddev_percent);
    return (PlainValues){.input = method->has_in_range &&
                                  !(method->in_lo_percent && method->in_hi_percent),
                         .output = range || moments};
}

/* ---- Checks -------------------------------------------------------------------------------- */

/* A range as the caller gave it. */
typedef struct GivenRange {
    const char *name;
    double lo, hi;
    bool lo_percent, hi_percent;
} GivenRange;

static void range_text(const GivenRange *range, char text[96])
{
    snprintf(text, 96, "%s range %.9g%s,%.9g%s", range->name, range->lo,
             range->lo_percent ? "%" : "", range->hi, range->hi_percent ? "%" : "");
}

/* Checks one end against samples that reach from the key lo to the key hi. */
static ImgstatResult check_end(const char *text, double value, bool percent, ImgstatSample sample,
                               uint8_t bits, uint64_t lo, uint64_t hi, ImgstatError *err)
{
    if (percent && !(value >= 0 && value <= 100) && !sample_is_float(sample))
        return error_set(err, IMGSTAT_ERR_ARG, "%s: per cent of integers are from 0 to 100", text);
    if (percent || sample_is_float(sample))
        return IMGSTAT_OK;
    if (rint(value) != value)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "%s: whole numbers are expected for samples of type %s", text,
                         imgstat_sample_name(sample));
    if (value < map_value(sample, lo) || value > map_value(sample, hi))
        return error_set(err, IMGSTAT_ERR_ARG, "%s: samples of %u bits reach from %.20g to %.20g",
                         text, bits ? bits : sample_bits(sample), map_value(sample, lo),
                         map_value(sample, hi));
    return IMGSTAT_OK;
}

static ImgstatResult check_order(const GivenRange *range, ImgstatError *err)
{
    char text[96];
    const bool alike = range->lo_percent == range->hi_percent;
    if (isfinite(range->lo) && isfinite(range->hi) && (!alike || range->lo < range->hi))
        return IMGSTAT_OK;
    range_text(range, text);
    return error_set(err, IMGSTAT_ERR_ARG,
                     "%s: two finite numbers, the lower one first, are expected", text);
}

/* Checks a range of samples of a type that have so many significant bits. */
static ImgstatResult check_range(const GivenRange *range, ImgstatSample sample, uint8_t bits,
                                 ImgstatError *err)
{
    char text[96];
    uint64_t lo, hi;
    range_text(range, text);
    sample_full_scale(sample, bits, &lo, &hi);
    IMGSTAT_TRY(check_end(text, range->lo, range->lo_percent, sample, bits, lo, hi, err));
    IMGSTAT_TRY(check_end(text, range->hi, range->hi_percent, sample, bits, lo, hi, err));
    const uint64_t first = range_end(sample, bits, range->lo, range->lo_percent);
    const uint64_t last = range_end(sample, bits, range->hi, range->hi_percent);
    if (first >= last || map_undefined(sample, first) || map_undefined(sample, last))
        return error_set(err, IMGSTAT_ERR_ARG, "%s does not fit samples of type %s", text,
                         imgstat_sample_name(sample));
    return IMGSTAT_OK;
}

static GivenRange output_range(const ImgstatMethod *method)
{
    return (GivenRange){.name = "output",
                        .lo = method->lo,
                        .hi = method->hi,
                        .lo_percent = method->lo_percent,
                        .hi_percent = method->hi_percent};
}

static GivenRange input_range(const ImgstatMethod *method)
{
    return (GivenRange){.name = "input",
                        .lo = method->in_lo,
                        .hi = method->in_hi,
                        .lo_percent = method->in_lo_percent,
                        .hi_percent = method->in_hi_percent};
}

static ImgstatResult check_orders(const ImgstatMethod *method, ImgstatError *err)
{
    const GivenRange output = output_range(method), input = input_range(method);
    if (method->has_range)
        IMGSTAT_TRY(check_order(&output, err));
    if (method->has_in_range && method->transform != IMGSTAT_STRETCH)
        return error_set(err, IMGSTAT_ERR_ARG, "an input range belongs to a stretch");
    return method->has_in_range ? check_order(&input, err) : IMGSTAT_OK;
}

/* Checks the enums of a method: programs may store any number in them. */
static ImgstatResult check_choices(const ImgstatMethod *method, ImgstatError *err)
{
    if ((unsigned)method->transform > IMGSTAT_CLAHE)
        return error_set(err, IMGSTAT_ERR_ARG, "%d is no transform", (int)method->transform);
    if ((unsigned)method->channels > IMGSTAT_LUMA)
        return error_set(err, IMGSTAT_ERR_ARG, "%d is no way to treat channels",
                         (int)method->channels);
    if ((unsigned)method->depth > IMGSTAT_DEPTH_FLOAT)
        return error_set(err, IMGSTAT_ERR_ARG, "%d is no output depth", (int)method->depth);
    return IMGSTAT_OK;
}

/* To nine decimals, as they are taken: 99.9999999999 is all. */
static bool clip_leaves(double lo, double hi)
{
    return lo >= 0 && hi >= 0 && lo + hi < 100 && clip_nano(lo) + clip_nano(hi) < clip_nano(100);
}

static ImgstatResult check_parameters(const ImgstatMethod *method, ImgstatError *err)
{
    switch (method->transform) {
    case IMGSTAT_PERCENTILE:
        if (method->has_clip && !clip_leaves(method->clip_lo, method->clip_hi))
            return error_set(err, IMGSTAT_ERR_ARG,
                             "clip %.9g,%.9g: two percentages that leave something are expected",
                             method->clip_lo, method->clip_hi);
        return IMGSTAT_OK;
    case IMGSTAT_MEANSTD:
        if (!isfinite(method->mean) || !isfinite(method->stddev) || method->stddev < 0)
            return error_set(
                err, IMGSTAT_ERR_ARG,
                "mean %.9g, deviation %.9g: finite numbers, the deviation not negative, "
                "are expected",
                method->mean, method->stddev);
        return IMGSTAT_OK;
    case IMGSTAT_GAMMA:
        if (!isfinite(method->gamma) || !(method->gamma > 0))
            return error_set(err, IMGSTAT_ERR_ARG, "gamma %.9g: a number above 0 is expected",
                             method->gamma);
        return IMGSTAT_OK;
    default:
        return IMGSTAT_OK;
    }
}

ImgstatResult imgstat_method_check(const ImgstatMethod *method, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(method, __func__, err));
    IMGSTAT_TRY(check_choices(method, err));
    IMGSTAT_TRY(check_orders(method, err));
    IMGSTAT_TRY(check_parameters(method, err));
    if ((method->region.width > 0 || method->region.height > 0) &&
        (!transfer_measures(method) || method->transform == IMGSTAT_CLAHE))
        return error_set(err, IMGSTAT_ERR_ARG,
                         method->transform == IMGSTAT_CLAHE
                             ? "adaptive equalization measures the whole image, not a region"
                             : "the method measures nothing, and so no region");
    return compat_check(method, err);
}

ImgstatResult transfer_check(const ImgstatMethod *method, const TransferShape *shape,
                             ImgstatError *err)
{
    const GivenRange output = output_range(method), input = input_range(method);
    uint8_t bits;
    IMGSTAT_TRY(imgstat_method_check(method, err));
    const ImgstatSample to = transfer_output(method, shape, &bits);
    if (method->has_range)
        IMGSTAT_TRY(check_range(&output, to, bits, err));
    if (method->has_in_range)
        IMGSTAT_TRY(check_range(&input, shape->sample, shape->bits, err));
    if (transfer_channels(method, shape) == IMGSTAT_LUMA && !shape->rgb)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "luma needs red, green and blue channels; each and joint take any");
    return compat_check_samples(method, shape->sample, to, err);
}

ImgstatResult transfer_check_reference(bool matches, bool given, ImgstatError *err)
{
    if (matches == given)
        return IMGSTAT_OK;
    return error_set(err, IMGSTAT_ERR_ARG,
                     given ? "a reference belongs to matching, and to nothing else"
                           : "matching needs a reference");
}

/* ---- Whether a transfer and images fit ------------------------------------------------------- */

ImgstatResult transfer_check_image(const Transfer *transfer, const ImagePro *from, int16_t alpha,
                                   ImgstatError *err)
{
    if (from->sample != transfer->from)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the transfer is for samples of type %s; the image has %s",
                         imgstat_sample_name(transfer->from), imgstat_sample_name(from->sample));
    const unsigned width = sample_bits(from->sample), bits = from->bits ? from->bits : width;
    if (transfer->from_bits && bits > transfer->from_bits)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the transfer is for samples of %u bits; the image has %u",
                         transfer->from_bits, bits);
    IMGSTAT_TRY(image_check_alpha(from, alpha, err));
    const int colours = from->channels - (alpha >= 0);
    if (transfer->luma && (colours < 3 || (alpha >= 0 && alpha < 3)))
        return error_set(err, IMGSTAT_ERR_ARG, "the transfer is for luma; the image is not RGB");
    if (!transfer->luma && transfer->n_maps != 1 && transfer->n_maps != colours)
        return error_set(err, IMGSTAT_ERR_ARG, "the transfer is for %u channels; the image has %d",
                         transfer->n_maps, colours);
    return IMGSTAT_OK;
}

static uint64_t address_of(const ImagePro *image)
{
    return image->memory == IMGSTAT_CUDA ? image->device.address : (uintptr_t)image->host;
}

static size_t row_bytes(const ImagePro *image)
{
    return image->width * image->channels * imgstat_sample_bytes(image->sample);
}

/* Whether two images of one size share samples, as far as that is plain: their rows are equally far
 * apart, or have no gaps. Parts of one canvas, side by side, share none. */
static bool shares_samples(const ImagePro *a, const ImagePro *b)
{
    const ImagePro *const low = address_of(a) < address_of(b) ? a : b, *const high =
                                                                           low == a ? b : a;
    const uint64_t distance = address_of(high) - address_of(low);
    const size_t low_row = row_bytes(low), high_row = row_bytes(high);
    if (low->height == 0 || distance >= (low->height - 1) * (uint64_t)low->pitch + low_row)
        return false;
    if (low->pitch != high->pitch)
        return (low->pitch == low_row || low->height == 1) &&
               (high->pitch == high_row || high->height == 1);
    const uint64_t into = distance % low->pitch; /* of a row of low, where rows of high begin */
    const bool last = distance / low->pitch + 1 == low->height;
    return into < low_row || (!last && into + high_row > low->pitch);
}

ImgstatResult transfer_check_output(const ImagePro *from, ImgstatSample sample, const ImagePro *to,
                                    ImgstatError *err)
{
    if (from->width != to->width || from->height != to->height || from->channels != to->channels)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the output is %ux%u with %u channels, the input %ux%u with %u", to->width,
                         to->height, to->channels, from->width, from->height, from->channels);
    if (to->sample != sample)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the output has samples of type %s; the transfer makes %s",
                         imgstat_sample_name(to->sample), imgstat_sample_name(sample));
    if ((from->memory == IMGSTAT_CUDA) != (to->memory == IMGSTAT_CUDA))
        return IMGSTAT_OK;
    const bool same = address_of(from) == address_of(to);
    if (same && (from->sample != to->sample || from->pitch != to->pitch))
        return error_set(err, IMGSTAT_ERR_ARG, "in place, the sample type cannot change");
    if (!same && shares_samples(from, to))
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the output shares a part of its samples with the input: it should be the "
                         "input, or have samples of its own");
    return IMGSTAT_OK;
}

ImgstatResult transfer_check_async(const ImgstatMethod *method, const TransferShape *shape,
                                   ImgstatError *err)
{
    IMGSTAT_TRY(transfer_check(method, shape, err));
    const bool known = method->transform == IMGSTAT_STRETCH ||
                       method->transform == IMGSTAT_PERCENTILE ||
                       method->transform == IMGSTAT_EQUALIZE;
    if (method->has_in_range)
        return error_set(err, IMGSTAT_ERR_UNSUPPORTED,
                         "an input range needs no measuring: imgstat_transfer_create takes it");
    if (method->region.width > 0 || method->region.height > 0)
        return error_set(err, IMGSTAT_ERR_UNSUPPORTED,
                         "a region is not measured without waiting: imgstat_transfer_create "
                         "measures it");
    if (!known || method->like != IMGSTAT_LIKE_IMGSTAT || !sample_is_narrow(shape->sample))
        return error_set(err, IMGSTAT_ERR_UNSUPPORTED,
                         "without waiting, samples of at most 16 bits can be stretched, cut at "
                         "percentiles or equalized by imgstat's own formulas");
    return IMGSTAT_OK;
}

static uint32_t depth_of(ImgstatSample sample, uint8_t bits)
{
    return bits ? bits : sample_bits(sample);
}

ImgstatResult transfer_check_shape(const TransferShape *shape, const ImagePro *image,
                                   ImgstatError *err)
{
    if (image->sample != shape->sample || image->channels != shape->channels ||
        depth_of(image->sample, image->bits) != depth_of(shape->sample, shape->bits) ||
        image->has_nodata != shape->has_nodata ||
        (image->has_nodata && image->nodata_key != shape->nodata_key))
        return error_set(err, IMGSTAT_ERR_ARG, "the image is not one that the transform is for");
    return IMGSTAT_OK;
}

/* ---- Output ranges ------------------------------------------------------------------------- */

void range_set_hole(MapRange *range, uint64_t key)
{
    range->has_nodata = 1;
    range->nodata_key = key;
    if (!sample_is_float(range->sample) && range->lo_key < range->hi_key) {
        range->lo_key += range->lo_key == key;
        range->hi_key -= range->hi_key == key;
    }
    range->lo = map_value(range->sample, range->lo_key);
    range->hi = map_value(range->sample, range->hi_key);
}

void range_set_nodata(MapRange *range, ImgstatSample from, bool has_nodata, uint64_t nodata_key)
{
    uint64_t key = nodata_key;
    const bool holds =
        has_nodata && (range->sample == from ||
                       sample_key_of(range->sample, sample_value(from, nodata_key), &key));
    if (holds) {
        range_set_hole(range, key);
        return;
    }
    range->has_nodata = 0;
    range->nodata_key = 0;
    range->lo = map_value(range->sample, range->lo_key);
    range->hi = map_value(range->sample, range->hi_key);
}

void range_any(MapRange *range)
{
    range->lo_key = sample_key_infinity(range->sample, true) + 1;
    range->hi_key = sample_key_infinity(range->sample, false) - 1;
    range->lo = map_value(range->sample, range->lo_key);
    range->hi = map_value(range->sample, range->hi_key);
}

MapRange transfer_range(const ImgstatMethod *method, const TransferShape *shape)
{
    uint8_t bits;
    const ImgstatSample to = transfer_output(method, shape, &bits);
    MapRange range = {.sample = to};
    sample_full_scale(to, bits, &range.lo_key, &range.hi_key);
    if (method->has_range) {
        range.lo_key = range_end(to, bits, method->lo, method->lo_percent);
        range.hi_key = range_end(to, bits, method->hi, method->hi_percent);
    } else if (method->transform == IMGSTAT_MEANSTD && sample_is_float(to)) {
        range_any(&range);
    }
    range_set_nodata(&range, shape->sample, shape->has_nodata && !shape->has_hole,
                     shape->nodata_key);
    if (shape->has_hole)
        range_set_hole(&range, shape->hole_key);
    return range;
}
