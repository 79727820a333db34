/* SPDX-License-Identifier: MIT */
/* completion.c: completion scripts of shells. */
#include "options/help.h"
#include "options/table.h"

#include <string.h>

static bool has(const Option *option, int command)
{
    return (option->commands >> command & 1) != 0;
}

/* Whether its value is the name of a file. */
static bool is_file(const Option *option)
{
    return option->argument != NULL &&
           (strcmp(option->argument, "FILE") == 0 || strcmp(option->argument, "OUT") == 0);
}

static void put_names(FILE *out, const char *separator)
{
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(out, "%s%s", i > 0 ? separator : "", command_table[i].name);
}

/* An option that several rows have, for different commands, is completed by the first of them. */
static bool is_first(const Option *option)
{
    size_t i = 0;
    while (strcmp(option_at(i)->name, option->name) != 0)
        i++;
    return option_at(i) == option;
}

/* ---- bash -------------------------------------------------------------------------------------
 */

/* The options of a case label: "-o | --output". */
static void bash_label(FILE *out, const Option *option)
{
    if (option->letter != 0)
        fprintf(out, "-%c | ", option->letter);
    fprintf(out, "--%s", option->name);
}

static void bash_values(FILE *out)
{
    const Option *option;
    for (size_t i = 0; (option = option_at(i)) != NULL; i++) {
        if (option->argument == NULL || option->implied != NULL || is_file(option) ||
            !is_first(option)) /* behind an option without its value comes a file */
            continue;
        fputs("        ", out);
        bash_label(out, option);
        if (option->words != NULL)
            fprintf(out,
                    ")\n            mapfile -t COMPREPLY < <(compgen -W \"%s\" -- \"$cur\")\n"
                    "            return ;;\n",
                    option->words);
        else
            fputs(") return ;;\n", out);
    }
}

static void bash_options(FILE *out, int command)
{
    const Option *option;
    for (size_t i = 0; (option = option_at(i)) != NULL; i++)
        if (has(option, command))
            fprintf(out, " --%s", option->name);
}

static void put_bash(FILE *out)
{
    fputs("# Completion of imgstat for bash.\n"
          "_imgstat()\n"
          "{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local command=stats options\n"
          "    COMPREPLY=()\n"
          "    # \"=\" is a word of its own: --device=cu is three words.\n"
          "    if [[ $cur == = ]]; then\n"
          "        cur=\n"
          "    elif [[ $prev == = ]]; then\n"
          "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    fi\n"
          "    case ${COMP_WORDS[1]} in\n"
          "        ",
          out);
    put_names(out, " | ");
    fputs(") command=${COMP_WORDS[1]} ;;\n"
          "    esac\n"
          "    case $prev in\n"
          "        help)\n"
          "            mapfile -t COMPREPLY < <(compgen -W \"",
          out);
    put_names(out, " ");
    fputs("\" -- \"$cur\")\n            return ;;\n", out);
    bash_values(out);
    fputs("    esac\n    if [[ $cur == -* ]]; then\n        case $command in\n", out);
    for (int i = 0; i < N_COMMANDS; i++) {
        fprintf(out, "            %s) options=\"", command_table[i].name);
        bash_options(out, i);
        fputs("\" ;;\n", out);
    }
    fputs("        esac\n"
          "        ((COMP_CWORD == 1)) && options+=\" --version\"\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
          "        return\n"
          "    fi\n"
          "    compopt -o filenames 2> /dev/null\n"
          "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W \"",
          out);
    put_names(out, " ");
    fputs(" help\" -- \"$cur\")\n"
          "    fi\n"
          "}\n"
          "complete -F _imgstat imgstat\n",
          out);
}

/* ---- zsh --------------------------------------------------------------------------------------
 */

/* Inside single quotes; brackets and colons end descriptions. */
static void zsh_text(FILE *out, const char *text)
{
    for (; *text != '\0' && *text != '\n'; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:\\", *text) != NULL)
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
}

static void zsh_option(FILE *out, const Option *option)
{
    fputs(" \\\n                ", out);
    if (option->letter != 0)
        fprintf(out, "'(-%c --%s)'{-%c%s,--%s%s}'[", option->letter, option->name, option->letter,
                option->argument != NULL ? "+" : "", option->name,
                option->argument != NULL ? "=" : "");
    else
        fprintf(out, "'--%s%s[", option->name,
                option->argument == NULL  ? ""
                : option->implied != NULL ? "=-"
                                          : "=");
    zsh_text(out, option->help);
    fputc(']', out);
    if (option->argument != NULL) {
        fputs(option->implied != NULL ? "::" : ":", out);
        zsh_text(out, option->argument);
        fputc(':', out);
    }
    if (option->words != NULL)
        fprintf(out, "(%s)", option->words);
    else if (is_file(option))
        fputs("_files", out);
    fputc('\'', out);
}

static void put_zsh(FILE *out)
{
    fputs("#compdef imgstat\n"
          "_imgstat()\n"
          "{\n"
          "    local command=stats\n"
          "    local -a commands=(\n",
          out);
    for (int i = 0; i < N_COMMANDS; i++) {
        fprintf(out, "        '%s:", command_table[i].name);
        zsh_text(out, command_table[i].summary);
        fputs("'\n", out);
    }
    fputs("        'help:print the help of a command'\n"
          "    )\n"
          "    if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n"
          "        _describe command commands\n"
          "        _files\n"
          "        return\n"
          "    fi\n"
          "    if ((CURRENT == 3)) && [[ $words[2] == help ]]; then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    if ((${commands[(I)$words[2]:*]})); then\n"
          "        command=$words[2]\n"
          "        shift words\n"
          "        ((CURRENT--))\n"
          "    fi\n"
          "    case $command in\n",
          out);
    for (int i = 0; i < N_COMMANDS; i++) {
        fprintf(out, "        %s)\n            _arguments -s", command_table[i].name);
        const Option *option;
        for (size_t k = 0; (option = option_at(k)) != NULL; k++)
            if (has(option, i))
                zsh_option(out, option);
        fprintf(out, "%s ;;\n",
                command_table[i].input != INPUT_NONE ? " \\\n                '*:file:_files'" : "");
    }
    fputs("    esac\n"
          "}\n"
          "_imgstat \"$@\"\n",
          out);
}

/* ---- fish -------------------------------------------------------------------------------------
 */

static void fish_text(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text != '\0' && *text != '\n'; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

/* When an option is offered: without a command those of the first are. */
static void fish_condition(FILE *out, const Option *option)
{
    const bool first = has(option, 0);
    fprintf(out, " -n '%s__fish_seen_subcommand_from", first ? "not " : "");
    for (int i = 0; i < N_COMMANDS; i++)
        if (has(option, i) != first)
            fprintf(out, " %s", command_table[i].name);
    fprintf(out, "%s'", first ? " help" : "");
}

static void put_fish(FILE *out)
{
    fputs("# Completion of imgstat for fish.\n", out);
    for (int i = 0; i < N_COMMANDS; i++) {
        fprintf(out, "complete -c imgstat -n __fish_use_subcommand -a %s -d ",
                command_table[i].name);
        fish_text(out, command_table[i].summary);
        fputc('\n', out);
    }
    fputs("complete -c imgstat -n __fish_use_subcommand -a help -d 'print the help of a command'\n"
          "complete -c imgstat -n '__fish_seen_subcommand_from help' -f -a '",
          out);
    put_names(out, " ");
    fputs("'\n", out);
    const Option *option;
    for (size_t i = 0; (option = option_at(i)) != NULL; i++) {
        fputs("complete -c imgstat", out);
        fish_condition(out, option);
        if (option->letter != 0)
            fprintf(out, " -s %c", option->letter);
        fprintf(out, " -l %s", option->name);
        if (option->implied != NULL)
            ; /* fish would take the next word for the value */
        else if (option->words != NULL)
            fprintf(out, " -x -a '%s'", option->words);
        else if (option->argument != NULL)
            fputs(is_file(option) ? " -r -F" : " -x", out);
        fputs(" -d ", out);
        fish_text(out, option->help);
        fputc('\n', out);
    }
}

bool help_completion(FILE *out, const char *shell)
{
    static const struct {
        const char *name;
        void (*put)(FILE *out);
    } shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (strcmp(shell, shells[i].name) == 0) {
            shells[i].put(out);
            return true;
        }
    return false;
}
