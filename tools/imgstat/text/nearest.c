/* SPDX-License-Identifier: MIT */
/* nearest.c: the edit distance of words, swaps of neighbours included. */
#include "text/nearest.h"

#include <string.h>

enum { WORD_MAX = 32 }; /* longer words are near to nothing */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t rows[3][WORD_MAX + 1]; /* of the table of distances: two above the row at hand */
    for (size_t k = 0; k <= m; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= n; i++) {
        size_t *const row = rows[i % 3];
        const size_t *const above = rows[(i + 2) % 3], *const two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t k = 1; k <= m; k++) {
            row[k] = least(least(above[k], row[k - 1]) + 1, above[k - 1] + (a[i - 1] != b[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                row[k] = least(row[k], two_above[k - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

Nearest nearest_to(const char *typed, size_t length)
{
    return (Nearest){.typed = typed, .length = length, .distance = length / 3 + 1};
}

void nearest_offer(Nearest *nearest, const char *word)
{
    const size_t length = strlen(word);
    if (length > WORD_MAX || nearest->length > WORD_MAX)
        return;
    const size_t apart = distance(nearest->typed, nearest->length, word, length);
    if (apart < nearest->distance) {
        nearest->distance = apart;
        nearest->word = word;
    }
}
