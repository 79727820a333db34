/* SPDX-License-Identifier: MIT */
/* inflate_lanes.h: decompresses a deflate stream by 32 lanes: the kernel inflate_streams, and the
 * same in C, so that it is tested and fuzzed without a GPU.
 *
 * Every place in input and output is compared with its end before it is used, and each round of
 * each loop uses up at least one bit of the stream, or ends. A block takes as long as many symbols
 * do, so blocks of few bytes are bounded as well: no encoder makes that many of them. */
#ifndef IMGSTAT_CODEC_INFLATE_LANES_H
#define IMGSTAT_CODEC_INFLATE_LANES_H

#include "codec/inflate_spans.h"

/* ---- Output ---- */

/* Returns the byte or word at a place before those that are written. */
LANES_INLINE uint32_t inflate_get(const InflateCall *c, uint32_t at)
{
    if (c->to == TO_BYTES)
        return c->out[at];
    return at < c->first ? WORD_BEFORE | ((at - c->first) & (PART_WINDOW - 1)) : c->words[at];
}

LANES_INLINE void inflate_put(const InflateCall *c, uint32_t at, uint32_t value)
{
    if (c->to == TO_BYTES)
        c->out[at] = (uint8_t)value;
    else
        c->words[at] = (uint16_t)value;
}

/* Writes a lane's bytes, from place `to` of the output on, and makes a list of its matches of the
 * tokens. Returns false if a match begins before the output or its distance is too large. */
LANES_INLINE bool inflate_literals(InflateLanes *s, const InflateCall *c, unsigned lane,
                                   uint32_t to)
{
    unsigned matches = 0, gap = 0;
    bool right = true;
    for (unsigned k = 0; k < s->tokens[lane]; k++) {
        const uint32_t token = s->token[k][lane];
        if (!(token & MATCH)) {
            inflate_put(c, to++, token);
            gap++;
            continue;
        }
        const uint32_t fields = token & MATCH_FIELDS;
        const uint32_t distance = (fields & ((1u << MATCH_LENGTH) - 1)) + 1;
        right = right && distance <= to && distance <= c->window;
        s->token[matches++][lane] = (uint32_t)gap << MATCH_GAP | fields;
        to += (fields >> MATCH_LENGTH) + 3;
        gap = 0;
    }
    s->matches[lane] = (uint8_t)matches;
    return right;
}

/* Copies a lane's short matches whose source ends at `before` or earlier: what the tokens of no
 * lane write. The list keeps the others. */
LANES_INLINE void inflate_far(InflateLanes *s, const InflateCall *c, unsigned lane, uint32_t to,
                              uint32_t before)
{
    unsigned matches = 0;
    uint32_t gap = 0;
    for (unsigned k = 0; k < s->matches[lane]; k++) {
        const uint32_t token = s->token[k][lane], fields = token & MATCH_FIELDS;
        const uint32_t distance = (fields & ((1u << MATCH_LENGTH) - 1)) + 1;
        const uint32_t length = (fields >> MATCH_LENGTH) + 3;
        gap += token >> MATCH_GAP;
        to += token >> MATCH_GAP;
        const uint32_t from = to - distance;
        if (length <= SHORT_MATCH && from + length <= before && gap <= GAP_MOST) {
            uint32_t held[SHORT_MATCH]; /* all loads before the first store */
            for (unsigned i = 0; i < SHORT_MATCH; i++)
                held[i] = i < length ? inflate_get(c, from + i) : 0;
            for (unsigned i = 0; i < SHORT_MATCH; i++)
                if (i < length)
                    inflate_put(c, to + i, held[i]);
            gap += length;
        } else {
            s->token[matches++][lane] = gap << MATCH_GAP | fields;
            gap = 0;
        }
        to += length;
    }
    s->matches[lane] = (uint8_t)matches;
}

/* Copies the matches that are left of one lane, each by all lanes: in order, as one may be the
 * source of the next. */
LANES_INLINE void inflate_near(const InflateLanes *s, const InflateCall *c, unsigned of,
                               uint32_t to)
{
    for (unsigned k = 0; k < s->matches[of]; k++) {
        const uint32_t token = s->token[k][of], fields = token & MATCH_FIELDS;
        const uint32_t distance = (fields & ((1u << MATCH_LENGTH) - 1)) + 1;
        const uint32_t length = (fields >> MATCH_LENGTH) + 3;
        to += token >> MATCH_GAP;
        const uint32_t from = to - distance;
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
            for (uint32_t i = lane; i < length; i += LANES)
                inflate_put(c, to + i, inflate_get(c, from + (i < distance ? i : i % distance)));
        lanes_meet(); /* the match is there */
        to += length;
    }
}

/* Writes what the first `right` lanes have decoded. */
LANES_INLINE InflateVerdict inflate_write(InflateLanes *s, const InflateCall *c, unsigned right,
                                          uint32_t *done)
{
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
        if (lane >= right)
            s->bytes[lane] = s->tokens[lane] = 0;
    lanes_meet(); /* only lanes that are right have tokens */
    const uint32_t total = lanes_before(s->bytes);
    if (total > c->n_out - *done)
        return INFLATE_BAD_SIZE;
    if (c->to == TO_NOTHING) {
        *done += total;
        return INFLATE_RIGHT;
    }
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
        s->flag[lane] = !inflate_literals(s, c, lane, *done + s->bytes[lane]);
    lanes_meet(); /* the bytes are there */
    if (lanes_mask(s->flag))
        return INFLATE_BAD_DISTANCE;
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
        inflate_far(s, c, lane, *done + s->bytes[lane], *done);
    lanes_meet(); /* so are short matches from before */
    for (uint32_t left = lanes_mask(s->matches); left; left &= left - 1) {
        const unsigned of = lanes_lowest(left);
        inflate_near(s, c, of, *done + s->bytes[of]);
    }
    *done += total;
    return INFLATE_RIGHT;
}

/* ---- Blocks ---- */

/* Sets a mark if one is due. inside: the place lies in a block. */
LANES_INLINE void inflate_mark(const InflateCall *c, InflatePlace *at, bool inside)
{
    const PartMark mark = (uint64_t)at->done << 32 | (uint64_t)inside << 63 | c->part << MARK_BITS |
                          (at->bit & ((1u << MARK_BITS) - 1));
    if (at->done < at->due || (inside && !at->inside))
        return;
    if (lanes_leader())
        c->marks[at->bit >> MARK_BITS] = mark;
    at->due = at->done + PART_MARK_OUTPUT;
}

/* Decodes the symbols of a block, whose codes are ready. */
LANES_INLINE InflateVerdict inflate_symbols(InflateLanes *s, const InflateCall *c, InflatePlace *at)
{
    for (;;) {
        if (c->to == TO_WORDS && at->bit == c->until)
            return INFLATE_RIGHT;
        if (c->to == TO_NOTHING) {
            if (at->steps-- == 0)
                return INFLATE_IN_ORDER;
            inflate_mark(c, at, true);
        }
        inflate_load(s, c, at);
        const uint32_t base = at->base * 32;
        const unsigned right = inflate_spans(s, at->bit - base, c->n_in * 8 - base);
        const unsigned state = s->state[right - 1];
        at->bit = base + s->end[right - 1];
        if (state == SPAN_WRONG)
            return INFLATE_BAD_CODE;
        const InflateVerdict verdict = inflate_write(s, c, right, &at->done);
        if (verdict != INFLATE_RIGHT || state == SPAN_ENDS)
            return verdict;
    }
}

/* Makes both codes of n_literals + n_distances lengths. */
LANES_INLINE bool inflate_codes(InflateLanes *s, unsigned n_literals, unsigned n_distances)
{
    huffman_sort(&s->literal_code, s->literal_symbols, s->lengths, n_literals);
    huffman_sort(&s->distance_code, s->distance_symbols, s->lengths + n_literals, n_distances);
    if (s->lengths[256] == 0 || !huffman_complete(&s->literal_code, true) ||
        !huffman_complete(&s->distance_code, true))
        return false;
    huffman_table(&s->literal_code, s->literal_symbols, LITERAL_BITS, s->literal_table);
    huffman_table(&s->distance_code, s->distance_symbols, DISTANCE_BITS, s->distance_table);
    uint32_t bits = 0; /* of a code on average, << CODE_BITS_MOST */
    for (unsigned l = 1; l <= CODE_BITS_MOST; l++)
        bits += s->literal_code.count[l] * l << (CODE_BITS_MOST - l);
    if (lanes_leader())
        s->span = bits < SPAN_CODE << CODE_BITS_MOST ? SPAN_BITS_SHORT : SPAN_BITS;
    lanes_meet(); /* the span is there */
    return true;
}

LANES_INLINE void inflate_fixed_lengths(InflateLanes *s)
{
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
        for (unsigned i = lane; i < LITERALS + DISTANCES; i += LANES)
            s->lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : i < LITERALS ? 8 : 5;
    lanes_meet(); /* the lengths are there */
}

/* Reads the code of code lengths. It lies where that of distances will. */
LANES_INLINE bool inflate_precode(InflateLanes *s, const InflateCall *c, InflatePlace *at,
                                  unsigned n)
{
    for (unsigned i = 0; i < PRECODES; i++) { /* 16, 17, 18, 0, 8, 7, 9, 6, 10 ... 1, 15 */
        const unsigned symbol = i < 3 ? 16 + i : i == 3 ? 0 : i % 2 ? 8 - (i - 3) / 2 : 6 + i / 2;
        const uint32_t length = i < n ? inflate_take(s, c, at, 3) : 0;
        if (lanes_leader())
            s->lengths[symbol] = (uint8_t)length;
    }
    lanes_meet(); /* the lengths are there */
    huffman_sort(&s->distance_code, s->distance_symbols, s->lengths, PRECODES);
    if (!huffman_complete(&s->distance_code, false))
        return false;
    huffman_table(&s->distance_code, s->distance_symbols, PRECODE_BITS, s->distance_table);
    return true;
}

/* Reads the code lengths of a block. */
LANES_INLINE InflateVerdict inflate_lengths(InflateLanes *s, const InflateCall *c, InflatePlace *at,
                                            unsigned *n_literals, unsigned *n_distances)
{
    *n_literals = 257 + inflate_take(s, c, at, 5);
    *n_distances = 1 + inflate_take(s, c, at, 5);
    const unsigned n_precode = 4 + inflate_take(s, c, at, 4);
    const unsigned n = *n_literals + *n_distances;
    if (*n_literals > 286 || *n_distances > 30 || !inflate_precode(s, c, at, n_precode))
        return INFLATE_BAD_BLOCK;
    unsigned length = 0;
    for (unsigned i = 0; i < n;) {
        InflatePlace ahead = *at;
        const uint32_t bits = inflate_take(s, c, &ahead, PRECODE_BITS);
        at->base = ahead.base;
        const unsigned entry = s->distance_table[bits];
        const unsigned symbol = entry >> ENTRY_BITS;
        at->bit += entry & ((1u << ENTRY_BITS) - 1);
        if (entry == 0)
            return INFLATE_BAD_BLOCK;
        unsigned times = 1;
        if (symbol < 16)
            length = symbol;
        else if (symbol == 16)
            times = 3 + inflate_take(s, c, at, 2);
        else
            times = symbol == 17 ? 3 + inflate_take(s, c, at, 3) : 11 + inflate_take(s, c, at, 7);
        if (symbol > 16)
            length = 0;
        if ((symbol == 16 && i == 0) || times > n - i || at->bit > c->n_in * 8)
            return INFLATE_BAD_BLOCK;
        if (lanes_leader())
            for (unsigned k = 0; k < times; k++)
                s->lengths[i + k] = (uint8_t)length;
        i += times;
    }
    lanes_meet(); /* the lengths are there, and nobody reads the code of lengths any more */
    return INFLATE_RIGHT;
}

LANES_INLINE InflateVerdict inflate_stored(InflateLanes *s, const InflateCall *c, InflatePlace *at)
{
    enum { AT_ONCE = 8 }; /* loads on their way */
    at->bit = (at->bit + 7) / 8 * 8;
    const uint32_t length = inflate_take(s, c, at, 16), check = inflate_take(s, c, at, 16);
    if (at->bit > c->n_in * 8)
        return INFLATE_BAD_INPUT;
    if (length != (check ^ 0xFFFF))
        return INFLATE_BAD_BLOCK;
    const uint32_t from = at->bit / 8;
    if (length > c->n_in - from)
        return INFLATE_BAD_INPUT;
    if (length > c->n_out - at->done)
        return INFLATE_BAD_SIZE;
    for (unsigned lane = lanes_first(); lane < LANES && c->to != TO_NOTHING; lane += LANES_STEP)
        for (uint32_t i = lane; i < length; i += LANES * AT_ONCE) {
            uint8_t held[AT_ONCE];
            for (unsigned k = 0; k < AT_ONCE; k++)
                held[k] = i + k * LANES < length ? c->in[from + i + k * LANES] : 0;
            for (unsigned k = 0; k < AT_ONCE; k++)
                if (i + k * LANES < length)
                    inflate_put(c, at->done + i + k * LANES, held[k]);
        }
    lanes_meet(); /* the bytes are there */
    at->bit += length * 8;
    at->done += length;
    return INFLATE_RIGHT;
}

/* Reads the head of a block, and all of a stored one. *coded: symbols follow. */
LANES_INLINE InflateVerdict inflate_head(InflateLanes *s, const InflateCall *c, InflatePlace *at,
                                         bool *last, bool *coded)
{
    unsigned n_literals = LITERALS, n_distances = DISTANCES;
    *last = inflate_take(s, c, at, 1) != 0;
    const unsigned kind = inflate_take(s, c, at, 2);
    if (at->bit > c->n_in * 8)
        return INFLATE_BAD_INPUT;
    *coded = kind != 0;
    if (kind == 0)
        return inflate_stored(s, c, at);
    if (kind == 3)
        return INFLATE_BAD_BLOCK;
    if (kind == 1) {
        inflate_fixed_lengths(s);
    } else {
        const InflateVerdict verdict = inflate_lengths(s, c, at, &n_literals, &n_distances);
        if (verdict != INFLATE_RIGHT)
            return verdict;
    }
    return inflate_codes(s, n_literals, n_distances) ? INFLATE_RIGHT : INFLATE_BAD_BLOCK;
}

/* Decodes the next block. *last becomes whether it is the last. */
LANES_INLINE InflateVerdict inflate_block(InflateLanes *s, const InflateCall *c, InflatePlace *at,
                                          bool *last)
{
    bool coded;
    const InflateVerdict verdict = inflate_head(s, c, at, last, &coded);
    return verdict == INFLATE_RIGHT && coded ? inflate_symbols(s, c, at) : verdict;
}

/* Decompresses a whole stream: called by 32 lanes, or by one thread of C. */
LANES_INLINE InflateVerdict inflate_by_lanes(InflateLanes *s, const InflateCall *c)
{
    InflatePlace at = {8 * c->before, 0, 0, 0, 0, false};
    inflate_load(s, c, &at);
    uint32_t blocks = c->n_in / BLOCK_INPUT + c->n_out / BLOCK_OUTPUT + SPARE_BLOCKS;
    for (bool last = false; !last;) {
        if (blocks-- == 0)
            return INFLATE_BAD_BLOCKS;
        const InflateVerdict verdict = inflate_block(s, c, &at, &last);
        if (verdict != INFLATE_RIGHT)
            return verdict;
    }
    if ((at.bit + 7) / 8 != c->n_in)
        return INFLATE_BAD_INPUT;
    return at.done == c->n_out ? INFLATE_RIGHT : INFLATE_BAD_SIZE;
}

#endif
