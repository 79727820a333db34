/* SPDX-License-Identifier: MIT */
/* inputs.c: walks directories and takes page numbers off names. */
#include "inputs.h"
#include "encode.h"
#include "text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A directory being walked, and those around it: a link to one of them is a loop. */
typedef struct Walk {
    const struct Walk *parent;
    dev_t device;
    ino_t inode;
} Walk;

static char *copy(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    return memcpy(text_alloc(bytes), text, bytes);
}

static char *join(const char *directory, const char *name)
{
    const size_t length = strlen(directory);
    const char *const slash = length > 0 && directory[length - 1] == '/' ? "" : "/";
    const size_t bytes = length + strlen(name) + 2;
    char *const path = text_alloc(bytes);
    snprintf(path, bytes, "%s%s%s", directory, slash, name);
    return path;
}

static Input *add(InputList *list, const char *path)
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
    Input *const input = &list->items[list->n++];
    const char *const slash = strrchr(path, '/');
    *input = (Input){.path = copy(path), .below = slash != NULL ? (size_t)(slash + 1 - path) : 0};
    return input;
}

static void add_problem(InputList *list, const char *path, const char *cause)
{
    char *const name = text_display(path);
    const size_t bytes = strlen(name) + strlen(cause) + 3;
    char *const sentence = text_alloc(bytes);
    snprintf(sentence, bytes, "%s: %s", name, cause);
    free(name);
    add(list, path)->problem = sentence;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); /* not by locale: the same order everywhere */
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool is_loop(const Walk *walk, const struct stat *info)
{
    for (; walk != NULL; walk = walk->parent)
        if (walk->device == info->st_dev && walk->inode == info->st_ino)
            return true;
    return false;
}

static bool is_left_out(const Options *o, const struct stat *info)
{
    return o->has_leave_out && o->leave_out_device == info->st_dev &&
           o->leave_out_inode == info->st_ino;
}

/* Adds what path holds; returns how many entries it added. */
static size_t walk_directory(const Options *o, const char *path, const struct stat *info,
                             const Walk *parent, InputList *list)
{
    const Walk here = {.parent = parent, .device = info->st_dev, .inode = info->st_ino};
    const size_t before = list->n;
    struct dirent **entries = NULL;
    const int n = scandir(path, &entries, not_hidden, by_bytes);
    if (n < 0) {
        add_problem(list, path, strerror(errno));
        return 1;
    }
    for (int i = 0; i < n; i++) {
        char *const child = join(path, entries[i]->d_name);
        struct stat child_info;
        const bool known = stat(child, &child_info) == 0;
        if (known && S_ISDIR(child_info.st_mode)) {
            if (o->recursive && !is_loop(&here, &child_info) && !is_left_out(o, &child_info))
                walk_directory(o, child, &child_info, &here, list);
        } else if (!known && o->recursive && entries[i]->d_type == DT_DIR) {
            add_problem(list, child, strerror(errno)); /* what it holds is not left out unsaid */
        } else if (encode_format_of_path(entries[i]->d_name) != NULL &&
                   (!known || S_ISREG(child_info.st_mode))) {
            add(list, child); /* a dangling link named so is reported when it is opened */
        }
        free(child);
        free(entries[i]);
    }
    free(entries);
    return list->n - before;
}

/* "name[12]" -> "name" and 12; false for anything else. */
static bool split_page(const char *name, char **path, uint32_t *page)
{
    const size_t length = strlen(name);
    if (length < 4 || name[length - 1] != ']')
        return false;
    size_t start = length - 1;
    while (start > 0 && isdigit((unsigned char)name[start - 1]))
        start--;
    const size_t digits = length - 1 - start;
    if (start < 2 || name[start - 1] != '[' || digits == 0 || digits > 9)
        return false;
    *page = (uint32_t)strtoul(name + start, NULL, 10);
    *path = copy(name);
    (*path)[start - 1] = '\0';
    return true;
}

bool input_names_page(const char *name, char **path, uint32_t *page)
{
    struct stat info;
    return stat(name, &info) != 0 && split_page(name, path, page);
}

static void collect_name(const Options *o, const char *name, InputList *list)
{
    struct stat info;
    char *path = NULL;
    uint32_t page = 0;
    if (strcmp(name, "-") == 0) {
        add(list, name);
    } else if (stat(name, &info) == 0) {
        if (!S_ISDIR(info.st_mode))
            add(list, name);
        else if (walk_directory(o, name, &info, NULL, list) == 0)
            add_problem(list, name,
                        o->recursive ? "no .png or .tif file in this directory"
                                     : "no .png or .tif file in this directory itself; "
                                       "--recursive enters the ones inside");
    } else if (input_names_page(name, &path, &page)) {
        Input *const input = add(list, path);
        input->has_page = true;
        input->page = page;
        free(path);
    } else {
        add(list, name); /* opening it gives the cause */
    }
}

/* Files of a directory are named from there on. */
static void set_below(const char *name, InputList *list, size_t first)
{
    struct stat info;
    const size_t length = strlen(name);
    if (stat(name, &info) != 0 || !S_ISDIR(info.st_mode))
        return;
    for (size_t i = first; i < list->n; i++)
        if (list->items[i].problem == NULL)
            list->items[i].below = length + (name[length - 1] != '/');
}

void inputs_collect(const Options *options, InputList *out)
{
    *out = (InputList){0};
    for (size_t i = 0; i < options->n_names; i++) {
        const size_t before = out->n;
        collect_name(options, options->names[i], out);
        set_below(options->names[i], out, before);
        for (size_t k = before; options->has_page && k < out->n; k++) {
            if (!out->items[k].has_page) {
                out->items[k].has_page = true;
                out->items[k].page = options->page;
            }
        }
    }
}

void inputs_release(InputList *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->items[i].path);
        free(list->items[i].problem);
    }
    free(list->items);
    *list = (InputList){0};
}
