/* SPDX-License-Identifier: MIT */
/* group_name.h: the group of an input, taken from its name by a regular expression. */
#ifndef IMGSTAT_TOOLS_GROUP_NAME_H
#define IMGSTAT_TOOLS_GROUP_NAME_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

/* All zero: no expression. */
typedef struct GroupName {
    const char *text; /* of the command line; NULL: none */
    regex_t regex;    /* owned where there is one */
} GroupName;

/* Reads "REGEX", POSIX extended; false after a usage error. It takes the place of an earlier one.
 * option: as the user knows it, "--by". */
bool group_name_read(const char *command, const char *option, const char *text, GroupName *out);

/* Returns the first parenthesised part of the match in a name, or all of the match, to be freed.
 * NULL: nothing matches. */
char *group_name_of(const GroupName *groups, const char *name);

/* Notes on standard error that so many of n names, among them `name`, do not match. */
void group_name_report(const GroupName *groups, const char *command, size_t unmatched, size_t n,
                       const char *name);

void group_name_release(GroupName *groups);

#endif
