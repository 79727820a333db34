/* SPDX-License-Identifier: MIT */
/* page_reads.h: the first read of a page or an image, which creates its record, and further reads.
 */
#ifndef IMGSTAT_MEASURE_PAGE_READS_H
#define IMGSTAT_MEASURE_PAGE_READS_H

#include "measure/page_reader.h"

/* Creates the finalized record of all pixels, with these parts. view: VIEW_EACH or VIEW_LUMA. */
ImgstatResult page_measure(PageReader *reader, PixelView view, unsigned parts, Record **out,
                           ImgstatError *err);

/* Reads all pixels again, except planes for which the request asks nothing. */
ImgstatResult page_read(PageReader *reader, PixelView view, const ReadRequest *request,
                        ImgstatError *err);

#endif
