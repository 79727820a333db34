/* SPDX-License-Identifier: MIT */
/* output_file.c: an encoder and the file that it writes, opened and closed together. */
#include "transform/output_file.h"

#include "codec/table.h"

const EncodeFormat *output_format(const ImgstatWrite *write, const char *path,
                                  const Decoder *decoder)
{
    if (write->format)
        return encode_format_named(write->format);
    const EncodeFormat *const format = encode_format_of_path(path);
    return format || !decoder ? format : encode_format_named(decoder->page.format);
}

ImgstatResult output_file_open(OutputFile *output, const EncodeFormat *format, const char *path,
                               bool replace, mode_t mode, const EncodeOptions *options,
                               Warnings warnings, const Cancel *cancel, ImgstatError *err)
{
    *output = (OutputFile){.warnings = warnings};
    IMGSTAT_TRY(atomic_file_open(path, replace, mode, &output->file, err));
    output->file->cancel = cancel;
    return encoder_create(format, output->file, options, &output->warnings, &output->encoder, err);
}

ImgstatResult output_file_close(OutputFile *output, ImgstatResult result, ImgstatError *err)
{
    if (result == IMGSTAT_OK)
        result = encoder_finish(output->encoder, err);
    encoder_destroy(output->encoder);
    warnings_release(&output->warnings);
    if (result == IMGSTAT_OK && output->file->cancel)
        result = cancel_check(output->file->cancel, err);
    if (result == IMGSTAT_OK)
        return atomic_file_commit(output->file, err);
    atomic_file_discard(output->file);
    return result;
}
