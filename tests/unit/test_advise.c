/* SPDX-License-Identifier: MIT */
/* test_advise.c: files that will be opened soon are read ahead, and nothing else is touched. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* preadv2 */
#endif
#include "advise.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BYTES = 3 << 20 };

static int make_file(char path[64])
{
    snprintf(path, 64, "advise-XXXXXX"); /* not in a folder that may be memory */
    const int fd = mkstemp(path);
    char *const bytes = calloc(1, BYTES);
    cr_assert(fd >= 0 && bytes);
    cr_assert_eq(write(fd, bytes, BYTES), BYTES);
    cr_assert_eq(fsync(fd), 0);
    free(bytes);
    return fd;
}

static bool is_there(int fd, off_t at)
{
    char byte;
    const struct iovec place = {.iov_base = &byte, .iov_len = 1};
    return preadv2(fd, &place, 1, at, RWF_NOWAIT) == 1;
}

Test(advise, reads_files_ahead)
{
    char path[64];
    const int fd = make_file(path);
    cr_assert_eq(advise_soon(path, BYTES), BYTES, "one that is there");
    cr_assert_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    /* Not every file system lets go, or can tell. */
    const bool away = !is_there(fd, 0) && errno == EAGAIN;
    cr_assert_eq(advise_soon(path, BYTES), BYTES);
    for (int i = 0; away && i < 5000 && !is_there(fd, BYTES - 1); i++)
        usleep(1000);
    cr_assert(!away || is_there(fd, BYTES - 1));
    fprintf(stderr, "%d bytes, %s\n", BYTES, away ? "read ahead" : "not let go of");
    close(fd);
    unlink(path);
}

Test(advise, leaves_the_rest_alone)
{
    cr_assert_eq(advise_soon("-", BYTES), 0);
    cr_assert_eq(advise_soon("/dev/zero", BYTES), 0);
    cr_assert_eq(advise_soon(".", BYTES), 0);
    cr_assert_eq(advise_soon("/no/such/file", BYTES), 0);
    char path[64];
    snprintf(path, sizeof path, "advise-fifo-%d", (int)getpid());
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(advise_soon(path, BYTES), 0, "a reader would let a writer go on");
    unlink(path);
}
