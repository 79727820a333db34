/* SPDX-License-Identifier: MIT */
/* program.c: finds the subcommand, runs it, ends with its status. */
#include "program.h"
#include "commands/commands.h"
#include "options/help.h"
#include "options/sandbox.h"
#include "options/table.h"
#include "options/value.h"
#include "text/nearest.h"
#include "text/status.h"
#include "text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void (*const runners[N_COMMANDS])(Options *options) = {
    [COMMAND_STATS] = cmd_stats,        [COMMAND_HIST] = cmd_hist,
    [COMMAND_INFO] = cmd_info,          [COMMAND_REPORT] = cmd_report,
    [COMMAND_COMPARE] = cmd_compare,    [COMMAND_NORMALIZE] = cmd_transform,
    [COMMAND_EQUALIZE] = cmd_transform, [COMMAND_APPLY] = cmd_transform,
    [COMMAND_MERGE] = cmd_stats,        [COMMAND_DEVICES] = cmd_devices,
};

static void print_version(void)
{
    printf("imgstat %s\n", imgstat_version());
    printf("built for: %s\n", imgstat_devices_built());
    printf("devices:");
    const size_t n = imgstat_device_list(NULL, 0);
    ImgstatDeviceInfo *const devices = text_alloc(n * sizeof *devices);
    const size_t listed = imgstat_device_list(devices, n);
    for (size_t i = 0; i < listed && i < n; i++)
        printf("%s %s (%s)", i > 0 ? "," : "", devices[i].name, devices[i].description);
    free(devices);
    printf("\nlibraries: %s\n", imgstat_libraries());
}

/* The command that a word was meant to be; NULL: none is near. */
static const char *nearest_command(const char *word)
{
    Nearest nearest = nearest_to(word, strlen(word));
    for (int i = 0; i < N_COMMANDS; i++)
        nearest_offer(&nearest, command_table[i].name);
    nearest_offer(&nearest, "help");
    return nearest.word;
}

/* Such a word is hardly the name of a file. */
static bool is_mistyped(const char *word)
{
    return word[0] != '-' && strpbrk(word, "./[") == NULL && access(word, F_OK) != 0 &&
           nearest_command(word) != NULL;
}

static void answer_mistyped(const char *what, const char *word)
{
    const char *const meant = nearest_command(word);
    usage_error("imgstat", "there is no %s '%s'%s%s%s", what, word,
                meant != NULL ? "; did you mean 'imgstat " : "", meant != NULL ? meant : "",
                meant != NULL ? "'?" : "");
    fputs("Try 'imgstat --help'.\n", stderr);
    status_raise(STATUS_USAGE);
}

static void run_command(Command command, int argc, char **words)
{
    char full_name[32];
    snprintf(full_name, sizeof full_name, "imgstat %s", command_table[command].name);
    words[0] = full_name;
    Options options;
    const ParseResult parsed = options_parse(command, argc, words, &options);
    if (parsed == PARSE_RUN)
        runners[command](&options);
    else if (parsed == PARSE_ERROR)
        status_raise(STATUS_USAGE);
    options_release(&options);
}

/* "imgstat help [COMMAND]" */
static void help(const char *name)
{
    const Command command = name != NULL ? command_named(name) : N_COMMANDS;
    if (name == NULL || strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 ||
        strcmp(name, "-h") == 0)
        help_program(stdout);
    else if (command != N_COMMANDS)
        help_command(stdout, command, true);
    else
        answer_mistyped("command", name);
}

/* "imgstat --manual COMMAND [DATE]": for builds, as --completion is. */
static void manual(const char *name, const char *date)
{
    const Command command = command_named(name);
    if (command != N_COMMANDS)
        help_manual(stdout, command, date);
    else
        answer_mistyped("command", name);
}

/* "imgstat --completion SHELL" */
static void complete(const char *shell)
{
    if (help_completion(stdout, shell))
        return;
    usage_error("imgstat", "--completion is for bash, zsh or fish, not '%s'", shell);
    status_raise(STATUS_USAGE);
}

static void dispatch(int argc, char **argv)
{
    const char *const word = argv[1], *const value = argc > 2 ? argv[2] : NULL;
    const Command command = command_named(word);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        help(NULL);
    else if (strcmp(word, "help") == 0)
        help(value);
    else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        print_version();
    else if (strcmp(word, "--manual") == 0 && value != NULL)
        manual(value, argc > 3 ? argv[3] : "");
    else if (strcmp(word, "--completion") == 0 && value != NULL)
        complete(value);
    else if (command != N_COMMANDS)
        run_command(command, argc - 1, argv + 1);
    else if (is_mistyped(word))
        answer_mistyped("command or file", word);
    else
        run_command(COMMAND_STATS, argc, argv);
}

/* If a standard stream is closed, the next file that is opened takes its place, and messages are
 * written into that file. A descriptor takes the place instead that fails like a closed stream. */
static void occupy_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            exit(STATUS_FAILED);
}

static void run_words(int argc, char **argv)
{
    if (argc < 2) {
        help_program(stderr);
        status_raise(STATUS_USAGE);
    } else {
        dispatch(argc, argv);
    }
}

int program_run(int argc, char **argv)
{
    occupy_standard_streams();
    imgstat_heap_keep(0);
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "16", 0); /* else 8 batches at most are decoded at once */
    status_catch_signals();
    sandbox_allow();
    run_words(argc, argv);
    status_flush_stdout();
    if (status_interrupted() != 0)
        status_raise(128 + status_interrupted());
    return status_get();
}

int program_run_within(int argc, char **argv)
{
    StatusHandlers before;
    status_enter(&before);
    const locale_t locale = text_use_points();
    run_words(argc, argv);
    (void)uselocale(locale);
    return status_leave(&before);
}
