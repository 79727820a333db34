/* SPDX-License-Identifier: MIT */
/* measure_batch.h: measures the jobs of a queue, for a program or into a data set. */
#ifndef IMGSTAT_BATCH_MEASURE_BATCH_H
#define IMGSTAT_BATCH_MEASURE_BATCH_H

#include "batch/in_order.h"
#include "batch/job_queue.h"
#include "codec/page_list.h"

/* Divides the threads among n files that are measured, as far as there is memory for them. */
ThreadShare measure_share(const ImgstatMeasureBatch *batch, size_t n);

/* Returns how the files of a batch are opened. */
ImgstatOpen measure_open(const ImgstatMeasureBatch *batch);

/* Where a device decodes, so many outcomes wait for the report of an earlier job: what the
 * processor does while it opens, and all that is in its batches. And so many jobs of a stream are
 * known before they begin. */
enum { FED_AHEAD = 8192 };

/* Opens a stream of jobs, and divides the threads among them. held: jobs that are ahead or wait for
 * the report of an earlier job; 0: a few for each worker. job_queue_close closes it. */
ImgstatResult measure_open_stream(const ImgstatJobStream *stream, const ImgstatMeasureBatch *batch,
                                  size_t held, JobQueue *queue, ThreadShare *share,
                                  ImgstatError *err);

/* Measures jobs. into: NULL, or what the records of pages are added to; batch->page is optional
 * then, and batch->how asks for records that merge. */
ImgstatResult measure_queue(const ImgstatMeasureBatch *batch, JobQueue *jobs, ThreadShare share,
                            ImgstatDataset *into, ImgstatError *err);

/* Does so with a stream. */
ImgstatResult measure_stream(const ImgstatMeasureBatch *batch, const ImgstatJobStream *stream,
                             ImgstatDataset *into, ImgstatError *err);

/* Makes the name of the group of a data set that a page belongs to. NULL: that of its job. */
ImgstatResult measure_group_name(ImgstatGrouping by, const ImgstatJob *job, const PageList *list,
                                 uint32_t page, char **out, ImgstatError *err);

/* Whether the program has cancelled the batch. */
bool measure_cancelled(const ImgstatMeasureBatch *batch);

#endif
