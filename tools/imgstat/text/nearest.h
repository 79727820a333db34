/* SPDX-License-Identifier: MIT */
/* nearest.h: the word that a mistyped one probably stands for. */
#ifndef IMGSTAT_TOOLS_TEXT_NEAREST_H
#define IMGSTAT_TOOLS_TEXT_NEAREST_H

#include <stddef.h>

/* The nearest of the words offered so far. */
typedef struct Nearest {
    const char *typed;
    size_t length;    /* of typed, which needs no NUL at its end */
    const char *word; /* NULL: none is near */
    size_t distance;
} Nearest;

Nearest nearest_to(const char *typed, size_t length);
/* Remembers a word if it needs fewer insertions, removals, replacements and swaps of neighbours
 * than the ones before, and at most a third of its characters. The caller keeps the word. */
void nearest_offer(Nearest *nearest, const char *word);

#endif
