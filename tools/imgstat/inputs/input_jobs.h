/* SPDX-License-Identifier: MIT */
/* input_jobs.h: the inputs of a command as a stream of jobs of the library. */
#ifndef IMGSTAT_TOOLS_INPUTS_INPUT_JOBS_H
#define IMGSTAT_TOOLS_INPUTS_INPUT_JOBS_H

#include "inputs/inputs.h"

typedef struct InputJobs InputJobs;

/* Creates the jobs of a part of the inputs. first: the stream of the inputs, whose first window was
 * read. */
InputJobs *input_jobs_create(const Options *options, InputPart part, InputStream *first,
                             InputList *window);
void input_jobs_destroy(InputJobs *jobs); /* accepts NULL */

/* Gives the next job and its input, which the caller releases when the job is done. The group of
 * the job is the one that --by group names, valid until the next call. An input that leads to no
 * file is a job that fails for that reason. Only one thread may call this at a time. */
bool input_jobs_next(InputJobs *jobs, ImgstatJob *out, Input *input);
/* Makes the first job the next one again. Returns false if standard input is among the names. */
bool input_jobs_restart(InputJobs *jobs);

/* Gives the number of jobs. Returns false if it is not known. */
bool input_jobs_count(const InputJobs *jobs, size_t *n);
/* Returns how many names of the first pass do not match the expression of --by group, and gives one
 * of them. */
size_t input_jobs_unmatched(const InputJobs *jobs, const char **name);

#endif
