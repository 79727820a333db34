/* SPDX-License-Identifier: MIT */
/* commands.h: the subcommands. Each does what its options ask for, and raises the exit status. */
#ifndef IMGSTAT_TOOLS_COMMANDS_COMMANDS_H
#define IMGSTAT_TOOLS_COMMANDS_COMMANDS_H

#include "options/options.h"

void cmd_stats(Options *options); /* stats and merge */
void cmd_hist(Options *options);
void cmd_info(Options *options);
void cmd_compare(Options *options);
void cmd_report(Options *options);
void cmd_transform(Options *options); /* normalize, equalize and apply */
void cmd_devices(Options *options);

#endif
