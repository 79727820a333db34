/* SPDX-License-Identifier: MIT */
/* inputs.c: takes names from the command line, lists and directories, and page numbers off names.
 */
#define _GNU_SOURCE
#include "inputs.h"
#include "name_list.h"
#include "option_value.h"
#include "status.h"
#include "text.h"
#include "walk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WINDOW = 8192 }; /* inputs: the end of a window, where threads wait, costs nothing then */

struct InputStream {
    const Options *options;
    InputPart part;
    bool warns;
    size_t next;       /* of the names of the command line */
    NameReader reader; /* of the others */
    size_t listed;     /* names that were taken from there */
    Walk *walk;        /* of the directory that is walked; NULL: none */
    char *directory;   /* its name, and how many inputs it gave */
    size_t found;
    bool walked; /* a directory came */
    bool ended;
    uint64_t before; /* weight of what came before the next input */
    size_t given;    /* inputs */
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

ImgstatJob input_job(const Input *input)
{
    return (ImgstatJob){.input = input->path, .pages = input->pages};
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
    }
    free(stream->directory);
    stream->directory = NULL;
    return none;
}

static bool next_of_all(InputStream *stream, Input *out)
{
    const char *name;
    struct stat info;
    for (;;) {
        if (stream->walk != NULL && next_of_directory(stream, out))
            return true;
        if (stream->walk != NULL)
            continue;
        name = next_name(stream);
        if (name == NULL)
            return false;
        const bool standard = strcmp(name, "-") == 0;
        if (standard || stat(name, &info) != 0 || !S_ISDIR(info.st_mode))
            break;
        stream->walk = walk_open(stream->options, name, stream->warns);
        stream->directory = text_copy(name);
        stream->found = 0;
        stream->walked = true;
    }
    char *path = NULL, *pages = NULL;
    if (strcmp(name, "-") != 0 && input_names_pages(name, &path, &pages)) {
        *out = input_of(path);
        out->pages = pages;
    } else {
        *out = input_of(text_copy(name)); /* opening what is not there gives the cause */
    }
    return true;
}

static uint64_t weight_of(const Input *input)
{
    struct stat info;
    const bool known = input->problem == NULL && strcmp(input->path, "-") != 0 &&
                       stat(input->path, &info) == 0 && S_ISREG(info.st_mode);
    return INPUT_WEIGHT + (known ? (uint64_t)info.st_size : 0);
}

uint32_t input_part_of(const InputPart *part, uint64_t before)
{
    const uint64_t at =
        part->weight > 0 ? (uint64_t)((unsigned __int128)before * part->parts / part->weight) : 0;
    return at < part->parts ? (uint32_t)at + 1 : part->parts; /* files may have grown meanwhile */
}

bool inputs_next_one(InputStream *stream, Input *out, uint64_t *weight)
{
    while (!stream->ended && next_of_all(stream, out)) {
        const bool parts = stream->part.parts > 0;
        const uint64_t own = parts || weight != NULL ? weight_of(out) : 0;
        const uint32_t part = parts ? input_part_of(&stream->part, stream->before) : 0;
        stream->before += own;
        stream->ended = part > stream->part.part;
        if (part == stream->part.part) {
            if (out->pages == NULL && stream->options->pages != NULL)
                out->pages = text_copy(stream->options->pages);
            if (weight != NULL)
                *weight = own;
            stream->given++;
            return true;
        }
        input_release(out);
    }
    stream->ended = true;
    return false;
}

/* ---- Many ------------------------------------------------------------------------------------ */

static void add(InputList *list, const Input *input)
{
    if (list->n == list->capacity) {
        const size_t capacity = list->capacity > 0 ? 2 * list->capacity : 16;
        Input *const items = text_alloc(capacity * sizeof *items);
        if (list->n > 0)
            memcpy(items, list->items, list->n * sizeof *items);
        free(list->items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n++] = *input;
}

static void fill(InputStream *stream, InputList *list, size_t most)
{
    Input input;
    for (size_t i = 0; i < list->n; i++)
        input_release(&list->items[i]);
    list->n = 0;
    while (list->n < most && inputs_next_one(stream, &input, NULL))
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
    if (stream->ended)
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

void inputs_close(InputStream *stream)
{
    if (stream == NULL)
        return;
    walk_close(stream->walk);
    name_reader_release(&stream->reader);
    free(stream->directory);
    free(stream);
}

void input_release(Input *input)
{
    free(input->path);
    free(input->pages);
    free(input->problem);
}

void inputs_release(InputList *list)
{
    for (size_t i = 0; i < list->n; i++)
        input_release(&list->items[i]);
    free(list->items);
    *list = (InputList){.n = 0};
}
