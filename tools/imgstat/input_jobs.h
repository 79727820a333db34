/* SPDX-License-Identifier: MIT */
/* input_jobs.h: the inputs of a command as a stream of jobs of the library. */
#ifndef IMGSTAT_TOOLS_INPUT_JOBS_H
#define IMGSTAT_TOOLS_INPUT_JOBS_H

#include "inputs.h"

typedef struct InputJobs InputJobs;

/* first: the stream of the inputs, whose first window is read already. */
InputJobs *input_jobs_create(const Options *options, InputPart part, InputStream *first,
                             InputList *window);
void input_jobs_destroy(InputJobs *jobs); /* accepts NULL */

/* The next job, and the input that it is of, which the caller releases when the job is done. Its
 * group is the one that --by group names, valid until the next call. An input that leads to no file
 * is a job that fails for that reason. Not by several threads at once. */
bool input_jobs_next(InputJobs *jobs, ImgstatJob *out, Input *input);
/* The first job is the next one again. False: standard input is among the names. */
bool input_jobs_restart(InputJobs *jobs);

/* The number of jobs, where it is known. */
bool input_jobs_count(const InputJobs *jobs, size_t *n);
/* How many names of the first pass do not match the expression of --by group, and one of them. */
size_t input_jobs_unmatched(const InputJobs *jobs, const char **name);

#endif
