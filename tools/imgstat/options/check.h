/* SPDX-License-Identifier: MIT */
/* check.h: options that exclude each other. Each check returns false after a usage error.
 * name: of the command. */
#ifndef IMGSTAT_TOOLS_OPTIONS_CHECK_H
#define IMGSTAT_TOOLS_OPTIONS_CHECK_H

#include "options/options.h"

/* Whether the name of an output is "-". Accepts NULL. */
bool option_is_standard_output(const char *path);

/* Checks the options of commands that measure. */
bool check_measuring(Command command, const char *name, const Options *options);

/* Finds out whether the inputs are records in place of images, and refuses options that need
 * pixels. */
bool check_records(Command command, const char *name, Options *options);

/* Checks the list of codecs: a wrong one is one mistake, and not one for each input. The library
 * looks at it before it looks at an input. */
bool check_codecs(const Options *options);

/* Checks that a method has what it needs, and nothing that it cannot use. */
bool check_method(const char *name, const TransformOptions *options);

/* Checks the outputs of transforms. */
bool check_outputs(const char *name, const Options *options);

#endif
