/* SPDX-License-Identifier: MIT */
/* record_files.h: saved records as inputs. */
#ifndef IMGSTAT_TOOLS_MEASURE_RECORD_FILES_H
#define IMGSTAT_TOOLS_MEASURE_RECORD_FILES_H

#include "options/options.h"

/* Loads and merges the records that the command line and --files0-from name: files, and the .rec
 * files of directories in the order of their bytes. Returns NULL, after a sentence on standard
 * error and with a raised status, if a file cannot be read, records do not merge, or a shard is
 * missing. */
ImgstatDataset *record_files_merge(const Options *options);

/* Loads one file that is complete: no shard is missing. */
ImgstatDataset *record_file_load(const char *path);

#endif
