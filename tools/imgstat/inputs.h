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

/* The inputs of a command, one window of some thousand after another: what is held does not grow
 * with their number. The names of one directory are held at a time, and those of the directories
 * that lead to it. */
typedef struct InputStream InputStream;

/* Reads nothing so far. */
InputStream *inputs_open(const Options *options);
/* Puts the next inputs in place of those of the window, in the order of inputs_collect. False: none
 * is left, and the window is empty. Pointers into the window are valid until the next call. */
bool inputs_next(InputStream *stream, InputList *window);
/* Makes the first input next. Not where one of them is standard input. */
void inputs_restart(InputStream *stream);
void inputs_close(InputStream *stream); /* accepts NULL */
/* The job of an input that leads to a file. Texts and source are the input's. */
ImgstatJob input_job(const Input *input);

#endif
