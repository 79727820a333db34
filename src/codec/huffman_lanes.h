/* SPDX-License-Identifier: MIT */
/* huffman_lanes.h: the Huffman codes of a deflate block, made and read by 32 lanes. */
#ifndef IMGSTAT_CODEC_HUFFMAN_LANES_H
#define IMGSTAT_CODEC_HUFFMAN_LANES_H

#include "codec/lanes.h"

enum {
    CODE_BITS_MOST = 15,
    LITERALS = 288,    /* symbols of literals and lengths; the last two never occur */
    DISTANCES = 32,    /* likewise */
    LITERAL_BITS = 11, /* of the tables: longer codes, one symbol in 50 of a photograph, are */
    DISTANCE_BITS = 9, /* compared with the first code of each length */
    PRECODE_BITS = 7,  /* all codes of code lengths are that short */
    ENTRY_BITS = 4     /* an entry is symbol << ENTRY_BITS | bits of its code; 0: none */
};

/* A canonical code: its symbols ordered by code, and the first code of each length. */
typedef struct HuffmanCode {
    uint16_t first[CODE_BITS_MOST + 1], count[CODE_BITS_MOST + 1], offset[CODE_BITS_MOST + 1];
} HuffmanCode;

/* Each lane counts the symbols of one length, and puts them in order. */
LANES_INLINE void huffman_sort(HuffmanCode *code, uint16_t *symbols, const uint8_t *lengths,
                               unsigned n)
{
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
        unsigned count = 0;
        for (unsigned i = 0; i < n && lane <= CODE_BITS_MOST; i++)
            count += lengths[i] == lane;
        if (lane <= CODE_BITS_MOST)
            code->count[lane] = (uint16_t)count;
    }
    lanes_meet(); /* all counts are there */
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
        if (lane == 0 || lane > CODE_BITS_MOST)
            continue;
        unsigned first = 0, at = 0;
        for (unsigned l = 1; l < lane; l++) {
            first = (first + code->count[l]) << 1;
            at += code->count[l];
        }
        code->first[lane] = (uint16_t)first;
        code->offset[lane] = (uint16_t)at;
        for (unsigned i = 0; i < n; i++)
            if (lengths[i] == lane)
                symbols[at++] = (uint16_t)i;
    }
    lanes_meet(); /* the symbols are in order */
}

/* Returns whether the lengths form a code that zlib accepts: complete, or of one symbol in one bit
 * where that is allowed, or of none. */
LANES_INLINE bool huffman_complete(const HuffmanCode *code, bool one_allowed)
{
    uint32_t left = 1;
    unsigned longest = 0;
    for (unsigned l = 1; l <= CODE_BITS_MOST; l++) {
        left <<= 1;
        if (code->count[l] > left)
            return false;
        left -= code->count[l];
        longest = code->count[l] ? l : longest;
    }
    return left == 0 || longest == 0 || (one_allowed && longest == 1);
}

/* Fills a table of 2^bits entries, by the next `bits` bits of the stream: a table for codes of up
 * to l - 1 bits, twice, is one for codes of up to l bits but for those of l bits. */
LANES_INLINE void huffman_table(const HuffmanCode *code, const uint16_t *symbols, unsigned bits,
                                uint16_t *table)
{
    if (lanes_leader())
        table[0] = 0;
    lanes_meet(); /* the table for codes of 0 bits is there */
    for (unsigned l = 1; l <= bits; l++) {
        const unsigned half = 1u << (l - 1), count = code->count[l];
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
            for (unsigned i = lane; i < half; i += LANES)
                table[half + i] = table[i];
        lanes_meet(); /* what is replaced below has been read */
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
            for (unsigned i = lane; i < count; i += LANES) {
                const uint32_t reversed = lanes_reversed(code->first[l] + i) >> (32 - l);
                table[reversed] = (uint16_t)(symbols[code->offset[l] + i] << ENTRY_BITS | l);
            }
        lanes_meet(); /* the table for codes of l bits is there */
    }
}

/* Returns the entry for the code that the stream goes on with; 0: there is none. bits: the next
 * bits, at least 15. */
LANES_INLINE unsigned huffman_entry(const HuffmanCode *code, const uint16_t *symbols,
                                    const uint16_t *table, unsigned table_bits, uint32_t bits)
{
    const unsigned entry = table[bits & ((1u << table_bits) - 1)];
    if (entry)
        return entry;
    const uint32_t reversed = lanes_reversed(bits);
    for (unsigned l = table_bits + 1; l <= CODE_BITS_MOST; l++) {
        const uint32_t i = (reversed >> (32 - l)) - code->first[l];
        if (i < code->count[l])
            return (unsigned)symbols[code->offset[l] + i] << ENTRY_BITS | l;
    }
    return 0;
}

#endif
