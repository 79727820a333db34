/* SPDX-License-Identifier: MIT */
/* commands.h: the subcommands. Each takes its own argv, whose first word is "imgstat NAME", and
 * raises the exit status. */
#ifndef IMGSTAT_TOOLS_COMMANDS_H
#define IMGSTAT_TOOLS_COMMANDS_H

void cmd_stats(int argc, char **argv);
void cmd_hist(int argc, char **argv);
void cmd_info(int argc, char **argv);
void cmd_compare(int argc, char **argv);
void cmd_report(int argc, char **argv);
void cmd_normalize(int argc, char **argv);
void cmd_equalize(int argc, char **argv);
void cmd_apply(int argc, char **argv);
void cmd_merge(int argc, char **argv);
void cmd_devices(int argc, char **argv);

#endif
