/* SPDX-License-Identifier: MIT */
/* bit_reader.h: reads bits of a deflate stream whose bytes lie in a ring of pieces. */
#ifndef IMGSTAT_CODEC_BIT_READER_H
#define IMGSTAT_CODEC_BIT_READER_H

#include "base/pixel.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Compressed bytes. Piece k has `piece_bytes` bytes, the last one possibly fewer, in slot
 * k % n_slots. A piece stays valid until every reader of it or of an earlier one is done. */
typedef struct PieceRing {
    uint8_t *const *slot;
    const size_t *bytes;
    size_t n_slots, piece_bytes;
    _Atomic uint64_t loaded; /* pieces */
} PieceRing;

/* A position in these bytes. Bits behind the first n are 0. */
typedef struct BitReader {
    uint64_t bits;
    unsigned n;         /* at most 63 */
    const uint8_t *at;  /* what `bits` does not hold yet, */
    const uint8_t *end; /* up to the end of the piece */
    const uint8_t *begin;
    uint64_t piece;
    const PieceRing *ring;
} BitReader;

/* Makes the first byte of a piece next. Returns false if the piece is not there. */
static inline bool bit_reader_open(BitReader *reader, uint64_t piece)
{
    const PieceRing *const ring = reader->ring;
    if (piece >= atomic_load_explicit(&ring->loaded, memory_order_acquire))
        return false;
    reader->piece = piece;
    reader->begin = reader->at = ring->slot[piece % ring->n_slots];
    reader->end = reader->begin + ring->bytes[piece % ring->n_slots];
    return true;
}

/* Takes as many bytes as there is room for. */
static inline void bit_reader_fill(BitReader *reader)
{
    if (reader->end - reader->at >= 8) {
        reader->bits |= load_raw(reader->at, 8) << reader->n;
        reader->at += (63 - reader->n) >> 3;
        reader->n |= 56;
        reader->bits &= ((uint64_t)1 << reader->n) - 1;
        return;
    }
    while (reader->n < 56) {
        if (reader->at == reader->end && !bit_reader_open(reader, reader->piece + 1))
            return;
        if (reader->at == reader->end) /* an empty piece */
            return;
        reader->bits |= (uint64_t)*reader->at++ << reader->n;
        reader->n += 8;
    }
}

static inline void bit_reader_drop(BitReader *reader, unsigned n)
{
    reader->bits >>= n;
    reader->n -= n;
}

/* Returns whether there are n <= 48 bits. */
static inline bool bit_reader_has(BitReader *reader, unsigned n)
{
    if (reader->n < n)
        bit_reader_fill(reader);
    return reader->n >= n;
}

/* Takes n <= 16 bits that are there. */
static inline unsigned bit_reader_take(BitReader *reader, unsigned n)
{
    const unsigned value = (unsigned)(reader->bits & (((uint64_t)1 << n) - 1));
    bit_reader_drop(reader, n);
    return value;
}

/* Returns the number of bits before the position. */
static inline uint64_t bit_reader_place(const BitReader *reader)
{
    return 8 * (reader->piece * reader->ring->piece_bytes + (size_t)(reader->at - reader->begin)) -
           reader->n;
}

/* Begins at a position. Returns false if its piece is not there. */
static inline bool bit_reader_seek(BitReader *reader, const PieceRing *ring, uint64_t place)
{
    const uint64_t byte = place / 8;
    *reader = (BitReader){.ring = ring};
    if (!bit_reader_open(reader, byte / ring->piece_bytes))
        return false;
    const size_t inside = (size_t)(byte % ring->piece_bytes);
    if (inside >= (size_t)(reader->end - reader->begin))
        return false;
    reader->at += inside;
    if (!bit_reader_has(reader, place % 8))
        return false;
    bit_reader_drop(reader, place % 8);
    return true;
}

#endif
