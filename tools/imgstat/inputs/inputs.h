/* SPDX-License-Identifier: MIT */
/* inputs.h: the images that the command line names. */
#ifndef IMGSTAT_TOOLS_INPUTS_INPUTS_H
#define IMGSTAT_TOOLS_INPUTS_INPUTS_H

#include "inputs/tar.h"

#include <sys/stat.h>

typedef struct Input {
    char *path;        /* owned; without pages */
    size_t below;      /* offset in path of the name that an output folder mirrors */
    char *problem;     /* owned; NULL, or why this name leads to no file: a sentence naming it */
    bool empty;        /* that problem: a folder or an archive without images */
    char *pages;       /* owned; as ImgstatJob.pages */
    TarMember *member; /* owned; NULL: a file; else "a.tar/b.png", and path is only a name */
    size_t
        tar_length;  /* length of "a.tar" in path if an output folder mirrors the archive; else 0 */
    uint64_t weight; /* INPUT_WEIGHT plus the bytes of its file; 0: not known */
    int cause;       /* 0, or errno: why it could not be looked at, which may pass */
} Input;

typedef struct InputList {
    Input *items;
    size_t n, capacity;
} InputList;

/* Whether a name is "file[PAGES]" and no file has exactly that name; then gives *path and *pages,
 * which the caller frees. */
bool input_names_pages(const char *name, char **path, char **pages);
/* Whether exactly one page is requested. */
bool input_has_one_page(const Input *input);
/* Whether a path leads to a regular file. Pipes and "-" can be read only once. */
bool input_is_file(const char *path);
/* Whether a path that could not be looked at may lead to something all the same: 0 for a cause that
 * says what is there, or that nothing is; else the cause. */
int input_cause_that_may_pass(int cause);
/* stat of an input, where "-" is standard input. */
bool input_stat(const char *path, struct stat *info);
/* Whether an input and an output are one file, which exists. */
bool input_is_same_file(const char *input, const char *output);
/* Returns the path of the file that an input lies in: its own, or that of its archive. */
const char *input_file(const Input *input);
/* Returns the job of an input that leads to an image. The input owns what it points to. */
ImgstatJob input_job(const Input *input);
/* Opens the file or member of a job. */
ImgstatResult input_open(const ImgstatJob *job, const ImgstatOpen *how, ImgstatFile **out,
                         ImgstatError *err);
/* Whether the file or member of a job can be opened more than once. */
bool input_is_readable_again(const ImgstatJob *job);

/* The inputs of a command, one window after another, so that memory does not grow with their number
 * (walk.h describes directories). Inputs are files, "file.tif[N]" (unless a file has exactly that
 * name), "-", directories (their .png and .tif files in the order of their bytes, without hidden
 * ones), tar archives (such files in the order of the archive), and "a.tar/b.png". */
typedef struct InputStream InputStream;

/* A part of the inputs: those before which between (part - 1) / parts and part / parts of the whole
 * weight lies. parts 0: all inputs. */
typedef struct InputPart {
    uint32_t part, parts;
    uint64_t weight; /* weight of all inputs */
    uint8_t set[16]; /* identifies all inputs in so many parts */
    const bool
        *wanted; /* NULL, or several parts: wanted[k] selects part k, and `part` is not used */
} InputPart;

/* Returns the part of an input, counted from 1. before: weight of the inputs before it. */
uint32_t input_part_of(const InputPart *part, uint64_t before);

/* Opens the stream, and reads nothing yet. warns: reports links to directories that are entered
 * once. */
InputStream *inputs_open(const Options *options, InputPart part, bool warns);
/* Continues with the inputs of another part. If it comes after everything given so far, names are
 * read on; otherwise from the first one. */
void inputs_turn_to(InputStream *stream, InputPart part);
/* Replaces the inputs of the window by the next ones, some thousand. Returns false, with an empty
 * window, if none is left. What they point to is valid until the next call. */
bool inputs_next(InputStream *stream, InputList *window);
/* Puts all remaining inputs into the list. */
void inputs_collect(InputStream *stream, InputList *out);
/* Gives one input, which input_release releases. */
bool inputs_next_one(InputStream *stream, Input *out);
/* Gives one input; an archive is one. weighs: computes its weight as well. */
bool inputs_next_whole(InputStream *stream, bool weighs, Input *out);
/* Gives the number of inputs of the whole stream. Returns false if directories make it unknown. */
bool inputs_count(const InputStream *stream, size_t *n);
/* Returns NULL, or an input that could not be looked at since the stream began, owned by the
 * stream, and *cause: parts may have come out otherwise than before. */
const char *inputs_uncertain(const InputStream *stream, int *cause);
void inputs_close(InputStream *stream); /* accepts NULL */

enum { INPUT_WEIGHT = 4096 }; /* approximate cost of opening a file, in bytes */

void input_release(Input *input);
void inputs_release(InputList *list);

#endif
