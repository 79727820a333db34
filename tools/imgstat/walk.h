/* SPDX-License-Identifier: MIT */
/* walk.h: the images of a directory, one after another. */
#ifndef IMGSTAT_TOOLS_WALK_H
#define IMGSTAT_TOOLS_WALK_H

#include "options.h"

/* Files in the order of the bytes of their names; the files of a directory inside come in its
 * place. Links to directories are entered where nothing else leads to what they lead to, and no
 * directory is entered twice: links in a circle end, and no image is listed twice. The names of one
 * directory are in memory at a time, those of the directories that lead to it, and with --recursive
 * the paths of all directories. */
typedef struct Walk Walk;

/* What a walk gives. */
typedef struct WalkItem {
    char *path;    /* owned by the caller */
    char *problem; /* owned by the caller; NULL: a file; else why a directory cannot be read */
} WalkItem;

/* warns: reports links that lead to a directory that is entered already. */
Walk *walk_open(const Options *options, const char *path, bool warns);
/* False: there is no more. */
bool walk_next(Walk *walk, WalkItem *out);
void walk_close(Walk *walk); /* accepts NULL */

/* Whether the name of a file, below the directory that was named, passes --include and --exclude.
 * *asked: --include names it, so that its ending does not count. */
bool walk_passes(const Options *options, const char *name, bool *asked);
/* "NAME: CAUSE", with a name that can be printed; freed by the caller. */
char *walk_problem(const char *path, const char *cause);
/* Where the name of a file begins that patterns are compared with and outputs are called after. */
size_t walk_below(const char *directory);

#endif
