/* SPDX-License-Identifier: MIT */
/* atomic_file.h: a file that appears complete or not at all. */
#ifndef IMGSTAT_CODEC_ATOMIC_FILE_H
#define IMGSTAT_CODEC_ATOMIC_FILE_H

#include "base/cancel.h"

#include <sys/types.h>

/* An output being written. Bytes go to a temporary file: beside the target, so that a rename
 * completes it; or, where the target cannot be renamed onto ("-", a FIFO, a device, an output of
 * the program), an unlinked one that is copied at the end. */
typedef struct AtomicFile {
    char *name;           /* as the user wrote it; begins every message */
    char *target;         /* what the rename replaces, symbolic links resolved; NULL: copied */
    char *temporary;      /* path of the temporary; NULL: unlinked */
    int fd;               /* open for reading and writing at any position */
    bool replace;         /* an existing target may be replaced */
    bool standard;        /* copied to standard output */
    ImgstatOutput sink;   /* write is NULL, or the bytes are copied there */
    bool sink_began;      /* it was given bytes */
    const Cancel *cancel; /* polled where the reader of a pipe keeps it waiting; NULL: never */
} AtomicFile;

/* Opens a file without a name in TMPDIR, or in /tmp. The system removes it when it is closed. name:
 * begins the message of an error. */
ImgstatResult temporary_open(const char *name, int *fd, ImgstatError *err);

/* Returns whether there is a file at `path` that an output would replace: no folder, and no FIFO or
 * device, which take the bytes. */
bool atomic_file_exists(const char *path);

/* Opens an output. As with cp, a new file gets `mode` less the umask; an existing one, replaced
 * only with `replace`, keeps its mode and, where that is allowed, its owner; a symbolic link stays
 * a link and its target is replaced. */
ImgstatResult atomic_file_open(const char *path, bool replace, mode_t mode, AtomicFile **out,
                               ImgstatError *err);

/* Opens an output of the program, whose struct is copied. name: begins messages. */
ImgstatResult atomic_file_open_sink(const char *name, const ImgstatOutput *sink, AtomicFile **out,
                                    ImgstatError *err);

/* Opens a file without a name in the folder where the bytes of an output are, for what its encoder
 * puts in order later. atomic_file_discard closes it. */
ImgstatResult atomic_file_spool(const AtomicFile *output, AtomicFile **out, ImgstatError *err);

/* Writes at a position. Threads may write to distinct positions. */
ImgstatResult atomic_file_write(AtomicFile *output, uint64_t at, const void *from, size_t bytes,
                                ImgstatError *err);

/* Reads back what was written at a position. */
ImgstatResult atomic_file_read(const AtomicFile *output, uint64_t at, void *to, size_t bytes,
                               ImgstatError *err);

/* Completes the file and frees `output`. After an error the target is as it was before. */
ImgstatResult atomic_file_commit(AtomicFile *output, ImgstatError *err);

/* Removes what was written and frees `output`. Accepts NULL. */
void atomic_file_discard(AtomicFile *output);

#endif
