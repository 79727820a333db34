/* SPDX-License-Identifier: MIT */
/* nearest.h: the word that a mistyped one was meant to be. */
#ifndef IMGSTAT_TOOLS_NEAREST_H
#define IMGSTAT_TOOLS_NEAREST_H

#include <stddef.h>

/* The best of the words that were offered so far. */
typedef struct Nearest {
    const char *typed;
    size_t length;    /* of typed, which NUL need not end */
    const char *word; /* NULL: none is near */
    size_t distance;
} Nearest;

Nearest nearest_to(const char *typed, size_t length);
/* Takes the word in where fewer characters than before have to be inserted, removed, replaced or
 * swapped with their neighbours, and at most a third of them. The word stays with the caller. */
void nearest_offer(Nearest *nearest, const char *word);

#endif
