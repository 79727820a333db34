/* SPDX-License-Identifier: MIT */
/* survey.h: what a transfer is made from: the merged record of one image or of many, and, for wide
 * types, order statistics from further reads. */
#ifndef IMGSTAT_SURVEY_H
#define IMGSTAT_SURVEY_H

#include "bands.h"
#include "pass.h"
#include "transfer.h"

typedef struct Survey {
    const ImgstatMethod *method; /* outlives the survey */
    TransferShape shape;         /* of the image that came first */
    ImgstatChannels channels;    /* EACH, JOINT or LUMA */
    uint16_t n_sources;
    Record *record; /* settled: one channel for one source, else those of the images */
    size_t memory;  /* bytes that sorting may take */
    /* once finished */
    MapSource *sources;
    uint64_t *cdf;
    RankTable **ranks;
} Survey;

/* Shape of the page that a decoder has selected. */
TransferShape shape_of_page(const Decoder *decoder);
TransferShape shape_of_image(const ImagePro *image, int16_t alpha);

ImgstatResult survey_create(const ImgstatMethod *method, const TransferShape *shape, size_t memory,
                            Survey **out, ImgstatError *err);
void survey_destroy(Survey *survey); /* accepts NULL */

/* Whether another image can be measured together with the first. */
ImgstatResult survey_check(const Survey *survey, const TransferShape *shape, const char *name,
                           ImgstatError *err);
/* First read: the record of one image, for survey_merge. Any thread; shape: that image's. */
ImgstatResult survey_measure(const Survey *survey, Bands *bands, const TransferShape *shape,
                             Record **out, ImgstatError *err);
void survey_merge(Survey *survey, Record **record); /* takes it over */

/* Whether finishing reads the pixels again. */
bool survey_reads_again(const ImgstatMethod *method, ImgstatSample sample);
/* One further read of one image. */
ImgstatResult survey_pass(const Survey *survey, Bands *bands, const TransferShape *shape,
                          const Pass *pass, ImgstatError *err);
/* reader: reads all images through survey_pass. */
ImgstatResult survey_finish(Survey *survey, Reader reader, ImgstatError *err);

/* All of it for one image. */
ImgstatResult survey_image(const ImgstatMethod *method, Bands *bands, const TransferShape *shape,
                           size_t memory, Survey **out, ImgstatError *err);

/* survey_view.c: one channel of all samples but alpha, sharing memory where that is possible. */
ImgstatResult survey_flat_view(Scratch *scratch, const ImagePro *from, int16_t alpha, ImagePro *out,
                               ImgstatError *err);

#endif
