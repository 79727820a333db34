/* SPDX-License-Identifier: MIT */
/* encoder.h: writing PNG and TIFF: pages that keep what is not contrast of the pages they come
 * from.
 */
#ifndef IMGSTAT_CODEC_ENCODER_H
#define IMGSTAT_CODEC_ENCODER_H

#include "base/thread_pool.h"
#include "codec/atomic_file.h"
#include "codec/codec.h"
#include "codec/deflate.h"

/* A page to write. Samples, channels and bits may differ from those of the page it comes from. */
typedef struct EncodePage {
    uint32_t width, height;
    uint16_t channels;
    ImgstatSample sample;
    uint8_t bits;  /* significant bits; 12-bit samples are packed again where the input's were */
    int16_t alpha; /* index of the alpha channel, -1 for none */
    /* Where the input was opened with `indices` and has a palette: its new colours, 2^bits times
     * red, then green, then blue, 0..65535. NULL: the palette stays. bits: of the input's indices.
     */
    const uint16_t *colormap;
} EncodePage;

/* All zero but level = -1: as the input, where it can be written. */
typedef struct EncodeOptions {
    const char *compression; /* encode_compression_known; NULL: as the input, deflate without one */
    int level;               /* of deflate: 0 to 12, -1: default (6); of others, their own scale */
    bool fast;               /* larger files, written faster */
    size_t strip_bytes;      /* of TIFF: larger strips are divided where they are compressed, for
                              * which they are held whole, several times; and levels of Zstandard
                              * and LZMA lowered that take more than four times as much. 0: 64 MiB,
                              * and any level */
    ThreadPool *pool;        /* threads that help; NULL: only the caller's. Not in use by others */
    unsigned threads;        /* of the pool, no more than these; 0: all */
    BufferCache *scratch;    /* where large buffers come from, and compressors; NULL: nobody ... */
    Deflaters *deflaters;    /* ... keeps them. Both outlive the encoder */
} EncodeOptions;

/* An output being written. Each format's own struct begins with it. */
typedef struct Encoder {
    const struct EncodeFormat *format;
    AtomicFile *output; /* outlives the encoder, which neither completes nor discards it */
    EncodeOptions how;
    Warnings *warnings; /* outlives the encoder */
    EncodePage page;    /* the page begun last */
    uint32_t next_row;  /* of that page */
    uint32_t band_rows; /* rows in multiples of this many are not copied; of that page, or 0 */
    uint32_t pages;     /* begun so far */
} Encoder;

/* A file format that can be written: create, then begin_page and all of its rows, for every page,
 * then finish. After an error only discard is allowed. */
typedef struct EncodeFormat {
    const char *name;                /* "png", "tiff" */
    const char *const *compressions; /* names that `compression` may have; ends with NULL */
    ImgstatResult (*create)(AtomicFile *output, const EncodeOptions *how, Warnings *warnings,
                            Encoder **out, ImgstatError *err);
    /* like: the decoder of the page that this one comes from, that page selected; NULL for none. It
     * is read here and not kept. A page that the format cannot hold is UNSUPPORTED. */
    ImgstatResult (*begin_page)(Encoder *encoder, Decoder *like, const EncodePage *page,
                                ImgstatError *err);
    /* `rows` rows of `pitch` bytes, interleaved, in host byte order; calls go down the page without
     * gaps, in any heights. */
    ImgstatResult (*write_rows)(Encoder *encoder, const void *rows, size_t pitch, uint32_t n,
                                ImgstatError *err);
    /* Completes the file's bytes, not the Output. Does not free the encoder. */
    ImgstatResult (*finish)(Encoder *encoder, ImgstatError *err);
    void (*discard)(Encoder *encoder); /* frees the encoder, finished or not; accepts NULL */
} EncodeFormat;

extern const EncodeFormat png_format, tiff_format;

/* The format of that name, or of a file name with that ending (.png; .tif, .tiff, .gtiff, .btf,
 * .tf8); NULL for none. A directory stands for the files in it that have one. */
const EncodeFormat *encode_format_named(const char *name);
const EncodeFormat *encode_format_of_path(const char *path);
bool encode_compression_known(const EncodeFormat *format, const char *compression);

/* Threads that an encoder has. */
unsigned encode_threads(const EncodeOptions *how);

/* What every format begins and ends with. */
ImgstatResult encode_init(Encoder *encoder, const EncodeFormat *format, AtomicFile *output,
                          const EncodeOptions *how, Warnings *warnings, ImgstatError *err);
ImgstatResult encode_check_page(const Encoder *encoder, const EncodePage *page, ImgstatError *err);
ImgstatResult encode_check_rows(const Encoder *encoder, size_t pitch, uint32_t n,
                                ImgstatError *err);
ImgstatResult encode_check_end(const Encoder *encoder, ImgstatError *err); /* all rows are there */

#endif
