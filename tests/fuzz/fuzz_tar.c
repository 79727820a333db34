/* SPDX-License-Identifier: MIT */
/* fuzz_tar: any bytes as a tar archive. Every item has a cause or a member, never both; the bytes
 * of a member are those of the archive, from one place on and within it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create, memmem */
#endif
#include "inputs/tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_ITEMS = 4096 };

static void read_member(const TarMember *member, const uint8_t *data, size_t size)
{
    const ImgstatInput *const input = tar_member_input(member);
    ImgstatError err = {.code = IMGSTAT_OK};
    if (input->bytes > size || input->open(input->context, &err) != IMGSTAT_OK)
        abort();
    const size_t n = (size_t)input->bytes;
    size_t got = 0;
    uint8_t *const bytes = malloc(n + !n);
    if (bytes && n > 0 &&
        (input->read_at(input->context, 0, bytes, n, &got, &err) != IMGSTAT_OK || got != n ||
         !memmem(data, size, bytes, n)))
        abort();
    free(bytes);
    input->close(input->context);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char path[40], *cause = NULL;
    if (fd < 0)
        fd = memfd_create("fuzz", 0);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const Options options = {.recursive = true};
    Tar *const tar = tar_open(&options, path, NULL, &cause);
    if (!tar != (cause != NULL))
        abort();
    TarItem item;
    for (size_t n = 0; tar && tar_next(tar, &item); n++) {
        if (n == MOST_ITEMS || !item.name || !item.cause != (item.member != NULL))
            abort();
        if (item.member)
            read_member(item.member, data, size);
        tar_member_release(item.member);
        free(item.name);
        free(item.cause);
    }
    tar_close(tar);
    free(cause);
    return 0;
}
