/* SPDX-License-Identifier: MIT */
/* imagej_text.h: lines "key=value" of ImageJ's description, and the parts of its IJMetadata. */
#ifndef IMGSTAT_TIFF_IMAGEJ_TEXT_H
#define IMGSTAT_TIFF_IMAGEJ_TEXT_H

#include "tiff/stack_axes.h"

/* Finds the value of a key. Returns its length, 0 where there is none. */
size_t imagej_value(const char *text, const char *key, const char **value);

/* Reads a value that is a whole number, at least 0. Returns false if it is none or exceeds
 * INT32_MAX. *out stays where there is no such line. */
bool imagej_number(const char *text, const char *key, uint32_t *out);

/* Parts of one type of IJMetadata. */
typedef struct ImagejPart {
    uint32_t type;  /* "rang", "luts", "labl" ... as a big-endian number */
    uint32_t n;     /* pieces */
    uint32_t first; /* its first one among all pieces: counts[1 + first] bytes */
    size_t at;      /* of that piece in the data */
} ImagejPart;

enum {
    IMAGEJ_RANGES = 0x72616E67,
    IMAGEJ_LUTS = 0x6C757473,
    IMAGEJ_LABELS = 0x6C61626C,
    IMAGEJ_MOST_PARTS = 64
};

/* Lists the parts. Returns how many, 0 where the data are damaged. *big_endian: of the data. */
size_t imagej_parts(const ImagejMetadata *metadata, ImagejPart parts[IMAGEJ_MOST_PARTS],
                    bool *big_endian);

#endif
