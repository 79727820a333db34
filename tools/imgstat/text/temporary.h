/* SPDX-License-Identifier: MIT */
/* temporary.h: files without a name. */
#ifndef IMGSTAT_TOOLS_TEXT_TEMPORARY_H
#define IMGSTAT_TOOLS_TEXT_TEMPORARY_H

#include <stdio.h>

/* Returns TMPDIR, or /tmp: the folder of these files. */
const char *temporary_folder(void);

/* Opens a file without a name in this folder. Returns -1 and sets errno on failure. */
int temporary_create(void);

/* Opens such a file as a stream. Returns NULL and sets errno on failure. */
FILE *temporary_stream(void);

#endif
