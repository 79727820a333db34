/* SPDX-License-Identifier: MIT */
/* load_save.c: the public calls that read one page into memory and write one. */
#include "base/image.h"
#include "base/sample.h"
#include "codec/codec.h"
#include "transform/output_file.h"

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
    return res;
}

ImgstatResult imgstat_image_save(const ImagePro *image, int16_t alpha, const char *path,
                                 ImgstatFile *like, const ImgstatWrite *how, ImgstatError *err)
{
    static const ImgstatWrite as_input = {.format = NULL};
    IMGSTAT_TRY(error_if_null(image && path, __func__, err));
    IMGSTAT_TRY(image_check_alpha(image, alpha, err));
    if (image->memory == IMGSTAT_CUDA)
        return error_file(err, IMGSTAT_ERR_ARG, path,
                          "the pixels are in device memory; host memory is expected");
    how = how ? how : &as_input;
    Decoder *const decoder = like ? like->decoder : NULL;
    if (decoder && !decoder->channel_names)
        return error_file(err, IMGSTAT_ERR_ARG, like->source->name,
                          "no page is selected to be like");
    const EncodeFormat *const format = output_format(how, path, decoder);
    if (!format)
        return error_file(err, IMGSTAT_ERR_ARG, path,
                          "neither its ending nor a format says png or tiff");
    const EncodeOptions encode = {.compression = how->compression,
                                  .level = how->has_level ? how->level : -1,
                                  .fast = how->fast};
    const EncodePage page = {.width = image->width,
                             .height = image->height,
                             .channels = image->channels,
                             .sample = image->sample,
                             .bits =
                                 image->bits ? image->bits : (uint8_t)sample_bits(image->sample),
                             .alpha = alpha};
    OutputFile output;
    ImgstatResult res = output_file_open(
        &output, format, path, how->replace, 0666, &encode,
        (Warnings){.warn = how->warn, .context = how->warn_context, .name = path}, NULL, err);
    if (res == IMGSTAT_OK)
        res = encoder_begin_page(output.encoder, decoder, &page, err);
    if (res == IMGSTAT_OK)
        res = encoder_write_rows(output.encoder, image->host, image->pitch, image->height, err);
    return output_file_close(&output, res, err);
}
