/* SPDX-License-Identifier: MIT */
/* name_list.h: names of inputs from a file, separated by NUL bytes. */
#ifndef IMGSTAT_TOOLS_OPTIONS_NAME_LIST_H
#define IMGSTAT_TOOLS_OPTIONS_NAME_LIST_H

#include "options/options.h"

/* Opens the list options->files0_from, counts its names and checks them; what cannot be read twice
 * is copied to a temporary file. False after a usage error. */
bool name_list_open(Options *options);

/* A position in the list. All zero: its beginning. */
typedef struct NameReader {
    char *text; /* text read last; owned */
    size_t filled, used, capacity;
    uint64_t at; /* offset in the file of the end of `text` */
} NameReader;

/* Returns the next name, valid until the next call. NULL: none is left, or the list cannot be read
 * and *cause says why. */
const char *name_list_next(const Options *options, NameReader *reader, int *cause);
void name_reader_release(NameReader *reader); /* also makes the first name the next one */

#endif
