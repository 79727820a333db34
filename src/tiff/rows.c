/* SPDX-License-Identifier: MIT */
/* rows.c: rows of a TIFF page from its strips or tiles, in bounded memory. */
#include "tiff/decoder.h"

#include <stdlib.h>
#include <string.h>

/* Uncompressed rows that need work are read in pieces of about this size: they stay in the cache.
 */
enum { PIECE_BYTES = 1 << 18 };

static uint32_t piece_rows(const TiffLayout *layout, bool as_they_are)
{
    const size_t fit = PIECE_BYTES / layout->row_bytes;
    if (as_they_are && !layout->swapped && !layout->reversed)
        return UINT32_MAX;
    return fit > 0 ? (uint32_t)fit : 1;
}

ImgstatResult tiff_chunk_room(TiffDecoder *td, size_t bytes, ImgstatError *err)
{
    if (bytes <= td->chunk_room)
        return IMGSTAT_OK;
    buffer_cache_release(td->chunk);
    td->chunk_room = 0;
    td->chunk = buffer_cache_acquire(td->base.options.buffers, bytes);
    if (!td->chunk)
        return error_memory(err, bytes, "a strip or tile");
    td->chunk_room = bytes;
    return IMGSTAT_OK;
}

/* One chunk row of whole samples, where unpacking or filling needs it. */
static ImgstatResult row_room(TiffDecoder *td, ImgstatError *err)
{
    const size_t bytes = (size_t)td->layout.chunk_width * td->layout.per_chunk * 8;
    if (td->row)
        return IMGSTAT_OK;
    td->row = buffer_cache_acquire(td->base.options.buffers, bytes);
    return td->row ? IMGSTAT_OK : error_memory(err, bytes, "a row of pixels");
}

/* The type of samples before a palette is applied. */
static ImgstatSample stored_sample(const TiffDecoder *td)
{
    if (td->map8 || td->map16)
        return td->layout.bits <= 8 ? IMGSTAT_U8 : IMGSTAT_U16;
    return td->base.page.sample;
}

/* Samples go from the file to the image byte for byte. */
static bool is_direct(const TiffDecoder *td)
{
    return tiff_planes_together(td) == 1 && !td->map8 && !td->map16 &&
           !tiff_needs_unpack(&td->layout);
}

static void place_row(TiffDecoder *td, const uint8_t *from, uint16_t plane, uint32_t x,
                      uint32_t pixels, uint8_t *to)
{
    if (tiff_needs_unpack(&td->layout)) {
        tiff_unpack(&td->layout, stored_sample(td), from, td->row,
                    (size_t)pixels * td->layout.per_chunk);
        from = td->row;
    }
    tiff_place(td, from, plane, x, pixels, to);
}

/* ---- Uncompressed strips ---- */

/* Where row y of a plane lies, 0 for nowhere; *rows: how many rows follow each other there, at most
 * `limit`. */
static uint64_t row_place(const TiffDecoder *td, uint16_t plane, uint32_t y, uint32_t limit,
                          uint32_t *rows)
{
    const TiffLayout *const layout = &td->layout;
    const uint32_t first = plane * layout->down + y / layout->chunk_height;
    const uint32_t inside = y % layout->chunk_height;
    const uint64_t start = TIFFGetStrileOffset(td->handle.tif, first);
    uint32_t n = layout->chunk_height - inside;
    uint64_t end = start + (uint64_t)layout->chunk_height * layout->row_bytes;
    *rows = n < limit ? n : limit;
    if (tiff_chunk_absent(td, first))
        return 0;
    for (uint32_t strip = first + 1; n < limit; strip++) {
        if (TIFFGetStrileOffset(td->handle.tif, strip) != end || tiff_chunk_absent(td, strip))
            break;
        n = limit - n < layout->chunk_height ? limit : n + layout->chunk_height;
        end += (uint64_t)layout->chunk_height * layout->row_bytes;
        *rows = n;
    }
    return start + (uint64_t)inside * layout->row_bytes;
}

static ImgstatResult read_piece(const TiffDecoder *td, uint64_t at, uint8_t *to, size_t bytes,
                                uint32_t strip, ImgstatError *err)
{
    size_t got = 0;
    char chunk[64];
    IMGSTAT_TRY(source_read(td->base.source, at, to, bytes, &got, err));
    if (got < bytes) {
        tiff_chunk_name(td, strip, chunk);
        return error_set(err, IMGSTAT_ERR_TRUNCATED, "%s: %s ends early", td->base.source->name,
                         chunk);
    }
    tiff_swap(&td->layout, to, bytes);
    return IMGSTAT_OK;
}

static void fill_absent(TiffDecoder *td, uint16_t plane, uint8_t *to, size_t pitch, uint32_t x,
                        uint32_t pixels, uint32_t rows)
{
    const size_t n = (size_t)pixels * td->layout.per_chunk;
    if (td->map8 || td->map16)
        memset(td->row, 0, 2 * n); /* index 0 */
    else
        tiff_nodata_fill(&td->base.page, td->row, n);
    for (uint32_t y = 0; y < rows; y++)
        tiff_place(td, td->row, plane, x, pixels, to + y * pitch);
}

static ImgstatResult read_plane_pieces(TiffDecoder *td, uint16_t plane, uint8_t *to, size_t pitch,
                                       uint32_t rows, ImgstatError *err)
{
    const TiffLayout *const layout = &td->layout;
    const bool straight = is_direct(td) && pitch == layout->row_bytes;
    const uint32_t most = piece_rows(layout, straight);
    if (!straight) {
        IMGSTAT_TRY(tiff_chunk_room(td, most * layout->row_bytes, err));
        IMGSTAT_TRY(row_room(td, err));
    }
    for (uint32_t done = 0, n = 0; done < rows; done += n) {
        const uint32_t y = td->base.next_row + done, left = rows - done;
        const uint32_t strip = plane * layout->down + y / layout->chunk_height;
        uint8_t *const row = to + done * pitch;
        const uint64_t at = row_place(td, plane, y, left < most ? left : most, &n);
        if (at == 0) {
            IMGSTAT_TRY(row_room(td, err));
            fill_absent(td, plane, row, pitch, 0, layout->chunk_width, n);
            continue;
        }
        uint8_t *const piece = straight ? row : td->chunk;
        IMGSTAT_TRY(read_piece(td, at, piece, n * layout->row_bytes, strip, err));
        for (uint32_t i = 0; !straight && i < n; i++)
            place_row(td, piece + i * layout->row_bytes, plane, 0, layout->chunk_width,
                      row + i * pitch);
    }
    return IMGSTAT_OK;
}

bool tiff_rows_anywhere(const TiffDecoder *td)
{
    return td->layout.path == TIFF_PATH_PIECES && is_direct(td);
}

bool tiff_rows_at(const TiffDecoder *td, uint16_t plane, uint32_t row, uint8_t *to, uint32_t rows)
{
    const size_t row_bytes = td->layout.row_bytes;
    const uint32_t most = piece_rows(&td->layout, true);
    for (uint32_t done = 0, n = 0; done < rows; done += n) {
        const uint32_t left = rows - done;
        const uint64_t at = row_place(td, plane, row + done, left < most ? left : most, &n);
        if (at == 0 ||
            read_piece(td, at, to + done * row_bytes, n * row_bytes, 0, NULL) != IMGSTAT_OK)
            return false;
    }
    return true;
}

/* The JPEG decoder keeps the tables that one strip or tile defines for the next: which pixels come
 * would depend on what a handle decoded before. A decoder made anew has the page's own only. (To
 * read the directory again would do, too, but takes as long as it has strips or tiles, for each of
 * them.) False: out of memory. */
static bool forget_jpeg_tables(const TiffDecoder *td, TIFF *tif)
{
    uint32_t n = 0;
    const void *tables = NULL;
    void *copy = NULL;
    if (td->layout.compression != COMPRESSION_JPEG)
        return true;
    if (TIFFGetField(tif, TIFFTAG_JPEGTABLES, &n, &tables) && n > 0) {
        copy = malloc(n);
        if (!copy)
            return false;
        memcpy(copy, tables, n);
    }
    const bool good = TIFFSetField(tif, TIFFTAG_COMPRESSION, COMPRESSION_NONE) &&
                      TIFFSetField(tif, TIFFTAG_COMPRESSION, COMPRESSION_JPEG) &&
                      (!copy || TIFFSetField(tif, TIFFTAG_JPEGTABLES, n, copy));
    free(copy);
    tiff_page_prepare(td);
    return good;
}

/* libtiff takes all LZW chunks of a page for old ones, lowest bit first, or for new ones as the one
 * looks that a handle decodes first. A handle that begins elsewhere looks at the page's first. */
static void prime_lzw(TiffDecoder *td, uint32_t index)
{
    TIFF *const tif = td->handle.tif;
    const TiffLayout *const layout = &td->layout;
    const uint32_t n = layout->across * layout->down * layout->planes;
    uint32_t first = 0;
    if (td->primed || layout->compression != COMPRESSION_LZW)
        return;
    td->primed = true;
    for (uint32_t k = 0; k < n; k++) { /* in the order in which they are decoded */
        const uint32_t beside = k % layout->across, row = k / layout->across;
        first =
            (row % layout->planes * layout->down + row / layout->planes) * layout->across + beside;
        if (!tiff_chunk_absent(td, first))
            break;
    }
    uint8_t *const pixels = first == index ? NULL : malloc(layout->row_bytes);
    if (pixels && layout->tiled)
        TIFFReadEncodedTile(tif, first, pixels, (tmsize_t)layout->row_bytes);
    else if (pixels)
        TIFFReadEncodedStrip(tif, first, pixels, (tmsize_t)layout->row_bytes);
    free(pixels);
}

/* ---- Large compressed strips ---- */

/* A handle for each plane, so that each goes down its strips without decoding again. */
static ImgstatResult open_planes(TiffDecoder *td, ImgstatError *err)
{
    const uint16_t n = td->layout.planes;
    if (td->planes || tiff_planes_together(td) == 1)
        return IMGSTAT_OK;
    td->planes = calloc(n, sizeof *td->planes);
    if (!td->planes)
        return error_memory(err, n * sizeof *td->planes, "TIFF planes");
    for (uint16_t i = 1; i < n; i++) {
        IMGSTAT_TRY(tiff_handle_open(td, &td->planes[i], err));
        if (!TIFFSetSubDirectory(td->planes[i].tif, td->page_at[td->base.page.page]))
            return error_set(err, IMGSTAT_ERR_FORMAT, "%s: %s", td->base.source->name,
                             td->failure.message);
        if ((uint64_t)TIFFScanlineSize64(td->planes[i].tif) != td->layout.row_bytes)
            return decoder_changed(&td->base, err);
    }
    return IMGSTAT_OK;
}

/* Where tiff/strip_stream.c gave up, or the handle was at another plane: libtiff comes to a row of
 * such a strip only through those above it. False: one of them is damaged. */
static bool catch_up(TiffDecoder *td, TiffHandle *handle, uint16_t plane, uint32_t y)
{
    const uint32_t inside = y % td->layout.chunk_height;
    if (!handle->unseen)
        return true;
    handle->unseen = false;
    prime_lzw(td, plane * td->layout.down + y / td->layout.chunk_height);
    tiff_forget(td);
    uint8_t *const row = malloc(td->layout.row_bytes);
    bool good = row != NULL;
    for (uint32_t i = inside; good && i > 0; i--)
        good = TIFFReadScanline(handle->tif, row, y - i, plane) == 1;
    free(row);
    return good;
}

/* Rows of one plane, by a handle that has decoded the row above the first or that `unseen` is said
 * of. */
static ImgstatResult read_plane_scanlines(TiffDecoder *td, TiffHandle *handle, uint16_t plane,
                                          uint8_t *to, size_t pitch, uint32_t rows,
                                          ImgstatError *err)
{
    const TiffLayout *const layout = &td->layout;
    const bool direct = is_direct(td), many = direct && pitch == layout->row_bytes;
    for (uint32_t i = 0, n = 1; i < rows; i += n) {
        const uint32_t y = td->base.next_row + i, inside = y % layout->chunk_height;
        const uint32_t strip = plane * layout->down + y / layout->chunk_height;
        uint8_t *const row = to + i * pitch;
        uint8_t *const decoded = direct ? row : td->chunk;
        const bool absent = tiff_chunk_absent(td, strip);
        n = rows - i < layout->chunk_height - inside ? rows - i : layout->chunk_height - inside;
        n = many ? n : 1;
        if (!absent && tiff_strip_rows(td, &handle->strip, strip, inside, n, decoded)) {
            handle->unseen = true;
            if (!direct)
                place_row(td, decoded, plane, 0, layout->chunk_width, row);
            continue;
        }
        n = 1;
        if (absent) {
            IMGSTAT_TRY(row_room(td, err));
            fill_absent(td, plane, row, pitch, 0, layout->chunk_width, 1);
            continue;
        }
        const bool ready = inside != 0 || forget_jpeg_tables(td, handle->tif);
        tiff_forget(td);
        if (!ready || !catch_up(td, handle, plane, y) ||
            TIFFReadScanline(handle->tif, decoded, y, plane) != 1 || td->failure.code != IMGSTAT_OK)
            return tiff_chunk_failed(td, strip, err);
        if (!direct)
            place_row(td, decoded, plane, 0, layout->chunk_width, row);
    }
    return IMGSTAT_OK;
}

/* Rows that follow those read last. */
static ImgstatResult read_scanlines(TiffDecoder *td, uint8_t *to, size_t pitch, uint32_t rows,
                                    ImgstatError *err)
{
    const TiffLayout *const layout = &td->layout;
    IMGSTAT_TRY(open_planes(td, err));
    if ((uint64_t)TIFFScanlineSize64(td->handle.tif) != layout->row_bytes)
        return error_set(err, IMGSTAT_ERR_FORMAT, "%s: rows are not as long as declared",
                         td->base.source->name);
    if (!is_direct(td)) {
        IMGSTAT_TRY(tiff_chunk_room(td, layout->row_bytes, err));
        IMGSTAT_TRY(row_room(td, err));
    }
    const uint16_t first = tiff_first_plane(td), n_planes = tiff_planes_together(td);
    for (uint16_t plane = first; plane - first < n_planes; plane++) {
        TiffHandle *const handle = plane == first ? &td->handle : &td->planes[plane];
        IMGSTAT_TRY(read_plane_scanlines(td, handle, plane, to, pitch, rows, err));
    }
    return IMGSTAT_OK;
}

/* ---- Tiles and small strips ---- */

/* Decodes the first rows of a chunk, `bytes` in all. */
static bool decode_chunk(TiffDecoder *td, uint32_t index, uint8_t *to, size_t bytes)
{
    TIFF *const tif = td->handle.tif;
    if (td->quick)
        return tiff_quick_chunk(td->quick, td, index, to, bytes,
                                to == td->chunk ? td->layout.chunk_bytes : bytes);
    const bool ready = forget_jpeg_tables(td, tif);
    prime_lzw(td, index);
    tiff_forget(td);
    if (!ready)
        return false;
    const tmsize_t got = td->layout.tiled ? TIFFReadEncodedTile(tif, index, to, (tmsize_t)bytes)
                                          : TIFFReadEncodedStrip(tif, index, to, (tmsize_t)bytes);
    return got == (tmsize_t)bytes && td->failure.code == IMGSTAT_OK;
}

/* CCITT data may end before the last row without a word, and so may JPEG data that declare fewer
 * rows: those that are missing keep what the memory held before, so decoding into two patterns
 * tells. */
static bool decode_whole_chunk(TiffDecoder *td, uint32_t index, size_t bytes)
{
    static const uint8_t patterns[] = {0xAA, 0x55};
    const size_t last = bytes - td->layout.row_bytes;
    for (size_t p = 0; p < sizeof patterns; p++) {
        size_t same = 0;
        memset(td->chunk, patterns[p], bytes);
        if (!decode_chunk(td, index, td->chunk, bytes))
            return false;
        while (same < td->layout.row_bytes && td->chunk[last + same] == patterns[p])
            same++;
        if (same < td->layout.row_bytes)
            return true;
    }
    (void)!error_set(&td->failure, IMGSTAT_ERR_TRUNCATED, "ends before its last row");
    return false;
}

bool tiff_ends_silently(uint16_t compression)
{
    return compression == COMPRESSION_JPEG || compression == COMPRESSION_CCITTRLE ||
           compression == COMPRESSION_CCITTRLEW || compression == COMPRESSION_CCITTFAX3 ||
           compression == COMPRESSION_CCITTFAX4;
}

bool tiff_strips_straight(const TiffDecoder *td)
{
    return is_direct(td) && !td->layout.tiled && !tiff_ends_silently(td->layout.compression);
}

ImgstatResult tiff_chunk_read(TiffDecoder *td, uint32_t index, uint32_t across, uint16_t plane,
                              uint8_t *to, size_t pitch, uint32_t rows, ImgstatError *err)
{
    const TiffLayout *const layout = &td->layout;
    const uint32_t x = across * layout->chunk_width, left = td->base.page.width - x;
    const uint32_t pixels = left < layout->chunk_width ? left : layout->chunk_width;
    /* Some writers leave the rows below the image out of their last tiles; nobody needs those. */
    const bool all_rows = layout->tiled && layout->compression == COMPRESSION_JBIG;
    const size_t bytes = all_rows ? layout->chunk_bytes : rows * layout->row_bytes;
    if (tiff_chunk_absent(td, index)) {
        IMGSTAT_TRY(row_room(td, err));
        fill_absent(td, plane, to, pitch, x, pixels, rows);
        return IMGSTAT_OK;
    }
    const bool check = tiff_ends_silently(layout->compression);
    const bool straight = tiff_strips_straight(td) && pitch == layout->row_bytes;
    if (!straight)
        IMGSTAT_TRY(tiff_chunk_room(td, layout->chunk_bytes, err));
    if (tiff_needs_unpack(layout))
        IMGSTAT_TRY(row_room(td, err));

    if (check ? !decode_whole_chunk(td, index, bytes)
              : !decode_chunk(td, index, straight ? to : td->chunk, bytes))
        return tiff_chunk_failed(td, index, err);
    for (uint32_t y = 0; !straight && y < rows; y++)
        place_row(td, td->chunk + y * layout->row_bytes, plane, x, pixels, to + y * pitch);
    return IMGSTAT_OK;
}

bool tiff_chunks_apart(const TiffDecoder *td)
{
    return is_direct(td) && tiff_quick_suits(td);
}

const uint8_t *tiff_chunk_alone(TiffDecoder *td, uint32_t index, uint32_t rows)
{
    const TiffLayout *const layout = &td->layout;
    const size_t bytes = rows * layout->row_bytes,
                 room = layout->tiled ? layout->chunk_bytes : bytes;
    if (tiff_chunk_room(td, layout->chunk_bytes, NULL) != IMGSTAT_OK)
        return NULL;
    if (tiff_chunk_absent(td, index))
        tiff_nodata_fill(&td->base.page, td->chunk,
                         (size_t)rows * layout->chunk_width * layout->per_chunk);
    else if (!tiff_quick_chunk(td->quick, td, index, td->chunk, bytes, room))
        return NULL;
    return td->chunk;
}

/* n units, whole but for the image's end. */
static ImgstatResult read_units(TiffDecoder *td, uint32_t down, uint32_t n, uint8_t *to,
                                size_t pitch, ImgstatError *err)
{
    const uint32_t height = td->layout.chunk_height;
    if (td->layout.path == TIFF_PATH_CHUNKS)
        return tiff_chunks_read(td, down, n, to, pitch, err);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t y = (down + i) * height, left = td->base.page.height - y;
        const uint32_t rows = left < height ? left : height;
        uint8_t *const row = to + (size_t)i * height * pitch;
        IMGSTAT_TRY(tiff_rgba_read(td, down + i, row, pitch, rows, err));
    }
    return IMGSTAT_OK;
}

static ImgstatResult read_by_units(TiffDecoder *td, uint8_t *to, size_t pitch, uint32_t rows,
                                   ImgstatError *err)
{
    const uint32_t unit = td->layout.chunk_height;
    const ImgstatPage *const page = &td->base.page;
    const size_t row_bytes =
        (size_t)page->width * decoder_channels(&td->base) * imgstat_sample_bytes(page->sample);
    for (uint32_t done = 0, n = 0; done < rows; done += n) {
        const uint32_t y = td->base.next_row + done;
        const uint32_t down = y / unit, inside = y % unit;
        const uint32_t to_end = page->height - down * unit;
        const uint32_t height = to_end < unit ? to_end : unit;
        const uint32_t left = rows - done;
        n = height - inside < left ? height - inside : left;
        if (n == height) {
            const bool to_last = y + left == page->height;
            const uint32_t whole = left / unit;
            const uint32_t many = to_last ? (left + unit - 1) / unit : whole;
            n = to_last ? left : whole * unit;
            IMGSTAT_TRY(read_units(td, down, many, to + done * pitch, pitch, err));
            continue;
        }
        const uint32_t band = tiff_first_plane(td) * td->layout.down + down;
        if (td->band_at != band) {
            if (!td->band)
                td->band = buffer_cache_acquire(td->base.options.buffers, row_bytes * unit);
            if (!td->band)
                return error_memory(err, row_bytes * unit, "a row of strips or tiles");
            td->band_at = UINT32_MAX;
            IMGSTAT_TRY(read_units(td, down, 1, td->band, row_bytes, err));
            td->band_at = band;
        }
        for (uint32_t i = 0; i < n; i++)
            memcpy(to + (done + i) * pitch, td->band + (inside + i) * row_bytes, row_bytes);
    }
    return IMGSTAT_OK;
}

ImgstatResult tiff_rows_read(TiffDecoder *td, uint8_t *to, size_t pitch, uint32_t rows,
                             ImgstatError *err)
{
    if (td->layout.path == TIFF_PATH_SCANLINES)
        return read_scanlines(td, to, pitch, rows, err);
    if (td->layout.path != TIFF_PATH_PIECES)
        return read_by_units(td, to, pitch, rows, err);
    const uint16_t first = tiff_first_plane(td), n_planes = tiff_planes_together(td);
    for (uint16_t plane = first; plane - first < n_planes; plane++)
        IMGSTAT_TRY(read_plane_pieces(td, plane, to, pitch, rows, err));
    return IMGSTAT_OK;
}
