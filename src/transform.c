/* SPDX-License-Identifier: MIT */
/* transform.c: the public calls that load, transform and save one image in host memory. */
#include "adapt.h"
#include "apply.h"
#include "encode.h"

enum { SORT_BYTES = 64 << 20 };

ImgstatSample imgstat_transfer_output(const ImgstatTransfer *transfer, uint8_t *bits)
{
    const ImgstatSample sample = transfer->rescale.to.sample;
    *bits = transfer->to_bits ? transfer->to_bits : (uint8_t)sample_bits(sample);
    return sample;
}

static ImgstatResult check_image(const ImagePro *image, int16_t alpha, ImgstatError *err)
{
    if (image->memory == IMGSTAT_CUDA)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the pixels are in device memory; host memory is expected");
    if (alpha < -1 || alpha >= (int)image->channels)
        return error_set(err, IMGSTAT_ERR_ARG, "alpha is channel %d of an image of %u", alpha,
                         image->channels);
    return IMGSTAT_OK;
}

/* The reference has no alpha channel of its own unless it has one more than its colours. */
static ImgstatResult survey_reference(Device *device, const ImagePro *reference,
                                      const ImagePro *image, int16_t alpha,
                                      const ImgstatMethod *method, Survey **out, ImgstatError *err)
{
    IMGSTAT_TRY(check_image(reference, -1, err));
    const bool same = reference->channels == image->channels;
    const TransferShape shape = shape_of_image(reference, same ? alpha : (int16_t)-1);
    Bands bands;
    bands_of_image(device, reference, &bands);
    return survey_image(method, &bands, &shape, SORT_BYTES, out, err);
}

ImgstatResult imgstat_transfer_create(ImgstatDevice *device, const ImgstatMethod *method,
                                      const ImagePro *image, int16_t alpha,
                                      const ImagePro *reference, ImgstatTransfer **out,
                                      ImgstatError *err)
{
    *out = NULL;
    IMGSTAT_TRY(check_image(image, alpha, err));
    if (method->transform == IMGSTAT_CLAHE)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "adaptive equalization depends on the place: it has no transfer");
    if ((method->transform == IMGSTAT_MATCH) != (reference != NULL))
        return error_set(err, IMGSTAT_ERR_ARG,
                         "a reference belongs to matching, and to nothing else");
    const TransferShape shape = shape_of_image(image, alpha);
    const ImgstatMethod bare = {.transform = method->transform, .channels = method->channels};
    Survey *survey = NULL, *other = NULL;
    MatchReference match = {.n_sources = 0};
    Bands bands;
    bands_of_image(device, image, &bands);
    ImgstatResult res = IMGSTAT_OK;
    if (reference) {
        res = survey_reference(device, reference, image, alpha, &bare, &other, err);
        if (res == IMGSTAT_OK)
            match = (MatchReference){.sample = reference->sample,
                                     .bits = reference->bits,
                                     .n_sources = other->n_sources,
                                     .sources = other->sources};
    }
    if (res == IMGSTAT_OK)
        res = survey_image(method, &bands, &shape, SORT_BYTES, &survey, err);
    if (res == IMGSTAT_OK)
        res = transfer_create(device->scratch, method, &shape, survey->sources,
                              reference ? &match : NULL, out, err);
    survey_destroy(survey);
    survey_destroy(other);
    return res;
}

static ImgstatResult output_image(const ImagePro *image, const Transfer *transfer, ImagePro *to,
                                  ImgstatError *err)
{
    uint8_t bits;
    const ImgstatSample sample = imgstat_transfer_output(transfer, &bits);
    IMGSTAT_TRY(
        imgstat_image_create(image->width, image->height, image->channels, sample, bits, to, err));
    to->first_row = image->first_row;
    if (image->has_nodata)
        imgstat_image_set_nodata(to, sample_value(image->sample, image->nodata_key));
    return IMGSTAT_OK;
}

static ImgstatResult transform_adaptively(Device *device, const ImgstatMethod *method,
                                          const ImagePro *image, int16_t alpha, ImagePro *to,
                                          ImgstatError *err)
{
    const TransferShape shape = shape_of_image(image, alpha);
    Adapt *adapt = NULL;
    Bands bands;
    ImagePro whole = *image; /* even if it is a band of something else */
    whole.first_row = 0;
    bands_of_image(device, &whole, &bands);
    ImgstatResult res = adapt_create(method, &shape, &bands, &adapt, err);
    if (res == IMGSTAT_OK)
        res = output_image(image, adapt->rescale, to, err);
    if (res == IMGSTAT_OK) {
        res = device->ops->adapt_apply(device, adapt, &whole, to, err);
        if (res != IMGSTAT_OK)
            imgstat_image_release(to);
    }
    adapt_destroy(adapt);
    return res;
}

ImgstatResult imgstat_image_transform(ImgstatDevice *device, const ImgstatMethod *method,
                                      const ImagePro *image, int16_t alpha,
                                      const ImagePro *reference, ImagePro *to, ImgstatError *err)
{
    *to = (ImagePro){.memory = IMGSTAT_HOST};
    IMGSTAT_TRY(check_image(image, alpha, err));
    if (method->transform == IMGSTAT_CLAHE)
        return transform_adaptively(device, method, image, alpha, to, err);
    Transfer *transfer = NULL;
    IMGSTAT_TRY(imgstat_transfer_create(device, method, image, alpha, reference, &transfer, err));
    ImgstatResult res = output_image(image, transfer, to, err);
    if (res == IMGSTAT_OK) {
        res = device->ops->apply(device, transfer, image, alpha, to, err);
        if (res != IMGSTAT_OK)
            imgstat_image_release(to);
    }
    transfer_destroy(transfer);
    return res;
}

/* ---- Files ----------------------------------------------------------------------------------- */

ImgstatResult imgstat_image_load(const char *path, const ImgstatOpen *how, uint32_t page,
                                 ImagePro *out, ImgstatPage *info, ImgstatError *err)
{
    *out = (ImagePro){.memory = IMGSTAT_HOST};
    ImgstatPage local;
    ImgstatFile *file = NULL;
    info = info ? info : &local;
    ImgstatResult res = imgstat_file_open(path, how, &file, err);
    if (res == IMGSTAT_OK)
        res = imgstat_file_page(file, page, info, err);
    if (res == IMGSTAT_OK)
        res = imgstat_image_create(info->width, info->height, info->channels, info->sample,
                                   info->bits, out, err);
    if (res == IMGSTAT_OK) {
        res = imgstat_file_read(file, out, err);
        if (res != IMGSTAT_OK)
            imgstat_image_release(out);
    }
    imgstat_file_close(file);
    return res;
}

ImgstatResult imgstat_image_save(const ImagePro *image, int16_t alpha, const char *path,
                                 ImgstatFile *like, const ImgstatWrite *how, ImgstatError *err)
{
    static const ImgstatWrite as_input = {.format = NULL};
    IMGSTAT_TRY(check_image(image, alpha, err));
    how = how ? how : &as_input;
    Decoder *const decoder = like ? like->decoder : NULL;
    const EncodeFormat *format =
        how->format ? encode_format_named(how->format) : encode_format_of_path(path);
    if (!format && decoder && !how->format)
        format = encode_format_named(decoder->page.format);
    if (!format)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "%s: neither its ending nor a format says png or tiff", path);
    const EncodeHow encode = {.compression = how->compression,
                              .level = how->has_level ? how->level : -1,
                              .fast = how->fast};
    const EncodePage page = {.width = image->width,
                             .height = image->height,
                             .channels = image->channels,
                             .sample = image->sample,
                             .bits =
                                 image->bits ? image->bits : (uint8_t)sample_bits(image->sample),
                             .alpha = alpha};
    Warnings warnings = {.name = path};
    Output *output = NULL;
    Encoder *encoder = NULL;
    ImgstatResult res = output_open(path, how->replace, 0666, &output, err);
    if (res == IMGSTAT_OK)
        res = format->create(output, &encode, &warnings, &encoder, err);
    if (res == IMGSTAT_OK)
        res = format->begin_page(encoder, decoder, &page, err);
    if (res == IMGSTAT_OK)
        res = format->write_rows(encoder, image->host, image->pitch, image->height, err);
    if (res == IMGSTAT_OK)
        res = format->finish(encoder, err);
    if (encoder)
        format->discard(encoder);
    warnings_release(&warnings);
    if (res == IMGSTAT_OK)
        return output_commit(output, err);
    output_discard(output);
    return res;
}
