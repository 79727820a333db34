/* SPDX-License-Identifier: MIT */
/* any_rows: PNG's filters undone and running sums, of any bytes, in rows of up to N bytes. The
 * sources are included: their loops of vectors are left out. */
#include "any.h"

#include "codec/running_sum.c"
#include "png/filter.c"

#ifdef __FRAMAC__
enum { N = 12, PIXELS = 12 };
#else
enum { N = 16, PIXELS = 2 };
#endif

static uint8_t room[3][N];

static void unfilter(size_t step)
{
    for (size_t n = step; n <= N && n <= PIXELS * step; n += step)
        for (unsigned filter = 0; filter < PNG_FILTERS; filter++)
            unfilter_row_portable(filter, malloc(n), malloc(n),
                                  malloc(n), n, step);
}

static void sum(size_t word)
{
    for (size_t step = 1; step < 4; step++)
    for (size_t n = 0; n <= N && n <= PIXELS * step * word; n += word)
            running_sum_portable(malloc(n), n, word, step);
}

void prove(void)
{
    static const size_t steps[] = {1, 2, 3, 4, 6, 8};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        unfilter(steps[i]);
    for (size_t word = 1; word <= 8; word *= 2)
        sum(word);
}
