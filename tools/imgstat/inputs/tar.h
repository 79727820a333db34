/* SPDX-License-Identifier: MIT */
/* tar.h: the images in a tar archive, as inputs. */
#ifndef IMGSTAT_TOOLS_INPUTS_TAR_H
#define IMGSTAT_TOOLS_INPUTS_TAR_H

#include "options/options.h"

/* An archive that is being listed. Nothing of it but one header is in memory. */
typedef struct Tar Tar;
/* An image in an archive: it is read where it lies. */
typedef struct TarMember TarMember;

/* What an archive holds. */
typedef struct TarItem {
    char *name;        /* owned by the caller; "" for the archive itself */
    char *cause;       /* owned by the caller; NULL, or the reason why it is no input */
    TarMember *member; /* owned by the caller; NULL if there is a cause */
} TarItem;

/* Whether a name ends as those of archives do. */
bool tar_is_named(const char *name);

/* Returns the length of the part of a path that names an archive: all of "a.tar", and "a.tar" of
 * "a.tar/b.png", if that file ends in .tar and is no image. 0: no archive. */
size_t tar_length(const char *path);

/* Opens an archive. only: NULL, or the wanted member; else the options choose. Returns NULL and
 * sets *cause, a sentence without the name that the caller frees, on failure. */
Tar *tar_open(const Options *options, const char *path, const char *only, char **cause);
/* Gives the next image or problem. Returns false at the end. Members stay valid after tar_close. */
bool tar_next(Tar *tar, TarItem *out);
void tar_close(Tar *tar); /* accepts NULL */

/* Returns the source of a member. Threads may read it and other members of the archive at once. */
const ImgstatInput *tar_member_input(const TarMember *member);
/* Returns the path of the archive; it lives as long as its members. */
const char *tar_member_archive(const TarMember *member);
void tar_member_release(TarMember *member); /* accepts NULL; on the thread of tar_next */

#endif
