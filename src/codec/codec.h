/* SPDX-License-Identifier: MIT */
/* codec.h: the interface of decoders, and the functions that use them. */
#ifndef IMGSTAT_CODEC_CODEC_H
#define IMGSTAT_CODEC_CODEC_H

#include "base/buffer_cache.h"
#include "base/image.h"
#include "codec/limits.h"
#include "codec/metadata.h"
#include "codec/page_list.h"
#include "codec/page_mask.h"
#include "codec/source.h"
#include "codec/tiled_page.h"
#include "codec/warnings.h"

/* Which paths through a decoder are allowed. Tests set IMGSTAT_DECODE to "plain" or "threads":
 * docs/testing.md. */
typedef enum DecodeMode {
    DECODE_AUTO,
    DECODE_PLAIN,  /* libpng and libtiff alone, on one thread: the reference for all others */
    DECODE_THREADS /* threads even for small images */
} DecodeMode;

/* How to read a page. */
typedef struct DecodeOptions {
    unsigned threads;     /* for decoding; 0: as many as the process may run on */
    bool planes;          /* channels that are stored apart are read one after another */
    unsigned work;        /* what is done with the samples: WORK_ of codec/work.h; 0: measuring */
    BufferCache *buffers; /* for large buffers; NULL: they are not kept */
} DecodeOptions;

/* What a decoder can do with the page selected, given its options. */
typedef struct DecodeCaps {
    uint16_t planes;      /* rows hold one channel of this many; 0: rows hold all channels */
    uint32_t band_rows;   /* reading multiples of this many rows decodes nothing twice */
    bool random_rows;     /* read_at works */
    uint32_t unit_rows;   /* before rows are read, next_row may be set to its multiples; 0: not */
    uint32_t tile_width;  /* of the tiles that tile_at returns; 0: tile_at does not work */
    uint32_t tile_height; /* of these tiles */
    uint64_t held_bytes;  /* approximate memory while rows are read: tiles, interlaced rows, what
                             threads decompress ahead */
    unsigned weight;     /* how many times longer a byte takes to decode than by deflate; 0: once */
    uint64_t tile_bytes; /* of samples in the largest tile or strip; 0: none is compressed */
    bool tiled;          /* the file has tiles, not strips */
    uint16_t lost_planes; /* channels that can be lost alone; 0: a pixel loses all or none */
    uint32_t lost_width;  /* of tiles, unit_rows high, that can be lost alone; 0: whole rows */
} DecodeCaps;

/* What could not be decoded of the page selected. One thread uses rows while another reads more. */
typedef struct Salvage {
    uint8_t *rows;   /* bits of codec/salvage.c for each row; NULL: no row was read */
    uint8_t *lost;   /* 1: lost; for each row of each plane that can be lost alone; NULL: none */
    uint8_t *tiles;  /* 1: lost; for each tile of each such plane; NULL: tiles are not lost alone */
    uint32_t n_lost; /* lost rows */
    uint32_t n_damaged;        /* damaged rows */
    uint32_t n_tiles;          /* lost tiles */
    uint32_t first_x, first_y; /* of the first lost tile */
    uint64_t all_rows;         /* rows with a loss or damage, in all pages that were selected */
    uint32_t lost_from;        /* nothing can be decoded from this row on; UINT32_MAX: not known */
    bool stuck;                /* the codec's last read failed */
} Salvage;

/* An open input. The struct of each codec begins with it. Only codecs and codec.c write to it. */
struct Decoder {
    const struct Codec *codec;
    const Source *source; /* outlives the decoder */
    ImgstatOpen how;      /* limits are filled in */
    DecodeMode mode;
    Warnings warnings;
    PageList list;                    /* filled in by open; empty: one image */
    ImgstatPage page;                 /* the page selected; page.pages is known after open */
    const char *const *channel_names; /* page.channels names; NULL: no page is selected */
    bool outlined; /* no page is selected; page and layout describe one that cannot be decoded, from
                      its header */
    DecodeOptions options;
    DecodeCaps caps;   /* of the page selected */
    uint64_t work;     /* that pages of the file have asked for: codec/work.h */
    bool started;      /* read_rows was called for the page */
    uint32_t next_row; /* of the page or, where planes are read, of the plane */
    uint16_t plane;    /* that read_rows reads */
    Salvage salvage;   /* used with how.salvage */
    PageMask *mask;    /* made by page_mask_begin; NULL: no mask was read */
};

/* A file format that can be read. Codecs know host memory only. */
typedef struct Codec {
    const char *name; /* "png" */

    /* Returns the name of compression i; NULL: there are no more. NULL: the format has one alone.
     */
    const char *(*compression)(size_t i);

    /* Returns whether a file begins as this format does. */
    bool (*probe)(const uint8_t *bytes, size_t n);

    /* Returns whether a file of this format reaches as far as it says; true if it cannot be read.
     */
    bool (*is_whole)(const Source *source);

    /* Opens a source whose format is this. how: its limits are filled in. */
    ImgstatResult (*open)(const Source *source, const ImgstatOpen *how, Decoder **out,
                          ImgstatError *err);

    /* Parses the header of page.page. Fills in channel_names and those members of page that `list`
     * does not have. With IMGSTAT_ERR_UNSUPPORTED it may set outlined. */
    ImgstatResult (*select)(Decoder *decoder, ImgstatError *err);

    /* Fills in caps for decoder->options, before anything of the page is read. */
    ImgstatResult (*plan)(Decoder *decoder, ImgstatError *err);

    /* Fills `rows` rows of `pitch` bytes, from next_row on. Samples are in host byte order; packed
     * samples are expanded. Channels are interleaved. */
    ImgstatResult (*read_rows)(Decoder *decoder, void *to, size_t pitch, uint32_t rows,
                               ImgstatError *err);

    /* Fills rows without gaps, from any row of a plane on. Threads may call it at the same time.
     * Returns false for every fault; read_rows reports it. Only with caps.random_rows. */
    bool (*read_at)(const Decoder *decoder, uint16_t plane, uint32_t row, void *to, uint32_t rows);

    /* Prepares for `threads` threads that call tile_at at the same time. Returns false if reading
     * rows is faster. Only with caps.tile_width. */
    bool (*tiles_begin)(Decoder *decoder, unsigned threads);

    /* Decodes the strip or tile that begins at column x of row y of a plane. The rows, of *pitch
     * bytes, are as read_rows fills them; they stay valid until the next call with that thread.
     * Returns NULL for every fault; read_rows reports it. */
    const void *(*tile_at)(const Decoder *decoder, unsigned thread, uint16_t plane, uint32_t x,
                           uint32_t y, size_t *pitch);

    /* Fills a row with one colour for each possible index: 3 channels, or 4 with alpha, in the
     * sample type of the page's colours. *n becomes the number of colours that the file has.
     * Returns false if the page has no such palette. */
    bool (*palette)(const Decoder *decoder, ImagePro *colors, unsigned *n);

    /* Describes the page selected as one deflate stream of filtered rows, but for the places in
     * device memory, and copies its data to `to` + DEFLATED_ALIGN. Called before any row is read.
     * colors: of ROWS_COLORS. Returns false if the page is not stored like that or anything about
     * it is unusual: then rows are read. NULL: pages are never stored like that. */
    bool (*deflated)(Decoder *decoder, uint8_t *to, size_t room, DeflatedRows *out,
                     uint8_t colors[DEFLATED_COLORS][4]);

    /* Describes the page selected as tiles, but for the places in device memory: `in` becomes the
     * place in the file, which has all bytes of the tile. The caller frees *tiles, which are
     * out->n_tiles. tiles: NULL: where they are is not looked at. As `deflated` otherwise. */
    bool (*coded_tiles)(Decoder *decoder, TiledPage *out, CodedTile **tiles);

    /* Adds the metadata of the page selected to *out, which is all zero. Damaged metadata is left
     * out, with a warning. The caller releases *out, also after a failure. */
    ImgstatResult (*metadata)(Decoder *decoder, Metadata *out, Warnings *warnings,
                              ImgstatError *err);

    /* Fills in how the page selected or outlined is stored, and adds the kinds of metadata that
     * Metadata does not have. The texts are constants. */
    void (*layout)(Decoder *decoder, ImgstatLayout *out);

    /* Writes names and versions of the libraries that the codec uses: "libpng 1.6.39". */
    void (*libraries)(char *to, size_t room);

    void (*close)(Decoder *decoder);
} Codec;

/* The formats that can be read. A new one is a folder and its lines in codec.c. */
extern const Codec png_codec, tiff_codec;

/* Bytes at the start of a file by which every codec recognises its format. */
enum { CODEC_PROBE_BYTES = 16 };

/* Finds the codec of a file that begins with these bytes. name: begins messages. */
ImgstatResult codec_of_bytes(const uint8_t *bytes, size_t n, const char *name, const Codec **out,
                             ImgstatError *err);

/* Finds out whether an output is whole. Empty files, zeros and PNG and TIFF files that were cut are
 * not; files of other formats, and those that may not be read, are taken for whole. */
ImgstatResult codec_check_whole(const char *path, bool *whole, ImgstatError *err);

/* Returns codec number i of the table, NULL behind the last. */
const Codec *codec_at(size_t i);

/* Opens a source whose codec is known. */
ImgstatResult decoder_open(const Codec *codec, const Source *source, const ImgstatOpen *how,
                           DecodeMode mode, Decoder **out, ImgstatError *err);

/* Accepts NULL. */
void decoder_close(Decoder *decoder);

/* Selects a page; its first row is next. Parses its header, unless the page is selected already and
 * none of its rows was read. options: NULL keeps those in force. */
ImgstatResult decoder_select(Decoder *decoder, uint32_t page, const DecodeOptions *options,
                             ImgstatError *err);

/* Selects the page again, with other options. Fails if the page has changed. */
ImgstatResult decoder_reselect(Decoder *decoder, const DecodeOptions *options, ImgstatError *err);

/* Makes the first row of a plane next. Plane 0 is the whole page where no planes are read. Reading
 * planes in ascending order costs nothing. Reading rows again selects the page again, and fails if
 * it has changed. */
ImgstatResult decoder_rewind(Decoder *decoder, uint16_t plane, ImgstatError *err);

/* Reads the next rows, as Codec.read_rows describes. After an error no page is selected. */
ImgstatResult decoder_read_rows(Decoder *decoder, void *to, size_t pitch, uint32_t rows,
                                ImgstatError *err);

/* Ends the reading of the page: no row is next, and the buffer cache may be destroyed. */
void decoder_finish(Decoder *decoder);

/* Returns how many threads may decode: those of its options, or as many as the process may run on.
 */
unsigned decoder_threads(const Decoder *decoder);

/* Returns the number of channels of the rows that a decoder reads. */
static inline uint16_t decoder_channels(const Decoder *decoder)
{
    return decoder->caps.planes ? 1 : decoder->page.channels;
}

/* Returns the bytes of a page's samples. */
static inline uint64_t page_bytes(const ImgstatPage *page)
{
    return (uint64_t)page->width * page->height * page->channels *
           imgstat_sample_bytes(page->sample);
}

/* Returns whether two pages have rows of the same size and type. A file may change while it is
 * read.
 */
static inline bool page_has_shape(const ImgstatPage *page, const ImgstatPage *before)
{
    return page->width == before->width && page->height == before->height &&
           page->channels == before->channels && page->sample == before->sample &&
           page->bits == before->bits;
}

/* Writes the name of a page, "2" or "0.1", to text, and returns text. */
const char *decoder_page_name(const Decoder *decoder, uint32_t page, char text[PAGE_NAME_BYTES]);

/* Adds a page of the file to an error that names none. Returns code. */
ImgstatResult decoder_add_page(const Decoder *decoder, uint32_t page, ImgstatResult code,
                               ImgstatError *err);

/* Returns the error of a file that has changed while it was read. */
ImgstatResult decoder_changed(const Decoder *decoder, ImgstatError *err);

/* As source_settle. Salvaging takes what cannot be read for damage. */
ImgstatResult decoder_settle(const Decoder *decoder, ImgstatResult result, ImgstatError *err);

/* Codec.metadata, and a warning of what is too large to be kept. */
ImgstatResult decoder_metadata(Decoder *decoder, Metadata *out, Warnings *warnings,
                               ImgstatError *err);

/* Adds a kind of metadata to a layout, if there is room. */
void layout_add(ImgstatLayout *layout, const char *metadata);

/* struct ImgstatFile of the public header. */
struct ImgstatFile {
    Source *source;
    Decoder *decoder;
    bool measured;      /* the page selected was measured: its first row is next again */
    ChosenPage *chosen; /* by file_choose; NULL: it was not called */
    uint32_t n_chosen;
};

/* Works as imgstat_file_open and imgstat_file_open_input. input: NULL where `name` is a path.
 * cancel: as in source_open. */
ImgstatResult file_open(const char *name, const ImgstatInput *input, const ImgstatOpen *how,
                        const Cancel *cancel, ImgstatFile **out, ImgstatError *err);

/* Chooses the pages that `pages` names, as in ImgstatJob, and the pages that belong to them. with:
 * as in page_list_complete. */
ImgstatResult file_choose(ImgstatFile *file, const char *pages, unsigned with, ImgstatError *err);

/* Works as imgstat_file_page, with options as in decoder_select. file is not NULL. */
ImgstatResult file_select(ImgstatFile *file, uint32_t page, const DecodeOptions *options,
                          ImgstatError *err);

#endif
