/* SPDX-License-Identifier: MIT */
/* record_files.c: loads saved records and merges them one after another. The shards of a set are
 * kept apart from all else until the set is complete, so that the order of files does not count. */
#include "measure/record_files.h"
#include "options/name_list.h"
#include "text/status.h"
#include "text/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool complain(const ImgstatError *error)
{
    fprintf(stderr, "%s%s\n", error->file_bytes == 0 ? "imgstat: " : "", error->message);
    status_raise(STATUS_FAILED);
    return false;
}

static bool complain_of(const char *path, const char *cause, int status)
{
    char *const name = text_display(path);
    fprintf(stderr, "%s: %s\n", name, cause);
    free(name);
    status_raise(status);
    return false;
}

/* What shards of one set hold together; n is 0 of all that is complete or was never in shards. */
typedef struct Part {
    ImgstatDataset *dataset; /* owned; NULL: all shards were there, and went into the first part */
    uint32_t n;
    uint8_t set[16];
} Part;

/* The first part has no shards. */
typedef struct Parts {
    Part *list; /* owned */
    size_t n;
    size_t at; /* that of the file before, to which the next is likely to belong */
} Parts;

static ImgstatDataset *new_dataset(void)
{
    ImgstatDataset *made;
    ImgstatError error;
    if (imgstat_dataset_create(&made, &error) != IMGSTAT_OK)
        text_no_memory();
    return made;
}

static bool complain_of_merge(const char *path, ImgstatResult result, const ImgstatError *error)
{
    if (result == IMGSTAT_ERR_FORMAT && strcmp(path, "-") != 0 &&
        imgstat_format_of_file(path) != NULL)
        return complain_of(path, "is an image and no record; images and records are not mixed",
                           STATUS_USAGE);
    return result == IMGSTAT_OK || complain(error);
}

/* Finds or adds the part that a file belongs to. */
static Part *part_of(Parts *parts, ImgstatDataset *dataset)
{
    ImgstatAccount account;
    imgstat_dataset_account(dataset, &account);
    for (parts->at = 0; parts->at < parts->n; parts->at++) {
        Part *const part = &parts->list[parts->at];
        if (part->n == account.shards && memcmp(part->set, account.set, sizeof part->set) == 0)
            return part;
    }
    Part *const list = text_alloc((parts->n + 1) * sizeof *list);
    memcpy(list, parts->list, parts->n * sizeof *list);
    free(parts->list);
    parts->list = list;
    list[parts->n] = (Part){.dataset = new_dataset(), .n = account.shards};
    memcpy(list[parts->n].set, account.set, sizeof account.set);
    return &list[parts->n++];
}

/* Puts a set with all shards to what is complete. */
static bool complete(Parts *parts, Part *part)
{
    ImgstatAccount account;
    ImgstatError error;
    if (part->n == 0)
        return true;
    imgstat_dataset_account(part->dataset, &account);
    if (account.shards > 0)
        return true;
    const ImgstatResult result =
        imgstat_dataset_merge(parts->list[0].dataset, part->dataset, &error);
    imgstat_dataset_destroy(part->dataset);
    part->dataset = NULL;
    return result == IMGSTAT_OK || complain(&error);
}

/* Whether a file gives its bytes more than once. */
static bool is_regular(const char *path)
{
    struct stat info;
    return strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool add_file(Parts *parts, const char *path)
{
    ImgstatDataset *from = NULL;
    ImgstatError error;
    Part *part = &parts->list[parts->at];
    ImgstatResult result = IMGSTAT_ERR_ARG;
    /* In less time, if the file belongs to this part; others are refused. */
    if (part->dataset != NULL && imgstat_dataset_records(part->dataset) > 0 && is_regular(path))
        result = imgstat_dataset_merge_file(part->dataset, path, 0, &error);
    if (result != IMGSTAT_ERR_ARG)
        return complain_of_merge(path, result, &error) && complete(parts, part);
    result = imgstat_dataset_load(path, 0, &from, &error);
    if (result == IMGSTAT_OK) {
        part = part_of(parts, from);
        if (part->dataset != NULL)
            result = imgstat_dataset_merge(part->dataset, from, &error);
    }
    imgstat_dataset_destroy(from);
    if (result == IMGSTAT_OK && part->dataset == NULL)
        return complain_of(path, "is a shard of a set that is complete without it", STATUS_FAILED);
    return complain_of_merge(path, result, &error) && complete(parts, part);
}

static int is_record(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 4 && strcmp(entry->d_name + length - 4, ".rec") == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool add_directory(Parts *parts, const char *folder)
{
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, is_record, by_bytes);
    if (n <= 0)
        return complain_of(folder, n < 0 ? strerror(errno) : "no .rec file in this directory",
                           STATUS_FAILED);
    bool good = true;
    for (int i = 0; i < n; i++) {
        const size_t bytes = strlen(folder) + strlen(entries[i]->d_name) + 2;
        char *const path = text_alloc(bytes);
        const bool slash = folder[strlen(folder) - 1] == '/';
        snprintf(path, bytes, "%s%s%s", folder, slash ? "" : "/", entries[i]->d_name);
        good = good && add_file(parts, path);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return good;
}

static bool add(Parts *parts, const char *name)
{
    struct stat info;
    if (strcmp(name, "-") != 0 && stat(name, &info) == 0 && S_ISDIR(info.st_mode))
        return add_directory(parts, name);
    return add_file(parts, name);
}

/* "3, 5 and 2 more of 16 shards are missing" */
static bool check_shards(const char *name, ImgstatDataset *dataset)
{
    enum { NAMED = 5 };
    ImgstatAccount account;
    imgstat_dataset_account(dataset, &account);
    const uint32_t missing = account.shards - account.n_done;
    if (account.shards == 0)
        return true;
    char *const shown = text_display(name);
    fprintf(stderr, "%s: of %u shards", shown, (unsigned)account.shards);
    free(shown);
    uint32_t named = 0;
    for (uint32_t k = 0; k < account.shards && named < NAMED; k++)
        if (!(account.done[k / 8] >> (k % 8) & 1))
            fprintf(stderr, "%s %u", named++ > 0 ? "," : "", (unsigned)k + 1);
    if (missing > named)
        fprintf(stderr, " and %u more", (unsigned)(missing - named));
    fprintf(stderr, " %s missing; 'imgstat merge --partial' does without\n",
            missing > 1 ? "are" : "is");
    status_raise(STATUS_FAILED);
    return false;
}

/* Gives what was merged, if no shard is missing or none needs to be there; NULL: one does. */
static ImgstatDataset *take(Parts *parts, const char *name, bool partial)
{
    ImgstatDataset *const all = parts->list[0].dataset;
    ImgstatError error;
    bool good = true;
    for (size_t i = 1; good && i < parts->n; i++) {
        const Part *const part = &parts->list[i];
        if (part->dataset == NULL)
            continue;
        good = partial ? imgstat_dataset_merge(all, part->dataset, &error) == IMGSTAT_OK ||
                             complain(&error)
                       : check_shards(name, part->dataset);
    }
    if (good)
        parts->list[0].dataset = NULL;
    return good ? all : NULL;
}

static Parts new_parts(void)
{
    Parts parts = {.list = text_alloc(sizeof *parts.list), .n = 1};
    parts.list[0] = (Part){.dataset = new_dataset()};
    return parts;
}

static void release(Parts *parts)
{
    for (size_t i = 0; i < parts->n; i++)
        imgstat_dataset_destroy(parts->list[i].dataset);
    free(parts->list);
}

ImgstatDataset *record_files_merge(const Options *o)
{
    Parts parts = new_parts();
    NameReader reader = {0};
    const char *name;
    int cause = 0;
    bool good = true;
    for (size_t i = 0; good && i < o->n_names; i++)
        good = add(&parts, o->names[i]);
    for (size_t i = 0; good && i < o->n_list; i++) {
        name = name_list_next(o, &reader, &cause);
        good = name != NULL ? add(&parts, name)
                            : complain_of(o->files0_from,
                                          cause != 0 ? strerror(cause) : "is shorter than before",
                                          STATUS_FAILED);
    }
    name_reader_release(&reader);
    name = o->n_names == 1 && o->n_list == 0 ? o->names[0] : o->command;
    ImgstatDataset *const all = good ? take(&parts, name, o->partial) : NULL;
    release(&parts);
    return all;
}

ImgstatDataset *record_file_load(const char *path)
{
    Parts parts = new_parts();
    ImgstatDataset *const all = add_file(&parts, path) ? take(&parts, path, false) : NULL;
    release(&parts);
    return all;
}
