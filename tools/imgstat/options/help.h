/* SPDX-License-Identifier: MIT */
/* help.h: the table of options, printed for people and for shells. */
#ifndef IMGSTAT_TOOLS_OPTIONS_HELP_H
#define IMGSTAT_TOOLS_OPTIONS_HELP_H

#include "options/options.h"

#include <stdio.h>

/* Prints the help of the program: "imgstat --help". */
void help_program(FILE *out);
/* Prints the help of a command: its everyday options, or all of them. */
void help_command(FILE *out, Command command, bool all);
/* Prints the manual page of a command, in roff. */
void help_manual(FILE *out, Command command, const char *date);
/* Prints a completion script for "bash", "zsh" or "fish". Returns false for another shell. */
bool help_completion(FILE *out, const char *shell);

#endif
