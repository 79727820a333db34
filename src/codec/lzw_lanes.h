/* SPDX-License-Identifier: MIT */
/* lzw_lanes.h: decompresses an LZW stream of TIFF by 32 lanes: the kernel lzw_tiles, and the
 * same in C, so that it is tested and fuzzed without a GPU.
 *
 * The width of a code depends on nothing but how many codes came since the clear code, so 32 codes
 * are read at once. Code LZW_NAMED + j stands for the string of code number j and the byte behind
 * it, and both lie in the output one behind the other. So all that is kept of a code is where its
 * string begins; the next string begins where it ends. A string refers to an earlier one: lengths
 * of 32 codes follow from each other in 5 steps at most, and their places from sums. Then lanes
 * take bytes, not strings: each follows its string back to a byte from before the 32 codes, or to a
 * code that is a byte.
 *
 * Every place in input, output and table is compared with its end before it is used. Time is
 * bounded by the output: codes are taken 32 at a time or up to a clear code, n_out / 16 times and
 * some at most. Streams that clear so often are no encoder's. */
#ifndef IMGSTAT_CODEC_LZW_LANES_H
#define IMGSTAT_CODEC_LZW_LANES_H

#include "codec/lanes.h"

enum {
    LZW_BYTES = 256, /* codes that are bytes; the first code behind them clears the table */
    LZW_ENDS,
    LZW_NAMED,                            /* first code that stands for a string */
    LZW_MOST = (1 << 12) - LZW_NAMED + 1, /* codes after a clear code */
    LZW_BLOCK = 16, /* codes whose strings have at most 16 * 3,839 bytes, which 16 bits count */
    LZW_GROUP_BYTES = 16, /* fewer on average would take too long */
    LZW_SPARE_GROUPS = 64,
    LZW_AT_ONCE = 4 /* bytes of a lane on their way */
};

/* With a byte in place of a place in the output. */
#define LZW_BYTE 0x80000000u

typedef enum LzwVerdict {
    LZW_RIGHT,     /* strings fill the output; what follows does not count */
    LZW_BAD_CODE,  /* a code that there is not, or no clear code before the first */
    LZW_BAD_SIZE,  /* a string that ends behind the output, or an end before it */
    LZW_BAD_INPUT, /* the input ends before the output */
    LZW_BAD_CLEAR  /* clear codes with nearly nothing in between */
} LzwVerdict;

typedef struct LzwCall {
    const uint8_t *in; /* anywhere; nothing behind n_in is read */
    uint32_t n_in;     /* < 2^28 */
    uint8_t *out;
    uint32_t n_out; /* < 2^31 */
} LzwCall;

/* What the lanes share. The string of code number j begins at byte base[j / LZW_BLOCK] + offset[j]
 * of the output. Of 32 codes: the code, the bytes of its string, the bytes before. */
typedef struct LzwLanes {
    uint32_t base[LZW_MOST / LZW_BLOCK + 1];
    uint16_t offset[LZW_MOST + 1];
    uint32_t length[2][LANES], before[LANES], begins[LANES];
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
        else if (k == LZW_MOST || (code > LZW_ENDS && code - LZW_NAMED >= k))
            stop = LZW_IS_WRONG;
    }
    s->code[lane] = (uint16_t)code;
    s->stop[lane] = (uint8_t)stop;
}

/* Returns where the string of a code begins in the output. */
LANES_INLINE uint32_t lzw_place(const LzwLanes *s, uint32_t number)
{
    return s->base[number / LZW_BLOCK] + s->offset[number];
}

/* Finds the lengths of the strings of the first `valid` lanes, whose codes begin with number
 * `first`. */
LANES_INLINE const uint32_t *lzw_lengths(LzwLanes *s, uint32_t first, unsigned valid)
{
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
        const uint32_t code = s->code[lane], number = code - LZW_NAMED;
        const bool named = lane < valid && code >= LZW_NAMED;
        const bool known = !named || number < first;
        s->from[0][lane] = (uint8_t)(known ? (unsigned)LANES : number - first);
        s->length[0][lane] = lane >= valid    ? 0
                             : named && known ? lzw_place(s, number + 1) - lzw_place(s, number) + 1
                                              : 1;
        s->flag[lane] = !known;
    }
    lanes_meet(); /* lengths of strings that others do not extend are there */
    for (unsigned at = 0;; at ^= 1) {
        if (!lanes_mask(s->flag))
            return s->length[at];
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
            const unsigned from = s->from[at][lane];
            const bool known = from == LANES;
            const unsigned next = known ? (unsigned)LANES : s->from[at][from];
            s->length[at ^ 1][lane] = s->length[at][lane] + (known ? 0 : s->length[at][from]);
            s->from[at ^ 1][lane] = (uint8_t)next;
            s->flag[lane] = next < LANES;
        }
        lanes_meet(); /* lengths over twice as many strings are there */
    }
}

/* Returns where byte `at` of string t comes from: its place in the output before the 32 codes, or
 * LZW_BYTE and the byte. */
LANES_INLINE uint32_t lzw_source(const LzwLanes *s, const uint32_t *length, uint32_t first,
                                 unsigned t, uint32_t at)
{
    for (;;) {
        const uint32_t code = s->code[t];
        if (code < LZW_BYTES)
            return LZW_BYTE | code;
        const uint32_t number = code - LZW_NAMED; /* of a code before this one */
        const bool before = number < first;
        const uint32_t place = before ? lzw_place(s, number) : 0;
        const uint32_t n = before ? lzw_place(s, number + 1) - place : length[number - first];
        if (before && (at < n || number + 1 < first))
            return place + at;
        t = number - first + (at == n);
        at = at == n ? 0 : at;
    }
}

/* Writes the strings of the first `valid` of 32 codes, n bytes in all. */
LANES_INLINE void lzw_write(LzwLanes *s, const uint32_t *length, uint32_t first, unsigned valid,
                            uint8_t *out, uint32_t done, uint32_t n)
{
    unsigned strings = 0; /* that begin before byte `at` */
    for (uint32_t at = 0; at < n; at += LANES * LZW_AT_ONCE) {
        uint32_t begins[LZW_AT_ONCE];
        for (unsigned k = 0; k < LZW_AT_ONCE; k++) {
            for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
                const uint32_t bit = s->before[lane] - (at + k * LANES);
                s->begins[lane] = lane < valid && bit < LANES ? 1u << bit : 0;
            }
            begins[k] = lanes_or(s->begins);
        }
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
            uint32_t source[LZW_AT_ONCE];
            unsigned t = strings;
            for (unsigned k = 0; k < LZW_AT_ONCE; k++) {
                const uint32_t i = at + k * LANES + lane;
                const unsigned string = t + lanes_count(begins[k] & ((2u << lane) - 1)) - 1;
                source[k] =
                    i < n ? lzw_source(s, length, first, string, i - s->before[string]) : LZW_BYTE;
                t += lanes_count(begins[k]);
            }
            uint8_t held[LZW_AT_ONCE];
            for (unsigned k = 0; k < LZW_AT_ONCE; k++)
                held[k] = source[k] & LZW_BYTE ? (uint8_t)source[k] : out[source[k]];
            for (unsigned k = 0; k < LZW_AT_ONCE; k++)
                if (at + k * LANES + lane < n)
                    out[done + at + k * LANES + lane] = held[k];
        }
        for (unsigned k = 0; k < LZW_AT_ONCE; k++)
            strings += lanes_count(begins[k]);
    }
    lanes_meet(); /* the bytes are there */
}

/* Decompresses the codes from number *k on, a multiple of 32: 32, or those before one that is not
 * for a string. Returns what that one is. */
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
        const uint32_t number = *k + lane;
        if (lane < valid)
            s->offset[number] = (uint16_t)(s->before[lane] - s->before[lane & LZW_BLOCK]);
        if (lane < valid && lane % LZW_BLOCK == 0)
            s->base[number / LZW_BLOCK] = *done + s->before[lane];
        s->flag[lane] = lane < valid && s->before[lane] == room;
    }
    if (lanes_leader() && valid == LANES) { /* the end of the last string */
        s->base[(*k + LANES) / LZW_BLOCK] = *done + n;
        s->offset[*k + LANES] = 0;
    }
    lanes_meet(); /* places are there */
    if (n > room) {
        if (!lanes_mask(s->flag))
            return LZW_STOPS; /* behind the output */
        n = room;
    }
    lzw_write(s, length, *k, valid, c->out, *done, n);
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
    for (uint32_t groups = c->n_out / LZW_GROUP_BYTES + LZW_SPARE_GROUPS; done < c->n_out;
         groups--) {
        if (groups == 0)
            return LZW_BAD_CLEAR;
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
            begin += bit + width;
            k = 0;
        }
    }
    return LZW_RIGHT;
}

#endif
