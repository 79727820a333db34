/* SPDX-License-Identifier: MIT */
/* measure.h: functions for pages that measuring many files needs beside imgstat_measure_pages. */
#ifndef IMGSTAT_MEASURE_MEASURE_H
#define IMGSTAT_MEASURE_MEASURE_H

#include "measure/page_reads.h"

/* Returns the kind of images whose records merge with that of the page selected. Its texts belong
 * to the decoder. */
ImgstatKind page_kind(const Decoder *decoder, const ImgstatRegion *region);

/* Reads the region of a page again. memory: kept from page to page; band_memory_release releases
 * it.
 */
ImgstatResult page_read_again(Device *device, ImgstatFile *file, uint32_t page,
                              const ImgstatRegion *region, const ReadRequest *request,
                              BandMemory *memory, ImgstatError *err);

#endif
