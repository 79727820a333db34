/* SPDX-License-Identifier: MIT */
/* outputs.h: where transformed images are written. */
#ifndef IMGSTAT_TOOLS_TRANSFORM_OUTPUTS_H
#define IMGSTAT_TOOLS_TRANSFORM_OUTPUTS_H

#include "inputs/inputs.h"

typedef struct Outputs {
    ImgstatJob *jobs; /* jobs of the inputs that are files */
    size_t n;
    char **paths;  /* owned; texts that the jobs point to */
    char **groups; /* owned; groups of the jobs; NULL: none */
    char **made;   /* owned; n_made folders that were missing, each behind what it lies in */
    size_t n_made, made_capacity;
} Outputs;

/* Excludes an output folder inside an input folder from the walk. Call it before inputs_collect. */
void outputs_leave_out(Options *options);
/* Plans all outputs, and writes nothing. Returns false, after a sentence on standard error, if two
 * inputs would become one file, or an input would be overwritten. */
bool outputs_plan(const Options *options, const InputList *inputs, Outputs *out);
/* Creates missing folders, with a sentence for each failure. Returns false if nothing can be
 * written. */
bool outputs_make_folders(const Options *options, Outputs *outputs);
/* Removes those of the created folders that are empty. */
void outputs_remove_folders(const Outputs *outputs);
void outputs_release(Outputs *outputs);

#endif
