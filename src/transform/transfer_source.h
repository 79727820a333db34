/* SPDX-License-Identifier: MIT */
/* transfer_source.h: what a transfer is made from: the merged record of one image or of many, and,
 * for wide types, order statistics from further reads. */
#ifndef IMGSTAT_TRANSFORM_TRANSFER_SOURCE_H
#define IMGSTAT_TRANSFORM_TRANSFER_SOURCE_H

#include "device/read_request.h"
#include "measure/page_reader.h"
#include "transfer/transfer.h"

typedef struct TransferInput {
    const ImgstatMethod *method; /* outlives the input */
    TransferShape shape;         /* of the image that came first */
    ImgstatChannels channels;    /* EACH, JOINT or LUMA */
    uint16_t n_sources;
    Record *record; /* settled: one channel for one source, else those of the images */
    size_t memory;  /* bytes that sorting may take */
    /* once finished */
    MapSource *sources;
    uint64_t *cdf;
    RankTable **ranks;
} TransferInput;

/* Shape of the page that a decoder has selected. */
TransferShape shape_of_page(const Decoder *decoder);

/* What an estimate of memory asks of a page. */
typedef struct PageToMeasure {
    uint32_t width, height;
    TransferShape shape;
    uint64_t band_bytes; /* of its least bands, and of what its decoder holds */
} PageToMeasure;

PageToMeasure page_to_measure(const Decoder *decoder);
TransferShape shape_of_image(const ImagePro *image, int16_t alpha);

ImgstatResult transfer_input_create(const ImgstatMethod *method, const TransferShape *shape,
                                    size_t memory, TransferInput **out, ImgstatError *err);
void transfer_input_destroy(TransferInput *input); /* accepts NULL */

/* Whether another image can be measured together with the first. */
ImgstatResult transfer_input_check(const TransferInput *input, const TransferShape *shape,
                                   const char *name, ImgstatError *err);
/* First read: the record of one image, for transfer_input_merge. Any thread; shape: that image's.
 */
ImgstatResult transfer_input_measure(const TransferInput *input, PageReader *reader,
                                     const TransferShape *shape, Record **out, ImgstatError *err);
void transfer_input_merge(TransferInput *input, Record **record); /* takes it over */

/* Whether finishing reads the pixels again. */
bool transfer_input_reads_again(const ImgstatMethod *method, ImgstatSample sample);
/* One further read of one image. */
ImgstatResult transfer_input_read(const TransferInput *input, PageReader *reader,
                                  const TransferShape *shape, const ReadRequest *request,
                                  ImgstatError *err);
/* reads: of all images, through transfer_input_read. */
ImgstatResult transfer_input_finish(TransferInput *input, FurtherReads reads, ImgstatError *err);

/* All of it for one image. */
ImgstatResult transfer_input_image(const ImgstatMethod *method, PageReader *reader,
                                   const TransferShape *shape, size_t memory, TransferInput **out,
                                   ImgstatError *err);

#endif
