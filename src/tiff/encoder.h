/* SPDX-License-Identifier: MIT */
/* encoder.h: what the parts of the TIFF encoder share. */
#ifndef IMGSTAT_TIFF_ENCODER_H
#define IMGSTAT_TIFF_ENCODER_H

#include "codec/device_pieces.h"
#include "codec/encoder.h"
#include "tiff/decoder.h"
#include "tiff/tag_source.h"

enum {
    TIFF_HEADER_BYTES = 16,      /* of a BigTIFF; a classic header leaves the second half unused */
    TIFF_SHARED_BYTES = 1 << 20, /* a thread: small strips are gathered until all have work */
    TIFF_DEFLATE_BYTES = 1 << 30 /* what is deflated here: sizes of 32 bits hold all it takes */
};

/* A field of a directory to write. Payloads of more than 8 bytes are in the file already, shorter
 * ones wait here: where they go depends on whether the file becomes a BigTIFF. */
typedef struct TiffTag {
    uint16_t tag, type;
    uint64_t count, bytes;
    uint8_t value[8];     /* in the output's byte order, where bytes <= 8 */
    uint64_t at;          /* of the payload, where bytes > 8 */
    struct TiffTags *sub; /* the directory that the value points to; or NULL */
} TiffTag;

/* A directory; sorted when it is written. */
typedef struct TiffTags {
    TiffTag *tag;
    size_t n, room;
    struct TiffTags *parent; /* of a page: the page whose SubIFD it is; or NULL */
    size_t n_below;          /* SubIFDs */
    uint64_t *below;         /* their places, while the file is completed */
    size_t n_written;        /* of these */
} TiffTags;

/* The file being written: pixels and long payloads first, then the directories. */
typedef struct TiffFile {
    AtomicFile *output; /* NULL: to memory, where it may have TIFF_MEMORY_BYTES */
    uint8_t *memory;    /* malloc's; the caller frees it */
    size_t memory_room;
    uint64_t at; /* end so far */
    bool big_endian;
    bool big; /* BigTIFF, because the input is */
    TiffTags **pages;
    size_t n_pages, room;
    uint64_t copied; /* bytes of payloads copied from inputs */
} TiffFile;

/* Samples of a page as they are written. */
typedef struct TiffShape {
    bool tiled;
    bool keeps_type; /* NewSubfileType of the input stays */
    uint16_t bits, format, samples, planes, per_tile;
    uint16_t scale; /* 8-bit samples are multiplied by it */
    uint16_t compression, photometric, predictor;
    uint32_t fax_options; /* of CCITT T.4 */
    int level;            /* of the compression; -1: its default */
    bool fast;            /* as EncodeOptions has it */
    uint32_t tile_width, tile_height, across, down;
    size_t row_bytes; /* of one tile's row */
    bool swap;        /* the file's byte order is not the host's */
} TiffShape;

/* ---- tiff/encoder.c ---- */

/* Describes the tiles of the next rows of the page that was begun, of at most `rows`, for somebody
 * else who compresses them; *bytes and *at are to receive bytes and places of each, by number.
 * Returns false if the output is no TIFF of deflated whole samples, is made with a search for
 * matches of a level, or if no tile begins there. */
bool tiff_encoder_tiles(Encoder *encoder, uint32_t rows, TiledImage *out, uint64_t **bytes,
                        uint64_t **at);

/* Writes these tiles, in the order of the file; at: their places from the beginning of `tiles`. */
ImgstatResult tiff_encoder_write(Encoder *encoder, const TiledImage *image, uint64_t *at,
                                 const uint8_t *tiles, size_t bytes, ImgstatError *err);

/* ---- tiff/cog.c ---- */

/* A page of a cloud optimized GeoTIFF. */
typedef struct CogPage {
    TiffTags *tags;
    uint32_t width, height;
    bool is_mask, is_tiled;
    size_t n;                            /* tiles */
    uint64_t *spooled, *sizes, *offsets; /* of these; malloc's. offsets: in the output */
} CogPage;

/* Returns whether a file says that its directories come before its pixels. */
bool tiff_is_cog(const Source *source);

/* Writes a file from pages whose payloads and tiles `from` holds. */
ImgstatResult tiff_cog_write(const TiffFile *from, CogPage *pages, size_t n, AtomicFile *to,
                             ImgstatError *err);

/* Copies a complete file from the spool of a cloud optimized one to the output. */
ImgstatResult tiff_spool_copy(const TiffFile *from, AtomicFile *to, ImgstatError *err);

/* ---- tiff/tag_writer.c ---- */

/* Returns NULL if memory runs out. */
TiffTags *tiff_tags_create(void);

/* Accepts NULL. */
void tiff_tags_destroy(TiffTags *tags);

/* Adds a field. values: `count` numbers of that type, in host order. */
ImgstatResult tiff_tags_set(TiffFile *file, TiffTags *tags, uint16_t tag, uint16_t type,
                            uint64_t count, const void *values, ImgstatError *err);

/* Adds a field of one number. type: SHORT or LONG. */
ImgstatResult tiff_tags_number(TiffFile *file, TiffTags *tags, uint16_t tag, uint16_t type,
                               uint32_t value, ImgstatError *err);

bool tiff_tags_have(const TiffTags *tags, uint16_t tag);

/* Returns where the file ends once all directories are written, or some bytes behind that. */
uint64_t tiff_file_end(const TiffFile *file);

/* Fills in a header, without the place of the first directory. Returns where that belongs: behind
 * it the header ends. */
unsigned tiff_header_fill(uint8_t head[TIFF_HEADER_BYTES], bool big_endian, bool big);

/* Returns the bytes of a directory, without what its fields point to. */
size_t tiff_directory_bytes(const TiffTags *tags, bool big);

/* Fills in the 4 or 8 bytes of a field that hold its value or say where it is, and writes it there.
 * May set the field's type. */
typedef ImgstatResult (*TiffPlaceValue)(void *context, TiffTag *tag, uint8_t *to,
                                        ImgstatError *err);

/* Makes a directory, its fields in order, without the place of the next one. *out: malloc's, or
 * NULL; freed by the caller, whatever the result. */
ImgstatResult tiff_directory_fill(TiffTags *tags, bool big, bool big_endian, TiffPlaceValue place,
                                  void *context, uint8_t **out, ImgstatError *err);

/* Writes the header and all directories. */
ImgstatResult tiff_tags_finish(TiffFile *file, ImgstatError *err);

/* Frees the directories. */
void tiff_file_release(TiffFile *file);

/* Copies the fields of the directory at `offset` that wanted() accepts and `to` does not have, and
 * directories of EXIF and GPS data with them. What is damaged is left out, with a warning. */
ImgstatResult tiff_tags_copy(TiffFile *file, const TiffTagSource *from, uint64_t offset,
                             bool (*wanted)(const void *context, uint16_t tag), const void *context,
                             Warnings *warnings, TiffTags *to, ImgstatError *err);

/* ---- tiff/output_layout.c ---- */

/* Chooses how a page is laid out. name: of the output. */
ImgstatResult tiff_shape_choose(const char *name, const EncodePage *page, Decoder *like,
                                const EncodeOptions *how, bool big_endian, Warnings *warnings,
                                TiffShape *shape, ImgstatError *err);

/* Describes tiles of a page, or of whole rows of tiles of it, that are deflated here, without
 * places. Returns false for others, for samples of other than 8, 16, 32 or 64 bits, and for more
 * than TIFF_DEFLATE_BYTES. */
bool tiff_shape_tiles(const TiffShape *shape, const EncodePage *page, TiledImage *out);

/* Adds the fields that describe the layout, and a nodata value. */
ImgstatResult tiff_shape_tags(TiffFile *file, const TiffShape *shape, const Decoder *like,
                              const EncodePage *page, TiffTags *tags, ImgstatError *err);

/* Returns whether rows are indices of a palette that is written. */
bool tiff_keeps_palette(const Decoder *like, const EncodePage *page);

/* Returns whether type and number of samples are those of the page they come from. */
bool tiff_keeps_samples(const Decoder *like, const EncodePage *page);

/* ---- tiff/kept_tags.c ---- */

/* Copies the fields that still hold from the page that this one comes from. metadata: its own, if
 * it is of another format. */
ImgstatResult tiff_fields_copy(TiffFile *file, const TiffShape *shape, Decoder *like,
                               const Metadata *metadata, const Encoder *encoder, TiffTags *tags,
                               ImgstatError *err);

/* ---- tiff/metadata.c ---- */

/* Returns the byte order of a file that gets metadata of another format. EXIF data have bytes whose
 * order no field says, such as notes of the maker and comments in UTF-16: theirs is the file's. */
bool tiff_metadata_big_endian(const Metadata *metadata);

/* Returns whether a description is one that programs read, about pages and sample types. */
bool tiff_text_is_for_programs(TIFF *tif);

/* Adds metadata of another format, as far as TIFF has a place for it. */
ImgstatResult tiff_metadata_write(TiffFile *file, const Metadata *metadata, Warnings *warnings,
                                  TiffTags *tags, ImgstatError *err);

/* Adds the colours of a page of indices that comes from another format. */
ImgstatResult tiff_palette_write(TiffFile *file, const Decoder *like, const EncodePage *page,
                                 TiffTags *tags, ImgstatError *err);

/* ---- tiff/tile_writer.c ---- */

/* The compressor of one thread. */
typedef struct TiffPacker TiffPacker;

/* Returns NULL if memory runs out. */
TiffPacker *tiff_packer_create(const EncodeOptions *how);

/* Accepts NULL. */
void tiff_packer_destroy(TiffPacker *packer);

/* A tile as it is in the file. Its memory serves one tile after the other. */
typedef struct TiffTileBytes {
    uint8_t *bytes;
    size_t n, room;
} TiffTileBytes;

/* Encodes the tile that holds `rows` rows from `from` on, pixels from x on, of `plane`. On failure
 * text is the cause. */
bool tiff_tile_encode(TiffPacker *packer, const TiffShape *shape, const EncodePage *page,
                      const uint8_t *from, size_t pitch, uint32_t rows, uint32_t x, uint16_t plane,
                      TiffTileBytes *out, char text[256]);

#endif
