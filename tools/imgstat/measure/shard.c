/* SPDX-License-Identifier: MIT */
/* shard.c: counts and weighs the inputs, and keeps what is done of them in a folder. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "measure/shard.h"
#include "measure/shard_team.h"
#include "options/value.h"
#include "text/memory_stream.h"
#include "text/status.h"
#include "text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- The set --------------------------------------------------------------------------------- */

static void put64(XXH3_state_t *state, uint64_t value)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    XXH3_128bits_update(state, bytes, sizeof bytes);
}

bool shard_is_certain(const Options *options, const InputStream *inputs)
{
    int cause;
    const char *const path = inputs_uncertain(inputs, &cause);
    if (path == NULL)
        return true;
    char *const name = text_display(path);
    fprintf(stderr, "%s: %s: %s: shards need the names and sizes of all inputs\n", options->command,
            name, strerror(cause));
    free(name);
    status_raise(STATUS_FAILED);
    return false;
}

/* Reads all names and sizes. */
static bool weigh(ShardSet *set)
{
    XXH3_state_t *const state = XXH3_createState();
    if (state == NULL)
        text_no_memory();
    XXH3_128bits_reset(state);
    const bool warns = shard_team == NULL || shard_team->leads;
    InputStream *const inputs = inputs_open(set->options, (InputPart){0}, warns);
    for (Input input; inputs_next_whole(inputs, true, &input); set->inputs++) {
        set->weight += input.weight;
        XXH3_128bits_update(state, input.path, strlen(input.path) + 1);
        if (input.pages != NULL)
            XXH3_128bits_update(state, input.pages, strlen(input.pages));
        put64(state, input.weight);
        input_release(&input);
    }
    const bool good = shard_is_certain(set->options, inputs);
    inputs_close(inputs);
    put64(state, set->n);
    const XXH128_hash_t hash = XXH3_128bits_digest(state);
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, hash);
    memcpy(set->id, canonical.digest, sizeof set->id);
    XXH3_freeState(state);
    return good;
}

bool shard_part(const Options *o, InputPart *out)
{
    *out = (InputPart){.parts = 0};
    if (o->shard == 0)
        return true;
    ShardSet set = {.options = o, .n = o->shards};
    if (!weigh(&set))
        return false;
    *out = (InputPart){.part = o->shard, .parts = set.n, .weight = set.weight};
    memcpy(out->set, set.id, sizeof out->set);
    return true;
}

/* ---- The folder ------------------------------------------------------------------------------ */

/* "DIR/NAME" */
static char *path_in(const Options *o, const char *name)
{
    const size_t length = strlen(o->state), bytes = length + strlen(name) + 2;
    char *const path = text_alloc(bytes);
    snprintf(path, bytes, "%s%s%s", o->state, o->state[length - 1] == '/' ? "" : "/", name);
    return path;
}

/* A name that no other process has, hidden: what is written there counts when it is renamed.
 * Containers may share the name of the host and number their processes alike. */
static char *temporary_of(const char *path)
{
    const char *const slash = strrchr(path, '/');
    const size_t bytes = strlen(path) + 100;
    char *const name = text_alloc(bytes);
    char host[40] = "";
    uint32_t drawn = 0;
    (void)gethostname(host, sizeof host - 1);
    (void)!getrandom(&drawn, sizeof drawn, GRND_NONBLOCK);
    snprintf(name, bytes, "%.*s.%s.%s.%ld.%08x", (int)(slash + 1 - path), path, slash + 1, host,
             (long)getpid(), (unsigned)drawn);
    return name;
}

bool shard_error(const Options *o, const char *path, const char *what, int cause)
{
    char *const name = text_display(path);
    fprintf(stderr, "%s: %s: %s%s%s\n", o->command, name, what, cause != 0 ? ": " : "",
            cause != 0 ? strerror(cause) : "");
    free(name);
    status_raise(STATUS_FAILED);
    return false;
}

/* Returns false, with errno, if the file cannot be read. */
static bool hash_file(const char *path, uint64_t *hash)
{
    enum { BLOCK_BYTES = 1 << 16 };
    uint8_t block[BLOCK_BYTES];
    XXH3_state_t state;
    FILE *const in = fopen(path, "rbe");
    if (in == NULL)
        return false;
    XXH3_64bits_reset(&state);
    for (size_t n; (n = fread(block, 1, sizeof block, in)) > 0;)
        XXH3_64bits_update(&state, block, n);
    const int cause = ferror(in) ? errno : 0;
    fclose(in);
    *hash = XXH3_64bits_digest(&state);
    errno = cause;
    return cause == 0;
}

/* Results depend on what the file says that an option names. False, after a sentence: it cannot be
 * read, or not for each shard. One that is not there is reported by who uses it. */
static bool put_digest(FILE *out, const Options *o, const char *name)
{
    char *path = NULL, *pages = NULL;
    struct stat info;
    uint64_t hash;
    bool good = true;
    if (name == NULL)
        return true;
    if (!input_names_pages(name, &path, &pages))
        path = text_copy(name);
    const bool known = stat(path, &info) == 0;
    if (known && !S_ISREG(info.st_mode)) {
        good = usage_error(o->command, "%s is read for each shard: it must be a file", name);
        status_raise(STATUS_USAGE);
    } else if (known ? hash_file(path, &hash) : input_cause_that_may_pass(errno) == 0) {
        if (known)
            fprintf(out, "\ndigest of %s: %016llx", name, (unsigned long long)hash);
    } else {
        good = shard_error(o, path, "cannot be read", errno);
    }
    free(path);
    free(pages);
    return good;
}

/* What a folder belongs to. NULL after a sentence. */
static char *describe(const ShardSet *set)
{
    const Options *const o = set->options;
    char *text = NULL;
    size_t bytes;
    FILE *const out = memory_stream_open(&text, &bytes);
    fprintf(out, "%s\nimgstat %s\nshards %u\ninputs %llu, digest ", o->command, imgstat_version(),
            (unsigned)set->n, (unsigned long long)set->inputs);
    for (size_t i = 0; i < sizeof set->id; i++)
        fprintf(out, "%02x", set->id[i]);
    fprintf(out, "\n%s%s", o->transform.transfer != NULL ? "transfer " : "no transfer",
            o->transform.transfer != NULL ? o->transform.transfer : "");
    const char *const files[] = {o->transform.transfer, o->transform.record, o->transform.reference,
                                 o->transform.only, o->mask};
    bool good = true;
    for (size_t i = 0; good && i < sizeof files / sizeof *files; i++)
        good = put_digest(out, o, files[i]);
    fprintf(out, "\n%s", o->arguments != NULL ? o->arguments : "");
    memory_stream_close(out);
    if (good)
        return text;
    free(text);
    return NULL;
}

/* The line that `from` lies in, without its newline; freed by the caller. */
static char *line_at(const char *text, const char *from)
{
    while (from > text && from[-1] != '\n')
        from--;
    return text_copy_part(from, strcspn(from, "\n"));
}

static bool compare(const ShardSet *set, const char *path, const char *wanted)
{
    const Options *const o = set->options;
    char *found = NULL;
    size_t capacity = 0;
    FILE *const in = fopen(path, "rbe");
    const ssize_t n = in != NULL ? getdelim(&found, &capacity, '\0', in) : -1;
    if (n < 0 && (in == NULL || ferror(in)))
        shard_error(o, path, "cannot be read", errno);
    if (in != NULL)
        fclose(in);
    const bool same = n >= 0 && strcmp(found, wanted) == 0;
    if (n >= 0 && !same) {
        size_t at = 0;
        while (found[at] != '\0' && found[at] == wanted[at])
            at++;
        char *const was = line_at(found, found + at), *const is = line_at(wanted, wanted + at);
        usage_error(o->command,
                    "%s belongs to another command, to other inputs or options: there it is '%s', "
                    "here '%s'",
                    o->state, was, is);
        status_raise(STATUS_USAGE);
        free(was);
        free(is);
    } else if (n < 0 && in != NULL) {
        usage_error(o->command, "%s is empty: it is not of imgstat", path);
        status_raise(STATUS_USAGE);
    }
    free(found);
    return same;
}

/* Whether the folder belongs to this command, or to none so far and takes files. */
static bool check_folder(ShardSet *set)
{
    const Options *const o = set->options;
    set->text = describe(set);
    if (set->text == NULL)
        return false;
    if (mkdir(o->state, 0777) != 0 && errno != EEXIST)
        return shard_error(o, o->state, "cannot create the folder", errno);
    char *const path = path_in(o, "set"), *const here = path_in(o, ".");
    bool good = true;
    if (access(path, F_OK) == 0)
        good = compare(set, path, set->text);
    else if (access(here, W_OK | X_OK) != 0)
        good = shard_error(o, path, "cannot be written", errno);
    free(here);
    free(path);
    return good;
}

/* The first process to come writes what the folder belongs to; a link never replaces a file. */
bool shard_set_claim(const ShardSet *set)
{
    const Options *const o = set->options;
    if (o->state == NULL)
        return true;
    char *const path = path_in(o, "set"), *const temporary = temporary_of(path);
    bool good = access(path, F_OK) == 0;
    if (!good) {
        status_set_temporary(temporary); /* signals that end the process at once remove it */
        FILE *const out = fopen(temporary, "wbe");
        good = out != NULL && fputs(set->text, out) >= 0 && fflush(out) == 0 &&
               fdatasync(fileno(out)) == 0;
        good = (out == NULL || fclose(out) == 0) && good;
        if (good && link(temporary, path) != 0 && errno != EEXIST)
            good = rename(temporary, path) == 0; /* file systems without links */
        if (!good)
            shard_error(o, path, "cannot be written", errno);
        unlink(temporary);
        status_set_temporary(NULL);
    }
    good = good && compare(set, path, set->text);
    free(temporary);
    free(path);
    return good;
}

void shard_set_destroy(ShardSet *set)
{
    if (set == NULL)
        return;
    inputs_close(set->stream);
    free(set->text);
    free(set);
}

ShardSet *shard_set_create(const Options *options)
{
    ShardSet *const set = text_alloc(sizeof *set);
    *set = (ShardSet){.options = options, .n = options->shards > 0 ? options->shards : 1};
    if (weigh(set)) {
        set->stream = inputs_open(options, (InputPart){0}, false);
        if (options->state == NULL || check_folder(set))
            return set;
    }
    shard_set_destroy(set);
    return NULL;
}

/* ---- Shards ---------------------------------------------------------------------------------- */

bool shard_is_wanted(const Options *options, uint32_t shard)
{
    return options->shard == 0 || options->shard == shard;
}

InputStream *shard_inputs(const ShardSet *set, uint32_t shard)
{
    const InputPart part = {.part = shard, .parts = set->n, .weight = set->weight};
    inputs_turn_to(set->stream, part);
    return set->stream;
}

char *shard_path(const ShardSet *set, uint32_t shard, const char *ending)
{
    char name[80];
    snprintf(name, sizeof name, "shard-%04u-of-%04u.%s", (unsigned)shard, (unsigned)set->n, ending);
    return path_in(set->options, name);
}

char *shard_file_begin(const char *path)
{
    char *const temporary = temporary_of(path);
    status_set_temporary(temporary); /* signals that end the process at once remove it */
    return temporary;
}

/* What is complete reaches the disk before its name does. */
static bool put_in_place(const Options *o, const char *temporary, const char *path)
{
    const int fd = open(temporary, O_RDONLY | O_CLOEXEC);
    const bool synced = fd >= 0 && fdatasync(fd) == 0;
    const int cause = errno;
    if (fd >= 0)
        close(fd);
    errno = cause;
    return (synced && rename(temporary, path) == 0) ||
           shard_error(o, path, "cannot be written", errno);
}

bool shard_file_end(const Options *o, char *temporary, const char *path, bool complete)
{
    const bool kept = complete && put_in_place(o, temporary, path);
    if (!kept)
        unlink(temporary);
    status_set_temporary(NULL);
    free(temporary);
    return kept;
}
