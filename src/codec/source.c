/* SPDX-License-Identifier: MIT */
/* source.c: the bytes of one input, read at positions; what cannot seek is spooled first. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE, mkostemp */
#endif
#include "codec/source.h"
#include "codec/atomic_file.h"
#include "codec/codec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SPOOL_BYTES = 1 << 18, /* copying a pipe: large enough that system calls do not count */
    WAIT_MS = 200          /* an interruption that another thread receives is noticed this late */
};

bool source_is_file(const char *path, uint64_t *bytes)
{
    struct stat st;
    if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    *bytes = (uint64_t)st.st_size;
    return true;
}

static bool write_all(int fd, const char *from, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t n = write(fd, from, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Waits until there is something to read, or the end, or an error that reading reports. */
static ImgstatResult wait_for(int from, const Cancel *cancel, ImgstatError *err)
{
    struct pollfd what = {.fd = from, .events = POLLIN};
    int ready = 0;
    while (cancel && (ready == 0 || (ready < 0 && errno == EINTR))) {
        IMGSTAT_TRY(cancel_check(cancel, err));
        ready = poll(&what, 1, WAIT_MS);
    }
    return IMGSTAT_OK;
}

/* Reads until `bytes` are there or the input ends; *got is how many. */
static ImgstatResult read_full(int from, const char *name, const Cancel *cancel, char *to,
                               size_t bytes, size_t *got, ImgstatError *err)
{
    *got = 0;
    while (*got < bytes) {
        IMGSTAT_TRY(wait_for(from, cancel, err));
        const ssize_t n = read(from, to + *got, bytes - *got);
        if (n == 0)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_file(err, IMGSTAT_ERR_IO, name, "%s", strerror(errno));
        *got += (size_t)n;
    }
    return IMGSTAT_OK;
}

/* Reads `from` to its end into an unnamed file; *out is that file or -1. What does not begin like
 * an image is refused at once: it may never end. */
static ImgstatResult spool(int from, const char *name, const Cancel *cancel, int *out,
                           ImgstatError *err)
{
    *out = -1;
    char *const buffer = malloc(SPOOL_BYTES);
    if (!buffer)
        return error_memory(err, SPOOL_BYTES, "a copy of the input");
    int to;
    ImgstatResult res = temporary_open(name, &to, err);
    for (bool first = true; res == IMGSTAT_OK; first = false) {
        size_t n;
        res = read_full(from, name, cancel, buffer, SPOOL_BYTES, &n, err);
        if (res != IMGSTAT_OK || n == 0)
            break;
        const Codec *codec;
        if (first)
            res = codec_of_bytes((const uint8_t *)buffer, n, name, &codec, err);
        if (res == IMGSTAT_OK && !write_all(to, buffer, n))
            res = error_file(err, IMGSTAT_ERR_IO, name, "cannot write its temporary copy: %s",
                             strerror(errno));
    }
    free(buffer);
    if (res != IMGSTAT_OK) {
        if (to >= 0)
            close(to);
        return res;
    }
    *out = to;
    return IMGSTAT_OK;
}

/* Replaces source->fd by something that can be read at positions, and fills in its size. */
static ImgstatResult make_seekable(Source *source, const Cancel *cancel, ImgstatError *err)
{
    struct stat st;
    if (fstat(source->fd, &st) != 0)
        return error_file(err, IMGSTAT_ERR_IO, source->name, "%s", strerror(errno));
    if (S_ISDIR(st.st_mode))
        return error_file(err, IMGSTAT_ERR_IO, source->name, "is a directory");
    /* A redirected file that somebody has read from begins where they stopped: spool it. */
    const bool seekable = S_ISREG(st.st_mode) && lseek(source->fd, 0, SEEK_CUR) == 0;
    if (!seekable) {
        int copy = -1;
        IMGSTAT_TRY(spool(source->fd, source->name, cancel, &copy, err));
        close(source->fd);
        source->fd = copy;
        if (fstat(source->fd, &st) != 0)
            return error_file(err, IMGSTAT_ERR_IO, source->name, "%s", strerror(errno));
    }
    source->bytes = (uint64_t)st.st_size;
    if (source->bytes == 0)
        return error_file(err, IMGSTAT_ERR_FORMAT, source->name, "is empty");
    return IMGSTAT_OK;
}

/* A FIFO is opened when somebody writes to it. */
static ImgstatResult open_path(Source *source, const Cancel *cancel, ImgstatError *err)
{
    const bool standard = strcmp(source->name, "-") == 0;
    for (;;) {
        source->fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                              : open(source->name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (source->fd >= 0)
            return IMGSTAT_OK;
        if (errno != EINTR)
            return error_file(err, IMGSTAT_ERR_IO, source->name, "%s", strerror(errno));
        IMGSTAT_TRY(cancel_check(cancel, err));
    }
}

ImgstatResult source_open(const char *path, const Cancel *cancel, Source **out, ImgstatError *err)
{
    *out = NULL;
    Source *const source = calloc(1, sizeof *source);
    if (!source)
        return error_memory(err, sizeof *source, "an input");
    source->fd = -1;
    source->name = strdup(path);
    ImgstatResult res = IMGSTAT_OK;
    if (!source->name)
        res = error_memory(err, strlen(path) + 1, "a file name");
    if (res == IMGSTAT_OK)
        res = open_path(source, cancel, err);
    if (res == IMGSTAT_OK)
        res = make_seekable(source, cancel, err);
    if (res != IMGSTAT_OK) {
        source_close(source);
        return res;
    }
    *out = source;
    return IMGSTAT_OK;
}

void source_close(Source *source)
{
    if (!source)
        return;
    if (source->fd >= 0)
        close(source->fd);
    free(source->name);
    free(source);
}

ImgstatResult source_read(const Source *source, uint64_t offset, void *to, size_t bytes,
                          size_t *got, ImgstatError *err)
{
    *got = 0;
    if (offset >= source->bytes)
        return IMGSTAT_OK;
    while (*got < bytes) {
        const ssize_t n =
            pread(source->fd, (char *)to + *got, bytes - *got, (off_t)(offset + *got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_file(err, IMGSTAT_ERR_IO, source->name, "%s", strerror(errno));
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return IMGSTAT_OK;
}
