/* SPDX-License-Identifier: MIT */
/* status.h: the exit status, which only rises, and the ends a process can come to. */
#ifndef IMGSTAT_TOOLS_STATUS_H
#define IMGSTAT_TOOLS_STATUS_H

#include <signal.h>

enum {
    STATUS_OK = 0,
    STATUS_FAILED = 1, /* some input failed, or a result could not be written */
    STATUS_USAGE = 2,
    STATUS_INTERRUPTED = 130
};

/* On SIGINT, SIGTERM and SIGHUP: removes the temporary file and exits, 130 for SIGINT. */
void status_catch_signals(void);
/* The file that an interruption must remove; NULL for none. path stays with the caller. */
void status_set_temporary(const char *path);
/* Removes that file: the process is about to end. */
void status_remove_temporary(void);

/* Instead: the first of these signals is only remembered, so that what is under way can be removed;
 * a second one ends the process. */
void status_catch_gently(void);
/* Files are written even when nobody reads the messages any more. */
void status_outlive_readers(void);
int status_interrupted(void); /* the signal, or 0; any thread */

void status_raise(int status); /* main thread only */
int status_get(void);
/* Sets the exit status and returns what it was: for a part of the work that is judged by itself. */
int status_exchange(int status);

/* Flushes standard output; a failure is reported once and raises the status. A closed pipe is
 * no news to anyone: then the process ends quietly. */
void status_flush_stdout(void);

/* For a command in a process that goes on after it. status_enter sets the status to 0, has signals
 * remembered, also that nobody reads standard output any more, and notes who handled them;
 * status_leave puts that back and returns the status: 128 + the number of a remembered signal. */
enum { STATUS_SIGNALS = 5 };
typedef struct StatusHandlers {
    struct sigaction actions[STATUS_SIGNALS];
} StatusHandlers;
void status_enter(StatusHandlers *before);
int status_leave(const StatusHandlers *before);

#endif
