/* SPDX-License-Identifier: MIT */
/* feeding.h: some workers bring compressed files to a device, which decodes and counts many at a
 * time. The others decode files on the processor meanwhile, and before the device is open. All take
 * jobs from one queue, and use no more threads at a time than a batch without a device. */
#ifndef IMGSTAT_BATCH_FEEDING_H
#define IMGSTAT_BATCH_FEEDING_H

#include "batch/measure_job.h"

typedef struct Feeding Feeding;

/* Whether a device may decode the page that is selected: it may refuse or doubt it. */
bool feeding_decodes(const Decoder *decoder);

/* Whether a device is of use for so many pages, of which it decodes `fed`, with so many bytes. */
bool feeding_is_worthwhile(double pages, double fed, double bytes);

/* Begins to open the device of a batch. *out becomes NULL if its files are too few, or not such as
 * a device decodes, or the batch has several devices or none: then workers open devices. */
ImgstatResult feeding_create(MeasureRun *run, Feeding **out, ImgstatError *err);

/* Closes the device. Accepts NULL. */
void feeding_destroy(Feeding *feeding);

/* Completes the description of a batch, whose `open`, `takes`, `ring` and sizes are the feeding's.
 */
void feeding_order(Feeding *feeding, InOrder *order, size_t ahead);

/* Opens the first worker. */
ImgstatResult feeding_open_first(Feeding *feeding, MeasureWorker *worker, ImgstatError *err);

/* Opens the worker of any other thread. */
void feeding_open_worker(Feeding *feeding, MeasureWorker *worker);

/* Releases what a worker has of the device. feeding: NULL: it has none. */
void feeding_close_worker(Feeding *feeding, MeasureWorker *worker);

/* Whether a worker takes one of so many jobs that are left. */
bool feeding_takes(Feeding *feeding, const MeasureWorker *worker, size_t left);

/* Does a job; a worker that feeds takes more jobs, and does them as well. */
void feeding_work(Feeding *feeding, MeasureWorker *worker, size_t job, Outcome *outcome);

/* Waits until the device has been opened. Fails if it could not be, and nothing takes its place. */
ImgstatResult feeding_opened(Feeding *feeding, ImgstatError *err);

#endif
