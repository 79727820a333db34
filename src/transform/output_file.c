/* SPDX-License-Identifier: MIT */
/* output_file.c: a file from its first byte to its name. */
#include "transform/output_file.h"

ImgstatResult output_file_format(const ImgstatWrite *how, const char *path, const Decoder *like,
                                 const EncodeFormat **out, ImgstatError *err)
{
    *out = how->format ? encode_format_named(how->format) : encode_format_of_path(path);
    if (!*out && how->format)
        return error_file(err, IMGSTAT_ERR_ARG, path, "no format is called \"%s\"", how->format);
    if (!*out && like)
        *out = encode_format_named(like->page.format);
    return *out ? IMGSTAT_OK
                : error_file(err, IMGSTAT_ERR_ARG, path,
                             "neither its ending nor a format says png or tiff");
}

ImgstatResult output_file_open(OutputFile *output, const EncodeFormat *format,
                               const OutputPlace *place, const EncodeOptions *options,
                               Warnings warnings, const Cancel *cancel, ImgstatError *err)
{
    *output = (OutputFile){.warnings = warnings};
    IMGSTAT_TRY(place->sink ? atomic_file_open_sink(place->name, place->sink, &output->file, err)
                            : atomic_file_open(place->name, place->replace, place->mode,
                                               &output->file, err));
    output->file->cancel = cancel;
    output->file->most = place->most;
    return encoder_create(format, output->file, options, &output->warnings, &output->encoder, err);
}

ImgstatResult output_file_close(OutputFile *output, ImgstatResult result, AtomicFile **later,
                                ImgstatError *err)
{
    if (result == IMGSTAT_OK)
        result = encoder_finish(output->encoder, err);
    encoder_destroy(output->encoder);
    warnings_release(&output->warnings);
    if (result == IMGSTAT_OK)
        result = cancel_check(output->file->cancel, err);
    if (result == IMGSTAT_OK && later && output->file->target) {
        *later = output->file;
        return IMGSTAT_OK;
    }
    if (result == IMGSTAT_OK)
        return atomic_file_commit(output->file, err);
    atomic_file_discard(output->file);
    return result;
}
