/* SPDX-License-Identifier: MIT */
/* rows.h: the parts of the option table. */
#ifndef IMGSTAT_TOOLS_OPTIONS_ROWS_H
#define IMGSTAT_TOOLS_OPTIONS_ROWS_H

#include "options/table.h"

#include <stddef.h>

/* Commands that share options. */
enum {
    STATS = 1 << COMMAND_STATS,
    HIST = 1 << COMMAND_HIST,
    INFO = 1 << COMMAND_INFO,
    REPORT = 1 << COMMAND_REPORT,
    COMPARE = 1 << COMMAND_COMPARE,
    NORMALIZE = 1 << COMMAND_NORMALIZE,
    EQUALIZE = 1 << COMMAND_EQUALIZE,
    APPLY = 1 << COMMAND_APPLY,
    DEVICES = 1 << COMMAND_DEVICES,
    MERGE = 1 << COMMAND_MERGE,
    MEASURING = STATS | HIST,
    MAKING = NORMALIZE | EQUALIZE, /* a transfer */
    WRITING = MAKING | APPLY,
    RUNNING = MEASURING | WRITING,
    SHARDING = RUNNING | INFO,
    OPENING = RUNNING | REPORT | COMPARE,
    READING = SHARDING | REPORT,
    LIMITED = READING | COMPARE
};

/* The `target` of a row. */
#define PLACE(member) offsetof(Options, member)

typedef struct OptionRows {
    const Option *rows;
    size_t n;
} OptionRows;

extern const OptionRows options_of_transforms, options_of_results, options_of_inputs;

#endif
