/* SPDX-License-Identifier: MIT */
/* sandbox.c: Landlock for files and seccomp for system calls. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_PATH */
#endif
#include "options/sandbox.h"
#include "text/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_allowed;

void sandbox_allow(void)
{
    is_allowed = true;
}

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include "measure/shard_team.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* ---- Landlock: which files --------------------------------------------------------------------
 * By numbers, since headers of older systems lack what newer kernels have. */

enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 };
enum { CREATE_VERSION = 1, RULE_PATH_BENEATH = 1 };

enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    REMOVE_DIR = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_DIR = 1 << 7,
    MAKE_REG = 1 << 8,
    ALL_OF_1 = (1 << 13) - 1, /* of the first version: all up to the making of symbolic links */
    REFER = 1 << 13,          /* version 2: into another folder; in one it is needed for nothing */
    TRUNCATE = 1 << 14,       /* version 3 */
    READING = READ_FILE | READ_DIR,
    WRITING =
        READING | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE,
    OF_A_FILE = READ_FILE | WRITE_FILE | TRUNCATE
};

typedef struct RulesetAttributes {
    uint64_t files, net, scoped;
} RulesetAttributes;

typedef struct __attribute__((packed)) PathRule {
    uint64_t allowed;
    int32_t fd;
} PathRule;

typedef struct Rules {
    int ruleset;
    uint64_t handled;
    bool partial; /* a rule could not be made, for a cause that may pass */
} Rules;

/* After a path could not be looked at. */
static void note(Rules *rules, int cause)
{
    rules->partial = rules->partial || input_cause_that_may_pass(cause) != 0;
}

/* Allows access to a file, or beneath a folder. */
static void allow_path(Rules *rules, const char *path, uint64_t access)
{
    struct stat st;
    const int fd = open(path, O_PATH | O_CLOEXEC);
    bool good = fd >= 0 && fstat(fd, &st) == 0;
    if (good) {
        const PathRule rule = {.allowed = access & rules->handled &
                                          (S_ISDIR(st.st_mode) ? UINT64_MAX : OF_A_FILE),
                               .fd = fd};
        good = syscall(ADD_RULE, rules->ruleset, RULE_PATH_BENEATH, &rule, 0) == 0;
    }
    if (!good)
        note(rules, errno);
    if (fd >= 0)
        close(fd);
}

/* Allows writing to the nearest folder that exists above an output, or to it if it is a folder. */
static void allow_output(Rules *rules, const char *path)
{
    struct stat st;
    if (path == NULL || strcmp(path, "-") == 0)
        return;
    char *const target = realpath(path, NULL); /* that a link leads to */
    char *const folder = text_copy(target != NULL ? target : path);
    free(target);
    const char *place = folder;
    for (bool there; !(there = stat(folder, &st) == 0) || !S_ISDIR(st.st_mode);) {
        if (!there)
            note(rules, errno);
        char *const slash = strrchr(folder, '/');
        if (slash == NULL || strcmp(folder, "/") == 0) { /* the last one, whatever it is */
            place = slash == NULL ? "." : "/";
            break;
        }
        slash[slash == folder] = '\0';
    }
    allow_path(rules, place, WRITING);
    free(folder);
}

/* Allows reading an input: a file, "file[2]", or "a.tar/b.png". Directories have links to files
 * elsewhere: they allow reading everything. */
static void allow_input(Rules *rules, const char *path)
{
    struct stat st;
    if (path == NULL || strcmp(path, "-") == 0)
        return;
    char *const name = text_copy(path);
    bool found = stat(name, &st) == 0;
    char *const bracket = strrchr(name, '[');
    if (!found && bracket != NULL) {
        *bracket = '\0';
        found = stat(name, &st) == 0;
    }
    for (char *slash; !found && errno == ENOTDIR && (slash = strrchr(name, '/')) != NULL;) {
        *slash = '\0';
        found = stat(name, &st) == 0;
    }
    if (found)
        allow_path(rules, S_ISDIR(st.st_mode) ? "/" : name, READING);
    else
        note(rules, errno);
    free(name);
}

/* Whether a path is a pipe, a device or "-". */
static bool is_special(const char *path)
{
    struct stat st;
    return path != NULL && (option_is_standard_input(path) ||
                            (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)));
}

/* Pipes are copied to files without a name; reports, and shards that are printed together, are kept
 * in such files. */
static bool needs_temporary(const Options *o)
{
    bool needs = o->report != NULL || o->shards > 0 || o->files0_from != NULL ||
                 is_special(o->transform.output) || is_special(o->transform.save_transfer) ||
                 is_special(o->save_record) || is_special(o->plot) || is_special(o->mask) ||
                 is_special(o->transform.reference) || is_special(o->transform.record);
    for (size_t i = 0; i < o->n_names; i++)
        needs = needs || is_special(o->names[i]);
    return needs;
}

static void allow_files(Rules *rules, const Options *o)
{
    static const char *const system[] = {
        "/usr",          "/lib", "/lib64", "/etc/ld.so.cache", "/proc/self", "/sys/devices/system",
        "/sys/fs/cgroup"};
    const TransformOptions *const t = &o->transform;
    const char *const temporary = getenv("TMPDIR");
    const char *const inputs[] = {o->mask, t->reference, t->transfer, t->record, t->only};
    const char *const outputs[] = {t->output, t->save_transfer, o->report,
                                   o->plot,   o->save_record,   o->state};
    for (size_t i = 0; i < sizeof system / sizeof system[0]; i++)
        allow_path(rules, system[i], READING);
    if (o->files0_from != NULL)
        allow_path(rules, "/", READING);
    for (size_t i = 0; i < o->n_names; i++)
        allow_input(rules, o->names[i]);
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++)
        allow_input(rules, inputs[i]);
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++)
        allow_output(rules, outputs[i]);
    if (needs_temporary(o))
        allow_path(rules, temporary != NULL && *temporary != '\0' ? temporary : "/tmp", WRITING);
    allow_path(rules, "/dev", READ_FILE | WRITE_FILE); /* -o /dev/full, a terminal */
}

static void restrict_files(const Options *o)
{
    const long version = syscall(CREATE_RULESET, NULL, 0, CREATE_VERSION);
    if (version < 1)
        return;
    RulesetAttributes attributes = {.files = ALL_OF_1};
    attributes.files |= version >= 2 ? REFER : 0;
    attributes.files |= version >= 3 ? TRUNCATE : 0;
    attributes.net = version >= 4 ? 3 : 0;    /* TCP: bind, connect */
    attributes.scoped = version >= 6 ? 3 : 0; /* abstract sockets and signals of others */
    const size_t bytes = version >= 6   ? sizeof attributes
                         : version >= 4 ? offsetof(RulesetAttributes, scoped)
                                        : offsetof(RulesetAttributes, net);
    Rules rules = {.ruleset = (int)syscall(CREATE_RULESET, &attributes, bytes, 0),
                   .handled = attributes.files};
    if (rules.ruleset < 0)
        return;
    allow_files(&rules, o);
    if (!rules.partial) /* else what is there would be refused, and called forbidden */
        syscall(RESTRICT_SELF, rules.ruleset, 0);
    close(rules.ruleset);
}

/* ---- seccomp: which system calls ------------------------------------------------------------- */

#ifdef __x86_64__
static const uint32_t machine = AUDIT_ARCH_X86_64;
#else
static const uint32_t machine = AUDIT_ARCH_AARCH64;
#endif

/* Calls that reach other programs, processes or machines, or parts of the kernel that nothing here
 * needs. A list of those that are needed would be another one for each C library. */
static const unsigned refused[] = {
    SYS_execve,
    SYS_execveat,
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_sendto,
    SYS_sendmsg,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_open,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_mount,
    SYS_unshare,
    SYS_setns,
    SYS_memfd_create,
    SYS_shmget,
    SYS_msgget,
    SYS_personality,
    SYS_open_by_handle_at,
    SYS_init_module,
    SYS_finit_module,
    SYS_kexec_load,
    SYS_reboot,
};

static void restrict_calls(void)
{
    enum { N = sizeof refused / sizeof refused[0], X32 = 0x40000000 };
    struct sock_filter filter[N + 6] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, machine, 0, N + 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32, N + 1, 0),
    };
    for (unsigned i = 0; i < N; i++)
        filter[4 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i],
                                                     (uint8_t)(N - i), 0);
    filter[4 + N] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[5 + N] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    const struct sock_fprog program = {.len = N + 6, .filter = filter};
    (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* ---- Both ------------------------------------------------------------------------------------ */

/* A device that is named is opened, or it is said why not: its driver may be anywhere. */
static bool may_use_gpu(const Options *o)
{
    return strcmp(o->device, "cpu") != 0 &&
           (strcmp(o->device, "auto") != 0 || getenv("IMGSTAT_CUDA_MODULE") != NULL ||
            access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0);
}

void sandbox_enter(const Options *options)
{
    if (!is_allowed || options->no_sandbox || shard_team != NULL || may_use_gpu(options) ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return;
    restrict_files(options);
    restrict_calls();
}

#else /* other systems, and sanitizers, which look at other processes */

void sandbox_enter(const Options *options)
{
    (void)options;
    (void)is_allowed;
}

#endif
