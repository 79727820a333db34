/* SPDX-License-Identifier: MIT */
/* manual.c: the options as sections of the manual page. */
#include "help.h"
#include "option_table.h"

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

/* "(stats, hist)", where only some of the group's commands have the option. */
static size_t put_commands(FILE *out, const Option *option)
{
    unsigned all = 0;
    size_t column = 0;
    const Option *other;
    for (size_t i = 0; (other = option_at(i)) != NULL; i++)
        if (other->group == option->group)
            all |= other->commands;
    if (option->commands == all || option->group == GROUP_HELP)
        return 0;
    for (int i = 0; i < N_COMMANDS; i++)
        if ((option->commands >> i & 1) != 0) {
            fprintf(out, "%s%s", column == 0 ? "(" : ", ", command_table[i].name);
            column += strlen(command_table[i].name) + 2;
        }
    fputs(")", out);
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
    size_t column = put_text(out, option->help, put_commands(out, option));
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

void help_manual(FILE *out)
{
    for (int group = 0; group < N_GROUPS; group++) {
        fprintf(out, ".SS %s\n", group_names[group]);
        const Option *option;
        for (size_t i = 0; (option = option_at(i)) != NULL; i++)
            if (option->group == (OptionGroup)group)
                put_option(out, option);
    }
}
