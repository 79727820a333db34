/* SPDX-License-Identifier: MIT */
/* encoder.h: writes pages, with all metadata of the pages they come from that is still true. */
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
    uint8_t bits;    /* significant bits; 12-bit samples are packed again where the input's were */
    int16_t alpha;   /* index of the alpha channel, -1 for none */
    bool has_nodata; /* nodata is given; else the input's applies */
    ImgstatValue nodata;
    ImgstatRole role; /* among the pages that are written */
    bool
        has_parent; /* it becomes a SubIFD of a page that was begun before; else one of the chain */
    uint32_t parent; /* that page, as Encoder.pages counted before it */
    /* The page is number `plane` of the `planes` pages of a stack in one directory, which are
     * written one after the other. planes 0: it is in no such stack. */
    uint32_t plane, planes;
    /* New colours, where the input was opened with `indices` and has a palette: 2^bits reds, then
     * greens, then blues, 0..65535. NULL: the palette stays. bits: those of the input's indices. */
    const uint16_t *colormap;
    bool mapped;      /* samples were mapped: metadata about values changes with them */
    bool converts;    /* mapped pages: all sample types become this one; f64 stays f64 as float */
    double low, high; /* mapped pages: the range they were mapped to; equal: not known */
} EncodePage;

/* How a file is written. All zero but level = -1: as the input is, where that can be written. */
typedef struct EncodeOptions {
    const char *compression; /* of the format; NULL: as the input, deflate without one */
    int level;               /* deflate: as deflater_create; others: their own scale, -1: default */
    bool fast;               /* writes larger files faster */
    size_t strip_bytes;      /* compressed strips of TIFF that are larger are divided; levels that
                              * need more than four times as much memory are lowered. 0: 64 MiB,
                              * and any level */
    ThreadPool *pool;        /* helps; nobody else uses it. NULL: the caller's thread does all */
    unsigned threads;        /* of the pool, at most; 0: all */
    BufferCache *scratch;    /* for large buffers; outlives the encoder; NULL: they are not kept */
    Deflaters *deflaters;    /* for compressors; outlives the encoder; NULL: they are not kept */
} EncodeOptions;

/* An output being written. The struct of each format begins with it. */
typedef struct Encoder {
    const struct EncodeFormat *format;
    AtomicFile *output; /* outlives the encoder, which neither completes nor discards it */
    EncodeOptions how;
    Warnings *warnings; /* outlives the encoder; may be NULL */
    EncodePage page;    /* the page begun last */
    uint32_t next_row;  /* of that page; rows that are held are not written */
    uint32_t band_rows; /* that the format writes at once: begin_page sets it. Bands of a multiple
                         * of them are not copied. */
    uint8_t *band;      /* rows that do not make a band yet; NULL until needed */
    uint32_t held;      /* rows in band */
    uint32_t pages;     /* begun so far */
    const uint32_t
        *chain; /* pages of the input's chain that the output has, ascending; NULL: all */
    uint32_t n_chain;
} Encoder;

/* A file format that can be written. Use the functions below: they check the order of calls. */
typedef struct EncodeFormat {
    const char *name;                /* "png" */
    const char *title;               /* "PNG", in sentences */
    bool has_nodata;                 /* files can have a nodata value */
    const char *const *compressions; /* names that `compression` may have; ends with NULL */
    size_t encoder_bytes;            /* of the format's struct */

    /* Fills in the members behind the base, which are all zero. */
    void (*init)(Encoder *encoder);

    /* Begins encoder->page. like: the decoder of the page that it comes from, which is selected,
     * for this call; NULL: there is none. Fails with IMGSTAT_ERR_UNSUPPORTED for a page that the
     * format cannot hold. */
    ImgstatResult (*begin_page)(Encoder *encoder, Decoder *like, ImgstatError *err);

    /* Writes n rows of `pitch` bytes, from next_row on: band_rows, or what is left of the page. */
    ImgstatResult (*write_rows)(Encoder *encoder, const void *rows, size_t pitch, uint32_t n,
                                ImgstatError *err);

    /* Completes the file's bytes, not the output. */
    ImgstatResult (*finish)(Encoder *encoder, ImgstatError *err);

    /* Frees what the members behind the base hold. */
    void (*release)(Encoder *encoder);
} EncodeFormat;

/* The formats that can be written. */
extern const EncodeFormat png_format, tiff_format;

/* Returns the format of that name ("png", "tiff", "tif"), NULL for none. */
const EncodeFormat *encode_format_named(const char *name);

/* Returns the format of a file name with that ending (.png; .tif, .tiff, .gtiff, .btf, .tf8), NULL
 * for none. */
const EncodeFormat *encode_format_of_path(const char *path);

/* Returns how many threads an encoder uses. */
unsigned encode_threads(const EncodeOptions *how);

ImgstatResult encoder_create(const EncodeFormat *format, AtomicFile *output,
                             const EncodeOptions *how, Warnings *warnings, Encoder **out,
                             ImgstatError *err);

/* Describes an image as a page of a file. */
EncodePage encode_page_of(const ImagePro *image, int16_t alpha);

/* Fails for a page that no format holds: an empty one, or samples that contradict each other. name:
 * of the output. */
ImgstatResult encode_page_check(const char *name, const EncodePage *page, ImgstatError *err);

/* Begins a page, as EncodeFormat.begin_page describes, after all rows of the one before. */
ImgstatResult encoder_begin_page(Encoder *encoder, Decoder *like, const EncodePage *page,
                                 ImgstatError *err);

/* Writes the next n rows of `pitch` bytes, interleaved and in host byte order. */
ImgstatResult encoder_write_rows(Encoder *encoder, const void *rows, size_t pitch, uint32_t n,
                                 ImgstatError *err);

/* Completes the file's bytes, after all rows of the last page. */
ImgstatResult encoder_finish(Encoder *encoder, ImgstatError *err);

/* Frees an encoder, finished or not; after an error nothing else is allowed. Accepts NULL. */
void encoder_destroy(Encoder *encoder);

/* ---- A file that appears complete or not at all ---- */

/* The encoder points to `warnings`: the struct does not move while it is open. */
typedef struct OutputFile {
    AtomicFile *file;
    Encoder *encoder;
    Warnings warnings;
} OutputFile;

/* Where an output goes. */
typedef struct OutputPlace {
    const char *name;          /* a path where there is no sink */
    const ImgstatOutput *sink; /* NULL: a file, which takes `mode` */
    bool replace;
    mode_t mode;
    uint64_t most; /* bytes; 0: any number */
} OutputPlace;

/* Finds the format of an output: the one that `how` names, else that of the ending of `path`, else
 * that of the page that `like` has selected. like: NULL for none. Fails with IMGSTAT_ERR_ARG if
 * there is none. */
ImgstatResult output_file_format(const ImgstatWrite *how, const char *path, const Decoder *like,
                                 const EncodeFormat **out, ImgstatError *err);

/* Opens an output and creates its encoder. Whatever the result, output_file_close follows.
 * warnings: where those about the file go; released at the end. cancel: NULL, or outlives the file.
 */
ImgstatResult output_file_open(OutputFile *output, const EncodeFormat *format,
                               const OutputPlace *place, const EncodeOptions *options,
                               Warnings warnings, const Cancel *cancel, ImgstatError *err);

/* Completes the file if `result`, of all that was done since it was opened, is IMGSTAT_OK; else
 * removes what was written. later: NULL, or receives a file in a folder, whose name comes later.
 * Returns `result`, or why the file could not be completed. */
ImgstatResult output_file_close(OutputFile *output, ImgstatResult result, AtomicFile **later,
                                ImgstatError *err);

#endif
