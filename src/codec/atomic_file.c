/* SPDX-License-Identifier: MIT */
/* atomic_file.c: a file without a name in the target's folder, sync, link or rename. */
#define _GNU_SOURCE /* renameat2, O_TMPFILE */
#include "codec/atomic_file.h"

#include "codec/file_attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static ImgstatResult io_error(const AtomicFile *output, const char *what, ImgstatError *err)
{
    return error_file(err, IMGSTAT_ERR_IO, output->name, "cannot %s: %s", what, strerror(errno));
}

static const char taken[] = "exists already";

static ImgstatResult error_taken(const char *path, ImgstatError *err)
{
    return error_file(err, IMGSTAT_ERR_IO, path, "%s", taken);
}

bool atomic_file_is_taken(const ImgstatError *err)
{
    const size_t length = strlen(err->message);
    return err->code == IMGSTAT_ERR_IO && length >= sizeof taken &&
           strcmp(err->message + length + 1 - sizeof taken, taken) == 0;
}

/* Behind the last slash. */
static const char *base_of(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Returns malloc's, NULL if memory runs out. */
static char *folder_of(const char *path)
{
    const char *const base = base_of(path);
    return base > path ? strndup(path, (size_t)(base - path)) : strdup(".");
}

bool atomic_file_exists(const char *path)
{
    struct stat st;
    return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Opens an unnamed file in a folder. Returns -1 on failure. */
static int open_unnamed(const char *dir)
{
    const int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    /* File systems without O_TMPFILE: a name for a moment. */
    static const char pattern[] = "/imgstat-XXXXXX";
    const size_t bytes = strlen(dir) + sizeof pattern;
    char *const path = malloc(bytes);
    if (!path)
        return -1;
    memcpy(path, dir, strlen(dir));
    memcpy(path + strlen(dir), pattern, sizeof pattern);
    const int named = mkostemp(path, O_CLOEXEC);
    if (named >= 0)
        unlink(path);
    free(path);
    return named;
}

ImgstatResult temporary_open(const char *name, int *fd, ImgstatError *err)
{
    const char *const asked = getenv("TMPDIR"), *const dir = asked && *asked ? asked : "/tmp";
    *fd = open_unnamed(dir);
    if (*fd < 0)
        return error_file(err, IMGSTAT_ERR_IO, name, "cannot create a temporary file in %s: %s",
                          dir, strerror(errno));
    return IMGSTAT_OK;
}

/* Links an open file to a name that must not exist. */
static int link_open(int fd, const char *to)
{
    char from[32];
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW);
}

/* Sets output->temporary, ".NAME.XXXXXX" in the target's folder, at random, and output->fd if that
 * is -1: a file of that name is created. Else the open file gets that name. A long NAME is cut, so
 * that the whole fits NAME_MAX. */
static ImgstatResult name_temporary(AtomicFile *output, mode_t mode, ImgstatError *err)
{
    enum { ATTEMPTS = 100, LETTERS = 6 };
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567"; /* 32 */
    const char *const base = base_of(output->target);
    char *path = NULL;
    if (asprintf(&path, "%.*s.%.200s.XXXXXX", (int)(base - output->target), output->target, base) <
        0)
        return error_add_file(err, error_memory(err, strlen(output->target), "a file name"),
                              output->name);
    char *const end = path + strlen(path) - LETTERS;
    int made = -1;
    for (int i = 0; made < 0 && i < ATTEMPTS && (i == 0 || errno == EEXIST); i++) {
        uint8_t random[LETTERS];
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
            break;
        for (size_t k = 0; k < LETTERS; k++)
            end[k] = letters[random[k] % 32];
        made = output->fd >= 0 ? link_open(output->fd, path)
                               : open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    }
    if (made < 0) {
        const ImgstatResult res = io_error(output, "create the file", err);
        free(path);
        return res;
    }
    output->temporary = path;
    output->fd = output->fd >= 0 ? output->fd : made;
    return IMGSTAT_OK;
}

/* Opens a file in the target's folder that has no name, and so is gone if the process ends before
 * its time. -1 where the file system has no such files, or no name could be given later. */
static int open_nameless(const AtomicFile *output, mode_t mode)
{
    char *const dir = folder_of(output->target);
    char there[32];
    int fd = dir ? open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, mode) : -1;
    free(dir);
    snprintf(there, sizeof there, "/proc/self/fd/%d", fd);
    if (fd >= 0 && access(there, F_OK) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Opens the file that becomes the target. old: the file to be replaced, or NULL. */
static ImgstatResult open_beside(AtomicFile *output, mode_t mode, const struct stat *old,
                                 ImgstatError *err)
{
    const char *const base = base_of(output->target);
    if (strlen(base) > NAME_MAX || !*base) {
        errno = *base ? ENAMETOOLONG : EISDIR;
        return io_error(output, "create the file", err);
    }
    if (old)
        mode = 0600;
    output->fd = open_nameless(output, mode);
    if (output->fd < 0)
        IMGSTAT_TRY(name_temporary(output, mode, err));
    if (old && !file_attributes_copy(output->target, old, output->fd))
        return io_error(output, "set permissions", err);
    return IMGSTAT_OK;
}

static ImgstatResult open_target(AtomicFile *output, const char *path, mode_t mode,
                                 ImgstatError *err)
{
    struct stat st;
    bool exists = stat(path, &st) == 0;
    if (!exists && errno != ENOENT) /* a name too long, a file where a folder should be ... */
        return io_error(output, "create the file", err);
    if (!exists && lstat(path, &st) == 0) {
        if (S_ISLNK(st.st_mode))
            return error_file(err, IMGSTAT_ERR_IO, path, "is a symbolic link to nothing");
        exists = true; /* another process has made it meanwhile */
    }
    if (exists && S_ISDIR(st.st_mode))
        return error_file(err, IMGSTAT_ERR_IO, path, "is a directory");
    if (exists && !S_ISREG(st.st_mode))
        return temporary_open(output->name, &output->fd, err);
    if (exists && !output->replace)
        return error_taken(path, err);
    output->target = exists ? realpath(path, NULL) : strdup(path);
    if (!output->target)
        return io_error(output, "resolve the path", err);
    return open_beside(output, mode & 0777, exists ? &st : NULL, err);
}

/* Allocates an output. Its caller discards *out after a failure, here or later. */
static ImgstatResult create(const char *name, AtomicFile **out, ImgstatError *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return error_memory(err, sizeof **out, "an output");
    (*out)->fd = -1;
    (*out)->name = strdup(name);
    return (*out)->name ? IMGSTAT_OK : error_memory(err, strlen(name), "a file name");
}

static ImgstatResult hand_over(AtomicFile **output, ImgstatResult result)
{
    if (result != IMGSTAT_OK) {
        atomic_file_discard(*output);
        *output = NULL;
    }
    return result;
}

ImgstatResult atomic_file_open(const char *path, bool replace, mode_t mode, AtomicFile **out,
                               ImgstatError *err)
{
    const bool standard = strcmp(path, "-") == 0;
    ImgstatResult res = create(standard ? "standard output" : path, out, err);
    if (res == IMGSTAT_OK) {
        (*out)->replace = replace;
        (*out)->standard = standard;
        res = standard ? temporary_open((*out)->name, &(*out)->fd, err)
                       : open_target(*out, path, mode, err);
    }
    return hand_over(out, res);
}

ImgstatResult atomic_file_open_sink(const char *name, const ImgstatOutput *sink, AtomicFile **out,
                                    ImgstatError *err)
{
    ImgstatResult res = create(name, out, err);
    if (res == IMGSTAT_OK) {
        (*out)->sink = *sink;
        res = temporary_open(name, &(*out)->fd, err);
    }
    return hand_over(out, res);
}

ImgstatResult atomic_file_open_memory(const char *name, void *memory, size_t bytes,
                                      AtomicFile **out, ImgstatError *err)
{
    const ImgstatResult res = create(name, out, err);
    if (res == IMGSTAT_OK) {
        (*out)->memory = memory;
        (*out)->most = bytes;
    }
    return hand_over(out, res);
}

/* Opens a file without a name in the folder of another one. */
static ImgstatResult open_in_folder_of(const char *path, AtomicFile *spool, ImgstatError *err)
{
    char *const dir = folder_of(path);
    if (!dir)
        return error_memory(err, strlen(path), "a file name");
    spool->fd = open_unnamed(dir);
    const ImgstatResult res =
        spool->fd >= 0 ? IMGSTAT_OK : io_error(spool, "create a temporary file", err);
    free(dir);
    return res;
}

ImgstatResult atomic_file_spool(const AtomicFile *output, AtomicFile **out, ImgstatError *err)
{
    ImgstatResult res = create(output->name, out, err);
    if (res == IMGSTAT_OK)
        res = output->target ? open_in_folder_of(output->target, *out, err)
                             : temporary_open(output->name, &(*out)->fd, err);
    return hand_over(out, res);
}

ImgstatResult atomic_file_write(AtomicFile *output, uint64_t at, const void *from, size_t bytes,
                                ImgstatError *err)
{
    if ((output->most > 0 || output->memory) && (at > output->most || bytes > output->most - at))
        return error_file(err, IMGSTAT_ERR_LIMIT, output->name,
                          output->memory ? "takes more than the %llu bytes of its memory"
                                         : "takes more than the limit of %llu bytes for an input "
                                           "of its size, which \"unlimited\" lifts",
                          (unsigned long long)output->most);
    IMGSTAT_TRY(cancel_check(output->cancel, err));
    if (output->memory) {
        if (at > output->end) /* as in a file */
            memset(output->memory + output->end, 0, at - output->end);
        if (output->memory + at != from)
            memmove(output->memory + at, from, bytes);
        output->end = at + bytes > output->end ? at + bytes : output->end;
        return IMGSTAT_OK;
    }
    for (size_t done = 0; done < bytes;) {
        const ssize_t n =
            pwrite(output->fd, (const char *)from + done, bytes - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return io_error(output, "write", err);
        done += (size_t)n;
    }
    return IMGSTAT_OK;
}

ImgstatResult atomic_file_read(const AtomicFile *output, uint64_t at, void *to, size_t bytes,
                               ImgstatError *err)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = pread(output->fd, (char *)to + done, bytes - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_file(err, IMGSTAT_ERR_IO, output->name,
                              "cannot read back the temporary file: %s",
                              n < 0 ? strerror(errno) : "it ends early");
        done += (size_t)n;
    }
    return IMGSTAT_OK;
}

/* A FIFO is opened when somebody reads it. */
static ImgstatResult open_stream(const AtomicFile *output, int *to, ImgstatError *err)
{
    for (;;) {
        *to = output->standard ? STDOUT_FILENO : open(output->name, O_WRONLY | O_CLOEXEC);
        if (*to >= 0)
            return IMGSTAT_OK;
        if (errno != EINTR)
            return io_error(output, "open for writing", err);
        IMGSTAT_TRY(cancel_check(output->cancel, err));
    }
}

/* A signal interrupts a write that waits for a reader: it may be Ctrl-C. */
static ImgstatResult write_stream(const AtomicFile *output, int to, const char *from, size_t bytes,
                                  ImgstatError *err)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = write(to, from + done, bytes - done);
        if (n < 0 && errno != EINTR)
            return io_error(output, "write", err);
        done += n > 0 ? (size_t)n : 0;
        if (done < bytes)
            IMGSTAT_TRY(cancel_check(output->cancel, err));
    }
    return IMGSTAT_OK;
}

static ImgstatResult write_sink(AtomicFile *output, const char *from, size_t bytes,
                                ImgstatError *err)
{
    ImgstatError why = {.message = ""};
    IMGSTAT_TRY(cancel_check(output->cancel, err));
    output->sink_began = true;
    const ImgstatResult res = output->sink.write(output->sink.context, from, bytes, &why);
    return res == IMGSTAT_OK ? res
                             : error_of_callback(err, res, output->name, &why, "cannot be written");
}

/* Ends the output of a sink that was given bytes. */
static ImgstatResult finish_sink(AtomicFile *output, ImgstatResult result, ImgstatError *err)
{
    ImgstatError why = {.message = ""};
    if (!output->sink_began || !output->sink.finish)
        return result;
    const ImgstatResult res = output->sink.finish(output->sink.context, result == IMGSTAT_OK, &why);
    return result != IMGSTAT_OK || res == IMGSTAT_OK
               ? result
               : error_of_callback(err, res, output->name, &why, "cannot be written");
}

/* Copies the unlinked temporary file to standard output, to the FIFO or device `name`, or to the
 * program. */
static ImgstatResult copy_out(AtomicFile *output, ImgstatError *err)
{
    enum { COPY_BYTES = 1 << 15 };
    const bool to_sink = output->sink.write != NULL;
    int to = -1;
    char *buffer = malloc(COPY_BYTES);
    ImgstatResult res = buffer ? IMGSTAT_OK : error_memory(err, COPY_BYTES, "a copy buffer");
    if (res == IMGSTAT_OK && !to_sink)
        res = open_stream(output, &to, err);
    off_t at = 0;
    while (res == IMGSTAT_OK) {
        const ssize_t got = pread(output->fd, buffer, COPY_BYTES, at);
        if (got == 0)
            break;
        if (got < 0 && errno != EINTR)
            res = io_error(output, "read back the temporary file", err);
        if (res == IMGSTAT_OK && got > 0)
            res = to_sink ? write_sink(output, buffer, (size_t)got, err)
                          : write_stream(output, to, buffer, (size_t)got, err);
        at += got > 0 ? got : 0;
    }
    free(buffer);
    if (!output->standard && to >= 0 && close(to) != 0 && res == IMGSTAT_OK)
        res = io_error(output, "write", err);
    return finish_sink(output, res, err);
}

/* Renames to a name that must not exist. File systems that cannot do that in one step make a link;
 * those without links (FUSE, shared folders of virtual machines) rename. */
static int rename_to_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL)
        return -1;
    if (link(from, to) == 0) {
        unlink(from);
        return 0;
    }
    struct stat st;
    if (errno == EEXIST || lstat(to, &st) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

/* Brings what a file or folder has to the disk. What cannot be synced needs no sync. */
static bool sync_open(int fd)
{
    while (fsync(fd) != 0)
        if (errno != EINTR)
            return errno == EINVAL;
    return true;
}

/* A folder that may not be read is not synced: then a power cut can take the new name away, not
 * more. */
static bool sync_folder(const AtomicFile *output)
{
    char *const dir = folder_of(output->target);
    if (!dir)
        return true;
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool good = fd < 0 || sync_open(fd);
    if (fd >= 0)
        close(fd);
    free(dir);
    return good;
}

static ImgstatResult naming_error(const AtomicFile *output, ImgstatError *err)
{
    return errno == EEXIST ? error_taken(output->name, err)
                           : io_error(output, "complete the file", err);
}

/* Gives the file the name of the target in one step. */
static ImgstatResult take_name(AtomicFile *output, ImgstatError *err)
{
    if (!output->temporary && link_open(output->fd, output->target) == 0)
        return IMGSTAT_OK;
    if (!output->temporary && (errno != EEXIST || !output->replace))
        return naming_error(output, err);
    if (!output->temporary)
        IMGSTAT_TRY(name_temporary(output, 0, err));
    const int renamed = output->replace ? rename(output->temporary, output->target)
                                        : rename_to_new(output->temporary, output->target);
    if (renamed != 0)
        return naming_error(output, err);
    free(output->temporary);
    output->temporary = NULL;
    return IMGSTAT_OK;
}

/* The bytes reach the disk before the name does, so that a power cut leaves the file whole, or what
 * was there before. */
static ImgstatResult complete(AtomicFile *output, ImgstatError *err)
{
    if (!sync_open(output->fd))
        return io_error(output, "write", err);
    IMGSTAT_TRY(take_name(output, err));
    const int closed = close(output->fd);
    output->fd = -1;
    if (closed != 0)
        return io_error(output, "write", err);
    return output->with_others || sync_folder(output) ? IMGSTAT_OK
                                                      : io_error(output, "complete the file", err);
}

ImgstatResult atomic_file_commit(AtomicFile *output, ImgstatError *err)
{
    const ImgstatResult res = output->target ? complete(output, err) : copy_out(output, err);
    atomic_file_discard(output);
    return res;
}

void atomic_file_discard(AtomicFile *output)
{
    if (!output)
        return;
    if (output->temporary)
        unlink(output->temporary);
    if (output->fd >= 0)
        close(output->fd);
    free(output->temporary);
    free(output->target);
    free(output->name);
    free(output);
}
