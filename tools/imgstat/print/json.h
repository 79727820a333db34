/* SPDX-License-Identifier: MIT */
/* json.h: one JSON object per line. */
#ifndef IMGSTAT_TOOLS_PRINT_JSON_H
#define IMGSTAT_TOOLS_PRINT_JSON_H

#include "print/report.h"

#include <stdio.h>

/* Of normalize, equalize and apply: a line for each page of an output, the first with the warnings
 * about it; or one if the output existed. */
void print_json_output(FILE *out, const ImgstatJob *job, const ImgstatDone *done,
                       const ImgstatRegion *region, const Sentences *warnings);
/* Of --dry-run. */
void print_json_plan(FILE *out, const ImgstatJob *job, bool exists);
void print_json_page(FILE *out, const Report *report);
/* Of info: the page selected. unsupported: NULL, or why it cannot be decoded. */
void print_json_info(FILE *out, const char *name, const ImgstatFile *file, const ImgstatPage *page,
                     const ImgstatLayout *layout, const char *unsupported);
/* page: NULL where it is not one of several that failed. */
void print_json_error(FILE *out, const char *name, const uint32_t *page, const char *word,
                      const char *sentence);

#endif
