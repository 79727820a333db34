/* SPDX-License-Identifier: MIT */
/* test_lut8.c: bytes through tables, each way, against the definition; nothing beyond them is
 * written. */
#include "cpu/loops.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1000, GUARD = 64 };

static size_t check(Lut8 *lookup, const char *name)
{
    static const size_t sizes[] = {0, 1, 2, 3, 63, 64, 65, 127, 128, 191, 192, 193, 257, 999, MOST};
    uint8_t tables[LOOP_CHANNELS * 256], from[MOST + GUARD], to[MOST + 2 * GUARD];
    size_t compared = 0;
    for (size_t i = 0; i < sizeof tables; i++)
        tables[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 40503u >> 5);
    for (unsigned channels = 1; channels <= LOOP_CHANNELS; channels++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (size_t shift = 0; shift < 3; shift++) {
                const size_t n = sizes[k];
                memset(to, 0xA5, sizeof to);
                lookup(from + shift, n, channels, tables, to + GUARD + shift);
                for (size_t i = 0; i < sizeof to; i++) {
                    const size_t at = i - GUARD - shift;
                    const bool inside = i >= GUARD + shift && at < n;
                    const uint8_t expected =
                        inside ? tables[at % channels * 256 + from[shift + at]] : 0xA5;
                    cr_assert_eq(to[i], expected, "%s: %zu bytes, %u channels, byte %zu", name, n,
                                 channels, at);
                }
                memcpy(to, from + shift, n); /* in place */
                lookup(to, n, channels, tables, to);
                cr_assert(n == 0 ||
                          to[n - 1] == tables[(n - 1) % channels * 256 + from[shift + n - 1]]);
                compared += n;
            }
    return compared;
}

Test(lookup, by_the_definition)
{
    size_t compared = 0;
    for (CpuLevel level = PROCESSOR_PORTABLE;
         level < PROCESSOR_LEVELS && cpu_features_supports(level); level++)
        compared += check(cpu_loops_of(level)->lut8, cpu_features_level_names[level]);
    fprintf(stderr, "lookup: %zu bytes compared\n", compared);
    cr_assert_gt(compared, 0);
}
