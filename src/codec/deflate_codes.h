/* SPDX-License-Identifier: MIT */
/* deflate_codes.h: the Huffman codes of a deflate block, as tables. */
#ifndef IMGSTAT_CODEC_DEFLATE_CODES_H
#define IMGSTAT_CODEC_DEFLATE_CODES_H

#include "codec/bit_reader.h"

enum {
    LITERAL_BITS = 11, /* of the code that index the first table */
    DISTANCE_BITS = 8,
    /* The first table, and second ones of at most 16 entries for at least 5 codes each, or of at
     * most 128 for at least 8. */
    LITERAL_ROOM = (1 << LITERAL_BITS) + 288 / 5 * 16 + 16,
    DISTANCE_ROOM = (1 << DISTANCE_BITS) + 32 / 8 * 128
};

/* An entry of a table. Bits 0 to 5 count the bits that it takes from the stream, extra bits of a
 * length or distance included.
 *   literals  one to three: their number in bits 6 and 7, values from bit 8 on
 *   length    bits of the code in bits 8 to 12, base in bits 16 to 24
 *   distance  bits of the code in bits 8 to 12, base in bits 16 to 30
 *   table     ENTRY_SPECIAL; bits of its index in bits 8 to 11 (not 0), place in bits 12 to 23
 *   end       ENTRY_SPECIAL, ENTRY_END
 *   no code   ENTRY_SPECIAL alone */
enum { ENTRY_COUNT = 63, ENTRY_LITERAL = 1 << 6, ENTRY_LITERALS = 3 << 6, ENTRY_END = 1 << 30 };
static const uint32_t ENTRY_SPECIAL = UINT32_C(1) << 31;

typedef struct DeflateCodes {
    uint32_t literal[LITERAL_ROOM], distance[DISTANCE_ROOM];
} DeflateCodes;

typedef enum CodesState {
    CODES_READY,
    CODES_INPUT, /* the input ends before */
    CODES_WRONG  /* damaged, or a set of codes that is not complete */
} CodesState;

/* Reads the codes of a block with codes of its own, from behind the three bits of its head. codes:
 * NULL only checks them. */
CodesState deflate_codes_read(BitReader *reader, DeflateCodes *codes);

/* Makes the fixed codes. */
void deflate_codes_fix(DeflateCodes *codes);

#endif
