/* SPDX-License-Identifier: MIT */
/* transform_report.h: what normalize, equalize and apply print about their work. */
#ifndef IMGSTAT_TOOLS_TRANSFORM_REPORT_H
#define IMGSTAT_TOOLS_TRANSFORM_REPORT_H

#include "outputs.h"
#include "progress.h"
#include "sentences.h"

/* A run of one of these commands, so far. */
typedef struct TransformRun {
    const Options *options;
    const Outputs *outputs;
    Progress progress;
    size_t written, failed, skipped;
    size_t measured;        /* of --together */
    ImgstatClamped clamped; /* of all that is written, where pages are described */
    bool refused;           /* nothing is written: outputs that exist have another transfer */
    Sentences warnings;     /* for --json: about the job that is reported next */
} TransformRun;

/* Whether a job is done before it begins. */
bool transform_is_skipped(const TransformOptions *transform, const ImgstatJob *job);

/* Callbacks of ImgstatBatch; context: a TransformRun. */
void transform_on_warning(void *context, const char *sentence);
void transform_on_measuring(void *context, size_t measured);
bool transform_on_done(void *context, const ImgstatDone *done);

/* For --dry-run: prints a job, or why a file would fail. misfit: error names no file. */
void transform_report_plan(const TransformRun *run, const ImgstatJob *job, bool exists);
void transform_report_failure(const TransformRun *run, const char *input, bool misfit,
                              const ImgstatError *error);

/* Prints why inputs lead to no file. Returns how many there are. */
size_t transform_report_problems(const Options *options, const InputList *inputs);

/* Prints the last line: "118 written, 2 failed". total: inputs. */
void transform_report_end(TransformRun *run, size_t total);

#endif
