/* SPDX-License-Identifier: MIT */
/* outputs.h: where the transformed images go. */
#ifndef IMGSTAT_TOOLS_OUTPUTS_H
#define IMGSTAT_TOOLS_OUTPUTS_H

#include "inputs.h"

typedef struct Outputs {
    ImgstatJob *jobs; /* of the inputs that are files */
    size_t n;
    char **paths;  /* owned; what the jobs point to */
    char **groups; /* the same, of the jobs; NULL: none */
} Outputs;

/* Before inputs_collect: an output folder inside an input folder is not walked. */
void outputs_leave_out(Options *options);
/* Plans all outputs; false after a sentence on standard error: two inputs would become one file, or
 * an input would be overwritten. Writes nothing. */
bool outputs_plan(const Options *options, const InputList *inputs, Outputs *out);
/* Makes the folders that are missing, a sentence for each that cannot be made; false if nothing can
 * be written for that. */
bool outputs_make_folders(const Options *options, const Outputs *outputs);
void outputs_release(Outputs *outputs);

#endif
