/* SPDX-License-Identifier: MIT */
/* any_lanes: pieces of the kernels' decoders of LZW and deflate, as C and with fewer lanes: from any state in which
 * what is assumed holds. Lengths of codes are counted by 16 lanes, so codes have 16 of them. */
#include "any.h"

#include "codec/inflate_lanes.h"
#include "codec/lzw_lanes.h"

/* CBMC: -DPROOF=lzw_code -DIMGSTAT_LANES=1 --unwind 5 */
/* CBMC: -DPROOF=lzw_string -DIMGSTAT_LANES=1 --unwind 5 --unwindset lzw_write.0:1,lzw_write.1:1,lzw_write.2:1 */
/* CBMC: -DPROOF=tokens -DIMGSTAT_LANES=1 --unwind 11 */
/* CBMC: -DPROOF=codes -DIMGSTAT_LANES=16 --unwind 33 */

enum { IN = 4, OUT = 6 };

static uint8_t in[IN], out[OUT];

static LzwLanes *any_lzw(void)
{
    LzwLanes *const s = malloc(sizeof *s);
    return s;
}

/* Any code of any input, whatever number it has. */
static void lzw_code(void)
{
    LzwLanes *const s = any_lzw();
    const uint32_t n = any(IN + 1), k = any(2 * LZW_MOST);
    const LzwCall call = {any_bytes(in, IN, n), n, out, 0};
    const unsigned kind = lzw_read(s, &call, any(8 * n + 13), k);
    demand(kind != LZW_GOES_ON || s->code[k] < LZW_BYTES || (s->code[k] >= LZW_NAMED && s->code[k] < LZW_NAMED + k),
           "a code that there is not");
}

/* A string of a round, whose chain is known from code number k down: each link is an earlier code, and
 * one byte longer than the next. */
static void lzw_string(void)
{
    LzwLanes *const s = any_lzw();
    const uint32_t k = any(LZW_MOST - 3), i = k + any(3);
    uint32_t number = i;
    for (unsigned links = 0; links < 4; links++) {
        const uint32_t code = s->code[number];
        __CPROVER_assume(code < LZW_BYTES || (code >= LZW_NAMED && code - LZW_NAMED < number));
        const bool ends = code < LZW_BYTES;
        if (number < k)
            __CPROVER_assume(ends ? s->length[number] == 1 : s->length[number] == 1 + s->length[code - LZW_NAMED]);
        if (ends)
            break;
        number = code - LZW_NAMED;
        __CPROVER_assume(links < 3);
    }
    const uint32_t n = lzw_measure(s, k, i);
    demand(n <= 4, "a length");
    uint8_t string[4];
    lzw_write(s, s->code[i], n, string + 4 - n);
}

/* Tokens of a lane: up to two, and up to OUT bytes of output. */
static void tokens(void)
{
    InflateLanes *const s = malloc(sizeof *s);
    const uint32_t n_out = any(OUT + 1);
    const InflateCall call = inflate_call(in, 0, 0, any_bytes(out, OUT, n_out), n_out, 1 << 15);
    uint32_t done = any(n_out + 1);
    s->tokens[0] = (uint8_t)any(3);
    s->bytes[0] = 0;
    for (unsigned k = 0; k < s->tokens[0]; k++) {
        const uint32_t token = s->token[k][0], length = (token & MATCH_FIELDS) >> MATCH_LENGTH;
        __CPROVER_assume(token < 256 || ((token & MATCH) && !(token & ~(MATCH | MATCH_FIELDS)) && length < 256));
        s->bytes[0] += token < 256 ? 1 : length + 3;
    }
    (void)inflate_write(s, &call, any(2), &done);
    demand(done <= n_out, "beyond the output");
}

/* Any complete code of up to four symbols. */
static void codes(void)
{
    enum { SYMBOLS = 3, BITS = 2 };
    HuffmanCode code;
    uint8_t lengths[SYMBOLS];
    uint16_t symbols[SYMBOLS], table[1 << BITS];
    for (unsigned i = 0; i < SYMBOLS; i++)
        __CPROVER_assume(lengths[i] <= CODE_BITS_MOST);
    huffman_sort(&code, symbols, lengths, SYMBOLS);
    if (!huffman_complete(&code, true))
        return;
    huffman_table(&code, symbols, BITS, table);
    (void)huffman_entry(&code, symbols, table, BITS, any(UINT32_MAX));
}

void prove(void)
{
    PROOF();
}
