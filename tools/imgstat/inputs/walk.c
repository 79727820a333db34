/* SPDX-License-Identifier: MIT */
/* walk.c: walks a directory, sorted, with one directory of each depth in memory. */
#define _GNU_SOURCE
#include "inputs/walk.h"
#include "inputs/tar.h"
#include "text/text.h"

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

/* The entries of a directory: each is a byte with its type, its name and a NUL. */
typedef struct Level {
    char *path;
    char *entries; /* owned */
    size_t bytes, capacity;
    char **sorted; /* n of them, in `entries` */
    size_t n, next;
} Level;

struct Walk {
    const Options *options;
    size_t below;
    void *entered; /* with --recursive: a tree of the Folders that were entered */
    Level *levels; /* n_levels: from the directory that was named down to the one being read */
    size_t n_levels, capacity;
    bool warns;
    char *problem_path; /* of the directory that was named if it cannot be read, else NULL ... */
    int cause;          /* ... and why */
};

char *walk_problem(const char *path, const char *cause)
{
    char *const name = text_display(path);
    const size_t bytes = strlen(name) + strlen(cause) + 3;
    char *const sentence = text_alloc(bytes);
    snprintf(sentence, bytes, "%s: %s", name, cause);
    free(name);
    return sentence;
}

size_t walk_below(const char *directory)
{
    const size_t length = strlen(directory);
    return length + (directory[length - 1] != '/');
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

/* ---- What is wanted -------------------------------------------------------------------------- */

/* Patterns with a slash are compared with the whole name, others with its last part. */
static bool matches_one(const char *glob, const char *name)
{
    const char *const slash = strrchr(name, '/');
    const bool whole = strchr(glob, '/') != NULL || slash == NULL;
    return fnmatch(glob, whole ? name : slash + 1, 0) == 0;
}

static bool matches(const GlobList *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (matches_one(list->items[i], name))
            return true;
    return false;
}

bool walk_passes(const Options *o, const char *name, bool member, bool *asked)
{
    bool included = false;
    *asked = false;
    for (size_t i = 0; i < o->include.n; i++) {
        if (member && tar_is_named(o->include.items[i]))
            continue;
        *asked = true;
        included = included || matches_one(o->include.items[i], name);
    }
    return !matches(&o->exclude, name) && (!*asked || included);
}

/* Whether a file of a directory is an input. One that cannot be read is, if it was asked for: its
 * failure is reported. */
static bool is_wanted(const Walk *walk, const char *path)
{
    bool asked;
    return walk_passes(walk->options, path + walk->below, false, &asked) &&
           (imgstat_format_of_name(path) != NULL ||
            (asked && (access(path, R_OK) != 0 || imgstat_format_of_file(path) != NULL ||
                       tar_length(path) > 0)));
}

static bool is_left_out(const Options *o, const struct stat *info)
{
    return o->has_leave_out && o->leave_out_device == info->st_dev &&
           o->leave_out_inode == info->st_ino;
}

/* Whether a directory inside is walked as well. */
static bool is_entered(const Walk *walk, const char *path, const struct stat *info)
{
    return walk->options->recursive && !is_left_out(walk->options, info) &&
           !matches(&walk->options->exclude, path + walk->below);
}

/* ---- Directories entered once ---------------------------------------------------------------- */

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

static void warn_again(const Walk *walk, const char *path, const Folder *entered)
{
    if (!walk->warns || walk->options->quiet)
        return;
    char *const name = text_display(path), *const first = text_display(entered->path);
    text_put_warning(stderr, name, "leads to %s again, which is entered once", first);
    free(name);
    free(first);
}

/* Notes that this path leads to a directory, unless another does. */
static bool enter(Walk *walk, const char *path, const struct stat *info)
{
    Folder *const folder = text_alloc(sizeof *folder);
    *folder = (Folder){.device = info->st_dev, .inode = info->st_ino, .path = text_copy(path)};
    Folder *const *const place = tsearch(folder, &walk->entered, by_identity);
    if (place == NULL)
        text_no_memory();
    const bool is_new = *place == folder;
    if (!is_new) {
        warn_again(walk, path, *place);
        release_folder(folder);
    }
    return is_new;
}

static bool leads_there(const Walk *walk, const char *path, const struct stat *info)
{
    const Folder wanted = {.device = info->st_dev, .inode = info->st_ino};
    Folder *const *const place = tfind(&wanted, &walk->entered, by_identity);
    return place == NULL || strcmp((*place)->path, path) == 0; /* NULL: made meanwhile */
}

/* ---- Entries --------------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a + 1,
                  *(char *const *)b + 1); /* the same order in every locale */
}

static void add_entry(Level *level, const struct dirent *entry)
{
    const size_t bytes = strlen(entry->d_name) + 2;
    if (level->capacity - level->bytes < bytes) {
        const size_t capacity = 2 * (level->capacity + bytes) + 1000;
        char *const larger = text_alloc(capacity);
        memcpy(larger, level->entries != NULL ? level->entries : "", level->bytes);
        free(level->entries);
        level->entries = larger;
        level->capacity = capacity;
    }
    level->entries[level->bytes] = (char)entry->d_type;
    memcpy(level->entries + level->bytes + 1, entry->d_name, bytes - 1);
    level->bytes += bytes;
    level->n++;
}

static void release_level(Level *level)
{
    free(level->path);
    free(level->entries);
    free(level->sorted);
}

/* Reads the names of a directory, hidden ones left out; with `folders` only those that may be
 * directories. False: errno. */
static bool read_level(const char *path, bool folders, Level *out)
{
    *out = (Level){.path = NULL};
    DIR *const directory = opendir(path);
    if (directory == NULL)
        return false;
    const struct dirent *entry;
    while ((errno = 0, entry = readdir(directory)) != NULL) {
        const unsigned char type = entry->d_type;
        if (entry->d_name[0] != '.' &&
            (!folders || type == DT_DIR || type == DT_LNK || type == DT_UNKNOWN))
            add_entry(out, entry);
    }
    const int cause = errno;
    closedir(directory);
    if (cause != 0) {
        release_level(out);
        errno = cause;
        return false;
    }
    out->path = text_copy(path);
    out->sorted = text_alloc(out->n * sizeof *out->sorted);
    char *at = out->entries;
    for (size_t i = 0; i < out->n; i++, at += strlen(at + 1) + 2)
        out->sorted[i] = at;
    qsort(out->sorted, out->n, sizeof *out->sorted, by_bytes);
    return true;
}

/* ---- Which paths are entered ----------------------------------------------------------------- */

/* Paths of links that wait. */
typedef struct Links {
    char **paths;
    size_t n, capacity;
} Links;

static void keep_link(Links *links, char *path)
{
    links->paths = text_room(links->paths, links->n, &links->capacity, sizeof *links->paths);
    links->paths[links->n++] = path;
}

static bool is_link(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

/* Enters a directory and those inside; what cannot be read is reported when files are listed. */
static void enter_all(Walk *walk, const char *path, const struct stat *info, Links *links)
{
    Level level;
    if (!enter(walk, path, info) || !read_level(path, true, &level))
        return;
    for (size_t i = 0; i < level.n; i++) {
        char *const child = join(path, level.sorted[i] + 1);
        struct stat child_info;
        const bool entered = stat(child, &child_info) == 0 && S_ISDIR(child_info.st_mode) &&
                             is_entered(walk, child, &child_info);
        if (entered && is_link(child)) {
            keep_link(links, child);
            continue;
        }
        if (entered)
            enter_all(walk, child, &child_info, links);
        free(child);
    }
    release_level(&level);
}

static void plan(Walk *walk, const char *path, const struct stat *info)
{
    Links links = {.n = 0};
    enter_all(walk, path, info, &links);
    for (size_t i = 0; i < links.n; i++) { /* they may lead to more of them */
        struct stat link_info;
        if (stat(links.paths[i], &link_info) == 0)
            enter_all(walk, links.paths[i], &link_info, &links);
        free(links.paths[i]);
    }
    free(links.paths);
}

/* ---- The walk -------------------------------------------------------------------------------- */

/* Walks a directory next. Returns 0, or errno: its names cannot be read. */
static int descend(Walk *walk, const char *path)
{
    walk->levels = text_room(walk->levels, walk->n_levels, &walk->capacity, sizeof *walk->levels);
    if (!read_level(path, false, &walk->levels[walk->n_levels]))
        return errno;
    walk->n_levels++;
    return 0;
}

static void warn_of_link(const Walk *walk, const char *path, int cause)
{
    if (!walk->warns || walk->options->quiet)
        return;
    char *const name = text_display(path);
    text_put_warning(stderr, name, "is a link that cannot be followed: %s", strerror(cause));
    free(name);
}

/* What cannot be looked at and is not named like an image. It may be a directory, and what that
 * holds is not left out unsaid. Returns 0, or errno if it is a problem: a link to nothing is none.
 */
static int why_not_entered(const Walk *walk, unsigned char type, const char *path, int cause)
{
    if (!walk->options->recursive || matches(&walk->options->exclude, path + walk->below))
        return 0;
    if (type == DT_DIR || (cause != ENOENT && cause != ENOTDIR && cause != ELOOP))
        return cause;
    if (is_link(path))
        warn_of_link(walk, path, cause);
    return 0;
}

/* What an entry gives: a file, a problem, or with false nothing, perhaps after descending. */
static bool visit(Walk *walk, unsigned char type, char *path, WalkItem *out)
{
    struct stat info;
    *out = (WalkItem){.path = path};
    if (type == DT_REG)
        return is_wanted(walk, path);
    const int cause = stat(path, &info) == 0 ? 0 : errno;
    if (cause == 0 && S_ISDIR(info.st_mode)) {
        if (is_entered(walk, path, &info) && leads_there(walk, path, &info))
            out->cause = descend(walk, path);
    } else if (cause != 0 && (type == DT_DIR || !is_wanted(walk, path))) {
        out->cause = why_not_entered(walk, type, path, cause);
    } else if (cause != 0 || S_ISREG(info.st_mode)) {
        return is_wanted(walk, path); /* a dangling link named so is reported when it is opened */
    }
    if (out->cause != 0)
        out->problem = walk_problem(path, strerror(out->cause));
    return out->problem != NULL;
}

Walk *walk_open(const Options *options, const char *path, bool warns)
{
    Walk *const walk = text_alloc(sizeof *walk);
    *walk = (Walk){.options = options, .below = walk_below(path), .warns = warns};
    struct stat info;
    if (options->recursive && stat(path, &info) == 0)
        plan(walk, path, &info);
    walk->cause = descend(walk, path);
    if (walk->cause != 0)
        walk->problem_path = text_copy(path);
    return walk;
}

bool walk_next(Walk *walk, WalkItem *out)
{
    if (walk->problem_path != NULL) {
        *out = (WalkItem){.path = walk->problem_path,
                          .problem = walk_problem(walk->problem_path, strerror(walk->cause)),
                          .cause = walk->cause};
        walk->problem_path = NULL;
        return true;
    }
    while (walk->n_levels > 0) {
        Level *const level = &walk->levels[walk->n_levels - 1];
        if (level->next == level->n) {
            release_level(level);
            walk->n_levels--;
            continue;
        }
        const char *const entry = level->sorted[level->next++];
        char *const path = join(level->path, entry + 1);
        if (visit(walk, (unsigned char)*entry, path, out))
            return true;
        free(path);
    }
    return false;
}

void walk_close(Walk *walk)
{
    if (walk == NULL)
        return;
    while (walk->n_levels > 0)
        release_level(&walk->levels[--walk->n_levels]);
    free(walk->levels);
    tdestroy(walk->entered, release_folder);
    free(walk->problem_path);
    free(walk);
}
