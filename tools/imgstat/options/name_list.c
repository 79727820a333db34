/* SPDX-License-Identifier: MIT */
/* name_list.c: reads the list of --files0-from, a block at a time. */
#include "options/name_list.h"
#include "options/value.h"
#include "text/temporary.h"
#include "text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_BYTES = 1 << 16 };

/* ---- Names ----------------------------------------------------------------------------------- */

/* Reads the next block behind what is not used. False: errno, or 0 at the end of the list. */
static bool read_on(int fd, NameReader *reader)
{
    memmove(reader->text, reader->text + reader->used, reader->filled - reader->used);
    reader->filled -= reader->used;
    reader->used = 0;
    if (reader->capacity - reader->filled < BLOCK_BYTES + 1) {
        const size_t capacity = 2 * (reader->filled + BLOCK_BYTES);
        char *const larger = text_alloc(capacity);
        memcpy(larger, reader->text, reader->filled);
        free(reader->text);
        reader->text = larger;
        reader->capacity = capacity;
    }
    ssize_t n;
    do
        n = pread(fd, reader->text + reader->filled, BLOCK_BYTES, (off_t)reader->at);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        errno = 0;
    if (n <= 0)
        return false;
    reader->filled += (size_t)n;
    reader->at += (uint64_t)n;
    return true;
}

const char *name_list_next(const Options *o, NameReader *reader, int *cause)
{
    if (reader->text == NULL) {
        reader->capacity = 2 * BLOCK_BYTES;
        reader->text = text_alloc(reader->capacity);
    }
    size_t searched = 0;
    *cause = 0;
    for (;;) {
        char *const name = reader->text + reader->used;
        const size_t length = reader->filled - reader->used;
        const char *const end = memchr(name + searched, '\0', length - searched);
        if (end != NULL) {
            reader->used += (size_t)(end - name) + 1;
            return name;
        }
        searched = length;
        if (read_on(o->list_fd, reader))
            continue;
        *cause = errno;
        if (*cause != 0 || length == 0)
            return NULL;
        reader->text[reader->filled] = '\0'; /* the last name may lack its NUL */
        reader->used = reader->filled;
        return reader->text;
    }
}

void name_reader_release(NameReader *reader)
{
    free(reader->text);
    *reader = (NameReader){.text = NULL};
}

/* ---- The list -------------------------------------------------------------------------------- */

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

/* Copies what can be read once; -1: errno. *written: what failed is the copy. */
static int copy_pipe(int from, bool *written)
{
    char *const block = text_alloc(BLOCK_BYTES);
    int to = temporary_create();
    ssize_t n = 0;
    *written = to < 0;
    while (to >= 0 && (n = read(from, block, BLOCK_BYTES)) != 0) {
        *written = n > 0 && !write_all(to, block, (size_t)n);
        if ((n < 0 && errno != EINTR) || *written) {
            const int cause = errno;
            close(to);
            to = -1;
            errno = cause;
        }
    }
    free(block);
    return to;
}

/* Opens the list for reading at positions. */
static bool open_list(Options *o)
{
    const char *const path = o->files0_from;
    const int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    bool written = false;
    o->list_fd = fd;
    if (fd >= 0 &&
        (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || lseek(fd, 0, SEEK_CUR) != 0)) {
        o->list_fd = copy_pipe(fd, &written);
        const int cause = errno;
        close(fd);
        errno = cause;
    }
    if (o->list_fd >= 0)
        return true;
    return written ? usage_error(o->command, "--files0-from: a copy of %s in %s: %s", path,
                                 temporary_folder(), strerror(errno))
                   : usage_error(o->command, "--files0-from: %s: %s", path, strerror(errno));
}

/* Counts the names. */
static bool check_names(Options *o)
{
    NameReader reader = {.text = NULL};
    int cause;
    bool good = true;
    for (const char *name; good && (name = name_list_next(o, &reader, &cause)) != NULL;) {
        o->n_list++;
        if (*name == '\0')
            good = usage_error(o->command, "--files0-from: name %zu of %s is empty", o->n_list,
                               o->files0_from);
        else if (o->n_list == 1 && strlen(name) == reader.at && strchr(name, '\n') != NULL)
            good = usage_error(o->command,
                               "--files0-from: names in %s must end with NUL bytes, as those of "
                               "'find -print0' do",
                               o->files0_from);
        else if (o->list_standard == NULL && option_is_standard_input(name))
            o->list_standard = text_copy(name);
    }
    name_reader_release(&reader);
    if (good && cause != 0)
        return usage_error(o->command, "--files0-from: %s: %s", o->files0_from, strerror(cause));
    return good;
}

bool name_list_open(Options *o)
{
    return open_list(o) && check_names(o);
}
