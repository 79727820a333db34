/* SPDX-License-Identifier: MIT */
/* ladder.cu: the program: lists the rungs, checks one and shows its time. */
#include "ladder/measure.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RIGHT = 0, WRONG = 1, USAGE = 2, NO_DEVICE = 77 };

/* What is timed, in this order. */
static const struct Timed {
    const char *group;
    LadderKind kind;
    LadderPattern pattern;
    const char *input;
} timed[] = {
    {"reduce", LADDER_SUM_F32, LADDER_NOISE, "noise"},
    {"reduce", LADDER_MAX_U16, LADDER_NOISE, "noise"},
    {"scan", LADDER_SCAN_U32, LADDER_NOISE, "noise"},
    {"histogram", LADDER_COUNT_U8, LADDER_NOISE, "noise"},
    {"histogram", LADDER_COUNT_U8, LADDER_SAME, "all samples equal"},
    {"histogram", LADDER_COUNT_U16, LADDER_NOISE, "noise"},
    {"lookup", LADDER_LOOKUP_U8, LADDER_NOISE, "noise"},
};

typedef struct Options {
    const char *group; /* NULL: all */
    size_t rung;       /* 0: all */
    size_t samples;    /* 0: the default */
    bool markdown;
} Options;

static void list(void)
{
    for (const LadderGroup *group = ladder_groups; group->name; group++)
        for (size_t k = 0; group->rungs[k]; k++)
            printf("%-9s %zu  %-14s %s\n", k == 0 ? group->name : "", k + 1, group->rungs[k]->name,
                   group->rungs[k]->news);
}

static void usage(FILE *to)
{
    fprintf(to,
            "usage: ladder GROUP [RUNG]    check and time a rung, or all of a group\n"
            "       ladder all             every rung\n"
            "\n"
            "  --samples N    samples of an input (default: 512 MiB are moved; emulated: 10,007)\n"
            "  --markdown     tables in Markdown\n"
            "\n"
            "The rungs, and what is new in each:\n\n");
}

/* ---- Output */

static void print_row(const Options *options, const char *name, MeasureCells cells)
{
    printf(options->markdown ? "| %s" : "%-32s", name);
    for (int k = 0; k < MEASURE_CELLS; k++)
        if (options->markdown ? cells[k][0] != 0 : true)
            printf(options->markdown ? " | %s" : " %11s", cells[k]);
    printf(options->markdown ? " |\n" : "\n");
}

static void print_heads(const Options *options, const struct Timed *t)
{
    MeasureCells heads;
    measure_heads(heads);
    printf("%s%s, %s\n%s", options->markdown ? "\n## " : "\n", ladder_kinds[t->kind].name, t->input,
           options->markdown ? "\n" : "");
    print_row(options, options->markdown ? "rung" : "", heads);
    if (!options->markdown)
        return;
    for (int k = 0; k < MEASURE_CELLS; k++)
        snprintf(heads[k], MEASURE_CELL, "%s", heads[k][0] ? "---:" : "");
    print_row(options, "---", heads);
}

static int report(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return RIGHT;
    fprintf(stderr, "ladder: %s: %s\n", what, cudaGetErrorString(status));
    return WRONG;
}

/* ---- Running */

static int run_block(const Options *options, LadderCase *c, size_t number, const LadderRung *rung,
                     unsigned block)
{
    char name[64];
    snprintf(name, sizeof name, rung->blocks[1] ? "%zu %s, %u threads" : "%zu %s", number,
             rung->name, block);
    LadderTrial trial;
    MeasureCells cells;
    bool right = false;
    cudaError_t status = ladder_trial_create(c, rung, block, &trial);
    if (status == cudaSuccess)
        status = ladder_trial_run(c, &trial);
    if (status == cudaSuccess)
        status = ladder_trial_right(c, &trial, &right);
    if (status == cudaSuccess && right)
        status = measure_trial(c, &trial, cells);
    ladder_trial_release(&trial);
    if (status == cudaSuccess && !right) {
        fprintf(stderr, "ladder: %s: WRONG\n", name);
        return WRONG;
    }
    if (status == cudaSuccess)
        print_row(options, name, cells);
    return report(status, name);
}

static int run_rung(const Options *options, const struct Timed *t, LadderCase *c, size_t number,
                    const LadderRung *rung)
{
    int outcome = RIGHT;
    if (rung->max_n > 0 && c->n > rung->max_n) { /* an input of its own */
        LadderCase small;
        outcome |= report(ladder_case_create(t->kind, t->pattern, rung->max_n, 1, &small), "input");
        if (outcome == RIGHT)
            outcome |= run_rung(options, t, &small, number, rung);
        ladder_case_release(&small);
        return outcome;
    }
    for (const unsigned *block = rung->blocks; *block; block++)
        outcome |= run_block(options, c, number, rung, *block);
    return outcome;
}

static int run_group(const Options *options, const struct Timed *t, const LadderGroup *group)
{
    LadderCase c;
    const size_t n = options->samples ? options->samples : measure_samples(t->kind);
    bool shown = false;
    int outcome = report(ladder_case_create(t->kind, t->pattern, n, 1, &c), "input");
    for (size_t k = 0; c.device && group->rungs[k]; k++) {
        if ((options->rung > 0 && options->rung != k + 1) || !group->rungs[k]->run[t->kind])
            continue;
        if (!shown)
            print_heads(options, t);
        shown = true;
        outcome |= run_rung(options, t, &c, k + 1, group->rungs[k]);
    }
    ladder_case_release(&c);
    return outcome;
}

static const LadderGroup *find_group(const char *name)
{
    const LadderGroup *group = ladder_groups;
    while (group->name && strcmp(group->name, name) != 0)
        group++;
    return group;
}

static int run(const Options *options)
{
    char machine[256];
    const char *const missing = measure_open();
    if (missing) {
        fprintf(stderr, "ladder: no CUDA device (%s); ladder-cpu runs the rungs without one\n",
                missing);
        return NO_DEVICE;
    }
    int outcome = report(measure_machine(machine, sizeof machine), "machine");
    if (outcome != RIGHT)
        return outcome;
    if (options->markdown)
        printf("# The ladder, measured\n\nPrinted by `ladder --markdown`. ");
    printf("%s.\n", machine);
    for (const struct Timed &t : timed)
        if (!options->group || strcmp(options->group, t.group) == 0)
            outcome |= run_group(options, &t, find_group(t.group));
    return outcome;
}

static bool read_count(const char *text, size_t most, size_t *count)
{
    char *end;
    errno = 0;
    *count = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0 && *count >= 1 &&
           *count <= most;
}

/* The group and the number of a rung. */
static bool read_rung(int count, char **words, Options *options)
{
    if (count > 2 || (strcmp(words[0], "all") == 0 && count > 1))
        return false;
    if (strcmp(words[0], "all") == 0)
        return true;
    const LadderGroup *const group = find_group(words[0]);
    size_t rungs = 0;
    while (group->name && group->rungs[rungs])
        rungs++;
    options->group = group->name;
    return group->name && (count == 1 || read_count(words[1], rungs, &options->rung));
}

int main(int count, char **words)
{
    static const struct option table[] = {{"samples", required_argument, NULL, 'n'},
                                          {"markdown", no_argument, NULL, 'm'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    Options options = Options();
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    for (int option; (option = getopt_long(count, words, "h", table, NULL)) != -1;) {
        if (option == 'h') {
            usage(stdout);
            list();
            return RIGHT;
        }
        if (option == 'm')
            options.markdown = true;
        else if (option != 'n' || !read_count(optarg, (size_t)1 << 35, &options.samples)) {
            fprintf(stderr, "ladder: --samples: a number from 1 to 2^35\n");
            return USAGE;
        }
    }
    if (optind == count) {
        usage(stdout);
        list();
        return RIGHT;
    }
    if (!read_rung(count - optind, words + optind, &options)) {
        fprintf(stderr, "ladder: no such rung; 'ladder' lists them\n");
        return USAGE;
    }
    return run(&options);
}
