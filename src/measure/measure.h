/* SPDX-License-Identifier: MIT */
/* measure.h: functions for pages that measuring many files needs beside imgstat_measure_pages. */
#ifndef IMGSTAT_MEASURE_MEASURE_H
#define IMGSTAT_MEASURE_MEASURE_H

#include "measure/page_reads.h"

/* Returns the kind of images whose records merge with that of the page selected. Its texts belong
 * to the decoder. */
ImgstatKind page_kind(const Decoder *decoder, const ImgstatRegion *region);

/* Works as imgstat_measure_pages. counted: NULL, or the finalized record of all pixels of the page,
 * which is the only one and has narrow samples: nothing is read then. Taken over in any case. */
ImgstatResult measure_pages(Device *device, ImgstatFile *file, const uint32_t *pages, uint32_t n,
                            const ImgstatMeasure *how, Record *counted, ImgstatRecord **out,
                            ImgstatError *err);

/* Returns the parts of the record that the first read of a page of narrow samples fills. */
unsigned measure_parts(const ImgstatMeasure *how);

/* Computes the statistics of an image in memory, all of which was counted. record: finalized; taken
 * over in any case. */
ImgstatResult measure_finish_image(Device *device, const ImagePro *image, const ImgstatMeasure *how,
                                   Record *record, ImgstatRecord **out, ImgstatError *err);

/* Reads the region of a page again. memory: kept from page to page; band_memory_release releases
 * it.
 */
ImgstatResult page_read_again(Device *device, ImgstatFile *file, uint32_t page,
                              const ImgstatRegion *region, const ReadRequest *request,
                              BandMemory *memory, ImgstatError *err);

#endif
