/* SPDX-License-Identifier: MIT */
/* block_lanes.h: finds by 32 lanes where a block of a deflate stream begins among some bytes of it:
 * as block_search.c does, but for stored blocks, and last blocks are found as well.
 *
 * Every place is tested by three bits of a head, two counts and the code of code lengths, 32 places
 * a lane at a time. Few pass: then each lane reads the code lengths of one of them. What is found
 * is no more than likely. */
#ifndef IMGSTAT_CODEC_BLOCK_LANES_H
#define IMGSTAT_CODEC_BLOCK_LANES_H

#include "codec/huffman_lanes.h"
#include "codec/parted_stream.h"

enum {
    SEARCH_WORDS = PART_BYTES / 4,
    SEARCH_HEAD = 3 + 5 + 5 + 4, /* bits before the code of code lengths, */
    SEARCH_LENGTHS = 19,         /* which has so many lengths of 3 bits at most */
    SEARCH_CODES = 286 + 30,     /* lengths, of 14 bits at most */
    SEARCH_BEHIND = (31 + SEARCH_HEAD + 3 * SEARCH_LENGTHS + 14 * SEARCH_CODES) / 32 + 3,
    SEARCH_SHARES = 1 << 9,
    SEARCH_KEPT = 4 /* places that a lane keeps; of photographs, one lane in four has any */
};

/* What the lanes share. */
typedef struct BlockSearch {
    uint32_t window[SEARCH_WORDS + SEARCH_BEHIND];
    uint8_t shares[SEARCH_SHARES];
    uint16_t place[SEARCH_KEPT][LANES]; /* that passed, in bits of the window */
    uint8_t places[LANES];
    uint8_t table[1 << PRECODE_BITS][LANES]; /* symbol << 3 | bits of its code */
    uint32_t found[LANES];
} BlockSearch;

/* Returns 32 bits from bit `at` of the window on. */
LANES_INLINE uint32_t search_bits(const BlockSearch *s, uint32_t at)
{
    return lanes_shifted(s->window[at / 32], s->window[at / 32 + 1], at % 32);
}

/* Bit i: a block with codes of its own, whose counts are valid, may begin at bit i. */
LANES_INLINE uint32_t search_heads(uint32_t low, uint32_t high)
{
    const uint64_t x = (uint64_t)high << 32 | low;
    const uint64_t kind = ~(x >> 1) & (x >> 2);
    const uint64_t literals = (x >> 4) & (x >> 5) & (x >> 6) & (x >> 7);
    const uint64_t distances = (x >> 9) & (x >> 10) & (x >> 11) & (x >> 12);
    return (uint32_t)(kind & ~literals & ~distances);
}

/* Returns the code lengths of code lengths, 3 bits each, of the head at a place. */
LANES_INLINE uint64_t search_precode(const BlockSearch *s, uint32_t at)
{
    const unsigned n = 4 + (search_bits(s, at + SEARCH_HEAD - 4) & 15);
    const uint64_t bits =
        (uint64_t)search_bits(s, at + SEARCH_HEAD + 32) << 32 | search_bits(s, at + SEARCH_HEAD);
    return bits & (((uint64_t)1 << 3 * n) - 1);
}

/* What a code of so many bits takes of 2^PRECODE_BITS; 0 bits: no code. */
LANES_INLINE unsigned search_share(unsigned bits)
{
    return (1u << PRECODE_BITS >> bits) & ((1u << PRECODE_BITS) - 1);
}

/* Fills the table of what codes of three lengths take. */
LANES_INLINE void search_shares(BlockSearch *s)
{
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
        for (unsigned i = lane; i < SEARCH_SHARES; i += LANES)
            s->shares[i] =
                (uint8_t)(search_share(i & 7) + search_share(i >> 3 & 7) + search_share(i >> 6));
}

LANES_INLINE bool search_precode_complete(const BlockSearch *s, uint64_t lengths)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 3 * SEARCH_LENGTHS; i += 9)
        sum += s->shares[lengths >> i & (SEARCH_SHARES - 1)];
    return sum == 1u << PRECODE_BITS;
}

/* Fills a lane's table of the code of code lengths, which is complete. */
LANES_INLINE void search_table(BlockSearch *s, unsigned lane, uint64_t lengths)
{
    uint32_t code = 0; /* the first bit highest */
    for (unsigned l = 1; l <= PRECODE_BITS; l++, code <<= 1)
        for (unsigned symbol = 0; symbol < SEARCH_LENGTHS; symbol++) {
            const unsigned i = symbol > 15   ? symbol - 16 /* 16, 17, 18, 0, 8, 7, 9 ... 1, 15 */
                               : symbol == 0 ? 3
                               : symbol < 8  ? 19 - 2 * symbol
                                             : 2 * symbol - 12;
            if ((lengths >> 3 * i & 7) != l)
                continue;
            for (uint32_t k = lanes_reversed(code) >> (32 - l); k < 1u << PRECODE_BITS;
                 k += 1u << l)
                s->table[k][lane] = (uint8_t)(symbol << 3 | l);
            code++;
        }
}

/* Returns whether the codes of a block that may begin at a place are complete, and end before
 * `limit`; of distances there may be one or none. */
LANES_INLINE bool search_codes(BlockSearch *s, unsigned lane, uint32_t at, uint32_t limit)
{
    enum { FULL = 1 << CODE_BITS_MOST };
    const uint32_t head = search_bits(s, at);
    const unsigned n_literals = 257 + (head >> 3 & 31), n = n_literals + 1 + (head >> 8 & 31);
    unsigned length = 0, distances = 0;
    uint32_t literal_sum = 0, distance_sum = 0;
    bool ends = false; /* there is a code of the end of a block */
    search_table(s, lane, search_precode(s, at));
    at += SEARCH_HEAD + 3 * (4 + (head >> 13 & 15));
    for (unsigned i = 0; i < n;) {
        const uint32_t bits = search_bits(s, at);
        const unsigned entry = s->table[bits & ((1u << PRECODE_BITS) - 1)][lane];
        const unsigned symbol = entry >> 3, more = bits >> (entry & 7);
        unsigned times = 1, used = entry & 7;
        if (symbol < 16) {
            length = symbol;
        } else if (symbol == 16) {
            times = 3 + (more & 3);
            used += 2;
        } else {
            times = symbol == 17 ? 3 + (more & 7) : 11 + (more & 127);
            used += symbol == 17 ? 3 : 7;
            length = 0;
        }
        at += used;
        if ((symbol == 16 && i == 0) || times > n - i || at > limit)
            return false;
        const unsigned left = i < n_literals ? n_literals - i : 0;
        const unsigned literals = times < left ? times : left;
        if (length > 0) {
            literal_sum += literals * (FULL >> length);
            distance_sum += (times - literals) * (FULL >> length);
            distances += times - literals;
            ends = ends || (i <= 256 && i + times > 256);
        }
        i += times;
        if (literal_sum > FULL || distance_sum > FULL)
            return false;
    }
    return ends && literal_sum == FULL &&
           (distance_sum == FULL || distances == 0 || (distances == 1 && distance_sum == FULL / 2));
}

/* Keeps the places among a lane's words that pass the first tests. limit: as below. */
LANES_INLINE void search_words(BlockSearch *s, unsigned lane, uint32_t limit)
{
    unsigned n = 0;
    for (uint32_t i = lane; i < SEARCH_WORDS; i += LANES)
        for (uint32_t heads = search_heads(s->window[i], s->window[i + 1]); heads;
             heads &= heads - 1) {
            const uint32_t at = 32 * i + lanes_lowest(heads);
            if (n < SEARCH_KEPT && at < limit && search_precode_complete(s, search_precode(s, at)))
                s->place[n++][lane] = (uint16_t)at;
        }
    s->places[lane] = (uint8_t)n;
}

/* Returns the first place in part k of a stream where a block with codes of its own is likely to
 * begin, in bits of the stream; or PART_NOWHERE. */
LANES_INLINE uint32_t block_by_lanes(BlockSearch *s, const uint8_t *in, uint32_t n_in, uint32_t k)
{
    const uint32_t first = k * SEARCH_WORDS, limit = 8 * (n_in - k * PART_BYTES);
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
        for (uint32_t i = lane; i < SEARCH_WORDS + SEARCH_BEHIND; i += LANES)
            s->window[i] = lanes_word(in, n_in, first + i);
    search_shares(s);
    lanes_meet(); /* the window and the table are there */
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
        search_words(s, lane, limit);
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
        s->found[lane] = PART_NOWHERE;
        for (unsigned i = 0; i < s->places[lane]; i++)
            if (s->found[lane] == PART_NOWHERE && search_codes(s, lane, s->place[i][lane], limit))
                s->found[lane] = s->place[i][lane];
    }
    lanes_meet(); /* what each has found is there */
    const uint32_t least = lanes_least(s->found);
    return least == PART_NOWHERE ? PART_NOWHERE : 32 * first + least;
}

#endif
