/* SPDX-License-Identifier: MIT */
/* report.h: messages of normalize, equalize and apply about their work. */
#ifndef IMGSTAT_TOOLS_TRANSFORM_REPORT_H
#define IMGSTAT_TOOLS_TRANSFORM_REPORT_H

#include "text/progress.h"
#include "text/sentences.h"
#include "transform/outputs.h"
#include "transform/page.h"

/* A run of one of these commands, so far. */
typedef struct TransformRun {
    const Options *options;
    const Outputs *outputs;
    Progress progress;
    size_t written, failed, skipped;
    size_t unwritten;       /* failed ones whose output cannot be written */
    size_t measured;        /* inputs measured for --together */
    ImgstatClamped clamped; /* sum over all outputs, if pages are described */
    bool refused;           /* nothing is written: outputs that exist have another transfer */
    const char *reference;  /* path of --match, or NULL */
    Sentences of_reference; /* its warnings, which were printed */
    Sentences warnings;     /* for --json: warnings about the job that is reported next */
    TransformPage *page;    /* NULL, or the page of --report, which notes each job */
} TransformRun;

/* Whether a job is done before it begins. */
bool transform_is_skipped(const TransformOptions *transform, const ImgstatJob *job);

/* Callbacks of ImgstatBatch; context: a TransformRun. */
void transform_on_warning(void *context, const char *sentence);
void transform_on_measuring(void *context, size_t measured);
bool transform_on_done(void *context, const ImgstatDone *done);

/* Prints a job of --dry-run, or why its file would fail. misfit: an error that names no file. */
void transform_report_plan(const TransformRun *run, const ImgstatJob *job, bool exists);
void transform_report_failure(const TransformRun *run, const char *input, bool misfit,
                              const ImgstatError *error);

/* Prints why inputs lead to no file. Returns their number. */
size_t transform_report_problems(const Options *options, const InputList *inputs);

/* Prints the last line: "118 written, 2 failed". total: inputs. */
void transform_report_end(TransformRun *run, size_t total);

#endif
