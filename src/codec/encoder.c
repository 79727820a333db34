/* SPDX-License-Identifier: MIT */
/* encoder.c: the formats that can be written, and the checks they share. */
#include "codec/encoder.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const EncodeFormat *const formats[] = {&png_format, &tiff_format};

const EncodeFormat *encode_format_named(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return strcmp(name, "tif") == 0 ? &tiff_format : NULL;
}

const EncodeFormat *encode_format_of_path(const char *path)
{
    const char *const slash = strrchr(path, '/');
    const char *const dot = strrchr(slash ? slash : path, '.');
    static const char *const tiff_endings[] = {".tif", ".tiff", ".gtiff", ".btf", ".tf8"};
    if (!dot)
        return NULL;
    if (strcasecmp(dot, ".png") == 0)
        return &png_format;
    for (size_t i = 0; i < sizeof tiff_endings / sizeof *tiff_endings; i++)
        if (strcasecmp(dot, tiff_endings[i]) == 0)
            return &tiff_format;
    return NULL;
}

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
    return error_set(err, IMGSTAT_ERR_ARG,
                     "%s: %s is not written with compression \"%s\", but with %s", name,
                     format->name, compression, known);
}

unsigned encode_threads(const EncodeOptions *how)
{
    const unsigned all = how->pool ? thread_pool_threads(how->pool) : 1;
    return how->threads && how->threads < all ? how->threads : all;
}

ImgstatResult encode_init(Encoder *encoder, const EncodeFormat *format, AtomicFile *output,
                          const EncodeOptions *how, Warnings *warnings, ImgstatError *err)
{
    if (how->compression && !encode_compression_known(format, how->compression))
        return unknown_compression(format, output->name, how->compression, err);
    if (how->level < -1 || how->level > 22)
        return error_set(err, IMGSTAT_ERR_ARG, "%s: compression level %d is not in 0..22",
                         output->name, how->level);
    *encoder = (Encoder){.format = format, .output = output, .how = *how, .warnings = warnings};
    return IMGSTAT_OK;
}

ImgstatResult encode_check_page(const Encoder *encoder, const EncodePage *page, ImgstatError *err)
{
    const char *const name = encoder->output->name;
    if (encoder->pages > 0 && encoder->next_row != encoder->page.height)
        return error_set(err, IMGSTAT_ERR_ARG, "%s: page %u has %u of its %u rows", name,
                         encoder->pages - 1, encoder->next_row, encoder->page.height);
    if (page->width == 0 || page->height == 0 || page->channels == 0)
        return error_set(err, IMGSTAT_ERR_ARG, "%s: an empty image cannot be written", name);
    if (page->bits == 0 || page->bits > 8 * imgstat_sample_bytes(page->sample) ||
        page->alpha >= (int)page->channels)
        return error_set(err, IMGSTAT_ERR_ARG, "%s: %u bits in %s samples, alpha channel %d of %u",
                         name, page->bits, imgstat_sample_name(page->sample), page->alpha,
                         page->channels);
    uint64_t bytes = 0; /* of a row: 32 + 16 + 3 bits */
    bytes = (uint64_t)page->width * page->channels * imgstat_sample_bytes(page->sample);
    if (bytes > INT32_MAX)
        return error_set(err, IMGSTAT_ERR_LIMIT, "%s: a row of %llu bytes is too long to write",
                         name, (unsigned long long)bytes);
    return IMGSTAT_OK;
}

ImgstatResult encode_check_rows(const Encoder *encoder, size_t pitch, uint32_t n, ImgstatError *err)
{
    const EncodePage *const page = &encoder->page;
    const size_t row_bytes =
        (size_t)page->width * page->channels * imgstat_sample_bytes(page->sample);
    if (encoder->pages == 0 || n > page->height - encoder->next_row || pitch < row_bytes)
        return error_set(err, IMGSTAT_ERR_ARG, "%s: %u rows of %zu bytes were given for page %u",
                         encoder->output->name, n, pitch, encoder->pages - 1);
    return IMGSTAT_OK;
}

ImgstatResult encode_check_end(const Encoder *encoder, ImgstatError *err)
{
    if (encoder->pages > 0 && encoder->next_row == encoder->page.height)
        return IMGSTAT_OK;
    return error_set(err, IMGSTAT_ERR_ARG, "%s: %u of %u rows were given", encoder->output->name,
                     encoder->next_row, encoder->page.height);
}
