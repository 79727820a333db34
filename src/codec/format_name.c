/* SPDX-License-Identifier: MIT */
/* format_name.c: formats by the endings of names and by the first bytes of files. */
#include "codec/table.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

const char *imgstat_format_of_name(const char *path)
{
    const EncodeFormat *const format = encode_format_of_path(path);
    return format ? format->name : NULL;
}

const char *imgstat_format_of_file(const char *path)
{
    uint8_t bytes[CODEC_PROBE_BYTES];
    struct stat st;
    const Codec *codec = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is not waited for */
    if (fd < 0)
        return NULL;
    const ssize_t n =
        fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, bytes, sizeof bytes) : -1;
    close(fd);
    return n > 0 && codec_of_bytes(bytes, (size_t)n, path, &codec, NULL) == IMGSTAT_OK ? codec->name
                                                                                       : NULL;
}
