/* SPDX-License-Identifier: MIT */
/* frama_c_rows: PNG's filters undone and sums, of any bytes, in rows of every length up to N. The
 * sources are included: their loops of vectors are left out. */
#include "any.h"

#include "codec/running_sum.c"
#include "png/filter.c"

enum { N = 12 };

static uint8_t from[N], above[N], to[N];

static void forget(void)
{
    Frama_C_make_unknown((char *)from, sizeof from);
    Frama_C_make_unknown((char *)above, sizeof above);
    Frama_C_make_unknown((char *)to, sizeof to);
}

static void unfilter(size_t step)
{
    for (size_t n = step; n <= N; n++)
        for (unsigned filter = 0; filter < PNG_FILTERS; filter++) {
            forget();
            unfilter_row_portable(filter, from + N - n, above + N - n, to + N - n, n, step);
        }
}

static void sum(size_t word)
{
    for (size_t n = 0; n <= N; n += word)
        for (size_t step = 1; step < 4; step++) {
            forget();
            running_sum_portable(to + N - n, n, word, step);
        }
}

void prove(void)
{
    static const size_t steps[] = {1, 2, 3, 4, 6, 8};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        unfilter(steps[i]);
    for (size_t word = 1; word <= 8; word *= 2)
        sum(word);
}
