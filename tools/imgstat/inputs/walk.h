/* SPDX-License-Identifier: MIT */
/* walk.h: the images of a directory, one after another. */
#ifndef IMGSTAT_TOOLS_INPUTS_WALK_H
#define IMGSTAT_TOOLS_INPUTS_WALK_H

#include "options/options.h"

/* Walks a directory: files in the order of the bytes of their names, those of a subdirectory in its
 * place. A link to a directory is entered if nothing else leads there, and no directory is entered
 * twice, so circles of links end and no image is listed twice. Memory holds the names of one
 * directory and of those that lead to it, and with --recursive the paths of all directories. */
typedef struct Walk Walk;

/* An item of a walk. */
typedef struct WalkItem {
    char *path;    /* owned by the caller */
    char *problem; /* owned by the caller; NULL: a file; else why a directory cannot be read ... */
    int cause;     /* ... and its errno; else 0 */
} WalkItem;

/* warns: reports links that lead to a directory that is entered already. */
Walk *walk_open(const Options *options, const char *path, bool warns);
/* Gives the next item. Returns false at the end. */
bool walk_next(Walk *walk, WalkItem *out);
void walk_close(Walk *walk); /* accepts NULL */

/* Whether a name, below the directory that the user named, passes --include and --exclude. member:
 * of an archive, whose members patterns for archives ("*.tar") do not concern. *asked: --include
 * names it, so its ending does not matter. */
bool walk_passes(const Options *options, const char *name, bool member, bool *asked);
/* Returns "NAME: CAUSE" with a printable name; the caller frees it. */
char *walk_problem(const char *path, const char *cause);
/* Returns the offset of the name that patterns are compared with and outputs are named after. */
size_t walk_below(const char *directory);

#endif
