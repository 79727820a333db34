/* SPDX-License-Identifier: MIT */
/* group_name.h: the group of an input, taken from its name by a regular expression. */
#ifndef IMGSTAT_TOOLS_OPTIONS_GROUP_NAME_H
#define IMGSTAT_TOOLS_OPTIONS_GROUP_NAME_H

#include <locale.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

/* The expression of a group. All zero: none. */
typedef struct GroupName {
    const char *text; /* text of the command line; NULL: no expression */
    regex_t bytes;    /* owned if there is a text; for names that are no UTF-8 */
    locale_t utf8; /* of all other names; NULL: the text is no UTF-8, or there is no such locale */
    regex_t regex; /* owned if there is a locale */
} GroupName;

/* Reads "REGEX", a POSIX extended regular expression, in place of an earlier one. Returns false
 * after a usage error. option: as the user knows it, "--by". */
bool group_name_read(const char *command, const char *option, const char *text, GroupName *out);

/* Returns the first parenthesised part of the match in a name, or else the whole match; the caller
 * frees it. NULL: no match. */
char *group_name_of(const GroupName *groups, const char *name);

/* Notes on standard error how many of n names, among them `name`, do not match. */
void group_name_report(const GroupName *groups, const char *command, size_t unmatched, size_t n,
                       const char *name);

void group_name_release(GroupName *groups);

#endif
