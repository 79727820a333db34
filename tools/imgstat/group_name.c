/* SPDX-License-Identifier: MIT */
/* group_name.c: finds the part of a name that an expression means. */
#include "group_name.h"
#include "option_value.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool group_name_read(const char *command, const char *option, const char *text, GroupName *out)
{
    char cause[200] = "it is empty";
    group_name_release(out);
    const int code = *text != '\0' ? regcomp(&out->regex, text, REG_EXTENDED) : REG_BADPAT;
    if (code == 0) {
        out->text = text;
        return true;
    }
    if (*text != '\0')
        regerror(code, NULL, cause, sizeof cause);
    return usage_error(command, "%s group=%s: no regular expression: %s", option, text, cause);
}

char *group_name_of(const GroupName *groups, const char *name)
{
    regmatch_t match[2];
    if (regexec(&groups->regex, name, 2, match, 0) != 0)
        return NULL;
    const bool has_part = groups->regex.re_nsub > 0 && match[1].rm_so >= 0;
    const regmatch_t *const part = has_part ? &match[1] : &match[0];
    char *const group = text_copy(name + part->rm_so);
    group[part->rm_eo - part->rm_so] = '\0';
    return group;
}

void group_name_report(const GroupName *groups, const char *command, size_t unmatched, size_t n,
                       const char *name)
{
    char *const shown = text_display(name);
    fprintf(stderr,
            "%s: %zu of %zu names do not match '%s', such as %s: they are in the group \"\"\n",
            command, unmatched, n, groups->text, shown);
    free(shown);
}

void group_name_release(GroupName *groups)
{
    if (groups->text != NULL)
        regfree(&groups->regex);
    groups->text = NULL;
}
