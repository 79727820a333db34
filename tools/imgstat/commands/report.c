/* SPDX-License-Identifier: MIT */
/* report.c: report: a page about a set of images, their flags as JSON, and a status for CI. */
#include "commands/commands.h"
#include "plot/file.h"
#include "report/survey.h"
#include "text/status.h"

#include <string.h>

/* For people: how many images have each flag. */
static void print_counts(const Survey *survey)
{
    const size_t images = survey_images(survey);
    printf("%zu image%s\n", images, images == 1 ? "" : "s");
    for (size_t k = 0; k < N_FLAGS; k++) {
        const size_t n = survey_count(survey, k);
        if (n > 0)
            printf("%8zu  %s\n", n, flag_table[k].name);
    }
}

static void report(Survey *survey)
{
    const Options *const o = survey->options;
    if (o->report != NULL && !plot_file_check(o->report, o->force))
        return;
    if (o->report != NULL && strcmp(o->report, "-") != 0)
        status_outlive_readers();
    const bool measured = o->records ? survey_load(survey) : survey_measure(survey);
    if (!measured || !survey_finish(survey)) {
        status_raise(STATUS_FAILED);
        return;
    }
    if (o->report != NULL && !survey_write(survey))
        status_raise(STATUS_FAILED);
    if (o->style == OUTPUT_JSON)
        survey_json(survey, stdout);
    else if (o->report == NULL || strcmp(o->report, "-") != 0)
        print_counts(survey);
    for (size_t k = 0; k < N_FLAGS; k++)
        if ((survey->failing >> k & 1) && survey_count(survey, k) > 0)
            status_raise(STATUS_FAILED);
}

void cmd_report(Options *options)
{
    Survey survey;
    if (survey_begin(options, &survey))
        report(&survey);
    else
        status_raise(STATUS_USAGE);
    survey_release(&survey);
}
