/* SPDX-License-Identifier: MIT */
/* inflate_spans.h: decodes the next symbols of a deflate block by 32 lanes.
 *
 * The next bits of the stream are cut into spans of SPAN_BITS, one a lane; of SPAN_BITS_SHORT in
 * blocks of short codes, whose tokens would not fit. Each lane decodes from the start of its span,
 * as if a symbol began there, and notes where the first symbol behind the span begins. Huffman
 * codes fall into step after a few symbols, so that place is mostly right although the start was
 * not. Then every lane whose start is not where the lane before it ended
 * decodes again, from there. Lane 0 knows its start; lanes are right up to the first that does not
 * begin where its neighbour ended, and only what these have decoded counts. Codes that never fall
 * into step cost time: each round makes one more lane right. */
#ifndef IMGSTAT_CODEC_INFLATE_SPANS_H
#define IMGSTAT_CODEC_INFLATE_SPANS_H

#include "codec/huffman_lanes.h"
#include "codec/parted_stream.h"

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
    INFLATE_BAD_BLOCKS,   /* so many blocks that they would take too long; zlib decides */
    INFLATE_IN_ORDER      /* parts do not follow each other */
} InflateVerdict;

/* What becomes of the output. */
typedef enum InflateTo {
    TO_BYTES,
    TO_WORDS,  /* of a part of a stream: what lies before it is not known */
    TO_NOTHING /* it is counted */
} InflateTo;

/* A word is a byte, or this and a place in the window before the part. */
enum { WORD_BEFORE = 1 << 15 };

typedef struct InflateCall {
    const uint8_t *in; /* on a boundary of 4 */
    uint32_t n_in;     /* <= INFLATE_BYTES_MOST, with those before the stream */
    uint32_t before;   /* bytes before the stream, which do not count */
    uint8_t *out;
    uint32_t n_out;  /* <= INFLATE_OUTPUT_MOST */
    uint32_t window; /* largest distance */
    InflateTo to;
    uint16_t *words; /* TO_WORDS: in place of `out` */
    uint32_t first;  /* their first place in the output */
    uint32_t until;  /* bit of the mark where they end */
    PartMark *marks; /* TO_NOTHING: to be set */
    uint32_t part;   /* whose number they have */
} InflateCall;

LANES_INLINE InflateCall inflate_call(const uint8_t *in, uint32_t n_in, uint32_t before,
                                      uint8_t *out, uint32_t n_out, uint32_t window)
{
    const InflateCall call = {in, n_in, before, out, n_out, window, TO_BYTES, NULL, 0, 0, NULL, 0};
    return call;
}

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
    /* TO_NOTHING: */
    uint32_t steps; /* that are left */
    uint32_t due;   /* bytes of output before the next mark */
    bool inside;    /* marks may lie inside blocks */
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

#endif
