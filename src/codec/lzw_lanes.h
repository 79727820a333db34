/* SPDX-License-Identifier: MIT */
/* lzw_lanes.h: decompresses an LZW stream of TIFF by 32 lanes: the kernel lzw_tiles, and the
 * same in C, so that it is tested and fuzzed without a GPU.
 *
 * The width of a code depends on nothing but how many codes came since the clear code, so 32 codes
 * are read at once. Code FIRST + j stands for the string of code number j and the byte behind it,
 * and both lie in the output one behind the other. So all that is kept of a code is where its
 * string begins; the next string begins where it ends. A string refers to an earlier one: lengths
 * of 32 codes follow from each other in 5 steps, and their places from sums. Then lanes take bytes,
 * not strings: each follows its string back to a byte from before the 32 codes, or to a code that
 * is a byte.
 *
 * Every place in input, output and table is compared with its end before it is used. 32 codes give
 * at least one byte: clear codes do not follow each other. */
#ifndef IMGSTAT_CODEC_LZW_LANES_H
#define IMGSTAT_CODEC_LZW_LANES_H

#include "codec/lanes.h"

enum {
    LZW_BYTES = 256, /* codes that are bytes; the first code behind them clears the table */
    LZW_ENDS,
    LZW_NAMED,                           /* first code that stands for a string */
    LZW_MOST = (1 << 12) - LZW_NAMED + 1 /* codes after a clear code */
};

typedef enum LzwVerdict {
    LZW_RIGHT,     /* strings fill the output; what follows does not count */
    LZW_BAD_CODE,  /* a code that there is not, or no clear code before the first */
    LZW_BAD_SIZE,  /* a string that ends behind the output, or an end before it */
    LZW_BAD_INPUT, /* the input ends before the output */
    LZW_BAD_CLEAR  /* two clear codes with nothing in between */
} LzwVerdict;

typedef struct LzwCall {
    const uint8_t *in; /* anywhere; nothing behind n_in is read */
    uint32_t n_in;     /* < 2^28 */
    uint8_t *out;
    uint32_t n_out; /* < 2^31 */
} LzwCall;

/* What the lanes share. Of 32 codes: the code, the bytes of its string, the bytes before. */
typedef struct LzwLanes {
    uint32_t place[LZW_MOST + 1]; /* in the output, where the string of code number j begins */
    uint32_t length[2][LANES], before[LANES];
    uint16_t code[LANES];
    uint8_t from[2][LANES]; /* the lane whose string this one extends; LANES: the length is known */
    uint8_t stop[LANES], flag[LANES];
} LzwLanes;

enum { LZW_GOES_ON, LZW_CLEARS, LZW_STOPS, LZW_IS_WRONG, LZW_IS_OVER };

/* Returns the bit of code number k after a clear code, and its width. */
LANES_INLINE uint32_t lzw_bit(uint32_t k, unsigned *width)
{
    const unsigned wider = 0u + (k >= 254) + (k >= 766) + (k >= 1790);
    *width = 9 + wider;
    return 9 * k + (k >= 254 ? k - 254 : 0) + (k >= 766 ? k - 766 : 0) + (k >= 1790 ? k - 1790 : 0);
}

/* Reads code number k behind a clear code that ends at bit `begin`, and finds out what it is. */
LANES_INLINE void lzw_read(LzwLanes *s, const LzwCall *c, unsigned lane, uint32_t begin, uint32_t k)
{
    unsigned width;
    const uint32_t bit = begin + lzw_bit(k, &width);
    unsigned code = 0, stop = LZW_GOES_ON;
    if (k > LZW_MOST || bit + width > 8 * c->n_in) {
        stop = k > LZW_MOST ? LZW_IS_WRONG : LZW_IS_OVER;
    } else {
        uint32_t word = 0;
        for (unsigned i = 0; i < 3; i++)
            word = word << 8 | (bit / 8 + i < c->n_in ? c->in[bit / 8 + i] : 0);
        code = word >> (24 - bit % 8 - width) & ((1u << width) - 1);
        if (code == LZW_BYTES || code == LZW_ENDS)
            stop = code == LZW_BYTES ? LZW_CLEARS : LZW_STOPS;
        else if (code > LZW_ENDS && code - LZW_NAMED >= k)
            stop = LZW_IS_WRONG;
        else if (k == LZW_MOST)
            stop = LZW_IS_WRONG;
    }
    s->code[lane] = (uint16_t)code;
    s->stop[lane] = (uint8_t)stop;
}

/* Finds the lengths of the strings of the first `valid` lanes, whose codes begin with number
 * `first`. done: bytes of output before. */
LANES_INLINE const uint32_t *lzw_lengths(LzwLanes *s, uint32_t first, unsigned valid)
{
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
        const uint32_t code = s->code[lane], number = code - LZW_NAMED;
        const bool named = lane < valid && code >= LZW_NAMED;
        const bool known = !named || number < first;
        s->from[0][lane] = (uint8_t)(known ? (unsigned)LANES : number - first);
        s->length[0][lane] = lane >= valid      ? 0
                             : !named || !known ? 1
                                                : s->place[number + 1] - s->place[number] + 1;
    }
    lanes_meet(); /* lengths of strings that others do not extend are there */
    unsigned at = 0;
    for (unsigned step = 1; step < LANES; step *= 2, at ^= 1) {
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
            const unsigned from = s->from[at][lane];
            const bool known = from == LANES;
            s->length[at ^ 1][lane] = s->length[at][lane] + (known ? 0 : s->length[at][from]);
            s->from[at ^ 1][lane] = known ? (uint8_t)LANES : s->from[at][from];
            s->flag[lane] = !known;
        }
        lanes_meet(); /* lengths over twice as many strings are there */
        if (!lanes_mask(s->flag))
            return s->length[at];
    }
    return s->length[at];
}

/* Returns byte i of the strings of 32 codes. */
LANES_INLINE uint8_t lzw_byte(const LzwLanes *s, const uint32_t *length, const LzwCall *c,
                              uint32_t first, uint32_t i)
{
    unsigned t = 0; /* the string that has byte i */
    for (unsigned step = LANES / 2; step > 0; step /= 2)
        t += s->before[t + step] <= i ? step : 0;
    for (uint32_t at = i - s->before[t];;) {
        const uint32_t code = s->code[t];
        if (code < LZW_BYTES)
            return (uint8_t)code;
        const uint32_t number = code - LZW_NAMED; /* of a code before this one */
        const uint32_t n =
            number >= first ? length[number - first] : s->place[number + 1] - s->place[number];
        if (number < first && (at < n || number + 1 < first))
            return c->out[s->place[number] + at];
        t = number - first + (at == n);
        at = at == n ? 0 : at;
    }
}

/* Decompresses the codes from number *k on: 32, or those up to a clear code. */
LANES_INLINE unsigned lzw_group(LzwLanes *s, const LzwCall *c, uint32_t begin, uint32_t *k,
                                uint32_t *done)
{
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
        lzw_read(s, c, lane, begin, *k + lane);
        s->flag[lane] = s->stop[lane] != LZW_GOES_ON;
    }
    lanes_meet(); /* the codes are there */
    const unsigned valid = lanes_lowest(lanes_mask(s->flag));
    const unsigned stop = valid < LANES ? s->stop[valid] : LZW_GOES_ON;
    lanes_meet(); /* flags have been read */
    const uint32_t *const length = lzw_lengths(s, *k, valid);
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
        s->before[lane] = length[lane];
    lanes_meet(); /* lengths are there */
    uint32_t n = lanes_before(s->before);
    const uint32_t room = c->n_out - *done;
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
        if (lane < valid)
            s->place[*k + lane] = *done + s->before[lane];
        s->flag[lane] = lane < valid && s->before[lane] == room;
    }
    if (lanes_leader())
        s->place[*k + valid] = *done + n;
    lanes_meet(); /* places are there */
    if (n > room) {
        if (!lanes_mask(s->flag))
            return LZW_STOPS; /* behind the output */
        n = room;
    }
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
        for (uint32_t i = lane; i < n; i += LANES)
            c->out[*done + i] = lzw_byte(s, length, c, *k, i);
    lanes_meet(); /* the bytes are there */
    *k += valid;
    *done += n;
    return stop;
}

/* Decompresses a whole stream: called by 32 lanes, or by one thread of C. */
LANES_INLINE LzwVerdict lzw_by_lanes(LzwLanes *s, const LzwCall *c)
{
    uint32_t begin = 9, k = 0, done = 0;
    if (c->n_in < 2 || c->in[0] != 0x80 || c->in[1] & 0x80)
        return c->n_in < 2 ? LZW_BAD_INPUT : LZW_BAD_CODE;
    while (done < c->n_out) {
        const unsigned stop = lzw_group(s, c, begin, &k, &done);
        if (done == c->n_out)
            break;
        if (stop == LZW_IS_WRONG)
            return LZW_BAD_CODE;
        if (stop == LZW_IS_OVER)
            return LZW_BAD_INPUT;
        if (stop == LZW_STOPS)
            return LZW_BAD_SIZE;
        if (stop == LZW_CLEARS) {
            unsigned width;
            const uint32_t bit = lzw_bit(k, &width);
            if (k == 0)
                return LZW_BAD_CLEAR;
            begin += bit + width;
            k = 0;
        }
    }
    return LZW_RIGHT;
}

#endif
