/* SPDX-License-Identifier: MIT */
/* output_file.h: a file that is complete or absent. */
#ifndef IMGSTAT_TOOLS_OUTPUT_FILE_H
#define IMGSTAT_TOOLS_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct OutputFile {
    FILE *stream;
    char *path, *temporary; /* owned */
} OutputFile;

/* Opens a temporary file beside path. False: the reason is on err. */
bool output_open(const char *path, bool force, OutputFile *out, FILE *err);
/* Closes it and gives it its name; on failure nothing remains and the reason is on err. */
bool output_commit(OutputFile *file, bool force, FILE *err);

#endif
