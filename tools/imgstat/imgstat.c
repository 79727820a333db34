/* SPDX-License-Identifier: MIT */
/* imgstat.c: finds the subcommand, runs it, ends with its status. */
#include "imgstat.h"
#include "commands.h"
#include "heap.h"
#include "status.h"
#include "text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Subcommand {
    const char *name;
    const char *summary;
    void (*run)(int argc, char **argv);
} Subcommand;

/* The first is the one meant where none is named. */
static const Subcommand subcommands[] = {
    {"stats", "statistics of each channel, as a table, JSON or CSV", cmd_stats},
    {"hist", "histogram and percentiles: in the terminal, as a plot, CSV or JSON", cmd_hist},
    {"normalize", "rescale samples: stretch, percentile, mean and deviation, gamma, match",
     cmd_normalize},
    {"equalize", "equalize histograms: of whole images, adaptively, or to another's", cmd_equalize},
    {"apply", "apply a saved transfer to other images", cmd_apply},
    {"devices", "what --device can name on this machine", cmd_devices},
};

enum { N_SUBCOMMANDS = sizeof subcommands / sizeof subcommands[0] };

static void print_help(FILE *out)
{
    fputs("Usage: imgstat [stats] [OPTION...] FILE|DIR...\n"
          "       imgstat COMMAND [OPTION...] ...\n\n"
          "Measure PNG and TIFF images, and make their contrast comparable.\n\n"
          "Commands:\n",
          out);
    for (size_t i = 0; i < N_SUBCOMMANDS; i++)
        fprintf(out, "  %-9s  %s\n", subcommands[i].name, subcommands[i].summary);
    fputs("\n"
          "'imgstat COMMAND --help' lists the options of a command. A file that is\n"
          "called like a command is ./stats.\n\n"
          "  -h, --help     print this help\n"
          "      --version  print version, devices and libraries\n\n"
          "Examples:\n"
          "  imgstat photo.tif\n"
          "  imgstat stats --json --recursive scans > scans.jsonl\n"
          "  imgstat hist --plot photo.svg photo.tif\n"
          "  imgstat equalize photo.tif -o equalized.tif\n",
          out);
}

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

static const Subcommand *find_subcommand(const char *name)
{
    for (size_t i = 0; i < N_SUBCOMMANDS; i++)
        if (strcmp(name, subcommands[i].name) == 0)
            return &subcommands[i];
    return NULL;
}

/* The subcommand sees its full name as argv[0]: its messages begin with that. */
static void dispatch(int argc, char **argv)
{
    const Subcommand *const named = find_subcommand(argv[1]);
    const Subcommand *const command = named != NULL ? named : &subcommands[0];
    const int skip = named != NULL ? 1 : 0;
    char full_name[32];
    snprintf(full_name, sizeof full_name, "imgstat %s", command->name);

    char **const words = text_alloc(((size_t)argc + 1) * sizeof *words);
    memcpy(words, argv + skip, ((size_t)(argc - skip) + 1) * sizeof *words);
    words[0] = full_name;
    command->run(argc - skip, words);
    free(words);
}

/* Where a standard stream is closed, the next file that is opened would take its place, and what
 * is said would be written into it. Something takes it that, like a closed one, fails to be used.
 */
static void occupy_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            exit(STATUS_FAILED);
}

int main(int argc, char **argv)
{
    occupy_standard_streams();
    heap_keep(0);
    status_catch_signals();
    if (argc < 2) {
        print_help(stderr);
        status_raise(STATUS_USAGE);
    } else if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
    } else if (strcmp(argv[1], "--version") == 0) {
        print_version();
    } else {
        dispatch(argc, argv);
    }
    status_flush_stdout();
    return status_get();
}
