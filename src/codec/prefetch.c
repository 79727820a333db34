/* SPDX-License-Identifier: MIT */
/* prefetch.c: lets the disk work while the processors do. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* preadv2 */
#endif
#include "codec/prefetch.h"

#include "codec/codec.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

/* Whether the file's first byte would have to be read from the disk. */
static bool is_away(int fd)
{
    char byte;
    const struct iovec place = {.iov_base = &byte, .iov_len = 1};
    return preadv2(fd, &place, 1, 0, RWF_NOWAIT) < 0 && errno == EAGAIN;
}

uint64_t prefetch_file(const char *path, uint64_t most)
{
    uint64_t size;
    if (!source_is_file(path, &size))
        return 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return 0;
    if (is_away(fd))
        (void)posix_fadvise(fd, 0, (off_t)(size < most ? size : most), POSIX_FADV_WILLNEED);
    close(fd);
    return size;
}
