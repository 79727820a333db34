/* SPDX-License-Identifier: MIT */
/* dataset.c: data sets from measuring to printing. */
#include "measure/dataset.h"
#include "measure/measure_dataset.h"
#include "measure/record_files.h"
#include "plot/file.h"
#include "text/status.h"
#include "text/text.h"

#include <stdlib.h>
#include <string.h>

static bool print_record(const Options *o, const ImgstatRecord *record, MergedImages *merged,
                         const DatasetPrint *print)
{
    static const Sentences none = {0};
    imgstat_record_kind(record, &merged->kind);
    imgstat_record_images(record, &merged->files, &merged->pages);
    merged->group = imgstat_record_group(record);
    const ImgstatKind *const kind = &merged->kind;
    const ImgstatPage page = {.format = "",
                              .photometric = kind->photometric,
                              .pages = 1,
                              .channels = kind->channels,
                              .sample = kind->sample,
                              .bits = kind->bits,
                              .alpha = kind->alpha};
    const Report report = {.options = o,
                           .name = merged->group,
                           .device = "null",
                           .page = &page,
                           .by = IMGSTAT_BY_ALL,
                           .record = record,
                           .merged = merged,
                           .warnings = &none};
    return print->print(print->context, &report);
}

void dataset_print(const Options *o, ImgstatDataset *dataset, const DatasetPrint *print)
{
    const size_t n = imgstat_dataset_records(dataset);
    ImgstatAccount account;
    imgstat_dataset_account(dataset, &account);
    MergedImages merged = {.failed = account.failed,
                           .all_files = account.files,
                           .all_pages = account.pages,
                           .several = n > 1,
                           .first = true};
    bool good = true;
    if (n > 1 && o->plot != NULL) {
        fprintf(stderr, "%s: --plot draws one histogram, and these images make %zu\n", o->command,
                n);
        status_raise(STATUS_FAILED);
        return;
    }
    for (size_t i = 0; good && i < n; i++, merged.first = false)
        good = print_record(o, imgstat_dataset_record(dataset, i), &merged, print);
    status_flush_stdout();
    if (!good)
        status_raise(STATUS_FAILED);
}

bool dataset_check_saving(const Options *o)
{
    return (o->save_record == NULL || plot_file_check(o->save_record, o->force)) &&
           (o->plot == NULL || plot_file_check(o->plot, o->force));
}

void dataset_save(const Options *o, ImgstatDataset *dataset)
{
    ImgstatError error;
    if (o->save_record == NULL ||
        imgstat_dataset_save(dataset, o->save_record, o->force, &error) == IMGSTAT_OK)
        return;
    fprintf(stderr, "%s\n", error.message);
    status_raise(STATUS_FAILED);
}

/* A part of the inputs is a shard of all: it merges once with the others. */
static bool name_shard(const Options *o, const InputPart *part, ImgstatDataset *dataset)
{
    ImgstatError error;
    if (part->parts == 0 || imgstat_dataset_set_shard(dataset, part->part - 1, part->parts,
                                                      part->set, &error) == IMGSTAT_OK)
        return true;
    fprintf(stderr, "%s: %s\n", o->command, error.message);
    status_raise(STATUS_FAILED);
    return false;
}

void dataset_of_images(PartRun *run, InputList *window, const DatasetPrint *print)
{
    const Options *const o = run->options;
    ImgstatDataset *dataset = NULL;
    ImgstatError error;
    if (!run->measured && !run->captured && !dataset_check_saving(o))
        return;
    if (run->into != NULL && !run->measured) {
        (void)measure_dataset(run, window, NULL, run->into);
        return;
    }
    if (run->follows) {
        (void)measure_dataset(run, window, print->how, run->into);
        return;
    }
    if (run->measured)
        dataset = run->into;
    else if (imgstat_dataset_create(&dataset, &error) != IMGSTAT_OK)
        text_no_memory();
    status_catch_gently();
    if (o->save_record != NULL && strcmp(o->save_record, "-") != 0)
        status_outlive_readers();
    if (measure_dataset(run, window, print->how, dataset) &&
        (run->measured || name_shard(o, &run->part, dataset))) {
        dataset_save(o, dataset);
        if (o->save_record == NULL || strcmp(o->save_record, "-") != 0)
            dataset_print(o, dataset, print);
        if (run->summarizes && run->failed > 0 && run->done + run->failed > 1)
            fprintf(stderr, "%zu measured, %zu failed\n", run->done, run->failed);
    }
    if (status_interrupted() != 0)
        status_raise(128 + status_interrupted());
    if (!run->measured)
        imgstat_dataset_destroy(dataset);
}

/* What no record of wider types has, although it is asked for. */
static const char *asks_pixels(const Options *o)
{
    if (o->shape)
        return "skewness and kurtosis";
    if (o->bins > 0 || o->has_range || o->histogram || o->cdf)
        return "histogram";
    return NULL;
}

/* False after a sentence: a record lacks what is asked for. */
static bool check_pixels(const Options *o, ImgstatDataset *dataset)
{
    const char *const asked = asks_pixels(o);
    ImgstatRecord *record;
    for (size_t i = 0; asked != NULL && (record = imgstat_dataset_record(dataset, i)) != NULL;
         i++) {
        ImgstatKind kind;
        imgstat_record_kind(record, &kind);
        if (imgstat_sample_bytes(kind.sample) <= 2)
            continue;
        fprintf(stderr, "%s: records of %s samples do not have the %s: that takes the pixels\n",
                o->command, imgstat_sample_name(kind.sample), asked);
        status_raise(STATUS_FAILED);
        return false;
    }
    return true;
}

static bool compute(const Options *o, ImgstatDataset *dataset, const ImgstatMeasure *how)
{
    const ImgstatMeasureBatch batch = {.how = how};
    ImgstatError error;
    const ImgstatResult result = imgstat_dataset_compute(dataset, &batch, NULL, &error);
    if (result == IMGSTAT_OK)
        return true;
    fprintf(stderr, "%s: %s\n", o->command, error.message);
    status_raise(result == IMGSTAT_ERR_ARG ? STATUS_USAGE : STATUS_FAILED);
    return false;
}

void dataset_of_records(const Options *o, const DatasetPrint *print)
{
    if (!dataset_check_saving(o))
        return;
    const bool silent = o->save_record != NULL && (o->merges || strcmp(o->save_record, "-") == 0);
    ImgstatDataset *const dataset = record_files_merge(o);
    if (dataset != NULL)
        dataset_save(o, dataset);
    if (dataset != NULL && !silent && check_pixels(o, dataset) && compute(o, dataset, print->how))
        dataset_print(o, dataset, print);
    imgstat_dataset_destroy(dataset);
}
