/* SPDX-License-Identifier: MIT */
/* inputs.c: takes names from the command line, lists and directories, and page numbers off names.
 */
#define _GNU_SOURCE
#include "inputs/inputs.h"
#include "inputs/walk.h"
#include "options/name_list.h"
#include "options/value.h"
#include "text/status.h"
#include "text/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Inputs of a window: enough to choose a device by. Of `report`, threads wait at its end. */
enum { WINDOW = 8192 };

struct InputStream {
    const Options *options;
    InputPart part;
    bool warns;
    size_t next;       /* the index of the next name on the command line */
    NameReader reader; /* reads the names of --files0-from ... */
    size_t listed;     /* ... and has given so many */
    Walk *walk;        /* walks `directory`; NULL: no directory is being walked */
    char *directory;
    size_t found;      /* inputs that the directory gave */
    Tar *tar;          /* lists `archive`; NULL: no archive is being listed */
    Input archive;     /* as it was named */
    size_t tar_length; /* bytes of its path in that name; behind it is the member that is wanted */
    size_t members;    /* inputs that the archive gave */
    bool walked;       /* there was a directory or an archive */
    bool ended;
    uint64_t before;  /* weight of the inputs before the next one */
    uint32_t reached; /* the part that the latest input was in */
    Input held;       /* an input of a later part, which waits for it; path NULL: none */
    size_t given;     /* inputs that were returned */
    char *uncertain;  /* NULL, or the first input whose weight could not be looked up ... */
    int cause;        /* ... and why */
};

/* ---- Names ----------------------------------------------------------------------------------- */

/* "name[0,3-5]" -> "name" and "0,3-5"; false for anything else. */
static bool split_pages(const char *name, char **path, char **pages)
{
    const size_t length = strlen(name);
    if (length < 4 || name[length - 1] != ']')
        return false;
    size_t start = length - 1;
    while (start > 0 && strchr("0123456789,-.", name[start - 1]) != NULL)
        start--;
    if (start < 2 || start == length - 1 || name[start - 1] != '[')
        return false;
    *path = text_copy(name);
    (*path)[start - 1] = '\0';
    *pages = text_copy(name + start);
    (*pages)[length - 1 - start] = '\0';
    return true;
}

bool input_names_pages(const char *name, char **path, char **pages)
{
    struct stat info;
    return stat(name, &info) != 0 && split_pages(name, path, pages);
}

bool input_has_one_page(const Input *input)
{
    return input->pages != NULL && strpbrk(input->pages, ",-") == NULL;
}

bool input_is_file(const char *path)
{
    struct stat info;
    return strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

int input_cause_that_may_pass(int cause)
{
    static const int settled[] = {ENOENT, ENOTDIR,      EACCES, EPERM,
                                  ELOOP,  ENAMETOOLONG, EINVAL, EILSEQ};
    for (size_t i = 0; i < sizeof settled / sizeof settled[0]; i++)
        if (cause == settled[i])
            return 0;
    return cause;
}

bool input_stat(const char *path, struct stat *info)
{
    return (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, info) : stat(path, info)) == 0;
}

bool input_is_same_file(const char *input, const char *output)
{
    struct stat from, to;
    return input_stat(input, &from) && stat(output, &to) == 0 && from.st_dev == to.st_dev &&
           from.st_ino == to.st_ino;
}

const char *input_file(const Input *input)
{
    return input->member != NULL ? tar_member_archive(input->member) : input->path;
}

ImgstatJob input_job(const Input *input)
{
    return (ImgstatJob){.input = input->path,
                        .pages = input->pages,
                        .source = input->member != NULL ? tar_member_input(input->member) : NULL};
}

ImgstatResult input_open(const ImgstatJob *job, const ImgstatOpen *how, ImgstatFile **out,
                         ImgstatError *err)
{
    return job->source != NULL ? imgstat_file_open_input(job->input, job->source, how, out, err)
                               : imgstat_file_open(job->input, how, out, err);
}

bool input_is_readable_again(const ImgstatJob *job)
{
    return job->source != NULL || input_is_file(job->input);
}

/* ---- One after another ----------------------------------------------------------------------- */

static Input input_of(char *path)
{
    const char *const slash = strrchr(path, '/');
    return (Input){.path = path, .below = slash != NULL ? (size_t)(slash + 1 - path) : 0};
}

/* Why a directory holds no input. */
static const char *why_none(const Options *o)
{
    if (o->include.n + o->exclude.n > 0)
        return o->recursive ? "no image in this directory passes --include and --exclude"
                            : "no image in this directory itself passes --include and --exclude; "
                              "--recursive enters the ones inside";
    return o->recursive ? "no .png or .tif file in this directory"
                        : "no .png or .tif file in this directory itself; --recursive enters the "
                          "ones inside";
}

static const char *next_name(InputStream *stream)
{
    const Options *const o = stream->options;
    int cause;
    if (stream->next < o->n_names)
        return o->names[stream->next++];
    if (stream->listed == o->n_list)
        return NULL;
    const char *const name = name_list_next(o, &stream->reader, &cause);
    stream->listed++;
    if (name == NULL) { /* it has changed since it was checked */
        usage_error(o->command, "--files0-from: %s: %s", o->files0_from,
                    cause != 0 ? strerror(cause) : "is shorter than before");
        status_raise(STATUS_FAILED);
    }
    return name;
}

/* The next input of the directory that is walked; false: there is none. */
static bool next_of_directory(InputStream *stream, Input *out)
{
    WalkItem item;
    if (walk_next(stream->walk, &item)) {
        *out = input_of(item.path);
        out->problem = item.problem;
        out->cause = input_cause_that_may_pass(item.cause);
        if (item.problem == NULL)
            out->below = walk_below(stream->directory);
        stream->found++;
        return true;
    }
    walk_close(stream->walk);
    stream->walk = NULL;
    const bool none = stream->found == 0;
    if (none) {
        *out = input_of(text_copy(stream->directory));
        out->problem = walk_problem(stream->directory, why_none(stream->options));
        out->empty = true;
    }
    free(stream->directory);
    stream->directory = NULL;
    return none;
}

static bool is_record(const char *name)
{
    const char *const dot = strrchr(name, '.');
    return dot != NULL && strcmp(dot, ".rec") == 0 && imgstat_dataset_is_file(name);
}

/* What opening a file costs, and reading it. info: NULL where there is none. */
static uint64_t weight_of(const struct stat *info)
{
    return INPUT_WEIGHT + (info != NULL && S_ISREG(info->st_mode) ? (uint64_t)info->st_size : 0);
}

static bool next_of_all(InputStream *stream, Input *out)
{
    const char *name;
    struct stat info;
    bool known;
    int cause;
    for (;;) {
        if (stream->walk != NULL && next_of_directory(stream, out))
            return true;
        if (stream->walk != NULL)
            continue;
        name = next_name(stream);
        if (name == NULL)
            return false;
        errno = 0;
        known = strcmp(name, "-") != 0 && stat(name, &info) == 0;
        cause = known ? 0 : input_cause_that_may_pass(errno);
        if (!known || !S_ISDIR(info.st_mode))
            break;
        stream->walk = walk_open(stream->options, name, stream->warns);
        stream->directory = text_copy(name);
        stream->found = 0;
        stream->walked = true;
    }
    char *path = NULL, *pages = NULL;
    if (is_record(name)) {
        *out = input_of(text_copy(name));
        out->problem =
            walk_problem(name, "holds records, which are not mixed with images: 'imgstat "
                               "merge' reads them");
    } else if (!known && split_pages(name, &path, &pages)) {
        *out = input_of(path);
        out->pages = pages;
    } else {
        *out = input_of(text_copy(name)); /* opening what is not there gives the cause */
        out->weight = weight_of(known ? &info : NULL);
    }
    out->cause = cause;
    return true;
}

static void weigh(Input *input)
{
    struct stat info;
    const bool known = input->problem == NULL && stat(input->path, &info) == 0;
    if (input->problem == NULL && !known)
        input->cause = input_cause_that_may_pass(errno);
    input->weight = weight_of(known ? &info : NULL);
}

uint32_t input_part_of(const InputPart *part, uint64_t before)
{
    const uint64_t at =
        part->weight > 0 ? (uint64_t)((unsigned __int128)before * part->parts / part->weight) : 0;
    return at < part->parts ? (uint32_t)at + 1 : part->parts; /* files may have grown meanwhile */
}

/* The input that is held, or the next one. */
static bool take(InputStream *stream, bool weighs, Input *out)
{
    if (stream->held.path == NULL) {
        if (!next_of_all(stream, out))
            return false;
        if (weighs && out->weight == 0)
            weigh(out);
        if (weighs && out->cause != 0 && stream->uncertain == NULL) {
            stream->uncertain = text_copy(out->path);
            stream->cause = out->cause;
        }
        return true;
    }
    *out = stream->held;
    stream->held = (Input){.path = NULL};
    return true;
}

bool inputs_next_whole(InputStream *stream, bool weighs, Input *out)
{
    const bool parts = stream->part.parts > 0;
    const bool *const several = stream->part.wanted;
    while (!stream->ended && take(stream, weighs || parts, out)) {
        const uint32_t part = parts ? input_part_of(&stream->part, stream->before) : 0;
        stream->ended = several == NULL && part > stream->part.part;
        if (stream->ended) {
            stream->held = *out;
            break;
        }
        stream->before += out->weight;
        stream->reached = part;
        if (several != NULL ? several[part] : part == stream->part.part) {
            if (out->pages == NULL && stream->options->pages != NULL)
                out->pages = text_copy(stream->options->pages);
            return true;
        }
        input_release(out);
    }
    stream->ended = true;
    return false;
}

/* ---- Archives -------------------------------------------------------------------------------- */

/* "a.tar" and "b.png" are "a.tar/b.png". */
static Input member_of(const InputStream *stream, const TarItem *item)
{
    const Input *const archive = &stream->archive;
    const int length = (int)stream->tar_length;
    const bool whole = archive->path[length] == '\0';
    const size_t bytes = (size_t)length + strlen(item->name) + 2;
    char *const path = text_alloc(bytes);
    snprintf(path, bytes, "%.*s%s%s", length, archive->path, *item->name != '\0' ? "/" : "",
             item->name);
    Input input = input_of(path);
    if (whole)
        input.below = archive->below;
    input.tar_length = whole && *item->name != '\0' ? (size_t)length : 0;
    input.pages = archive->pages != NULL ? text_copy(archive->pages) : NULL;
    input.problem = item->cause != NULL ? walk_problem(path, item->cause) : NULL;
    input.member = item->member;
    return input;
}

static void close_archive(InputStream *stream)
{
    if (stream->tar == NULL)
        return;
    tar_close(stream->tar);
    stream->tar = NULL;
    input_release(&stream->archive);
}

/* The next input of the archive that is listed; false: there is none. */
static bool next_of_archive(InputStream *stream, Input *out)
{
    TarItem item;
    const bool whole = stream->archive.path[stream->tar_length] == '\0';
    const bool more = tar_next(stream->tar, &item);
    const bool none = !more && stream->members == 0;
    if (more) {
        *out = member_of(stream, &item);
        free(item.name);
        free(item.cause);
    } else if (none) {
        *out = input_of(text_copy(stream->archive.path));
        out->problem = walk_problem(out->path, whole ? "no image in this archive"
                                                     : "no such member in this archive");
        out->empty = whole;
    }
    stream->members++;
    if (!more)
        close_archive(stream);
    return more || none;
}

/* Begins to list an input that is an archive, or the member of one. False: it is none, or has a
 * problem. */
static bool open_archive(InputStream *stream, Input *input)
{
    const size_t length = input->problem == NULL ? tar_length(input->path) : 0;
    if (length == 0)
        return false;
    char *const path = text_copy(input->path), *cause = NULL;
    const bool whole = path[length] == '\0';
    path[length] = '\0';
    stream->tar = tar_open(stream->options, path, whole ? NULL : path + length + 1, &cause);
    if (cause != NULL)
        input->problem = walk_problem(path, cause);
    free(cause);
    free(path);
    if (stream->tar == NULL)
        return false;
    stream->archive = *input;
    stream->tar_length = length;
    stream->members = 0;
    stream->walked = true;
    return true;
}

bool inputs_next_one(InputStream *stream, Input *out)
{
    for (;;) {
        if (stream->tar != NULL && next_of_archive(stream, out))
            break;
        if (stream->tar != NULL)
            continue;
        if (!inputs_next_whole(stream, false, out))
            return false;
        if (!open_archive(stream, out))
            break;
    }
    stream->given++;
    return true;
}

/* ---- Many ------------------------------------------------------------------------------------ */

static void add(InputList *list, const Input *input)
{
    list->items = text_room(list->items, list->n, &list->capacity, sizeof *list->items);
    list->items[list->n++] = *input;
}

static void fill(InputStream *stream, InputList *list, size_t most)
{
    Input input;
    for (size_t i = 0; i < list->n; i++)
        input_release(&list->items[i]);
    list->n = 0;
    while (list->n < most && inputs_next_one(stream, &input))
        add(list, &input);
}

bool inputs_next(InputStream *stream, InputList *window)
{
    fill(stream, window, WINDOW);
    return window->n > 0;
}

void inputs_collect(InputStream *stream, InputList *out)
{
    *out = (InputList){.n = 0};
    fill(stream, out, SIZE_MAX);
}

bool inputs_count(const InputStream *stream, size_t *n)
{
    const Options *const o = stream->options;
    *n = stream->given;
    if (stream->ended && stream->tar == NULL)
        return true;
    *n += o->n_names - stream->next + o->n_list - stream->listed;
    return !stream->walked && stream->part.parts == 0;
}

InputStream *inputs_open(const Options *options, InputPart part, bool warns)
{
    InputStream *const stream = text_alloc(sizeof *stream);
    *stream = (InputStream){.options = options, .part = part, .warns = warns};
    return stream;
}

static void release(InputStream *stream)
{
    close_archive(stream);
    walk_close(stream->walk);
    name_reader_release(&stream->reader);
    free(stream->directory);
    free(stream->uncertain);
    input_release(&stream->held);
}

void inputs_turn_to(InputStream *stream, InputPart part)
{
    if (part.part <= stream->reached) {
        release(stream);
        *stream = (InputStream){.options = stream->options};
    }
    close_archive(stream); /* nobody took the rest of it */
    stream->part = part;
    stream->given = 0;
    stream->ended = false;
}

const char *inputs_uncertain(const InputStream *stream, int *cause)
{
    *cause = stream->cause;
    return stream->uncertain;
}

void inputs_close(InputStream *stream)
{
    if (stream == NULL)
        return;
    release(stream);
    free(stream);
}

void input_release(Input *input)
{
    free(input->path);
    free(input->pages);
    free(input->problem);
    tar_member_release(input->member);
}

void inputs_release(InputList *list)
{
    for (size_t i = 0; i < list->n; i++)
        input_release(&list->items[i]);
    free(list->items);
    *list = (InputList){.n = 0};
}
