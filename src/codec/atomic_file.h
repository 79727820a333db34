/* SPDX-License-Identifier: MIT */
/* atomic_file.h: a file that appears complete or not at all. */
#ifndef IMGSTAT_CODEC_ATOMIC_FILE_H
#define IMGSTAT_CODEC_ATOMIC_FILE_H

#include "base/cancel.h"

#include <sys/types.h>

/* An output being written. Bytes go to a file without a name in the target's folder, which gets
 * that of the target when it is on the disk; where there are no such files, to a hidden one. If the
 * target cannot be replaced ("-", a FIFO, a device, an output of the program), they go to an
 * unlinked file that is copied at the end. */
typedef struct AtomicFile {
    char *name;           /* as the user wrote it; begins every message */
    char *target;         /* that the rename replaces, symbolic links resolved; NULL: copied */
    char *temporary;      /* path of the hidden file; NULL: it has no name */
    int fd;               /* open for reading and writing at any position */
    bool replace;         /* an existing target may be replaced */
    bool with_others;     /* more outputs follow: the folder is synced after them */
    bool standard;        /* copied to standard output */
    ImgstatOutput sink;   /* where the bytes are copied; its write is NULL without a sink */
    bool sink_began;      /* write was called */
    uint64_t most;        /* bytes that it may have; 0: any number, but in memory */
    uint8_t *memory;      /* takes the bytes, `most` of them at most; NULL: fd does */
    uint64_t end;         /* of what it has taken */
    const Cancel *cancel; /* checked at each write, and while a pipe is waited for; NULL: never */
} AtomicFile;

/* Opens an unnamed file in TMPDIR, or in /tmp. The system removes it when it is closed. name:
 * begins messages. */
ImgstatResult temporary_open(const char *name, int *fd, ImgstatError *err);

/* Returns whether an output would replace a file at `path`. FIFOs and devices receive the bytes,
 * and are not replaced. */
bool atomic_file_exists(const char *path);

/* Opens an output, with the rules of cp. A new file gets `mode` less the umask. An existing file is
 * replaced only with `replace`; its mode stays, and where that is allowed its owner, access control
 * list and extended attributes. A symbolic link stays, and its target is replaced. */
ImgstatResult atomic_file_open(const char *path, bool replace, mode_t mode, AtomicFile **out,
                               ImgstatError *err);

/* Opens an output of the program, whose struct is copied. name: begins messages. */
ImgstatResult atomic_file_open_sink(const char *name, const ImgstatOutput *sink, AtomicFile **out,
                                    ImgstatError *err);

/* Opens an output that writes to memory of the caller's, instead of a file, for an encoder. What is
 * in its place already is not copied. atomic_file_discard closes it. */
ImgstatResult atomic_file_open_memory(const char *name, void *memory, size_t bytes,
                                      AtomicFile **out, ImgstatError *err);

/* Opens an unnamed file in the folder of an output's temporary file, for bytes whose place is not
 * known yet. atomic_file_discard closes it. */
ImgstatResult atomic_file_spool(const AtomicFile *output, AtomicFile **out, ImgstatError *err);

/* Writes at a position. Threads may write to distinct positions. */
ImgstatResult atomic_file_write(AtomicFile *output, uint64_t at, const void *from, size_t bytes,
                                ImgstatError *err);

/* Reads back what was written at a position. */
ImgstatResult atomic_file_read(const AtomicFile *output, uint64_t at, void *to, size_t bytes,
                               ImgstatError *err);

/* Completes the file and frees `output`. After an error the target is as it was before, or it is
 * the new file, whole, in a folder that cannot be synced. */
ImgstatResult atomic_file_commit(AtomicFile *output, ImgstatError *err);

/* Whether an error says that the target exists and may not be replaced. */
bool atomic_file_is_taken(const ImgstatError *err);

/* Removes the temporary file and frees `output`. Accepts NULL. */
void atomic_file_discard(AtomicFile *output);

#endif
