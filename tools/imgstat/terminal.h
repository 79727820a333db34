/* SPDX-License-Identifier: MIT */
/* terminal.h: what a terminal can show: how many columns, and colours. */
#ifndef IMGSTAT_TOOLS_TERMINAL_H
#define IMGSTAT_TOOLS_TERMINAL_H

typedef enum ColourWanted { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } ColourWanted;

/* Sequences that begin and end a style; all "" where there are no colours. */
typedef struct Styles {
    const char *heading, *option, *warning, *end;
    const char *channel[6]; /* red, green, blue, cyan, magenta, yellow */
} Styles;

/* What --color says; AUTO asks the terminal, TERM and NO_COLOR. */
void terminal_want_colours(ColourWanted wanted);
/* What the descriptors are says nothing, as behind mpirun, which gives its ranks terminals: there
 * is no width, and AUTO is never. */
void terminal_is_unknown(void);
/* For what goes to standard output or standard error in the end. */
const Styles *terminal_styles(int fd);
/* The style of a channel of that name. */
const char *terminal_channel(const Styles *styles, const char *name);
/* Columns; 0: fd is no terminal, or one that cannot move its cursor (TERM=dumb). */
unsigned terminal_width(int fd);

#endif
