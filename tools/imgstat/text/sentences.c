/* SPDX-License-Identifier: MIT */
/* sentences.c: a list of sentences: few files have more than one. */
#include "text/sentences.h"
#include "text/text.h"

#include <stdlib.h>
#include <string.h>

void sentences_add(Sentences *list, const char *sentence)
{
    char **const items = text_alloc((list->n + 1) * sizeof *items);
    if (list->n > 0)
        memcpy(items, list->items, list->n * sizeof *items);
    items[list->n++] = text_copy(sentence);
    free(list->items);
    list->items = items;
}

bool sentences_have(const Sentences *list, const char *sentence)
{
    size_t i = 0;
    while (i < list->n && strcmp(list->items[i], sentence) != 0)
        i++;
    return i < list->n;
}

void sentences_clear(Sentences *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i]);
    free(list->items);
    *list = (Sentences){0};
}
