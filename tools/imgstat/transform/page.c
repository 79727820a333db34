/* SPDX-License-Identifier: MIT */
/* page.c: surveys inputs and outputs, in pairs. */
#include "transform/page.h"
#include "plot/file.h"
#include "report/survey.h"
#include "text/status.h"
#include "text/text.h"

#include <stdlib.h>

typedef enum JobState { JOB_LEFT, JOB_DONE, JOB_FAILED } JobState;

struct TransformPage {
    Survey before, after;
    JobState *states; /* one for each job */
};

static void destroy(TransformPage *page)
{
    survey_release(&page->before);
    survey_release(&page->after);
    free(page->states);
    free(page);
}

TransformPage *transform_page_begin(const Options *o, const Outputs *outputs)
{
    if (!plot_file_check(o->report, o->transform.write.replace))
        return NULL;
    for (size_t i = 0; i < outputs->n; i++)
        if (!input_is_readable_again(&outputs->jobs[i])) {
            fprintf(stderr, "%s: --report reads inputs twice, which pipes cannot be\n", o->command);
            status_raise(STATUS_USAGE);
            return NULL;
        }
    TransformPage *const page = text_alloc(sizeof *page);
    page->states = text_alloc((outputs->n + 1) * sizeof *page->states);
    for (size_t i = 0; i < outputs->n; i++)
        page->states[i] = JOB_LEFT;
    (void)survey_begin(o, &page->before); /* there is no --fail-on that could be wrong */
    (void)survey_begin(o, &page->after);
    page->before.in_pairs = page->after.in_pairs = true;
    if (survey_measure_jobs(&page->before, outputs->jobs, outputs->n))
        return page;
    destroy(page);
    return NULL;
}

/* Measures the outputs that exist, or should. */
static bool measure_outputs(TransformPage *page, const Outputs *outputs)
{
    ImgstatJob *const jobs = text_alloc((outputs->n + 1) * sizeof *jobs);
    size_t *const place = text_alloc((outputs->n + 1) * sizeof *place), n = 0;
    for (size_t i = 0; i < outputs->n; i++)
        if (page->states[i] == JOB_DONE || input_is_file(outputs->jobs[i].output)) {
            place[n] = i;
            jobs[n++] = (ImgstatJob){.input = outputs->jobs[i].output};
        }
    const bool good = survey_measure_jobs(&page->after, jobs, n);
    for (size_t i = 0; i < page->after.n; i++)
        page->after.images[i].job = place[page->after.images[i].job];
    free(place);
    free(jobs);
    return good;
}

void transform_page_note(TransformPage *page, size_t job, bool failed)
{
    page->states[job] = failed ? JOB_FAILED : JOB_DONE;
}

/* What the transform has not said. */
static void report_failures(const TransformPage *page, const Survey *survey)
{
    for (size_t i = 0; i < survey->n; i++) {
        const SurveyImage *const image = &survey->images[i];
        if (image->message == NULL || page->states[image->job] == JOB_FAILED)
            continue;
        fprintf(stderr, "%s\n", image->message);
        status_raise(STATUS_FAILED);
    }
}

void transform_page_end(TransformPage *page, const Outputs *outputs)
{
    bool good = measure_outputs(page, outputs);
    report_failures(page, &page->before);
    report_failures(page, &page->after);
    survey_pair(&page->before, &page->after);
    good = good && survey_finish(&page->before) && survey_finish(&page->after) &&
           survey_write(&page->after);
    if (!good)
        status_raise(STATUS_FAILED);
    destroy(page);
}
