/* SPDX-License-Identifier: MIT */
/* path.c: one name for a file that may not be there yet. */
#include "text/path.h"
#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *path_resolve(const char *path)
{
    char *const all = realpath(path, NULL);
    if (all != NULL)
        return all;
    const char *const slash = strrchr(path, '/'), *const name = slash != NULL ? slash + 1 : path;
    if (slash == path || strcmp(path, ".") == 0) /* a working folder may be gone */
        return text_copy(path);
    char *const folder =
        slash != NULL ? text_copy_part(path, (size_t)(slash - path)) : text_copy(".");
    char *const above = path_resolve(folder), *const last = strrchr(above, '/');
    if (strcmp(name, "..") == 0 && last != NULL)
        *last = '\0';
    if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        free(folder);
        return above;
    }
    const size_t bytes = strlen(above) + strlen(name) + 2;
    char *const out = text_alloc(bytes);
    snprintf(out, bytes, "%s/%s", above, name);
    free(above);
    free(folder);
    return out;
}

bool path_is_same(const char *a, const char *b)
{
    char *const one = path_resolve(a), *const other = path_resolve(b);
    const bool same = strcmp(one, other) == 0;
    free(one);
    free(other);
    return same;
}
