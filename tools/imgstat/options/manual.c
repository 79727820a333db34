/* SPDX-License-Identifier: MIT */
/* manual.c: the manual pages of the commands, imgstat-stats(1) and so on. */
#include "options/help.h"
#include "options/table.h"

#include <ctype.h>
#include <string.h>

enum { LINE = 79 };

/* A word, its options in bold; returns its width. */
static size_t put_word(FILE *out, const char *word, size_t length)
{
    const size_t dashes = strspn(word, "-");
    const bool option = dashes > 0 && dashes < length && isalpha((unsigned char)word[dashes]);
    if (option)
        fputs("\\fB", out);
    for (size_t i = 0; i < length; i++) {
        if (option && i >= dashes && !isalnum((unsigned char)word[i]) && word[i] != '-') {
            fputs("\\fR", out);
            fwrite(word + i, 1, length - i, out);
            return length;
        }
        fputs(word[i] == '-' ? "\\-" : (char[]){word[i], '\0'}, out);
    }
    if (option)
        fputs("\\fR", out);
    return length;
}

/* Sentences in filled lines; no line begins with a dot. Returns the column behind them. */
static size_t put_text(FILE *out, const char *text, size_t column)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, " \n");
        if (column > 0 && column + 1 + length > LINE) {
            fputc('\n', out);
            column = 0;
        }
        if (column > 0)
            fputc(' ', out);
        else if (*text == '.' || *text == '\'')
            fputs("\\&", out);
        column += (column > 0) + put_word(out, text, length);
        text += length;
        if (*text == '\n') {
            fputs("\n.br\n", out);
            column = 0;
        }
        text += *text != '\0';
    }
    return column;
}

static void put_option(FILE *out, const Option *option)
{
    fputs(".TP\n", out);
    if (option->letter != 0)
        fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB", out);
    put_word(out, "--", 2);
    put_word(out, option->name, strlen(option->name));
    if (option->implied != NULL)
        fprintf(out, "\\fR[=\\fI%s\\fR]", option->argument);
    else if (option->argument != NULL)
        fprintf(out, "=\\fI%s", option->argument);
    fputs("\\fR\n", out);
    size_t column = put_text(out, option->help, 0);
    if (column > 0) {
        fputs(".", out);
        column++;
    }
    if (option->more != NULL)
        column = put_text(out, option->more, column);
    if (option->otherwise != NULL) {
        column = put_text(out, "Default:", column);
        put_text(out, option->otherwise, column);
        fputs(".", out);
    }
    fputs("\n", out);
}

static void put_options(FILE *out, Command command)
{
    for (int group = 0; group < N_GROUPS; group++) {
        bool any = false;
        const Option *option;
        for (size_t i = 0; (option = option_at(i)) != NULL; i++) {
            if (option->group != (OptionGroup)group || (option->commands >> command & 1) == 0)
                continue;
            if (!any)
                fprintf(out, ".SS %s\n", group == GROUP_HELP ? "Help" : group_names[group]);
            any = true;
            put_option(out, option);
        }
    }
}

static void put_line(FILE *out, const char *text)
{
    put_text(out, text, 0);
    fputc('\n', out);
}

void help_manual(FILE *out, Command command, const char *date)
{
    const CommandInfo *const info = &command_table[command];
    fprintf(out, ".TH IMGSTAT\\-");
    for (const char *c = info->name; *c != '\0'; c++)
        fputc(toupper((unsigned char)*c), out);
    fprintf(out, " 1 \"%s\" \"imgstat %s\" \"User Commands\"\n", date, imgstat_version());
    fprintf(out, ".SH NAME\nimgstat\\-%s \\- ", info->name);
    put_line(out, info->summary);
    fprintf(out, ".SH SYNOPSIS\n\\fBimgstat %s\\fR [\\fIOPTION\\fR...] ", info->name);
    put_line(out, info->operands != NULL ? info->operands : "");
    fputs(".SH DESCRIPTION\n", out);
    put_line(out, info->purpose);
    fputs(".PP\n.BR imgstat (1)\nhas what all commands share: inputs, exit status, environment.\n"
          ".SH OPTIONS\n",
          out);
    put_options(out, command);
    fputs(".SH EXAMPLES\n.nf\n", out);
    for (size_t i = 0; i < sizeof info->examples / sizeof info->examples[0]; i++)
        put_line(out, info->examples[i]);
    fputs(".fi\n.SH SEE ALSO\n.BR imgstat (1)\n", out);
}
