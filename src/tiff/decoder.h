/* SPDX-License-Identifier: MIT */
/* decoder.h: what the parts of the TIFF decoder share: the page selected and how its samples lie.
 */
#ifndef IMGSTAT_TIFF_DECODER_H
#define IMGSTAT_TIFF_DECODER_H

#include "base/thread_pool.h"
#include "codec/table.h"

#include <tiffio.h>

/* A position in the source: libtiff reads through it. One for each handle. */
typedef struct TiffStream {
    struct TiffDecoder *decoder;
    uint64_t at;
    struct TiffStream *next; /* see tiff/libtiff_handle.c */
} TiffStream;

typedef struct TiffStrip TiffStrip; /* tiff/strip_stream.c */

typedef struct TiffHandle {
    TIFF *tif; /* NULL: not open */
    TiffStream *stream;
    TiffStrip *strip; /* NULL: not needed so far */
    bool unseen;      /* it gave rows of a strip that the handle has not decoded */
} TiffHandle;

/* How rows are got. */
typedef enum TiffPath {
    TIFF_PATH_PIECES,    /* uncompressed strips: any run of rows, from its place in the file */
    TIFF_PATH_CHUNKS,    /* tiles and small strips: one at a time */
    TIFF_PATH_SCANLINES, /* strips too large to hold: decoded row after row */
    TIFF_PATH_RGBA       /* YCbCr that libtiff converts: one strip or tile at a time */
} TiffPath;

/* Samples of the page as they lie in the file. A chunk is a strip or a tile. */
typedef struct TiffLayout {
    TiffPath path;
    bool tiled;
    bool swapped;  /* TIFF_PATH_PIECES: the file has the other byte order */
    bool reversed; /* TIFF_PATH_PIECES: bits within bytes are in the other order */
    uint16_t compression, photometric, format, bits;
    uint16_t predictor; /* of compressions that have them; else 1 */
    uint16_t samples;   /* a pixel */
    uint16_t planes;    /* 1: chunky */
    uint16_t per_chunk; /* samples a pixel in one chunk: samples, or 1 where planes are separate */
    uint32_t chunk_width, chunk_height;
    uint32_t across, down; /* chunks of a plane */
    size_t row_bytes;      /* of one chunk's row as libtiff decodes it */
    size_t chunk_bytes;    /* row_bytes * chunk_height */
    uint64_t stored_bytes; /* of the chunk that takes most in the file; 0: not known */
    uint32_t stored_most;  /* the index of that chunk */
    bool converted;        /* YCbCr that libtiff converts */
} TiffLayout;

typedef struct TiffHelpers TiffHelpers; /* tiff/chunk_threads.c */
typedef struct TiffQuick TiffQuick;     /* tiff/chunk_decompress.c */

typedef struct TiffDecoder {
    Decoder base;
    TiffHandle handle;
    TiffHandle *planes;   /* TIFF_PATH_SCANLINES: a handle for each plane after the first */
    uint64_t *page_at;    /* where each directory lies */
    ImgstatError failure; /* what libtiff complained of first since tiff_forget */
    bool short_arrays;    /* libtiff filled up the list of offsets or sizes of this page */
    TiffLayout layout;
    char **names;      /* of channels: the array and, behind it, the text */
    uint8_t *map8;     /* palette: three bytes an index, or */
    uint16_t *map16;   /* three words an index, or NULL: indices as they are */
    uint8_t *chunk;    /* one decoded chunk, or a piece of rows */
    size_t chunk_room; /* bytes of chunk */
    uint8_t *row;      /* one chunk row of whole samples */
    uint8_t *band;     /* rows of chunks that a caller takes in parts */
    uint32_t
        band_at; /* which row of chunks, counted over all planes, is in band; UINT32_MAX for none */
    TiffHelpers *helpers; /* NULL: not needed so far */
    bool primed;          /* see prime_lzw */
    TiffQuick *quick;     /* of a helper: decodes in place of the handle */
} TiffDecoder;

/* Planes whose samples the rows that are read hold, and the first of them. */
static inline uint16_t tiff_planes_together(const TiffDecoder *td)
{
    return td->base.caps.planes ? 1 : td->layout.planes;
}

static inline uint16_t tiff_first_plane(const TiffDecoder *td)
{
    return td->base.caps.planes ? td->base.plane : 0;
}

/* tiff/libtiff_handle.c */
ImgstatResult tiff_handle_open(TiffDecoder *td, TiffHandle *handle, ImgstatError *err);
void tiff_handle_close(TiffHandle *handle);
void tiff_forget(TiffDecoder *td);

/* tiff/directories.c: the chain of directories: offsets of its *n pages. */
ImgstatResult tiff_pages_find(const Source *source, const ImgstatLimits *limits, Warnings *warnings,
                              uint64_t **out, uint32_t *n, ImgstatError *err);

/* tiff/layout.c: fills base.page, channel names, layout and palette for the directory just read. */
ImgstatResult tiff_page_describe(TiffDecoder *td, ImgstatError *err);

/* Chooses how the page is read, for the decoder's options. After tiff_check_chunks. */
ImgstatResult tiff_page_plan(TiffDecoder *td, ImgstatError *err);

/* What decoding the page holds, beside the rows that it gives. After tiff_page_plan. */
uint64_t tiff_page_holds(const TiffDecoder *td);

/* Whether data of that compression may be differences. */
bool tiff_has_predictor(uint16_t compression);

/* What libtiff must be told of that directory before it decodes. */
void tiff_page_prepare(const TiffDecoder *td);

/* tiff/sample_format.c: the parts of it that say what samples are. Sample type and channels as
 * stored; */
ImgstatResult tiff_page_samples(TiffDecoder *td, ImgstatError *err);
/* colours in place of indices; names. */
ImgstatResult tiff_page_palette(TiffDecoder *td, ImgstatError *err);
ImgstatResult tiff_page_channels(TiffDecoder *td, ImgstatError *err);
const char *tiff_compression_name(uint16_t compression); /* "JPEG 2000", or NULL */

/* tiff/metadata.c: Codec.metadata */
ImgstatResult tiff_metadata_read(Decoder *base, Metadata *out, Warnings *warnings,
                                 ImgstatError *err);

/* tiff/nodata.c: the GDAL_NODATA tag of the page. */
void tiff_nodata_read(TiffDecoder *td);
/* n samples of what an absent chunk stands for: the nodata value, or 0. */
void tiff_nodata_fill(const ImgstatPage *page, void *to, size_t n);

/* tiff/validate.c: whether every chunk lies in the file and can be as large as declared. */
ImgstatResult tiff_check_chunks(TiffDecoder *td, ImgstatError *err);
/* Writers of sparse files give no place or no bytes to chunks without data. */
bool tiff_chunk_absent(const TiffDecoder *td, uint32_t index);
/* "strip 3 of 12", "page 2: tile 1 of 4": text. */
const char *tiff_chunk_name(const TiffDecoder *td, uint32_t index, char text[64]);
/* The error for chunk `index` after libtiff failed on it. */
ImgstatResult tiff_chunk_failed(const TiffDecoder *td, uint32_t index, ImgstatError *err);

/* tiff/unpack.c: n samples of layout.bits each, from a row that libtiff decoded, to whole samples
 * of page.sample. */
void tiff_unpack(const TiffLayout *layout, ImgstatSample sample, const uint8_t *from, void *to,
                 size_t n);
bool tiff_needs_unpack(const TiffLayout *layout);
/* Reads the byte order of a file that libtiff has not seen. */
void tiff_swap(const TiffLayout *layout, uint8_t *bytes, size_t n);
/* Writes `pixels` pixels of a chunk row to their place in an image row: channels of `plane` on,
 * through the palette. */
void tiff_place(const TiffDecoder *td, const uint8_t *from, uint16_t plane, uint32_t x,
                uint32_t pixels, uint8_t *to);

/* tiff/rows.c, tiff/ycbcr.c */
ImgstatResult tiff_rows_read(TiffDecoder *td, uint8_t *to, size_t pitch, uint32_t rows,
                             ImgstatError *err);
/* Whether rows can be read from anywhere by any thread: uncompressed strips of whole samples. */
bool tiff_rows_anywhere(const TiffDecoder *td);
/* Such rows; false if one is not there. */
bool tiff_rows_at(const TiffDecoder *td, uint16_t plane, uint32_t row, uint8_t *to, uint32_t rows);
/* Whether libtiff may leave rows of a chunk out without a word. */
bool tiff_ends_silently(uint16_t compression);
/* Whether strips are decoded into an image whose rows are as theirs. */
bool tiff_strips_straight(const TiffDecoder *td);
/* Whether chunks are the image's samples as they are, decoded without libtiff. */
bool tiff_chunks_apart(const TiffDecoder *td);
/* One of them, its first `rows` rows, in td->chunk, by td->quick; NULL: libtiff knows better. */
const uint8_t *tiff_chunk_alone(TiffDecoder *td, uint32_t index, uint32_t rows);
/* One strip or tile, its first `rows` rows, to its place in rows of the image. */
ImgstatResult tiff_chunk_read(TiffDecoder *td, uint32_t index, uint32_t across, uint16_t plane,
                              uint8_t *to, size_t pitch, uint32_t rows, ImgstatError *err);
/* One row of chunks, `rows` high, as RGB. */
ImgstatResult tiff_rgba_read(TiffDecoder *td, uint32_t down, uint8_t *to, size_t pitch,
                             uint32_t rows, ImgstatError *err);
/* Grows td->chunk. */
ImgstatResult tiff_chunk_room(TiffDecoder *td, size_t bytes, ImgstatError *err);

/* tiff/chunk_threads.c: n rows of chunks, whole but for the image's end, by as many threads as the
 * decoder may use. */
ImgstatResult tiff_chunks_read(TiffDecoder *td, uint32_t down, uint32_t n, uint8_t *to,
                               size_t pitch, ImgstatError *err);
/* Codec.tiles_begin and tile_at. */
bool tiff_chunks_begin(TiffDecoder *td, unsigned threads);
const uint8_t *tiff_chunk_at(const TiffDecoder *td, unsigned thread, uint16_t plane, uint32_t x,
                             uint32_t y);
void tiff_helpers_destroy(TiffHelpers *helpers); /* accepts NULL */

/* tiff/predictor.c: whether samples can be had from decompressed bytes as libtiff has them; */
bool tiff_predictor_known(const TiffLayout *layout);
/* them, row after row, in place. *scratch: NULL at first; to be freed. False: out of memory. */
bool tiff_predictor_undo(const TiffLayout *layout, uint8_t *to, size_t bytes, uint8_t **scratch);

/* tiff/strip_stream.c: TIFF_PATH_SCANLINES: rows of a strip, from its first row on, without gaps,
 * by *strip, which begins as NULL. False: libtiff knows better. */
bool tiff_strip_rows(const TiffDecoder *td, TiffStrip **strip, uint32_t index, uint32_t row,
                     uint32_t rows, uint8_t *to);
void tiff_strip_destroy(TiffStrip *strip); /* accepts NULL */
/* Whether it knows the strips of this page. */
bool tiff_strip_suits(const TiffDecoder *td);

/* tiff/chunk_decompress.c: whether it can decode chunks of this page; NULL where memory is out; */
bool tiff_quick_suits(const TiffDecoder *td);
TiffQuick *tiff_quick_create(const TiffDecoder *td);
void tiff_quick_destroy(TiffQuick *quick); /* accepts NULL */
/* the first `bytes` bytes of a chunk, into `room` bytes. False: libtiff knows better. */
bool tiff_quick_chunk(TiffQuick *quick, const TiffDecoder *td, uint32_t index, uint8_t *to,
                      size_t bytes, size_t room);

#endif
