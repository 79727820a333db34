/* SPDX-License-Identifier: MIT */
/* kept_text.c: captures what a command prints about a shard, keeps it, and prints it again. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "measure/kept_text.h"
#include "text/status.h"
#include "text/temporary.h"
#include "text/text.h"

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
    size_t done, failed, skipped, unwritten;
    int status;
    uint64_t bytes[N_TEXTS];
} Kept;

/* ---- Files that are kept --------------------------------------------------------------------- */

/* Copies n bytes from the place of a stream; to: NULL for none, or ferror knows whether it has
 * them. Returns false if they cannot be read. */
static bool copy(FILE *from, uint64_t n, FILE *to, XXH3_state_t *hash)
{
    char block[BLOCK_BYTES];
    while (n > 0) {
        const size_t part = n < sizeof block ? (size_t)n : sizeof block;
        if (fread(block, 1, part, from) != part)
            return false;
        if (hash != NULL)
            XXH3_64bits_update(hash, block, part);
        if (to != NULL)
            (void)fwrite(block, 1, part, to);
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
                           "%s%zu done, %zu failed, %zu skipped, %zu unwritten, status %d, "
                           "bytes %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                           magic, kept->done, kept->failed, kept->skipped, kept->unwritten,
                           kept->status, kept->bytes[OUT], kept->bytes[ERR], kept->bytes[OUTPUTS]);
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
    return good && fflush(out) == 0 && !ferror(out);
}

/* Reads the two lines; the texts are next. */
static bool read_header(FILE *in, Kept *kept, XXH3_state_t *hash)
{
    char first[sizeof magic], second[HEADER_BYTES];
    const bool good =
        fgets(first, sizeof first, in) != NULL && strcmp(first, magic) == 0 &&
        fgets(second, sizeof second, in) != NULL &&
        sscanf(second,
               "%zu done, %zu failed, %zu skipped, %zu unwritten, status %d, bytes %" SCNu64
               " %" SCNu64 " %" SCNu64,
               &kept->done, &kept->failed, &kept->skipped, &kept->unwritten, &kept->status,
               &kept->bytes[OUT], &kept->bytes[ERR], &kept->bytes[OUTPUTS]) == 5 + N_TEXTS;
    if (good && hash != NULL) {
        XXH3_64bits_update(hash, first, strlen(first));
        XXH3_64bits_update(hash, second, strlen(second));
    }
    return good;
}

bool kept_text_is_whole(const char *path)
{
    Kept kept;
    char line[HASH_LINE + 1], wanted[HASH_LINE + 1];
    FILE *const in = fopen(path, "rbe");
    XXH3_state_t *const hash = hash_create();
    bool good = in != NULL && read_header(in, &kept, hash);
    for (int i = 0; good && i < N_TEXTS; i++)
        good = copy(in, kept.bytes[i], NULL, hash);
    snprintf(wanted, sizeof wanted, "%016" PRIx64 "\n", (uint64_t)XXH3_64bits_digest(hash));
    good = good && fgets(line, sizeof line, in) != NULL && strcmp(line, wanted) == 0 &&
           fgetc(in) == EOF && kept.unwritten == 0;
    if (in != NULL)
        fclose(in);
    XXH3_freeState(hash);
    return good;
}

/* Gives the command what it printed. */
static bool emit(FILE *in, uint64_t bytes, const ShardCommand *command)
{
    char *const text = text_alloc((size_t)bytes + 1);
    const bool good = fread(text, 1, (size_t)bytes, in) == bytes;
    if (good)
        command->emit(command->context, text, (size_t)bytes);
    free(text);
    return good;
}

bool kept_text_print(FILE *in, const ShardCommand *command, PartRun *sum)
{
    Kept kept;
    bool good = in != NULL && read_header(in, &kept, NULL);
    if (good && command->emit != NULL)
        good = emit(in, kept.bytes[OUT], command);
    else if (good)
        good = copy(in, kept.bytes[OUT], stdout, NULL);
    if (good)
        status_flush_stdout();
    if (!good || !copy(in, kept.bytes[ERR], stderr, NULL))
        return false;
    sum->done += kept.done;
    sum->failed += kept.failed;
    sum->skipped += kept.skipped;
    status_raise(kept.status);
    return true;
}

/* ---- Capturing ------------------------------------------------------------------------------- */

/* Where standard output and standard error led before. */
typedef struct Saved {
    int fd[2];
    int failure; /* as status_exchange_stdout takes it */
} Saved;

/* Standard output and standard error lead to temporary files meanwhile. Returns 0 or errno. */
static int capture(FILE *const texts[N_TEXTS], Saved *saved)
{
    saved->failure = status_exchange_stdout(0);
    clearerr(stderr);
    for (int i = 0; i < 2; i++) {
        saved->fd[i] = dup(i == OUT ? STDOUT_FILENO : STDERR_FILENO);
        if (saved->fd[i] < 0)
            return errno;
    }
    text_use_stderr(saved->fd[1]); /* that ends the program would be lost */
    const bool good = dup2(fileno(texts[OUT]), STDOUT_FILENO) >= 0 &&
                      dup2(fileno(texts[ERR]), STDERR_FILENO) >= 0;
    return good ? 0 : errno;
}

/* Returns 0, or errno of the failure that made the texts incomplete. */
static int end_capture(Saved *saved)
{
    int failure = status_exchange_stdout(saved->failure);
    if (failure == 0 && ferror(stderr))
        failure = EIO;
    text_use_stderr(STDERR_FILENO);
    for (int i = 0; i < 2; i++)
        if (saved->fd[i] >= 0) {
            (void)dup2(saved->fd[i], i == OUT ? STDOUT_FILENO : STDERR_FILENO);
            close(saved->fd[i]);
        }
    return failure;
}

void kept_text_complain(const Options *o, uint32_t shard, const char *folder, int cause)
{
    char *const name = text_display(folder);
    fprintf(stderr, "%s: shard %u cannot be kept in %s: %s\n", o->command, (unsigned)shard, name,
            strerror(cause));
    status_raise(STATUS_FAILED);
    free(name);
}

bool kept_text_make(const ShardCommand *command, const ShardSet *set, uint32_t shard, bool several,
                    InputStream *inputs, ImgstatDataset *into, FILE *out)
{
    FILE *texts[N_TEXTS] = {NULL};
    Saved saved = {.fd = {-1, -1}};
    Kept kept = {0};
    int cause = 0; /* errno of what makes the texts incomplete */
    PartRun run = {.options = set->options,
                   .inputs = inputs,
                   .first = shard == 1,
                   .several = several,
                   .captured = true,
                   .into = into,
                   .context = command->context};
    for (int i = 0; cause == 0 && i < N_TEXTS; i++)
        if ((texts[i] = temporary_stream()) == NULL)
            cause = errno;
    const int before = status_exchange(STATUS_OK);
    if (cause == 0) {
        cause = capture(texts, &saved);
        run.outputs = texts[OUTPUTS];
        if (cause == 0)
            command->work(&run);
        const int failure = end_capture(&saved);
        cause = cause != 0 ? cause : failure;
    }
    kept.status = status_exchange(before);
    for (int i = 0; cause == 0 && i < N_TEXTS; i++) {
        if (fseeko(texts[i], 0, SEEK_END) != 0 || ferror(texts[i]))
            cause = errno != 0 ? errno : EIO;
        kept.bytes[i] = (uint64_t)ftello(texts[i]);
    }
    kept.done = run.done;
    kept.failed = run.failed;
    kept.skipped = run.skipped;
    kept.unwritten = run.unwritten;
    const bool complete = cause == 0 && run.complete && status_interrupted() == 0;
    if (cause == 0 && !complete) { /* only the reasons are of use */
        rewind(texts[ERR]);
        (void)copy(texts[ERR], kept.bytes[ERR], stderr, NULL);
        status_raise(kept.status > STATUS_OK ? kept.status : STATUS_FAILED);
    }
    const char *folder = temporary_folder();
    if (complete && !write_kept(out, &kept, texts)) {
        cause = errno;
        folder = set->options->state != NULL ? set->options->state : folder;
    }
    if (cause != 0)
        kept_text_complain(set->options, shard, folder, cause);
    for (int i = 0; i < N_TEXTS; i++)
        if (texts[i] != NULL)
            fclose(texts[i]);
    return complete && cause == 0;
}
