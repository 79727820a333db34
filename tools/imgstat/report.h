/* SPDX-License-Identifier: MIT */
/* report.h: the measurements of one page, as the printers take them. */
#ifndef IMGSTAT_TOOLS_REPORT_H
#define IMGSTAT_TOOLS_REPORT_H

#include "options.h"
#include "sentences.h"

#include <stdio.h>

typedef struct Report {
    const Options *options;
    const char *name;        /* the file's, as given */
    const char *device;      /* "cpu", "cuda:0" */
    bool continues;          /* a page of this file was printed before */
    const ImgstatFile *file; /* names the channels */
    const ImgstatPage *page;
    const ImgstatRecord *record;
    const Sentences *warnings; /* with --json: about the file, since the page before */
} Report;

/* Of a page: "[2]", or "[0.1]" in a SubIFD; "" of the only page of the chain. */
typedef struct PageName {
    char text[64];
} PageName;

static inline PageName report_page_name(const Report *report)
{
    PageName name = {""};
    const ImgstatPage *const page = report->page;
    char plain[60] = "";
    if (page->pages > 1 || page->parent != IMGSTAT_NO_PAGE) {
        (void)imgstat_file_page_name(report->file, page->page, plain, sizeof plain);
        snprintf(name.text, sizeof name.text, "[%s]", plain);
    }
    return name;
}

/* Whether the mode was found: that of wider samples is on request. */
static inline bool report_has_mode(const Report *report)
{
    return report->options->mode || imgstat_sample_bytes(report->page->sample) <= 2;
}

#endif
