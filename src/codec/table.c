/* SPDX-License-Identifier: MIT */
/* table.c: the only file that names formats. */
#include "codec/table.h"

#include "base/compiler.h"

#include <string.h>
#include <strings.h>

static const Codec *const codecs[] = {&png_codec, &tiff_codec, NULL};

static const struct {
    const char *word; /* a name, or the ending of a file name */
    const EncodeFormat *format;
} formats[] = {{"png", &png_format},     {"tiff", &tiff_format}, {"tif", &tiff_format},
               {".png", &png_format},    {".tif", &tiff_format}, {".tiff", &tiff_format},
               {".gtiff", &tiff_format}, {".btf", &tiff_format}, {".tf8", &tiff_format}};

const Codec *codec_at(size_t i)
{
    return codecs[i];
}

ImgstatResult codec_of_bytes(const uint8_t *bytes, size_t n, const char *name, const Codec **out,
                             ImgstatError *err)
{
    for (size_t i = 0; codecs[i]; i++) {
        if (codecs[i]->probe(bytes, n)) {
            *out = codecs[i];
            return IMGSTAT_OK;
        }
    }
    return error_file(err, IMGSTAT_ERR_FORMAT, name, "is neither PNG nor TIFF");
}

const EncodeFormat *encode_format_named(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (formats[i].word[0] != '.' && strcmp(formats[i].word, name) == 0)
            return formats[i].format;
    return NULL;
}

const EncodeFormat *encode_format_of_path(const char *path)
{
    const char *const slash = strrchr(path, '/');
    const char *const ending = strrchr(slash ? slash : path, '.');
    for (size_t i = 0; ending && i < ARRAY_LEN(formats); i++)
        if (strcasecmp(formats[i].word, ending) == 0)
            return formats[i].format;
    return NULL;
}
