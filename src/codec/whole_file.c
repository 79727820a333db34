/* SPDX-License-Identifier: MIT */
/* whole_file.c: finds out whether a file is whole or was cut short. */
#include "codec/codec.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_whole(const Source *source)
{
    static const uint8_t zeros[CODEC_PROBE_BYTES];
    uint8_t start[CODEC_PROBE_BYTES] = {0};
    size_t n = 0;
    if (source_read(source, 0, start, sizeof start, &n, NULL) != IMGSTAT_OK)
        return false;
    const Codec *codec;
    for (size_t i = 0; (codec = codec_at(i)) != NULL; i++)
        if (codec->probe(start, n))
            return codec->is_whole(source);
    const bool is_beginning = n < 8 && strchr("\x89IM", start[0]) != NULL;
    return !is_beginning && memcmp(start, zeros, sizeof start) != 0;
}

ImgstatResult codec_check_whole(const char *path, bool *whole, ImgstatError *err)
{
    struct stat st;
    Source *source = NULL;
    *whole = true;
    if (stat(path, &st) != 0)
        return error_file(err, IMGSTAT_ERR_IO, path, "%s", strerror(errno));
    if (!S_ISREG(st.st_mode) || (access(path, R_OK) != 0 && errno == EACCES))
        return IMGSTAT_OK; /* not known */
    *whole = false;
    if (st.st_size == 0)
        return IMGSTAT_OK;
    IMGSTAT_TRY(source_open(path, NULL, &source, err));
    *whole = is_whole(source);
    const ImgstatResult res = source_settle(source, IMGSTAT_OK, err);
    source_close(source);
    return res;
}
