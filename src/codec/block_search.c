/* SPDX-License-Identifier: MIT */
/* block_search.c: tests 32 places at a time by the bits of a head that any value may not have, and
 * what passes by the sets of codes. */
#include "codec/block_search.h"

#include "codec/deflate_codes.h"

enum {
    GROUP_BYTES = 4, /* whose places are tested at once */
    LOADED = 24,     /* bytes from there on that tests may read */
    CANCEL_MASK = 4095
};

/* Places i of a word from which on its bits may be the head of a block that is not the last and has
 * codes of its own: bits 0, 0, 1; two counts of 5 bits below 30. */
static uint64_t coded_heads(uint64_t x)
{
    const uint64_t kind = ~x & ~(x >> 1) & (x >> 2);
    const uint64_t literals = (x >> 4) & (x >> 5) & (x >> 6) & (x >> 7);
    const uint64_t distances = (x >> 9) & (x >> 10) & (x >> 11) & (x >> 12);
    return kind & ~literals & ~distances;
}

/* What codes of two lengths, of 3 bits each, take of 128. */
#define SHARE(bits) ((bits) == 0 ? 0 : 128 >> (bits))
#define SHARES(high)                                                                     \
    SHARE(high), SHARE(1) + SHARE(high), SHARE(2) + SHARE(high), SHARE(3) + SHARE(high), \
        SHARE(4) + SHARE(high), SHARE(5) + SHARE(high), SHARE(6) + SHARE(high),          \
        SHARE(7) + SHARE(high)
static const uint8_t shares[64] = {SHARES(0), SHARES(1), SHARES(2), SHARES(3),
                                   SHARES(4), SHARES(5), SHARES(6), SHARES(7)};

/* Returns whether the code of code lengths is complete in a head that begins at a bit. */
static bool has_length_code(const uint8_t *at, unsigned bit)
{
    enum { BEFORE = 3 + 5 + 5, N_BITS = 4, LEAST = 4, BITS = 3 };
    const unsigned n = (unsigned)(load_raw(at, 8) >> (bit + BEFORE) & 15) + LEAST;
    const unsigned behind = bit + BEFORE + N_BITS;
    const uint8_t *const from = at + behind / 8;
    uint64_t lengths = load_raw(from, 8) >> behind % 8; /* at least 57 bits: 19 lengths */
    lengths &= ((uint64_t)1 << BITS * n) - 1;
    unsigned sum = 0;
    for (unsigned i = 0; i < 10; i++) /* without a branch that cannot be predicted */
        sum += shares[lengths >> 2 * BITS * i & 63];
    return sum == 128;
}

/* Returns whether a block with codes of its own may begin at a place. */
static bool coded_block(const PieceRing *ring, uint64_t place)
{
    BitReader reader;
    if (!bit_reader_seek(&reader, ring, place) || !bit_reader_has(&reader, 3) ||
        (bit_reader_take(&reader, 3) & 6) != 4)
        return false;
    return deflate_codes_read(&reader, NULL) == CODES_READY;
}

/* Returns whether a block other than of fixed codes may begin at a place. */
static bool any_block(const PieceRing *ring, uint64_t place)
{
    BitReader reader;
    if (!bit_reader_seek(&reader, ring, place) || !bit_reader_has(&reader, 3))
        return false;
    if ((reader.bits & 6) != 0)
        return coded_block(ring, place);
    bit_reader_drop(&reader, 3);
    bit_reader_drop(&reader, reader.n % 8);
    if (!bit_reader_has(&reader, 32))
        return false;
    const unsigned n = bit_reader_take(&reader, 16);
    return (n ^ bit_reader_take(&reader, 16)) == 0xFFFF;
}

/* Returns whether the length of a stored block, at a byte of the piece, and its head are there. */
static bool stored_block(const PieceRing *ring, const uint8_t *bytes, uint64_t byte,
                         BlockStart *found)
{
    const unsigned length = bytes[0] | (unsigned)bytes[1] << 8;
    const unsigned above = bytes[-2] | (unsigned)bytes[-1] << 8;
    unsigned zeros = 0;
    while (zeros < 10 && !(above >> (15 - zeros) & 1))
        zeros++;
    if (zeros < 3)
        return false;
    *found = (BlockStart){.least = 8 * byte - zeros, .place = 8 * byte - 3};
    return length == 0 || any_block(ring, 8 * (byte + 4 + length));
}

bool block_search(const PieceRing *ring, uint64_t *at, uint64_t end, const atomic_bool *cancelled,
                  BlockStart *found)
{
    BitReader reader;
    if (!bit_reader_seek(&reader, ring, *at))
        return false;
    const uint64_t first_byte = reader.piece * ring->piece_bytes;
    const uint8_t *const bytes = reader.begin;
    const size_t size = (size_t)(reader.end - reader.begin);
    for (size_t i = (size_t)(*at / 8 - first_byte); i + LOADED <= size; i += GROUP_BYTES) {
        const uint64_t byte = first_byte + i, x = load_raw(bytes + i, 8);
        if (8 * byte >= end || ((i & CANCEL_MASK) < GROUP_BYTES && atomic_load(cancelled)))
            break;
        uint64_t places = coded_heads(x) & UINT32_MAX;
        if (8 * byte < *at)
            places &= ~(uint64_t)0 << (*at - 8 * byte);
        for (; places != 0; places &= places - 1) {
            const unsigned bit = (unsigned)__builtin_ctzll(places);
            if (!has_length_code(bytes + i, bit) || !coded_block(ring, 8 * byte + bit))
                continue;
            *found = (BlockStart){.least = 8 * byte + bit, .place = 8 * byte + bit};
            *at = 8 * byte + bit + 1;
            return true;
        }
        const uint64_t lengths = x ^ x >> 16; /* a length and its complement */
        for (unsigned k = i < 2 ? 2 : 0; k < GROUP_BYTES; k++) {
            if ((lengths >> 8 * k & 0xFFFF) != 0xFFFF ||
                !stored_block(ring, bytes + i + k, byte + k, found) || found->place < *at)
                continue;
            *at = 8 * (byte + k) + 1;
            return true;
        }
    }
    *at = end;
    return false;
}
