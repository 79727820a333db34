/* SPDX-License-Identifier: MIT */
/* chunks.h: the chunks that a PNG file is made of. */
#ifndef IMGSTAT_PNG_CHUNKS_H
#define IMGSTAT_PNG_CHUNKS_H

#include "codec/atomic_file.h"
#include "codec/source.h"
#include "codec/warnings.h"

enum {
    PNG_SIGNATURE_BYTES = 8,
    PNG_CHUNK_HEAD = 8,         /* length and type */
    PNG_CHUNK_FRAME = 12,       /* these and the checksum */
    PNG_TIME_BYTES = 7,         /* of a tIME chunk */
    PNG_MOST_COPIED = 64 << 20, /* most bytes of a chunk that is copied */

    PNG_GRAY = 0,
    PNG_RGB = 2,
    PNG_PALETTE = 3,
    PNG_GRAY_ALPHA = 4,
    PNG_RGBA = 6
};

extern const uint8_t png_signature[PNG_SIGNATURE_BYTES];

/* The contents of the header, the palette and the palette's tRNS. */
typedef struct PngForm {
    uint8_t color_type, depth;
    bool interlaced;
    uint16_t n_colors, n_alpha; /* entries of the palette and of its tRNS */
    uint8_t colors[256][4];     /* opaque beyond n_alpha */
    uint8_t significant; /* bits if fewer than depth and not in a chunk of the input; else 0 */
} PngForm;

/* Returns the samples of a pixel as they are stored. */
static inline unsigned png_form_channels(const PngForm *form)
{
    static const uint8_t channels[7] = {1, 0, 3, 1, 2, 0, 4};
    return channels[form->color_type];
}

/* Returns the bytes of a row, without its filter. */
static inline size_t png_form_row_bytes(const PngForm *form, uint64_t width)
{
    return (size_t)((width * png_form_channels(form) * form->depth + 7) / 8);
}

/* Returns the distance to the pixel on the left, as filters have it. */
static inline unsigned png_form_pixel_bytes(const PngForm *form)
{
    const unsigned bits = png_form_channels(form) * form->depth;
    return bits < 8 ? 1 : bits / 8;
}

static inline uint32_t png_get32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline void png_put32(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

/* ---- Reading ---- */

/* A chunk of an input. */
typedef struct PngChunk {
    uint64_t at; /* of its data */
    uint32_t bytes;
    char type[5];
} PngChunk;

/* Reads the head of the chunk at *at, and advances *at to the next chunk. The first chunk is at
 * PNG_SIGNATURE_BYTES. Returns false at IEND, or if the file is damaged. */
bool png_chunk_next(const Source *source, uint64_t *at, PngChunk *chunk);

/* Returns whether a tIME chunk of this content is a time: month, day, hour, minute and second are
 * in their ranges. Readers ignore others. */
bool png_time_is_valid(const uint8_t data[PNG_TIME_BYTES]);

/* Reads a chunk with its frame. Returns false if it is damaged, or a tIME that is no time. */
bool png_chunk_read(const Source *source, const PngChunk *chunk, uint8_t *data);

/* Whether no warning names a chunk that outputs lack: it has samples, describes their values, or
 * belongs to an animation, which has a warning of its own. */
bool png_is_silent(const char *type);

void png_note_animation(Warnings *warnings); /* which outputs lack */

/* Warns of bytes behind IEND, which outputs lack. at and last: what png_chunk_next that returned
 * false left in them. */
void png_note_behind_end(const Source *source, uint64_t at, const PngChunk *last,
                         Warnings *warnings);

/* Returns whether a chunk is a palette for programs that show an RGB image with few colours. */
bool png_suggests_palette(const PngForm *form, const PngChunk *chunk);

/* ---- Writing ---- */

/* An output to which chunks are appended. */
typedef struct PngSink {
    AtomicFile *output;
    uint64_t at; /* the end so far */
} PngSink;

/* Completes a chunk whose `bytes` bytes of data are at chunk + PNG_CHUNK_HEAD: writes length and
 * type before them, and the checksum behind. */
void png_chunk_frame(const char *type, uint8_t *chunk, size_t bytes);

ImgstatResult png_chunk_write(PngSink *sink, const char *type, const void *data, size_t bytes,
                              ImgstatError *err);

/* Returns whether a file has its last chunk; true if it cannot be read. */
bool png_is_whole(const Source *source);

#endif
