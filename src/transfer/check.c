/* SPDX-License-Identifier: MIT */
/* check.c: whether a transfer, or a method without waiting, fits the images that it is given. */
#include "transfer/check.h"

#include "base/image.h"

ImgstatResult apply_check_shapes(const ImagePro *from, ImgstatSample sample, const ImagePro *to,
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

ImgstatResult apply_check_pair(const ImagePro *from, ImgstatSample sample, const ImagePro *to,
                               ImgstatError *err)
{
    if (from->memory == IMGSTAT_CUDA || to->memory == IMGSTAT_CUDA)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the pixels are in device memory; host memory is expected");
    return apply_check_shapes(from, sample, to, err);
}

ImgstatResult apply_check(const Transfer *transfer, const ImagePro *from, int16_t alpha,
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

ImgstatResult chain_check(const ImgstatMethod *method, const TransferShape *shape,
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

ImgstatResult chain_check_image(const TransferShape *shape, const ImagePro *image,
                                ImgstatError *err)
{
    if (image->sample != shape->sample || image->channels != shape->channels ||
        depth_of(image->sample, image->bits) != depth_of(shape->sample, shape->bits) ||
        image->has_nodata != shape->has_nodata ||
        (image->has_nodata && image->nodata_key != shape->nodata_key))
        return error_set(err, IMGSTAT_ERR_ARG, "the image is not one that the transform is for");
    return IMGSTAT_OK;
}
