/* SPDX-License-Identifier: MIT */
/* input_file.c: an input: its bytes, read at positions, where what cannot seek is spooled first;
 * and the file of the public interface: these bytes, its decoder, the page selected. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE, mkostemp */
#endif
#include "codec/atomic_file.h"
#include "codec/codec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Bytes ---- */

enum {
    SPOOL_BYTES = 1 << 18, /* copying a pipe: large enough that system calls do not count */
    WAIT_MS = 200          /* an interruption that another thread receives is noticed this late */
};

bool source_is_file(const char *path, uint64_t *bytes)
{
    struct stat st;
    if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    *bytes = (uint64_t)st.st_size;
    return true;
}

static bool write_all(int fd, const char *from, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t n = write(fd, from, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Waits until there is something to read, or the end, or an error that reading reports. */
static ImgstatResult wait_for(int from, const Cancel *cancel, ImgstatError *err)
{
    struct pollfd what = {.fd = from, .events = POLLIN};
    int ready = 0;
    while (cancel && (ready == 0 || (ready < 0 && errno == EINTR))) {
        IMGSTAT_TRY(cancel_check(cancel, err));
        ready = poll(&what, 1, WAIT_MS);
    }
    return IMGSTAT_OK;
}

/* Reads until `bytes` are there or the input ends; *got is how many. */
static ImgstatResult read_full(int from, const char *name, const Cancel *cancel, char *to,
                               size_t bytes, size_t *got, ImgstatError *err)
{
    *got = 0;
    while (*got < bytes) {
        IMGSTAT_TRY(wait_for(from, cancel, err));
        const ssize_t n = read(from, to + *got, bytes - *got);
        if (n == 0)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_file(err, IMGSTAT_ERR_IO, name, "%s", strerror(errno));
        *got += (size_t)n;
    }
    return IMGSTAT_OK;
}

/* Reads `from` to its end into an unnamed file; *out is that file or -1. What does not begin like
 * an image is refused at once: it may never end. */
static ImgstatResult spool(int from, const char *name, const Cancel *cancel, int *out,
                           ImgstatError *err)
{
    *out = -1;
    char *const buffer = malloc(SPOOL_BYTES);
    if (!buffer)
        return error_memory(err, SPOOL_BYTES, "a copy of the input");
    int to;
    ImgstatResult res = temporary_open(name, &to, err);
    for (bool first = true; res == IMGSTAT_OK; first = false) {
        size_t n;
        res = read_full(from, name, cancel, buffer, SPOOL_BYTES, &n, err);
        if (res != IMGSTAT_OK || n == 0)
            break;
        const Codec *codec;
        if (first)
            res = codec_of_bytes((const uint8_t *)buffer, n, name, &codec, err);
        if (res == IMGSTAT_OK && !write_all(to, buffer, n))
            res = error_file(err, IMGSTAT_ERR_IO, name, "cannot write its temporary copy: %s",
                             strerror(errno));
    }
    free(buffer);
    if (res != IMGSTAT_OK) {
        if (to >= 0)
            close(to);
        return res;
    }
    *out = to;
    return IMGSTAT_OK;
}

/* Replaces source->fd by something that can be read at positions, and fills in its size. */
static ImgstatResult make_seekable(Source *source, const Cancel *cancel, ImgstatError *err)
{
    struct stat st;
    if (fstat(source->fd, &st) != 0)
        return error_file(err, IMGSTAT_ERR_IO, source->name, "%s", strerror(errno));
    if (S_ISDIR(st.st_mode))
        return error_file(err, IMGSTAT_ERR_IO, source->name, "is a directory");
    /* A redirected file that somebody has read from begins where they stopped: spool it. */
    const bool seekable = S_ISREG(st.st_mode) && lseek(source->fd, 0, SEEK_CUR) == 0;
    if (!seekable) {
        int copy = -1;
        IMGSTAT_TRY(spool(source->fd, source->name, cancel, &copy, err));
        close(source->fd);
        source->fd = copy;
        if (fstat(source->fd, &st) != 0)
            return error_file(err, IMGSTAT_ERR_IO, source->name, "%s", strerror(errno));
    }
    source->bytes = (uint64_t)st.st_size;
    if (source->bytes == 0)
        return error_file(err, IMGSTAT_ERR_FORMAT, source->name, "is empty");
    return IMGSTAT_OK;
}

/* A FIFO is opened when somebody writes to it. */
static ImgstatResult open_path(Source *source, const Cancel *cancel, ImgstatError *err)
{
    const bool standard = strcmp(source->name, "-") == 0;
    for (;;) {
        source->fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                              : open(source->name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (source->fd >= 0)
            return IMGSTAT_OK;
        if (errno != EINTR)
            return error_file(err, IMGSTAT_ERR_IO, source->name, "%s", strerror(errno));
        IMGSTAT_TRY(cancel_check(cancel, err));
    }
}

ImgstatResult source_open(const char *path, const Cancel *cancel, Source **out, ImgstatError *err)
{
    *out = NULL;
    Source *const source = calloc(1, sizeof *source);
    if (!source)
        return error_memory(err, sizeof *source, "an input");
    source->fd = -1;
    source->name = strdup(path);
    ImgstatResult res = IMGSTAT_OK;
    if (!source->name)
        res = error_memory(err, strlen(path) + 1, "a file name");
    if (res == IMGSTAT_OK)
        res = open_path(source, cancel, err);
    if (res == IMGSTAT_OK)
        res = make_seekable(source, cancel, err);
    if (res != IMGSTAT_OK) {
        source_close(source);
        return res;
    }
    *out = source;
    return IMGSTAT_OK;
}

void source_close(Source *source)
{
    if (!source)
        return;
    if (source->fd >= 0)
        close(source->fd);
    free(source->name);
    free(source);
}

ImgstatResult source_read(const Source *source, uint64_t offset, void *to, size_t bytes,
                          size_t *got, ImgstatError *err)
{
    *got = 0;
    if (offset >= source->bytes)
        return IMGSTAT_OK;
    while (*got < bytes) {
        const ssize_t n =
            pread(source->fd, (char *)to + *got, bytes - *got, (off_t)(offset + *got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_file(err, IMGSTAT_ERR_IO, source->name, "%s", strerror(errno));
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return IMGSTAT_OK;
}

/* ---- Pages ---- */

static ImgstatResult find_codec(const Source *source, const Codec **out, ImgstatError *err)
{
    uint8_t bytes[CODEC_PROBE_BYTES] = {0};
    size_t n = 0;
    IMGSTAT_TRY(source_read(source, 0, bytes, sizeof bytes, &n, err));
    return codec_of_bytes(bytes, n, source->name, out, err);
}

/* What decodes faster must give what libpng and libtiff alone give: tests compare the two. */
static DecodeMode wanted_mode(void)
{
    const char *const wanted = getenv("IMGSTAT_DECODE");
    if (wanted && strcmp(wanted, "plain") == 0)
        return DECODE_PLAIN;
    return wanted && strcmp(wanted, "threads") == 0 ? DECODE_THREADS : DECODE_AUTO;
}

ImgstatResult file_open(const char *path, const ImgstatOpen *how, const Cancel *cancel,
                        ImgstatFile **out, ImgstatError *err)
{
    *out = NULL;
    ImgstatOpen full = how ? *how : (ImgstatOpen){.indices = false};
    full.limits = limits_default(full.limits);

    ImgstatFile *const file = calloc(1, sizeof *file);
    if (!file)
        return error_memory(err, sizeof *file, "an open file");
    const Codec *codec = NULL;
    ImgstatResult res = source_open(path, cancel, &file->source, err);
    if (res == IMGSTAT_OK)
        res = find_codec(file->source, &codec, err);
    if (res == IMGSTAT_OK)
        res = decoder_open(codec, file->source, &full, wanted_mode(), &file->decoder, err);
    if (res != IMGSTAT_OK) {
        imgstat_file_close(file);
        return res;
    }
    *out = file;
    return IMGSTAT_OK;
}

ImgstatResult imgstat_file_open(const char *path, const ImgstatOpen *how, ImgstatFile **out,
                                ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(path && out, __func__, err));
    return file_open(path, how, NULL, out, err);
}

void imgstat_file_close(ImgstatFile *file)
{
    if (!file)
        return;
    decoder_close(file->decoder);
    source_close(file->source);
    free(file->chosen);
    free(file);
}

uint32_t imgstat_file_pages(const ImgstatFile *file)
{
    return file->decoder->list.n;
}

size_t imgstat_file_page_name(const ImgstatFile *file, uint32_t page, char *out, size_t capacity)
{
    const PageList *const list = &file->decoder->list;
    if (capacity > 0)
        out[0] = '\0';
    return page < list->n ? page_list_name(list, page, out, capacity) : 0;
}

ImgstatResult imgstat_file_find(const ImgstatFile *file, const char *pages, uint32_t *out,
                                uint32_t capacity, uint32_t *n, ImgstatError *err)
{
    uint32_t *found = NULL;
    IMGSTAT_TRY(error_if_null(file && n && (out || capacity == 0), __func__, err));
    IMGSTAT_TRY(page_list_select(&file->decoder->list, pages, file->source->name, &found, n, err));
    for (uint32_t i = 0; i < *n && i < capacity; i++)
        out[i] = found[i];
    free(found);
    return IMGSTAT_OK;
}

ImgstatResult file_choose(ImgstatFile *file, const char *pages, unsigned with, ImgstatError *err)
{
    const PageList *const list = &file->decoder->list;
    uint32_t *named = NULL, n = 0;
    IMGSTAT_TRY(page_list_select(list, pages, file->source->name, &named, &n, err));
    free(file->chosen);
    file->chosen = NULL;
    file->n_chosen = 0;
    const ImgstatResult res = page_list_complete(list, named, n, with, pages == NULL, &file->chosen,
                                                 &file->n_chosen, err);
    free(named);
    return res;
}

ImgstatResult file_select(ImgstatFile *file, uint32_t page, const DecodeOptions *options,
                          ImgstatError *err)
{
    Decoder *const decoder = file->decoder;
    if (page >= decoder->list.n)
        return error_file(err, IMGSTAT_ERR_ARG, decoder->source->name,
                          "has no page %u; it has %u, counted from 0", page, decoder->list.chain);
    return decoder_select(decoder, page, options, err);
}

/* Selects a page whose rows are read with all channels. */
static ImgstatResult select_for_rows(ImgstatFile *file, uint32_t page, ImgstatError *err)
{
    DecodeOptions options = file->decoder->options;
    options.planes = false;
    file->measured = false;
    return file_select(file, page, &options, err);
}

ImgstatResult imgstat_file_page(ImgstatFile *file, uint32_t page, ImgstatPage *out,
                                ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(file, __func__, err));
    IMGSTAT_TRY(select_for_rows(file, page, err));
    if (out)
        *out = file->decoder->page;
    return IMGSTAT_OK;
}

const char *imgstat_file_channel(const ImgstatFile *file, uint16_t channel)
{
    const Decoder *const decoder = file->decoder;
    return decoder->channel_names && channel < decoder->page.channels
               ? decoder->channel_names[channel]
               : "";
}

ImgstatResult imgstat_file_read(ImgstatFile *file, ImagePro *image, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(file && image, __func__, err));
    Decoder *const decoder = file->decoder;
    const ImgstatPage *const page = &decoder->page;
    const char *const name = file->source->name;
    if (!decoder->channel_names)
        return error_file(err, IMGSTAT_ERR_ARG, name, "no page is selected");
    if (image->memory == IMGSTAT_CUDA)
        return error_file(err, IMGSTAT_ERR_ARG, name, "rows are read into host memory only");
    if (image->width != page->width || image->channels != page->channels ||
        image->sample != page->sample)
        return error_file(err, IMGSTAT_ERR_ARG, name,
                          "the image to read into was not made for page %u", page->page);
    if (file->measured)
        IMGSTAT_TRY(select_for_rows(file, page->page, err));
    if (image->height > page->height - decoder->next_row)
        return error_file(err, IMGSTAT_ERR_ARG, name, "%u rows asked for where %u are left",
                          image->height, page->height - decoder->next_row);
    const uint32_t first = decoder->next_row;
    IMGSTAT_TRY(decoder_read_rows(decoder, image->host, image->pitch, image->height, err));
    image->first_row = first;
    if (page->has_nodata)
        imgstat_image_set_nodata(image, page->nodata);
    return IMGSTAT_OK;
}
