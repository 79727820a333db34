/* SPDX-License-Identifier: MIT */
/* test_byteswap.c: words of every size and many lengths, in place and not, on any boundary, with
 * guard bytes around them. */
#include "base/byteswap.h"
#include "support.h"

#include <criterion/criterion.h>
#include <string.h>

enum { MOST = 300, GUARD = 16 };

static size_t bytes_compared;

static void check(size_t word, size_t n, size_t shift, bool in_place)
{
    uint8_t from[MOST + 2 * GUARD], memory[MOST + 2 * GUARD];
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 7 + n);
    guard_fill(memory, sizeof memory);
    uint8_t *const to = memory + shift;
    if (in_place)
        memcpy(to, from + shift, n);
    swap_words(in_place ? to : from + shift, to, n, word);
    const size_t whole = n / word * word;
    for (size_t i = 0; i < sizeof memory; i++, bytes_compared++) {
        const size_t at = i - shift;
        if (i < shift || at >= n || (at >= whole && !in_place))
            cr_assert_eq(memory[i], POISON, "byte %zu of %zu", i, n);
        else if (at >= whole)
            cr_assert_eq(memory[i], from[i]);
        else
            cr_assert_eq(memory[i], from[shift + at / word * word + word - 1 - at % word],
                         "words of %zu, byte %zu of %zu", word, at, n);
    }
}

Test(swap, words)
{
    for (size_t word = 2; word <= 8; word *= 2)
        for (size_t n = 0; n <= MOST; n += n < 80 ? 1 : 13)
            for (size_t shift = 0; shift < GUARD; shift += 5)
                for (int in_place = 0; in_place < 2; in_place++)
                    check(word, n, shift, in_place);
    cr_assert(bytes_compared > 100000, "%zu bytes compared", bytes_compared);
}
