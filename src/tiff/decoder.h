/* SPDX-License-Identifier: MIT */
/* decoder.h: what the parts of the TIFF decoder share: the page selected, and the calls by which
 * its rows are read. Bottom up: libtiff_handle and layout; tiles; tile_threads; rows. */
#ifndef IMGSTAT_TIFF_DECODER_H
#define IMGSTAT_TIFF_DECODER_H

#include "base/thread_pool.h"
#include "codec/codec.h"
#include "tiff/layout.h"
#include "tiff/stack_axes.h"

#include <tiffio.h>

/* A position in the source, through which one handle of libtiff reads. */
typedef struct TiffStream {
    struct TiffDecoder *decoder;
    uint64_t at;
    struct TiffStream *next; /* see tiff/libtiff_handle.c */
} TiffStream;

typedef struct TiffStrip TiffStrip; /* tiff/strip_stream.c */

typedef struct TiffHandle {
    TIFF *tif; /* NULL: not open */
    TiffStream *stream;
    TiffStrip *strip;    /* NULL: not needed so far */
    bool needs_catch_up; /* strip gave rows that tif has not decoded */
    bool lost;           /* cannot be closed */
} TiffHandle;

typedef struct TiffHelpers TiffHelpers;           /* tiff/tile_threads.c */
typedef struct TiffDecompressor TiffDecompressor; /* tiff/tiles.c */

typedef struct TiffDecoder {
    Decoder base;
    TiffHandle handle;
    TiffHandle *planes;     /* TIFF_READ_SCANLINES: a handle for each plane after the first */
    StackAxes axes;         /* of the pages of the chain, as texts declare them */
    ImgstatError failure;   /* libtiff's first error since tiff_clear_error */
    bool no_memory;         /* for a part of a directory */
    bool torn;              /* libtiff 4.5 would free more fields than there are */
    bool offsets_truncated; /* libtiff filled up the list of offsets or sizes of this page */
    TiffLayout layout;
    uint64_t plane_at;    /* how far behind the strips of the directory the page's own lie */
    uint64_t pixels_end;  /* no sample lies behind it */
    char **names;         /* of channels: the array and, behind it, the text */
    void *band_names;     /* those of the text that come from GDAL's metadata */
    uint8_t *map8;        /* palette: three bytes per index, or NULL */
    uint16_t *map16;      /* palette: three words per index, or NULL */
    uint8_t *tile;        /* one decoded tile, or a block of rows */
    size_t tile_room;     /* bytes of tile */
    uint8_t *row;         /* one tile row of whole samples */
    uint8_t *band;        /* a row of tiles that a caller takes in parts */
    uint32_t band_at;     /* which row of tiles, counted over all planes; UINT32_MAX: none */
    TiffHelpers *helpers; /* NULL: not needed so far */
    bool primed;          /* see tiff_prime_lzw */
    TiffDecompressor *decompressor; /* of a helper: decodes in place of the handle */
} TiffDecoder;

/* Where the directory of the page selected lies. */
static inline uint64_t tiff_page_at(const TiffDecoder *td)
{
    return td->base.list.entry[td->base.page.page].at;
}

/* Planes whose samples are in the rows that are read. */
static inline uint16_t tiff_planes_together(const TiffDecoder *td)
{
    return td->base.caps.planes ? 1 : td->layout.planes;
}

/* The first of these planes. */
static inline uint16_t tiff_first_plane(const TiffDecoder *td)
{
    return td->base.caps.planes ? td->base.plane : 0;
}

/* Returns whether the tiles of a compression are streams of zlib. */
static inline bool tiff_is_deflate(uint16_t compression)
{
    return compression == COMPRESSION_DEFLATE || compression == COMPRESSION_ADOBE_DEFLATE;
}

/* ---- tiff/libtiff_handle.c ---- */

/* Opens a handle that reports to td. */
ImgstatResult tiff_handle_open(TiffDecoder *td, TiffHandle *handle, ImgstatError *err);

/* Reads the directory of the page selected. Returns false with a message in td->failure, if libtiff
 * had any. */
bool tiff_handle_read_directory(TiffDecoder *td, TiffHandle *handle);

void tiff_handle_close(TiffHandle *handle);

/* Notes that libtiff had no memory for a part of a directory. */
void tiff_no_memory(TiffDecoder *td);

/* Forgets libtiff's last error. */
void tiff_clear_error(TiffDecoder *td);

/* Sets what the handle needs to know about the page before it decodes. */
void tiff_page_prepare(const TiffDecoder *td);

/* ---- tiff/sample_format.c ---- */

/* Fills in the sample type, bits and channels of the page as they are stored. */
ImgstatResult tiff_page_samples(TiffDecoder *td, ImgstatError *err);

/* Replaces indices by the colours of the palette. */
ImgstatResult tiff_page_palette(TiffDecoder *td, ImgstatError *err);

/* Names the channels. */
ImgstatResult tiff_page_channels(TiffDecoder *td, ImgstatError *err);

/* Returns the name of a compression, such as "JPEG 2000", NULL if it is not known. */
const char *tiff_compression_name(uint16_t compression);

/* Codec.compression */
const char *tiff_compression_at(size_t i);

/* Returns the name of a photometric interpretation, "unknown" if it is not known. */
const char *tiff_photometric_name(uint16_t code);

/* Reads the GDAL_NODATA tag of the page. */
void tiff_nodata_read(TiffDecoder *td);

/* Fills n samples with what an absent tile stands for: the nodata value, or 0. */
void tiff_nodata_fill(const ImgstatPage *page, void *to, size_t n);

/* ---- tiff/outline.c ---- */

/* After selecting the page failed with `res`: if its directory is sound, but cannot be decoded,
 * fills in what it says. Returns IMGSTAT_ERR_UNSUPPORTED then, else res. */
ImgstatResult tiff_page_outline(TiffDecoder *td, ImgstatResult res, ImgstatError *err);

/* ---- tiff/metadata.c ---- */

/* Codec.metadata */
ImgstatResult tiff_metadata_read(Decoder *base, Metadata *out, Warnings *warnings,
                                 ImgstatError *err);

/* ---- tiff/describe.c ---- */

/* Codec.layout */
void tiff_layout_describe(Decoder *base, ImgstatLayout *out);

/* ---- tiff/tile_check.c ---- */

/* Checks that every tile lies in the file and can be as large as declared. */
ImgstatResult tiff_check_tiles(TiffDecoder *td, ImgstatError *err);

/* ---- tiff/layout.c; see tiff/layout.h as well ---- */

/* Returns how many threads may have a handle each: libtiff loads all fields of the page for every
 * one. */
unsigned tiff_handle_threads(const TiffDecoder *td);

/* Returns whether samples are not whole as libtiff decodes them. */
bool tiff_needs_unpack(const TiffLayout *layout);

/* Returns whether samples go from the file to the image byte for byte. */
bool tiff_is_direct(const TiffDecoder *td);

/* ---- tiff/unpack.c ---- */

/* Unpacks n samples of layout.bits bits, from a row that libtiff decoded, to whole samples. */
void tiff_unpack(const TiffLayout *layout, ImgstatSample sample, const uint8_t *from, void *to,
                 size_t n);

/* Converts n bytes that libtiff has not seen to the byte order of this machine. */
void tiff_swap(const TiffLayout *layout, uint8_t *bytes, size_t n);

/* Writes `pixels` pixels of a tile row to their place in an image row: channels of `plane` on,
 * through the palette. */
void tiff_place(const TiffDecoder *td, const uint8_t *from, uint16_t plane, uint32_t x,
                uint32_t pixels, uint8_t *to);

/* ---- tiff/tiles.c ---- */

/* Returns whether a tile has no place or no bytes, as in sparse files. */
bool tiff_tile_absent(const TiffDecoder *td, uint32_t index);

/* Writes "strip 3 of 12" to text, and returns it. */
const char *tiff_tile_name(const TiffDecoder *td, uint32_t index, char text[64]);

/* Makes the error for a tile after libtiff failed on it. */
ImgstatResult tiff_tile_failed(const TiffDecoder *td, uint32_t index, ImgstatError *err);

/* Grows td->tile to so many bytes. */
ImgstatResult tiff_tile_reserve(TiffDecoder *td, size_t bytes, ImgstatError *err);

/* Allocates td->row. */
ImgstatResult tiff_row_reserve(TiffDecoder *td, ImgstatError *err);

/* Unpacks a tile row and writes it to its place in an image row. */
void tiff_place_row(TiffDecoder *td, const uint8_t *from, uint16_t plane, uint32_t x,
                    uint32_t pixels, uint8_t *to);

/* Fills the place of an absent tile. After tiff_row_reserve. */
void tiff_fill_absent(TiffDecoder *td, uint16_t plane, uint8_t *to, size_t pitch, uint32_t x,
                      uint32_t pixels, uint32_t rows);

/* Makes a handle forget what its codec keeps of the tile before. Returns false if memory runs out.
 */
bool tiff_renew_codec(const TiffDecoder *td, TIFF *tif);

/* Lets a handle that begins with tile `index` see the page's first LZW tile. */
void tiff_prime_lzw(TiffDecoder *td, uint32_t index);

/* Clears what libtiff is to decode into, where it leaves pixels out. */
void tiff_clear_before(const TiffDecoder *td, uint8_t *to, size_t bytes);

/* Reads the first `rows` rows of a tile to their place in rows of the image. */
ImgstatResult tiff_tile_read(TiffDecoder *td, uint32_t index, uint32_t across, uint16_t plane,
                             uint8_t *to, size_t pitch, uint32_t rows, ImgstatError *err);

/* Returns whether a tile may take so many bytes in the file. libtiff refuses far too many. */
bool tiff_stored_is_usual(const TiffLayout *layout, uint64_t stored);

/* Returns whether the tiles of this page can be decompressed without libtiff. */
bool tiff_decompressor_suits(const TiffDecoder *td);

/* Returns NULL if memory runs out. */
TiffDecompressor *tiff_decompressor_create(const TiffDecoder *td);

/* Accepts NULL. */
void tiff_decompressor_destroy(TiffDecompressor *decompressor);

/* Decodes the first `rows` rows of such a tile to td->tile by td->decompressor. Returns NULL where
 * libtiff must decide. */
const uint8_t *tiff_tile_decompress(TiffDecoder *td, uint32_t index, uint32_t rows);

/* Returns whether data of a compression may end early without an error of libtiff. */
bool tiff_ends_silently(uint16_t compression);

/* ---- tiff/coded_tiles.c ---- */

/* Codec.coded_tiles */
bool tiff_coded_tiles(Decoder *base, TiledPage *out, CodedTile **tiles);

/* ---- tiff/damaged.c ---- */

/* After libtiff failed on a tile: makes the error, or, where damage is to be salvaged, reads what
 * it still decodes, fills the rest and notes what is lost. As tiff_tile_read. */
ImgstatResult tiff_tile_salvage(TiffDecoder *td, uint32_t index, uint16_t plane, uint8_t *to,
                                size_t pitch, uint32_t rows, ImgstatError *err);

/* The same for a tile that tiff/rows.c converts to RGB: all of it is lost. */
ImgstatResult tiff_tile_lose(TiffDecoder *td, uint32_t index, uint8_t *to, size_t pitch,
                             uint32_t rows, ImgstatError *err);

/* Whether a row that libtiff decoded with an error may be used all the same. */
bool tiff_row_salvaged(const TiffDecoder *td);

/* ---- tiff/tile_threads.c ---- */

/* Reads n rows of tiles, whole but for the end of the image, by as many threads as the decoder may
 * use. */
ImgstatResult tiff_tiles_read(TiffDecoder *td, uint32_t down, uint32_t n, uint8_t *to, size_t pitch,
                              ImgstatError *err);

/* Codec.tiles_begin */
bool tiff_tiles_begin(Decoder *base, unsigned threads);

/* Codec.tile_at */
const void *tiff_tile_at(const Decoder *base, unsigned thread, uint16_t plane, uint32_t x,
                         uint32_t y, size_t *pitch);

/* Accepts NULL. */
void tiff_helpers_destroy(TiffHelpers *helpers);

/* ---- tiff/rows.c ---- */

/* Codec.read_rows */
ImgstatResult tiff_rows_read(Decoder *base, void *to, size_t pitch, uint32_t rows,
                             ImgstatError *err);

/* Codec.read_at */
bool tiff_rows_at(const Decoder *base, uint16_t plane, uint32_t row, void *to, uint32_t rows);

/* ---- tiff/strip_stream.c ---- */

/* Returns whether the strips of this page can be decompressed without libtiff. */
bool tiff_strip_suits(const TiffDecoder *td);

/* Returns the memory that threads take to decompress such a strip ahead, about. */
uint64_t tiff_strip_holds(const TiffDecoder *td);

/* Decompresses rows of a strip, from its first row on, without gaps. *strip begins as NULL. Returns
 * false where libtiff must decide. */
bool tiff_strip_rows(const TiffDecoder *td, TiffStrip **strip, uint32_t index, uint32_t row,
                     uint32_t rows, uint8_t *to);

/* Accepts NULL. */
void tiff_strip_destroy(TiffStrip *strip);

#endif
