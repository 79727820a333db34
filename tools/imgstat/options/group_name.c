/* SPDX-License-Identifier: MIT */
/* group_name.c: finds the part of a name that an expression means. */
#include "options/group_name.h"
#include "options/value.h"
#include "text/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* regcomp copies what is repeated: memory doubles with each repetition of a repetition, and its
 * stack grows with each parenthesis. */
enum { SIZE_MOST = 20000, DEPTH_MOST = 100 };

/* Returns what follows the bracket expression at `at`. */
static const char *after_bracket(const char *at)
{
    at += at[1] == '^' ? 2 : 1;
    at += *at == ']';
    while (*at != '\0' && *at != ']') {
        const char kind = *at == '[' ? at[1] : '\0';
        const char end[] = {kind, ']', '\0'};
        const char *const close =
            kind != '\0' && strchr(".:=", kind) != NULL ? strstr(at + 2, end) : NULL;
        at = close != NULL ? close + 2 : at + 1;
    }
    return at + (*at == ']');
}

/* Returns by how much the repetition at `at` multiplies, and passes over it. */
static double repetition(const char **at)
{
    if (**at != '{')
        return *(*at)++ == '+' ? 2 : 1;
    double most = 1;
    for ((*at)++; **at != '\0' && **at != '}'; (*at)++)
        if (**at >= '0' && **at <= '9') {
            most = fmax(most, strtod(*at, NULL));
            *at += strspn(*at, "0123456789") - 1;
        }
    *at += **at == '}';
    return most;
}

/* Returns how many characters an expression has when all its repetitions are written out, to the
 * parenthesis that closes it, and passes over that. */
static double written_out(const char **at, unsigned depth)
{
    double before = 0, last = 0;
    if (depth > DEPTH_MOST)
        return HUGE_VAL;
    while (**at != '\0' && (**at != ')' || depth == 0)) {
        if (strchr("*+?{", **at) != NULL) {
            last *= repetition(at);
            continue;
        }
        before += last;
        last = 1;
        if (**at == '(') {
            (*at)++;
            last = written_out(at, depth + 1);
        } else if (**at == '[') {
            *at = after_bracket(*at);
        } else {
            *at += **at == '\\' && (*at)[1] != '\0' ? 2 : 1;
        }
        if (last == HUGE_VAL)
            return last;
    }
    *at += **at == ')';
    return before + last;
}

static bool is_utf8(const char *text)
{
    char *const utf8 = text_utf8(text);
    const bool same = strcmp(utf8, text) == 0;
    free(utf8);
    return same;
}

/* Compiles for bytes and for characters of UTF-8, whatever the user's locale is: other computers
 * find the same groups. */
static int compile(const char *text, GroupName *out)
{
    const int code = regcomp(&out->bytes, text, REG_EXTENDED);
    if (code != 0)
        return code;
    out->utf8 = is_utf8(text) ? newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0) : (locale_t)0;
    if (out->utf8 == (locale_t)0)
        return 0;
    const locale_t before = uselocale(out->utf8);
    const int failed = regcomp(&out->regex, text, REG_EXTENDED);
    (void)uselocale(before);
    if (failed != 0) {
        freelocale(out->utf8);
        regfree(&out->bytes);
    }
    return failed;
}

/* Works as regexec. */
static int match_name(const GroupName *groups, const char *name, regmatch_t match[2])
{
    if (groups->utf8 == (locale_t)0 || !is_utf8(name))
        return regexec(&groups->bytes, name, 2, match, 0);
    const locale_t before = uselocale(groups->utf8);
    errno = 0;
    const int code = regexec(&groups->regex, name, 2, match, 0);
    const int cause = errno;
    (void)uselocale(before);
    errno = cause;
    return code;
}

bool group_name_read(const char *command, const char *option, const char *text, GroupName *out)
{
    char cause[200] = "it is empty";
    const char *at = text;
    group_name_release(out);
    if (written_out(&at, 0) > SIZE_MOST)
        return usage_error(command,
                           "%s group=%s: more than %d characters with all repetitions, or more "
                           "than %d parentheses in each other",
                           option, text, SIZE_MOST, DEPTH_MOST);
    const int code = *text != '\0' ? compile(text, out) : REG_BADPAT;
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
    errno = 0;
    if (match_name(groups, name, match) != 0) {
        if (errno == ENOMEM) /* the C library of GNU says that there is no match */
            text_no_memory();
        return NULL;
    }
    const bool has_part = groups->bytes.re_nsub > 0 && match[1].rm_so >= 0;
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
    if (groups->text != NULL) {
        regfree(&groups->bytes);
        if (groups->utf8 != (locale_t)0) {
            regfree(&groups->regex);
            freelocale(groups->utf8);
        }
    }
    groups->text = NULL;
}
