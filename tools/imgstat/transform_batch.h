/* SPDX-License-Identifier: MIT */
/* transform_batch.h: a batch of the library with the options of normalize, equalize and apply. */
#ifndef IMGSTAT_TOOLS_TRANSFORM_BATCH_H
#define IMGSTAT_TOOLS_TRANSFORM_BATCH_H

#include "transform_report.h"

/* What a batch does. */
typedef struct TransformWork {
    const ImgstatTransfer *given; /* NULL: the options say which is made */
    ImgstatGrouping together;     /* of what is made */
    bool measures;                /* outputs are left out: only the transfer is made */
    const ImgstatPeers *peers;    /* NULL, or those that measure with this process */
    bool silent;                  /* another process reports failures */
    bool (*progress)(void *context, const ImgstatDone *done); /* context: the run */
    ImgstatTransfer **made; /* NULL, or receives the transfer of all */
} TransformWork;

/* Works through run->outputs. A failure of the whole is reported and raises the status; then
 * run->refused says whether that was before any image was begun. */
ImgstatResult transform_batch_run(TransformRun *run, const TransformWork *work);

/* Mistakes with --save-transfer that would show only after all the work. inputs: their number.
 * False after a sentence. */
bool transform_check_saving(const Options *options, size_t inputs, const Outputs *outputs);

/* Saves the transfer that --save-transfer names. transfer: NULL where there is none. */
void transform_save(const TransformRun *run, const ImgstatTransfer *transfer);

#endif
