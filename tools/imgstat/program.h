/* SPDX-License-Identifier: MIT */
/* program.h: the whole command line. */
#ifndef IMGSTAT_TOOLS_PROGRAM_H
#define IMGSTAT_TOOLS_PROGRAM_H

/* Runs the command that argv names, and returns the exit status. */
int program_run(int argc, char **argv);
/* Runs a command in a process that goes on: restores its signal handlers, environment and
 * allocator. A first signal ends the command, which returns 128 + its number; a second one ends the
 * process, and so does an allocation failure. One call at a time. */
int program_run_within(int argc, char **argv);

#endif
