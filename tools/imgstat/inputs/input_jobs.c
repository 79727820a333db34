/* SPDX-License-Identifier: MIT */
/* input_jobs.c: takes inputs of the first window, then one by one, and groups off their names. */
#include "inputs/input_jobs.h"
#include "inputs/failed_input.h"
#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Why an input leads to no file. */
typedef struct Problem {
    struct Problem *next;
    FailedInput failed;
    ImgstatInput input;
} Problem;

struct InputJobs {
    const Options *options;
    InputPart part;
    InputStream *stream; /* where inputs come from: the caller's stream in the first pass ... */
    InputStream *own;    /* ... and this one, made anew, in each later pass */
    InputList *window;
    size_t at;         /* the index in the window of the input that comes next */
    bool again;        /* this is a later pass */
    char *group;       /* the group of the latest job */
    Problem *problems; /* all so far: a thread may still be opening one */
    size_t unmatched;
    char *unmatched_name;
};

InputJobs *input_jobs_create(const Options *options, InputPart part, InputStream *first,
                             InputList *window)
{
    InputJobs *const jobs = text_alloc(sizeof *jobs);
    *jobs = (InputJobs){.options = options, .part = part, .stream = first, .window = window};
    return jobs;
}

void input_jobs_destroy(InputJobs *jobs)
{
    if (jobs == NULL)
        return;
    while (jobs->problems != NULL) {
        Problem *const problem = jobs->problems;
        jobs->problems = problem->next;
        free(problem->failed.cause);
        free(problem);
    }
    inputs_close(jobs->own);
    free(jobs->group);
    free(jobs->unmatched_name);
    free(jobs);
}

static const ImgstatInput *input_of_problem(InputJobs *jobs, const Input *input)
{
    Problem *const problem = text_alloc(sizeof *problem);
    char *const name = text_display(input->path);
    *problem = (Problem){
        .next = jobs->problems,
        .failed = {.code = IMGSTAT_ERR_IO, .cause = text_copy(text_cause(input->problem, name))}};
    problem->input = failed_input_source(&problem->failed);
    jobs->problems = problem;
    free(name);
    return &problem->input;
}

static const char *group_of(InputJobs *jobs, const char *name)
{
    free(jobs->group);
    jobs->group = group_name_of(&jobs->options->group, name);
    if (jobs->group == NULL && !jobs->again && jobs->unmatched++ == 0)
        jobs->unmatched_name = text_copy(name);
    return jobs->group;
}

bool input_jobs_next(InputJobs *jobs, ImgstatJob *out, Input *input)
{
    if (jobs->at < jobs->window->n) {
        Input *const item = &jobs->window->items[jobs->at++];
        *input = *item;
        *item = (Input){0};
    } else if (!inputs_next_one(jobs->stream, input)) {
        return false;
    }
    *out = input_job(input);
    if (input->problem != NULL)
        out->source = input_of_problem(jobs, input);
    if (jobs->options->group.text != NULL)
        out->group = group_of(jobs, input->path);
    return true;
}

bool input_jobs_restart(InputJobs *jobs)
{
    const Options *const o = jobs->options;
    for (size_t i = 0; i < o->n_names; i++)
        if (option_is_standard_input(o->names[i]))
            return false;
    if (o->list_standard != NULL)
        return false;
    inputs_close(jobs->own);
    jobs->own = jobs->stream = inputs_open(o, jobs->part, false);
    inputs_release(jobs->window);
    jobs->at = 0;
    jobs->again = true;
    return true;
}

bool input_jobs_count(const InputJobs *jobs, size_t *n)
{
    return inputs_count(jobs->stream, n);
}

size_t input_jobs_unmatched(const InputJobs *jobs, const char **name)
{
    *name = jobs->unmatched_name;
    return jobs->unmatched;
}
