/* SPDX-License-Identifier: MIT */
/* directory.h: the fields by which the role of a directory of a TIFF file is found. */
#ifndef IMGSTAT_TIFF_DIRECTORY_H
#define IMGSTAT_TIFF_DIRECTORY_H

#include "codec/source.h"

/* Fields of a directory; the fullest real ones have a hundred. */
enum { TIFF_MAX_FIELDS = 4096 };

/* What both kinds of file have. */
typedef struct TiffKind {
    bool big_endian, big; /* big: BigTIFF, 64-bit offsets */
} TiffKind;

/* A field of a directory; count 0: it is not there. */
typedef struct TiffField {
    uint16_t type;
    uint64_t count;
    uint8_t value[8]; /* as in the file */
} TiffField;

/* The fields by which the role of a directory is found. */
enum {
    TIFF_FIELD_NEW_TYPE,
    TIFF_FIELD_OLD_TYPE,
    TIFF_FIELD_WIDTH,
    TIFF_FIELD_HEIGHT,
    TIFF_FIELD_BITS,
    TIFF_FIELD_SAMPLES,
    TIFF_FIELD_FORMAT,
    TIFF_FIELD_PHOTOMETRIC,
    TIFF_FIELD_SUB,
    TIFF_FIELD_JPEG,
    /* Of a stack in one directory: */
    TIFF_FIELD_COMPRESSION,
    TIFF_FIELD_PLANAR,
    TIFF_FIELD_STRIPS,
    TIFF_FIELD_STRIP_ROWS,
    TIFF_FIELD_TEXT,
    /* Of where the samples end: */
    TIFF_FIELD_STRIP_BYTES,
    TIFF_FIELD_TILES,
    TIFF_FIELD_TILE_BYTES,
    /* Of what libtiff passes over without a word: */
    TIFF_FIELD_PREDICTOR,
    TIFF_FIELD_COLORMAP,
    /* Of a stack of MetaMorph: as many values as planes. */
    TIFF_FIELD_METAMORPH,
    TIFF_FIELDS
};

typedef struct TiffDirectory {
    bool whole; /* it has entries, and lies inside the file */
    bool empty; /* it has none */
    uint64_t next;
    uint64_t end;         /* of it, or of what a field has outside of it, the furthest */
    uint64_t field_bytes; /* of all fields, outside of it, as far as the file has them; UINT64_MAX:
                             it has more fields than are read */
    TiffField field[TIFF_FIELDS];
} TiffDirectory;

/* Returns the bytes of a number of that type; 0 for types that are no unsigned number. */
unsigned tiff_field_bytes(uint16_t type);

/* Returns value k of a field; 0 where it has none. */
uint64_t tiff_field_value(const Source *source, const TiffKind *kind, const TiffField *field,
                          uint64_t k);

/* Makes a text, malloc's; NULL: it is none, or one of 4 bytes or less (BigTIFF: 8), or does not lie
 * inside the file. */
ImgstatResult tiff_field_text(const Source *source, const TiffKind *kind, const TiffField *field,
                              char **out, ImgstatError *err);

/* Reads the directory at `at`. */
ImgstatResult tiff_directory_read(const Source *source, const TiffKind *kind, uint64_t at,
                                  TiffDirectory *out, ImgstatError *err);

#endif
