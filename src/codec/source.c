/* SPDX-License-Identifier: MIT */
/* source.c: reads an input at any position. An input that cannot seek is copied to a file first. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE, mkostemp */
#endif
#include "codec/source.h"

#include "codec/atomic_file.h"
#include "codec/codec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SPOOL_BYTES = 1 << 18, /* read from a pipe at a time: system calls take little of the time */
    WAIT_MS = 200          /* until an interruption in another thread is noticed */
};

/* Threads may fail at the same time. */
struct SourceFailure {
    atomic_flag taken;
    atomic_bool there;     /* `first` is complete */
    atomic_ullong missing; /* bytes behind the end that a read has found */
    ImgstatError first;
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

/* Waits until there are bytes, the end, or an error that reading reports. */
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

/* Reads until there are `bytes` bytes or the input ends. *got becomes their number. */
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

static ImgstatResult check_image(const uint8_t *bytes, size_t n, const char *name,
                                 ImgstatError *err)
{
    const Codec *codec;
    return codec_of_bytes(bytes, n, name, &codec, err);
}

/* Copies `from` to an unnamed file. *out becomes that file, or -1. Refuses an input by its first
 * bytes at once: it may never end. */
static ImgstatResult spool(int from, const char *name, SourceCheck *check, const Cancel *cancel,
                           int *out, ImgstatError *err)
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
        if (first)
            res = check((const uint8_t *)buffer, n, name, err);
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

/* Replaces source->fd by a file that can be read at any position, and fills in the size. */
static ImgstatResult make_seekable(Source *source, SourceCheck *check, const Cancel *cancel,
                                   ImgstatError *err)
{
    struct stat st;
    if (fstat(source->fd, &st) != 0)
        return error_file(err, IMGSTAT_ERR_IO, source->name, "%s", strerror(errno));
    if (S_ISDIR(st.st_mode))
        return error_file(err, IMGSTAT_ERR_IO, source->name, "is a directory");
    /* A redirected file of which a program has read the start continues there: copy the rest. */
    const bool seekable = S_ISREG(st.st_mode) && lseek(source->fd, 0, SEEK_CUR) == 0;
    if (!seekable) {
        int copy = -1;
        IMGSTAT_TRY(spool(source->fd, source->name, check, cancel, &copy, err));
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

static ImgstatResult create(const char *name, Source **out, ImgstatError *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return error_memory(err, sizeof **out, "an input");
    (*out)->fd = -1;
    (*out)->name = strdup(name);
    (*out)->failure = calloc(1, sizeof *(*out)->failure);
    return (*out)->name && (*out)->failure ? IMGSTAT_OK
                                           : error_memory(err, strlen(name) + 1, "a file name");
}

static ImgstatResult hand_over(Source **source, ImgstatResult result)
{
    if (result != IMGSTAT_OK) {
        source_close(*source);
        *source = NULL;
    }
    return result;
}

ImgstatResult source_open_of(const char *path, SourceCheck *check, const Cancel *cancel,
                             Source **out, ImgstatError *err)
{
    ImgstatResult res = create(path, out, err);
    if (res == IMGSTAT_OK)
        res = open_path(*out, cancel, err);
    if (res == IMGSTAT_OK)
        res = make_seekable(*out, check, cancel, err);
    return hand_over(out, res);
}

ImgstatResult source_open(const char *path, const Cancel *cancel, Source **out, ImgstatError *err)
{
    return source_open_of(path, check_image, cancel, out, err);
}

/* ---- Inputs of the program ---- */

ImgstatResult source_open_input(const char *name, const ImgstatInput *input, Source **out,
                                ImgstatError *err)
{
    ImgstatError why = {.message = ""};
    *out = NULL;
    if (strlen(name) > IMGSTAT_NAME_MOST)
        return error_file(err, IMGSTAT_ERR_ARG, name, "a name of more than %d bytes",
                          IMGSTAT_NAME_MOST);
    ImgstatResult res = create(name, out, err);
    if (res == IMGSTAT_OK && input->open) {
        res = input->open(input->context, &why);
        if (res != IMGSTAT_OK)
            res = error_of_callback(err, res, (*out)->name, &why, "cannot be read");
    }
    if (res == IMGSTAT_OK) { /* it is closed from here on */
        (*out)->input = *input;
        (*out)->bytes = input->bytes;
        if (input->bytes == 0)
            res = error_file(err, IMGSTAT_ERR_FORMAT, name, "is empty");
    }
    return hand_over(out, res);
}

static ImgstatResult read_input(const Source *source, uint64_t offset, char *to, size_t bytes,
                                size_t *got, ImgstatError *err)
{
    const ImgstatInput *const input = &source->input;
    if (bytes > source->bytes - offset)
        bytes = (size_t)(source->bytes - offset);
    while (*got < bytes) {
        ImgstatError why = {.message = ""};
        size_t n = 0;
        const ImgstatResult res =
            input->read_at(input->context, offset + *got, to + *got, bytes - *got, &n, &why);
        if (res != IMGSTAT_OK)
            return error_of_callback(err, res, source->name, &why, "cannot be read");
        if (n > bytes - *got)
            return error_file(err, IMGSTAT_ERR_IO, source->name,
                              "its reader returned %zu bytes, %zu were asked for", n, bytes - *got);
        if (n == 0)
            break;
        *got += n;
    }
    return IMGSTAT_OK;
}

/* ---- Both ---- */

void source_close(Source *source)
{
    if (!source)
        return;
    if (source->fd >= 0)
        close(source->fd);
    if (source->input.close)
        source->input.close(source->input.context);
    free(source->failure);
    free(source->name);
    free(source);
}

static ImgstatResult read_file(const Source *source, uint64_t offset, char *to, size_t bytes,
                               size_t *got, ImgstatError *err)
{
    while (*got < bytes) {
        const ssize_t n = pread(source->fd, to + *got, bytes - *got, (off_t)(offset + *got));
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

static void note_end(const Source *source, uint64_t end)
{
    atomic_ullong *const missing = &source->failure->missing;
    const unsigned long long here = end < source->bytes ? source->bytes - end : 0;
    unsigned long long most = atomic_load(missing);
    while (here > most && !atomic_compare_exchange_weak(missing, &most, here))
        continue;
}

uint64_t source_end(const Source *source)
{
    return source->bytes - (source->failure ? atomic_load(&source->failure->missing) : 0);
}

ImgstatResult source_read(const Source *source, uint64_t offset, void *to, size_t bytes,
                          size_t *got, ImgstatError *err)
{
    ImgstatError why;
    *got = 0;
    if (offset >= source->bytes)
        return IMGSTAT_OK;
    const ImgstatResult res =
        (source->input.read_at ? read_input : read_file)(source, offset, to, bytes, got, &why);
    if (res == IMGSTAT_OK && *got < bytes && source->failure)
        note_end(source, offset + *got);
    if (res == IMGSTAT_OK)
        return res;
    source_fail(source, &why);
    if (err)
        *err = why;
    return res;
}

void source_fail(const Source *source, const ImgstatError *why)
{
    SourceFailure *const failure = source->failure;
    if (!failure || atomic_flag_test_and_set(&failure->taken))
        return;
    failure->first = *why;
    atomic_store(&failure->there, true);
}

ImgstatResult source_settle(const Source *source, ImgstatResult result, ImgstatError *err)
{
    const SourceFailure *const failure = source->failure;
    if (result == IMGSTAT_ERR_CANCELLED || !failure || !atomic_load(&failure->there))
        return result;
    if (err)
        *err = failure->first;
    return failure->first.code;
}
