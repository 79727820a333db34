/* SPDX-License-Identifier: MIT */
/* direct_read.h: pixels that the threads of a device read or decode for themselves. */
#ifndef IMGSTAT_MEASURE_DIRECT_READ_H
#define IMGSTAT_MEASURE_DIRECT_READ_H

#include "measure/page_reader.h"

/* Returns whether the threads of the device can read the rows of the page selected: between file
 * and samples there is nothing but reading. */
bool direct_rows(const Device *device, const Decoder *decoder);

typedef ImgstatResult (*UseSource)(void *context, const PixelSource *source, ImgstatError *err);

/* What became of a direct read. */
typedef enum DirectRead {
    DIRECT_NONE,    /* this page has no direct read: nothing was used */
    DIRECT_FAILED,  /* pixels could not be read: what use made is of no value */
    DIRECT_COMPLETE /* use has seen every pixel */
} DirectRead;

/* Calls use once with a source of all pixels of the plane: of its rows or, if `tiles`, of its
 * strips or tiles of narrow samples. */
ImgstatResult direct_read(PageReader *reader, bool tiles, UseSource use, void *context,
                          DirectRead *done, ImgstatError *err);

#endif
