/* SPDX-License-Identifier: MIT */
/* path.h: one name for a file that may not be there yet. */
#ifndef IMGSTAT_TOOLS_TEXT_PATH_H
#define IMGSTAT_TOOLS_TEXT_PATH_H

#include <stdbool.h>

/* The path that links lead to, of what is there; what is not will be made in there, and so needs
 * neither "." nor "..", nor one slash after another. The caller frees it. */
char *path_resolve(const char *path);
/* Whether two paths lead to one file, which may not be there yet. */
bool path_is_same(const char *a, const char *b);

#endif
