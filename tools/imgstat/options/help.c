/* SPDX-License-Identifier: MIT */
/* help.c: the help of the program and of its commands. */
#include "options/help.h"
#include "options/table.h"
#include "text/terminal.h"
#include "text/text.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 79, TEXT_COLUMN = 28, NAME_INDENT = 6 };

/* Writes words from `column` on, in lines that begin at `left`; a newline in the text begins one as
 * well. Returns the column behind them. */
static int put_words(FILE *out, const char *text, int left, int column)
{
    while (*text != '\0') {
        const int length = (int)strcspn(text, " \n");
        const bool first = column == left;
        if (!first && column + 1 + length > LINE) {
            fprintf(out, "\n%*s", left, "");
            column = left;
        } else if (!first) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, (size_t)length, out);
        column += length;
        text += length;
        if (*text == '\n') {
            fprintf(out, "\n%*s", left, "");
            column = left;
        }
        text += *text != '\0';
    }
    return column;
}

static void put_option(FILE *out, const Option *option)
{
    const Styles *const styles = terminal_styles(fileno(out));
    char name[48];
    const char *const format = option->argument == NULL  ? "--%s"
                               : option->implied != NULL ? "--%s[=%s]"
                                                         : "--%s=%s";
    int length = snprintf(name, sizeof name, format, option->name, option->argument);
    if (option->letter != 0)
        fprintf(out, "  %s-%c%s, ", styles->option, option->letter, styles->end);
    else
        fprintf(out, "%*s", NAME_INDENT, "");
    fprintf(out, "%s%s%s", styles->option, name, styles->end);
    length += NAME_INDENT;
    if (length + 2 > TEXT_COLUMN) {
        fputc('\n', out);
        length = 0;
    }
    fprintf(out, "%*s", TEXT_COLUMN - length, "");
    int column = put_words(out, option->help, TEXT_COLUMN, TEXT_COLUMN);
    if (option->otherwise != NULL) {
        char *const text = text_alloc(strlen(option->otherwise) + sizeof "(default: )");
        sprintf(text, "(default: %s)", option->otherwise);
        column = put_words(out, text, TEXT_COLUMN, column);
        free(text);
    }
    fputc('\n', out);
}

static void put_heading(FILE *out, const char *heading)
{
    const Styles *const styles = terminal_styles(fileno(out));
    fprintf(out, "%s%s:%s\n", styles->heading, heading, styles->end);
}

/* The options of a group: true if there were any. command: N_COMMANDS for the program itself. */
static bool put_group(FILE *out, unsigned command, OptionGroup group, bool all)
{
    bool any = false;
    const Option *option;
    for (size_t i = 0; (option = option_at(i)) != NULL; i++) {
        if (option->group != group || (option->commands >> command & 1) == 0 ||
            (option->rare && !all))
            continue;
        if (!any && group != GROUP_HELP)
            put_heading(out, group_names[group]);
        any = true;
        put_option(out, option);
    }
    return any;
}

void help_program(FILE *out)
{
    fputs("Usage: imgstat [stats] [OPTION...] FILE|DIR...\n"
          "       imgstat COMMAND [OPTION...] ...\n"
          "       imgstat help [COMMAND]\n\n"
          "Measure PNG and TIFF images, and make their contrast comparable.\n\n",
          out);
    put_heading(out, "Commands");
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-9s  %s\n", command_table[i].name, command_table[i].summary);
    fputs("\nTo measure a file that is named like a command, write ./stats.\n\n", out);
    put_group(out, N_COMMANDS, GROUP_HELP, false);
    fputc('\n', out);
    put_heading(out, "Examples");
    fputs("  imgstat photo.tif\n"
          "  imgstat stats --json --recursive scans > scans.jsonl\n"
          "  imgstat hist --plot photo.svg photo.tif\n"
          "  imgstat equalize photo.tif -o equalized.tif\n",
          out);
}

static const char *inputs_of(Command command)
{
    if (command == COMMAND_MERGE)
        return "A directory means the files in it that end in .rec, sorted. - is standard input.\n";
    if (command_table[command].input == INPUT_READ)
        return "A directory means the files in it that end in .png, .tif, .tiff, .gtiff,\n"
               ".btf or .tf8, sorted. - is standard input. FILE[LIST] names pages of FILE,\n"
               "such as 0,3-5, counted from 0, or 2.1 in a SubIFD.\n"
               "FILE.tar means the images in it, FILE.tar/NAME one of them.\n";
    return "A directory means the files in it that end in .png, .tif, .tiff, .gtiff,\n"
           ".btf or .tf8, sorted; OUT is then a folder that mirrors it. - is standard input,\n"
           "and as OUT standard output. FILE[LIST] names pages of FILE, such as 0,3-5,\n"
           "counted from 0, or 2.1 in a SubIFD.\n"
           "FILE.tar means the images in it, FILE.tar/NAME one of them.\n";
}

static void put_input(FILE *out, Command command)
{
    if (command_table[command].input == INPUT_NONE)
        return;
    fputs(inputs_of(command), out);
    fputs("Exit status: 0 all good, 1 some input failed, 2 wrong usage,\n"
          "130 interrupted.\n\n",
          out);
}

void help_command(FILE *out, Command command, bool all)
{
    const CommandInfo *const info = &command_table[command];
    fprintf(out, "Usage: imgstat %s [OPTION...]%s%s\n%s\n\n", info->name,
            info->operands != NULL ? " " : "", info->operands != NULL ? info->operands : "",
            info->purpose);
    for (int group = 0; group < N_GROUPS; group++)
        if (put_group(out, command, (OptionGroup)group, all))
            fputc('\n', out);
    put_input(out, command);
    put_heading(out, "Examples");
    for (size_t i = 0; i < sizeof info->examples / sizeof info->examples[0]; i++)
        fprintf(out, "  %s\n", info->examples[i]);
}
