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

/* Whether the mode was found: that of wider samples is on request. */
static inline bool report_has_mode(const Report *report)
{
    return report->options->mode || imgstat_sample_bytes(report->page->sample) <= 2;
}

#endif
