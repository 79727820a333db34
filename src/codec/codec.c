/* SPDX-License-Identifier: MIT */
/* encoder.c: the frame of every encoder, and the checks that all formats share. */
#include "codec/encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool encode_compression_known(const EncodeFormat *format, const char *compression)
{
    for (const char *const *name = format->compressions; *name; name++)
        if (strcmp(*name, compression) == 0)
            return true;
    return false;
}

/* What `compression` may be is named: a program's user has only this sentence. */
static ImgstatResult unknown_compression(const EncodeFormat *format, const char *name,
                                         const char *compression, ImgstatError *err)
{
    char known[128] = "";
    size_t used = 0;
    for (const char *const *each = format->compressions; *each; each++)
        used +=
            (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", *each);
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
    if (how->compression && !encode_compression_known(format, how->compression))
        return unknown_compression(format, output->name, how->compression, err);
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
    free(encoder);
}

static ImgstatResult check_page(const char *name, const EncodePage *page, ImgstatError *err)
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
                          encoder->pages - 1, encoder->next_row, encoder->page.height);
    IMGSTAT_TRY(check_page(name, page, err));
    if (page->has_parent && page->parent >= encoder->pages)
        return error_file(err, IMGSTAT_ERR_ARG, name, "page %u cannot lie in page %u",
                          encoder->pages, page->parent);
    encoder->page = *page;
    encoder->next_row = encoder->band_rows = 0;
    IMGSTAT_TRY(encoder->format->begin_page(encoder, like, err));
    encoder->pages++;
    return IMGSTAT_OK;
}

ImgstatResult encoder_write_rows(Encoder *encoder, const void *rows, size_t pitch, uint32_t n,
                                 ImgstatError *err)
{
    const EncodePage *const page = &encoder->page;
    const size_t row_bytes =
        (size_t)page->width * page->channels * imgstat_sample_bytes(page->sample);
    if (encoder->pages == 0 || n > page->height - encoder->next_row || pitch < row_bytes)
        return error_file(err, IMGSTAT_ERR_ARG, encoder->output->name,
                          "%u rows of %zu bytes were given for page %u", n, pitch,
                          encoder->pages - 1);
    IMGSTAT_TRY(encoder->format->write_rows(encoder, rows, pitch, n, err));
    encoder->next_row += n;
    return IMGSTAT_OK;
}

ImgstatResult encoder_finish(Encoder *encoder, ImgstatError *err)
{
    if (encoder->pages == 0 || encoder->next_row != encoder->page.height)
        return error_file(err, IMGSTAT_ERR_ARG, encoder->output->name, "%u of %u rows were given",
                          encoder->next_row, encoder->page.height);
    return encoder->format->finish(encoder, err);
}
