/* SPDX-License-Identifier: MIT */
/* codec.h: file formats as a constant table; sources of bytes; what a decoder tells of a page. */
#ifndef IMGSTAT_CODEC_CODEC_H
#define IMGSTAT_CODEC_CODEC_H

#include "base/buffer_cache.h"
#include "base/cancel.h"
#include "base/image.h"

/* The bytes of one input, seekable: a file, or standard input read to its end into an unlinked
 * temporary file. Reads are positioned, so threads may share it. */
typedef struct Source {
    char *name; /* as the user wrote it; starts every message */
    int fd;
    uint64_t bytes; /* size */
} Source;

/* Whether a path names a regular file, of *bytes. Opening anything else before its turn can change
 * it: a FIFO's writer goes on. */
bool source_is_file(const char *path, uint64_t *bytes);
/* cancel: asked while a pipe is waited for; NULL: it is waited for without end. */
ImgstatResult source_open(const char *path, const Cancel *cancel, Source **out, ImgstatError *err);
void source_close(Source *source);
/* Reads up to `bytes` at `offset`; *got is less only at the end of the file. */
ImgstatResult source_read(const Source *source, uint64_t offset, void *to, size_t bytes,
                          size_t *got, ImgstatError *err);

/* Where a decoder's warnings go: each sentence once. */
typedef struct Warnings {
    ImgstatWarn warn;
    void *context;
    const char *name; /* of the file */
    uint64_t *seen;   /* hashes of the sentences already told */
    size_t n_seen;
} Warnings;

/* warnings: NULL where nobody wants them. */
__attribute__((format(printf, 2, 3))) void warnings_tell(Warnings *warnings, const char *format,
                                                         ...);
void warnings_release(Warnings *warnings);

/* For tests, which set IMGSTAT_DECODE to "plain" or "threads": docs/formats.md. */
typedef enum DecodeMode {
    DECODE_AUTO,
    DECODE_PLAIN,  /* libpng and libtiff alone, on one thread: the decoders of record */
    DECODE_THREADS /* threads even for small images */
} DecodeMode;

/* An open input. Each codec's own struct begins with it. */
typedef struct Decoder {
    const struct Codec *codec;
    const Source *source; /* outlives the decoder */
    ImgstatOpen how;      /* limits are filled in */
    Warnings warnings;
    ImgstatPage page;  /* the page selected; page.pages is known after open */
    uint32_t next_row; /* of that page */
    unsigned threads;  /* to decode with; 0: as many as the process may run on */
    BufferCache
        *scratch; /* where large buffers come from; NULL: nobody keeps them. May be replaced */
    DecodeMode way;
    bool separate;   /* wanted before select: channels that lie apart in the file come apart */
    uint16_t planes; /* then: that many, of which read_rows and read_at give one; else 0 */
    uint16_t plane;  /* which one: another one begins where next_row is set to 0 too */
    bool anywhere;   /* read_at gives the rows of this page */
    uint32_t chunk_width, chunk_height; /* chunk_at gives its strips or tiles; else 0 */
    bool ahead; /* a thread of the decoder's own works ahead of read_rows, or there is none to
                 * spare: what remains is little, best done where the rows are used */
    uint32_t band_rows;  /* reading in multiples of this many rows decodes nothing twice */
    uint64_t held_bytes; /* of strips, tiles and tables that it holds while it reads, about */
    uint64_t tile_bytes; /* of samples in the largest strip or tile; 0: none is compressed */
    bool tiled;          /* tiles, not strips */
    const char *const *channel_names; /* page.channels of them */
} Decoder;

/* Channels of the rows that a decoder gives. */
static inline uint16_t decoder_channels(const Decoder *decoder)
{
    return decoder->planes ? 1 : decoder->page.channels;
}

/* Whether rows of the one fit where those of the other were to go: a file may change while it is
 * read. */
static inline bool page_has_shape(const ImgstatPage *page, const ImgstatPage *before)
{
    return page->width == before->width && page->height == before->height &&
           page->channels == before->channels && page->sample == before->sample &&
           page->bits == before->bits;
}
/* The error of a decoder that finds something else in its file than before. */
ImgstatResult decoder_changed(const Decoder *decoder, ImgstatError *err);

/* Codecs know host memory only. read_rows fills `rows` rows of `pitch` bytes from decoder->next_row
 * on, in host byte order, channels interleaved, packed samples expanded; calls go down the page
 * without gaps, in any heights. */
typedef struct Codec {
    const char *name;
    bool (*probe)(const uint8_t *bytes, size_t n);
    ImgstatResult (*open)(const Source *source, const ImgstatOpen *how, Decoder **out,
                          ImgstatError *err);
    ImgstatResult (*select)(Decoder *decoder, uint32_t page, ImgstatError *err); /* row 0 is next */
    ImgstatResult (*read_rows)(Decoder *decoder, void *to, size_t pitch, uint32_t rows,
                               ImgstatError *err);
    /* The same rows, without gaps, from any row on, for several threads at a time; for pages of
     * which nothing but reading stands between file and samples. False: anything out of the
     * ordinary, which read_rows will tell. */
    bool (*read_at)(const Decoder *decoder, uint32_t row, void *to, uint32_t rows);
    /* The strip or tile that begins at column x of row y, decoded by `thread` for itself, in rows
     * of *pitch bytes that are whole samples as read_rows gives them; valid until that thread's
     * next. NULL as above. chunks_begin, once for the page, makes ready for so many threads at a
     * time; false: they had better read rows. */
    bool (*chunks_begin)(Decoder *decoder, unsigned threads);
    const void *(*chunk_at)(const Decoder *decoder, unsigned thread, uint32_t x, uint32_t y,
                            size_t *pitch);
    void (*close)(Decoder *decoder);
} Codec;

extern const Codec png_codec, tiff_codec;

/* Fills zero fields with defaults. */
ImgstatLimits limits_default(ImgstatLimits limits);
/* Checks geometry against limits before anything is allocated. */
ImgstatResult limits_check(const ImgstatLimits *limits, const char *name, uint64_t width,
                           uint64_t height, uint64_t channels, uint64_t sample_bytes,
                           ImgstatError *err);

/* struct ImgstatFile of the public header. */
struct ImgstatFile {
    Source *source;
    Decoder *decoder;
};

/* imgstat_file_open that can be interrupted. cancel: of source_open. */
ImgstatResult file_open(const char *path, const ImgstatOpen *how, const Cancel *cancel,
                        ImgstatFile **out, ImgstatError *err);
/* imgstat_file_page of a file that is there. */
ImgstatResult file_select(ImgstatFile *file, uint32_t page, ImgstatError *err);

#endif
