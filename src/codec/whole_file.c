/* SPDX-License-Identifier: MIT */
/* whole_file.c: tells files that were cut from whole ones, by their two ends. */
#define _GNU_SOURCE /* memmem */
#include "codec/codec.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where a TIFF file has its first directory. */
static uint64_t first_directory(const uint8_t start[CODEC_PROBE_BYTES])
{
    const bool big_endian = start[0] == 'M', big = start[2] + start[3] == 43;
    const size_t at = big ? 8 : 4, bytes = big ? 8 : 4;
    uint64_t offset = 0;
    for (size_t i = 0; i < bytes; i++)
        offset = offset << 8 | start[at + (big_endian ? i : bytes - 1 - i)];
    return offset;
}

static bool is_whole(int fd, uint64_t size)
{
    enum { END = 4096 };
    static const uint8_t last_chunk[] = {'I', 'E', 'N', 'D', 0xAE, 0x42, 0x60, 0x82};
    static const uint8_t zeros[CODEC_PROBE_BYTES];
    uint8_t start[CODEC_PROBE_BYTES] = {0}, end[END];
    const ssize_t n = pread(fd, start, sizeof start, 0);
    const ssize_t got = pread(fd, end, END, size > END ? (off_t)(size - END) : 0);
    if (n < 0 || got < 0)
        return true; /* it cannot be told */
    if (png_codec.probe(start, (size_t)n))
        return memmem(end, (size_t)got, last_chunk, sizeof last_chunk) != NULL;
    if (tiff_codec.probe(start, (size_t)n))
        return first_directory(start) < size;
    return memcmp(start, zeros, sizeof start) != 0;
}

bool codec_file_is_whole(const char *path)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not wait for a pipe */
    if (fd < 0)
        return true;
    const bool whole =
        fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || is_whole(fd, (uint64_t)st.st_size);
    close(fd);
    return whole;
}
