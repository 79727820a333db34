/* SPDX-License-Identifier: MIT */
/* codec.h: what a decoder of a file format can do, and the calls that use one. */
#ifndef IMGSTAT_CODEC_CODEC_H
#define IMGSTAT_CODEC_CODEC_H

#include "base/buffer_cache.h"
#include "base/image.h"
#include "codec/limits.h"
#include "codec/metadata.h"
#include "codec/page_list.h"
#include "codec/page_mask.h"
#include "codec/source.h"
#include "codec/warnings.h"

/* Which ways through a decoder may be taken. Tests set IMGSTAT_DECODE to "plain" or "threads":
 * docs/formats.md. */
typedef enum DecodeMode {
    DECODE_AUTO,
    DECODE_PLAIN,  /* libpng and libtiff alone, on one thread: the decoders of record */
    DECODE_THREADS /* threads even for small images */
} DecodeMode;

/* How a page is to be read. */
typedef struct DecodeOptions {
    unsigned threads;     /* to decode with; 0: as many as the process may run on */
    bool planes;          /* channels that lie apart in the file are read one after another */
    BufferCache *buffers; /* of large buffers; NULL: they are not kept */
} DecodeOptions;

/* What a decoder can do with the page selected, given its options. */
typedef struct DecodeCaps {
    uint16_t planes;      /* rows hold one channel of so many; 0: rows hold all channels */
    uint32_t band_rows;   /* reading in multiples of this many rows decodes nothing twice */
    bool random_rows;     /* read_at gives rows */
    uint32_t unit_rows;   /* next_row may be set to multiples of it before rows are read; 0: not */
    uint32_t tile_width;  /* of the tiles that tile_at gives; 0: it gives none */
    uint32_t tile_height; /* of these */
    uint64_t held_bytes;  /* held while rows are read, roughly: tiles, or interlaced rows */
    uint64_t tile_bytes;  /* of samples in the largest tile or strip; 0: none is compressed */
    bool tiled;           /* the file has tiles, not strips */
    uint16_t lost_planes; /* channels that can be lost alone; 0: a pixel has all or none */
    uint32_t lost_width;  /* of tiles, unit_rows high, that can be lost alone; 0: rows are */
} DecodeCaps;

/* What could not be decoded of the page selected. Threads use rows while others are read. */
typedef struct Salvage {
    uint8_t *rows;      /* page.height of them, bits of codec/salvage.c; NULL: none was read */
    uint8_t *lost;      /* the same of each plane that can be lost by itself, 1: lost; NULL: none */
    uint8_t *tiles;     /* likewise of each tile; NULL: none can */
    uint32_t n_lost;    /* rows */
    uint32_t n_damaged; /* rows */
    uint32_t n_tiles;   /* lost */
    uint32_t first_x, first_y; /* of the first lost tile */
    uint64_t all_rows;         /* with any of these, of all pages that were selected */
    uint32_t lost_from;        /* from this row on nothing can be decoded; UINT32_MAX: not known */
    bool stuck;                /* the codec's last read failed */
} Salvage;

/* An open input. Each codec's own struct begins with it. Only codecs and codec.c write it. */
struct Decoder {
    const struct Codec *codec;
    const Source *source; /* outlives the decoder */
    ImgstatOpen how;      /* limits are filled in */
    DecodeMode mode;
    Warnings warnings;
    PageList list;                    /* filled in by open; empty: one image */
    ImgstatPage page;                 /* the page selected; page.pages is known after open */
    const char *const *channel_names; /* page.channels names; NULL: no page is selected */
    bool outlined; /* no page is selected: page and layout describe one that cannot be decoded, as
                      its header does */
    DecodeOptions options;
    DecodeCaps caps;   /* of the page selected */
    bool started;      /* rows of the page were asked for */
    uint32_t next_row; /* of the page, or of the plane */
    uint16_t plane;    /* that read_rows reads */
    Salvage salvage;   /* where how.salvage asks for it */
    PageMask *mask;    /* by page_mask_begin; NULL: no mask was read */
};

/* A file format that can be read. Codecs know host memory only. */
typedef struct Codec {
    const char *name; /* "png" */

    /* Returns whether a file begins as this format does. */
    bool (*probe)(const uint8_t *bytes, size_t n);

    ImgstatResult (*open)(const Source *source, const ImgstatOpen *how, Decoder **out,
                          ImgstatError *err);

    /* Parses the header of page.page and fills in the rest of page, but for what the list says, and
     * channel_names. With IMGSTAT_ERR_UNSUPPORTED it may set outlined. */
    ImgstatResult (*select)(Decoder *decoder, ImgstatError *err);

    /* Fills in caps for decoder->options. Nothing of the page is read so far. */
    ImgstatResult (*plan)(Decoder *decoder, ImgstatError *err);

    /* Fills `rows` rows of `pitch` bytes from next_row on: in host byte order, channels
     * interleaved, packed samples expanded. */
    ImgstatResult (*read_rows)(Decoder *decoder, void *to, size_t pitch, uint32_t rows,
                               ImgstatError *err);

    /* Fills rows without gaps, from any row of a plane on. Threads may call it at once. Returns
     * false for anything out of the ordinary, which read_rows will report. Only with
     * caps.random_rows. */
    bool (*read_at)(const Decoder *decoder, uint16_t plane, uint32_t row, void *to, uint32_t rows);

    /* Makes ready for so many threads that call tile_at at once. Returns false if they had better
     * read rows. Only with caps.tile_width. */
    bool (*tiles_begin)(Decoder *decoder, unsigned threads);

    /* Returns the strip or tile that begins at column x of row y of a plane, decoded by `thread`
     * for itself: rows of *pitch bytes as read_rows gives them, valid until that thread's next
     * call. Returns NULL for anything out of the ordinary, which read_rows will report. */
    const void *(*tile_at)(const Decoder *decoder, unsigned thread, uint16_t plane, uint32_t x,
                           uint32_t y, size_t *pitch);

    /* Fills a row of as many colours as the page has indices, 3 channels or 4 with alpha, in the
     * sample type of the page's colours. *n is how many of them the file has. Returns false if the
     * page has no such palette. */
    bool (*palette)(const Decoder *decoder, ImagePro *colors, unsigned *n);

    /* Adds the metadata of the page selected to *out, all zero so far. What is damaged is
     * left out, with a warning. The caller releases *out, whatever happens. */
    ImgstatResult (*metadata)(Decoder *decoder, Metadata *out, Warnings *warnings,
                              ImgstatError *err);

    /* Fills in how the page selected or outlined lies in the file, and adds the metadata that
     * Metadata does not have. The texts are constants. */
    void (*layout)(Decoder *decoder, ImgstatLayout *out);

    /* Writes names and versions of the libraries that the codec is made of: "libpng 1.6.39". */
    void (*libraries)(char *to, size_t room);

    void (*close)(Decoder *decoder);
} Codec;

/* The formats that can be read. A new one is a folder and its lines in codec.c. */
extern const Codec png_codec, tiff_codec;

/* Bytes at the start of a file that every codec needs to recognise its own. */
enum { CODEC_PROBE_BYTES = 16 };

/* Finds the codec of a file that begins with these bytes. name: of the file. */
ImgstatResult codec_of_bytes(const uint8_t *bytes, size_t n, const char *name, const Codec **out,
                             ImgstatError *err);

/* Returns codec number i of the table, NULL behind the last. */
const Codec *codec_at(size_t i);

/* Opens a source whose codec is known. */
ImgstatResult decoder_open(const Codec *codec, const Source *source, const ImgstatOpen *how,
                           DecodeMode mode, Decoder **out, ImgstatError *err);

/* Accepts NULL. */
void decoder_close(Decoder *decoder);

/* Selects a page; its first row is next. The header is parsed unless the page is selected already
 * and none of its rows was read. options: NULL for those in force. */
ImgstatResult decoder_select(Decoder *decoder, uint32_t page, const DecodeOptions *options,
                             ImgstatError *err);

/* Selects the page again, with other options; fails if it changed meanwhile. */
ImgstatResult decoder_reselect(Decoder *decoder, const DecodeOptions *options, ImgstatError *err);

/* Makes the first row of a plane next, or of the page, whose only plane is 0. Planes in ascending
 * order cost nothing; reading something again selects the page again, and fails if it changed. */
ImgstatResult decoder_rewind(Decoder *decoder, uint16_t plane, ImgstatError *err);

/* Reads the next rows, as Codec.read_rows describes. After an error no page is selected. */
ImgstatResult decoder_read_rows(Decoder *decoder, void *to, size_t pitch, uint32_t rows,
                                ImgstatError *err);

/* Ends the reading of the page: no row is next, and the buffer cache may go. */
void decoder_finish(Decoder *decoder);

/* Channels of the rows that a decoder gives. */
static inline uint16_t decoder_channels(const Decoder *decoder)
{
    return decoder->caps.planes ? 1 : decoder->page.channels;
}

/* Returns whether rows of one page fit where rows of the other were to go: a file may change while
 * it is read. */
static inline bool page_has_shape(const ImgstatPage *page, const ImgstatPage *before)
{
    return page->width == before->width && page->height == before->height &&
           page->channels == before->channels && page->sample == before->sample &&
           page->bits == before->bits;
}

/* Writes the name of a page of the file, "2" or "0.1", to text, and returns it. */
const char *decoder_page_name(const Decoder *decoder, uint32_t page, char text[PAGE_NAME_BYTES]);

/* Adds a page of the file to an error that names none. Returns code. */
ImgstatResult decoder_add_page(const Decoder *decoder, uint32_t page, ImgstatResult code,
                               ImgstatError *err);

/* The error of a decoder that finds something else in its file than before. */
ImgstatResult decoder_changed(const Decoder *decoder, ImgstatError *err);

/* Adds a kind of metadata, if there is room. */
void layout_add(ImgstatLayout *layout, const char *metadata);

/* struct ImgstatFile of the public header. */
struct ImgstatFile {
    Source *source;
    Decoder *decoder;
    bool measured;      /* the page selected was measured since: its first row is next once more */
    ChosenPage *chosen; /* by file_choose; NULL: none so far */
    uint32_t n_chosen;
};

/* imgstat_file_open that can be interrupted, and imgstat_file_open_input. input: NULL where `name`
 * is a path. cancel: of source_open. */
ImgstatResult file_open(const char *name, const ImgstatInput *input, const ImgstatOpen *how,
                        const Cancel *cancel, ImgstatFile **out, ImgstatError *err);

/* Chooses the pages that `pages` names, as ImgstatJob has it, and what belongs to them. with: as
 * page_list_complete has it. */
ImgstatResult file_choose(ImgstatFile *file, const char *pages, unsigned with, ImgstatError *err);

/* imgstat_file_page of a file that is not NULL, with options as decoder_select takes them. */
ImgstatResult file_select(ImgstatFile *file, uint32_t page, const DecodeOptions *options,
                          ImgstatError *err);

#endif
