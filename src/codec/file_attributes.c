/* SPDX-License-Identifier: MIT */
/* file_attributes.c: owner, mode, access control list and extended attributes. */
#define _GNU_SOURCE
#include "codec/file_attributes.h"

#include "base/compiler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The mode's bits for the group are a mask where there is a list: without it they would mean
 * more. */
static const char access_list[] = "system.posix_acl_access";

/* Whether the file system or the user's rights do not allow something, which is no failure: it is
 * none for cp. */
static bool is_refusal(int error)
{
    return error == EPERM || error == EACCES || error == ENOTSUP || error == EINVAL;
}

/* The owner comes first, because changing it clears bits of the mode. A user who may not change the
 * owner may still set the group. */
static bool set_owner_and_mode(int fd, const struct stat *old)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && (st.st_uid != old->st_uid || st.st_gid != old->st_gid) &&
        fchown(fd, old->st_uid, old->st_gid) != 0 && fchown(fd, (uid_t)-1, old->st_gid) != 0 &&
        !is_refusal(errno))
        return false;
    return fchmod(fd, old->st_mode & 0777) == 0 || is_refusal(errno);
}

/* Attributes that describe the old bytes, or give them rights. */
static bool belongs_to_bytes(const char *name)
{
    static const char *const names[] = {"security.capability", "security.ima", "security.evm"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool copy_attribute(const char *path, const char *name, int fd)
{
    const ssize_t bytes = getxattr(path, name, NULL, 0);
    if (bytes < 0)
        return errno == ENODATA || is_refusal(errno);
    void *const value = malloc((size_t)bytes + 1);
    const ssize_t got = value ? getxattr(path, name, value, (size_t)bytes) : -1;
    const bool set = got >= 0 && fsetxattr(fd, name, value, (size_t)got, 0) == 0;
    const int cause = value ? errno : ENOMEM;
    free(value);
    errno = cause;
    return set || (value && strcmp(name, access_list) != 0 && is_refusal(cause));
}

bool file_attributes_copy(const char *path, const struct stat *old, int fd)
{
    (void)fremovexattr(fd, access_list); /* which the folder may have given the new file */
    if (!set_owner_and_mode(fd, old))
        return false;
    const ssize_t bytes = listxattr(path, NULL, 0);
    if (bytes <= 0)
        return bytes == 0 || is_refusal(errno);
    char *const names = malloc((size_t)bytes);
    const ssize_t got = names ? listxattr(path, names, (size_t)bytes) : -1;
    bool good = got >= 0;
    for (const char *name = names; good && name < names + got; name += strlen(name) + 1)
        good = belongs_to_bytes(name) || copy_attribute(path, name, fd);
    const int cause = names ? errno : ENOMEM;
    free(names);
    errno = cause;
    return good;
}
