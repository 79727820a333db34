/* SPDX-License-Identifier: MIT */
/* record_files.h: saved records as inputs. */
#ifndef IMGSTAT_TOOLS_RECORD_FILES_H
#define IMGSTAT_TOOLS_RECORD_FILES_H

#include "options.h"

/* Loads and merges the records that the command line and --files0-from name: files, and
 * directories: their .rec files in order of their bytes. NULL after a sentence on standard error
 * and a raised status: a file cannot be read, records do not merge, or a shard is missing. */
ImgstatDataset *record_files_merge(const Options *options);

/* Loads one file, of which no shard may be missing. */
ImgstatDataset *record_file_load(const char *path);

#endif
