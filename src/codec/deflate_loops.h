/* SPDX-License-Identifier: MIT */
/* deflate_loops.h: the loops of the deflate coder over bytes, compiled once per instruction set,
 * and the bits that they write. */
#ifndef IMGSTAT_CODEC_DEFLATE_LOOPS_H
#define IMGSTAT_CODEC_DEFLATE_LOOPS_H

#include "base/cpu_features.h"
#include "base/isa.h"
#include "codec/deflate_format.h"

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

enum {
    DEFLATE_BLOCK_MOST = 1 << 16, /* bytes of a block */
    DEFLATE_SHORTEST_RUN = 8,     /* powers of two: find_reach */
    DEFLATE_SHORTEST_RUN_FAST = 16,
    DEFLATE_LONGEST_MATCH = 258,
    DEFLATE_WORDS = DEFLATE_BLOCK_MOST / 64,
    DEFLATE_MATCHES = DEFLATE_BLOCK_MOST / DEFLATE_SHORTEST_RUN,
    LITERAL_LONGEST = 12,
    MATCH_LONGEST = LITERAL_LONGEST + 5 + 1, /* the code, extra bits, the distance */
    DEFLATE_SPARE = 64                       /* what loops write at once */
};

/* Bytes [at, at + n) of a block, each equal to the one before it. */
typedef struct DeflateMatch {
    uint16_t at, n;
} DeflateMatch;

/* Bytes [at, at + n) of a block, each equal to the one `distance` before it. */
typedef struct FarMatch {
    uint16_t at, n, distance;
} FarMatch;

/* The matches of a block, which is all that its runs become. */
typedef struct DeflateRuns {
    uint64_t covered[DEFLATE_WORDS]; /* a bit for each byte: a match stands for it; */
    uint64_t starts[DEFLATE_WORDS];  /* a match begins there */
    DeflateMatch match[DEFLATE_MATCHES];
    size_t n;
} DeflateRuns;

/* The codes of the symbols of a block. `literal` has what `low` and `high` have, for loops that
 * look up many bytes at once. */
typedef struct DeflateSymbols {
    uintptr_t next;        /* bytes to fetch into the cache meanwhile, as many as are coded */
    uint32_t literal[256]; /* the code above bit 8, its length below */
    uint8_t low[256];      /* the lower 8 bits of the code */
    uint8_t high[256];     /* its length above bit 4, the upper 4 bits of the code below */
    uint32_t match[DEFLATE_MATCHES]; /* each match: its bits above bit 8, their number below; */
    uint32_t length[DEFLATE_LONGEST_MATCH + 1]; /* the same of a length; */
    uint32_t distance[DEFLATE_DISTANCES];       /* of a distance, without its extra bits */
} DeflateSymbols;

static inline void deflate_symbols_literal(DeflateSymbols *codes, uint8_t literal, unsigned code,
                                           unsigned length)
{
    codes->literal[literal] = code << 8 | length;
    codes->low[literal] = (uint8_t)code;
    codes->high[literal] = (uint8_t)(length << 4 | code >> 8);
}

typedef struct DeflateLoops {
    /* Finds the matches of n <= DEFLATE_BLOCK_MOST bytes. shortest: DEFLATE_SHORTEST_RUN or
     * DEFLATE_SHORTEST_RUN_FAST. Bits for bytes from n on are 0. */
    void (*runs)(const uint8_t *from, size_t n, unsigned shortest, DeflateRuns *runs);

    /* Adds how often each byte occurs among n. */
    void (*count)(const uint8_t *from, size_t n, uint32_t counts[256]);

    /* Appends the codes of n bytes. DEFLATE_SPARE bytes behind them may be written. */
    void (*symbols)(const uint8_t *from, size_t n, const DeflateRuns *runs,
                    const DeflateSymbols *codes, BitEnd *end);

    /* Appends the codes of n bytes with n_matches matches at any distance. */
    void (*matches)(const uint8_t *from, size_t n, const FarMatch *match, size_t n_matches,
                    const DeflateSymbols *codes, BitEnd *end);
} DeflateLoops;

extern const DeflateLoops deflate_loops_portable, deflate_loops_avx2, deflate_loops_avx512;

static inline const DeflateLoops *deflate_loops(CpuLevel level)
{
    static const DeflateLoops *const of[] = ISA_TABLE(&deflate_loops);
    return of[level];
}

#endif
