/* SPDX-License-Identifier: MIT */
/* name_list.c: reads the list of --files0-from. */
#include "name_list.h"
#include "option_value.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a stream to its end. The text ends with a NUL that *bytes does not count. False: errno. */
static bool read_all(FILE *stream, char **text, size_t *bytes)
{
    size_t capacity = 1 << 16, n = 0;
    char *all = text_alloc(capacity);
    for (size_t got; (got = fread(all + n, 1, capacity - n - 1, stream)) > 0;) {
        n += got;
        if (n + 1 < capacity)
            continue;
        char *const larger = text_alloc(2 * capacity);
        memcpy(larger, all, n);
        free(all);
        all = larger;
        capacity *= 2;
    }
    all[n] = '\0';
    *text = all;
    *bytes = n;
    return ferror(stream) == 0;
}

/* Number of names: the last one may lack its NUL. */
static size_t count(const char *text, size_t bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        n += text[i] == '\0' || i + 1 == bytes;
    return n;
}

static bool add_names(Options *o, size_t bytes)
{
    const size_t n = count(o->list_text, bytes);
    char **const names = text_alloc((o->n_names + n + 1) * sizeof *names);
    memcpy(names, o->names, o->n_names * sizeof *names);
    free(o->names);
    o->names = names;
    char *at = o->list_text;
    for (size_t i = 0; i < n; i++) {
        if (*at == '\0')
            return usage_error(o->command, "--files0-from: name %zu of %s is empty", i + 1,
                               o->files0_from);
        if (n == 1 && strlen(at) == bytes && strchr(at, '\n') != NULL)
            return usage_error(o->command,
                               "--files0-from: names in %s must end with NUL bytes, as those of "
                               "'find -print0' do",
                               o->files0_from);
        o->names[o->n_names++] = at;
        at += strlen(at) + 1;
    }
    return true;
}

bool name_list_read(Options *o)
{
    const bool standard = strcmp(o->files0_from, "-") == 0;
    FILE *const stream = standard ? stdin : fopen(o->files0_from, "rbe");
    size_t bytes = 0;
    const bool good = stream != NULL && read_all(stream, &o->list_text, &bytes);
    const int cause = errno;
    if (stream != NULL && !standard)
        fclose(stream);
    if (!good)
        return usage_error(o->command, "--files0-from: %s: %s", o->files0_from, strerror(cause));
    return add_names(o, bytes);
}
