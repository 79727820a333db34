/* SPDX-License-Identifier: MIT */
/* shard_text.c: runs a command on all inputs, on a part, or on one shard after another, alone or in
 * a team. */
#include "measure/shard_text.h"
#include "measure/dataset.h"
#include "measure/dataset_shards.h"
#include "measure/kept_text.h"
#include "measure/measure_dataset.h"
#include "measure/shard_team.h"
#include "text/progress.h"
#include "text/status.h"
#include "text/temporary.h"
#include "text/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One result of all shards: --by all and --by group. */
static bool is_merged(const Options *o)
{
    return o->by == IMGSTAT_BY_ALL && o->transform.output == NULL;
}

/* ---- Shards with a text ---------------------------------------------------------------------- */

typedef struct Work {
    const ShardCommand *command;
    bool several; /* there are several inputs */
} Work;

/* An archive is several inputs where it has several members. */
static bool find_several(const ShardSet *set)
{
    if (set->inputs > 1)
        return true;
    InputStream *const inputs = inputs_open(set->options, (InputPart){0}, false);
    size_t n = 0;
    for (Input input; n < 2 && inputs_next_one(inputs, &input); n++)
        input_release(&input);
    inputs_close(inputs);
    return n > 1;
}

static ImgstatDataset *create_dataset(void)
{
    ImgstatDataset *dataset = NULL;
    if (imgstat_dataset_create(&dataset, NULL) != IMGSTAT_OK)
        text_no_memory();
    return dataset;
}

/* The text that is kept of a shard; freed by the caller. */
static char *text_path(const ShardSet *set, uint32_t shard)
{
    return shard_path(set, shard, set->options->transform.output != NULL ? "done" : "out");
}

/* Whether the folder has the whole text of a shard, and its record where one is kept. */
static bool is_done(const ShardSet *set, uint32_t shard)
{
    char *const path = text_path(set, shard);
    const bool done = kept_text_is_whole(path) &&
                      (!is_merged(set->options) || dataset_shard_is_there(set, shard));
    free(path);
    return done;
}

/* Does a shard and writes what is kept of it. Returns false after a sentence. */
static bool write_shard(const Work *work, const ShardSet *set, uint32_t shard, const char *path)
{
    FILE *const out = fopen(path, "wbe");
    if (out == NULL)
        return shard_error(set->options, path, "cannot be written", errno);
    ImgstatDataset *record = NULL;
    if (is_merged(set->options))
        record = create_dataset();
    bool good = kept_text_make(work->command, set, shard, work->several, shard_inputs(set, shard),
                               record, out);
    const bool closed = fclose(out) == 0;
    if (good && !closed)
        shard_error(set->options, path, "cannot be written", errno);
    good = good && closed && (record == NULL || dataset_shard_save(set, shard, record));
    imgstat_dataset_destroy(record);
    return good;
}

/* Does a shard, unless the folder has it. Returns false after a sentence. */
static bool keep_shard(const Work *work, const ShardSet *set, uint32_t shard)
{
    if (is_done(set, shard))
        return true;
    char *const path = text_path(set, shard), *const temporary = shard_file_begin(path);
    const bool good =
        write_shard(work, set, shard, temporary) && shard_is_certain(set->options, set->stream);
    const bool kept = shard_file_end(set->options, temporary, path, good);
    free(path);
    return kept;
}

/* Whether a shard that is wanted is not done. */
static bool any_left(const ShardSet *set)
{
    const Options *const o = set->options;
    bool left = o->state == NULL ||
                (o->transform.save_transfer != NULL && !input_is_file(o->transform.save_transfer));
    for (uint32_t k = 1; k <= set->n && !left; k++)
        left = shard_is_wanted(o, k) && !is_done(set, k);
    return left;
}

static void print_sum(const ShardCommand *command, const PartRun *sum)
{
    if (sum->done + sum->failed + sum->skipped < 2 ||
        (sum->failed == 0 && (sum->options->quiet || strcmp(command->done, "written") != 0)))
        return;
    fprintf(stderr, "%s%zu %s, %zu failed", status_interrupted() != 0 ? "interrupted: " : "",
            sum->done, command->done, sum->failed);
    if (sum->skipped > 0)
        fprintf(stderr, ", %zu skipped", sum->skipped);
    fputc('\n', stderr);
}

/* ---- One process ----------------------------------------------------------------------------- */

/* Does the wanted shards and prints what is kept of them. all: NULL, or their records are merged
 * into it. False: one is not done. */
static bool do_wanted(const ShardSet *set, const ShardCommand *command, ImgstatDataset *all,
                      PartRun *sum)
{
    const Options *const o = set->options;
    const Work work = {.command = command, .several = find_several(set)};
    Progress progress = progress_begin("shards: ", set->n, o->quiet);
    bool good = true;
    for (uint32_t k = 1; k <= set->n && status_interrupted() == 0; k++) {
        if (!shard_is_wanted(o, k))
            continue;
        good = keep_shard(&work, set, k) && /* what stopped it stops the next one */
               (all == NULL || dataset_shard_add(set, k, all));
        progress_clear(&progress);
        if (!good)
            break;
        char *const path = text_path(set, k);
        FILE *const kept = fopen(path, "rbe");
        if (!kept_text_print(kept, command, sum))
            shard_error(o, path, "cannot be read any more", 0);
        if (kept != NULL)
            fclose(kept);
        free(path);
        progress_show(&progress, k, set->n);
    }
    progress_clear(&progress);
    return good && status_interrupted() == 0;
}

static void run_kept(const Options *o, const ShardCommand *command)
{
    PartRun sum = {.options = o};
    ShardSet *const set = shard_set_create(o);
    if (set != NULL &&
        (command->prepare == NULL || !any_left(set) || command->prepare(command->context)) &&
        shard_set_claim(set)) {
        (void)do_wanted(set, command, NULL, &sum);
        if (command->finish != NULL)
            command->finish(command->context);
        print_sum(command, &sum);
    }
    shard_set_destroy(set);
}

/* A shard of a data set prints no statistics. */
static void report_shard(const Options *o, const PartRun *sum)
{
    if (!o->quiet || sum->failed > 0)
        fprintf(stderr, "shard %u of %u: %zu measured, %zu failed\n", (unsigned)o->shard,
                (unsigned)o->shards, sum->done, sum->failed);
}

/* When all shards are measured, by this run or earlier ones, the command computes and prints. */
static void run_merged(const Options *o, const ShardCommand *command)
{
    if (!dataset_check_saving(o))
        return;
    ShardSet *const set = shard_set_create(o);
    if (set == NULL || !shard_set_claim(set)) {
        shard_set_destroy(set);
        return;
    }
    ImgstatDataset *const all = create_dataset();
    PartRun sum = {.options = o};
    status_catch_gently();
    const bool good = do_wanted(set, command, all, &sum);
    if (good && o->shard > 0) {
        dataset_save(o, all);
        measure_report_unmatched(
            o, (InputPart){.part = o->shard, .parts = set->n, .weight = set->weight});
        report_shard(o, &sum);
    } else if (good) {
        PartRun run = {.options = o,
                       .inputs = inputs_open(o, (InputPart){0}, false),
                       .first = true,
                       .context = command->context,
                       .into = all,
                       .measured = true};
        command->work(&run);
        inputs_close(run.inputs);
        print_sum(command, &sum);
    }
    imgstat_dataset_destroy(all);
    shard_set_destroy(set);
}

/* ---- A team ---------------------------------------------------------------------------------- */

typedef struct Member {
    const ShardSet *set;
    Work work;
    ImgstatDataset *own; /* NULL, or what it measured */
    bool *done;          /* done[k]: shard k is done */
    uint32_t printed;
    PartRun sum;
} Member;

static void fail(const Options *o, const char *sentence)
{
    fprintf(stderr, "%s: %s\n", o->command, sentence);
    shard_team->fail(shard_team->context, STATUS_FAILED);
}

/* Merges a shard, which was measured just now, into what this member measured. */
static bool add_shard(Member *member, ImgstatDataset *one, uint32_t shard)
{
    const ShardSet *const set = member->set;
    ImgstatError error;
    const bool good =
        imgstat_dataset_set_shard(one, shard - 1, set->n, set->id, &error) == IMGSTAT_OK &&
        imgstat_dataset_merge(member->own, one, &error) == IMGSTAT_OK;
    if (!good)
        fprintf(stderr, "%s: %s\n", set->options->command, error.message);
    return good;
}

/* Does a shard and captures what it prints. */
static bool make_text(Member *member, uint32_t shard, FILE *kept)
{
    const ShardSet *const set = member->set;
    const ShardCommand *const command = member->work.command;
    const bool several = member->work.several;
    if (!is_merged(set->options))
        return kept_text_make(command, set, shard, several, shard_inputs(set, shard), NULL, kept);
    ImgstatDataset *const one = create_dataset();
    const bool good =
        kept_text_make(command, set, shard, several, shard_inputs(set, shard), one, kept) &&
        add_shard(member, one, shard);
    imgstat_dataset_destroy(one);
    return good;
}

/* Does a shard and returns what is kept of it. NULL after a sentence. */
static FILE *do_shard(Member *member, uint32_t shard)
{
    const ShardSet *const set = member->set;
    const Options *const o = set->options;
    const bool in_folder = o->state != NULL;
    FILE *kept = NULL;
    if (in_folder) {
        if (!keep_shard(&member->work, set, shard) ||
            (is_merged(o) && !dataset_shard_add(set, shard, member->own)))
            return NULL;
        char *const path = text_path(set, shard);
        kept = fopen(path, "rbe");
        free(path);
    } else {
        kept = temporary_stream();
    }
    if (kept == NULL)
        kept_text_complain(o, shard, in_folder ? o->state : temporary_folder(), errno);
    if (kept == NULL || in_folder ||
        (make_text(member, shard, kept) && shard_is_certain(o, set->stream)))
        return kept;
    fclose(kept);
    return NULL;
}

/* The leader prints the shards that are here, in their order. */
static void print_delivered(Member *member, bool waits)
{
    for (FILE *kept; member->printed < member->set->n &&
                     (kept = shard_team->collect(shard_team->context, member->printed + 1, waits));
         member->printed++)
        if (!kept_text_print(kept, member->work.command, &member->sum))
            fail(member->set->options, "what a member sent arrived damaged");
}

static void do_shards(Member *member)
{
    const ShardSet *const set = member->set;
    const Options *const o = set->options;
    Progress progress = progress_begin("shards: ", set->n, o->quiet || !shard_team->leads);
    for (uint32_t k; (k = shard_team->next(shard_team->context)) > 0;) {
        FILE *const kept = do_shard(member, k);
        if (kept == NULL) {
            shard_team->fail(shard_team->context,
                             status_get() != STATUS_OK ? status_get() : STATUS_FAILED);
            return;
        }
        member->done[k] = true;
        shard_team->deliver(shard_team->context, k, kept);
        fclose(kept);
        progress_clear(&progress);
        if (shard_team->leads)
            print_delivered(member, false);
        progress_show(&progress, member->printed, set->n);
    }
    progress_clear(&progress);
    if (shard_team->leads)
        print_delivered(member, true);
}

static bool needs_pixels(ImgstatDataset *dataset)
{
    ImgstatRecord *record;
    for (size_t i = 0; (record = imgstat_dataset_record(dataset, i)) != NULL; i++) {
        ImgstatKind kind;
        imgstat_record_kind(record, &kind);
        if (imgstat_sample_bytes(kind.sample) > 2)
            return true;
    }
    return false;
}

/* All shards are measured: the leader computes, saves and prints. Each member reads its own files
 * again for wide types. */
static void finish_merged(Member *member)
{
    const ShardSet *const set = member->set;
    const Options *const o = set->options;
    const bool leads = shard_team->leads;
    ImgstatDataset *all = shard_team_reduce(member->own);
    const bool shared = shard_team_agree(leads && needs_pixels(all));
    if (shared)
        all = shard_team_share(all);
    if (leads || shared) {
        const InputPart own = {.parts = set->n, .weight = set->weight, .wanted = member->done};
        PartRun run = {.options = o,
                       .part = shared ? own : (InputPart){0},
                       .first = true,
                       .into = all,
                       .measured = true,
                       .follows = !leads,
                       .peers = shared ? shard_team->peers : NULL,
                       .context = member->work.command->context};
        run.inputs = inputs_open(o, run.part, false);
        member->work.command->work(&run);
        inputs_close(run.inputs);
    }
    imgstat_dataset_destroy(all);
}

/* The shards, if there is something left to do. False: the members end here. */
static bool prepare(const ShardSet *set, const ShardCommand *command)
{
    if (command->prepare == NULL)
        return true;
    const bool left = shard_team_agree(shard_team->leads && any_left(set));
    return !left || command->prepare(command->context);
}

static void run_in_team(const Options *o, const ShardCommand *command)
{
    const bool leads = shard_team->leads;
    if (leads && is_merged(o) && !dataset_check_saving(o))
        return;
    if (!leads) /* the leader is done with mistakes of the command line when it starts them */
        shard_team->start(shard_team->context);
    ShardSet *const set = shard_set_create(o);
    if (set == NULL) {
        shard_team->fail(shard_team->context, status_get());
        return;
    }
    if (leads)
        shard_team->start(shard_team->context);
    if (prepare(set, command)) {
        if (!shard_set_claim(set))
            shard_team->fail(shard_team->context, status_get());
        Member member = {.set = set,
                         .work = {.command = command, .several = find_several(set)},
                         .done = text_alloc(set->n + 1),
                         .sum = {.options = o}};
        memset(member.done, false, set->n + 1);
        if (is_merged(o))
            member.own = create_dataset();
        shard_team->begin(shard_team->context, set);
        do_shards(&member);
        shard_team->end(shard_team->context);
        if (leads && command->finish != NULL)
            command->finish(command->context);
        if (is_merged(o))
            finish_merged(&member);
        if (leads)
            print_sum(command, &member.sum);
        free(member.done);
    }
    shard_set_destroy(set);
}

void shard_text_run(const Options *o, const ShardCommand *command)
{
    if (shard_team != NULL) {
        run_in_team(o, command);
        return;
    }
    if (o->state != NULL && is_merged(o)) {
        run_merged(o, command);
        return;
    }
    if (o->state != NULL) {
        run_kept(o, command);
        return;
    }
    InputPart part;
    if (!shard_part(o, &part) ||
        (part.parts > 0 && command->prepare != NULL && !command->prepare(command->context)))
        return;
    PartRun run = {.options = o,
                   .inputs = inputs_open(o, part, part.parts == 0),
                   .part = part,
                   .first = part.part <= 1,
                   .summarizes = true,
                   .context = command->context};
    command->work(&run);
    if (part.parts > 0)
        (void)shard_is_certain(o, run.inputs);
    inputs_close(run.inputs);
}
