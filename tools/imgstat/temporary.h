/* SPDX-License-Identifier: MIT */
/* temporary.h: files without a name. */
#ifndef IMGSTAT_TOOLS_TEMPORARY_H
#define IMGSTAT_TOOLS_TEMPORARY_H

#include <stdio.h>

/* Opens a file without a name in TMPDIR, or in /tmp. Returns -1 and sets errno on failure. */
int temporary_create(void);

/* Opens such a file as a stream. Returns NULL and sets errno on failure. */
FILE *temporary_stream(void);

#endif
