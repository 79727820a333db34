/* SPDX-License-Identifier: MIT */
/* lzw_lanes.h: decompresses an LZW stream of TIFF by a block of threads: the kernel lzw_tiles, and
 * the same in C, so that it is tested and fuzzed without a GPU.
 *
 * The width of a code depends on nothing but how many codes came since the clear code, so the
 * places of all codes up to the next one are known: LZW_ROUND of them are read at once. Code
 * LZW_NAMED + j stands for the string of code number j and the first byte of string j + 1. So a
 * code is a chain of earlier codes, which ends with a byte; its links are the bytes of the string,
 * from the last one to the first. Threads follow the chains of their codes through the round for
 * lengths, whose sums are places, and to the end for bytes. All that they follow lies in shared
 * memory: nothing waits for output.
 *
 * Every place in input, output and table is compared with its end before it is used. A link is a
 * code before, so chains end. Time is bounded by the output: rounds are full or end with a clear
 * code, n_out / 32 and some at most. Streams that clear so often are no encoder's. */
#ifndef IMGSTAT_CODEC_LZW_LANES_H
#define IMGSTAT_CODEC_LZW_LANES_H

#include "codec/lanes.h"

enum {
    LZW_BYTES = 256, /* codes that are bytes; the first code behind them clears the table */
    LZW_ENDS,
    LZW_NAMED,                            /* first code that stands for a string */
    LZW_MOST = (1 << 12) - LZW_NAMED + 1, /* codes after a clear code */
    LZW_ROUND = LANES * LANES,            /* codes at once: 32 groups of 32 */
    LZW_ROUND_BYTES = 32,                 /* fewer on average would take too long */
    LZW_SPARE_ROUNDS = 64,
    LZW_WORD = 8,  /* bytes: what is written at once */
    LZW_LONG = 16, /* of strings that are written by words */
    LZW_THREADS = 512,
    LZW_WARPS = LANES_STEP > 1 ? LZW_THREADS / LANES : 1 /* 1 in C, of one lane */
};

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

/* What the threads share. Since the clear code: codes, and the bytes and first bytes of their
 * strings. Of a round: string i begins sum[i / LANES] + before[i] bytes behind the first one. */
typedef struct LzwLanes {
    uint16_t code[LZW_MOST], length[LZW_MOST];
    uint8_t first[LZW_MOST];
    uint8_t torn; /* a string ends behind the output and begins in it */
    uint32_t before[LZW_ROUND], sum[LANES + 1], stop[LANES];
} LzwLanes;

enum { LZW_GOES_ON, LZW_CLEARS, LZW_STOPS, LZW_IS_WRONG, LZW_IS_OVER, LZW_KINDS = 8 };

/* Returns the bit of code number k after a clear code, and its width. */
LANES_INLINE uint32_t lzw_bit(uint32_t k, unsigned *width)
{
    const unsigned wider = 0u + (k >= 254) + (k >= 766) + (k >= 1790);
    *width = 9 + wider;
    return 9 * k + (k >= 254 ? k - 254 : 0) + (k >= 766 ? k - 766 : 0) + (k >= 1790 ? k - 1790 : 0);
}

/* Reads code number k behind a clear code that ends at bit `begin`. Returns what it is. */
LANES_INLINE unsigned lzw_read(LzwLanes *s, const LzwCall *c, uint32_t begin, uint32_t k)
{
    unsigned width;
    const uint32_t bit = begin + lzw_bit(k, &width);
    if (k > LZW_MOST || bit + width > 8 * c->n_in)
        return k > LZW_MOST ? LZW_IS_WRONG : LZW_IS_OVER;
    uint32_t word = 0;
    for (unsigned i = 0; i < 3; i++)
        word = word << 8 | (bit / 8 + i < c->n_in ? c->in[bit / 8 + i] : 0);
    const unsigned code = word >> (24 - bit % 8 - width) & ((1u << width) - 1);
    if (code == LZW_BYTES || code == LZW_ENDS)
        return code == LZW_BYTES ? LZW_CLEARS : LZW_STOPS;
    if (k == LZW_MOST || (code > LZW_ENDS && code - LZW_NAMED >= k))
        return LZW_IS_WRONG;
    s->code[k] = (uint16_t)code;
    return LZW_GOES_ON;
}

/* Reads the codes from number k on. Returns the first one of the round that is not for a string,
 * times LZW_KINDS, and what it is. */
LANES_INLINE uint32_t lzw_read_round(LzwLanes *s, const LzwCall *c, uint32_t begin, uint32_t k)
{
    for (unsigned group = block_first() / LANES; group < LANES; group += LZW_WARPS) {
        uint32_t *const stop = s->before + group * LANES; /* places are not needed yet */
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
            const uint32_t i = group * LANES + lane;
            const unsigned kind = lzw_read(s, c, begin, k + i);
            stop[lane] = kind == LZW_GOES_ON ? LZW_ROUND * LZW_KINDS : i * LZW_KINDS + kind;
        }
        const uint32_t least = lanes_least(stop);
        if (lanes_leader())
            s->stop[group] = least;
    }
    block_meet(); /* the codes are there */
    return lanes_least(s->stop);
}

/* Finds the length and the first byte of the string of code number i, whose chain is known from
 * code number k down. */
LANES_INLINE uint32_t lzw_measure(LzwLanes *s, uint32_t k, uint32_t i)
{
    uint32_t code = s->code[i], length = 1;
    for (; code >= LZW_NAMED + k; length++)
        code = s->code[code - LZW_NAMED];
    if (code >= LZW_NAMED) {
        length += s->length[code - LZW_NAMED];
        code = s->first[code - LZW_NAMED];
    }
    s->length[i] = (uint16_t)length;
    s->first[i] = (uint8_t)code;
    return length;
}

/* Finds the places of the first `valid` strings of the round, and returns the bytes of all. */
LANES_INLINE uint32_t lzw_place_round(LzwLanes *s, uint32_t k, uint32_t valid)
{
    for (unsigned group = block_first() / LANES; group < LANES; group += LZW_WARPS) {
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
            const uint32_t i = group * LANES + lane;
            s->before[i] = i < valid ? lzw_measure(s, k, k + i) : 0;
        }
        const uint32_t sum = lanes_before(s->before + group * LANES);
        if (lanes_leader())
            s->sum[group] = sum;
    }
    block_meet(); /* sums of groups are there */
    if (block_first() < LANES) {
        const uint32_t sum = lanes_before(s->sum);
        if (lanes_leader())
            s->sum[LANES] = sum;
    }
    block_meet(); /* the places are there */
    return s->sum[LANES];
}

/* Returns the last byte of the string of a code that is no byte, and goes on to the code before. */
LANES_INLINE uint8_t lzw_last(const LzwLanes *s, uint32_t *code)
{
    const uint32_t number = *code - LZW_NAMED;
    *code = s->code[number];
    return s->first[number + 1];
}

/* Writes the string of a code, n bytes, from the last one to the first. */
LANES_INLINE void lzw_write(const LzwLanes *s, uint32_t code, uint32_t n, uint8_t *out)
{
    if (n >= LZW_LONG) {
        for (; (uintptr_t)(out + n) % LZW_WORD != 0; n--)
            out[n - 1] = lzw_last(s, &code);
        for (; n > LZW_WORD; n -= LZW_WORD) {
            uint64_t word = 0;
            for (unsigned i = 0; i < LZW_WORD; i++)
                word = word << 8 | lzw_last(s, &code);
            lanes_store(out + n - LZW_WORD, LZW_WORD, word);
        }
    }
    for (; n > 1; n--)
        out[n - 1] = lzw_last(s, &code);
    out[0] = (uint8_t)code;
}

/* Writes the first `valid` strings of the round, those that end within the output. */
LANES_INLINE void lzw_write_round(LzwLanes *s, uint32_t k, uint32_t valid, uint8_t *out,
                                  uint32_t room)
{
    for (uint32_t i = block_first(); i < valid; i += LZW_WARPS * LANES_STEP) {
        const uint32_t begin = s->sum[i / LANES] + s->before[i], end = begin + s->length[k + i];
        if (end <= room)
            lzw_write(s, s->code[k + i], s->length[k + i], out + begin);
        else if (begin < room)
            s->torn = 1;
    }
    block_meet(); /* chains have been read */
}

/* Decompresses a whole stream: called by LZW_THREADS threads, or by one thread of C. */
LANES_INLINE LzwVerdict lzw_by_lanes(LzwLanes *s, const LzwCall *c)
{
    uint32_t begin = 9, k = 0, done = 0;
    if (c->n_in < 2 || c->in[0] != 0x80 || c->in[1] & 0x80)
        return c->n_in < 2 ? LZW_BAD_INPUT : LZW_BAD_CODE;
    if (block_first() == 0)
        s->torn = 0;
    for (uint32_t rounds = c->n_out / LZW_ROUND_BYTES + LZW_SPARE_ROUNDS; rounds > 0; rounds--) {
        const uint32_t stop = lzw_read_round(s, c, begin, k), valid = stop / LZW_KINDS;
        const uint32_t n = lzw_place_round(s, k, valid), room = c->n_out - done;
        lzw_write_round(s, k, valid, c->out + done, room);
        if (n >= room)
            return s->torn ? LZW_BAD_SIZE : LZW_RIGHT;
        k += valid;
        done += n;
        switch (stop % LZW_KINDS) {
        case LZW_IS_WRONG:
            return LZW_BAD_CODE;
        case LZW_IS_OVER:
            return LZW_BAD_INPUT;
        case LZW_STOPS:
            return LZW_BAD_SIZE;
        case LZW_CLEARS: {
            unsigned width;
            const uint32_t bit = lzw_bit(k, &width);
            begin += bit + width;
            k = 0;
            break;
        }
        default:
            break;
        }
    }
    return LZW_BAD_CLEAR;
}

#endif
