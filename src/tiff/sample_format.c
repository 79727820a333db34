/* SPDX-License-Identifier: MIT */
/* sample_format.c: what a TIFF directory declares of its samples: types, channel names, palette,
 * and the value that stands for "undefined". */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strtod_l */
#endif
#include "base/compiler.h"
#include "base/pixel.h"
#include "base/sample.h"
#include "tiff/decoder.h"
#include "tiff/field_rewrite.h"
#include "tiff/tag_source.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Photometric interpretations that libtiff has no name for, or had none in 4.3. */
enum { PHOTO_CFA = 32803, PHOTO_LINEAR_RAW = 34892 };

typedef struct CodeName {
    uint16_t code;
    const char *name;
} CodeName;

static const CodeName compressions[] = {
    {1, "none"},
    {2, "CCITT RLE"},
    {3, "CCITT T.4"},
    {4, "CCITT T.6"},
    {5, "LZW"},
    {6, "old JPEG"},
    {7, "JPEG"},
    {8, "deflate"},
    {9, "JBIG (T.85)"},
    {10, "JBIG (T.43)"},
    {32766, "NeXT"},
    {32771, "CCITT RLE/W"},
    {32773, "PackBits"},
    {32809, "ThunderScan"},
    {32895, "IT8 CTPAD"},
    {32896, "IT8 LW"},
    {32897, "IT8 MP"},
    {32898, "IT8 BL"},
    {32908, "Pixar film"},
    {32909, "PixarLog"},
    {32946, "deflate"},
    {32947, "Kodak DCS"},
    {33003, "JPEG 2000 (Aperio)"},
    {33005, "JPEG 2000 (Aperio)"},
    {34661, "JBIG"},
    {34676, "SGILog"},
    {34677, "SGILog 24"},
    {34712, "JPEG 2000"},
    {34887, "LERC"},
    {34892, "lossy JPEG (DNG)"},
    {34925, "LZMA"},
    {34933, "PNG"},
    {34934, "JPEG XR"},
    {50000, "Zstandard"},
    {50001, "WebP"},
    {50002, "JPEG XL"},
    {52546, "JPEG XL (DNG)"},
};

const char *tiff_compression_at(size_t i)
{
    return i < ARRAY_LEN(compressions) ? compressions[i].name : NULL;
}

const char *tiff_compression_name(uint16_t compression)
{
    for (size_t i = 0; i < ARRAY_LEN(compressions); i++)
        if (compressions[i].code == compression)
            return compressions[i].name;
    return NULL;
}

/* ---- Channels ---- */

typedef struct Photometric {
    uint16_t code;
    const char *name;
    uint16_t n_names; /* channels that the colour space itself has */
    const char *names[4];
} Photometric;

static const Photometric *photometric_of(uint16_t code)
{
    static const Photometric known[] = {
        {PHOTOMETRIC_MINISWHITE, "min-is-white", 1, {"gray"}},
        {PHOTOMETRIC_MINISBLACK, "gray", 1, {"gray"}},
        {PHOTOMETRIC_RGB, "rgb", 3, {"red", "green", "blue"}},
        {PHOTOMETRIC_PALETTE, "palette", 1, {"index"}},
        {PHOTOMETRIC_MASK, "mask", 1, {"mask"}},
        {PHOTOMETRIC_SEPARATED, "cmyk", 4, {"cyan", "magenta", "yellow", "black"}},
        {PHOTOMETRIC_YCBCR, "ycbcr", 3, {"red", "green", "blue"}}, /* as converted */
        {PHOTOMETRIC_CIELAB, "lab", 3, {"L", "a", "b"}},
        {PHOTOMETRIC_ICCLAB, "icc-lab", 3, {"L", "a", "b"}},
        {PHOTOMETRIC_ITULAB, "itu-lab", 3, {"L", "a", "b"}},
        {PHOTO_CFA, "cfa", 1, {"cfa"}},
        {PHOTO_LINEAR_RAW, "linear-raw", 3, {"red", "green", "blue"}},
        {PHOTOMETRIC_LOGL, "log-l", 1, {"log-luminance"}},
        {PHOTOMETRIC_LOGLUV, "log-luv", 3, {"log-luminance", "u", "v"}},
    };
    static const Photometric other = {0, "unknown", 0, {NULL}};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (known[i].code == code)
            return &known[i];
    return &other;
}

/* The name of a channel beyond those of the colour space. */
static void name_extra(uint16_t kind, bool first_alpha, unsigned number, char *to, size_t bytes)
{
    if (kind != EXTRASAMPLE_UNSPECIFIED && first_alpha)
        snprintf(to, bytes, "alpha");
    else
        snprintf(to, bytes, "extra%u", number);
}

/* Finds the text of a tag, which other users of libtiff in the process may have declared with
 * another shape. *bytes is 0 where there is none. */
static const char *find_text(TiffDecoder *td, uint32_t tag, size_t *bytes)
{
    TIFF *const tif = td->handle.tif;
    const TIFFField *const field = TIFFFindField(tif, tag, TIFF_ANY);
    const char *data = NULL;
    bool found = false;
    *bytes = 0;
    if (!field || TIFFFieldDataType(field) != TIFF_ASCII)
        return NULL;
    if (TIFFFieldPassCount(field) && TIFFFieldReadCount(field) == TIFF_VARIABLE2) {
        uint32_t count = 0;
        found = TIFFGetField(tif, tag, &count, &data);
        *bytes = found && data ? strnlen(data, count) : 0;
    } else if (TIFFFieldPassCount(field)) {
        uint16_t count = 0;
        found = TIFFGetField(tif, tag, &count, &data);
        *bytes = found && data ? strnlen(data, count) : 0;
    } else {
        found = TIFFGetField(tif, tag, &data);
        *bytes = found && data ? strlen(data) : 0;
    }
    if (found && !data)
        tiff_no_memory(td);
    return data;
}

/* Copies GDAL's text of the page, or of the image whose level it is. *out is NULL where there is
 * none. */
static ImgstatResult band_text(TiffDecoder *td, char **out, ImgstatError *err)
{
    const PageList *const list = &td->base.list;
    const PageEntry *const entry = &list->entry[td->base.page.page];
    size_t bytes = 0;
    const char *const found = find_text(td, TAG_GDAL_METADATA, &bytes);
    *out = NULL;
    if (bytes > 0) {
        *out = strndup(found, bytes); /* the field may lack its NUL */
        return *out ? IMGSTAT_OK : error_memory(err, bytes, "channel names");
    }
    TiffTagSource file;
    TiffLoaded field;
    if (entry->role != IMGSTAT_ROLE_LEVEL || !tiff_tag_source(td->base.source, &file))
        return IMGSTAT_OK;
    IMGSTAT_TRY(tiff_tag_load(&file, list->entry[entry->owner].at, TAG_GDAL_METADATA, &field, err));
    *out = (char *)field.data;
    return IMGSTAT_OK;
}

/* Channels that are no colours have the names that the file gives them: of the stack's channel, of
   GDAL's bands. own: channels that the colour space has. */
static ImgstatResult name_by_texts(TiffDecoder *td, size_t own, ImgstatError *err)
{
    const ImgstatPage *const page = &td->base.page;
    const size_t n = page->channels, room = n * STACK_NAME_BYTES;
    const size_t first = td->layout.photometric > PHOTOMETRIC_MINISBLACK ? own : 0;
    char *text;
    if (first >= n)
        return IMGSTAT_OK;
    if (n == 1 && page->axis_name) {
        td->names[0] = (char *)(uintptr_t)page->axis_name;
        return IMGSTAT_OK;
    }
    IMGSTAT_TRY(band_text(td, &text, err));
    if (!text)
        return IMGSTAT_OK;
    char(*const names)[STACK_NAME_BYTES] = malloc(room);
    td->band_names = names;
    if (!names) {
        free(text);
        return error_memory(err, room, "channel names");
    }
    const ImgstatResult res = gdal_band_names(text, page->channels, names, err);
    free(text);
    IMGSTAT_TRY(res);
    for (size_t c = first; c < n; c++)
        if (*names[c] && (int)c != page->alpha)
            td->names[c] = names[c];
    return IMGSTAT_OK;
}

/* Names the channels and finds alpha. own: channels that the colour space has, by names[]. */
static ImgstatResult name_channels(TiffDecoder *td, const char *const *names, uint16_t own,
                                   ImgstatError *err)
{
    enum { NAME_BYTES = 16 };
    ImgstatPage *const page = &td->base.page;
    const size_t n = page->channels;
    uint16_t n_kinds = 0;
    const uint16_t *kinds = NULL;
    TIFFGetFieldDefaulted(td->handle.tif, TIFFTAG_EXTRASAMPLES, &n_kinds, &kinds);
    if (n_kinds > 0 && !kinds)
        return error_memory(err, n_kinds, "kinds of samples");
    td->names = malloc(n * (sizeof *td->names + NAME_BYTES));
    if (!td->names)
        return error_memory(err, n * (sizeof *td->names + NAME_BYTES), "channel names");
    char *text = (char *)(td->names + n);
    page->alpha = -1;
    for (size_t c = 0; c < n; c++, text += NAME_BYTES) {
        td->names[c] = text;
        if (c < own) {
            snprintf(text, NAME_BYTES, "%s", names[c]);
            continue;
        }
        /* ExtraSamples describes the last n_kinds samples. */
        const size_t from_end = n - c;
        const uint16_t kind =
            from_end <= n_kinds ? kinds[n_kinds - from_end] : EXTRASAMPLE_UNSPECIFIED;
        const bool first_alpha = page->alpha < 0 && c <= INT16_MAX;
        name_extra(kind, first_alpha, (unsigned)(c - own + 1), text, NAME_BYTES);
        if (kind != EXTRASAMPLE_UNSPECIFIED && first_alpha)
            page->alpha = (int16_t)c;
    }
    td->base.channel_names = (const char *const *)td->names;
    return IMGSTAT_OK;
}

const char *tiff_photometric_name(uint16_t code)
{
    return photometric_of(code)->name;
}

ImgstatResult tiff_page_channels(TiffDecoder *td, ImgstatError *err)
{
    static const char *const rgb[] = {"red", "green", "blue"};
    static const char *const inks[] = {"ink1", "ink2", "ink3", "ink4"};
    const TiffLayout *const layout = &td->layout;
    const Photometric *const photo = photometric_of(layout->photometric);
    uint16_t ink_set = INKSET_CMYK;
    const char *const *names = photo->names;
    uint16_t own = photo->n_names;
    td->base.page.photometric = photo->name;
    if (td->map8 || td->map16) {
        names = rgb;
        own = 3;
    } else if (layout->photometric == PHOTOMETRIC_SEPARATED) {
        TIFFGetFieldDefaulted(td->handle.tif, TIFFTAG_INKSET, &ink_set);
        if (ink_set != INKSET_CMYK || layout->samples < 4)
            names = inks;
    }
    IMGSTAT_TRY(
        name_channels(td, names, own < td->base.page.channels ? own : td->base.page.channels, err));
    return name_by_texts(td, own, err);
}

/* ---- Sample type ---- */

static ImgstatResult sample_type(const TiffLayout *layout, ImgstatSample *out)
{
    const uint16_t bits = layout->bits;
    if (bits == 0 || bits > 64)
        return IMGSTAT_ERR_UNSUPPORTED;
    switch (layout->format) {
    case SAMPLEFORMAT_UINT:
    case SAMPLEFORMAT_VOID:
        *out = bits <= 8    ? IMGSTAT_U8
               : bits <= 16 ? IMGSTAT_U16
               : bits <= 32 ? IMGSTAT_U32
                            : IMGSTAT_U64;
        return IMGSTAT_OK;
    case SAMPLEFORMAT_INT:
        *out = bits <= 8    ? IMGSTAT_I8
               : bits <= 16 ? IMGSTAT_I16
               : bits <= 32 ? IMGSTAT_I32
                            : IMGSTAT_I64;
        return IMGSTAT_OK;
    case SAMPLEFORMAT_IEEEFP:
        *out = bits == 16 ? IMGSTAT_F16 : bits == 64 ? IMGSTAT_F64 : IMGSTAT_F32;
        return bits == 16 || bits == 24 || bits == 32 || bits == 64 ? IMGSTAT_OK
                                                                    : IMGSTAT_ERR_UNSUPPORTED;
    default:
        return IMGSTAT_ERR_UNSUPPORTED;
    }
}

static const char *format_name(uint16_t format)
{
    static const char *const names[] = {"",
                                        "unsigned",
                                        "signed",
                                        "floating-point",
                                        "undefined",
                                        "complex integer",
                                        "complex floating-point"};
    return format < ARRAY_LEN(names) ? names[format] : "unknown";
}

ImgstatResult tiff_page_samples(TiffDecoder *td, ImgstatError *err)
{
    ImgstatPage *const page = &td->base.page;
    const char *const name = td->base.source->name;
    const TiffLayout *const layout = &td->layout;
    if (!TIFFIsCODECConfigured(layout->compression)) {
        const char *const known = tiff_compression_name(layout->compression);
        return error_file(err, IMGSTAT_ERR_UNSUPPORTED, name,
                          "compression %u%s%s%s is not supported by this libtiff",
                          layout->compression, known ? " (" : "", known ? known : "",
                          known ? ")" : "");
    }
    if (sample_type(layout, &page->sample) != IMGSTAT_OK)
        return error_file(err, IMGSTAT_ERR_UNSUPPORTED, name,
                          "holds %u-bit %s samples, which are not supported", layout->bits,
                          format_name(layout->format));
    const bool widened = page->sample == IMGSTAT_F32;
    page->bits = (uint8_t)(widened ? 32 : layout->bits);
    page->channels = layout->samples;
    return IMGSTAT_OK;
}

/* ---- Palette ---- */

/* Maps of 8-bit colours hold them as v * 257, as v * 256, or, against the rules, as v itself. */
static unsigned map_shift(const uint16_t *const map[3], size_t n, bool *is_8bit)
{
    bool small = true, low_zero = true, doubled = true;
    for (size_t i = 0; i < 3 * n; i++) {
        const uint16_t v = map[i / n][i % n];
        small = small && v < 256;
        low_zero = low_zero && (v & 0xFF) == 0;
        doubled = doubled && (v & 0xFF) == v >> 8;
    }
    *is_8bit = small || low_zero || doubled;
    return small ? 0 : 8;
}

ImgstatResult tiff_page_palette(TiffDecoder *td, ImgstatError *err)
{
    ImgstatPage *const page = &td->base.page;
    const TiffLayout *const layout = &td->layout;
    const char *const name = td->base.source->name;
    uint16_t *map[3] = {NULL, NULL, NULL};
    if (layout->bits > 16 || page->sample > IMGSTAT_U16 || sample_is_signed(page->sample))
        return error_file(err, IMGSTAT_ERR_UNSUPPORTED, name,
                          "a palette for %u-bit %s samples is not supported", layout->bits,
                          format_name(layout->format));
    if (!TIFFGetField(td->handle.tif, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]))
        return error_file(err, IMGSTAT_ERR_FORMAT, name, "a palette image without a palette");
    if (!map[0] || !map[1] || !map[2])
        return error_memory(err, 0, "a palette");
    const size_t n = (size_t)1 << layout->bits;
    const uint16_t *const maps[3] = {map[0], map[1], map[2]};
    bool is_8bit = false;
    const unsigned shift = map_shift(maps, n, &is_8bit);
    if (layout->samples > UINT16_MAX - 2)
        return error_file(err, IMGSTAT_ERR_UNSUPPORTED, name,
                          "a palette image of %u samples a pixel is read as indices only",
                          layout->samples);
    if (layout->samples > 1 && (!is_8bit || layout->bits > 8))
        return error_file(err, IMGSTAT_ERR_UNSUPPORTED, name,
                          "a 16-bit palette with further samples a pixel is read as indices only");
    void *const colors = malloc(3 * n * (is_8bit ? 1 : 2));
    if (!colors)
        return error_memory(err, 3 * n * 2, "a palette");
    td->map8 = is_8bit ? colors : NULL;
    td->map16 = is_8bit ? NULL : colors;
    for (size_t i = 0; i < 3 * n; i++) {
        const uint16_t v = maps[i % 3][i / 3];
        if (is_8bit)
            td->map8[i] = (uint8_t)(v >> shift);
        else
            td->map16[i] = v;
    }
    page->sample = is_8bit ? IMGSTAT_U8 : IMGSTAT_U16;
    page->bits = is_8bit ? 8 : 16;
    page->channels = (uint16_t)(layout->samples + 2);
    return IMGSTAT_OK;
}

/* ---- The GDAL_NODATA tag: one value, as text ---- */

/* The longest of "%f" is -DBL_MAX with 309 digits before the point. */
enum { TAG_GDAL_NODATA = 42113, TEXT_BYTES = 512 };

static bool read_text(TiffDecoder *td, char text[TEXT_BYTES])
{
    size_t bytes = 0;
    const char *const data = find_text(td, TAG_GDAL_NODATA, &bytes);
    while (bytes > 0 && strchr(" \t\r\n\v\f", data[bytes - 1]))
        bytes--;
    if (bytes == 0 || bytes >= TEXT_BYTES)
        return false;
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    return true;
}

/* Numbers in files have a point, whatever the locale of the process is. */
static bool parse_double(const char *text, double *out)
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return false;
    char *end = NULL;
    *out = strtod_l(text, &end, plain);
    freelocale(plain);
    return end != text && *end == '\0';
}

/* An integer given with full precision, or as a float ("-9999.0", "1e3") of integral value. */
static bool parse_integer(const char *text, ImgstatValue *value)
{
    char *end = NULL;
    errno = 0;
    if (sample_is_signed(value->sample)) {
        value->as.i = strtoll(text, &end, 10);
    } else {
        value->as.u = strtoull(text, &end, 10);
        if (strchr(text, '-') && value->as.u != 0)
            return false;
    }
    if (*end == '.' && end != text)
        end += 1 + strspn(end + 1, "0");
    if (end != text && *end == '\0')
        return errno == 0;
    double x = 0;
    if (!parse_double(text, &x) || x != floor(x) || fabs(x) >= 9007199254740992.0 /* 2^53 */)
        return false;
    if (sample_is_signed(value->sample)) {
        value->as.i = (int64_t)x;
        return true;
    }
    value->as.u = x >= 0 ? (uint64_t)x : 0;
    return x >= 0;
}

void tiff_nodata_read(TiffDecoder *td)
{
    ImgstatPage *const page = &td->base.page;
    char text[TEXT_BYTES];
    double x = 0;
    page->has_nodata = false;
    page->nodata = (ImgstatValue){.sample = page->sample};
    if (!read_text(td, text))
        return;
    if (!parse_double(text, &x)) {
        warnings_report(&td->base.warnings, "its nodata value \"%s\" is not a number", text);
        return;
    }
    if (td->map8 || td->map16) {
        warnings_report(&td->base.warnings,
                        "its nodata value is a palette index and not applied to colours");
        return;
    }
    if (sample_is_float(page->sample)) {
        page->nodata.as.f = x;
        page->has_nodata = true;
        return;
    }
    /* A value that the samples cannot hold, such as -9999 for unsigned ones, marks none of them. */
    uint64_t key = 0;
    page->has_nodata =
        parse_integer(text, &page->nodata) && sample_key_of(page->sample, page->nodata, &key);
}

void tiff_nodata_fill(const ImgstatPage *page, void *to, size_t n)
{
    const size_t bytes = imgstat_sample_bytes(page->sample);
    const uint64_t raw = sample_raw_missing(page->sample, page->has_nodata ? &page->nodata : NULL);
    for (size_t i = 0; i < n; i++)
        store_raw((unsigned char *)to + i * bytes, bytes, raw);
}
