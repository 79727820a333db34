/* SPDX-License-Identifier: MIT */
/* decoder.c: the TIFF codec: opens a file, selects its pages, gives their rows. */
#include "tiff/decoder.h"
#include "tiff/directories.h"

#include "base/compiler.h"
#include "codec/codec_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool probe(const uint8_t *bytes, size_t n)
{
    static const uint8_t magic[][4] = {
        {'I', 'I', 42, 0}, {'M', 'M', 0, 42}, {'I', 'I', 43, 0}, {'M', 'M', 0, 43}};
    for (size_t i = 0; i < ARRAY_LEN(magic); i++)
        if (n >= sizeof magic[i] && memcmp(bytes, magic[i], sizeof magic[i]) == 0)
            return true;
    return false;
}

/* Everything that belongs to one page. */
static void release_page(TiffDecoder *td)
{
    for (uint16_t i = 1; td->planes && i < td->layout.planes; i++)
        tiff_handle_close(&td->planes[i]);
    tiff_helpers_destroy(td->helpers);
    td->helpers = NULL;
    tiff_strip_destroy(td->handle.strip);
    td->handle.strip = NULL;
    free(td->planes);
    free(td->names);
    free(td->band_names);
    free(td->map8);
    free(td->map16);
    buffer_cache_release(td->tile);
    buffer_cache_release(td->row);
    buffer_cache_release(td->band);
    td->planes = NULL;
    td->names = NULL;
    td->band_names = NULL;
    td->map8 = NULL;
    td->map16 = NULL;
    td->tile = td->row = td->band = NULL;
    td->tile_room = 0;
    td->band_at = UINT32_MAX;
    td->primed = td->handle.needs_catch_up = false;
    td->base.channel_names = NULL;
}

static void close_decoder(Decoder *base)
{
    if (!base)
        return;
    TiffDecoder *const td = (TiffDecoder *)base;
    release_page(td);
    tiff_handle_close(&td->handle);
    stack_axes_release(&td->axes);
    warnings_release(&base->warnings);
    free(td);
}

static ImgstatResult check_codec(const TiffDecoder *td, uint16_t compression, ImgstatError *err)
{
    const char *const name = compression ? tiff_compression_name(compression) : NULL;
    if (!name || codec_list_allows(td->base.how.codecs, "tiff", name))
        return IMGSTAT_OK; /* libtiff knows no code without a name */
    return error_file(err, IMGSTAT_ERR_UNSUPPORTED, td->base.source->name,
                      "is compressed with %s, which is not among the codecs that are allowed",
                      name);
}

/* libtiff keeps state of the directory read last; a handle that failed is replaced. */
static ImgstatResult read_directory(TiffDecoder *td, ImgstatError *err)
{
    if (!td->handle.tif)
        IMGSTAT_TRY(tiff_handle_open(td, &td->handle, err));
    tiff_clear_error(td);
    td->offsets_truncated = false;
    if (tiff_handle_read_directory(td, &td->handle))
        return IMGSTAT_OK;
    tiff_handle_close(&td->handle);
    const ImgstatResult code =
        td->failure.code == IMGSTAT_OK ? IMGSTAT_ERR_FORMAT : td->failure.code;
    const uint32_t page = td->base.page.page;
    char text[PAGE_NAME_BYTES];
    (void)!error_file(err, code, td->base.source->name,
                      "the directory of page %s cannot be read: %s",
                      decoder_page_name(&td->base, page, text),
                      td->failure.code == IMGSTAT_OK ? "damaged" : td->failure.message);
    if (err) {
        err->has_page = true;
        err->page = page;
    }
    return code;
}

/* Pages that lie behind each other where one directory has its only strips. */
static ImgstatResult place_plane(TiffDecoder *td, ImgstatError *err)
{
    const TiffLayout *const layout = &td->layout;
    Salvage *const salvage = &td->base.salvage;
    const uint32_t plane = td->base.list.entry[td->base.page.page].plane;
    const uint64_t first = TIFFGetStrileOffset(td->handle.tif, 0), directory = tiff_page_at(td);
    const uint64_t most = directory > first ? directory : td->base.source->bytes;
    uint64_t bytes = 0, begin = 0, end = 0;
    td->plane_at = 0;
    td->pixels_end = UINT64_MAX;
    if (plane == 0)
        return IMGSTAT_OK;
    if (layout->tiled || layout->converted || layout->compression != COMPRESSION_NONE)
        return decoder_changed(&td->base, err);
    const bool fits = !__builtin_mul_overflow((uint64_t)layout->row_bytes * layout->planes,
                                              (uint64_t)td->base.page.height, &bytes) &&
                      !__builtin_mul_overflow(bytes, (uint64_t)plane, &td->plane_at) &&
                      !__builtin_add_overflow(td->plane_at, first, &begin) &&
                      !__builtin_add_overflow(bytes, begin, &end);
    if (fits && end <= most)
        return IMGSTAT_OK;
    if (!td->base.how.salvage)
        return error_file(err, IMGSTAT_ERR_TRUNCATED, td->base.source->name,
                          "plane %u of %u ends early", plane + 1, td->base.list.chain);
    td->pixels_end = fits ? most : 0;
    if (!fits || begin >= most)
        salvage->lost_from = 0;
    else if (layout->planes == 1)
        salvage->lost_from = (uint32_t)((most - begin) / layout->row_bytes);
    return IMGSTAT_OK;
}

static ImgstatResult select_page(Decoder *base, ImgstatError *err)
{
    TiffDecoder *const td = (TiffDecoder *)base;
    release_page(td);
    /* Codecs see fields of the directory when libtiff reads it. */
    ImgstatResult res = check_codec(td, base->list.entry[base->page.page].compression, err);
    if (res == IMGSTAT_OK)
        res = read_directory(td, err);
    if (res == IMGSTAT_OK)
        res = tiff_page_describe(td, err);
    if (res == IMGSTAT_OK)
        res = check_codec(td, td->layout.compression, err);
    if (res == IMGSTAT_OK) {
        tiff_nodata_read(td);
        res = tiff_check_tiles(td, err);
    }
    if (res == IMGSTAT_OK)
        res = place_plane(td, err);
    if (res == IMGSTAT_OK)
        return IMGSTAT_OK;
    release_page(td); /* no page is selected */
    return tiff_page_outline(td, res, err);
}

static ImgstatResult plan_page(Decoder *base, ImgstatError *err)
{
    TiffDecoder *const td = (TiffDecoder *)base;
    DecodeCaps *const caps = &base->caps;
    tiff_helpers_destroy(td->helpers); /* made for other threads */
    td->helpers = NULL;
    IMGSTAT_TRY(tiff_page_plan(td, err));
    const bool direct = base->mode != DECODE_PLAIN && tiff_is_direct(td);
    const bool tiles = direct && tiff_decompressor_suits(td); /* decoded without libtiff */
    caps->random_rows = direct && td->layout.mode == TIFF_READ_RAW;
    caps->unit_rows = td->layout.mode == TIFF_READ_SCANLINES ? 0
                      : td->layout.mode == TIFF_READ_RAW     ? 1
                                                             : td->layout.tile_height;
    caps->tile_width = tiles ? td->layout.tile_width : 0;
    caps->tile_height = tiles ? td->layout.tile_height : 0;
    caps->held_bytes = tiff_page_holds(td);
    caps->weight = tiff_codec_weight(td->layout.compression);
    caps->tile_bytes = td->layout.compression == COMPRESSION_NONE ? 0 : td->layout.tile_bytes;
    caps->tiled = td->layout.tiled;
    caps->lost_planes = td->layout.planes == base->page.channels ? td->layout.planes : 0;
    caps->lost_width = td->layout.tiled ? td->layout.tile_width : 0;
    return IMGSTAT_OK;
}

static bool palette(const Decoder *base, ImagePro *colors, unsigned *n)
{
    const TiffDecoder *const td = (const TiffDecoder *)base;
    const size_t bytes = imgstat_sample_bytes(colors->sample);
    const void *const map = bytes == 1 ? (const void *)td->map8 : (const void *)td->map16;
    if (!map || colors->channels != 3 || colors->width != 1u << td->layout.bits)
        return false;
    memcpy(colors->host, map, 3 * bytes * colors->width);
    *n = colors->width;
    return true;
}

/* How libtiff was built decides what it decodes. */
static void libraries(char *to, size_t room)
{
    /* "LIBTIFF, Version 4.5.0", then a copyright. */
    const char *version = TIFFGetVersion();
    version += strcspn(version, "0123456789\n");
    size_t used = 0;
    used += (size_t)snprintf(to, room, "libtiff %.*s (", (int)strcspn(version, "\n"), version);
    TIFFCodec *const codecs = TIFFGetConfiguredCODECs();
    for (const TIFFCodec *codec = codecs; codec && codec->name && used < room; codec++) {
        const char *const name = tiff_compression_name(codec->scheme);
        if (codec->scheme != COMPRESSION_DEFLATE) /* a second number of the same */
            used += (size_t)snprintf(to + used, room - used, "%s%s", codec > codecs ? ", " : "",
                                     name ? name : codec->name);
    }
    _TIFFfree(codecs);
    if (used < room)
        snprintf(to + used, room - used, ")");
}

static ImgstatResult open_decoder(const Source *source, const ImgstatOpen *how, Decoder **out,
                                  ImgstatError *err)
{
    *out = NULL;
    TiffDecoder *const td = calloc(1, sizeof *td);
    if (!td)
        return error_memory(err, sizeof *td, "a TIFF decoder");
    td->base = (Decoder){
        .codec = &tiff_codec,
        .source = source,
        .how = *how,
        .warnings = {.warn = how->warn, .context = how->warn_context, .name = source->name},
        .page = {.format = "tiff", .alpha = -1},
    };
    td->band_at = UINT32_MAX;
    bool has_axes = false;
    ImgstatResult res =
        tiff_pages_find(source, how, &td->base.warnings, &td->base.list, &has_axes, err);
    if (res == IMGSTAT_OK && has_axes)
        res = tiff_axes_find(source, &td->base.list, &td->base.warnings, &td->axes, err);
    *out = &td->base; /* decoder_open closes it if that failed */
    return res;
}

const Codec tiff_codec = {
    .name = "tiff",
    .compression = tiff_compression_at,
    .probe = probe,
    .is_whole = tiff_is_whole,
    .open = open_decoder,
    .select = select_page,
    .plan = plan_page,
    .read_rows = tiff_rows_read,
    .read_at = tiff_rows_at,
    .tiles_begin = tiff_tiles_begin,
    .tile_at = tiff_tile_at,
    .palette = palette,
    .coded_tiles = tiff_coded_tiles,
    .metadata = tiff_metadata_read,
    .layout = tiff_layout_describe,
    .libraries = libraries,
    .close = close_decoder,
};
