/* SPDX-License-Identifier: MIT */
/* test_prefetch.c: files that will be opened soon are read ahead, and nothing else is touched. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* preadv2 */
#endif
#include "codec/prefetch.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BYTES = 3 << 20 };

static char folder[64], path[80];

/* Here, for other folders may be memory; elsewhere if nothing can be written here. */
static void make_folder(void)
{
    strcpy(folder, "advise-XXXXXX");
    if (!mkdtemp(folder)) {
        strcpy(folder, "/tmp/imgstat-advise-XXXXXX");
        cr_assert_not_null(mkdtemp(folder));
    }
    snprintf(path, sizeof path, "%s/file", folder);
}

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

TestSuite(advise, .init = make_folder, .fini = remove_folder);

static int make_file(void)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
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

/* Lets go of the file, asks for it, and waits for its end to come: a second, then longer. */
static bool comes_ahead(int fd, int seconds, bool *away)
{
    cr_assert_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    /* Not every file system lets go, or can tell. */
    *away = !is_there(fd, 0) && errno == EAGAIN;
    cr_assert_eq(prefetch_file(path, BYTES), BYTES);
    bool there = false;
    for (int i = 0; *away && !there && i < 1000 * seconds; i++) {
        usleep(1000);
        there = is_there(fd, BYTES - 1);
    }
    return there;
}

Test(advise, reads_files_ahead)
{
    const int fd = make_file();
    cr_assert_eq(prefetch_file(path, BYTES), BYTES, "one that is there");
    bool away = true, there = false;
    /* A system that is short of memory or busy with its disks may drop what is only advice. */
    for (int seconds = 1; away && !there && seconds <= 32; seconds *= 2)
        there = comes_ahead(fd, seconds, &away);
    cr_assert(!away || there);
    fprintf(stderr, "%d bytes, %s\n", BYTES, away ? "read ahead" : "not let go of");
    close(fd);
}

Test(advise, leaves_the_rest_alone)
{
    cr_assert_eq(prefetch_file("-", BYTES), 0);
    cr_assert_eq(prefetch_file("/dev/zero", BYTES), 0);
    cr_assert_eq(prefetch_file(".", BYTES), 0);
    cr_assert_eq(prefetch_file("/no/such/file", BYTES), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(prefetch_file(path, BYTES), 0, "a reader would let a writer go on");
}
