/* SPDX-License-Identifier: MIT */
/* shim.c: preloaded into a program, lets allocations and system calls fail. In the place of main it
 * serves: for each Plan read from a descriptor it forks a child that runs main with that plan, so
 * that a run costs no start of a program. All that the processes share is in one mapped file.
 *
 * System calls are trapped by seccomp, so that those of the C library and of stdio count too; the
 * handler's own pass, since the filter lets those of one instruction through. x86-64 and Linux
 * only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { LOG_TO = 197, SERVED_FROM = 198, TOLD_TO = 199, CALLS = 512 };

typedef enum Act {
    ACT_COUNT,    /* nothing fails */
    ACT_ALLOCATE, /* allocation `at` fails */
    ACT_CALL,     /* call `at` of number `call` fails */
    ACT_SHORT, /* reads and writes move at most `value` bytes, and every `at`-th is interrupted */
    ACT_KILL,  /* the process is killed before system call `at` of all that are trapped */
    ACT_LOG,   /* nothing fails; what reaches the disk is told to FAULTS_LOG */
} Act;

typedef struct Plan {
    int32_t act, call, at, on, value; /* on: from `at` on, not once; value: errno, or bytes */
} Plan;

typedef struct Shared {
    atomic_long allocations, live, calls, called[CALLS];
    atomic_int failed; /* how often what the plan says was done */
    atomic_int ended;  /* through exit() */
} Shared;

static Plan plan;
static Shared nowhere, *shared = &nowhere; /* before main nothing is counted */
static _Atomic int counting;

static int is_due(long n)
{
    const int due = plan.on ? n >= plan.at : n == plan.at;
    if (due)
        atomic_fetch_add(&shared->failed, 1);
    return due;
}

/* ---- Allocations ---- */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static int refused(void)
{
    if (!counting)
        return 0;
    const long n = atomic_fetch_add(&shared->allocations, 1) + 1;
    if (plan.act != ACT_ALLOCATE || !is_due(n))
        return 0;
    errno = ENOMEM;
    return 1;
}

static void *count(void *block)
{
    if (counting && block)
        atomic_fetch_add(&shared->live, 1);
    return block;
}

void *malloc(size_t bytes)
{
    return refused() ? NULL : count(__libc_malloc(bytes));
}

void *calloc(size_t n, size_t bytes)
{
    return refused() ? NULL : count(__libc_calloc(n, bytes));
}

void *realloc(void *block, size_t bytes)
{
    if (bytes > 0 && refused())
        return NULL;
    void *const larger = __libc_realloc(block, bytes);
    if (counting && !block && larger)
        atomic_fetch_add(&shared->live, 1);
    return larger;
}

void free(void *block)
{
    if (counting && block)
        atomic_fetch_sub(&shared->live, 1);
    __libc_free(block);
}

void *memalign(size_t alignment, size_t bytes)
{
    return refused() ? NULL : count(__libc_memalign(alignment, bytes));
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *const block = memalign(alignment, bytes);
    if (!block)
        return ENOMEM;
    *out = block;
    return 0;
}

/* ---- System calls ---- */

extern const char pass_instruction[];
long pass(long call, long a, long b, long c, long d, long e, long f);
__asm__(".text\n"
        "pass:\n"
        "  movq %rdi, %rax\n  movq %rsi, %rdi\n  movq %rdx, %rsi\n  movq %rcx, %rdx\n"
        "  movq %r8, %r10\n  movq %r9, %r8\n  movq 8(%rsp), %r9\n  syscall\n"
        "pass_instruction:\n"
        "  ret\n");

static int is_read(long call)
{
    return call == SYS_read || call == SYS_pread64;
}

static int is_transfer(long call)
{
    return is_read(call) || call == SYS_write || call == SYS_pwrite64;
}

/* Returns 0 or what the call gives in place of what it would. *bytes: how many it may move. */
static long planned(long call, long descriptor, long *bytes)
{
    const long n = atomic_fetch_add(&shared->called[call], 1) + 1;
    const long all = atomic_fetch_add(&shared->calls, 1) + 1;
    if (plan.act == ACT_KILL && all == plan.at)
        kill(getpid(), SIGKILL);
    if (plan.act == ACT_CALL && call == plan.call && is_due(n))
        return -plan.value;
    if (plan.act == ACT_SHORT && is_transfer(call) && descriptor != STDERR_FILENO) {
        if (plan.at > 0 && n % plan.at == 0)
            return -EINTR;
        if (*bytes > plan.value)
            *bytes = plan.value;
    }
    return 0;
}

/* Tells of a call that writes, syncs or names: its number, the file's inode, its name. A sync is
 * told of before it is made, the others after it. */
static void tell(long call, const greg_t *r)
{
    const char *name = "";
    if (call == SYS_link || call == SYS_rename)
        name = (const char *)r[REG_RSI];
    else if (call == SYS_linkat || call == SYS_renameat2)
        name = (const char *)r[REG_R10];
    struct stat st;
    const long of = (long)(*name ? (uintptr_t)name : (uintptr_t)r[REG_RDI]);
    if (pass(*name ? SYS_stat : SYS_fstat, of, (long)&st, 0, 0, 0, 0) != 0)
        return;
    char line[512];
    const int n = snprintf(line, sizeof line, "%ld %lu %s\n", call, (unsigned long)st.st_ino, name);
    pass(SYS_write, LOG_TO, (long)line, n, 0, 0, 0);
}

static int is_sync(long call)
{
    return call == SYS_fsync || call == SYS_fdatasync || call == SYS_syncfs;
}

static int is_change(long call)
{
    return call == SYS_write || call == SYS_pwrite64 || call == SYS_ftruncate ||
           call == SYS_fallocate || call == SYS_link || call == SYS_linkat || call == SYS_rename ||
           call == SYS_renameat2;
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    greg_t *const r = ((ucontext_t *)context)->uc_mcontext.gregs;
    const int before = errno;
    const long call = info->si_syscall;
    long bytes = r[REG_RDX];
    const long given = planned(call, r[REG_RDI], &bytes);
    (void)number;
    if (plan.act == ACT_LOG && is_sync(call))
        tell(call, r);
    r[REG_RAX] =
        given ? given : pass(call, r[REG_RDI], r[REG_RSI], bytes, r[REG_R10], r[REG_R8], r[REG_R9]);
    if (plan.act == ACT_LOG && is_change(call) && r[REG_RAX] >= 0)
        tell(call, r);
    errno = before;
}

/* The call itself is made with all signals blocked. */
int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
                   void *context)
{
    int (*const next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        dlsym(RTLD_NEXT, "pthread_create");
    const long given = counting ? planned(SYS_clone3, -1, &(long){0}) : 0;
    return given ? (int)-given : next(thread, how, run, context);
}

/* Threads that block all signals would end by this one. */
int sigfillset(sigset_t *set)
{
    memset(set, 0xFF, sizeof *set);
    return sigdelset(set, SIGSYS);
}

static const short trapped[] = {
    SYS_openat,    SYS_open,         SYS_read,      SYS_pread64,    SYS_write,     SYS_pwrite64,
    SYS_close,     SYS_fstat,        SYS_stat,      SYS_newfstatat, SYS_lseek,     SYS_fcntl,
    SYS_mmap,      SYS_fsync,        SYS_fdatasync, SYS_rename,     SYS_renameat2, SYS_link,
    SYS_linkat,    SYS_unlink,       SYS_ftruncate, SYS_getrandom,  SYS_mkdir,     SYS_getdents64,
    SYS_fchmod,    SYS_fchown,       SYS_dup3,      SYS_pipe2,      SYS_fadvise64, SYS_readlink,
    SYS_fsetxattr, SYS_getxattr,     SYS_listxattr, SYS_poll,       SYS_fallocate, SYS_statx,
    SYS_rmdir,     SYS_fremovexattr, SYS_lstat,     SYS_access,     SYS_syncfs,
};

static void trap(void)
{
    enum { N = sizeof trapped / sizeof *trapped };
    static struct sock_filter filter[N + 8];
    const uint64_t at = (uint64_t)(uintptr_t)pass_instruction;
    size_t n = 0;
#define LOAD(field) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
    filter[n++] = (struct sock_filter)BPF_STMT(
        BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, instruction_pointer));
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)at, 0, 3);
    filter[n++] = (struct sock_filter)BPF_STMT(
        BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, instruction_pointer) + 4);
    filter[n++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(at >> 32), 0, 1);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                               (uint32_t)offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < N; i++)
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)trapped[i],
                                                   (uint8_t)(N - i), 0);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    struct sock_fprog program = {.len = (unsigned short)n, .filter = filter};
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSYS, &action, NULL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        abort();
}

/* ---- Serving ---- */

static int (*real_main)(int, char **, char **);

static void note_end(void)
{
    atomic_store(&shared->ended, 1);
    counting = 0;
}

static void redirect(const char *variable, int descriptor, int flags)
{
    const char *const path = getenv(variable);
    const int from = path ? open(path, flags, 0600) : -1;
    if (from < 0 || dup2(from, descriptor) < 0 || close(from) != 0)
        _exit(99);
}

static void begin(void)
{
    atexit(note_end);
    if (plan.act != ACT_ALLOCATE)
        trap();
    counting = 1;
}

static void begin_child(void)
{
    close(SERVED_FROM);
    close(TOLD_TO);
    redirect("FAULTS_IN", STDIN_FILENO, O_RDONLY);
    redirect("FAULTS_OUT", STDOUT_FILENO, O_WRONLY | O_CREAT | O_TRUNC);
    redirect("FAULTS_ERR", STDERR_FILENO, O_WRONLY | O_CREAT | O_TRUNC);
    if (plan.act == ACT_LOG)
        redirect("FAULTS_LOG", LOG_TO, O_WRONLY | O_CREAT | O_TRUNC);
    setpgid(0, 0);
    begin();
}

static int serve(int argc, char **argv, char **variables)
{
    const char *const alone = getenv("FAULTS_PLAN"); /* for a debugger: numbers of one plan */
    if (alone) {
        int32_t *const to = &plan.act;
        char *at = (char *)alone;
        for (int i = 0; i < 5; i++)
            to[i] = (int32_t)strtol(at, &at, 10);
        begin();
        return real_main(argc, argv, variables);
    }
    const char *const path = getenv("FAULTS_SHARED");
    const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    shared =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED)
        _exit(98);
    while (read(SERVED_FROM, &plan, sizeof plan) == (ssize_t)sizeof plan) {
        int told[2] = {0};
        memset(shared, 0, sizeof *shared);
        told[0] = fork();
        if (told[0] == 0) {
            begin_child();
            return real_main(argc, argv, variables);
        }
        if (write(TOLD_TO, &told[0], sizeof told[0]) != sizeof told[0] ||
            waitpid(told[0], &told[1], 0) < 0 ||
            write(TOLD_TO, &told[1], sizeof told[1]) != sizeof told[1])
            break;
    }
    _exit(0);
}

int __libc_start_main(int (*entry)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*ld_fini)(void), void *stack)
{
    int (*const next)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
                      void (*)(void), void *) = dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = entry;
    return next(serve, argc, argv, init, fini, ld_fini, stack);
}
