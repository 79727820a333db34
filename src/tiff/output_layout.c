/* SPDX-License-Identifier: MIT */
/* output_layout.c: how an output page is laid out and compressed, and the fields that say so. */
#include "base/byteswap.h"
#include "base/compiler.h"
#include "base/sample.h"
#include "base/text_buffer.h"
#include "tiff/encoder.h"
#include "tiff/predictor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SMALL_ZSTD = 16 << 10,   /* strips and tiles below this are packed by a cheaper level */
    STRIP_BYTES = 256 << 10, /* of strips where the input has none: small enough to share out */
    MAX_STRIP = 32 << 20,    /* compressed strips are held whole; larger ones are divided, and
                              * smaller ones where the caller has less memory */
    PHOTO_LINEAR_RAW = 34892
};

static const TiffDecoder *tiff_of(const Decoder *like)
{
    return like && like->codec == &tiff_codec ? (const TiffDecoder *)like : NULL;
}

bool tiff_keeps_palette(const Decoder *like, const EncodePage *page)
{
    return like && like->how.indices && strcmp(like->page.photometric, "palette") == 0 &&
           page->channels == like->page.channels && page->sample == like->page.sample &&
           page->bits == like->page.bits && page->bits <= 16;
}

bool tiff_keeps_samples(const Decoder *like, const EncodePage *page)
{
    return like && page->channels == like->page.channels && page->sample == like->page.sample &&
           page->bits == like->page.bits;
}

/* ---- Compression ---- */

typedef struct CodecName {
    const char *name;
    uint16_t code;
} CodecName;

static uint16_t compression_named(const char *name)
{
    static const CodecName names[] = {
        {"none", COMPRESSION_NONE},
        {"deflate", COMPRESSION_ADOBE_DEFLATE},
        {"lzw", COMPRESSION_LZW},
        {"packbits", COMPRESSION_PACKBITS},
        {"zstd", COMPRESSION_ZSTD},
        {"lzma", COMPRESSION_LZMA},
        {"ccittfax4", COMPRESSION_CCITTFAX4},
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i].name, name) == 0)
            return names[i].code;
    return COMPRESSION_NONE;
}

/* libtiff does not read the rows of words that it writes with COMPRESSION_CCITTRLEW. */
static bool is_fax(uint16_t compression)
{
    return compression == COMPRESSION_CCITTRLE || compression == COMPRESSION_CCITTFAX3 ||
           compression == COMPRESSION_CCITTFAX4;
}

static bool is_lossy(uint16_t compression)
{
    static const uint16_t lossy[] = {6,     7,     33003, 33005, 34676, 34677, 34712,
                                     34887, 34892, 32909, 34934, 50001, 50002, 52546};
    for (size_t i = 0; i < ARRAY_LEN(lossy); i++)
        if (lossy[i] == compression)
            return true;
    return false;
}

/* Returns whether an output keeps a compression: a lossless one, which libtiff writes as it is
 * read. */
static bool can_keep(const TiffShape *shape, uint16_t compression)
{
    if (is_fax(compression))
        return shape->bits == 1 && shape->per_tile == 1 && shape->format != SAMPLEFORMAT_INT &&
               TIFFIsCODECConfigured(compression);
    return compression == COMPRESSION_NONE ||
           ((tiff_has_predictor(compression) || compression == COMPRESSION_PACKBITS) &&
            TIFFIsCODECConfigured(compression));
}

/* The predictor that helps, where none is asked for. */
static uint16_t usual_predictor(const TiffShape *shape)
{
    if (shape->photometric == PHOTOMETRIC_PALETTE || !tiff_has_predictor(shape->compression))
        return PREDICTOR_NONE;
    if (shape->format == SAMPLEFORMAT_IEEEFP)
        return PREDICTOR_FLOATINGPOINT;
    return shape->bits == 8 || shape->bits == 16 || shape->bits == 32 ? PREDICTOR_HORIZONTAL
                                                                      : PREDICTOR_NONE;
}

static uint16_t kept_predictor(const TiffShape *shape, uint16_t predictor, bool was_float)
{
    const bool is_float = shape->format == SAMPLEFORMAT_IEEEFP;
    if (predictor == PREDICTOR_NONE)
        return PREDICTOR_NONE;
    if (predictor == PREDICTOR_FLOATINGPOINT && is_float)
        return predictor;
    const bool wide = shape->bits == 64 && TIFFLIB_VERSION >= 20220520; /* libtiff 4.4 */
    if (predictor == PREDICTOR_HORIZONTAL && is_float == was_float &&
        (shape->bits == 8 || shape->bits == 16 || shape->bits == 32 || wide))
        return predictor;
    return usual_predictor(shape);
}

/* KiB that a compressor takes, level by level from `first` on; the libraries' own estimates. */
typedef struct LevelBytes {
    uint16_t compression;
    int first, last, usual;
    uint32_t kib[22];
} LevelBytes;

static const LevelBytes level_bytes[] = {
    {COMPRESSION_ZSTD, 1, 22, 9, {1337,  2041,  3577,  4857,   5881,   5881,  8953,  8953,
                                  17145, 29433, 29433, 54009,  54009,  54009, 70393, 70393,
                                  70393, 70393, 91648, 198144, 394752, 796312}},
    {COMPRESSION_LZMA,
     0,
     9,
     6,
     {2788, 8804, 16484, 31844, 48228, 95332, 95332, 189540, 377956, 689252}},
};

/* The level that is asked for, or below it the highest that takes no more than `most` bytes. */
static int level_within(uint16_t compression, int level, uint64_t most)
{
    for (size_t i = 0; i < ARRAY_LEN(level_bytes); i++) {
        const LevelBytes *const table = &level_bytes[i];
        if (table->compression != compression)
            continue;
        int n = level < 0 ? table->usual : level > table->last ? table->last : level;
        const int wanted = n;
        while (n > table->first && (uint64_t)table->kib[n - table->first] << 10 > most)
            n--;
        return n == wanted ? level : n;
    }
    return level;
}

static uint64_t level_room(const EncodeOptions *how)
{
    return how->strip_bytes ? 8 * (uint64_t)how->strip_bytes : UINT64_MAX;
}

static ImgstatResult choose_compression(const char *output, const EncodeOptions *how,
                                        const TiffDecoder *like, Warnings *warnings,
                                        TiffShape *shape, ImgstatError *err)
{
    const char *const wanted = how->compression;
    const uint16_t before = like ? like->layout.compression : COMPRESSION_ADOBE_DEFLATE;
    shape->compression = wanted ? compression_named(wanted) : before;
    shape->level = how->fast ? 1 : how->level;
    shape->fast = how->fast;
    if (!can_keep(shape, shape->compression)) {
        if (wanted)
            return error_file(err, IMGSTAT_ERR_UNSUPPORTED, output,
                              "%u-bit samples cannot be compressed with %s here", shape->bits,
                              wanted);
        const char *const name = tiff_compression_name(before);
        shape->compression = COMPRESSION_ADOBE_DEFLATE;
        if (is_lossy(before))
            warnings_report(warnings,
                            "is compressed with %s, which can lose detail; written with deflate",
                            name ? name : "a codec");
        else
            warnings_report(warnings, "is compressed with %s; written with deflate",
                            name ? name : "a codec that is not known");
    }
    shape->level = level_within(shape->compression, shape->level, level_room(how));
    uint16_t predictor = PREDICTOR_NONE;
    const bool same = like && shape->compression == before;
    if (same && tiff_has_predictor(before))
        TIFFGetFieldDefaulted(like->handle.tif, TIFFTAG_PREDICTOR, &predictor);
    shape->predictor =
        same ? kept_predictor(shape, predictor, sample_is_float(like->base.page.sample))
             : usual_predictor(shape);
    if (same && shape->compression == COMPRESSION_CCITTFAX3)
        TIFFGetField(like->handle.tif, TIFFTAG_GROUP3OPTIONS, &shape->fax_options);
    return IMGSTAT_OK;
}

/* ---- Samples and geometry ---- */

static bool has_few_bits(const EncodePage *page)
{
    return page->bits == 1 || page->bits == 2 || page->bits == 4;
}

/* Few bits beside alpha, which TIFF has but hardly a reader takes: kept where they come from TIFF,
 * and made 8 bits elsewhere. */
static bool may_widen(const EncodePage *page)
{
    return page->alpha >= 0 && page->sample == IMGSTAT_U8 && has_few_bits(page);
}

static uint16_t stored_bits(const Decoder *like, const EncodePage *page)
{
    const TiffDecoder *const td = tiff_of(like);
    const uint16_t full = (uint16_t)(8 * imgstat_sample_bytes(page->sample));
    if (sample_is_float(page->sample))
        return full;
    if (td && tiff_keeps_samples(like, page) && (!td->map8 && !td->map16))
        return td->layout.bits;
    return has_few_bits(page) && !may_widen(page) ? page->bits : full;
}

/* Colours as logarithm of luminance and two coordinates, which readers take only as SGILog
 * compresses them, and that loses detail. */
static bool is_log(const TiffDecoder *td)
{
    return td && (td->layout.photometric == PHOTOMETRIC_LOGL ||
                  td->layout.photometric == PHOTOMETRIC_LOGLUV);
}

static uint16_t stored_photometric(const Decoder *like, const EncodePage *page)
{
    const TiffDecoder *const td = tiff_of(like);
    const uint16_t plain = page->channels >= 3 && page->alpha != 1 && page->alpha != 2
                               ? PHOTOMETRIC_RGB
                               : PHOTOMETRIC_MINISBLACK;
    if (!like)
        return plain;
    if (strcmp(like->page.photometric, "palette") == 0 && like->how.indices)
        return tiff_keeps_palette(like, page) ? PHOTOMETRIC_PALETTE : PHOTOMETRIC_MINISBLACK;
    if (page->channels != like->page.channels)
        return plain;
    if (!td)
        return page->channels >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
    if (td->map8 || td->map16 || td->layout.photometric == PHOTOMETRIC_YCBCR)
        return PHOTOMETRIC_RGB;
    if (is_log(td)) /* luminance is shown, the coordinates are extra samples */
        return PHOTOMETRIC_MINISBLACK;
    return td->layout.photometric;
}

/* An image that was a level, a preview or a mask before is none any more. */
static bool keeps_type(const TiffDecoder *td, const EncodePage *page)
{
    uint32_t type = 0;
    uint16_t old = 0;
    if (!td || page->role != IMGSTAT_ROLE_IMAGE)
        return true;
    TIFFGetField(td->handle.tif, TIFFTAG_SUBFILETYPE, &type);
    TIFFGetField(td->handle.tif, TIFFTAG_OSUBFILETYPE, &old);
    return !(type & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) && old != OFILETYPE_REDUCEDIMAGE;
}

/* Where memory is scarce the strips of all planes count, which are made at once. */
static uint64_t most_of_strip(const EncodeOptions *how, uint16_t planes)
{
    return how->strip_bytes > 0 && how->strip_bytes < MAX_STRIP ? how->strip_bytes / planes
                                                                : MAX_STRIP;
}

static ImgstatResult choose_tiles(const char *output, const EncodeOptions *how,
                                  const TiffDecoder *like, const EncodePage *page, TiffShape *shape,
                                  ImgstatError *err)
{
    const bool same =
        like && like->base.page.width == page->width && like->base.page.height == page->height;
    shape->tiled = like && like->layout.tiled;
    shape->tile_width = shape->tiled ? like->layout.tile_width : page->width;
    shape->row_bytes =
        (size_t)(((uint64_t)shape->tile_width * shape->per_tile * shape->bits + 7) / 8);
    uint64_t height =
        like && (same || shape->tiled) ? like->layout.tile_height : STRIP_BYTES / shape->row_bytes;
    if (!shape->tiled && height > page->height)
        height = page->height;
    const uint64_t most = most_of_strip(how, shape->planes);
    if (!shape->tiled && shape->compression != COMPRESSION_NONE && height * shape->row_bytes > most)
        height = most / shape->row_bytes;
    shape->tile_height = height > 0 ? (uint32_t)height : 1;
    shape->across = (uint32_t)(((uint64_t)page->width + shape->tile_width - 1) / shape->tile_width);
    shape->down =
        (uint32_t)(((uint64_t)page->height + shape->tile_height - 1) / shape->tile_height);
    const uint64_t n = (uint64_t)shape->across * shape->down * shape->planes;
    if (n > INT32_MAX || shape->row_bytes > INT32_MAX ||
        (uint64_t)shape->row_bytes * shape->tile_height > (uint64_t)1 << 40)
        return error_file(err, IMGSTAT_ERR_LIMIT, output, "%llu strips or tiles of %zu bytes a row",
                          (unsigned long long)n, shape->row_bytes);
    return IMGSTAT_OK;
}

ImgstatResult tiff_shape_choose(const char *name, const EncodePage *page, Decoder *like,
                                const EncodeOptions *how, bool big_endian, Warnings *warnings,
                                TiffShape *shape, ImgstatError *err)
{
    const TiffDecoder *const td = tiff_of(like);
    memset(shape, 0, sizeof *shape); /* padding too: shapes are compared as bytes */
    shape->samples = page->channels;
    shape->planes =
        td && td->layout.planes > 1 && td->layout.mode != TIFF_READ_RGBA ? page->channels : 1;
    shape->per_tile = shape->planes > 1 ? 1 : page->channels;
    shape->bits = stored_bits(like, page);
    shape->scale = 1;
    if (may_widen(page) && shape->bits == 8)
        shape->scale = (uint16_t)(255u / ((1u << page->bits) - 1));
    shape->format = sample_is_float(page->sample)    ? SAMPLEFORMAT_IEEEFP
                    : sample_is_signed(page->sample) ? SAMPLEFORMAT_INT
                                                     : SAMPLEFORMAT_UINT;
    shape->photometric = stored_photometric(like, page);
    shape->keeps_type = keeps_type(td, page);
    shape->swap = big_endian != host_big_endian;
    IMGSTAT_TRY(choose_compression(name, how, td, warnings, shape, err));
    IMGSTAT_TRY(choose_tiles(name, how, td, page, shape, err));
    /* Level 9, which is usual, clears tables of megabytes for each strip or tile. */
    if (shape->compression == COMPRESSION_ZSTD && shape->level < 0 &&
        shape->row_bytes * shape->tile_height < SMALL_ZSTD)
        shape->level = 6;
    return IMGSTAT_OK;
}

bool tiff_shape_tiles(const TiffShape *shape, const EncodePage *page, TiledImage *out)
{
    const size_t sample = imgstat_sample_bytes(page->sample);
    const uint32_t down = (page->height - 1) / shape->tile_height + 1;
    const uint64_t n = (uint64_t)shape->across * down * shape->planes;
    if (!tiff_is_deflate(shape->compression) || shape->bits != 8 * sample || shape->scale > 1 ||
        !tiff_predictor_writable(shape) ||
        n > TIFF_DEFLATE_BYTES / shape->row_bytes / shape->tile_height)
        return false;
    *out = (TiledImage){.padded = shape->tiled,
                        .page = {.width = page->width,
                                 .height = page->height,
                                 .tile_width = shape->tile_width,
                                 .tile_height = shape->tile_height,
                                 .across = shape->across,
                                 .down = down,
                                 .row_bytes = (uint32_t)shape->row_bytes,
                                 .n_tiles = (uint32_t)n,
                                 .channels = page->channels,
                                 .planes = shape->planes,
                                 .per_tile = shape->per_tile,
                                 .coding = TILE_DEFLATED,
                                 .prediction = tiff_prediction(shape->predictor),
                                 .bits = (uint8_t)shape->bits,
                                 .sample_bytes = (uint8_t)sample,
                                 .swapped = shape->swap}};
    return true;
}

/* ---- Fields ---- */

static ImgstatResult set_repeated(TiffFile *file, TiffTags *tags, uint16_t tag, uint16_t value,
                                  uint16_t n, ImgstatError *err)
{
    uint16_t *const values = malloc(n * sizeof *values);
    if (!values)
        return error_memory(err, n * sizeof *values, "a TIFF field");
    for (uint16_t i = 0; i < n; i++)
        values[i] = value;
    const ImgstatResult res = tiff_tags_set(file, tags, tag, TIFF_SHORT, n, values, err);
    free(values);
    return res;
}

/* The number of channels that a colour space has itself. */
static uint16_t own_channels(uint16_t photometric, uint16_t channels)
{
    const bool three = photometric == PHOTOMETRIC_RGB || photometric == PHOTOMETRIC_CIELAB ||
                       photometric == PHOTOMETRIC_ICCLAB || photometric == PHOTOMETRIC_ITULAB ||
                       photometric == PHOTO_LINEAR_RAW;
    const uint16_t own = three ? 3 : photometric == PHOTOMETRIC_SEPARATED ? 4 : 1;
    return own < channels ? own : channels;
}

static ImgstatResult set_extra_samples(TiffFile *file, const TiffShape *shape, const Decoder *like,
                                       const EncodePage *page, TiffTags *tags, ImgstatError *err)
{
    if (tiff_of(like) && page->channels == like->page.channels && !is_log(tiff_of(like)))
        return IMGSTAT_OK; /* copied */
    const uint16_t own = own_channels(shape->photometric, page->channels);
    if (own == page->channels)
        return IMGSTAT_OK;
    const uint16_t n = (uint16_t)(page->channels - own);
    uint16_t *const kinds = calloc(n, sizeof *kinds);
    if (!kinds)
        return error_memory(err, n * sizeof *kinds, "a TIFF field");
    if (page->alpha >= own)
        kinds[page->alpha - own] = EXTRASAMPLE_UNASSALPHA;
    const ImgstatResult res =
        tiff_tags_set(file, tags, TIFFTAG_EXTRASAMPLES, TIFF_SHORT, n, kinds, err);
    free(kinds);
    return res;
}

/* The GDAL_NODATA field, which is one of the input that is not copied then. */
static ImgstatResult set_nodata(TiffFile *file, TiffTags *tags, ImgstatValue value,
                                ImgstatError *err)
{
    enum { TAG_GDAL_NODATA = 42113 };
    char text[40];
    if (!sample_is_float(value.sample))
        snprintf(text, sizeof text, sample_is_signed(value.sample) ? "%" PRId64 : "%" PRIu64,
                 value.as.i);
    else if (isnan(value.as.f))
        snprintf(text, sizeof text, "nan");
    else
        snprintf(text, sizeof text, "%.17g", value.as.f);
    if (sample_is_float(value.sample) && isfinite(value.as.f))
        text_plain_number(text);
    return tiff_tags_set(file, tags, TAG_GDAL_NODATA, TIFF_ASCII, strlen(text) + 1, text, err);
}

ImgstatResult tiff_shape_tags(TiffFile *file, const TiffShape *shape, const Decoder *like,
                              const EncodePage *page, TiffTags *tags, ImgstatError *err)
{
    IMGSTAT_TRY(tiff_tags_number(file, tags, TIFFTAG_IMAGEWIDTH, TIFF_LONG, page->width, err));
    IMGSTAT_TRY(tiff_tags_number(file, tags, TIFFTAG_IMAGELENGTH, TIFF_LONG, page->height, err));
    IMGSTAT_TRY(set_repeated(file, tags, TIFFTAG_BITSPERSAMPLE, shape->bits, shape->samples, err));
    IMGSTAT_TRY(
        tiff_tags_number(file, tags, TIFFTAG_COMPRESSION, TIFF_SHORT, shape->compression, err));
    IMGSTAT_TRY(
        tiff_tags_number(file, tags, TIFFTAG_PHOTOMETRIC, TIFF_SHORT, shape->photometric, err));
    IMGSTAT_TRY(
        tiff_tags_number(file, tags, TIFFTAG_SAMPLESPERPIXEL, TIFF_SHORT, shape->samples, err));
    IMGSTAT_TRY(tiff_tags_number(file, tags, TIFFTAG_PLANARCONFIG, TIFF_SHORT,
                                 shape->planes > 1 ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG,
                                 err));
    IMGSTAT_TRY(set_repeated(file, tags, TIFFTAG_SAMPLEFORMAT, shape->format, shape->samples, err));
    if (shape->predictor != PREDICTOR_NONE)
        IMGSTAT_TRY(
            tiff_tags_number(file, tags, TIFFTAG_PREDICTOR, TIFF_SHORT, shape->predictor, err));
    if (shape->tiled) {
        IMGSTAT_TRY(
            tiff_tags_number(file, tags, TIFFTAG_TILEWIDTH, TIFF_LONG, shape->tile_width, err));
        IMGSTAT_TRY(
            tiff_tags_number(file, tags, TIFFTAG_TILELENGTH, TIFF_LONG, shape->tile_height, err));
    } else {
        IMGSTAT_TRY(
            tiff_tags_number(file, tags, TIFFTAG_ROWSPERSTRIP, TIFF_LONG, shape->tile_height, err));
    }
    if (shape->photometric == PHOTOMETRIC_PALETTE && page->colormap)
        IMGSTAT_TRY(tiff_tags_set(file, tags, TIFFTAG_COLORMAP, TIFF_SHORT,
                                  (uint64_t)3 << shape->bits, page->colormap, err));
    if (page->has_nodata)
        IMGSTAT_TRY(set_nodata(file, tags, page->nodata, err));
    return set_extra_samples(file, shape, like, page, tags, err);
}
