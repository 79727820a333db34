/* SPDX-License-Identifier: MIT */
/* file.c: a file beside the target or without a name, sync, then the name. */
#define _GNU_SOURCE /* O_TMPFILE */
#include "plot/file.h"
#include "plot/png.h"
#include "plot/svg.h"
#include "text/status.h"
#include "text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static void complain(FILE *err, const char *path, const char *cause)
{
    char *const name = text_display(path);
    fprintf(err, "%s: %s\n", name, cause);
    free(name);
}

static void forget(PlotFile *file)
{
    if (file->temporary != NULL)
        unlink(file->temporary); /* no longer there after rename */
    status_set_temporary(NULL);
    free(file->path);
    free(file->temporary);
    *file = (PlotFile){0};
}

/* A file without a name in the folder of the output: nothing is left of it if the process ends
 * before its time. -1: there are no such files here. */
static int open_nameless(const char *path)
{
    char *const folder = text_copy(path), *const slash = strrchr(folder, '/');
    if (slash != NULL)
        slash[slash == folder] = '\0';
    const bool can_be_named = access("/proc/self/fd", X_OK) == 0;
    const int fd = !can_be_named
                       ? -1
                       : open(slash != NULL ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    free(folder);
    return fd;
}

/* A hidden file, whose name is not too long where that of the result is not. mkstemp makes it
 * private; a result is as readable as any new file, or as the one that it replaces. */
static int open_named(PlotFile *file)
{
    struct stat old;
    const char *const slash = strrchr(file->path, '/');
    const char *const name = slash != NULL ? slash + 1 : file->path;
    const size_t bytes = strlen(file->path) + sizeof "..XXXXXX";
    file->temporary = text_alloc(bytes);
    snprintf(file->temporary, bytes, "%.*s.%.200s.XXXXXX", (int)(name - file->path), file->path,
             name);
    const int fd = mkstemp(file->temporary);
    if (fd < 0)
        return -1;
    status_set_temporary(file->temporary);
    const mode_t mask = umask(0);
    umask(mask);
    const bool replaces = stat(file->path, &old) == 0;
    if (replaces)
        (void)!fchown(fd, old.st_uid, old.st_gid); /* where the system allows */
    (void)fchmod(fd, replaces ? old.st_mode & 0777 : 0666 & ~mask);
    return fd;
}

/* Why no file can be made in the folder of path, whose links are followed; 0: it can. */
static int folder_error(const char *path)
{
    char *const real = realpath(path, NULL);
    char *const folder = real != NULL ? real : text_copy(path), *const slash = strrchr(folder, '/');
    if (slash != NULL)
        slash[slash == folder] = '\0';
    const int cause = access(slash != NULL ? folder : ".", W_OK | X_OK) == 0 ? 0 : errno;
    free(folder);
    return cause;
}

/* Writes why no file can be put at path. Returns false where nothing is known against it. */
static bool has_obstacle(const char *path, bool force, char cause[128])
{
    struct stat info, link;
    int error = stat(path, &info) == 0 ? 0 : errno;
    const bool exists = error == 0, regular = exists && S_ISREG(info.st_mode);
    const char *known = NULL;
    if (regular && !force)
        known = "exists already; --force replaces it";
    else if (exists && S_ISDIR(info.st_mode))
        known = "is a directory";
    else if (error == ENOENT && lstat(path, &link) == 0)
        known = "is a symbolic link to nothing";
    else if (exists && !regular)
        error = access(path, W_OK) == 0 ? 0 : errno;
    else if (regular || error == ENOENT)
        error = folder_error(path);
    if (known != NULL)
        snprintf(cause, 128, "%s", known);
    else if (error != 0)
        snprintf(cause, 128, "cannot create the file: %s", strerror(error));
    return known != NULL || error != 0;
}

bool plot_file_check(const char *path, bool force)
{
    char cause[128];
    if (strcmp(path, "-") == 0 || !has_obstacle(path, force, cause))
        return true;
    complain(stderr, path, cause);
    status_raise(STATUS_FAILED);
    return false;
}

bool plot_file_open(const char *path, bool force, PlotFile *out, FILE *err)
{
    struct stat info;
    char cause[128];
    const bool exists = stat(path, &info) == 0, regular = exists && S_ISREG(info.st_mode);
    *out = (PlotFile){.special = exists && !regular};
    if (has_obstacle(path, force, cause)) {
        complain(err, path, cause);
        return false;
    }
    out->path = regular ? realpath(path, NULL) : text_copy(path);
    if (out->path == NULL) {
        complain(err, path, strerror(errno));
        return false;
    }
    int fd = out->special ? open(path, O_WRONLY | O_CLOEXEC) : force ? -1 : open_nameless(path);
    if (fd < 0 && !out->special)
        fd = open_named(out);
    out->stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out->stream != NULL)
        return true;
    complain(err, path, strerror(errno));
    if (fd >= 0)
        close(fd);
    forget(out);
    return false;
}

/* link fails where the name has been taken meanwhile; rename would replace it. */
static bool take_name(const PlotFile *file, bool force)
{
    char from[32];
    if (file->special)
        return true;
    snprintf(from, sizeof from, "/proc/self/fd/%d", fileno(file->stream));
    if (file->temporary == NULL)
        return linkat(AT_FDCWD, from, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW) == 0;
    if (!force && link(file->temporary, file->path) == 0)
        return true;
    if (!force && errno == EEXIST)
        return false;
    return rename(file->temporary, file->path) == 0; /* or a file system without links */
}

bool plot_file_commit(PlotFile *file, bool force, FILE *err)
{
    bool ok = fflush(file->stream) == 0 && !ferror(file->stream) &&
              (fsync(fileno(file->stream)) == 0 || errno == EINVAL) && take_name(file, force);
    int cause = errno;
    if (fclose(file->stream) != 0 && ok) {
        ok = false;
        cause = errno;
    }
    if (!ok)
        complain(err, file->path, strerror(cause));
    forget(file);
    return ok;
}

bool plot_file_write(const char *path, bool force, const Plot *plot, FILE *out, FILE *err)
{
    PlotFile file;
    if (strcmp(path, "-") == 0) {
        plot_svg(out, plot);
        return true;
    }
    if (!plot_file_open(path, force, &file, err))
        return false;
    const char *const dot = strrchr(path, '.'); /* the options let .svg and .png pass */
    if (dot != NULL && strcasecmp(dot, ".png") == 0)
        plot_png(file.stream, plot);
    else
        plot_svg(file.stream, plot);
    return plot_file_commit(&file, force, err);
}
