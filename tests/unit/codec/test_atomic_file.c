/* SPDX-License-Identifier: MIT */
/* test_atomic_file.c: outputs appear complete or not at all; modes and links are treated as cp
 * does; nothing is left behind. */
#define _GNU_SOURCE /* renameat2 */
#include "codec/atomic_file.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

/* What a file system answers that knows neither links nor renaming to what is new; 0: nothing. The
 * library calls these instead of the system's. */
static int no_new_names, no_links;

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    errno = no_new_names;
    return no_new_names ? -1 : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

/* It has no files without a name either. */
int open(const char *name, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    const mode_t mode = va_arg(list, mode_t);
    va_end(list);
    errno = EOPNOTSUPP;
    return no_new_names && (flags & O_TMPFILE) == O_TMPFILE ? -1
                                                            : openat(AT_FDCWD, name, flags, mode);
}

int link(const char *from, const char *to)
{
    errno = no_links;
    return no_links ? -1 : linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* NULL, or a file that another process makes before the next look at a name itself. */
static const char *appears;

int lstat(const char *name, struct stat *out)
{
    if (appears)
        close(openat(AT_FDCWD, appears, O_WRONLY | O_CREAT | O_EXCL, 0666));
    appears = NULL;
    return fstatat(AT_FDCWD, name, out, AT_SYMLINK_NOFOLLOW);
}

static char folder[64];
static char path[PATH_MAX];

static void make_folder(void)
{
    strcpy(folder, "/tmp/imgstat-output-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/target.png", folder);
    umask(022);
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(output, .init = make_folder, .fini = remove_folder);

/* Names in the folder, hidden ones too. */
static unsigned entries(void)
{
    unsigned n = 0;
    DIR *const dir = opendir(folder);
    cr_assert_not_null(dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return n;
}

static void put(const char *name, const char *text)
{
    FILE *const file = fopen(name, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    cr_assert_eq(fclose(file), 0);
}

static void expect_text(const char *name, const char *want)
{
    char got[64] = "";
    FILE *const file = fopen(name, "r");
    cr_assert_not_null(file, "%s is missing", name);
    const size_t n = fread(got, 1, sizeof got - 1, file);
    fclose(file);
    got[n] = '\0';
    cr_assert_str_eq(got, want);
}

static mode_t mode_of(const char *name)
{
    struct stat st;
    cr_assert_eq(stat(name, &st), 0);
    return st.st_mode & 07777;
}

static ImgstatResult write_text(const char *name, bool replace, mode_t mode, const char *text,
                                ImgstatError *err)
{
    AtomicFile *output = NULL;
    ImgstatResult res = atomic_file_open(name, replace, mode, &output, err);
    if (res != IMGSTAT_OK) {
        cr_assert_null(output);
        return res;
    }
    res = atomic_file_write(output, 0, text, strlen(text), err);
    if (res == IMGSTAT_OK)
        return atomic_file_commit(output, err);
    atomic_file_discard(output);
    return res;
}

Test(output, appears_when_complete)
{
    ImgstatError err;
    AtomicFile *output = NULL;
    cr_assert_eq(atomic_file_open(path, false, 0666, &output, &err), IMGSTAT_OK);
    cr_assert_eq(access(path, F_OK), -1, "the target appeared before it was complete");
    cr_assert_eq(atomic_file_write(output, 3, "def", 3, &err), IMGSTAT_OK);
    cr_assert_eq(atomic_file_write(output, 0, "abc", 3, &err), IMGSTAT_OK);
    cr_assert_eq(atomic_file_commit(output, &err), IMGSTAT_OK);
    expect_text(path, "abcdef");
    cr_assert_eq(mode_of(path), 0644);
    cr_assert_eq(entries(), 1);
}

Test(output, mode_is_cut_by_the_umask)
{
    ImgstatError err;
    umask(027);
    cr_assert_eq(write_text(path, false, 0666, "x", &err), IMGSTAT_OK);
    cr_assert_eq(mode_of(path), 0640);
    umask(022);
}

Test(output, discard_leaves_nothing)
{
    ImgstatError err;
    AtomicFile *output = NULL;
    cr_assert_eq(atomic_file_open(path, false, 0666, &output, &err), IMGSTAT_OK);
    cr_assert_eq(atomic_file_write(output, 0, "abc", 3, &err), IMGSTAT_OK);
    cr_assert_eq(entries(), 0, "it has no name before it is complete");
    atomic_file_discard(output);
    cr_assert_eq(entries(), 0);
    atomic_file_discard(NULL);
}

Test(output, existing_file_is_kept_without_replace)
{
    ImgstatError err;
    put(path, "old");
    cr_assert_eq(write_text(path, false, 0666, "new", &err), IMGSTAT_ERR_IO);
    cr_assert_not_null(strstr(err.message, path));
    cr_assert_not_null(strstr(err.message, "exists already"));
    expect_text(path, "old");
    cr_assert_eq(entries(), 1);
}

/* Somebody else makes the file while ours is being written. */
Test(output, file_that_appears_meanwhile_is_kept)
{
    ImgstatError err;
    AtomicFile *output = NULL;
    cr_assert_eq(atomic_file_open(path, false, 0666, &output, &err), IMGSTAT_OK);
    put(path, "theirs");
    cr_assert_eq(atomic_file_commit(output, &err), IMGSTAT_ERR_IO);
    expect_text(path, "theirs");
    cr_assert_eq(entries(), 1);
}

/* It was "a symbolic link to nothing". */
Test(output, target_that_appears_between_two_looks)
{
    ImgstatError err;
    appears = path;
    cr_assert_eq(write_text(path, true, 0666, "new", &err), IMGSTAT_OK, "%s", err.message);
    expect_text(path, "new");
    cr_assert_eq(unlink(path), 0);
    appears = path;
    cr_assert_eq(write_text(path, false, 0666, "new", &err), IMGSTAT_ERR_IO);
    cr_assert(atomic_file_is_taken(&err), "%s", err.message);
    cr_assert_eq(entries(), 1);
}

/* No output could be written to a shared folder of VirtualBox, say: "Operation not permitted". */
Test(output, file_system_with_few_ways_to_name_a_file)
{
    static const int links[] = {0, EPERM, ENOSYS, EOPNOTSUPP};
    ImgstatError err;
    no_new_names = EINVAL;
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        no_links = links[i];
        cr_assert_eq(write_text(path, false, 0666, "new", &err), IMGSTAT_OK, "%s", err.message);
        expect_text(path, "new");
        cr_assert_eq(write_text(path, true, 0666, "newer", &err), IMGSTAT_OK, "%s", err.message);
        expect_text(path, "newer");
        cr_assert_eq(unlink(path), 0);
        AtomicFile *output = NULL;
        cr_assert_eq(atomic_file_open(path, false, 0666, &output, &err), IMGSTAT_OK);
        put(path, "theirs");
        cr_assert_eq(atomic_file_commit(output, &err), IMGSTAT_ERR_IO, "%d", links[i]);
        cr_assert(atomic_file_is_taken(&err), "%s", err.message);
        expect_text(path, "theirs");
        cr_assert_eq(unlink(path), 0);
        cr_assert_eq(entries(), 0);
    }
}

Test(output, replaced_file_keeps_its_mode)
{
    ImgstatError err;
    put(path, "old");
    cr_assert_eq(chmod(path, 0600), 0);
    cr_assert_eq(write_text(path, true, 0666, "new", &err), IMGSTAT_OK);
    expect_text(path, "new");
    cr_assert_eq(mode_of(path), 0600);
    cr_assert_eq(entries(), 1);
}

Test(output, replaced_file_keeps_its_owner)
{
    enum { SOMEBODY = 12345 };
    ImgstatError err;
    struct stat st;
    if (geteuid() != 0)
        cr_skip_test("only root gives files away");
    put(path, "old");
    cr_assert_eq(chown(path, SOMEBODY, SOMEBODY), 0);
    cr_assert_eq(chmod(path, 0664), 0);
    cr_assert_eq(write_text(path, true, 0666, "new", &err), IMGSTAT_OK);
    expect_text(path, "new");
    cr_assert_eq(stat(path, &st), 0);
    cr_assert(st.st_uid == SOMEBODY && st.st_gid == SOMEBODY);
    cr_assert_eq(mode_of(path), 0664);
}

/* The mode's bits for the group were a mask, and became rights of the group. */
Test(output, replaced_file_keeps_its_attributes)
{
    static const uint8_t acl[] = {2,  0, 0, 0,                          /* version */
                                  1,  0, 6, 0, 0xFF, 0xFF, 0xFF, 0xFF,  /* owner rw- */
                                  2,  0, 6, 0, 0xE8, 3,    0,    0,     /* user 1000 rw- */
                                  4,  0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF,  /* group --- */
                                  16, 0, 6, 0, 0xFF, 0xFF, 0xFF, 0xFF,  /* mask rw- */
                                  32, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF}; /* others --- */
    static const char list[] = "system.posix_acl_access", note[] = "user.note";
    uint8_t got[sizeof acl + 1];
    ImgstatError err;
    put(path, "old");
    if (setxattr(path, note, "precious", 8, 0) != 0 ||
        setxattr(path, list, acl, sizeof acl, 0) != 0)
        cr_skip_test("this file system has no such attributes");
    cr_assert_eq(write_text(path, true, 0666, "new", &err), IMGSTAT_OK, "%s", err.message);
    expect_text(path, "new");
    cr_assert_eq(getxattr(path, list, got, sizeof got), (ssize_t)sizeof acl);
    cr_assert_arr_eq(got, acl, sizeof acl);
    cr_assert_eq(getxattr(path, note, got, sizeof got), 8);
    cr_assert_arr_eq(got, "precious", 8);
    cr_assert_eq(entries(), 1);
    /* A list that the folder gives to new files is none of the old one's. */
    cr_assert_eq(setxattr(folder, "system.posix_acl_default", acl, sizeof acl, 0), 0);
    cr_assert_eq(removexattr(path, list), 0);
    cr_assert_eq(chmod(path, 0640), 0);
    cr_assert_eq(write_text(path, true, 0666, "newer", &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_lt(getxattr(path, list, got, sizeof got), 0);
    cr_assert_eq(mode_of(path), 0640);
}

Test(output, old_file_stays_after_discard)
{
    ImgstatError err;
    AtomicFile *output = NULL;
    put(path, "old");
    cr_assert_eq(atomic_file_open(path, true, 0666, &output, &err), IMGSTAT_OK);
    cr_assert_eq(atomic_file_write(output, 0, "new", 3, &err), IMGSTAT_OK);
    atomic_file_discard(output);
    expect_text(path, "old");
    cr_assert_eq(entries(), 1);
}

Test(output, link_stays_a_link)
{
    ImgstatError err;
    char link_path[PATH_MAX + 8];
    struct stat st;
    snprintf(link_path, sizeof link_path, "%s.link", path);
    put(path, "old");
    cr_assert_eq(symlink("target.png", link_path), 0);
    cr_assert_eq(write_text(link_path, true, 0666, "new", &err), IMGSTAT_OK);
    cr_assert_eq(lstat(link_path, &st), 0);
    cr_assert(S_ISLNK(st.st_mode));
    expect_text(path, "new");
    cr_assert_eq(entries(), 2);
}

Test(output, link_to_nothing_is_refused)
{
    ImgstatError err;
    cr_assert_eq(symlink("nowhere", path), 0);
    cr_assert_eq(write_text(path, true, 0666, "x", &err), IMGSTAT_ERR_IO);
    cr_assert_not_null(strstr(err.message, "symbolic link"));
    cr_assert_eq(entries(), 1);
}

Test(output, longest_name)
{
    ImgstatError err;
    char name[NAME_MAX + 2];
    memset(name, 'n', sizeof name);
    name[NAME_MAX] = '\0';
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cr_assert_eq(write_text(path, false, 0666, "x", &err), IMGSTAT_OK);
    expect_text(path, "x");
    cr_assert_eq(entries(), 1);
    name[NAME_MAX] = 'n';
    name[NAME_MAX + 1] = '\0';
    snprintf(path, sizeof path, "%s/%s", folder, name);
    AtomicFile *output = NULL; /* said before any work is done */
    cr_assert_eq(atomic_file_open(path, false, 0666, &output, &err), IMGSTAT_ERR_IO);
    cr_assert_null(output);
    cr_assert_eq(entries(), 1);
}

Test(output, places_that_cannot_be)
{
    static const char *const wrong[] = {"%s", "%s/", "%s/missing/x.png", "%s/target.png/x.png"};
    put(path, "a file, no folder");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ImgstatError err;
        AtomicFile *output = NULL;
        char name[PATH_MAX];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(name, sizeof name, wrong[i], folder);
#pragma GCC diagnostic pop
        cr_assert_eq(atomic_file_open(name, true, 0666, &output, &err), IMGSTAT_ERR_IO, "%s", name);
        cr_assert_null(output);
        cr_assert_eq(strncmp(err.message, name, strlen(name)), 0, "%s", err.message);
    }
    cr_assert_eq(entries(), 1);
}

static void *read_fifo(void *to)
{
    const int fd = open(path, O_RDONLY);
    size_t n = 0;
    for (ssize_t got = 1; fd >= 0 && got > 0; n += (size_t)(got > 0 ? got : 0))
        got = read(fd, (char *)to + n, 32 - n);
    close(fd);
    return NULL;
}

Test(output, fifo_gets_the_bytes_and_stays)
{
    ImgstatError err;
    char got[33] = "";
    struct stat st;
    pthread_t reader;
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(pthread_create(&reader, NULL, read_fifo, got), 0);
    cr_assert_eq(write_text(path, false, 0666, "through the pipe", &err), IMGSTAT_OK);
    pthread_join(reader, NULL);
    cr_assert_str_eq(got, "through the pipe");
    cr_assert_eq(stat(path, &st), 0);
    cr_assert(S_ISFIFO(st.st_mode));
    cr_assert_eq(entries(), 1);
}

Test(output, full_device_is_an_error)
{
    ImgstatError err;
    if (access("/dev/full", W_OK) != 0)
        cr_skip_test("no /dev/full");
    cr_assert_eq(write_text("/dev/full", false, 0666, "x", &err), IMGSTAT_ERR_IO);
    cr_assert_not_null(strstr(err.message, "/dev/full: cannot write"));
}

/* The sentence spoke of an input's limit, and of an option that lifts it. */
Test(output, memory_has_an_end)
{
    ImgstatError err;
    AtomicFile *output = NULL;
    char memory[4] = "";
    cr_assert_eq(atomic_file_open_memory("m", memory, sizeof memory, &output, &err), IMGSTAT_OK);
    cr_assert_eq(atomic_file_write(output, 1, "abc", 3, &err), IMGSTAT_OK);
    cr_assert_eq(atomic_file_write(output, 2, "abc", 3, &err), IMGSTAT_ERR_LIMIT);
    cr_assert_str_eq(err.message, "m: takes more than the 4 bytes of its memory");
    cr_assert_arr_eq(memory, "\0abc", 4);
    atomic_file_discard(output);
}

Test(output, standard_output_gets_everything_at_the_end)
{
    ImgstatError err;
    AtomicFile *output = NULL;
    char got[32] = "";
    const int before = dup(STDOUT_FILENO);
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    cr_assert_geq(file, 0);
    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    ImgstatResult res = atomic_file_open("-", false, 0666, &output, &err);
    if (res == IMGSTAT_OK)
        res = atomic_file_write(output, 0, "image", 5, &err);
    const ssize_t early = pread(file, got, sizeof got - 1, 0);
    if (res == IMGSTAT_OK)
        res = atomic_file_commit(output, &err);
    dup2(before, STDOUT_FILENO);
    cr_assert_eq(res, IMGSTAT_OK);
    cr_assert_eq(early, 0);
    cr_assert_eq(pread(file, got, sizeof got - 1, 0), 5);
    cr_assert_str_eq(got, "image");
    close(file);
    close(before);
}
