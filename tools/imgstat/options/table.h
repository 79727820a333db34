/* SPDX-License-Identifier: MIT */
/* table.h: every command and every option. Parsing, help, manual and completion use these
 * two tables. */
#ifndef IMGSTAT_TOOLS_OPTIONS_TABLE_H
#define IMGSTAT_TOOLS_OPTIONS_TABLE_H

#include "options/options.h"

typedef enum CommandInput {
    INPUT_NONE,
    INPUT_READ, /* files and directories */
    INPUT_MAP   /* files and directories whose images are written anew */
} CommandInput;

typedef struct CommandInfo {
    const char *name;     /* "stats" */
    const char *summary;  /* for the list of commands */
    const char *operands; /* operands in its usage, after the options */
    const char *purpose;  /* a sentence */
    CommandInput input;
    const char *examples[3];
} CommandInfo;

/* Indexed by Command. The first command is used where none is named. */
extern const CommandInfo command_table[N_COMMANDS];

typedef enum OptionGroup {
    GROUP_METHOD,
    GROUP_MAPPING,
    GROUP_OUTPUT,
    GROUP_STATISTICS,
    GROUP_PLOT,
    GROUP_INPUT,
    GROUP_RUNNING,
    GROUP_HELP,
    N_GROUPS
} OptionGroup;

extern const char *const group_names[N_GROUPS];

/* Type of an option's value, and so of the member of Options at `target`. */
typedef enum OptionType {
    OPTION_FLAG,   /* no value: bool, becomes true */
    OPTION_TEXT,   /* const char *: any text */
    OPTION_WORD,   /* const char *: one of `words` */
    OPTION_CHOICE, /* an enum: the place of the value in `words`, plus `least` */
    OPTION_COUNT,  /* uint32_t: a whole number from `least` to `most` */
    OPTION_SIZE,   /* uint64_t: a whole number from `least` on; K, M, G, T multiply it */
    OPTION_RANGE,  /* double[2]: LO,HI with LO below HI */
    OPTION_CALL    /* parsed by `set`; without a value if `argument` is NULL */
} OptionType;

typedef struct Option {
    const char *name;     /* without the two dashes */
    char letter;          /* short form; 0: none */
    const char *argument; /* name of the value; NULL: no value */
    const char *implied; /* value if the option is given without one; NULL: a value must be given */
    OptionType type;
    size_t target;     /* offset of the value in Options */
    size_t given;      /* offset of a bool in Options that becomes true; 0: none */
    const char *words; /* values, separated by blanks; completion offers them; NULL: none */
    uint64_t least, most;
    bool (*set)(const char *text, Options *options);
    unsigned commands; /* bits, 1 << Command */
    OptionGroup group;
    bool rare;             /* listed by --help-all only */
    const char *help;      /* what it does; no full stop at the end; a newline begins a line */
    const char *otherwise; /* the default; NULL: there is none to name */
    const char *more;      /* sentences that only the manual has; NULL: none */
} Option;

/* Returns option i, counted from 0; NULL beyond the last. */
const Option *option_at(size_t i);

/* All commands, and the program without one. */
enum { COMMAND_ANY = (1 << N_COMMANDS) | ((1 << N_COMMANDS) - 1), COMMAND_MAIN = 1 << N_COMMANDS };

/* Returns the command of that name, or N_COMMANDS. */
Command command_named(const char *name);

#endif
