/* SPDX-License-Identifier: MIT */
/* thumbnail.h: the preview of a record as a small JPEG. */
#ifndef IMGSTAT_TOOLS_REPORT_THUMBNAIL_H
#define IMGSTAT_TOOLS_REPORT_THUMBNAIL_H

#include "imgstat.h"

enum { THUMBNAIL_SIDE = 96 };

typedef struct Thumbnail {
    unsigned char *jpeg; /* owned */
    size_t bytes;
    uint16_t width, height;
} Thumbnail;

/* Maps black to white to the gray levels: colours of RGB, else the first channel. Pixels without a
 * valid sample are hatched. False: the record has no preview. */
bool thumbnail_create(const ImgstatRecord *record, double black, double white, Thumbnail *out);

#endif
