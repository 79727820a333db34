/* SPDX-License-Identifier: MIT */
/* any_rows: PNG's filters undone and running sums, of any bytes, in rows of up to PIXELS pixels and
 * N bytes. The sources are included: their loops of vectors are left out. */
#include "any.h"

#include "codec/running_sum.c"
#include "png/filter.c"

/* CBMC: --unwind 17 --object-bits 12 -DN=16 -DPIXELS=2 */
/* CBMC, full: --unwind 33 --object-bits 16 -DN=32 -DPIXELS=4 */

#ifdef __FRAMAC__
enum { N = 12, PIXELS = 12 };
#endif

/* Of any value, and exactly n. */
static uint8_t *row(unsigned i, size_t n)
{
#ifdef __FRAMAC__
    static uint8_t room[3][1 + N];
    return any_bytes(room[i], 1 + N, n);
#else
    (void)i;
    return malloc(n);
#endif
}

static void unfilter(size_t step)
{
    for (size_t n = step; n <= N && n <= PIXELS * step; n += step)
        for (unsigned filter = 0; filter < PNG_FILTERS; filter++) {
            uint8_t *const from = row(0, 1 + n);
            from[0] = (uint8_t)filter;
            unfilter_rows_portable(&(FilteredRows){from, 1, n, row(1, n), row(2, n), n}, step);
        }
}

static void sum(size_t word)
{
    for (size_t step = 1; step < 4; step++)
        for (size_t n = 0; n <= N && n <= PIXELS * step * word; n += word)
            running_sum_portable(row(0, n), n, word, step);
}

void prove(void)
{
    static const size_t steps[] = {1, 2, 3, 4, 6, 8};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        unfilter(steps[i]);
    for (size_t word = 1; word <= 8; word *= 2)
        sum(word);
}
