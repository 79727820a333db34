/* SPDX-License-Identifier: MIT */
/* inputs.h: the images that the command line names. */
#ifndef IMGSTAT_TOOLS_INPUTS_H
#define IMGSTAT_TOOLS_INPUTS_H

#include "options.h"

typedef struct Input {
    char *path;    /* owned; without the page */
    size_t below;  /* where in path the name begins that an output folder mirrors */
    char *problem; /* owned; NULL, or why this name leads to no file: a sentence naming it */
    char *pages;   /* owned; as ImgstatJob has them */
} Input;

typedef struct InputList {
    Input *items;
    size_t n, capacity;
} InputList;

/* Whether a name is "file[PAGES]" and no file has that very name; then *path and *pages, to be
 * freed.
 */
bool input_names_pages(const char *name, char **path, char **pages);
/* Whether pages are asked for, and only one of them. */
bool input_has_one_page(const Input *input);
/* Whether a path leads to a regular file: pipes and "-" can be read only once. */
bool input_is_file(const char *path);
/* Files, "file.tif[N]" (where no file has that very name), "-", and directories: their .png and
 * .tif files in order of their bytes, hidden ones left out. */
void inputs_collect(const Options *options, InputList *out);
void inputs_release(InputList *list);

#endif
