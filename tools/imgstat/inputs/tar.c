/* SPDX-License-Identifier: MIT */
/* tar.c: lists an archive by libarchive, which finds where each member lies, and reads it there. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "inputs/tar.h"
#include "inputs/walk.h"
#include "text/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

bool tar_is_named(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && strcasecmp(name + length - 4, ".tar") == 0;
}

static bool is_tar(const char *path)
{
    struct stat info;
    return tar_is_named(path) && stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
           imgstat_format_of_file(path) == NULL;
}

size_t tar_length(const char *path)
{
    if (strcasestr(path, ".tar") == NULL)
        return 0;
    if (is_tar(path))
        return strlen(path);
    char *const begin = text_copy(path);
    size_t length = 0;
    for (char *slash = strchr(begin + 1, '/'); length == 0 && slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (is_tar(begin))
            length = strlen(begin);
        *slash = '/';
    }
    free(begin);
    return length;
}

#ifdef IMGSTAT_WITH_LIBARCHIVE

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { TAR_BLOCK = 512, READ_BYTES = 1 << 16 };

/* The file of an archive; open while one of its members is. */
typedef struct TarFile {
    char *path;
    size_t users; /* members and the listing; the listing's thread alone counts them */
    pthread_mutex_t lock;
    int fd;
    unsigned open; /* members that are open */
} TarFile;

struct TarMember {
    TarFile *file;
    uint64_t offset;
    ImgstatInput input;
};

struct Tar {
    const Options *options;
    char *only; /* owned; NULL: those that the options choose */
    TarFile *file;
    struct archive *archive;
    int fd;
    uint64_t bytes; /* of the file */
    bool ended;
    /* The member whose header was read last, and where its data should lie. */
    TarItem item;
    uint64_t offset, size;
    bool waits, is_data;
};

/* ---- Members --------------------------------------------------------------------------------- */

static void file_release(TarFile *file)
{
    if (--file->users > 0)
        return;
    pthread_mutex_destroy(&file->lock);
    free(file->path);
    free(file);
}

static ImgstatResult member_open(void *context, ImgstatError *err)
{
    TarFile *const file = ((TarMember *)context)->file;
    pthread_mutex_lock(&file->lock);
    if (file->open == 0)
        file->fd = open(file->path, O_RDONLY | O_CLOEXEC);
    const bool good = file->fd >= 0;
    const int cause = errno;
    file->open += good;
    pthread_mutex_unlock(&file->lock);
    if (good)
        return IMGSTAT_OK;
    snprintf(err->message, sizeof err->message, "%s", strerror(cause));
    return IMGSTAT_ERR_IO;
}

static void member_close(void *context)
{
    TarFile *const file = ((TarMember *)context)->file;
    pthread_mutex_lock(&file->lock);
    if (--file->open == 0)
        close(file->fd);
    pthread_mutex_unlock(&file->lock);
}

static ImgstatResult member_read(void *context, uint64_t offset, void *to, size_t bytes,
                                 size_t *got, ImgstatError *err)
{
    const TarMember *const member = context;
    ssize_t n;
    do
        n = pread(member->file->fd, to, bytes, (off_t)(member->offset + offset));
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        snprintf(err->message, sizeof err->message, "%s", strerror(errno));
        return IMGSTAT_ERR_IO;
    }
    *got = (size_t)n;
    return IMGSTAT_OK;
}

const ImgstatInput *tar_member_input(const TarMember *member)
{
    return &member->input;
}

const char *tar_member_archive(const TarMember *member)
{
    return member->file->path;
}

void tar_member_release(TarMember *member)
{
    if (member == NULL)
        return;
    file_release(member->file);
    free(member);
}

static TarMember *member_create(const Tar *tar)
{
    TarMember *const member = text_alloc(sizeof *member);
    *member = (TarMember){.file = tar->file,
                          .offset = tar->offset,
                          .input = {.bytes = tar->size,
                                    .open = member_open,
                                    .read_at = member_read,
                                    .close = member_close,
                                    .context = member}};
    tar->file->users++;
    return member;
}

/* ---- Listing --------------------------------------------------------------------------------- */

/* Whether a name leads out of the folder that its archive stands for. */
static bool leads_out(const char *name)
{
    if (*name == '/')
        return true;
    for (const char *at = name; at != NULL; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
            return true;
    }
    return false;
}

/* Whether a part of a name begins with a dot, and is not "." alone. */
static bool is_hidden(const char *name)
{
    for (const char *at = name; at != NULL; at = strchr(at, '/')) {
        at += *at == '/';
        if (at[0] == '.' && at[1] != '/')
            return true;
    }
    return false;
}

/* Why an entry is no input; NULL: it is one. */
static char *why_not(struct archive_entry *entry, const char *name)
{
    const char *const hard = archive_entry_hardlink(entry);
    const char *const target = hard != NULL ? hard : archive_entry_symlink(entry);
    if (leads_out(name))
        return text_copy("its name leads out of the archive");
    if (target != NULL) {
        char *const shown = text_display(target);
        const size_t bytes = strlen(shown) + 100;
        char *const cause = text_alloc(bytes);
        snprintf(cause, bytes, "is a link to %s, and links in archives are not followed", shown);
        free(shown);
        return cause;
    }
    if (archive_entry_filetype(entry) != AE_IFREG)
        return text_copy("is no regular file");
    if (archive_entry_sparse_count(entry) > 0)
        return text_copy("is sparse, and sparse files in archives are not read");
    return NULL;
}

/* Whether the data of an entry can be read and begin as no image does. */
static bool is_other_data(const Tar *tar)
{
    static const char *const starts[] = {"\x89PNG\r\n\x1a\n", "II*", "MM\0*", "II+", "MM\0+"};
    char bytes[8] = "";
    const size_t n = tar->size < sizeof bytes ? tar->size : sizeof bytes;
    if (pread(tar->fd, bytes, n, (off_t)tar->offset) != (ssize_t)n)
        return false;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (memcmp(bytes, starts[i], i == 0 ? 8 : 4) == 0)
            return false;
    return true;
}

/* Whether the entry whose header was read is an input, or would be with another name or type. */
static bool is_wanted(const Tar *tar, struct archive_entry *entry, const char *name)
{
    bool asked;
    if (tar->only != NULL)
        return strcmp(name, tar->only) == 0;
    const bool named = imgstat_format_of_name(name) != NULL;
    if (leads_out(name))
        return named;
    if (is_hidden(name) || !walk_passes(tar->options, name, true, &asked))
        return false;
    char *const cause = why_not(entry, name);
    const bool regular = cause == NULL;
    free(cause);
    return named || (asked && !(regular && is_other_data(tar)));
}

/* Notes the entry whose header was read, if it is wanted. */
static void take(Tar *tar, struct archive_entry *entry)
{
    const char *name = archive_entry_pathname(entry);
    if (name == NULL)
        name = archive_entry_pathname_utf8(entry);
    if (name == NULL)
        name = "(its name cannot be read).png";
    while (strncmp(name, "./", 2) == 0)
        name += 2 + strspn(name + 2, "/");
    tar->size = (uint64_t)archive_entry_size(entry);
    tar->offset = (uint64_t)archive_filter_bytes(tar->archive, 0);
    if (*name == '\0' || archive_entry_filetype(entry) == AE_IFDIR || !is_wanted(tar, entry, name))
        return;
    tar->waits = true;
    tar->item = (TarItem){.name = text_copy(name), .cause = why_not(entry, name)};
    tar->is_data = tar->item.cause == NULL;
}

/* Gives the entry that waits. next: where the header behind it begins; 0: none does. */
static void give(Tar *tar, uint64_t next, TarItem *out)
{
    const uint64_t padded = (tar->size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    *out = tar->item;
    tar->item = (TarItem){.name = NULL};
    tar->waits = false;
    if (!tar->is_data)
        return;
    if (tar->size > tar->bytes || tar->offset > tar->bytes - tar->size) {
        out->cause = text_copy("the archive ends before it does");
        tar->ended = true;
    } else if (next > 0 && next - tar->offset != padded) {
        out->cause = text_copy("lies in its archive in a way that is not known");
    } else {
        out->member = member_create(tar);
    }
}

/* Whether only zeros follow. */
static bool is_zero_from(int fd, uint64_t at)
{
    char block[READ_BYTES];
    ssize_t n;
    while ((n = pread(fd, block, sizeof block, (off_t)at)) > 0) {
        for (ssize_t i = 0; i < n; i++)
            if (block[i] != '\0')
                return false;
        at += (uint64_t)n;
    }
    return n == 0;
}

/* The program that compressed an archive, by its first bytes; NULL: none that is known. */
static const char *compressor(int fd)
{
    static const struct {
        const char *bytes, *name;
    } known[] = {{"\x1f\x8b", "gzip"},
                 {"BZh", "bzip2"},
                 {"\xfd"
                  "7zXZ",
                  "xz"},
                 {"\x28\xb5\x2f\xfd", "zstd"}};
    char begin[8] = "";
    if (pread(fd, begin, sizeof begin, 0) < 0)
        return NULL;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (memcmp(begin, known[i].bytes, strlen(known[i].bytes)) == 0)
            return known[i].name;
    return NULL;
}

/* Why there may be more in an archive than was listed; NULL: there is not. at: of the end mark. */
static char *why_incomplete(const Tar *tar, int result, uint64_t at)
{
    if (result != ARCHIVE_EOF) {
        const int number = archive_errno(tar->archive); /* EILSEQ, EINVAL, -1: of the archive */
        if (number > 0 && number != EILSEQ && number != EINVAL)
            return text_copy(strerror(number));
        const char *const by = at == 0 ? compressor(tar->fd) : NULL;
        const char *const text = by != NULL ? by : archive_error_string(tar->archive);
        if (text == NULL)
            return text_copy("cannot be read");
        const size_t bytes = strlen(text) + 60;
        char *const cause = text_alloc(bytes);
        snprintf(cause, bytes,
                 by != NULL ? "is compressed with %s, and compressed archives are not read"
                            : "is damaged: %s",
                 text);
        return cause;
    }
    if (tar->bytes < at + TAR_BLOCK)
        return text_copy("ends without the mark of its end: members may be missing");
    if (!is_zero_from(tar->fd, at))
        return text_copy("has data behind the mark of its end, which is not read");
    return NULL;
}

bool tar_next(Tar *tar, TarItem *out)
{
    *out = (TarItem){.name = NULL};
    while (!tar->ended) {
        struct archive_entry *entry;
        const int result = archive_read_next_header(tar->archive, &entry);
        const uint64_t at = (uint64_t)archive_read_header_position(tar->archive);
        const bool good = result == ARCHIVE_OK || result == ARCHIVE_WARN;
        const bool waited = tar->waits;
        if (waited)
            give(tar, good ? at : 0, out);
        if (tar->ended)
            return true;
        if (good) {
            take(tar, entry);
        } else {
            tar->ended = true;
            char *const cause = why_incomplete(tar, result, at);
            if (cause != NULL) {
                tar->waits = true;
                tar->is_data = false;
                tar->item = (TarItem){.name = text_copy(""), .cause = cause};
            }
        }
        if (waited)
            return true;
    }
    if (!tar->waits)
        return false;
    give(tar, 0, out);
    return true;
}

Tar *tar_open(const Options *options, const char *path, const char *only, char **cause)
{
    *cause = NULL;
    Tar *const tar = text_alloc(sizeof *tar);
    *tar = (Tar){.options = options,
                 .only = only != NULL ? text_copy(only) : NULL,
                 .fd = open(path, O_RDONLY | O_CLOEXEC)};
    struct stat info;
    tar->archive = archive_read_new();
    tar->file = text_alloc(sizeof *tar->file);
    *tar->file = (TarFile){.path = text_copy(path), .users = 1, .fd = -1};
    pthread_mutex_init(&tar->file->lock, NULL);
    if (tar->archive == NULL)
        text_no_memory();
    if (tar->fd < 0 || fstat(tar->fd, &info) != 0)
        *cause = text_copy(strerror(errno));
    else if (archive_read_support_format_tar(tar->archive) < ARCHIVE_WARN ||
             archive_read_open_fd(tar->archive, tar->fd, READ_BYTES) < ARCHIVE_WARN)
        *cause = why_incomplete(tar, ARCHIVE_FATAL, 0);
    if (*cause != NULL) {
        tar_close(tar);
        return NULL;
    }
    tar->bytes = (uint64_t)info.st_size;
    return tar;
}

void tar_close(Tar *tar)
{
    if (tar == NULL)
        return;
    archive_read_free(tar->archive);
    if (tar->fd >= 0)
        close(tar->fd);
    free(tar->item.name);
    free(tar->item.cause);
    free(tar->only);
    file_release(tar->file);
    free(tar);
}

#else

Tar *tar_open(const Options *options, const char *path, const char *only, char **cause)
{
    (void)options;
    (void)path;
    (void)only;
    *cause = text_copy("is a tar archive, and this imgstat was built without libarchive");
    return NULL;
}

bool tar_next(Tar *tar, TarItem *out)
{
    (void)tar;
    *out = (TarItem){.name = NULL};
    return false;
}

void tar_close(Tar *tar)
{
    (void)tar;
}

const ImgstatInput *tar_member_input(const TarMember *member)
{
    (void)member;
    return NULL;
}

const char *tar_member_archive(const TarMember *member)
{
    (void)member;
    return NULL;
}

void tar_member_release(TarMember *member)
{
    (void)member;
}

#endif
