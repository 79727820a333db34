/* SPDX-License-Identifier: MIT */
/* option_check.h: options that do not go together. Each check returns false after a usage error.
 * name: of the command. */
#ifndef IMGSTAT_TOOLS_OPTION_CHECK_H
#define IMGSTAT_TOOLS_OPTION_CHECK_H

#include "options.h"

/* Whether the name of an output is "-". Accepts NULL. */
bool option_is_standard_output(const char *path);

/* Options of commands that measure. */
bool check_measuring(Command command, const char *name, const Options *options);

/* Finds out whether the inputs are records, which take the place of images: what these are cannot
 * be asked for any more. */
bool check_records(Command command, const char *name, Options *options);

/* Outputs of transforms. */
bool check_outputs(const char *name, const Options *options);

#endif
