/* SPDX-License-Identifier: MIT */
/* terminal.h: width and colours of the terminal. */
#ifndef IMGSTAT_TOOLS_TEXT_TERMINAL_H
#define IMGSTAT_TOOLS_TEXT_TERMINAL_H

typedef enum ColourWanted { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } ColourWanted;

/* Sequences that begin and end a style; all "" without colours. */
typedef struct Styles {
    const char *heading, *option, *warning, *end;
    const char *channel[6]; /* red, green, blue, cyan, magenta, yellow */
} Styles;

/* Sets the value of --color. AUTO asks the terminal, TERM and NO_COLOR. */
void terminal_want_colours(ColourWanted wanted);
/* Ignores what the descriptors are, as under mpirun, which gives its ranks terminals: there is no
 * width, and AUTO means never. */
void terminal_is_unknown(void);
/* Returns the styles for output that ends on standard output or standard error. */
const Styles *terminal_styles(int fd);
/* Returns the style of a channel of that name. */
const char *terminal_channel(const Styles *styles, const char *name);
/* Returns the columns; 0 if fd is no terminal, or one that cannot move its cursor (TERM=dumb). */
unsigned terminal_width(int fd);

#endif
