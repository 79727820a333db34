/* SPDX-License-Identifier: MIT */
/* record_files.c: loads saved records and merges them one after another. */
#include "record_files.h"
#include "name_list.h"
#include "status.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool complain(const char *sentence)
{
    fprintf(stderr, "%s\n", sentence);
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

static bool add_file(ImgstatDataset *all, const char *path)
{
    ImgstatError error;
    const ImgstatResult result = imgstat_dataset_merge_file(all, path, 0, &error);
    if (result == IMGSTAT_ERR_FORMAT && strcmp(path, "-") != 0 &&
        imgstat_format_of_file(path) != NULL)
        return complain_of(path, "is an image and no record; images and records are not mixed",
                           STATUS_USAGE);
    return result == IMGSTAT_OK || complain(error.message);
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

static bool add_directory(ImgstatDataset *all, const char *folder)
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
        good = good && add_file(all, path);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return good;
}

static bool add(ImgstatDataset *all, const char *name)
{
    struct stat info;
    if (strcmp(name, "-") != 0 && stat(name, &info) == 0 && S_ISDIR(info.st_mode))
        return add_directory(all, name);
    return add_file(all, name);
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

ImgstatDataset *record_files_merge(const Options *o)
{
    ImgstatDataset *all;
    ImgstatError error;
    NameReader reader = {0};
    const char *name;
    int cause = 0;
    bool good = true;
    if (imgstat_dataset_create(&all, &error) != IMGSTAT_OK)
        text_no_memory();
    for (size_t i = 0; good && i < o->n_names; i++)
        good = add(all, o->names[i]);
    for (size_t i = 0; good && i < o->n_list; i++) {
        name = name_list_next(o, &reader, &cause);
        good = name != NULL ? add(all, name)
                            : complain_of(o->files0_from,
                                          cause != 0 ? strerror(cause) : "is shorter than before",
                                          STATUS_FAILED);
    }
    name_reader_release(&reader);
    if (good && !o->partial)
        good = check_shards(o->n_names == 1 && o->n_list == 0 ? o->names[0] : o->command, all);
    if (good)
        return all;
    imgstat_dataset_destroy(all);
    return NULL;
}

ImgstatDataset *record_file_load(const char *path)
{
    ImgstatDataset *all;
    ImgstatError error;
    if (imgstat_dataset_create(&all, &error) != IMGSTAT_OK)
        text_no_memory();
    if (add_file(all, path) && check_shards(path, all))
        return all;
    imgstat_dataset_destroy(all);
    return NULL;
}
