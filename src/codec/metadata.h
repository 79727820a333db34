/* SPDX-License-Identifier: MIT */
/* metadata.h: metadata in a form of no file format. Every codec reads its metadata into this form,
 * and every encoder writes from it. */
#ifndef IMGSTAT_CODEC_METADATA_H
#define IMGSTAT_CODEC_METADATA_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef enum MetadataKind {
    METADATA_PROFILE,    /* data: an ICC colour profile */
    METADATA_RESOLUTION, /* x, y, unit */
    METADATA_TIME,       /* data: "YYYY:MM:DD hh:mm:ss" of the last change */
    METADATA_EXIF,       /* data: a TIFF structure without pixels */
    METADATA_XMP,        /* data: UTF-8 */
    METADATA_IPTC,       /* data: data sets, each begins with 0x1C */
    METADATA_PHOTOSHOP,  /* data: image resources of Photoshop that hold something else */
    METADATA_TEXT        /* keyword, data */
} MetadataKind;

typedef enum ResolutionUnit {
    RESOLUTION_RATIO, /* of x to y, without a unit */
    RESOLUTION_INCH,
    RESOLUTION_CENTIMETRE,
    RESOLUTION_METRE
} ResolutionUnit;

/* Texts that formats share: "Title", "Author", "Description", "Copyright", "Software", "Source". */
typedef enum MetadataText {
    TEXT_TITLE,
    TEXT_AUTHOR,
    TEXT_DESCRIPTION,
    TEXT_COPYRIGHT,
    TEXT_SOFTWARE,
    TEXT_SOURCE,
    TEXT_KINDS
} MetadataText;

typedef struct MetadataItem {
    MetadataKind kind;
    MetadataText keyword;
    bool latin1; /* the text is Latin-1, else UTF-8 */
    double x, y; /* pixels per unit */
    ResolutionUnit unit;
    uint8_t *data; /* a NUL follows */
    size_t bytes;
} MetadataItem;

/* Bytes of all items of a page. Real ones have some megabytes; a deflated one can ask for any. */
enum { METADATA_BYTES = 8 << 20 };

/* Items in the order of the file, no two of the same kind and keyword. */
typedef struct Metadata {
    MetadataItem item[METADATA_TEXT + TEXT_KINDS];
    size_t n, bytes;    /* bytes: of all of them */
    bool lacks;         /* an item was too large */
    bool premultiplied; /* colours are multiplied by alpha */
} Metadata;

/* Returns the name of a keyword. */
const char *metadata_keyword(MetadataText keyword);

/* Returns whether there is an item of a kind. keyword: compared for texts only. */
bool metadata_has(const Metadata *metadata, MetadataKind kind, MetadataText keyword);

/* Adds an item with a copy of its data, unless there is one of that kind and keyword, or it is too
 * large: then `lacks` becomes true. */
ImgstatResult metadata_add(Metadata *metadata, const MetadataItem *item, ImgstatError *err);

/* Frees what it holds, not the struct. */
void metadata_release(Metadata *metadata);

#endif
