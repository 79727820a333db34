/* SPDX-License-Identifier: MIT */
/* temporary.h: files without a name. */
#ifndef IMGSTAT_TOOLS_TEMPORARY_H
#define IMGSTAT_TOOLS_TEMPORARY_H

#include <stdio.h>

/* Opens a file without a name in TMPDIR, or in /tmp. -1: errno. */
int temporary_create(void);

/* The same as a stream. NULL: errno. */
FILE *temporary_stream(void);

#endif
