/* SPDX-License-Identifier: MIT */
/* sandbox.h: gives up what a command does not need before it reads a byte of its inputs. */
#ifndef IMGSTAT_TOOLS_SANDBOX_H
#define IMGSTAT_TOOLS_SANDBOX_H

#include "options.h"

/* Lets sandbox_enter do its work: the process is that of the program, not one that runs a command
 * within another. Call it before options are parsed. */
void sandbox_allow(void);

/* From here on this thread, and those that it starts, can read inputs, write into the folders of
 * outputs, run no program and use no network. Does what the kernel has of that; nothing with
 * --no-sandbox, in a job of several processes, and where a GPU may be used, whose driver needs more
 * than is known. Call it once, after the options are known, before threads start. */
void sandbox_enter(const Options *options);

#endif
