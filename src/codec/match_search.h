/* SPDX-License-Identifier: MIT */
/* match_search.h: finds bytes that repeat earlier ones of their piece, and takes them as matches.
 * What is taken depends on the bytes alone; docs/deflate-coder.md defines it. */
#ifndef IMGSTAT_CODEC_MATCH_SEARCH_H
#define IMGSTAT_CODEC_MATCH_SEARCH_H

#include "base/sample.h"
#include "codec/deflate_loops.h"

#include <stdbool.h>

enum {
    MATCH_KEYS = 3,         /* of 4, 8 and 16 bytes; the fast setting has that of 8 */
    MATCH_SPAN = 1 << 13,   /* bytes that matches do not reach beyond */
    MATCH_KEYED = 16,       /* a byte has keys if its span has so many bytes from there on */
    MATCH_PLACES = 1 << 15, /* of a table; also the bytes between two moves of its places */
    MATCH_REACH = MATCH_PLACES - 1, /* the greatest distance */
    MATCH_SHORTEST = 4,
    MATCH_SHORTEST_FAST = 8,
    MATCH_MOST = DEFLATE_BLOCK_MOST / MATCH_SHORTEST
};

/* Hashes of a byte's keys, of 15 bits. key: its first eight bytes, more: the next eight, as
 * little-endian numbers. */
IMGSTAT_INLINE unsigned match_hash_4(uint64_t key)
{
    return (uint32_t)key * UINT32_C(2654435761) >> 17;
}

IMGSTAT_INLINE unsigned match_hash_8(uint64_t key)
{
    return (unsigned)(key * UINT64_C(11400714819323198485) >> 49);
}

IMGSTAT_INLINE unsigned match_hash_16(uint64_t key, uint64_t more)
{
    const uint64_t mixed = key * UINT64_C(11400714819323198485) ^ more;
    return (unsigned)(mixed * UINT64_C(11400714819323198485) >> 49);
}

/* What a thread needs. */
typedef struct MatchSearch {
    uint16_t place[MATCH_KEYS][MATCH_PLACES]; /* by the hash of a key: where it was last */
    FarMatch match[MATCH_MOST];               /* the result, in the order of the bytes */
    size_t n;
} MatchSearch;

/* Takes the matches of a block of n <= DEFLATE_BLOCK_MOST bytes, once the blocks before it in its
 * piece have been searched. The block begins at byte `at` of the piece, a multiple of
 * DEFLATE_BLOCK_MOST; no byte behind the block is read. */
void match_search(MatchSearch *search, const uint8_t *piece, size_t at, size_t n, bool fast);

#endif
