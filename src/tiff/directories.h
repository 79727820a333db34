/* SPDX-License-Identifier: MIT */
/* directories.h: the pages of a TIFF file, and what each is. */
#ifndef IMGSTAT_TIFF_DIRECTORIES_H
#define IMGSTAT_TIFF_DIRECTORIES_H

#include "codec/limits.h"
#include "codec/page_list.h"
#include "codec/source.h"
#include "codec/warnings.h"

/* What the fields of a directory say; 0 where there are none. */
typedef struct TiffFacts {
    bool has_type;
    uint32_t type; /* bits of NewSubfileType */
    uint16_t bits, samples, format, photometric;
} TiffFacts;

/* ---- tiff/directories.c ---- */

/* Finds all pages of a file. The caller releases the list. */
ImgstatResult tiff_pages_find(const Source *source, const ImgstatLimits *limits, Warnings *warnings,
                              PageList *out, ImgstatError *err);

/* ---- tiff/roles.c ---- */

/* Fills in roles, owners and masks of pages. facts: one for each. */
void tiff_roles_find(PageList *list, const TiffFacts *facts);

#endif
