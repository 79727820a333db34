/* SPDX-License-Identifier: MIT */
/* tiff_page.c: what a TIFF directory says of its samples: types, channel names, chunks, palette. */
#include "sample.h"
#include "tiff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Strips that decode to more are read row by row where their codec can. */
enum { STREAM_BYTES = 4 << 20 };

/* Photometric interpretations that libtiff has no name for, or had none in 4.3. */
enum { PHOTO_CFA = 32803, PHOTO_LINEAR_RAW = 34892 };

typedef struct CodeName {
    uint16_t code;
    const char *name;
} CodeName;

const char *tiff_compression_name(uint16_t compression)
{
    static const CodeName names[] = {
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
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == compression)
            return names[i].name;
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
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
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

static ImgstatResult describe_channels(TiffDecoder *td, ImgstatError *err)
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
    return name_channels(td, names, own < td->base.page.channels ? own : td->base.page.channels,
                         err);
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
    return format < sizeof names / sizeof *names ? names[format] : "unknown";
}

static ImgstatResult describe_samples(TiffDecoder *td, ImgstatError *err)
{
    ImgstatPage *const page = &td->base.page;
    const char *const name = td->base.source->name;
    const TiffLayout *const layout = &td->layout;
    if (!TIFFIsCODECConfigured(layout->compression)) {
        const char *const known = tiff_compression_name(layout->compression);
        return error_set(err, IMGSTAT_ERR_UNSUPPORTED,
                         "%s: compression %u%s%s%s is not supported by this libtiff", name,
                         layout->compression, known ? " (" : "", known ? known : "",
                         known ? ")" : "");
    }
    if (sample_type(layout, &page->sample) != IMGSTAT_OK)
        return error_set(err, IMGSTAT_ERR_UNSUPPORTED,
                         "%s: holds %u-bit %s samples, which are not supported", name, layout->bits,
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

static ImgstatResult read_palette(TiffDecoder *td, ImgstatError *err)
{
    ImgstatPage *const page = &td->base.page;
    const TiffLayout *const layout = &td->layout;
    const char *const name = td->base.source->name;
    uint16_t *map[3] = {NULL, NULL, NULL};
    if (layout->bits > 16 || page->sample > IMGSTAT_U16 || sample_is_signed(page->sample))
        return error_set(err, IMGSTAT_ERR_UNSUPPORTED,
                         "%s: a palette for %u-bit %s samples is not supported", name, layout->bits,
                         format_name(layout->format));
    if (!TIFFGetField(td->handle.tif, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]))
        return error_set(err, IMGSTAT_ERR_FORMAT, "%s: a palette image without a palette", name);
    const size_t n = (size_t)1 << layout->bits;
    const uint16_t *const maps[3] = {map[0], map[1], map[2]};
    bool is_8bit = false;
    const unsigned shift = map_shift(maps, n, &is_8bit);
    if (layout->samples > 1 && (!is_8bit || layout->bits > 8))
        return error_set(
            err, IMGSTAT_ERR_UNSUPPORTED,
            "%s: a 16-bit palette with further samples a pixel is read as indices only", name);
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

/* ---- Layout ---- */

static bool codec_gives_rows(uint16_t compression)
{
    switch (compression) {
    case COMPRESSION_LZW:
    case COMPRESSION_DEFLATE:
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_PACKBITS:
    case COMPRESSION_JPEG:
    case COMPRESSION_LZMA:
    case COMPRESSION_ZSTD:
        return true;
    default:
        return false;
    }
}

static TiffPath choose_path(const TiffDecoder *td, bool convert)
{
    const TiffLayout *const layout = &td->layout;
    const uint64_t limit = td->base.how.limits.max_chunk_bytes;
    const uint64_t large = limit < STREAM_BYTES ? limit : STREAM_BYTES;
    if (convert)
        return TIFF_PATH_RGBA;
    if (layout->tiled)
        return TIFF_PATH_CHUNKS;
    if (layout->compression == COMPRESSION_NONE)
        return TIFF_PATH_PIECES;
    if (layout->chunk_bytes > large && codec_gives_rows(layout->compression))
        return TIFF_PATH_SCANLINES;
    return TIFF_PATH_CHUNKS;
}

/* Reads what must be known before anything else is asked of libtiff. */
static ImgstatResult read_fields(TiffDecoder *td, ImgstatError *err)
{
    TIFF *const tif = td->handle.tif;
    TiffLayout *const layout = &td->layout;
    ImgstatPage *const page = &td->base.page;
    uint16_t planar = PLANARCONFIG_CONTIG, fill = FILLORDER_MSB2LSB;
    *layout = (TiffLayout){.photometric = PHOTOMETRIC_MINISBLACK};
    page->width = page->height = 0;
    TIFFGetField(tif, TIFFTAG_IMAGEWIDTH, &page->width);
    TIFFGetField(tif, TIFFTAG_IMAGELENGTH, &page->height);
    TIFFGetFieldDefaulted(tif, TIFFTAG_BITSPERSAMPLE, &layout->bits);
    TIFFGetFieldDefaulted(tif, TIFFTAG_SAMPLESPERPIXEL, &layout->samples);
    TIFFGetFieldDefaulted(tif, TIFFTAG_SAMPLEFORMAT, &layout->format);
    TIFFGetFieldDefaulted(tif, TIFFTAG_COMPRESSION, &layout->compression);
    TIFFGetFieldDefaulted(tif, TIFFTAG_PLANARCONFIG, &planar);
    TIFFGetFieldDefaulted(tif, TIFFTAG_FILLORDER, &fill);
    if (!TIFFGetField(tif, TIFFTAG_PHOTOMETRIC, &layout->photometric))
        warnings_tell(&td->base.warnings, "does not say what its samples mean; read as gray");
    if (layout->samples == 0)
        return error_set(err, IMGSTAT_ERR_FORMAT, "%s: an image without samples",
                         td->base.source->name);
    layout->planes = planar == PLANARCONFIG_SEPARATE ? layout->samples : 1;
    layout->per_chunk = planar == PLANARCONFIG_SEPARATE ? 1 : layout->samples;
    layout->swapped = TIFFIsByteSwapped(tif);
    layout->reversed = fill == FILLORDER_LSB2MSB;
    layout->tiled = TIFFIsTiled(tif);
    return IMGSTAT_OK;
}

static ImgstatResult chunk_geometry(TiffDecoder *td, ImgstatError *err)
{
    TIFF *const tif = td->handle.tif;
    TiffLayout *const layout = &td->layout;
    const ImgstatPage *const page = &td->base.page;
    const char *const name = td->base.source->name;
    if (layout->tiled) {
        TIFFGetField(tif, TIFFTAG_TILEWIDTH, &layout->chunk_width);
        TIFFGetField(tif, TIFFTAG_TILELENGTH, &layout->chunk_height);
    } else {
        layout->chunk_width = page->width;
        TIFFGetFieldDefaulted(tif, TIFFTAG_ROWSPERSTRIP, &layout->chunk_height);
        if (layout->chunk_height > page->height)
            layout->chunk_height = page->height;
    }
    if (layout->chunk_width == 0 || layout->chunk_height == 0)
        return error_set(err, IMGSTAT_ERR_FORMAT, "%s: %s without a size", name,
                         layout->tiled ? "tiles" : "strips");
    layout->across =
        (uint32_t)(((uint64_t)page->width + layout->chunk_width - 1) / layout->chunk_width);
    layout->down =
        (uint32_t)(((uint64_t)page->height + layout->chunk_height - 1) / layout->chunk_height);
    /* No overflow: 32 + 16 + 7 bits, then 32 bits more in 128. */
    const uint64_t row_bytes =
        ((uint64_t)layout->chunk_width * layout->per_chunk * layout->bits + 7) / 8;
    const uint64_t limit = td->base.how.limits.max_chunk_bytes;
    uint64_t bytes = 0;
    if (row_bytes > limit ||
        __builtin_mul_overflow(row_bytes, (uint64_t)layout->chunk_height, &bytes) ||
        bytes > SIZE_MAX / 2)
        return error_set(err, IMGSTAT_ERR_LIMIT,
                         "%s: a %s of %u x %u pixels takes more than the limit of %llu bytes", name,
                         layout->tiled ? "tile" : "strip", layout->chunk_width,
                         layout->chunk_height, (unsigned long long)limit);
    layout->row_bytes = (size_t)row_bytes;
    layout->chunk_bytes = (size_t)bytes;
    return IMGSTAT_OK;
}

/* Paths that hold a whole chunk need room for it. */
static ImgstatResult check_chunk_limit(const TiffDecoder *td, ImgstatError *err)
{
    const TiffLayout *const layout = &td->layout;
    const ImgstatPage *const page = &td->base.page;
    const uint64_t limit = td->base.how.limits.max_chunk_bytes;
    if (layout->path == TIFF_PATH_PIECES || layout->path == TIFF_PATH_SCANLINES)
        return IMGSTAT_OK;
    uint64_t bytes = layout->chunk_bytes;
    if (layout->path == TIFF_PATH_RGBA)
        bytes = (uint64_t)layout->chunk_width * 4 * layout->chunk_height;
    /* A row of chunks is held where it is read in parts. */
    uint64_t band = (uint64_t)page->width * page->channels * imgstat_sample_bytes(page->sample);
    if (__builtin_mul_overflow(band, (uint64_t)layout->chunk_height, &band) || bytes > limit ||
        band > limit)
        return error_set(err, IMGSTAT_ERR_LIMIT,
                         "%s: %s of %u x %u pixels take more than the limit of %llu bytes",
                         td->base.source->name, layout->tiled ? "tiles" : "strips",
                         layout->chunk_width, layout->chunk_height, (unsigned long long)limit);
    return IMGSTAT_OK;
}

/* YCbCr comes as RGB: from the JPEG library, or converted from what it and other codecs give. */
static ImgstatResult choose_conversion(TiffDecoder *td, bool *convert, ImgstatError *err)
{
    const TiffLayout *const layout = &td->layout;
    TIFF *const tif = td->handle.tif;
    *convert = false;
    if (layout->photometric != PHOTOMETRIC_YCBCR && layout->compression != COMPRESSION_OJPEG)
        return IMGSTAT_OK;
    if (layout->compression == COMPRESSION_JPEG && layout->planes == 1) {
        TIFFSetField(tif, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        return IMGSTAT_OK;
    }
    if (layout->photometric != PHOTOMETRIC_YCBCR)
        return IMGSTAT_OK;
    char why[1024] = "";
    if (layout->samples != 3 || !TIFFRGBAImageOK(tif, why))
        return error_set(
            err, IMGSTAT_ERR_UNSUPPORTED, "%s: YCbCr of %u samples of %u bits is not supported%s%s",
            td->base.source->name, layout->samples, layout->bits, *why ? ": " : "", why);
    *convert = true;
    return IMGSTAT_OK;
}

/* libtiff with libdeflate leaves bytes unwritten where a strip holds more data than its rows need,
 * and says nothing; with zlib it does not. */
static void choose_inflate(const TiffDecoder *td)
{
#ifdef TIFFTAG_DEFLATE_SUBCODEC
    const uint16_t compression = td->layout.compression;
    if (compression == COMPRESSION_DEFLATE || compression == COMPRESSION_ADOBE_DEFLATE)
        TIFFSetField(td->handle.tif, TIFFTAG_DEFLATE_SUBCODEC, DEFLATE_SUBCODEC_ZLIB);
#else
    (void)td;
#endif
}

ImgstatResult tiff_page_describe(TiffDecoder *td, ImgstatError *err)
{
    ImgstatPage *const page = &td->base.page;
    TiffLayout *const layout = &td->layout;
    bool convert = false;
    IMGSTAT_TRY(read_fields(td, err));
    IMGSTAT_TRY(limits_check(&td->base.how.limits, td->base.source->name, page->width, page->height,
                             layout->samples, 1, err));
    IMGSTAT_TRY(describe_samples(td, err));
    choose_inflate(td);
    IMGSTAT_TRY(choose_conversion(td, &convert, err));
    if (layout->photometric == PHOTOMETRIC_PALETTE && !td->base.how.indices)
        IMGSTAT_TRY(read_palette(td, err));
    IMGSTAT_TRY(limits_check(&td->base.how.limits, td->base.source->name, page->width, page->height,
                             page->channels, imgstat_sample_bytes(page->sample), err));
    IMGSTAT_TRY(chunk_geometry(td, err));
    layout->path = choose_path(td, convert);
    const bool whole = layout->path == TIFF_PATH_CHUNKS || layout->path == TIFF_PATH_RGBA;
    td->base.band_rows = whole ? layout->chunk_height : 1;
    IMGSTAT_TRY(check_chunk_limit(td, err));
    return describe_channels(td, err);
}
