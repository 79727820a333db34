/* SPDX-License-Identifier: MIT */
/* inflate_lanes.h: decompresses a deflate stream by 32 lanes: the kernel inflate_streams, and the
 * same in C, so that it is tested and fuzzed without a GPU.
 *
 * The next bits of the stream are cut into spans of SPAN_BITS, one a lane; of SPAN_BITS_SHORT in
 * blocks of short codes, whose tokens would not fit. Each lane decodes
 * from the start of its span, as if a symbol began there, and notes where the first symbol behind
 * the span begins. Huffman codes fall into step after a few symbols, so that place is mostly right
 * although the start was not. Then every lane whose start is not where the lane before it ended
 * decodes again, from there. Lane 0 knows its start; lanes are right up to the first that does not
 * begin where its neighbour ended, and only what these have decoded counts. Codes that never fall
 * into step cost time: each round makes one more lane right.
 *
 * Every place in input and output is compared with its end before it is used, and each round of
 * each loop uses up at least one bit of the stream, or ends. A block takes as long as many symbols
 * do, so blocks of few bytes are bounded as well: no encoder makes that many of them. */
#ifndef IMGSTAT_CODEC_INFLATE_LANES_H
#define IMGSTAT_CODEC_INFLATE_LANES_H

#include "codec/huffman_lanes.h"

enum {
    SPAN_BITS = 160, /* an odd number of words: lanes in step are in different banks */
    SPAN_BITS_SHORT = 96,
    SPAN_CODE = 4,    /* codes of fewer bits on average are short: a span may have 40 tokens */
    SPAN_TOKENS = 56, /* a lane with more ends its span early, and all behind it begin wrong */
    SPAN_ROUNDS = 6,  /* how often lanes decode again before those that are right count */
    TOKEN_BITS = 48,  /* the longest: 15 + 5 of a length, 15 + 13 of a distance */
    WINDOW_WORDS = (LANES * SPAN_BITS + 31 + TOKEN_BITS + 32) / 32 + 3,
    PRECODES = 19,
    GAP_MOST = 400,               /* before a short match: what follows fits MATCH_GAP */
    SHORT_MATCH = 10,             /* bytes of a match that one lane copies */
    BLOCK_INPUT = 32,             /* blocks have so many bytes of the stream on average, */
    BLOCK_OUTPUT = 1024,          /* or of the output, */
    SPARE_BLOCKS = 256,           /* but for these */
    INFLATE_BYTES_MOST = 1 << 28, /* of a stream: its bits are counted in 32 bits */
    INFLATE_OUTPUT_MOST = 0x7FFFFFFF
};

/* A token is a byte; or a match, whose distance - 1 and length - 3 are below: then the token
 * has the number of bytes between it and the match before. */
enum { MATCH_LENGTH = 15, MATCH_GAP = 23, MATCH_FIELDS = (1 << MATCH_GAP) - 1 };
#define MATCH 0x80000000u

typedef enum InflateVerdict {
    INFLATE_RIGHT,        /* the stream ends with its input, and fills the output */
    INFLATE_BAD_BLOCK,    /* a kind of block, code or stored length that there is not */
    INFLATE_BAD_CODE,     /* bits that are no symbol */
    INFLATE_BAD_DISTANCE, /* from before the output, or beyond the window */
    INFLATE_BAD_SIZE,     /* more or less output than there should be */
    INFLATE_BAD_INPUT,    /* the stream ends before its input or behind it */
    INFLATE_BAD_BLOCKS    /* so many blocks that they would take too long; zlib decides */
} InflateVerdict;

typedef struct InflateCall {
    const uint8_t *in; /* on a boundary of 4 */
    uint32_t n_in;     /* <= INFLATE_BYTES_MOST, with those before the stream */
    uint32_t before;   /* bytes before the stream, which do not count */
    uint8_t *out;
    uint32_t n_out;  /* <= INFLATE_OUTPUT_MOST */
    uint32_t window; /* largest distance */
} InflateCall;

enum { SPAN_ON, SPAN_ENDS, SPAN_WRONG }; /* goes on behind; has the end of the block; is no code */

/* What the lanes share. */
typedef struct InflateLanes {
    uint32_t window[WINDOW_WORDS]; /* of the stream, from word `base` on */
    uint32_t token[SPAN_TOKENS][LANES];
    uint32_t span;                     /* bits */
    uint32_t start[LANES], end[LANES]; /* bits after the start of the window */
    uint32_t bytes[LANES];             /* of the tokens */
    uint8_t tokens[LANES], matches[LANES], state[LANES], flag[LANES];
    HuffmanCode literal_code, distance_code;
    uint16_t literal_table[1 << LITERAL_BITS], distance_table[1 << DISTANCE_BITS];
    uint16_t literal_symbols[LITERALS], distance_symbols[DISTANCES];
    uint8_t lengths[LITERALS + DISTANCES];
} InflateLanes;

/* Where the stream is: the same in all lanes. */
typedef struct InflatePlace {
    uint32_t bit, base, done; /* next bit; first word of the window; bytes of output */
} InflatePlace;

/* ---- Input ---- */

/* Loads the window that begins with the word of the next bit. */
LANES_INLINE void inflate_load(InflateLanes *s, const InflateCall *c, InflatePlace *at)
{
    lanes_meet(); /* nobody reads the window before any more */
    at->base = at->bit / 32;
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
        for (unsigned i = lane; i < WINDOW_WORDS; i += LANES)
            s->window[i] = lanes_word(c->in, c->n_in, at->base + i);
    lanes_meet(); /* the window is there */
}

/* Returns 32 bits from bit `at` of the window on, at < 32 (WINDOW_WORDS - 1). */
LANES_INLINE uint32_t inflate_bits(const InflateLanes *s, uint32_t at)
{
    return lanes_shifted(s->window[at / 32], s->window[at / 32 + 1], at % 32);
}

/* Returns the next n <= 16 bits, 0s behind the end of the stream, and uses them. */
LANES_INLINE uint32_t inflate_take(InflateLanes *s, const InflateCall *c, InflatePlace *at,
                                   unsigned n)
{
    if (at->bit - at->base * 32 >= 32 * (WINDOW_WORDS - 2))
        inflate_load(s, c, at);
    const uint32_t bits = inflate_bits(s, at->bit - at->base * 32) & ((1u << n) - 1);
    at->bit += n;
    return bits;
}

/* ---- Symbols ---- */

/* Decodes a lane's tokens from its start to the first that begins at `until` or behind. limit: the
 * end of the stream. All in bits of the window. */
LANES_INLINE void inflate_span(InflateLanes *s, unsigned lane, uint32_t until, uint32_t limit)
{
    uint32_t at = s->start[lane], bytes = 0;
    unsigned n = 0, state = SPAN_ON;
    while (at < until && n < SPAN_TOKENS) {
        uint32_t bits = inflate_bits(s, at);
        unsigned entry = huffman_entry(&s->literal_code, s->literal_symbols, s->literal_table,
                                       LITERAL_BITS, bits);
        unsigned used = entry & ((1u << ENTRY_BITS) - 1);
        const unsigned symbol = entry >> ENTRY_BITS;
        uint32_t token = symbol, length = 1;
        if (symbol > 256) {
            const unsigned k = symbol - 257;
            const unsigned more = k < 8 || k == 28 ? 0 : k / 4 - 1;
            length = k < 8 ? k : k == 28 ? 255 : (4 + k % 4) << more;
            length += bits >> used & ((1u << more) - 1);
            at += used + more;
            bits = inflate_bits(s, at);
            entry = huffman_entry(&s->distance_code, s->distance_symbols, s->distance_table,
                                  DISTANCE_BITS, bits);
            used = entry & ((1u << ENTRY_BITS) - 1);
            const unsigned d = entry >> ENTRY_BITS, far = d < 4 ? 0 : d / 2 - 1;
            uint32_t distance = d < 4 ? d : (2 + d % 2) << far;
            distance += bits >> used & ((1u << far) - 1);
            token = MATCH | length << MATCH_LENGTH | distance;
            length += 3;
            used += far;
            entry = k > 28 || d >= 30 ? 0 : entry;
        }
        at += used;
        if (entry == 0 || at > limit) {
            state = SPAN_WRONG;
            break;
        }
        if (symbol == 256) {
            state = SPAN_ENDS;
            break;
        }
        s->token[n++][lane] = token;
        bytes += length;
    }
    s->end[lane] = at;
    s->bytes[lane] = bytes;
    s->tokens[lane] = (uint8_t)n;
    s->state[lane] = (uint8_t)state;
}

/* Decodes the next spans. Returns how many lanes are right, at least one. */
LANES_INLINE unsigned inflate_spans(InflateLanes *s, uint32_t first, uint32_t limit)
{
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
        s->start[lane] = first + lane * s->span;
        s->flag[lane] = 1;
    }
    for (unsigned round = 0;; round++) {
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
            if (s->flag[lane])
                inflate_span(s, lane, first + (lane + 1) * s->span, limit);
        lanes_meet(); /* all ends are there */
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
            const bool follows = lane > 0 && s->state[lane - 1] == SPAN_ON;
            s->flag[lane] = follows && s->start[lane] != s->end[lane - 1];
        }
        lanes_meet(); /* so are the lanes that did not begin where their neighbour ended */
        const unsigned right = lanes_lowest(lanes_mask(s->flag));
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
            if (s->flag[lane])
                s->start[lane] = s->end[lane - 1];
        lanes_meet(); /* the flags have been read, and the starts are there */
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
            s->matches[lane] = s->state[lane] != SPAN_ON;
        lanes_meet();
        const unsigned last = lanes_lowest(lanes_mask(s->matches)) + 1; /* what follows is moot */
        if (right >= last || right == LANES || round == SPAN_ROUNDS)
            return right < last ? right : last;
    }
}

/* ---- Output ---- */

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
            c->out[to++] = (uint8_t)token;
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
            uint8_t held[SHORT_MATCH]; /* all loads before the first store */
            for (unsigned i = 0; i < SHORT_MATCH; i++)
                held[i] = i < length ? c->out[from + i] : 0;
            for (unsigned i = 0; i < SHORT_MATCH; i++)
                if (i < length)
                    c->out[to + i] = held[i];
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
        const uint8_t *const from = c->out + to - distance;
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
            for (uint32_t i = lane; i < length; i += LANES)
                c->out[to + i] = from[i < distance ? i : i % distance];
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

/* Decodes the symbols of a block, whose codes are ready. */
LANES_INLINE InflateVerdict inflate_symbols(InflateLanes *s, const InflateCall *c, InflatePlace *at)
{
    for (;;) {
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
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
        for (uint32_t i = lane; i < length; i += LANES * AT_ONCE) {
            uint8_t held[AT_ONCE];
            for (unsigned k = 0; k < AT_ONCE; k++)
                held[k] = i + k * LANES < length ? c->in[from + i + k * LANES] : 0;
            for (unsigned k = 0; k < AT_ONCE; k++)
                if (i + k * LANES < length)
                    c->out[at->done + i + k * LANES] = held[k];
        }
    lanes_meet(); /* the bytes are there */
    at->bit += length * 8;
    at->done += length;
    return INFLATE_RIGHT;
}

LANES_INLINE InflateVerdict inflate_block(InflateLanes *s, const InflateCall *c, InflatePlace *at,
                                          unsigned kind)
{
    unsigned n_literals = LITERALS, n_distances = DISTANCES;
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
    return inflate_codes(s, n_literals, n_distances) ? inflate_symbols(s, c, at)
                                                     : INFLATE_BAD_BLOCK;
}

/* Decompresses a whole stream: called by 32 lanes, or by one thread of C. */
LANES_INLINE InflateVerdict inflate_by_lanes(InflateLanes *s, const InflateCall *c)
{
    InflatePlace at = {8 * c->before, 0, 0};
    inflate_load(s, c, &at);
    uint32_t blocks = c->n_in / BLOCK_INPUT + c->n_out / BLOCK_OUTPUT + SPARE_BLOCKS;
    for (bool last = false; !last;) {
        if (blocks-- == 0)
            return INFLATE_BAD_BLOCKS;
        last = inflate_take(s, c, &at, 1) != 0;
        const unsigned kind = inflate_take(s, c, &at, 2);
        if (at.bit > c->n_in * 8)
            return INFLATE_BAD_INPUT;
        const InflateVerdict verdict = inflate_block(s, c, &at, kind);
        if (verdict != INFLATE_RIGHT)
            return verdict;
    }
    if ((at.bit + 7) / 8 != c->n_in)
        return INFLATE_BAD_INPUT;
    return at.done == c->n_out ? INFLATE_RIGHT : INFLATE_BAD_SIZE;
}

#endif
