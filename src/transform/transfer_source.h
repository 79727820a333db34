/* SPDX-License-Identifier: MIT */
/* transfer_source.h: the input of a transfer: the merged record of one image or of many, and for
 * wide types order statistics from further reads. */
#ifndef IMGSTAT_TRANSFORM_TRANSFER_SOURCE_H
#define IMGSTAT_TRANSFORM_TRANSFER_SOURCE_H

#include "device/read_request.h"
#include "measure/page_reader.h"
#include "transfer/transfer.h"

typedef struct TransferInput {
    const ImgstatMethod *method; /* outlives the input */
    TransferShape shape;         /* of the first image */
    ImgstatChannels channels;    /* EACH, JOINT or LUMA */
    uint16_t n_sources;
    Record *record; /* finalized; one channel for one source, else those of the images */
    size_t memory;  /* bytes that sorting may take */
    /* by transfer_input_finish: */
    MapSource *sources;
    uint64_t *cdf;
    RankTable **ranks;
} TransferInput;

/* Returns the shape of the page that a decoder has selected. */
TransferShape shape_of_page(const Decoder *decoder);

/* Returns the shape of images of a kind. */
TransferShape shape_of_kind(const ImgstatKind *kind);

/* A page as an estimate of memory sees it. */
typedef struct PageToMeasure {
    uint32_t width, height;
    TransferShape shape;
    uint64_t band_bytes; /* of a least band */
    uint64_t held_bytes; /* by its decoder */
} PageToMeasure;

/* Describes the page that a decoder has selected. */
PageToMeasure page_to_measure(const Decoder *decoder);

/* Returns the shape of an image. alpha: -1 for none. */
TransferShape shape_of_image(const ImagePro *image, int16_t alpha);

/* The same, with the hole that a method's output has. */
TransferShape shape_of_input(const ImgstatMethod *method, const ImagePro *image, int16_t alpha);

/* Creates the input of a transfer for images of a shape. memory: bytes that sorting may take. */
ImgstatResult transfer_input_create(const ImgstatMethod *method, const TransferShape *shape,
                                    size_t memory, TransferInput **out, ImgstatError *err);

/* Accepts NULL. */
void transfer_input_destroy(TransferInput *input);

/* Checks that another image can be measured together with the first. name: of its file. */
ImgstatResult transfer_shapes_check(const ImgstatMethod *method, const TransferShape *first,
                                    const TransferShape *shape, const char *name,
                                    ImgstatError *err);

/* Makes the record of one image in the first read. shape: of that image. Any thread. */
ImgstatResult transfer_input_measure(const TransferInput *input, PageReader *reader,
                                     const TransferShape *shape, Record **out, ImgstatError *err);

/* Merges the record of an image, which becomes the input's. */
void transfer_input_merge(TransferInput *input, Record **record);

/* Whether transfer_input_finish reads the pixels again. */
bool transfer_input_reads_again(const ImgstatMethod *method, ImgstatSample sample);

/* Reads one image again. */
ImgstatResult transfer_input_read(const TransferInput *input, PageReader *reader,
                                  const TransferShape *shape, const ReadRequest *request,
                                  ImgstatError *err);

/* Completes the sources once all records are merged. reads: reads all images again, through
 * transfer_input_read. */
ImgstatResult transfer_input_finish(TransferInput *input, FurtherReads reads, ImgstatError *err);

/* Creates the complete input of a transfer from one image. */
ImgstatResult transfer_input_image(const ImgstatMethod *method, PageReader *reader,
                                   const TransferShape *shape, size_t memory, TransferInput **out,
                                   ImgstatError *err);

#endif
