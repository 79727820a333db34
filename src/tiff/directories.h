/* SPDX-License-Identifier: MIT */
/* directories.h: the pages of a TIFF file, and what each is. */
#ifndef IMGSTAT_TIFF_DIRECTORIES_H
#define IMGSTAT_TIFF_DIRECTORIES_H

#include "codec/limits.h"
#include "codec/page_list.h"
#include "codec/source.h"
#include "codec/warnings.h"
#include "tiff/encoder.h"
#include "tiff/stack_axes.h"

/* What the fields of a directory say; 0 where there are none. */
typedef struct TiffFacts {
    bool has_type, is_jpeg; /* is_jpeg: it has JPEG data, and neither size nor strips, as in EXIF */
    uint32_t type;          /* bits of NewSubfileType */
    uint16_t bits, samples, format, photometric;
} TiffFacts;

/* ---- tiff/directories.c ---- */

/* Finds all pages of a file. The caller releases the list. how: its limits, and whether planes that
 * the file ends before count. *has_axes: texts of the first page may declare axes. */
ImgstatResult tiff_pages_find(const Source *source, const ImgstatOpen *how, Warnings *warnings,
                              PageList *out, bool *has_axes, ImgstatError *err);

/* Returns whether all directories, what their fields hold, and their last strips or tiles lie
 * inside the file; true if it cannot be read. */
bool tiff_is_whole(const Source *source);

/* ---- tiff/page_axes.c ---- */

/* Reads the axes that texts of the file declare, and fills them in. axes: released by the caller,
 * who keeps it as long as the list. */
ImgstatResult tiff_axes_find(const Source *source, PageList *list, Warnings *warnings,
                             StackAxes *axes, ImgstatError *err);

/* Loads ImageJ's metadata of the directory at `at`; data: NULL where there are none. The caller
 * frees data and counts. */
ImgstatResult tiff_imagej_load(const TiffTagSource *from, uint64_t at, ImagejMetadata *out,
                               ImgstatError *err);

/* ---- tiff/roles.c ---- */

/* Fills in roles, owners and masks of pages. facts: one for each. */
void tiff_roles_find(PageList *list, const TiffFacts *facts);

#endif
