/* SPDX-License-Identifier: MIT */
/* report.h: the measurements of one page, for the printers. */
#ifndef IMGSTAT_TOOLS_PRINT_REPORT_H
#define IMGSTAT_TOOLS_PRINT_REPORT_H

#include "options/options.h"
#include "text/sentences.h"

#include <stdio.h>

/* Images of a record of a data set. They have one type, but no common file, page or size. */
typedef struct MergedImages {
    const char *group;
    uint64_t files, pages;
    uint64_t failed;     /* files of the data set that were not measured completely */
    ImgstatKind kind;    /* kind of the images */
    uint64_t all_files;  /* files of the data set, failed ones included */
    uint64_t all_pages;  /* pages of the data set */
    bool several, first; /* several records are printed; this is the first */
} MergedImages;

typedef struct Report {
    const Options *options;
    const char *name;         /* name of the file, as given */
    const char *device;       /* "cpu", "cuda:0" */
    bool continues;           /* a page of this file was printed before */
    const ImgstatFile *file;  /* names the channels */
    const ImgstatPage *page;  /* the page, or the first of a group */
    ImgstatGrouping by;       /* IMGSTAT_BY_PAGE: one page; else the group that was measured */
    const ImgstatPage *pages; /* pages of the group, n_pages of them */
    uint32_t n_pages;
    const ImgstatRecord *record;
    /* NULL, or the images of the record. Then file is NULL, n_pages is 0, and page has only what
     * the kind has. */
    const MergedImages *merged;
    const Sentences *warnings; /* with --json: warnings about the file since the page before */
} Report;

/* Name of a page: "[2]", or "[0.1]" in a SubIFD; "" for the only page of the chain, and for a whole
 * file. Of a channel: "[channel 1]". */
typedef struct PageName {
    char text[64];
} PageName;

PageName report_page_name(const Report *report);

/* Returns the name of a page of the file, as --page takes it: "2", "0.1". */
PageName report_name_of(const Report *report, uint32_t page);

/* Returns the measured pages, as --page takes them: "0", "0,3-5". The caller frees it. */
char *report_page_list(const Report *report);

/* Returns the name of a channel. */
const char *report_channel(const Report *report, uint16_t channel);

/* Hash of the samples, in hexadecimal; "" if none was requested. */
typedef struct HashText {
    char text[33];
} HashText;

HashText report_hash(const Report *report);

/* Describes the images of a record of a data set: "1,234 images, rgb, u8". The caller frees it. */
char *report_images(const Report *report);

/* Whether all of these pages have the size of the first. */
bool report_same_size(const Report *report);

/* Whether the record has the mode, which wider samples have on request. */
static inline bool report_has_mode(const Report *report)
{
    return report->options->mode || imgstat_sample_bytes(report->page->sample) <= 2;
}

#endif
