/* SPDX-License-Identifier: MIT */
/* image.c: the public calls for one image: load it, make a transfer for it, apply it, save it. */
#include "codec/encoder.h"
#include "transform/clahe_page.h"
#include "transform/page.h"

#include <stdlib.h>

enum { SORT_BYTES = 64 << 20 };

ImgstatSample imgstat_transfer_output(const ImgstatTransfer *transfer, uint8_t *bits)
{
    const ImgstatSample sample = transfer->rescale.to.sample;
    if (bits)
        *bits = transfer->to_bits ? transfer->to_bits : (uint8_t)sample_bits(sample);
    return sample;
}

static ImgstatResult transfer_input_pixels(Device *device, const ImgstatMethod *method,
                                           const ImagePro *image, const TransferShape *shape,
                                           TransferInput **out, ImgstatError *err)
{
    PageReader reader;
    page_reader_of_image(device, image, &reader);
    return transfer_input_image(method, &reader, shape, SORT_BYTES, out, err);
}

/* The reference has no alpha channel of its own unless it has one more than its colours. */
static ImgstatResult transfer_input_reference(Device *device, const ImagePro *reference,
                                              const ImagePro *image, int16_t alpha,
                                              const ImgstatMethod *method, TransferInput **out,
                                              ImgstatError *err)
{
    const bool same = reference->channels == image->channels;
    const TransferShape shape = shape_of_image(reference, same ? alpha : (int16_t)-1);
    return transfer_input_pixels(device, method, reference, &shape, out, err);
}

ImgstatResult imgstat_transfer_create(ImgstatDevice *device, const ImgstatMethod *method,
                                      const ImagePro *image, int16_t alpha,
                                      const ImagePro *reference, ImgstatTransfer **out,
                                      ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(device && method && image && out, __func__, err));
    IMGSTAT_TRY(image_check_alpha(image, alpha, err));
    IMGSTAT_TRY(image_check(image, err));
    if (reference)
        IMGSTAT_TRY(image_check(reference, err));
    if (method->transform == IMGSTAT_CLAHE)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "adaptive equalization depends on the place: it has no transfer");
    IMGSTAT_TRY(
        transfer_check_reference(method->transform == IMGSTAT_MATCH, reference != NULL, err));
    const TransferShape shape = shape_of_input(method, image, alpha);
    const ImgstatMethod bare = {.transform = method->transform, .channels = method->channels};
    TransferInput *input = NULL, *other = NULL;
    MatchReference match = {.n_sources = 0};
    ImgstatResult res = IMGSTAT_OK;
    if (reference) {
        res = transfer_input_reference(device, reference, image, alpha, &bare, &other, err);
        if (res == IMGSTAT_OK)
            match = (MatchReference){.sample = reference->sample,
                                     .bits = reference->bits,
                                     .n_sources = other->n_sources,
                                     .sources = other->sources};
    }
    if (res == IMGSTAT_OK)
        res = transfer_input_pixels(device, method, image, &shape, &input, err);
    if (res == IMGSTAT_OK)
        res = transfer_create(device->cache, method, &shape, input->sources,
                              reference ? &match : NULL, out, err);
    transfer_input_destroy(input);
    transfer_input_destroy(other);
    return res;
}

size_t imgstat_transfer_count(const ImgstatTransfer *transfer)
{
    size_t n = 0;
    for (; transfer; transfer = transfer->next)
        n++;
    return n;
}

ImgstatResult imgstat_transfer_fits(const ImgstatTransfer *transfer, const ImgstatPage *page,
                                    const char *group, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(transfer && page, __func__, err));
    if (page_is_mask(page))
        return IMGSTAT_OK;
    const ImagePro image = {.channels = page->channels, .sample = page->sample, .bits = page->bits};
    const TransferChannel channel = {.known = page->has_axes,
                                     .c = page->axis_c,
                                     .name = page->axis_repeats ? NULL : page->axis_name,
                                     .group = group};
    const ImgstatKind kind = {.sample = page->sample,
                              .bits = page->bits,
                              .channels = page->channels,
                              .alpha = page->alpha,
                              .photometric = page->photometric};
    IMGSTAT_TRY(transfer_set_find(transfer, &channel, &kind, &transfer, err));
    return transfer_check_image(transfer, &image, page->alpha, err);
}

ImgstatResult imgstat_transfer_apply(ImgstatDevice *device, const ImgstatTransfer *transfer,
                                     const ImagePro *from, int16_t alpha, ImagePro *to,
                                     ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(device && transfer && from && to, __func__, err));
    IMGSTAT_TRY(image_check(from, err));
    const TransferChannel channel = {.known = false};
    const ImgstatKind kind = {
        .sample = from->sample, .bits = from->bits, .channels = from->channels, .alpha = -1};
    IMGSTAT_TRY(transfer_set_find(transfer, &channel, &kind, &transfer, err));
    IMGSTAT_TRY(transfer_check_image(transfer, from, alpha, err));
    TransferShape shape = shape_of_image(from, alpha);
    shape_set_hole_in_memory(&shape, transfer->rescale.to.sample);
    Transfer *own = NULL;
    if (transfer_lacks_nodata(transfer, &shape))
        IMGSTAT_TRY(transfer_with_nodata(device->cache, transfer, &shape, &own, err));
    Transfer fills = own ? *own : *transfer;
    fills.holes = transfer_holes_in_memory(&fills, &shape);
    ImgstatResult res = device->ops->apply(device, &fills, from, alpha, to, err);
    if (res == IMGSTAT_OK)
        res = device_wait(device, err);
    transfer_destroy(own);
    return res;
}

/* An image of the caller, or a new one for a host image, whose nodata value is what undefined
 * samples become. */
static ImgstatResult output_image(const ImagePro *image, const Transfer *transfer, bool given,
                                  ImagePro *to, ImgstatError *err)
{
    if (given)
        return IMGSTAT_OK;
    uint8_t bits;
    const ImgstatSample sample = imgstat_transfer_output(transfer, &bits);
    IMGSTAT_TRY(
        image_create_unset(image->width, image->height, image->channels, sample, bits, to, err));
    to->first_row = image->first_row;
    TransferShape shape = shape_of_image(image, -1);
    shape_set_hole_in_memory(&shape, sample);
    if (shape.has_hole)
        imgstat_image_set_nodata(to, sample_value(sample, shape.hole_key));
    else if (image->has_nodata)
        imgstat_image_set_nodata(to, sample_value(image->sample, image->nodata_key));
    return IMGSTAT_OK;
}

static ImgstatResult transform_adaptively(Device *device, const ImgstatMethod *method,
                                          const ImagePro *image, int16_t alpha, bool given,
                                          ImagePro *to, ImgstatError *err)
{
    const TransferShape shape = shape_of_input(method, image, alpha);
    ClahePage *clahe = NULL;
    PageReader reader;
    ImagePro whole = *image; /* even if it is a band of something else */
    whole.first_row = 0;
    page_reader_of_image(device, &whole, &reader);
    ImgstatResult res = clahe_page_create(method, &shape, &reader, &clahe, err);
    if (res == IMGSTAT_OK)
        res = output_image(image, clahe->rescale, given, to, err);
    if (res == IMGSTAT_OK) {
        clahe->rescale->holes = transfer_holes_in_memory(clahe->rescale, &shape);
        res = device->ops->clahe_apply(device, clahe, &whole, to, err);
        if (res == IMGSTAT_OK)
            res = device_wait(device, err);
        if (res != IMGSTAT_OK && !given)
            imgstat_image_release(to);
    }
    clahe_page_destroy(device, clahe);
    return res;
}

/* given: `to` is an image of the caller. */
static ImgstatResult transform(Device *device, const ImgstatMethod *method, const ImagePro *image,
                               int16_t alpha, const ImagePro *reference, bool given, ImagePro *to,
                               ImgstatError *err)
{
    IMGSTAT_TRY(image_check_alpha(image, alpha, err));
    IMGSTAT_TRY(image_check(image, err));
    if (method->transform == IMGSTAT_CLAHE) {
        IMGSTAT_TRY(transfer_check_reference(false, reference != NULL, err));
        return transform_adaptively(device, method, image, alpha, given, to, err);
    }
    Transfer *transfer = NULL;
    IMGSTAT_TRY(imgstat_transfer_create(device, method, image, alpha, reference, &transfer, err));
    ImgstatResult res = output_image(image, transfer, given, to, err);
    if (res == IMGSTAT_OK) {
        res = imgstat_transfer_apply(device, transfer, image, alpha, to, err);
        if (res != IMGSTAT_OK && !given)
            imgstat_image_release(to);
    }
    transfer_destroy(transfer);
    return res;
}

ImgstatResult imgstat_image_transform(ImgstatDevice *device, const ImgstatMethod *method,
                                      const ImagePro *image, int16_t alpha,
                                      const ImagePro *reference, ImagePro *to, ImgstatError *err)
{
    const bool given = image && image->memory == IMGSTAT_CUDA;
    if (to && image && !given)
        *to = (ImagePro){.memory = IMGSTAT_HOST};
    IMGSTAT_TRY(error_if_null(device && method && image && to, __func__, err));
    return transform(device, method, image, alpha, reference, given, to, err);
}

ImgstatResult imgstat_image_transform_to(ImgstatDevice *device, const ImgstatMethod *method,
                                         const ImagePro *image, int16_t alpha,
                                         const ImagePro *reference, ImagePro *to, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(device && method && image && to, __func__, err));
    return transform(device, method, image, alpha, reference, true, to, err);
}

/* ---- From a file ---- */

ImgstatResult imgstat_image_load(const char *path, const ImgstatOpen *how, uint32_t page,
                                 ImagePro *out, ImgstatPage *info, ImgstatError *err)
{
    if (out)
        *out = (ImagePro){.memory = IMGSTAT_HOST};
    IMGSTAT_TRY(error_if_null(path && out, __func__, err));
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
    return error_add_file(err, res, path);
}

/* ---- To a file ---- */

static ImgstatResult save(const ImagePro *image, int16_t alpha, const char *path,
                          const ImgstatOutput *sink, ImgstatFile *like, const ImgstatWrite *how,
                          ImgstatError *err)
{
    static const ImgstatWrite as_input = {.format = NULL};
    IMGSTAT_TRY(image_check_alpha(image, alpha, err));
    if (image->memory == IMGSTAT_CUDA)
        return error_file(err, IMGSTAT_ERR_ARG, path,
                          "the pixels are in device memory; host memory is expected");
    how = how ? how : &as_input;
    Decoder *const decoder = like ? like->decoder : NULL;
    if (decoder && !decoder->channel_names)
        return error_file(err, IMGSTAT_ERR_ARG, like->source->name,
                          "no page is selected to be like");
    const EncodeFormat *format;
    IMGSTAT_TRY(output_file_format(how, path, decoder, &format, err));
    const EncodeOptions encode = {.compression = how->compression,
                                  .level = how->has_level ? how->level : -1,
                                  .fast = how->fast};
    EncodePage page = encode_page_of(image, alpha);
    if (image->has_nodata && format->has_nodata) {
        page.has_nodata = true;
        page.nodata = sample_value(image->sample, image->nodata_key);
    }
    const OutputPlace place = {.name = path, .sink = sink, .replace = how->replace, .mode = 0666};
    const Cancel cancel = {.check = how->cancelled, .context = how->cancelled_context};
    OutputFile output;
    ImgstatResult res = output_file_open(
        &output, format, &place, &encode,
        (Warnings){.warn = how->warn, .context = how->warn_context, .name = path}, &cancel, err);
    if (res == IMGSTAT_OK) {
        if (decoder && decoder->page.pages > 1)
            output.encoder->chain = &decoder->page.page;
        output.encoder->n_chain = 1;
        res = encoder_begin_page(output.encoder, decoder, &page, err);
    }
    if (res == IMGSTAT_OK)
        res = encoder_write_rows(output.encoder, image->host, image->pitch, image->height, err);
    return error_add_file(err, output_file_close(&output, res, NULL, err), path);
}

ImgstatResult imgstat_image_save(const ImagePro *image, int16_t alpha, const char *path,
                                 ImgstatFile *like, const ImgstatWrite *how, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(image && path, __func__, err));
    return save(image, alpha, path, NULL, like, how, err);
}

ImgstatResult imgstat_image_save_to(const ImagePro *image, int16_t alpha, const char *name,
                                    const ImgstatOutput *output, ImgstatFile *like,
                                    const ImgstatWrite *how, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(image && name && output && output->write, __func__, err));
    return save(image, alpha, name, output, like, how, err);
}
