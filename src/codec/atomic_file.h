/* SPDX-License-Identifier: MIT */
/* atomic_file.h: a file that appears complete or not at all. */
#ifndef IMGSTAT_CODEC_ATOMIC_FILE_H
#define IMGSTAT_CODEC_ATOMIC_FILE_H

#include "base/cancel.h"

#include <sys/types.h>

/* Bytes go to a temporary file: beside the target, so that a rename completes it; or, where the
 * target cannot be renamed onto ("-", a FIFO, a device), an unlinked one that is copied at the end.
 * fd is open for reading and writing at any position. */
typedef struct AtomicFile {
    char *name;      /* as the user wrote it; starts every message */
    char *target;    /* what the rename replaces, symbolic links resolved; NULL: copied */
    char *temporary; /* path of the temporary; NULL: unlinked */
    int fd;
    bool replace;         /* an existing target may be replaced */
    bool standard;        /* copied to standard output */
    const Cancel *cancel; /* asked where the reader of a pipe keeps it waiting; NULL: never */
} AtomicFile;

/* A file without a name in TMPDIR, or /tmp; the system removes it at close. name: begins the
 * sentence. */
ImgstatResult temporary_open(const char *name, int *fd, ImgstatError *err);

/* Whether there is a file at `path` that an output would replace: no folder, and no FIFO or device,
 * which take the bytes. */
bool atomic_file_exists(const char *path);

/* Like cp: a new file takes `mode` less the umask, an existing one (replaced only with `replace`)
 * keeps its mode and, where that is allowed, its owner, a symbolic link stays a link and what it
 * names is replaced. */
ImgstatResult atomic_file_open(const char *path, bool replace, mode_t mode, AtomicFile **out,
                               ImgstatError *err);
/* Writes at a position; threads may write to distinct ones. */
ImgstatResult atomic_file_write(AtomicFile *output, uint64_t at, const void *from, size_t bytes,
                                ImgstatError *err);
/* Completes the file and frees `output`; on error the target is as it was before. */
ImgstatResult atomic_file_commit(AtomicFile *output, ImgstatError *err);
/* Removes what was written and frees `output`; accepts NULL. */
void atomic_file_discard(AtomicFile *output);

#endif
