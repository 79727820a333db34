/* SPDX-License-Identifier: MIT */
/* report.h: the measurements of one page, as the printers take them. */
#ifndef IMGSTAT_TOOLS_REPORT_H
#define IMGSTAT_TOOLS_REPORT_H

#include "options.h"
#include "sentences.h"

#include <stdio.h>

/* The images of a record of a data set: they have one type, and no common file, page or size. */
typedef struct MergedImages {
    const char *group;
    uint64_t files, pages;
    uint64_t failed;     /* files of the data set that were not measured as a whole */
    ImgstatKind kind;    /* of the images */
    uint64_t all_files;  /* of the data set, failed ones as well */
    uint64_t all_pages;  /* of the data set */
    bool several, first; /* records are printed; this is the first of them */
} MergedImages;

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
    /* NULL, or what the record is of. Then file is NULL, n_pages 0, and page has only what the kind
     * has. */
    const MergedImages *merged;
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

/* The name of a channel. */
const char *report_channel(const Report *report, uint16_t channel);

/* The hash of the samples, in hexadecimal; "" where none was asked for. */
typedef struct HashText {
    char text[33];
} HashText;

HashText report_hash(const Report *report);

/* "1,234 images, rgb, u8": what a record of a data set is of. The caller frees it. */
char *report_images(const Report *report);

/* Whether all of these pages have the size of the first. */
bool report_same_size(const Report *report);

/* Whether the mode was found: that of wider samples is on request. */
static inline bool report_has_mode(const Report *report)
{
    return report->options->mode || imgstat_sample_bytes(report->page->sample) <= 2;
}

#endif
