/* SPDX-License-Identifier: MIT */
/* transfer_groups.c: groups off the names of inputs, and the list of --only. */
#include "transform/transfer_groups.h"
#include "options/value.h"
#include "text/status.h"
#include "text/text.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Groups ---------------------------------------------------------------------------------- */

static void set_groups(const Options *o, Outputs *outputs, bool reports)
{
    size_t none = 0;
    const char *first = NULL;
    outputs->groups = text_alloc((outputs->n + 1) * sizeof *outputs->groups);
    for (size_t i = 0; i < outputs->n; i++) {
        ImgstatJob *const job = &outputs->jobs[i];
        outputs->groups[i] = group_name_of(&o->group, job->input);
        if (outputs->groups[i] == NULL) {
            outputs->groups[i] = text_copy("");
            first = none++ == 0 ? job->input : first;
        }
        job->group = outputs->groups[i];
    }
    if (none > 0 && reports && !o->quiet)
        group_name_report(&o->group, o->command, none, outputs->n, first);
}

/* ---- The list -------------------------------------------------------------------------------- */

typedef struct Entry {
    const char *name; /* or a pattern */
    bool found;       /* an input has it */
} Entry;

typedef struct Only {
    char *text;   /* owned */
    Entry *names; /* n_names without wildcards in ascending order; owned */
    Entry *globs; /* n_globs; owned */
    size_t n_names, n_globs;
} Only;

static void only_release(Only *only)
{
    free(only->text);
    free(only->names);
    free(only->globs);
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const Entry *)a)->name, ((const Entry *)b)->name);
}

/* Reads a file and a NUL behind it. NULL: errno. */
static char *read_text(const char *path, size_t *bytes)
{
    FILE *const file = fopen(path, "rbe");
    if (file == NULL)
        return NULL;
    size_t room = 1 << 16, n = 0;
    char *text = text_alloc(room + 1);
    for (size_t more; (more = fread(text + n, 1, room - n, file)) > 0;) {
        n += more;
        if (n < room)
            continue;
        char *const larger = text_alloc(2 * room + 1);
        memcpy(larger, text, n);
        free(text);
        text = larger;
        room *= 2;
    }
    const int cause = ferror(file) ? errno : 0;
    fclose(file);
    if (cause != 0) {
        free(text);
        errno = cause;
        return NULL;
    }
    text[n] = '\0';
    *bytes = n;
    return text;
}

/* Names end with NUL bytes where the list has one, else with lines. */
static bool read_list(const Options *o, Only *only)
{
    const char *const path = o->transform.only;
    size_t bytes, n = 1;
    *only = (Only){.text = read_text(path, &bytes)};
    if (only->text == NULL)
        return usage_error(o->command, "--only: %s: %s", path, strerror(errno));
    const char end = memchr(only->text, '\0', bytes) != NULL ? '\0' : '\n';
    for (size_t i = 0; i < bytes; i++)
        if (only->text[i] == end) {
            only->text[i] = '\0';
            n++;
        }
    only->names = text_alloc(n * sizeof *only->names);
    only->globs = text_alloc(n * sizeof *only->globs);
    for (const char *at = only->text; at < only->text + bytes; at += strlen(at) + 1)
        if (strpbrk(at, "*?[") != NULL)
            only->globs[only->n_globs++] = (Entry){.name = at};
        else if (*at != '\0')
            only->names[only->n_names++] = (Entry){.name = at};
    qsort(only->names, only->n_names, sizeof *only->names, compare_entries);
    return only->n_names + only->n_globs > 0 ||
           usage_error(o->command, "--only: %s holds no name", path);
}

static bool has_name(Only *only, const char *name)
{
    const Entry wanted = {.name = name};
    Entry *const entry =
        bsearch(&wanted, only->names, only->n_names, sizeof *only->names, compare_entries);
    if (entry != NULL)
        entry->found = true;
    return entry != NULL;
}

/* Entries with a slash are compared with the whole name, others with its last part, as those of
 * --include. All that match are marked. */
static bool holds(Only *only, const char *name)
{
    const char *const slash = strrchr(name, '/'), *const last = slash != NULL ? slash + 1 : name;
    bool found = has_name(only, name);
    if (slash != NULL && has_name(only, last))
        found = true;
    for (size_t i = 0; i < only->n_globs; i++) {
        Entry *const entry = &only->globs[i];
        const char *const what = strchr(entry->name, '/') != NULL ? name : last;
        if (strcmp(entry->name, what) != 0 && fnmatch(entry->name, what, 0) != 0)
            continue;
        entry->found = true;
        found = true;
    }
    return found;
}

static void count_missing(const Entry *entries, size_t n, size_t *missing, const char **first)
{
    for (size_t i = 0; i < n; i++)
        if (!entries[i].found && (i == 0 || strcmp(entries[i].name, entries[i - 1].name) != 0)) {
            *first = (*missing)++ == 0 ? entries[i].name : *first;
        }
}

static void report_missing(const Options *o, const Only *only)
{
    size_t missing = 0;
    const char *first = NULL;
    count_missing(only->names, only->n_names, &missing, &first);
    count_missing(only->globs, only->n_globs, &missing, &first);
    if (missing == 0 || o->quiet)
        return;
    char *const name = text_display(first);
    text_put_warning(stderr, o->command, "--only: %zu of the names in %s %s no input, such as %s",
                     missing, o->transform.only, missing == 1 ? "is" : "are", name);
    free(name);
}

static bool mark_measured(const Options *o, Outputs *outputs)
{
    Only only;
    size_t measured = 0;
    bool good = read_list(o, &only);
    for (size_t i = 0; good && i < outputs->n; i++) {
        ImgstatJob *const job = &outputs->jobs[i];
        job->only_mapped = !holds(&only, job->input);
        measured += !job->only_mapped;
    }
    if (good && measured == 0 && outputs->n > 0)
        good = usage_error(o->command, "--only: %s names none of the %zu inputs", o->transform.only,
                           outputs->n);
    if (good)
        report_missing(o, &only);
    only_release(&only);
    return good;
}

bool transfer_groups_set(const Options *o, Outputs *outputs, bool reports)
{
    if (o->group.text != NULL)
        set_groups(o, outputs, reports);
    return o->transform.only == NULL || mark_measured(o, outputs);
}
