/* SPDX-License-Identifier: MIT */
/* layout.c: how the samples of a TIFF page lie in strips and tiles, and the way to read them. */
#include "tiff/layout.h"
#include "tiff/decoder.h"

#include <stdlib.h>
#include <string.h>

/* Strips that decode to more are read row by row where their codec can. */
enum { STREAM_BYTES = 4 << 20 };

/* Nor do rows of strips for several threads become larger together. */
enum { BAND_BYTES = 16 << 20 };

/* Nor do directories for several threads. */
enum { HANDLES_BYTES = 256 << 20 };

/* Each handle that a plane gets holds the places of all strips of the page: these are kept in 64
 * MiB and read in some hundredths of a second, where those of 65,535 planes would take 64 GiB. */
enum { MOST_PLACES = 1 << 22 };

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

bool tiff_has_predictor(uint16_t compression)
{
    return compression == COMPRESSION_LZW || compression == COMPRESSION_DEFLATE ||
           compression == COMPRESSION_ADOBE_DEFLATE || compression == COMPRESSION_ZSTD ||
           compression == COMPRESSION_LZMA;
}

bool tiff_needs_unpack(const TiffLayout *layout)
{
    return layout->bits != 8 && layout->bits != 16 && layout->bits != 32 && layout->bits != 64;
}

/* Samples go from the file to the image byte for byte. */
bool tiff_is_direct(const TiffDecoder *td)
{
    return tiff_planes_together(td) == 1 && !td->map8 && !td->map16 &&
           !tiff_needs_unpack(&td->layout);
}

/* A row of tiles, decoded, which is held where a caller takes it in parts; saturates. */
static uint64_t band_bytes(const TiffDecoder *td)
{
    const ImgstatPage *const page = &td->base.page;
    uint64_t bytes =
        (uint64_t)page->width * decoder_channels(&td->base) * imgstat_sample_bytes(page->sample);
    return __builtin_mul_overflow(bytes, (uint64_t)td->layout.tile_height, &bytes) ? UINT64_MAX
                                                                                   : bytes;
}

/* Too many for a handle each: their strips are decoded whole, or refused if that takes too much. */
static bool has_many_planes(const TiffDecoder *td)
{
    const uint64_t planes = tiff_planes_together(td);
    return planes > 1 && td->layout.down > MOST_PLACES / (planes * planes);
}

static TiffReadMode choose_mode(const TiffDecoder *td)
{
    const TiffLayout *const layout = &td->layout;
    const uint64_t limit = td->base.how.limits.max_tile_bytes;
    const uint64_t large = limit < STREAM_BYTES ? limit : STREAM_BYTES;
    if (layout->converted)
        return TIFF_READ_RGBA;
    if (layout->tiled)
        return TIFF_READ_TILES;
    if (layout->compression == COMPRESSION_NONE)
        return TIFF_READ_RAW;
    const bool small = layout->tile_bytes <= large && band_bytes(td) <= large;
    return small || !codec_gives_rows(layout->compression) || has_many_planes(td)
               ? TIFF_READ_TILES
               : TIFF_READ_SCANLINES;
}

/* Reads what must be known before anything else is asked of libtiff. */
static ImgstatResult read_fields(TiffDecoder *td, ImgstatError *err)
{
    TIFF *const tif = td->handle.tif;
    TiffLayout *const layout = &td->layout;
    ImgstatPage *const page = &td->base.page;
    uint16_t planar = PLANARCONFIG_CONTIG, fill = FILLORDER_MSB2LSB;
    uint32_t depth = 1, tile_depth = 1;
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
        warnings_report(&td->base.warnings, "does not say what its samples mean; read as gray");
    if (layout->samples == 0)
        return error_file(err, IMGSTAT_ERR_FORMAT, td->base.source->name,
                          "an image without samples");
    TIFFGetFieldDefaulted(tif, TIFFTAG_IMAGEDEPTH, &depth);
    TIFFGetFieldDefaulted(tif, TIFFTAG_TILEDEPTH, &tile_depth);
    if (depth > 1 || tile_depth > 1)
        return error_file(err, IMGSTAT_ERR_UNSUPPORTED, td->base.source->name,
                          "holds a volume in one page (ImageDepth %u, TileDepth %u), which is not "
                          "supported",
                          depth, tile_depth);
    layout->planes = planar == PLANARCONFIG_SEPARATE ? layout->samples : 1;
    layout->per_tile = planar == PLANARCONFIG_SEPARATE ? 1 : layout->samples;
    layout->swapped = TIFFIsByteSwapped(tif);
    layout->reversed = fill == FILLORDER_LSB2MSB;
    layout->tiled = TIFFIsTiled(tif);
    return IMGSTAT_OK;
}

static ImgstatResult tile_geometry(TiffDecoder *td, ImgstatError *err)
{
    TIFF *const tif = td->handle.tif;
    TiffLayout *const layout = &td->layout;
    const ImgstatPage *const page = &td->base.page;
    const char *const name = td->base.source->name;
    if (layout->tiled) {
        TIFFGetField(tif, TIFFTAG_TILEWIDTH, &layout->tile_width);
        TIFFGetField(tif, TIFFTAG_TILELENGTH, &layout->tile_height);
    } else {
        layout->tile_width = page->width;
        TIFFGetFieldDefaulted(tif, TIFFTAG_ROWSPERSTRIP, &layout->tile_height);
        if (layout->tile_height > page->height)
            layout->tile_height = page->height;
    }
    if (layout->tile_width == 0 || layout->tile_height == 0)
        return error_file(err, IMGSTAT_ERR_FORMAT, name, "%s without a size",
                          layout->tiled ? "tiles" : "strips");
    layout->across =
        (uint32_t)(((uint64_t)page->width + layout->tile_width - 1) / layout->tile_width);
    layout->down =
        (uint32_t)(((uint64_t)page->height + layout->tile_height - 1) / layout->tile_height);
    /* No overflow: 32 + 16 + 7 bits, then 32 bits more in 128. */
    const uint64_t row_bytes =
        ((uint64_t)layout->tile_width * layout->per_tile * layout->bits + 7) / 8;
    const uint64_t limit = td->base.how.limits.max_tile_bytes;
    uint64_t bytes = 0;
    if (row_bytes > limit ||
        __builtin_mul_overflow(row_bytes, (uint64_t)layout->tile_height, &bytes) ||
        bytes > SIZE_MAX / 2)
        return error_file(err, IMGSTAT_ERR_LIMIT, name,
                          "a %s of %u x %u pixels takes more than the limit of %llu bytes",
                          layout->tiled ? "tile" : "strip", layout->tile_width, layout->tile_height,
                          (unsigned long long)limit);
    layout->row_bytes = (size_t)row_bytes;
    layout->tile_bytes = (size_t)bytes;
    return IMGSTAT_OK;
}

/* Paths that hold a whole tile need room for it. */
static ImgstatResult check_tile_limit(const TiffDecoder *td, ImgstatError *err)
{
    const TiffLayout *const layout = &td->layout;
    const uint64_t limit = td->base.how.limits.max_tile_bytes;
    uint64_t bytes = layout->tile_bytes;
    if (layout->mode == TIFF_READ_RAW || layout->mode == TIFF_READ_SCANLINES)
        return IMGSTAT_OK;
    if (layout->mode == TIFF_READ_RGBA &&
        __builtin_mul_overflow((uint64_t)layout->tile_width * 4, (uint64_t)layout->tile_height,
                               &bytes))
        bytes = UINT64_MAX;
    const bool single = bytes > limit;
    const uint64_t taken = single ? bytes : band_bytes(td);
    if (taken <= limit)
        return IMGSTAT_OK;
    return error_file(err, IMGSTAT_ERR_LIMIT, td->base.source->name,
                      "%s%s of %u x %u pixels take %llu bytes, more than the limit of %llu",
                      single ? "" : "rows of ", layout->tiled ? "tiles" : "strips",
                      layout->tile_width, layout->tile_height, (unsigned long long)taken,
                      (unsigned long long)limit);
}

bool tiff_jpeg_converts(const TiffLayout *layout)
{
    return layout->photometric == PHOTOMETRIC_YCBCR && layout->compression == COMPRESSION_JPEG &&
           layout->planes == 1;
}

/* YCbCr comes as RGB: from the JPEG library, or converted from what it and other codecs give. */
static ImgstatResult choose_conversion(TiffDecoder *td, ImgstatError *err)
{
    TiffLayout *const layout = &td->layout;
    TIFF *const tif = td->handle.tif;
    if (layout->photometric != PHOTOMETRIC_YCBCR || tiff_jpeg_converts(layout))
        return IMGSTAT_OK;
    char why[1024] = "";
    /* TIFFRGBAImageOK lets pass what the conversion then refuses, or gives as bytes without sign.
     */
    const bool bytes = layout->bits == 8 && layout->format != SAMPLEFORMAT_INT;
    if (layout->samples != 3 || !bytes || !TIFFRGBAImageOK(tif, why))
        return error_file(err, IMGSTAT_ERR_UNSUPPORTED, td->base.source->name,
                          "YCbCr of %u %ssamples of %u bits is not supported%s%s", layout->samples,
                          layout->format == SAMPLEFORMAT_INT ? "signed " : "", layout->bits,
                          *why ? ": " : "", why);
    layout->converted = true;
    return IMGSTAT_OK;
}

/* The window that the largest tile of Zstandard data declares. */
static uint64_t zstd_window(const TiffDecoder *td)
{
    enum { MAGIC = 4, SINGLE = 0x20 };
    uint8_t head[MAGIC + 2] = {0};
    size_t got = 0;
    const uint64_t at = TIFFGetStrileOffset(td->handle.tif, td->layout.stored_most);
    if (source_read(td->base.source, at, head, sizeof head, &got, NULL) != IMGSTAT_OK ||
        (head[MAGIC] & SINGLE))
        return UINT64_MAX;
    const uint64_t power = (uint64_t)1 << (10 + (head[MAGIC + 1] >> 3));
    return power + power / 8 * (head[MAGIC + 1] & 7);
}

/* What libtiff's codec allocates for a tile, at most: windows of Zstandard and LZMA as far as they
 * are filled; with JPEG coefficients, which libtiff limits; samples before their last step. */
static uint64_t codec_holds(const TiffDecoder *td)
{
    const TiffLayout *const layout = &td->layout;
    const uint64_t usual_window = 8u << 20, jpeg_limit = 100u << 20, tile = layout->tile_bytes;
    uint64_t window;
    switch (layout->compression) {
    case COMPRESSION_NONE:
    case COMPRESSION_LZW:
    case COMPRESSION_PACKBITS:
    case COMPRESSION_DEFLATE:
    case COMPRESSION_ADOBE_DEFLATE:
        return 0;
    case COMPRESSION_ZSTD:
        window = zstd_window(td);
        if (window <= usual_window)
            return 0; /* page_memory.c has room for it */
        return tile < window ? tile : window;
    case COMPRESSION_LZMA:
        return tile;
    case COMPRESSION_JPEG:
        return tile < jpeg_limit / 2 ? 2 * tile : jpeg_limit;
    default:
        return 2 * tile;
    }
}

unsigned tiff_codec_weight(uint16_t compression)
{
    switch (compression) {
    case COMPRESSION_NONE:
    case COMPRESSION_LZW:
    case COMPRESSION_PACKBITS:
    case COMPRESSION_DEFLATE:
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_ZSTD:
    case COMPRESSION_LERC:
    case COMPRESSION_CCITTRLE:
    case COMPRESSION_CCITTRLEW:
    case COMPRESSION_CCITTFAX3:
    case COMPRESSION_CCITTFAX4:
        return 1;
    case COMPRESSION_JPEG:
    case COMPRESSION_WEBP:
        return 2;
    default:
        return 4;
    }
}

/* What a handle of libtiff holds of the page's directory: its fields, with a copy while one is
 * read, and where tiles lie. */
static uint64_t handle_bytes(const TiffDecoder *td)
{
    const TiffLayout *const layout = &td->layout;
    return 2 * td->base.list.entry[td->base.page.page].field_bytes +
           16 * (uint64_t)layout->across * layout->down * layout->planes;
}

unsigned tiff_handle_threads(const TiffDecoder *td)
{
    const uint64_t most = HANDLES_BYTES / (handle_bytes(td) + 1);
    const unsigned threads = decoder_threads(&td->base);
    return threads <= most ? threads : most > 0 ? (unsigned)most : 1;
}

/* libtiff holds a tile as it is in the file, and as it decodes it. */
static uint64_t tiles_hold(const TiffDecoder *td)
{
    const TiffLayout *const layout = &td->layout;
    const uint64_t stored = layout->stored_bytes ? layout->stored_bytes : layout->tile_bytes;
    const uint64_t planes = tiff_planes_together(td);
    switch (layout->mode) {
    case TIFF_READ_RAW:
        return 0;
    case TIFF_READ_SCANLINES:
        return tiff_strip_suits(td) ? tiff_strip_holds(td)
                                    : planes * (stored + codec_holds(td) + handle_bytes(td));
    case TIFF_READ_RGBA:
        return stored + 5 * (uint64_t)layout->tile_bytes + codec_holds(td);
    default:
        return stored + layout->tile_bytes +
               (tiff_decompressor_suits(td)
                    ? 0
                    : tiff_handle_threads(td) * (codec_holds(td) + handle_bytes(td)));
    }
}

uint64_t tiff_page_holds(const TiffDecoder *td)
{
    return handle_bytes(td) + tiles_hold(td);
}

/* Strips as many as threads, so that each has one: they lie one below the other. */
static uint32_t whole_rows(const TiffDecoder *td)
{
    const TiffLayout *const layout = &td->layout;
    if (layout->mode == TIFF_READ_RAW || layout->mode == TIFF_READ_SCANLINES)
        return 1;
    const uint64_t side_by_side = (uint64_t)layout->across * tiff_planes_together(td);
    const uint64_t threads = td->base.mode == DECODE_PLAIN ? 1 : td->base.options.threads;
    uint64_t n = side_by_side >= threads ? 1 : threads / side_by_side;
    if (band_bytes(td) > 0 && n > BAND_BYTES / band_bytes(td))
        n = BAND_BYTES / band_bytes(td);
    const uint64_t rows = layout->tile_height * (n > 0 && n <= layout->down ? n : 1);
    return rows < UINT32_MAX ? (uint32_t)rows : UINT32_MAX;
}

/* Whether planes are read one by one. Those of too few tiles to occupy the threads are decoded
 * together where tiles are decoded whole. */
static bool reads_planes(const TiffDecoder *td)
{
    const TiffLayout *const layout = &td->layout;
    const uint64_t tiles = (uint64_t)layout->across * layout->down;
    if (!td->base.options.planes || td->base.mode == DECODE_PLAIN || layout->planes == 1 ||
        td->map8 || td->map16)
        return false;
    return layout->mode == TIFF_READ_RAW || layout->mode == TIFF_READ_SCANLINES ||
           (layout->mode == TIFF_READ_TILES && tiles >= td->base.options.threads);
}

/* libtiff holds the compressed bytes of a tile. */
static ImgstatResult check_stored(const TiffDecoder *td, ImgstatError *err)
{
    enum { LEAST_LIMIT = 1 << 20 }; /* read whatever the limit for decoded bytes is */
    const TiffLayout *const layout = &td->layout;
    const uint64_t limit = td->base.how.limits.max_tile_bytes;
    const bool streamed = layout->mode == TIFF_READ_SCANLINES && tiff_strip_suits(td);
    char text[64];
    if (layout->mode == TIFF_READ_RAW || streamed || layout->stored_bytes <= limit ||
        layout->stored_bytes <= LEAST_LIMIT)
        return IMGSTAT_OK;
    return error_file(err, IMGSTAT_ERR_LIMIT, td->base.source->name,
                      "%s takes more than the limit of %llu bytes",
                      tiff_tile_name(td, layout->stored_most, text), (unsigned long long)limit);
}

/* ---- The page ---- */

ImgstatResult tiff_page_describe(TiffDecoder *td, ImgstatError *err)
{
    ImgstatPage *const page = &td->base.page;
    TiffLayout *const layout = &td->layout;
    IMGSTAT_TRY(read_fields(td, err));
    IMGSTAT_TRY(limits_check(&td->base.how.limits, td->base.source->name, page->width, page->height,
                             layout->samples, 1, err));
    IMGSTAT_TRY(tiff_page_samples(td, err));
    tiff_page_prepare(td);
    layout->predictor = PREDICTOR_NONE;
    if (tiff_has_predictor(layout->compression))
        TIFFGetField(td->handle.tif, TIFFTAG_PREDICTOR, &layout->predictor);
    IMGSTAT_TRY(choose_conversion(td, err));
    if (layout->photometric == PHOTOMETRIC_PALETTE && !td->base.how.indices)
        IMGSTAT_TRY(tiff_page_palette(td, err));
    IMGSTAT_TRY(limits_check(&td->base.how.limits, td->base.source->name, page->width, page->height,
                             page->channels, imgstat_sample_bytes(page->sample), err));
    IMGSTAT_TRY(tile_geometry(td, err));
    return tiff_page_channels(td, err);
}

ImgstatResult tiff_page_plan(TiffDecoder *td, ImgstatError *err)
{
    TiffLayout *const layout = &td->layout;
    layout->mode = choose_mode(td);
    if (reads_planes(td)) {
        td->base.caps.planes = layout->planes;
        layout->mode = choose_mode(td);
    }
    td->base.caps.band_rows = whole_rows(td);
    IMGSTAT_TRY(check_tile_limit(td, err));
    return check_stored(td, err);
}
