/* SPDX-License-Identifier: MIT */
/* measure.h: what measuring many files needs of a page beside imgstat_measure_pages. */
#ifndef IMGSTAT_MEASURE_MEASURE_H
#define IMGSTAT_MEASURE_MEASURE_H

#include "measure/page_reads.h"

/* Describes the images whose records merge with that of the page selected. Its texts are the
 * decoder's. */
ImgstatKind page_kind(const Decoder *decoder, const ImgstatRegion *region);

/* Reads the region of a page again, for a record that it was measured into. memory: kept from page
 * to page; band_memory_release releases it. */
ImgstatResult page_read_again(Device *device, ImgstatFile *file, uint32_t page,
                              const ImgstatRegion *region, const ReadRequest *request,
                              BandMemory *memory, ImgstatError *err);

#endif
