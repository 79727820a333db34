/* SPDX-License-Identifier: MIT */
/* serve.h: a program of the tests runs many command lines in one process, since starting one under
 * a sanitizer takes longer than most files do. serve.py is the other side. */
#ifndef IMGSTAT_TESTS_SERVE_H
#define IMGSTAT_TESTS_SERVE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SERVE_MAX_WORDS = 32 };

/* Runs each line of standard input, words separated by tabs, as run(argc, argv) does. Standard
 * output and error are files, which hold what the last line gave. Behind each line its exit status
 * and processor seconds are written to `answers`. */
static inline int serve(int (*run)(int argc, char **argv), char *name, int answers)
{
    char *line = NULL, *words[SERVE_MAX_WORDS + 1];
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        line[strcspn(line, "\n")] = '\0';
        int n = 0;
        words[n++] = name;
        for (char *word = strtok(line, "\t"); word && n < SERVE_MAX_WORDS;
             word = strtok(NULL, "\t"))
            words[n++] = word;
        words[n] = NULL;
        if (ftruncate(STDOUT_FILENO, 0) != 0 || ftruncate(STDERR_FILENO, 0) != 0)
            abort();
        lseek(STDOUT_FILENO, 0, SEEK_SET);
        lseek(STDERR_FILENO, 0, SEEK_SET);
        const clock_t before = clock();
        const int status = run(n, words);
        fflush(stdout);
        dprintf(answers, "%d %.6f\n", status, (double)(clock() - before) / CLOCKS_PER_SEC);
    }
    free(line);
    return 0;
}

/* As main does: `--serve DESCRIPTOR` serves, any other command line is run. */
static inline int serve_or_run(int (*run)(int argc, char **argv), int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--serve") == 0)
        return serve(run, argv[0], atoi(argv[2]));
    return run(argc, argv);
}

#endif
