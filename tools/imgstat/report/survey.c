/* SPDX-License-Identifier: MIT */
/* survey.c: measures all inputs of a survey, or loads the records that they are. */
#include "report/survey.h"
#include "inputs/inputs.h"
#include "measure/record_files.h"
#include "report/thumbnail.h"
#include "text/memory_stream.h"
#include "text/progress.h"
#include "text/status.h"
#include "text/temporary.h"
#include "text/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void release_image(SurveyImage *image)
{
    free(image->name);
    free(image->message);
    free(image->quantile);
}

/* What is known of a job, until its turn. */
typedef struct Found {
    SurveyImage *images; /* n of them */
    size_t n, capacity;
    char *warnings; /* sentences for standard error; NULL: none */
} Found;

typedef struct Run {
    Survey *survey;
    InputList window;
    ImgstatJob *jobs; /* n of them, of the inputs that lead to files */
    size_t *input;    /* of each job */
    Found *found;     /* of each job */
    size_t n, reported;
    InputStream *inputs;
    Progress progress;
} Run;

/* ---- On any thread ------------------------------------------------------------------------- */

static SurveyImage *add_image(Found *found)
{
    found->images = text_room(found->images, found->n, &found->capacity, sizeof *found->images);
    return &found->images[found->n++];
}

static void fail_image(SurveyImage *image, const char *path, ImgstatResult code,
                       const char *sentence)
{
    *image = (SurveyImage){
        .name = text_copy(path), .message = text_copy(sentence), .word = imgstat_result_name(code)};
    for (size_t i = 0; i < N_MEASURES; i++)
        image->measure[i] = (double)__builtin_nan("");
}

static bool on_page(void *context, const ImgstatMeasured *measured)
{
    Run *const run = context;
    const char *const path = run->jobs[measured->job].input;
    SurveyImage *const image = add_image(&run->found[measured->job]);
    if (measured->result == IMGSTAT_OK)
        survey_take(run->survey, measured, path, image);
    else
        fail_image(image, path, measured->result, measured->message);
    return true;
}

static void on_warned(void *context, size_t job, const char *sentence)
{
    Run *const run = context;
    Found *const found = &run->found[job];
    char *all = NULL;
    size_t bytes = 0;
    FILE *const out = memory_stream_open(&all, &bytes);
    fputs(found->warnings != NULL ? found->warnings : "", out);
    text_put_file_warning(out, run->jobs[job].input, sentence);
    memory_stream_close(out);
    free(found->warnings);
    found->warnings = all;
}

/* ---- In order, on the calling thread ---- */

static void release_found(Found *found)
{
    for (size_t i = 0; i < found->n; i++)
        release_image(&found->images[i]);
    free(found->images);
    free(found->warnings);
    *found = (Found){0};
}

static void take_found(Run *run, size_t job, Found *found)
{
    Survey *const survey = run->survey;
    bool failed = false;
    const bool silent = survey->in_pairs; /* the transform reports */
    if (found->warnings != NULL || found->n == 0 || found->images[0].message != NULL)
        progress_clear(&run->progress);
    if (found->warnings != NULL && !survey->options->quiet && !silent)
        fputs(found->warnings, stderr);
    for (size_t i = 0; i < found->n; i++) {
        SurveyImage *const image = &found->images[i];
        image->job = job;
        if (image->message != NULL && !silent)
            fprintf(stderr, "%s\n", image->message);
        failed = failed || image->message != NULL || image->measure[MEASURE_LOST] > 0;
        survey->images =
            text_room(survey->images, survey->n, &survey->capacity, sizeof *survey->images);
        survey->images[survey->n++] = *image;
        survey->empties += image->empty;
    }
    survey->files++;
    survey->failed += failed;
    if (failed && !silent)
        status_raise(STATUS_FAILED);
    found->n = 0; /* they are the survey's */
    release_found(found);
    run->reported++;
    size_t all = run->n;
    const bool known = run->inputs == NULL || inputs_count(run->inputs, &all);
    progress_show(&run->progress, survey->files, known ? all : 0);
}

/* The inputs before that one lead to no file. */
static void report_problems(Run *run, size_t before)
{
    while (run->reported < before) {
        const Input *const input = &run->window.items[run->reported];
        Found found = {0};
        fail_image(add_image(&found), input->path, IMGSTAT_ERR_IO, input->problem);
        found.images[0].empty = input->empty;
        take_found(run, 0, &found);
    }
}

static bool on_done(void *context, const ImgstatDone *done)
{
    Run *const run = context;
    if (run->input != NULL)
        report_problems(run, run->input[done->job]);
    take_found(run, done->job, &run->found[done->job]);
    return status_interrupted() == 0;
}

static void begin_window(Run *run)
{
    run->n = run->reported = 0;
    free(run->jobs);
    free(run->input);
    free(run->found);
    run->jobs = text_alloc(run->window.n * sizeof *run->jobs);
    run->input = text_alloc(run->window.n * sizeof *run->input);
    run->found = text_alloc(run->window.n * sizeof *run->found);
    for (size_t i = 0; i < run->window.n; i++) {
        if (run->window.items[i].problem != NULL)
            continue;
        run->jobs[run->n] = input_job(&run->window.items[i]);
        run->found[run->n] = (Found){0};
        run->input[run->n++] = i;
    }
}

/* Measures the jobs. */
static bool measure_batch(Run *run)
{
    const Options *const o = run->survey->options;
    const ImgstatMeasure how = {.percentiles = survey_percentiles,
                                .n_percentiles = N_PLACES,
                                .median = true,
                                .histogram = true,
                                .hash = true,
                                .clipped = true,
                                .preview = run->survey->previews != NULL ? THUMBNAIL_SIDE : 0};
    const ImgstatMeasureBatch batch = {.how = &how,
                                       .open = options_open(o),
                                       .by = IMGSTAT_BY_PAGE,
                                       .threads = o->jobs,
                                       .page = on_page,
                                       .warned = on_warned,
                                       .progress = on_done,
                                       .context = run};
    ImgstatError error;
    const ImgstatResult result = imgstat_batch_measure(&batch, run->jobs, run->n, &error);
    if (result == IMGSTAT_OK && status_interrupted() == 0)
        return true;
    if (result != IMGSTAT_OK) {
        progress_clear(&run->progress);
        fprintf(stderr, "%s: %s\n", o->command, error.message);
        status_raise(STATUS_FAILED);
    }
    return false;
}

/* A file for thumbnails, if the page has some. */
static bool begin_previews(Survey *survey)
{
    const Options *const o = survey->options;
    if (o->report == NULL || (o->has_thumbs && o->thumbs == 0))
        return true;
    survey->previews = temporary_stream();
    if (survey->previews == NULL) {
        const int cause = errno;
        char *const folder = text_display(temporary_folder());
        fprintf(stderr, "%s: a temporary file for thumbnails in %s: %s\n", o->command, folder,
                strerror(cause));
        free(folder);
        status_raise(STATUS_FAILED);
    }
    return survey->previews != NULL;
}

static void end_run(Run *run)
{
    progress_clear(&run->progress);
    for (size_t i = 0; i < run->n; i++) /* jobs that nobody has reported */
        release_found(&run->found[i]);
    free(run->jobs);
    free(run->input);
    free(run->found);
    inputs_release(&run->window);
    inputs_close(run->inputs);
}

bool survey_measure(Survey *survey)
{
    const Options *const o = survey->options;
    Run run = {.survey = survey};
    if (!begin_previews(survey))
        return false;
    run.inputs = inputs_open(o, (InputPart){0}, true);
    run.progress = progress_begin("measured ", 2, o->quiet);
    bool good = true;
    while (good && inputs_next(run.inputs, &run.window)) {
        begin_window(&run);
        good = measure_batch(&run);
        if (good)
            report_problems(&run, run.window.n);
    }
    end_run(&run);
    if (good && survey->files > 1 && survey->failed > 0)
        fprintf(stderr, "%llu measured, %llu failed\n",
                (unsigned long long)(survey->files - survey->failed),
                (unsigned long long)survey->failed);
    return good;
}

bool survey_measure_jobs(Survey *survey, const ImgstatJob *jobs, size_t n)
{
    Run run = {.survey = survey, .n = n};
    if (!begin_previews(survey))
        return false;
    run.jobs = text_alloc((n + 1) * sizeof *run.jobs);
    run.found = text_alloc((n + 1) * sizeof *run.found);
    for (size_t i = 0; i < n; i++) {
        run.jobs[i] =
            (ImgstatJob){.input = jobs[i].input, .source = jobs[i].source, .pages = jobs[i].pages};
        run.found[i] = (Found){0};
    }
    run.progress = progress_begin("measured ", n, survey->options->quiet);
    const bool good = measure_batch(&run);
    end_run(&run);
    return good;
}

/* The images of a job are in one order in both. */
void survey_pair(Survey *before, Survey *after)
{
    size_t k = 0;
    after->before = before;
    for (size_t i = 0; i < after->n; i++) {
        SurveyImage *const image = &after->images[i];
        while (k < before->n && before->images[k].job < image->job)
            k++;
        if (k < before->n && before->images[k].job == image->job)
            image->before = &before->images[k++];
    }
}

/* ---- Records ---- */

/* Adds the records of a data set as kinds, and its failures as images. */
static void add_dataset(Survey *survey, ImgstatDataset *dataset)
{
    SurveyKind **end = &survey->kinds;
    ImgstatRecord *record;
    for (size_t i = 0; (record = imgstat_dataset_record(dataset, i)) != NULL; i++) {
        SurveyKind *const kind = text_alloc(sizeof *kind);
        *kind =
            (SurveyKind){.first = i, .number = i, .group = text_copy(imgstat_record_group(record))};
        survey_begin_kind(kind, record);
        ImgstatError error;
        if (imgstat_record_merge(kind->record, record, &error) != IMGSTAT_OK)
            text_no_memory();
        *end = kind;
        end = &kind->next;
        survey->n_kinds++;
    }
    ImgstatAccount account;
    imgstat_dataset_account(dataset, &account);
    survey->files = account.files;
    survey->merged = account.pages;
    survey->failed = account.failed;
    for (size_t i = 0; i < account.n_failures; i++) {
        survey->images =
            text_room(survey->images, survey->n, &survey->capacity, sizeof *survey->images);
        fail_image(&survey->images[survey->n++], account.failures[i].name, account.failures[i].code,
                   account.failures[i].message);
    }
}

bool survey_load(Survey *survey)
{
    ImgstatDataset *const dataset = record_files_merge(survey->options);
    if (dataset == NULL)
        return false;
    add_dataset(survey, dataset);
    imgstat_dataset_destroy(dataset);
    return true;
}

/* ---- The end ---- */

static void release_kind(SurveyKind *kind)
{
    imgstat_record_destroy(kind->record);
    free(kind->group);
    free(kind->quantile);
    free(kind);
}

void survey_release(Survey *survey)
{
    for (size_t i = 0; i < survey->n; i++)
        release_image(&survey->images[i]);
    free(survey->images);
    for (SurveyKind *kind = survey->kinds, *next; kind != NULL; kind = next) {
        next = kind->next;
        release_kind(kind);
    }
    if (survey->previews != NULL)
        fclose(survey->previews);
    pthread_mutex_destroy(&survey->lock);
}
