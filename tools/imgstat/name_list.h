/* SPDX-License-Identifier: MIT */
/* name_list.h: names of inputs from a file, separated by NUL bytes. */
#ifndef IMGSTAT_TOOLS_NAME_LIST_H
#define IMGSTAT_TOOLS_NAME_LIST_H

#include "options.h"

/* Appends the names that options->files0_from holds; false after a usage error. */
bool name_list_read(Options *options);

#endif
