/* SPDX-License-Identifier: MIT */
/* deflate_loops.h: the loops of the deflate coder over bytes, compiled once per instruction set,
 * and the bits that they write. */
#ifndef IMGSTAT_CODEC_DEFLATE_LOOPS_H
#define IMGSTAT_CODEC_DEFLATE_LOOPS_H

#include "base/cpu_features.h"
#include "base/isa.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Where a stream of bits ends. */
typedef struct BitEnd {
    uint8_t *to;   /* the next byte; 8 bytes may be written there at any time */
    uint64_t held; /* bits that are not yet a byte, the first one lowest */
    unsigned n;    /* of them: 0 to 7 */
} BitEnd;

/* Appends the low n <= 56 bits; those above them are 0. */
static inline void bits_put(BitEnd *end, uint64_t bits, unsigned n)
{
    end->held |= bits << end->n;
    end->n += n;
    memcpy(end->to, &end->held, sizeof end->held);
    end->to += end->n / 8;
    end->held >>= end->n / 8 * 8;
    end->n %= 8;
}

enum { LITERAL_LONGEST = 12 };

/* The codes of the literals of a block. `bits` has what `low` and `high` have, for loops that look
 * up many bytes at once. */
typedef struct LiteralCodes {
    uint32_t bits[256]; /* the code above bit 8, its length below */
    uint8_t low[256];   /* the lower 8 bits of the code */
    uint8_t high[256];  /* the upper 4 bits of the code above bit 4, its length below */
} LiteralCodes;

static inline void literal_codes_set(LiteralCodes *codes, uint8_t literal, unsigned code,
                                     unsigned length)
{
    codes->bits[literal] = code << 8 | length;
    codes->low[literal] = (uint8_t)code;
    codes->high[literal] = (uint8_t)(code >> 8 << 4 | length);
}

typedef struct DeflateLoops {
    /* Compares n bytes with the byte before each. Bit i % 64 of word i / 64 is 1 if byte i equals
     * byte i - 1. Bit 0 of word 0, and those from n on, are 0. */
    void (*equal)(const uint8_t *from, size_t n, uint64_t *words);

    /* Adds how often each byte occurs among n. */
    void (*count)(const uint8_t *from, size_t n, uint32_t counts[256]);

    /* Appends the codes of n bytes. */
    void (*literals)(const uint8_t *from, size_t n, const LiteralCodes *codes, BitEnd *end);
} DeflateLoops;

extern const DeflateLoops deflate_loops_portable, deflate_loops_avx2, deflate_loops_avx512;

static inline const DeflateLoops *deflate_loops(CpuLevel level)
{
    static const DeflateLoops *const of[] = ISA_TABLE(&deflate_loops);
    return of[level];
}

#endif
