/* SPDX-License-Identifier: MIT */
/* whole_file.c: tells files that were cut from whole ones. */
#include "codec/codec.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_whole(const Source *source)
{
    static const uint8_t zeros[CODEC_PROBE_BYTES];
    uint8_t start[CODEC_PROBE_BYTES] = {0};
    size_t n = 0;
    if (source_read(source, 0, start, sizeof start, &n, NULL) != IMGSTAT_OK)
        return true; /* it cannot be told */
    const Codec *codec;
    for (size_t i = 0; (codec = codec_at(i)) != NULL; i++)
        if (codec->probe(start, n))
            return codec->is_whole(source);
    const bool is_beginning = n < 8 && strchr("\x89IM", start[0]) != NULL;
    return !is_beginning && memcmp(start, zeros, sizeof start) != 0;
}

bool codec_file_is_whole(const char *path)
{
    struct stat st;
    Source source = {.name = (char *)path,
                     .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)}; /* waits for no pipe */
    if (source.fd < 0)
        return true;
    bool whole = fstat(source.fd, &st) != 0 || !S_ISREG(st.st_mode);
    source.bytes = whole ? 0 : (uint64_t)st.st_size;
    whole = whole || is_whole(&source);
    close(source.fd);
    return whole;
}
