/* SPDX-License-Identifier: MIT */
/* encoder.c: writes pages through the table of formats. The functions ensure the order of calls
 * that formats rely on: a page is begun, then all of its rows are written. */
#include "codec/encoder.h"

#include "base/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fails where a format is not written with a compression of that name. The sentence lists those
 * that are known: it is all that the user of a program sees. */
static ImgstatResult check_compression(const EncodeFormat *format, const char *name,
                                       const char *compression, ImgstatError *err)
{
    char known[128] = "";
    size_t used = 0;
    for (const char *const *each = format->compressions; *each; each++) {
        if (strcmp(*each, compression) == 0)
            return IMGSTAT_OK;
        used +=
            (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", *each);
    }
    return error_file(err, IMGSTAT_ERR_ARG, name,
                      "%s is not written with compression \"%s\", but with %s", format->name,
                      compression, known);
}

unsigned encode_threads(const EncodeOptions *how)
{
    const unsigned all = how->pool ? thread_pool_threads(how->pool) : 1;
    return how->threads && how->threads < all ? how->threads : all;
}

ImgstatResult encoder_create(const EncodeFormat *format, AtomicFile *output,
                             const EncodeOptions *how, Warnings *warnings, Encoder **out,
                             ImgstatError *err)
{
    *out = NULL;
    if (how->compression)
        IMGSTAT_TRY(check_compression(format, output->name, how->compression, err));
    if (how->level < -1 || how->level > 22)
        return error_file(err, IMGSTAT_ERR_ARG, output->name,
                          "compression level %d is not in 0..22", how->level);
    Encoder *const encoder = calloc(1, format->encoder_bytes);
    if (!encoder)
        return error_memory(err, format->encoder_bytes, "an encoder");
    *encoder = (Encoder){.format = format, .output = output, .how = *how, .warnings = warnings};
    format->init(encoder);
    *out = encoder;
    return IMGSTAT_OK;
}

void encoder_destroy(Encoder *encoder)
{
    if (!encoder)
        return;
    encoder->format->release(encoder);
    buffer_cache_release(encoder->band);
    free(encoder);
}

EncodePage encode_page_of(const ImagePro *image, int16_t alpha)
{
    return (EncodePage){.width = image->width,
                        .height = image->height,
                        .channels = image->channels,
                        .sample = image->sample,
                        .bits = image->bits ? image->bits : (uint8_t)sample_bits(image->sample),
                        .alpha = alpha,
                        .mapped = true};
}

ImgstatResult encode_page_check(const char *name, const EncodePage *page, ImgstatError *err)
{
    if (page->width == 0 || page->height == 0 || page->channels == 0)
        return error_file(err, IMGSTAT_ERR_ARG, name, "an empty image cannot be written");
    if (page->bits == 0 || page->bits > 8 * imgstat_sample_bytes(page->sample) ||
        page->alpha >= (int)page->channels)
        return error_file(err, IMGSTAT_ERR_ARG, name,
                          "%u bits in %s samples, alpha channel %d of %u", page->bits,
                          imgstat_sample_name(page->sample), page->alpha, page->channels);
    const uint64_t bytes = /* of a row: 32 + 16 + 3 bits */
        (uint64_t)page->width * page->channels * imgstat_sample_bytes(page->sample);
    if (bytes > INT32_MAX)
        return error_file(err, IMGSTAT_ERR_LIMIT, name, "a row of %llu bytes is too long to write",
                          (unsigned long long)bytes);
    return IMGSTAT_OK;
}

ImgstatResult encoder_begin_page(Encoder *encoder, Decoder *like, const EncodePage *page,
                                 ImgstatError *err)
{
    const char *const name = encoder->output->name;
    if (encoder->pages > 0 && encoder->next_row != encoder->page.height)
        return error_file(err, IMGSTAT_ERR_ARG, name, "page %u has %u of its %u rows",
                          encoder->pages - 1, encoder->next_row + encoder->held,
                          encoder->page.height);
    IMGSTAT_TRY(encode_page_check(name, page, err));
    if (page->has_parent && page->parent >= encoder->pages)
        return error_file(err, IMGSTAT_ERR_ARG, name, "page %u cannot lie in page %u",
                          encoder->pages, page->parent);
    buffer_cache_release(encoder->band);
    encoder->band = NULL;
    encoder->page = *page;
    encoder->next_row = 0;
    IMGSTAT_TRY(encoder->format->begin_page(encoder, like, err));
    if (like) /* its metadata may have been left out */
        IMGSTAT_TRY(decoder_settle(like, IMGSTAT_OK, err));
    encoder->pages++;
    return IMGSTAT_OK;
}

static ImgstatResult write_band(Encoder *encoder, const uint8_t *rows, size_t pitch, uint32_t n,
                                ImgstatError *err)
{
    IMGSTAT_TRY(encoder->format->write_rows(encoder, rows, pitch, n, err));
    encoder->next_row += n;
    encoder->held = 0;
    return IMGSTAT_OK;
}

ImgstatResult encoder_write_rows(Encoder *encoder, const void *rows, size_t pitch, uint32_t n,
                                 ImgstatError *err)
{
    const EncodePage *const page = &encoder->page;
    const uint8_t *from = rows;
    const size_t row_bytes =
        (size_t)page->width * page->channels * imgstat_sample_bytes(page->sample);
    if (encoder->pages == 0 || n > page->height - encoder->next_row - encoder->held ||
        pitch < row_bytes)
        return error_file(err, IMGSTAT_ERR_ARG, encoder->output->name,
                          "%u rows of %zu bytes were given for page %u", n, pitch,
                          encoder->pages - 1);
    while (n > 0) {
        const uint32_t left = page->height - encoder->next_row;
        const uint32_t whole = encoder->band_rows < left ? encoder->band_rows : left;
        if (encoder->held == 0 && n >= whole) { /* straight from the caller's rows */
            IMGSTAT_TRY(write_band(encoder, from, pitch, whole, err));
            from += whole * pitch;
            n -= whole;
            continue;
        }
        if (!encoder->band)
            encoder->band = buffer_cache_acquire(encoder->how.scratch, whole * row_bytes);
        if (!encoder->band)
            return error_memory(err, whole * row_bytes, "rows to compress");
        memcpy(encoder->band + encoder->held * row_bytes, from, row_bytes);
        from += pitch;
        n--;
        if (++encoder->held == whole)
            IMGSTAT_TRY(write_band(encoder, encoder->band, row_bytes, whole, err));
    }
    return IMGSTAT_OK;
}

ImgstatResult encoder_finish(Encoder *encoder, ImgstatError *err)
{
    if (encoder->pages == 0 || encoder->next_row != encoder->page.height)
        return error_file(err, IMGSTAT_ERR_ARG, encoder->output->name, "%u of %u rows were given",
                          encoder->next_row + encoder->held, encoder->page.height);
    return encoder->format->finish(encoder, err);
}

/* ---- A file from its first byte to its name ---- */

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
