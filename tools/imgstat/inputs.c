/* SPDX-License-Identifier: MIT */
/* inputs.c: walks directories and takes page numbers off names. */
#define _GNU_SOURCE
#include "inputs.h"
#include "text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory that was entered. */
typedef struct Folder {
    dev_t device;
    ino_t inode;
    char *path;
} Folder;

/* Links to directories are entered after everything else, and no directory is entered twice: links
 * in a circle end, and no image is listed twice. */
typedef struct Walk {
    const Options *options;
    InputList *list;
    size_t below;  /* where in a path the name begins that patterns are compared with */
    void *entered; /* a tree of Folder */
    char **links;
    size_t n_links, capacity;
} Walk;

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
    *input =
        (Input){.path = text_copy(path), .below = slash != NULL ? (size_t)(slash + 1 - path) : 0};
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

static bool is_left_out(const Options *o, const struct stat *info)
{
    return o->has_leave_out && o->leave_out_device == info->st_dev &&
           o->leave_out_inode == info->st_ino;
}

static int by_identity(const void *a, const void *b)
{
    const Folder *const x = a, *const y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->inode == y->inode ? 0 : x->inode < y->inode ? -1 : 1;
}

static void release_folder(void *folder)
{
    free(((Folder *)folder)->path);
    free(folder);
}

static void warn_again(const Options *o, const char *path, const Folder *entered)
{
    if (o->quiet)
        return;
    char *const name = text_display(path), *const first = text_display(entered->path);
    fprintf(stderr, "%s: warning: leads to %s again, which is entered once\n", name, first);
    free(name);
    free(first);
}

static bool enter(Walk *walk, const char *path, const struct stat *info)
{
    Folder *const folder = text_alloc(sizeof *folder);
    *folder = (Folder){.device = info->st_dev, .inode = info->st_ino, .path = text_copy(path)};
    Folder *const *const place = tsearch(folder, &walk->entered, by_identity);
    const bool is_new = place != NULL && *place == folder;
    if (place == NULL)
        add_problem(walk->list, path, strerror(ENOMEM));
    else if (!is_new)
        warn_again(walk->options, path, *place);
    if (!is_new)
        release_folder(folder);
    return is_new;
}

static void keep_link(Walk *walk, const char *path)
{
    if (walk->n_links == walk->capacity) {
        const size_t capacity = walk->capacity > 0 ? 2 * walk->capacity : 16;
        char **const links = text_alloc(capacity * sizeof *links);
        if (walk->n_links > 0)
            memcpy(links, walk->links, walk->n_links * sizeof *links);
        free(walk->links);
        walk->links = links;
        walk->capacity = capacity;
    }
    walk->links[walk->n_links++] = text_copy(path);
}

static bool is_link(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

/* Patterns with a slash are compared with the whole name, others with its last part. */
static bool matches(const GlobList *list, const char *name)
{
    const char *const slash = strrchr(name, '/');
    for (size_t i = 0; i < list->n; i++) {
        const char *const glob = list->items[i];
        const bool whole = strchr(glob, '/') != NULL || slash == NULL;
        if (fnmatch(glob, whole ? name : slash + 1, 0) == 0)
            return true;
    }
    return false;
}

/* Whether a file of a directory is an input. One that cannot be read is, if it was asked for: its
 * failure is reported. */
static bool is_wanted(const Walk *walk, const char *path)
{
    const Options *const o = walk->options;
    const char *const name = path + walk->below;
    if (matches(&o->exclude, name) || (o->include.n > 0 && !matches(&o->include, name)))
        return false;
    return imgstat_format_of_name(path) != NULL ||
           (o->include.n > 0 && (access(path, R_OK) != 0 || imgstat_format_of_file(path) != NULL));
}

/* Adds the images of a directory and of those inside, less what links lead to. */
static void walk_directory(Walk *walk, const char *path, const struct stat *info)
{
    const Options *const o = walk->options;
    if (!enter(walk, path, info))
        return;
    struct dirent **entries = NULL;
    const int n = scandir(path, &entries, not_hidden, by_bytes);
    if (n < 0) {
        add_problem(walk->list, path, strerror(errno));
        return;
    }
    for (int i = 0; i < n; i++) {
        char *const child = join(path, entries[i]->d_name);
        struct stat child_info;
        const bool known = stat(child, &child_info) == 0;
        if (known && S_ISDIR(child_info.st_mode)) {
            const bool entered = o->recursive && !is_left_out(o, &child_info) &&
                                 !matches(&o->exclude, child + walk->below);
            if (entered && is_link(child))
                keep_link(walk, child);
            else if (entered)
                walk_directory(walk, child, &child_info);
        } else if (!known && o->recursive && entries[i]->d_type == DT_DIR &&
                   !matches(&o->exclude, child + walk->below)) {
            add_problem(walk->list, child,
                        strerror(errno)); /* what it holds is not left out unsaid */
        } else if ((!known || S_ISREG(child_info.st_mode)) && is_wanted(walk, child)) {
            add(walk->list, child); /* a dangling link named so is reported when it is opened */
        }
        free(child);
        free(entries[i]);
    }
    free(entries);
}

/* By the bytes of the names that a path consists of. */
static int by_names(const void *a, const void *b)
{
    const char *x = ((const Input *)a)->path, *y = ((const Input *)b)->path;
    while (*x == *y && *x != '\0') {
        x++;
        y++;
    }
    const int left = *x == '/' ? 1 : (unsigned char)*x + (*x != '\0');
    const int right = *y == '/' ? 1 : (unsigned char)*y + (*y != '\0');
    return left - right;
}

/* Adds what a directory holds; returns how many entries it added. */
static size_t collect_directory(const Options *o, const char *path, const struct stat *info,
                                InputList *list)
{
    const size_t length = strlen(path);
    Walk walk = {.options = o, .list = list, .below = length + (path[length - 1] != '/')};
    const size_t before = list->n;
    walk_directory(&walk, path, info);
    for (size_t i = 0; i < walk.n_links; i++) { /* they may lead to more of them */
        struct stat link_info;
        if (stat(walk.links[i], &link_info) == 0)
            walk_directory(&walk, walk.links[i], &link_info);
        free(walk.links[i]);
    }
    if (walk.n_links > 0)
        qsort(list->items + before, list->n - before, sizeof *list->items, by_names);
    free(walk.links);
    tdestroy(walk.entered, release_folder);
    return list->n - before;
}

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

static void collect_name(const Options *o, const char *name, InputList *list)
{
    struct stat info;
    char *path = NULL, *pages = NULL;
    if (strcmp(name, "-") == 0) {
        add(list, name);
    } else if (stat(name, &info) == 0) {
        if (!S_ISDIR(info.st_mode))
            add(list, name);
        else if (collect_directory(o, name, &info, list) == 0)
            add_problem(list, name, why_none(o));
    } else if (input_names_pages(name, &path, &pages)) {
        add(list, path)->pages = pages;
        free(path);
    } else {
        add(list, name); /* opening it gives the cause */
    }
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
        for (size_t k = before; options->pages != NULL && k < out->n; k++)
            if (out->items[k].pages == NULL)
                out->items[k].pages = text_copy(options->pages);
    }
}

void inputs_release(InputList *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->items[i].path);
        free(list->items[i].pages);
        free(list->items[i].problem);
    }
    free(list->items);
    *list = (InputList){0};
}
