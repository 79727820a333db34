/* SPDX-License-Identifier: MIT */
/* any_lanes: pieces of the kernels' decoders of LZW and deflate, as C: codes of LZW anywhere in any
 * input, and Huffman codes of two symbols. Each lane counts the codes of one length, so there are
 * 16 of them. */
#include "any.h"

#include "codec/huffman_lanes.h"
#include "codec/lzw_lanes.h"

/* CBMC: -DPROOF=lzw_code -DIMGSTAT_LANES=1 --unwind 6 */
/* CBMC: -DPROOF=codes -DIMGSTAT_LANES=16 --unwind 17 --unwindset lanes_reversed.0:33 */

enum { IN = 4 };

static uint8_t in[IN], out[1];

/* Any code of any input, around each number whose code is wider than the one before, and the last.
 */
static void lzw_code(void)
{
    static const uint32_t numbers[] = {0, 254, 766, 1790, LZW_MOST};
    static LzwLanes shared;
    const uint32_t n = any(IN + 1), begin = any(8 * n + 13);
    const LzwCall call = {any_bytes(in, IN, n), n, out, 0};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const uint32_t k = numbers[i];
        const unsigned kind = lzw_read(&shared, &call, begin, k);
        demand(kind != LZW_GOES_ON || k < LZW_MOST, "a number that there is not");
    }
}

/* Any complete code of two symbols. */
static void codes(void)
{
    enum { SYMBOLS = 2, BITS = 1 };
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
