/* SPDX-License-Identifier: MIT */
/* terminal.c: asks the system and the environment about terminals. */
#include "text/terminal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static ColourWanted colours_wanted;

void terminal_want_colours(ColourWanted wanted)
{
    colours_wanted = wanted;
}

static bool is_unknown;

void terminal_is_unknown(void)
{
    is_unknown = true;
}

static bool is_able(int fd)
{
    const char *const term = getenv("TERM");
    return !is_unknown && isatty(fd) == 1 && term != NULL && *term != '\0' &&
           strcmp(term, "dumb") != 0;
}

const Styles *terminal_styles(int fd)
{
    static const Styles plain = {"", "", "", "", {"", "", "", "", "", ""}};
    static const Styles coloured = {
        "\033[1m",
        "\033[36m",
        "\033[33m",
        "\033[0m",
        {"\033[31m", "\033[32m", "\033[34m", "\033[36m", "\033[35m", "\033[33m"}};
    const char *const refused = getenv("NO_COLOR");
    if (colours_wanted != COLOUR_AUTO)
        return colours_wanted == COLOUR_ALWAYS ? &coloured : &plain;
    return is_able(fd) && (refused == NULL || *refused == '\0') ? &coloured : &plain;
}

const char *terminal_channel(const Styles *styles, const char *name)
{
    static const char *const names[] = {"red", "green", "blue", "cyan", "magenta", "yellow"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return styles->channel[i];
    return "";
}

unsigned terminal_width(int fd)
{
    struct winsize size;
    if (!is_able(fd))
        return 0;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}
