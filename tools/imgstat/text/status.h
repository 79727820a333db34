/* SPDX-License-Identifier: MIT */
/* status.h: the exit status, which only rises, and the ways in which a process ends. */
#ifndef IMGSTAT_TOOLS_TEXT_STATUS_H
#define IMGSTAT_TOOLS_TEXT_STATUS_H

#include <signal.h>

enum {
    STATUS_OK = 0,
    STATUS_FAILED = 1, /* some input failed, or a result could not be written */
    STATUS_USAGE = 2,
    STATUS_INTERRUPTED = 130
};

/* Makes SIGINT, SIGTERM and SIGHUP remove the temporary file and exit, 130 for SIGINT. */
void status_catch_signals(void);
/* Sets the file that an interruption removes; NULL for none. The caller keeps path. */
void status_set_temporary(const char *path);
/* Removes the temporary file. Call it before the process ends. */
void status_remove_temporary(void);

/* Replaces status_catch_signals: the first of these signals is only remembered, so that the command
 * can clean up; a second one ends the process. */
void status_catch_gently(void);
/* Keeps the process alive when readers of its messages and of standard output are gone, so that
 * files are still written. */
void status_outlive_readers(void);
int status_interrupted(void); /* the remembered signal, or 0; any thread */

void status_raise(int status); /* any thread; a lower status changes nothing */
int status_get(void);
/* Sets the exit status and returns the old one, for a part of the work that has its own. */
int status_exchange(int status);

/* Flushes standard output. Reports a failure once and raises the status. A closed pipe is not
 * reported, and ends the process unless it outlives its readers. */
void status_flush_stdout(void);
/* Flushes standard output, before it leads somewhere else or back. Returns errno of the failure
 * since it led here, or 0, and takes one of the place where it leads now. */
int status_exchange_stdout(int failure);

/* For a command in a process that goes on after it. status_enter sets the status to 0, remembers
 * signals and closed pipes, and saves the handlers. status_leave restores them and returns the
 * status: 128 + the number of a remembered signal. */
enum { STATUS_SIGNALS = 5 };
typedef struct StatusHandlers {
    struct sigaction actions[STATUS_SIGNALS];
} StatusHandlers;
void status_enter(StatusHandlers *before);
int status_leave(const StatusHandlers *before);

#endif
