/* SPDX-License-Identifier: MIT */
/* transfer_file.c: saves transfers to files, and loads them and their text. */
#include "codec/atomic_file.h"
#include "transfer/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ImgstatResult io_error(ImgstatError *err, const char *path, const char *what)
{
    const int cause = errno;
    return error_file(err, IMGSTAT_ERR_IO, path, "%s: %s", what, strerror(cause));
}

ImgstatResult imgstat_transfer_save(const ImgstatTransfer *transfer, const char *path, bool replace,
                                    ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(transfer && path, __func__, err));
    if (transfer_set_has_groups(transfer) || transfer_set_has_kinds(transfer))
        return error_file(err, IMGSTAT_ERR_ARG, path,
                          "not written: a saved transfer knows no groups of files, and no kinds of "
                          "images");
    char *const text = transfer_to_json(transfer, err);
    if (!text)
        return error_add_file(err, IMGSTAT_ERR_MEMORY, path);
    const size_t bytes = strlen(text);
    AtomicFile *output;
    ImgstatResult result = atomic_file_open(path, replace, 0666, &output, err);
    if (result == IMGSTAT_OK) {
        text[bytes] = '\n'; /* in place of the final NUL: the file is one line */
        result = atomic_file_write(output, 0, text, bytes + 1, err);
        if (result == IMGSTAT_OK)
            result = atomic_file_commit(output, err);
        else
            atomic_file_discard(output);
    }
    free(text);
    return error_add_file(err, result, path);
}

ImgstatResult imgstat_transfer_load(const char *path, uint64_t memory, ImgstatTransfer **out,
                                    ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(path && out, __func__, err));
    const bool standard = strcmp(path, "-") == 0;
    const int fd =
        standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return io_error(err, path, "cannot be opened");
    size_t bytes = 0, capacity = 1 << 16;
    char *text = malloc(capacity);
    ImgstatResult result = text ? IMGSTAT_OK : error_memory(err, capacity, "a transfer");
    while (result == IMGSTAT_OK) {
        const ssize_t n = read(fd, text + bytes, capacity - bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            result = io_error(err, path, "cannot be read");
        if (n <= 0)
            break;
        bytes += (size_t)n;
        if (bytes > TRANSFER_MAX_BYTES)
            result = error_file(err, IMGSTAT_ERR_LIMIT, path, "more bytes than a transfer has");
        else if (memory > 0 && bytes > memory / 2)
            result = error_file(err, IMGSTAT_ERR_LIMIT, path,
                                "reading it takes more than the %llu bytes that are allowed",
                                (unsigned long long)memory);
        else if (bytes == capacity) {
            char *const larger = realloc(text, capacity *= 2);
            if (!larger)
                result = error_memory(err, capacity, "a transfer");
            else
                text = larger;
        }
    }
    close(fd);
    if (result == IMGSTAT_OK)
        result = transfer_from_json(text, bytes, path, memory, out, err);
    free(text);
    return error_add_file(err, result, path);
}

ImgstatResult imgstat_transfer_from_text(const char *name, const char *text, size_t n,
                                         ImgstatTransfer **out, ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(name && text && out, __func__, err));
    if (n > TRANSFER_MAX_BYTES)
        return error_file(err, IMGSTAT_ERR_LIMIT, name, "more bytes than a transfer has");
    return error_add_file(err, transfer_from_json(text, n, name, 0, out, err), name);
}
