/* SPDX-License-Identifier: MIT */
/* batch.h: a batch of the library with the options of normalize, equalize and apply. */
#ifndef IMGSTAT_TOOLS_TRANSFORM_BATCH_H
#define IMGSTAT_TOOLS_TRANSFORM_BATCH_H

#include "transform/report.h"

/* What a batch does. */
typedef struct TransformWork {
    const ImgstatTransfer *given; /* transfer to apply; NULL: the options say which is made */
    ImgstatGrouping together;     /* grouping of the transfers that are made */
    bool measures;                /* only the transfer is made, no outputs */
    bool mapped_later;            /* warnings about inputs come when these are mapped */
    const ImgstatPeers *peers;    /* NULL, or the processes that measure together */
    bool silent;                  /* another process reports failures */
    bool (*progress)(void *context, const ImgstatDone *done); /* context: the run */
    ImgstatTransfer **made; /* NULL, or receives the transfer of all */
} TransformWork;

/* Works through run->outputs. A failure of the whole is reported and raises the status; then
 * run->refused says whether it came before any image was begun. */
ImgstatResult transform_batch_run(TransformRun *run, const TransformWork *work);

/* Checks --save-transfer for mistakes that would show only after all the work. inputs: their
 * number. Returns false after a sentence. */
bool transform_check_saving(const Options *options, size_t inputs, const Outputs *outputs);

/* Saves a transfer as --save-transfer says. transfer: NULL if there is none. */
void transform_save(const TransformRun *run, const ImgstatTransfer *transfer);

#endif
