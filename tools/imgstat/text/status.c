/* SPDX-License-Identifier: MIT */
/* status.c: one place decides how the process ends. */
#include "text/status.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

static atomic_int exit_status; /* threads that take names raise it as well */
static int stdout_failure;     /* errno of the first one that was reported, or 0 */
static _Atomic(const char *) temporary_path;
static atomic_int remembered;
static bool within;       /* status_enter: the process goes on after the command */
static bool writes_files; /* the command goes on without a reader of standard output */

static const int caught[STATUS_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGXFSZ, SIGPIPE};

/* For signals that end the process; nohup sets SIGHUP to be ignored, which stays so. */
static void set_handler(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler}, before;
    sigemptyset(&action.sa_mask);
    if (number == SIGHUP && sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_IGN)
        return;
    sigaction(number, &action, NULL);
}

void status_remove_temporary(void)
{
    const char *const path = atomic_load(&temporary_path);
    if (path != NULL)
        unlink(path);
}

static void on_signal(int number)
{
    status_remove_temporary();
    _exit(number == SIGINT ? STATUS_INTERRUPTED : 128 + number);
}

void status_catch_signals(void)
{
    set_handler(SIGINT, on_signal);
    set_handler(SIGTERM, on_signal);
    set_handler(SIGHUP, on_signal);
    set_handler(SIGXFSZ, SIG_IGN); /* writing fails instead, with a message */
}

/* The same signal a second time ends the process at once. */
static void on_signal_gently(int number)
{
    if (atomic_exchange(&remembered, number) == number)
        on_signal(number);
}

void status_catch_gently(void)
{
    set_handler(SIGINT, on_signal_gently);
    set_handler(SIGTERM, on_signal_gently);
    set_handler(SIGHUP, on_signal_gently);
}

void status_outlive_readers(void)
{
    writes_files = true;
    set_handler(SIGPIPE, SIG_IGN);
}

int status_interrupted(void)
{
    return atomic_load(&remembered);
}

void status_set_temporary(const char *path)
{
    atomic_store(&temporary_path, path);
}

void status_raise(int status)
{
    int before = atomic_load(&exit_status);
    while (status > before && !atomic_compare_exchange_weak(&exit_status, &before, status))
        ;
}

int status_exchange(int status)
{
    return atomic_exchange(&exit_status, status);
}

int status_get(void)
{
    return exit_status;
}

void status_flush_stdout(void)
{
    if (stdout_failure != 0 || (fflush(stdout) == 0 && !ferror(stdout)))
        return;
    stdout_failure = errno != 0 ? errno : EIO;
    status_raise(STATUS_FAILED);
    if (stdout_failure == EPIPE && writes_files)
        return;
    if (stdout_failure == EPIPE && within) {
        atomic_store(&remembered, SIGPIPE);
        return;
    }
    if (stdout_failure == EPIPE)
        _exit(exit_status);
    fprintf(stderr, "imgstat: standard output: %s\n", strerror(stdout_failure));
}

int status_exchange_stdout(int failure)
{
    status_flush_stdout();
    const int before = stdout_failure;
    if (before != 0)
        __fpurge(stdout); /* what could not be written is of no use elsewhere */
    stdout_failure = failure;
    clearerr(stdout);
    return before;
}

void status_enter(StatusHandlers *before)
{
    exit_status = STATUS_OK;
    stdout_failure = 0;
    within = true;
    writes_files = false;
    atomic_store(&remembered, 0);
    for (int i = 0; i < STATUS_SIGNALS; i++)
        sigaction(caught[i], NULL, &before->actions[i]);
    status_catch_gently();
    set_handler(SIGXFSZ, SIG_IGN);
    set_handler(SIGPIPE, SIG_IGN);
}

int status_leave(const StatusHandlers *before)
{
    status_flush_stdout();
    clearerr(stdout);
    for (int i = 0; i < STATUS_SIGNALS; i++)
        sigaction(caught[i], &before->actions[i], NULL);
    const int number = status_interrupted();
    return number != 0 ? 128 + number : exit_status;
}
