/* SPDX-License-Identifier: MIT */
/* plot_file.c: temporary beside the target, checked close, then the name. */
#include "plot_file.h"
#include "plot_png.h"
#include "plot_svg.h"
#include "status.h"
#include "text.h"

#include <errno.h>
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
    status_set_temporary(NULL);
    free(file->path);
    free(file->temporary);
    *file = (PlotFile){0};
}

bool plot_file_open(const char *path, bool force, PlotFile *out, FILE *err)
{
    *out = (PlotFile){0};
    if (!force && access(path, F_OK) == 0) {
        complain(err, path, "exists already; --force replaces it");
        return false;
    }
    const size_t bytes = strlen(path) + sizeof ".XXXXXX";
    out->path = strcpy(text_alloc(bytes), path);
    out->temporary = text_alloc(bytes);
    snprintf(out->temporary, bytes, "%s.XXXXXX", path);
    const int descriptor = mkstemp(out->temporary);
    if (descriptor < 0) {
        complain(err, path, strerror(errno));
        forget(out);
        return false;
    }
    status_set_temporary(out->temporary);
    /* mkstemp makes it private; a result is as readable as any new file. */
    const mode_t mask = umask(0);
    umask(mask);
    if (fchmod(descriptor, 0666 & ~mask) == 0)
        out->stream = fdopen(descriptor, "w");
    if (out->stream == NULL) {
        complain(err, path, strerror(errno));
        close(descriptor);
        unlink(out->temporary);
        forget(out);
        return false;
    }
    return true;
}

bool plot_file_commit(PlotFile *file, bool force, FILE *err)
{
    bool ok = fflush(file->stream) == 0 && !ferror(file->stream);
    int cause = errno;
    if (fclose(file->stream) != 0 && ok) {
        ok = false;
        cause = errno;
    }
    /* link fails where the name has been taken meanwhile; rename would replace it. */
    if (ok) {
        ok = force ? rename(file->temporary, file->path) == 0
                   : link(file->temporary, file->path) == 0;
        if (!ok && !force && errno != EEXIST)
            ok = rename(file->temporary, file->path) == 0; /* a file system without links */
        cause = errno;
    }
    if (!ok)
        complain(err, file->path, strerror(cause));
    unlink(file->temporary); /* no longer there after rename */
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
