/* SPDX-License-Identifier: MIT */
/* fuzz_options: any lines as the arguments of a command, which the first byte chooses. They are
 * refused with a sentence, or taken; both leave nothing behind. Lists of names are not read. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fopencookie */
#endif
#include "options/options.h"
#include "options/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 24, NAME = 40 };

static size_t n_said;

static ssize_t swallow(void *context, const char *text, size_t n)
{
    (void)context, (void)text;
    n_said += n;
    return (ssize_t)n;
}

/* What is printed is counted alone. */
static FILE *silent(void)
{
    FILE *const file = fopencookie(NULL, "w", (cookie_io_functions_t){.write = swallow});
    if (!file)
        abort();
    setvbuf(file, NULL, _IONBF, 0);
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    char name[NAME], *argv[MOST + 2] = {name};
    int argc = 1;
    if (size == 0 || memmem(data, size, "files0", 6))
        return -1;
    nowhere = nowhere ? nowhere : silent();
    const Command command = (Command)(data[0] % N_COMMANDS);
    snprintf(name, sizeof name, "imgstat %s", command_table[command].name);
    char *const text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    for (char *at = text, *next; argc <= MOST && at; at = next) {
        next = strchr(at, '\n');
        if (next)
            *next++ = '\0';
        argv[argc++] = at;
    }
    FILE *const real_out = stdout, *const real_err = stderr;
    stdout = stderr = nowhere;
    n_said = 0;
    Options options;
    const ParseResult result = options_parse(command, argc, argv, &options);
    stdout = real_out;
    stderr = real_err;
    if (result != PARSE_RUN && n_said == 0)
        abort(); /* without a word */
    options_release(&options);
    free(text);
    return 0;
}
