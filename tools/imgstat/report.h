/* SPDX-License-Identifier: MIT */
/* report.h: the measurements of one page, as the printers take them. */
#ifndef IMGSTAT_TOOLS_REPORT_H
#define IMGSTAT_TOOLS_REPORT_H

#include "options.h"
#include "sentences.h"

#include <stdio.h>

typedef struct Report {
    const Options *options;
    const char *name;         /* the file's, as given */
    const char *device;       /* "cpu", "cuda:0" */
    bool continues;           /* a page of this file was printed before */
    const ImgstatFile *file;  /* names the channels */
    const ImgstatPage *page;  /* of a group, the first */
    ImgstatGrouping by;       /* IMGSTAT_BY_PAGE: of one page; else the group that was measured */
    const ImgstatPage *pages; /* of the group, n_pages of them */
    uint32_t n_pages;
    const ImgstatRecord *record;
    const Sentences *warnings; /* with --json: about the file, since the page before */
} Report;

/* Of a page: "[2]", or "[0.1]" in a SubIFD; "" of the only page of the chain, and of a whole file.
 * Of a channel: "[channel 1]". */
typedef struct PageName {
    char text[64];
} PageName;

PageName report_page_name(const Report *report);

/* The name of a page of the file, as --page takes it: "2", "0.1". */
PageName report_name_of(const Report *report, uint32_t page);

/* The pages that were measured, as --page names them: "0", "0,3-5". The caller frees it. */
char *report_page_list(const Report *report);

/* Whether all of these pages have the size of the first. */
bool report_same_size(const Report *report);

/* Describes one of these pages. */
const ImgstatPage *report_find_page(const Report *report, uint32_t page);

/* Whether the mode was found: that of wider samples is on request. */
static inline bool report_has_mode(const Report *report)
{
    return report->options->mode || imgstat_sample_bytes(report->page->sample) <= 2;
}

#endif
