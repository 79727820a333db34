/* SPDX-License-Identifier: MIT */
/* match_gain.c: takes the first match that a small hash table finds, as a quick compressor would,
 * and adds up what matches save. */
#include "codec/match_gain.h"

#include "base/compiler.h"
#include "codec/match_length.h"

enum {
    SAMPLE = 8 << 10,
    SAMPLE_FAST = 2 << 10,
    SHORTEST = 4,
    LONGEST = 258,
    MATCH_BITS = 12, /* of a match, besides the bits of its distance */
    SHARE = 12,      /* matches pay from one part in so many on */
    SHARE_FAST = 5
};

/* Returns the bits that matches save among n <= SAMPLE bytes. */
static uint32_t saved_bits(MatchGain *gain, const uint8_t *from, size_t n)
{
    uint32_t saved = 0;
    memset(gain->last, 0, sizeof gain->last);
    for (size_t i = 0; i + SHORTEST <= n; i++) {
        uint16_t *const last =
            &gain->last[(uint32_t)load_raw(from + i, SHORTEST) * 2654435761u >> 20];
        const size_t before = *last, most = n - i < LONGEST ? n - i : LONGEST;
        const size_t length = match_length(from + before, from + i, 0, most);
        const uint32_t runs = gain->bits[i + length] - gain->bits[i];
        const uint32_t match =
            MATCH_BITS + 32u - (unsigned)__builtin_clz((unsigned)(i - before) | 1);
        *last = (uint16_t)i;
        if (runs <= match) /* mostly; how long a match is cannot be predicted */
            continue;
        if (before < i && length >= SHORTEST) {
            saved += runs - match;
            i += length - 1;
        }
    }
    return saved;
}

bool match_gain_pays(MatchGain *gain, DeflateCoder *coder, const uint8_t *from, size_t n, bool fast)
{
    _Static_assert(ARRAY_LEN(((MatchGain *)0)->bits) == SAMPLE + 1, "a sum for each byte");
    const size_t most = fast ? SAMPLE_FAST : SAMPLE, sample = n < most ? n : most;
    from += (n - sample) / 2;
    deflate_coder_bits(coder, from, sample, gain->bits);
    return saved_bits(gain, from, sample) * (fast ? SHARE_FAST : SHARE) >= gain->bits[sample];
}
