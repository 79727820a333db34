/* SPDX-License-Identifier: MIT */
/* test_match_gain.c: whether matches pay, against the text of docs/deflate-coder.md. */
#include "codec/match_gain.h"
#include "deflate_patterns.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(match_gain);

enum { MOST = 60000 };

static unsigned binary_digits(size_t v)
{
    unsigned n = 0;
    for (; v > 0; v /= 2)
        n++;
    return n;
}

static bool reference(DeflateCoder *coder, const uint8_t *piece, size_t n, bool fast)
{
    const size_t most = fast ? 2048 : 8192, s = n < most ? n : most;
    const uint8_t *const from = piece + (n - s) / 2;
    uint32_t *const bits = malloc((s + 1) * sizeof *bits);
    size_t place[4096], i = 0;
    uint64_t saved = 0;
    deflate_coder_bits(coder, from, s, bits);
    for (size_t h = 0; h < 4096; h++)
        place[h] = s; /* none yet */
    while (i + 3 < s) {
        const uint32_t v = (uint32_t)from[i] | (uint32_t)from[i + 1] << 8 |
                           (uint32_t)from[i + 2] << 16 | (uint32_t)from[i + 3] << 24;
        const size_t h = (uint32_t)(v * 2654435761u) >> 20, before = place[h];
        size_t length = 0;
        place[h] = i;
        while (before < s && length < 258 && i + length < s &&
               from[before + length] == from[i + length])
            length++;
        const uint32_t literal = bits[i + length] - bits[i];
        const uint32_t match = 12 + binary_digits(i - before);
        if (length >= 4 && literal > match) {
            saved += literal - match;
            i += length;
        } else {
            i++;
        }
    }
    const bool pays = saved * (fast ? 5 : 12) >= bits[s];
    free(bits);
    return pays;
}

/* Differences of a photograph, in which some stretches repeat what was before: the more, the
 * greater `share` is, of 1000. */
static void fill(uint8_t *to, size_t n, unsigned share, uint32_t *state)
{
    for (size_t i = 0; i < n;) {
        const size_t length = next_random(state) % 30 + 4;
        const bool repeats = i > 100 && next_random(state) % 1000 < share;
        const size_t distance = repeats ? next_random(state) % (i < 3000 ? i : 3000) + 1 : 0;
        for (size_t k = 0; k < length && i < n; k++, i++)
            to[i] = repeats ? to[i - distance]
                            : (uint8_t)(next_random(state) % 9 + next_random(state) % 9 - 8);
    }
}

Test(match_gain, follows_the_text)
{
    static const size_t sizes[] = {0, 1, 3, 4, 5, 100, 2047, 2048, 2049, 8192, 8193, MOST};
    DeflateCoder *const coder = deflate_coder_create();
    MatchGain *const gain = malloc(sizeof *gain);
    uint8_t *const from = malloc(MOST);
    uint32_t state = 11;
    unsigned paid = 0, compared = 0;
    memset(gain, 0xAB, sizeof *gain); /* nothing of what was before counts */
    for (unsigned share = 0; share <= 1000; share += 20)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (int fast = 0; fast < 2; fast++, compared++) {
                fill(from, sizes[k], share, &state);
                const bool pays = match_gain_pays(gain, coder, from, sizes[k], fast);
                cr_assert_eq(pays, reference(coder, from, sizes[k], fast), "share %u, %zu bytes",
                             share, sizes[k]);
                paid += pays;
            }
    cr_assert(paid > compared / 5 && paid < compared * 4 / 5, "%u of %u", paid, compared);
    deflate_coder_destroy(coder);
    free(gain);
    free(from);
}

Test(match_gain, knows_drawings_from_photographs)
{
    DeflateCoder *const coder = deflate_coder_create();
    MatchGain *const gain = malloc(sizeof *gain);
    uint8_t *const from = malloc(MOST);
    uint32_t state = 1;
    fill(from, MOST, 0, &state);
    cr_expect_not(match_gain_pays(gain, coder, from, MOST, false), "differences");
    for (size_t i = 0; i < MOST; i++)
        from[i] = (uint8_t)(i % 300 % 7 * (i % 300 % 11));
    cr_expect(match_gain_pays(gain, coder, from, MOST, false), "a pattern of 300 bytes");
    cr_expect(match_gain_pays(gain, coder, from, MOST, true), "the same, fast");
    memset(from, 7, MOST);
    cr_expect_not(match_gain_pays(gain, coder, from, MOST, false), "one run");
    deflate_coder_destroy(coder);
    free(gain);
    free(from);
}
