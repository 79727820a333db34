/* SPDX-License-Identifier: MIT */
/* sandbox.h: gives up what a command does not need before it reads a byte of its inputs. */
#ifndef IMGSTAT_TOOLS_OPTIONS_SANDBOX_H
#define IMGSTAT_TOOLS_OPTIONS_SANDBOX_H

#include "options/options.h"

/* Allows sandbox_enter to work: the process belongs to the program, and does not run a command
 * within another program. Call it before options are parsed. */
void sandbox_allow(void);

/* Restricts this thread, and threads that it starts, to reading inputs and writing into the folders
 * of outputs, without programs and network, as far as the kernel can. Does nothing with
 * --no-sandbox, in a job of several processes, or if a GPU may be used, since the needs of its
 * driver are not known. Call it once, after parsing options and before threads start. */
void sandbox_enter(const Options *options);

#endif
