/* SPDX-License-Identifier: MIT */
/* page_reads.h: the first read of a page or an image, which makes its record, and further ones. */
#ifndef IMGSTAT_MEASURE_PAGE_READS_H
#define IMGSTAT_MEASURE_PAGE_READS_H

#include "measure/page_reader.h"

/* Makes the finalized record of all pixels, with these parts. view: VIEW_EACH or VIEW_LUMA. */
ImgstatResult page_measure(PageReader *reader, PixelView view, unsigned parts, Record **out,
                           ImgstatError *err);

/* Reads all pixels again. Planes that nothing is asked of are left out. */
ImgstatResult page_read(PageReader *reader, PixelView view, const ReadRequest *request,
                        ImgstatError *err);

#endif
