/* SPDX-License-Identifier: MIT */
/* report.h: the measurements of one page, as the printers take them. */
#ifndef IMGSTAT_TOOLS_REPORT_H
#define IMGSTAT_TOOLS_REPORT_H

#include "options.h"

typedef struct Report {
    const Options *options;
    const char *name;        /* the file's, as given */
    const char *device;      /* "cpu", "cuda:0" */
    bool continues;          /* a page of this file was printed before */
    const ImgstatFile *file; /* names the channels */
    const ImgstatPage *page;
    const ImgstatRecord *record;
} Report;

#endif
