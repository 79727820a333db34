/* SPDX-License-Identifier: MIT */
/* print_json.h: one JSON object per line. */
#ifndef IMGSTAT_TOOLS_PRINT_JSON_H
#define IMGSTAT_TOOLS_PRINT_JSON_H

#include "report.h"

#include <stdio.h>

void print_json_page(FILE *out, const Report *report);
/* page: NULL where it is not one of several that failed. */
void print_json_error(FILE *out, const char *name, const uint32_t *page, const char *word,
                      const char *sentence);

#endif
