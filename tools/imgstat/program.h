/* SPDX-License-Identifier: MIT */
/* program.h: the whole command line. */
#ifndef IMGSTAT_TOOLS_PROGRAM_H
#define IMGSTAT_TOOLS_PROGRAM_H

/* Runs the command that argv names; gives the exit status. */
int program_run(int argc, char **argv);
/* For a process that goes on: leaves its signal handlers, environment and allocator as they were. A
 * first signal ends the command, 128 + its number is returned; a second one ends the process, and
 * so does a lack of memory. One call at a time. */
int program_run_within(int argc, char **argv);

#endif
