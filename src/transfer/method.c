/* SPDX-License-Identifier: MIT */
/* method.c: what a method means for an image: channels, output type and range, checks. */
#include "transfer/compat.h"
#include "transfer/transfer.h"

void sample_full_scale(ImgstatSample sample, uint8_t bits, uint64_t *lo, uint64_t *hi)
{
    const uint32_t width = sample_bits(sample);
    const uint32_t used = bits && bits < width ? bits : width;
    if (sample_is_float(sample)) {
        *lo = map_key(sample, 0.0);
        *hi = map_key(sample, 1.0);
        return;
    }
    const uint64_t half = (uint64_t)1 << (used - 1);
    if (sample_is_signed(sample)) {
        const uint64_t zero = (uint64_t)1 << (width - 1);
        *lo = zero - half;
        *hi = zero + (half - 1);
        return;
    }
    *lo = 0;
    *hi = half | (half - 1);
}

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
    *bits = shape->bits;
    return shape->sample;
}

/* ---- Checks -------------------------------------------------------------------------------- */

static ImgstatResult check_range(const ImgstatMethod *method, ImgstatSample to, uint8_t bits,
                                 ImgstatError *err)
{
    if (!method->has_range)
        return IMGSTAT_OK;
    if (!isfinite(method->lo) || !isfinite(method->hi) || !(method->lo < method->hi))
        return error_set(
            err, IMGSTAT_ERR_ARG,
            "output range %.9g,%.9g: two finite numbers, the lower one first, are expected",
            method->lo, method->hi);
    uint64_t lo, hi;
    sample_full_scale(to, bits, &lo, &hi);
    if (sample_is_float(to)) {
        if (map_undefined(to, map_key(to, method->lo)) ||
            map_undefined(to, map_key(to, method->hi)) ||
            map_key(to, method->lo) == map_key(to, method->hi))
            return error_set(err, IMGSTAT_ERR_ARG,
                             "output range %.9g,%.9g does not fit samples of type %s", method->lo,
                             method->hi, imgstat_sample_name(to));
        return IMGSTAT_OK;
    }
    if (rint(method->lo) != method->lo || rint(method->hi) != method->hi)
        return error_set(
            err, IMGSTAT_ERR_ARG,
            "output range %.9g,%.9g: whole numbers are expected for samples of type %s", method->lo,
            method->hi, imgstat_sample_name(to));
    if (method->lo < map_value(to, lo) || method->hi > map_value(to, hi))
        return error_set(err, IMGSTAT_ERR_ARG,
                         "output range %.9g,%.9g: samples of %u bits reach from %.20g to %.20g",
                         method->lo, method->hi, bits ? bits : sample_bits(to), map_value(to, lo),
                         map_value(to, hi));
    return IMGSTAT_OK;
}

/* Programs may put any number into an enum. */
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

static ImgstatResult check_parameters(const ImgstatMethod *method, ImgstatError *err)
{
    switch (method->transform) {
    case IMGSTAT_PERCENTILE:
        if (method->has_clip && !(method->clip_lo >= 0 && method->clip_hi >= 0 &&
                                  method->clip_lo + method->clip_hi < 100))
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

ImgstatResult transfer_check(const ImgstatMethod *method, const TransferShape *shape,
                             ImgstatError *err)
{
    IMGSTAT_TRY(check_choices(method, err));
    uint8_t bits;
    const ImgstatSample to = transfer_output(method, shape, &bits);
    IMGSTAT_TRY(check_range(method, to, bits, err));
    IMGSTAT_TRY(check_parameters(method, err));
    if (transfer_channels(method, shape) == IMGSTAT_LUMA && !shape->rgb)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "luma needs red, green and blue channels; each and joint take any");
    if (method->like != IMGSTAT_LIKE_IMGSTAT)
        return compat_check(method, shape->sample, to, err);
    return IMGSTAT_OK;
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
    const bool on_device = from->memory == IMGSTAT_CUDA;
    const bool same =
        from->memory == to->memory &&
        (on_device ? from->device.address == to->device.address : from->host == to->host);
    if (same && (from->sample != to->sample || from->pitch != to->pitch))
        return error_set(err, IMGSTAT_ERR_ARG, "in place, the sample type cannot change");
    return IMGSTAT_OK;
}

ImgstatResult transfer_check_async(const ImgstatMethod *method, const TransferShape *shape,
                                   ImgstatError *err)
{
    IMGSTAT_TRY(transfer_check(method, shape, err));
    const bool known = method->transform == IMGSTAT_STRETCH ||
                       method->transform == IMGSTAT_PERCENTILE ||
                       method->transform == IMGSTAT_EQUALIZE;
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

MapRange transfer_range(const ImgstatMethod *method, const TransferShape *shape)
{
    uint8_t bits;
    const ImgstatSample to = transfer_output(method, shape, &bits);
    MapRange range = {.sample = to};
    sample_full_scale(to, bits, &range.lo_key, &range.hi_key);
    if (method->has_range) {
        range.lo_key = map_key(to, method->lo);
        range.hi_key = map_key(to, method->hi);
    }
    range_set_nodata(&range, shape->sample, shape->has_nodata && !shape->has_hole,
                     shape->nodata_key);
    if (shape->has_hole)
        range_set_hole(&range, shape->hole_key);
    return range;
}
