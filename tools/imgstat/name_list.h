/* SPDX-License-Identifier: MIT */
/* name_list.h: names of inputs from a file, separated by NUL bytes. */
#ifndef IMGSTAT_TOOLS_NAME_LIST_H
#define IMGSTAT_TOOLS_NAME_LIST_H

#include "options.h"

/* Opens the list options->files0_from, counts its names and checks them; what cannot be read twice
 * is copied to a temporary file. False after a usage error. */
bool name_list_open(Options *options);

/* A position in the list. All zero: its beginning. */
typedef struct NameReader {
    char *text; /* owned: what was read */
    size_t filled, used, capacity;
    uint64_t at; /* in the file, where `text` ends */
} NameReader;

/* Returns the next name, valid until the next call; NULL: none is left, or *cause is why the list
 * cannot be read. */
const char *name_list_next(const Options *options, NameReader *reader, int *cause);
void name_reader_release(NameReader *reader); /* the next name is the first */

#endif
