/* SPDX-License-Identifier: MIT */
/* sentences.h: a list of sentences. */
#ifndef IMGSTAT_TOOLS_TEXT_SENTENCES_H
#define IMGSTAT_TOOLS_TEXT_SENTENCES_H

#include <stdbool.h>
#include <stddef.h>

/* All zero: empty. */
typedef struct Sentences {
    char **items; /* owned, as they are; n of them */
    size_t n;
} Sentences;

/* Adds a copy. */
void sentences_add(Sentences *list, const char *sentence);

bool sentences_have(const Sentences *list, const char *sentence);

/* Frees what it holds, and empties it. */
void sentences_clear(Sentences *list);

#endif
