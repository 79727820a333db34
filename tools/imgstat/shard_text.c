/* SPDX-License-Identifier: MIT */
/* shard_text.c: captures what a command prints about a shard, keeps it, and prints it again. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "shard_text.h"
#include "progress.h"
#include "shard_team.h"
#include "status.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* A file that is kept: two lines that begin with `magic`, the texts, and a line with the hash of
 * all before. */
static const char magic[] = "imgstat shard text 1\n";
enum { HASH_LINE = 17, BLOCK_BYTES = 1 << 16, HEADER_BYTES = 300 };

enum { OUT, ERR, OUTPUTS, N_TEXTS };

/* The second line of such a file. */
typedef struct Kept {
    size_t done, failed, skipped;
    int status;
    uint64_t bytes[N_TEXTS];
} Kept;

typedef struct Work {
    PartFunction work;
    void *context;
    ImgstatDataset *own;   /* of this member of a team: what it measured */
    ImgstatDataset *shard; /* NULL, or receives a shard */
} Work;

/* ---- Files that are kept --------------------------------------------------------------------- */

/* Copies n bytes from the place of a stream; to: NULL for none. */
static bool copy(FILE *from, uint64_t n, FILE *to, XXH3_state_t *hash)
{
    char block[BLOCK_BYTES];
    while (n > 0) {
        const size_t part = n < sizeof block ? (size_t)n : sizeof block;
        if (fread(block, 1, part, from) != part)
            return false;
        if (hash != NULL)
            XXH3_64bits_update(hash, block, part);
        if (to != NULL && fwrite(block, 1, part, to) != part)
            return false;
        n -= part;
    }
    return true;
}

static XXH3_state_t *hash_create(void)
{
    XXH3_state_t *const hash = XXH3_createState();
    if (hash == NULL)
        text_no_memory();
    XXH3_64bits_reset(hash);
    return hash;
}

static bool write_kept(FILE *out, const Kept *kept, FILE *const texts[N_TEXTS])
{
    char header[HEADER_BYTES];
    const int n = snprintf(header, sizeof header,
                           "%s%zu done, %zu failed, %zu skipped, status %d, bytes %" PRIu64
                           " %" PRIu64 " %" PRIu64 "\n",
                           magic, kept->done, kept->failed, kept->skipped, kept->status,
                           kept->bytes[OUT], kept->bytes[ERR], kept->bytes[OUTPUTS]);
    XXH3_state_t *const hash = hash_create();
    bool good = fwrite(header, 1, (size_t)n, out) == (size_t)n;
    XXH3_64bits_update(hash, header, (size_t)n);
    for (int i = 0; good && i < N_TEXTS; i++) {
        rewind(texts[i]);
        good = copy(texts[i], kept->bytes[i], out, hash);
    }
    if (good)
        good = fprintf(out, "%016" PRIx64 "\n", (uint64_t)XXH3_64bits_digest(hash)) == HASH_LINE;
    XXH3_freeState(hash);
    return good && fflush(out) == 0;
}

/* Reads the two lines; the texts are next. */
static bool read_header(FILE *in, Kept *kept, XXH3_state_t *hash)
{
    char first[sizeof magic], second[HEADER_BYTES];
    const bool good =
        fgets(first, sizeof first, in) != NULL && strcmp(first, magic) == 0 &&
        fgets(second, sizeof second, in) != NULL &&
        sscanf(second,
               "%zu done, %zu failed, %zu skipped, status %d, bytes %" SCNu64 " %" SCNu64
               " %" SCNu64,
               &kept->done, &kept->failed, &kept->skipped, &kept->status, &kept->bytes[OUT],
               &kept->bytes[ERR], &kept->bytes[OUTPUTS]) == 4 + N_TEXTS;
    if (good && hash != NULL) {
        XXH3_64bits_update(hash, first, strlen(first));
        XXH3_64bits_update(hash, second, strlen(second));
    }
    return good;
}

static bool check(void *context, const ShardSet *set, uint32_t shard, const char *path)
{
    (void)context;
    (void)set;
    (void)shard;
    Kept kept;
    char line[HASH_LINE + 1], wanted[HASH_LINE + 1];
    FILE *const in = fopen(path, "rbe");
    XXH3_state_t *const hash = hash_create();
    bool good = in != NULL && read_header(in, &kept, hash);
    for (int i = 0; good && i < N_TEXTS; i++)
        good = copy(in, kept.bytes[i], NULL, hash);
    snprintf(wanted, sizeof wanted, "%016" PRIx64 "\n", (uint64_t)XXH3_64bits_digest(hash));
    good = good && fgets(line, sizeof line, in) != NULL && strcmp(line, wanted) == 0 &&
           fgetc(in) == EOF;
    if (in != NULL)
        fclose(in);
    XXH3_freeState(hash);
    return good;
}

/* Prints what was captured; adds up what became of it. */
static bool print_kept(FILE *in, PartRun *sum)
{
    Kept kept;
    const bool good = in != NULL && read_header(in, &kept, NULL) &&
                      copy(in, kept.bytes[OUT], stdout, NULL) &&
                      (status_flush_stdout(), copy(in, kept.bytes[ERR], stderr, NULL));
    if (good) {
        sum->done += kept.done;
        sum->failed += kept.failed;
        sum->skipped += kept.skipped;
        status_raise(kept.status);
    }
    return good;
}

/* ---- Capturing ------------------------------------------------------------------------------- */

/* Standard output and standard error lead to temporary files meanwhile. */
static bool capture(FILE *const texts[N_TEXTS], int saved[2])
{
    fflush(stdout);
    fflush(stderr);
    for (int i = 0; i < 2; i++) {
        saved[i] = dup(i == OUT ? STDOUT_FILENO : STDERR_FILENO);
        if (saved[i] < 0)
            return false;
    }
    return dup2(fileno(texts[OUT]), STDOUT_FILENO) >= 0 &&
           dup2(fileno(texts[ERR]), STDERR_FILENO) >= 0;
}

static void end_capture(int saved[2])
{
    fflush(stdout);
    fflush(stderr);
    for (int i = 0; i < 2; i++)
        if (saved[i] >= 0) {
            (void)dup2(saved[i], i == OUT ? STDOUT_FILENO : STDERR_FILENO);
            close(saved[i]);
        }
}

/* Does a shard and writes what is kept of it. */
static bool run_shard_to(const Work *command, const ShardSet *set, uint32_t shard,
                         InputStream *inputs, FILE *out)
{
    FILE *texts[N_TEXTS] = {NULL};
    int saved[2] = {-1, -1};
    Kept kept = {0};
    bool good = true;
    PartRun run = {.options = set->options,
                   .inputs = inputs,
                   .first = shard == 1,
                   .into = command->shard,
                   .context = command->context};
    for (int i = 0; good && i < N_TEXTS; i++)
        good = (texts[i] = tmpfile()) != NULL;
    const int before = status_exchange(STATUS_OK);
    good = good && capture(texts, saved);
    if (good) {
        run.outputs = texts[OUTPUTS];
        command->work(&run);
    }
    const int cause = errno;
    end_capture(saved);
    kept.status = status_exchange(before);
    for (int i = 0; good && i < N_TEXTS; i++) {
        good = fseeko(texts[i], 0, SEEK_END) == 0;
        kept.bytes[i] = (uint64_t)ftello(texts[i]);
    }
    kept.done = run.done;
    kept.failed = run.failed;
    kept.skipped = run.skipped;
    const bool complete = good && run.complete && status_interrupted() == 0;
    if (good && !complete) { /* only the reasons are of use */
        rewind(texts[ERR]);
        (void)copy(texts[ERR], kept.bytes[ERR], stderr, NULL);
        status_raise(kept.status > STATUS_OK ? kept.status : STATUS_FAILED);
    }
    if (!good || (complete && !write_kept(out, &kept, texts))) {
        fprintf(stderr, "%s: shard %u cannot be kept%s%s: %s\n", set->options->command,
                (unsigned)shard, set->options->state != NULL ? " in " : "",
                set->options->state != NULL ? set->options->state : "",
                strerror(good ? errno : cause));
        status_raise(STATUS_FAILED);
        good = false;
    }
    for (int i = 0; i < N_TEXTS; i++)
        if (texts[i] != NULL)
            fclose(texts[i]);
    return good && complete;
}

static bool run_shard(void *context, const ShardSet *set, uint32_t shard, InputStream *inputs,
                      const char *path)
{
    FILE *const out = fopen(path, "wbe");
    if (out == NULL) {
        fprintf(stderr, "%s: %s: cannot be written: %s\n", set->options->command, path,
                strerror(errno));
        status_raise(STATUS_FAILED);
        return false;
    }
    const bool good = run_shard_to(context, set, shard, inputs, out);
    return fclose(out) == 0 && good;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void print_sum(const PartRun *sum, const char *done)
{
    if (sum->done + sum->failed + sum->skipped < 2 ||
        (sum->failed == 0 && (sum->options->quiet || strcmp(done, "written") != 0)))
        return;
    fprintf(stderr, "%zu %s, %zu failed", sum->done, done, sum->failed);
    if (sum->skipped > 0)
        fprintf(stderr, ", %zu skipped", sum->skipped);
    fputc('\n', stderr);
}

static ShardWork work_of(const Options *o, const Work *command)
{
    return (ShardWork){.ending = o->transform.output != NULL ? "done" : "out",
                       .context = (void *)command,
                       .run = run_shard,
                       .check = check};
}

static void run_all(const ShardSet *set, const Work *command, const char *done)
{
    const Options *const o = set->options;
    const ShardWork work = work_of(o, command);
    PartRun sum = {.options = o};
    Progress progress = progress_begin("shards: ", set->n, o->quiet);
    for (uint32_t k = 1; k <= set->n && status_interrupted() == 0; k++) {
        if (!shard_is_wanted(o, k))
            continue;
        if (shard_run(set, k, &work) == SHARD_FAILED)
            break; /* what stopped it stops the next one as well */
        progress_clear(&progress);
        char *const path = shard_path(set, k, work.ending);
        FILE *const kept = fopen(path, "rbe");
        if (!print_kept(kept, &sum)) {
            fprintf(stderr, "%s: %s: cannot be read any more\n", o->command, path);
            status_raise(STATUS_FAILED);
        }
        if (kept != NULL)
            fclose(kept);
        free(path);
        progress_show(&progress, k, set->n);
    }
    progress_clear(&progress);
    print_sum(&sum, done);
}

/* ---- Several processes ----------------------------------------------------------------------- */

/* --by all and --by group: one result of all shards. */
static bool is_merged(const Options *o)
{
    return o->by == IMGSTAT_BY_ALL && o->transform.output == NULL;
}

static bool complain(const Options *o, ImgstatResult result, const ImgstatError *error)
{
    if (result == IMGSTAT_OK)
        return true;
    fprintf(stderr, "%s: %s\n", o->command, error->message);
    status_raise(STATUS_FAILED);
    return false;
}

/* Adds the data set of a shard to what this member measured. */
static bool add_shard(Work *command, const ShardSet *set, uint32_t shard)
{
    const Options *const o = set->options;
    ImgstatError error;
    bool good = complain(
        o, imgstat_dataset_set_shard(command->shard, shard - 1, set->n, set->id, &error), &error);
    if (good && command->own != NULL) {
        good = complain(o, imgstat_dataset_merge(command->own, command->shard, &error), &error);
        imgstat_dataset_destroy(command->shard);
    } else {
        command->own = command->shard;
    }
    command->shard = NULL;
    return good;
}

/* Does a shard and brings what is kept of it to the leader. */
static bool do_and_deliver(const ShardSet *set, uint32_t shard, Work *command)
{
    const Options *const o = set->options;
    const ShardWork work = work_of(o, command);
    FILE *kept = NULL;
    bool good;
    if (o->state != NULL) {
        char *const path = shard_path(set, shard, work.ending);
        good = shard_run(set, shard, &work) != SHARD_FAILED;
        kept = good ? fopen(path, "rbe") : NULL;
        free(path);
    } else {
        ImgstatError error;
        kept = tmpfile();
        if (is_merged(o) && imgstat_dataset_create(&command->shard, &error) != IMGSTAT_OK)
            text_no_memory();
        InputStream *const inputs = kept != NULL ? shard_inputs(set, shard) : NULL;
        good = kept == NULL || run_shard_to(command, set, shard, inputs, kept);
        inputs_close(inputs);
        good = good && (!is_merged(o) || add_shard(command, set, shard));
    }
    if (good && kept == NULL)
        fprintf(stderr, "%s: shard %u cannot be kept: %s\n", o->command, (unsigned)shard,
                strerror(errno));
    good = good && kept != NULL;
    if (good)
        shard_team->deliver(shard_team->context, shard, kept);
    if (kept != NULL)
        fclose(kept);
    return good;
}

/* The leader prints the shards that are here, in their order. */
static void print_delivered(const ShardSet *set, PartRun *sum, uint32_t *printed, bool waits)
{
    for (FILE *kept; *printed < set->n &&
                     (kept = shard_team->collect(shard_team->context, *printed + 1, waits));) {
        if (!print_kept(kept, sum)) {
            fprintf(stderr, "%s: shard %u arrived damaged\n", set->options->command,
                    (unsigned)*printed + 1);
            shard_team->fail(shard_team->context, STATUS_FAILED);
        }
        ++*printed;
    }
}

/* All shards are measured: the leader computes, saves and prints. Wide types are read again. */
static void finish_merged(const Options *o, Work *command)
{
    ImgstatDataset *const all = shard_team->reduce(shard_team->context, command->own);
    if (shard_team->leads && all != NULL) {
        PartRun run = {.options = o,
                       .inputs = inputs_open(o, (InputPart){0}, false),
                       .first = true,
                       .into = all,
                       .measured = true,
                       .context = command->context};
        command->work(&run);
        inputs_close(run.inputs);
    }
    imgstat_dataset_destroy(all);
}

static void run_in_team(const Options *o, Work *command, const char *done)
{
    ShardSet *const set = shard_set_create(o);
    if (set == NULL) {
        shard_team->fail(shard_team->context, status_get());
        return;
    }
    PartRun sum = {.options = o};
    uint32_t printed = 0;
    Progress progress = progress_begin("shards: ", set->n, o->quiet || !shard_team->leads);
    shard_team->begin(shard_team->context, set);
    for (uint32_t k; (k = shard_team->next(shard_team->context)) > 0;) {
        if (!do_and_deliver(set, k, command))
            shard_team->fail(shard_team->context,
                             status_get() != STATUS_OK ? status_get() : STATUS_FAILED);
        progress_clear(&progress);
        if (shard_team->leads)
            print_delivered(set, &sum, &printed, false);
        progress_show(&progress, printed, set->n);
    }
    progress_clear(&progress);
    if (shard_team->leads)
        print_delivered(set, &sum, &printed, true);
    if (is_merged(o))
        finish_merged(o, command);
    if (shard_team->leads)
        print_sum(&sum, done);
    shard_team->end(shard_team->context);
    shard_set_destroy(set);
}

void shard_text_run(const Options *o, PartFunction work, void *context, const char *done)
{
    Work command = {.work = work, .context = context};
    if (shard_team != NULL) {
        run_in_team(o, &command, done);
        return;
    }
    if (o->state != NULL) {
        ShardSet *const set = shard_set_create(o);
        if (set != NULL)
            run_all(set, &command, done);
        shard_set_destroy(set);
        return;
    }
    const InputPart part = shard_part(o);
    PartRun run = {.options = o,
                   .inputs = inputs_open(o, part, part.parts == 0),
                   .first = part.part <= 1,
                   .summarizes = true,
                   .context = context};
    work(&run);
    inputs_close(run.inputs);
}
