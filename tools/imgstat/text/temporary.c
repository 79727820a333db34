/* SPDX-License-Identifier: MIT */
/* temporary.c: files that are gone when they are closed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE */
#endif
#include "text/temporary.h"
#include "text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *temporary_folder(void)
{
    const char *const asked = getenv("TMPDIR");
    return asked && *asked ? asked : "/tmp";
}

int temporary_create(void)
{
    const char *const folder = temporary_folder();
    const int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    const size_t bytes = strlen(folder) + sizeof "/imgstat-XXXXXX";
    char *const path = text_alloc(bytes);
    snprintf(path, bytes, "%s/imgstat-XXXXXX", folder);
    const int named = mkostemp(path, O_CLOEXEC), cause = errno;
    if (named >= 0)
        unlink(path);
    free(path);
    errno = cause;
    return named;
}

FILE *temporary_stream(void)
{
    const int fd = temporary_create();
    FILE *const stream = fd >= 0 ? fdopen(fd, "w+be") : NULL;
    if (fd >= 0 && stream == NULL) {
        const int cause = errno;
        close(fd);
        errno = cause;
    }
    return stream;
}
