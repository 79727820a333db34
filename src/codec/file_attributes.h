/* SPDX-License-Identifier: MIT */
/* file_attributes.h: what a file that takes the place of another keeps of it. */
#ifndef IMGSTAT_CODEC_FILE_ATTRIBUTES_H
#define IMGSTAT_CODEC_FILE_ATTRIBUTES_H

#include <stdbool.h>
#include <sys/stat.h>

/* Gives an open file the owner, mode, access control list and extended attributes of the file at
 * `path`, as writing into that would keep them. old: of that file. False: errno. */
bool file_attributes_copy(const char *path, const struct stat *old, int fd);

#endif
