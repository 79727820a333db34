/* SPDX-License-Identifier: MIT */
/* program.h: the whole command line. */
#ifndef IMGSTAT_TOOLS_PROGRAM_H
#define IMGSTAT_TOOLS_PROGRAM_H

/* Runs the command that argv names; gives the exit status. */
int program_run(int argc, char **argv);

#endif
