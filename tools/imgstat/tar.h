/* SPDX-License-Identifier: MIT */
/* tar.h: the images in a tar archive, as inputs. */
#ifndef IMGSTAT_TOOLS_TAR_H
#define IMGSTAT_TOOLS_TAR_H

#include "options.h"

/* An archive that is being listed. Nothing of it but one header is in memory. */
typedef struct Tar Tar;
/* An image in an archive: it is read where it lies. */
typedef struct TarMember TarMember;

/* What an archive holds. */
typedef struct TarItem {
    char *name;        /* owned by the caller; "" for the archive itself */
    char *cause;       /* owned by the caller; NULL, or why it is no input */
    TarMember *member; /* the caller's; NULL where there is a cause */
} TarItem;

/* Length of the beginning of a path that leads to an archive: all of "a.tar", and "a.tar" of
 * "a.tar/b.png", where that is a file that ends in .tar and is no image. 0: there is none. */
size_t tar_length(const char *path);

/* Opens an archive. only: NULL, or the member that is wanted; else those that the options choose.
 * NULL: *cause is a sentence without the name; freed by the caller. */
Tar *tar_open(const Options *options, const char *path, const char *only, char **cause);
/* The next image, or problem. False: there is none. Members stay valid after tar_close. */
bool tar_next(Tar *tar, TarItem *out);
void tar_close(Tar *tar); /* accepts NULL */

/* Where the library reads it. Threads may read it and others of its archive at once. */
const ImgstatInput *tar_member_input(const TarMember *member);
void tar_member_release(TarMember *member); /* accepts NULL; on the thread of tar_next */

#endif
