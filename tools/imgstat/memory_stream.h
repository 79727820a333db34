/* SPDX-License-Identifier: MIT */
/* memory_stream.h: a stream into memory. Where that runs out, the program ends with a message. */
#ifndef IMGSTAT_TOOLS_MEMORY_STREAM_H
#define IMGSTAT_TOOLS_MEMORY_STREAM_H

#include <stdio.h>

/* As open_memstream, which does not always tell that it could not grow. */
FILE *memory_stream_open(char **text, size_t *bytes);

/* Then *text, to be freed, and *bytes are there. */
void memory_stream_close(FILE *stream);

#endif
