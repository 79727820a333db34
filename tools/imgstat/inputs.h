/* SPDX-License-Identifier: MIT */
/* inputs.h: the images that the command line names. */
#ifndef IMGSTAT_TOOLS_INPUTS_H
#define IMGSTAT_TOOLS_INPUTS_H

#include "tar.h"

typedef struct Input {
    char *path;        /* owned; without the page */
    size_t below;      /* where in path the name begins that an output folder mirrors */
    char *problem;     /* owned; NULL, or why this name leads to no file: a sentence naming it */
    char *pages;       /* owned; as ImgstatJob has them */
    TarMember *member; /* owned; NULL: a file; else "a.tar/b.png", and path is but a name */
    size_t tar_length; /* of "a.tar" in path where an output folder mirrors the archive; else 0 */
    uint64_t weight;   /* INPUT_WEIGHT and the bytes of its file; 0: not known */
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
/* The job of an input that leads to an image. What it points to is the input's. */
ImgstatJob input_job(const Input *input);
/* Opens the file or member of a job. */
ImgstatResult input_open(const ImgstatJob *job, const ImgstatOpen *how, ImgstatFile **out,
                         ImgstatError *err);
/* Whether it can be opened more than once. */
bool input_is_readable_again(const ImgstatJob *job);

/* The inputs of a command, one window after another: what is held does not grow with their number,
 * but for what walk.h says of directories. Files, "file.tif[N]" (where no file has that very name),
 * "-", directories: their .png and .tif files in order of their bytes, hidden ones left out; tar
 * archives: such files in the order in which they lie there, and "a.tar/b.png". */
typedef struct InputStream InputStream;

/* A part of the inputs: those before which between (part - 1) / parts and part / parts of the
 * weight of all comes. parts 0: all inputs. */
typedef struct InputPart {
    uint32_t part, parts;
    uint64_t weight;    /* of all inputs */
    uint8_t set[16];    /* names all inputs in so many parts */
    const bool *wanted; /* NULL, or several parts: wanted[k] of part k, and `part` is not used */
} InputPart;

/* The part that an input is of, counted from 1. before: the weight of those before it. */
uint32_t input_part_of(const InputPart *part, uint64_t before);

/* Reads nothing so far. warns: reports links to directories that are entered once. */
InputStream *inputs_open(const Options *options, InputPart part, bool warns);
/* Gives the inputs of another part from here on. Names are read on where it comes after all that
 * was given, else from the first one again. */
void inputs_turn_to(InputStream *stream, InputPart part);
/* Puts the next inputs, some thousand, in place of those of the window. False: none is left, and
 * the window is empty. What they point to is valid until the next call. */
bool inputs_next(InputStream *stream, InputList *window);
/* Puts all inputs that are left into the list. */
void inputs_collect(InputStream *stream, InputList *out);
/* Gives one input. input_release releases it. */
bool inputs_next_one(InputStream *stream, Input *out);
/* Gives one input, an archive as a whole. weighs: and its weight. */
bool inputs_next_whole(InputStream *stream, bool weighs, Input *out);
/* The number of inputs of the whole stream, as far as it is known: false where directories may
 * follow. */
bool inputs_count(const InputStream *stream, size_t *n);
void inputs_close(InputStream *stream); /* accepts NULL */

enum { INPUT_WEIGHT = 4096 }; /* what opening a file costs, in bytes, about */

void input_release(Input *input);
void inputs_release(InputList *list);

#endif
