/* SPDX-License-Identifier: MIT */
/* deflate_decode.c: decodes deflate streams; compiled once per instruction set. */
#include "codec/deflate_decode.h"

#include "base/compiler.h"

enum {
    LITERAL_MASK = (1 << LITERAL_BITS) - 1,
    DISTANCE_MASK = (1 << DISTANCE_BITS) - 1,
    MOST_CODE = 15,
    FAST_INPUT = 16 /* bytes that one turn of the fast loop may load */
};

/* Whether an entry leads to a second table. */
FORCE_INLINE bool has_table(uint32_t entry)
{
    return (entry & (ENTRY_SPECIAL | ENTRY_LITERALS)) == ENTRY_SPECIAL && (entry & 0xF00);
}

FORCE_INLINE size_t second_place(uint32_t entry, uint64_t bits)
{
    return (entry >> 12 & 0xFFF) + (size_t)(bits & ((1u << (entry >> 8 & 15)) - 1));
}

/* The length or distance of an entry: its base and the extra bits behind the code. */
FORCE_INLINE size_t entry_value(uint32_t entry, uint64_t bits)
{
    const uint64_t taken = bits & (((uint64_t)1 << (entry & 63)) - 1);
    return (entry >> 16) + (size_t)(taken >> (entry >> 8 & 31));
}

/* Reads the length of a stored block. */
static DecodeStop read_stored(BitReader *reader, unsigned *n)
{
    bit_reader_drop(reader, reader->n % 8); /* bytes are added whole */
    if (!bit_reader_has(reader, 32))
        return DECODE_INPUT;
    *n = bit_reader_take(reader, 16);
    return bit_reader_take(reader, 16) == (*n ^ 0xFFFF) ? DECODE_BLOCK : DECODE_WRONG;
}

/* Reads the head of a block, all of it or nothing. */
static DecodeStop read_head(DeflateDecoder *decoder)
{
    BitReader reader = decoder->reader;
    if (!bit_reader_has(&reader, 3))
        return DECODE_INPUT;
    const bool last = bit_reader_take(&reader, 1);
    const unsigned type = bit_reader_take(&reader, 2);
    if (type == 0) {
        const DecodeStop stop = read_stored(&reader, &decoder->n_stored);
        if (stop != DECODE_BLOCK)
            return stop;
        decoder->inside = BLOCK_STORED;
    } else {
        CodesState state = CODES_READY;
        if (type == 1)
            deflate_codes_fix(&decoder->codes);
        else
            state = type == 2 ? deflate_codes_read(&reader, &decoder->codes) : CODES_WRONG;
        if (state != CODES_READY)
            return state == CODES_INPUT ? DECODE_INPUT : DECODE_WRONG;
        decoder->inside = BLOCK_CODED;
    }
    decoder->last = last;
    decoder->reader = reader;
    return DECODE_BLOCK;
}

/* Steps of the fast loops. REFILL: at least 56 bits. TAKE_ENTRY: `before` are the bits before. */
#define REFILL(bits, n, at)                    \
    do {                                       \
        (bits) |= load_raw(at, 8) << ((n)&63); \
        (at) += (((n)&63) ^ 63) >> 3;          \
        (n) |= 56;                             \
    } while (0)
#define TAKE_ENTRY(bits, n, entry, before) \
    do {                                   \
        (before) = (bits);                 \
        (bits) >>= (entry)&63;             \
        (n) -= (entry);                    \
    } while (0)

#define SYMBOL             uint8_t
#define STORE              uint32_t
#define LITERALS_OF(entry) ((entry) >> 8)
#define NAME(x)            x##_bytes
#include "codec/deflate_symbols.h"

#define SYMBOL uint16_t
#define STORE  uint64_t
#define LITERALS_OF(entry) \
    (((entry) >> 8 & 0xFF) | ((entry)&0xFF0000) | (uint64_t)((entry) >> 24) << 32)
#define NAME(x) x##_words
#include "codec/deflate_symbols.h"

DecodeStop ISA(deflate_decode_bytes)(DeflateDecoder *decoder, const uint8_t *start, uint8_t **out,
                                     uint8_t *end)
{
    return decode_bytes(decoder, start, out, end);
}

DecodeStop ISA(deflate_decode_words)(DeflateDecoder *decoder, const uint16_t *start, uint16_t **out,
                                     uint16_t *end)
{
    return decode_words(decoder, start, out, end);
}
