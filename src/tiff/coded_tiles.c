/* SPDX-License-Identifier: MIT */
/* coded_tiles.c: where the strips or tiles of a page are in the file, for devices that decode them.
 */
#include "base/compiler.h"
#include "base/sample.h"
#include "codec/inflate.h"
#include "tiff/decoder.h"
#include "tiff/predictor.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    uint16_t compression;
    TileCoding coding;
} codings[] = {{COMPRESSION_NONE, TILE_PLAIN},
               {COMPRESSION_DEFLATE, TILE_DEFLATED},
               {COMPRESSION_ADOBE_DEFLATE, TILE_DEFLATED},
               {COMPRESSION_LZW, TILE_LZW},
               {COMPRESSION_PACKBITS, TILE_PACKBITS}};

static bool find_coding(const TiffLayout *layout, uint8_t *out)
{
    for (size_t i = 0; i < ARRAY_LEN(codings); i++)
        if (codings[i].compression == layout->compression) {
            *out = (uint8_t)codings[i].coding;
            return true;
        }
    return false;
}

/* Whether samples become those of the image by what a device does. Packed samples are a stream of
 * bits in either byte order; libtiff reverses words of 24. */
static bool samples_are_known(const TiffDecoder *td)
{
    const TiffLayout *const layout = &td->layout;
    const ImgstatSample sample = td->base.page.sample;
    const unsigned bits = layout->bits;
    if (td->map8 || td->map16 || layout->mode == TIFF_READ_RGBA ||
        td->base.page.channels != layout->samples)
        return false;
    if (tiff_needs_unpack(layout))
        return bits < 32 && !sample_is_float(sample) && layout->predictor == PREDICTOR_NONE &&
               !layout->reversed && !(layout->swapped && bits == 24);
    return bits == 8 * imgstat_sample_bytes(sample) && tiff_predictor_known(layout) &&
           (bits < 64 || layout->predictor != PREDICTOR_HORIZONTAL);
}

static bool describe_page(const TiffDecoder *td, TiledPage *out)
{
    const TiffLayout *const layout = &td->layout;
    const ImgstatPage *const page = &td->base.page;
    const uint64_t n = (uint64_t)layout->across * layout->down * layout->planes;
    *out = (TiledPage){.width = page->width,
                       .height = page->height,
                       .tile_width = layout->tile_width,
                       .tile_height = layout->tile_height,
                       .across = layout->across,
                       .down = layout->down,
                       .row_bytes = (uint32_t)layout->row_bytes,
                       .n_tiles = (uint32_t)n,
                       .channels = page->channels,
                       .planes = layout->planes,
                       .per_tile = layout->per_tile,
                       .bits = (uint8_t)layout->bits,
                       .sample_bytes = (uint8_t)imgstat_sample_bytes(page->sample),
                       .prediction = tiff_prediction(layout->predictor),
                       .swapped = layout->swapped,
                       .is_signed = sample_is_signed(page->sample)};
    return n <= UINT32_MAX && layout->tile_bytes <= DEFLATED_ROWS_MOST &&
           (uint64_t)layout->tile_width * layout->per_tile <= DEFLATED_ROWS_MOST &&
           td->plane_at == 0 && td->pixels_end == UINT64_MAX && !td->offsets_truncated &&
           samples_are_known(td) && find_coding(layout, &out->coding);
}

/* Reads what is around the deflate data of a tile. */
static bool read_frame(const TiffDecoder *td, CodedTile *tile)
{
    uint8_t frame[ZLIB_FRAME + 1] = {0}; /* with nothing inside, which no stream has */
    const uint32_t n = tile->n_in;
    size_t got[2] = {0};
    if (n < sizeof frame ||
        source_read(td->base.source, tile->in, frame, ZLIB_HEAD, &got[0], NULL) != IMGSTAT_OK ||
        source_read(td->base.source, tile->in + n - ZLIB_TAIL, frame + sizeof frame - ZLIB_TAIL,
                    ZLIB_TAIL, &got[1], NULL) != IMGSTAT_OK ||
        got[0] + got[1] < ZLIB_FRAME)
        return false;
    tile->in += ZLIB_HEAD;
    tile->n_in -= ZLIB_FRAME;
    return inflate_read_frame(frame, sizeof frame, &tile->window, &tile->adler);
}

/* Finds the bytes of a tile. Of one that is not compressed the rows below the image are left out,
 * but must be in the file if its size says so: libtiff reads them. */
static bool find_tile(const TiffDecoder *td, const TiledPage *page, uint32_t number, CodedTile *out)
{
    const TiffLayout *const layout = &td->layout;
    const bool plain = page->coding == TILE_PLAIN;
    const uint32_t y = number / layout->across % layout->down * layout->tile_height;
    const uint32_t left = page->height - y;
    const uint32_t rows = left < layout->tile_height ? left : layout->tile_height;
    const uint64_t whole = (uint64_t)(layout->tiled ? layout->tile_height : rows) * page->row_bytes;
    const uint64_t n_out = plain ? (uint64_t)rows * page->row_bytes : whole;
    const uint64_t at = TIFFGetStrileOffset(td->handle.tif, number);
    uint64_t n_in = TIFFGetStrileByteCount(td->handle.tif, number);
    const uint64_t end = td->base.source->bytes;
    const bool usual = tiff_stored_is_usual(layout, n_in);
    if (plain && n_in > whole)
        n_in = whole;
    if (!usual || tiff_tile_absent(td, number) || at > end || n_in > end - at ||
        (plain ? n_in < n_out : n_in > TILE_BYTES_MOST))
        return false;
    n_in = plain ? n_out : n_in;
    *out =
        (CodedTile){.in = at, .n_in = (uint32_t)n_in, .n_out = (uint32_t)n_out, .number = number};
    return page->coding != TILE_DEFLATED || read_frame(td, out);
}

bool tiff_coded_tiles(Decoder *base, TiledPage *out, CodedTile **tiles)
{
    const TiffDecoder *const td = (const TiffDecoder *)base;
    if (tiles)
        *tiles = NULL;
    if (base->mode == DECODE_PLAIN || !describe_page(td, out))
        return false;
    if (!tiles)
        return true;
    CodedTile *const list = malloc(out->n_tiles * sizeof *list);
    bool good = list != NULL;
    for (uint32_t i = 0; i < out->n_tiles && good; i++)
        good = find_tile(td, out, i, &list[i]);
    if (good)
        *tiles = list;
    else
        free(list);
    return good;
}
