/* SPDX-License-Identifier: MIT */
/* dataset_shards.c: measures shards into records, and merges those that are there. */
#include "dataset_shards.h"
#include "dataset.h"
#include "measure_dataset.h"
#include "print_json.h"
#include "progress.h"
#include "status.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

static bool complain(const Options *o, ImgstatResult result, const ImgstatError *error)
{
    if (result == IMGSTAT_OK)
        return true;
    fprintf(stderr, "%s: %s\n", o->command, error->message);
    status_raise(STATUS_FAILED);
    return false;
}

static bool run_shard(void *context, const ShardSet *set, uint32_t shard, InputStream *inputs,
                      const char *path)
{
    const Options *const o = set->options;
    ImgstatDataset *dataset = NULL;
    ImgstatError error;
    InputList window = {.n = 0};
    (void)context;
    if (imgstat_dataset_create(&dataset, &error) != IMGSTAT_OK)
        text_no_memory();
    imgstat_dataset_list_failures(dataset, SIZE_MAX); /* nothing else names them */
    (void)inputs_next(inputs, &window);
    PartRun run = {.options = o, .inputs = inputs, .into = dataset, .silent = true};
    const bool good =
        measure_dataset(&run, &window, NULL, dataset) && status_interrupted() == 0 &&
        complain(o, imgstat_dataset_set_shard(dataset, shard - 1, set->n, set->id, &error),
                 &error) &&
        complain(o, imgstat_dataset_save(dataset, path, true, &error), &error);
    inputs_release(&window);
    imgstat_dataset_destroy(dataset);
    return good;
}

/* Whether a data set is that shard of that set; a set of one shard is none. */
static bool is_shard(ImgstatDataset *dataset, const ShardSet *set, uint32_t shard)
{
    ImgstatAccount account;
    imgstat_dataset_account(dataset, &account);
    const uint32_t k = shard - 1;
    if (set->n == 1)
        return account.shards == 0;
    return account.shards == set->n && account.n_done == 1 &&
           memcmp(account.set, set->id, sizeof account.set) == 0 &&
           (account.done[k / 8] >> (k % 8) & 1);
}

static bool check(void *context, const ShardSet *set, uint32_t shard, const char *path)
{
    ImgstatDataset *dataset = NULL;
    (void)context;
    const bool good = imgstat_dataset_load(path, 0, &dataset, NULL) == IMGSTAT_OK &&
                      is_shard(dataset, set, shard);
    imgstat_dataset_destroy(dataset);
    return good;
}

/* ---- Reports --------------------------------------------------------------------------------- */

/* The record of a shard lists all of them. */
static void report_failures(const Options *o, const ImgstatAccount *account)
{
    for (size_t i = 0; i < account->n_failures; i++) {
        const ImgstatFailure *const failure = &account->failures[i];
        fprintf(stderr, "%s\n", failure->message);
        if (o->style == OUTPUT_JSON)
            print_json_error(stdout, failure->name, NULL, imgstat_result_name(failure->code),
                             failure->message);
    }
    if (account->n_failures > 0)
        status_raise(STATUS_FAILED);
    status_flush_stdout();
}

static bool add(const ShardSet *set, uint32_t shard, ImgstatDataset *all, PartRun *sum)
{
    const Options *const o = set->options;
    ImgstatDataset *one = NULL;
    ImgstatAccount account;
    ImgstatError error;
    char *const path = shard_path(set, shard, "rec");
    bool good = complain(o, imgstat_dataset_load(path, 0, &one, &error), &error) &&
                complain(o, imgstat_dataset_merge(all, one, &error), &error);
    if (good) {
        imgstat_dataset_account(one, &account);
        report_failures(o, &account);
        sum->failed += account.failed;
        sum->done += account.files - account.failed;
    }
    imgstat_dataset_destroy(one);
    free(path);
    return good;
}

bool dataset_shard_do(const ShardSet *set, uint32_t shard, ImgstatDataset *all, PartRun *sum)
{
    const ShardWork work = {.ending = "rec", .run = run_shard, .check = check};
    return shard_run(set, shard, &work) != SHARD_FAILED && add(set, shard, all, sum);
}

/* A shard prints no statistics. */
static void report_shard(const Options *o, const PartRun *sum)
{
    if (!o->quiet || sum->failed > 0)
        fprintf(stderr, "shard %u of %u: %zu measured, %zu failed\n", (unsigned)o->shard,
                (unsigned)o->shards, sum->done, sum->failed);
}

/* False: one is not done. */
static bool do_all(const ShardSet *set, ImgstatDataset *all, PartRun *sum)
{
    const Options *const o = set->options;
    Progress progress = progress_begin("shards: ", set->n, o->quiet);
    bool good = true;
    for (uint32_t k = 1; good && k <= set->n && status_interrupted() == 0; k++) {
        if (!shard_is_wanted(o, k))
            continue;
        progress_clear(&progress);
        good = dataset_shard_do(set, k, all, sum);
        progress_show(&progress, k, set->n);
    }
    progress_clear(&progress);
    return good && status_interrupted() == 0;
}

void dataset_in_shards(const Options *o, const ShardCommand *command)
{
    ImgstatDataset *all = NULL;
    ImgstatError error;
    if (!dataset_check_saving(o))
        return;
    ShardSet *const set = shard_set_create(o);
    if (set == NULL)
        return;
    if (imgstat_dataset_create(&all, &error) != IMGSTAT_OK)
        text_no_memory();
    status_catch_gently();
    PartRun sum = {.options = o};
    if (do_all(set, all, &sum)) {
        if (o->shard == 0) {
            PartRun run = {.options = o,
                           .inputs = inputs_open(o, (InputPart){0}, false),
                           .first = true,
                           .context = command->context,
                           .into = all,
                           .measured = true};
            command->work(&run);
            inputs_close(run.inputs);
            if (sum.failed > 0 && sum.done + sum.failed > 1)
                fprintf(stderr, "%zu measured, %zu failed\n", sum.done, sum.failed);
        } else {
            report_shard(o, &sum);
        }
    }
    if (status_interrupted() != 0)
        status_raise(128 + status_interrupted());
    imgstat_dataset_destroy(all);
    shard_set_destroy(set);
}
