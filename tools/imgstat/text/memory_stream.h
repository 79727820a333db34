/* SPDX-License-Identifier: MIT */
/* memory_stream.h: a stream into memory. On allocation failure the program ends with a message. */
#ifndef IMGSTAT_TOOLS_TEXT_MEMORY_STREAM_H
#define IMGSTAT_TOOLS_TEXT_MEMORY_STREAM_H

#include <stdio.h>

/* Works as open_memstream, which does not always report that it could not grow. */
FILE *memory_stream_open(char **text, size_t *bytes);

/* Continues a text; NULL begins one. Texts that wait for their turn are not open: glibc looks for a
 * stream that it closes among all that are open, and no other thread opens or closes one meanwhile.
 */
FILE *memory_stream_append(char **text, size_t *bytes);

/* Closes the stream, and sets *text, which the caller frees, and *bytes. */
void memory_stream_close(FILE *stream);

#endif
