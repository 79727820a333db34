/* SPDX-License-Identifier: MIT */
/* prove_inflate: fuzz_inflate or fuzz_inflate_lanes, which compare with zlib, on every short stream
 * of stored blocks, of the fixed codes, also behind a stored block, and of all codes of two bytes,
 * a length and two distances. */
#include "any.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* PROOF_HEAD: bytes that the target takes in front of the stream. */
enum { ROOM = 256, MOST_BITS = 16 };

typedef struct Bits {
    uint8_t bytes[ROOM];
    size_t n;
} Bits;

static void put(Bits *bits, unsigned value, unsigned n)
{
    for (unsigned i = 0; i < n; i++, bits->n++)
        bits->bytes[bits->n / 8] |= (uint8_t)((value >> i & 1) << bits->n % 8);
}

static void put_stored(Bits *bits)
{
    const unsigned n = any(3), wrong = any(2);
    put(bits, any(2), 3);
    bits->n = (bits->n + 7) / 8 * 8;
    put(bits, n, 16);
    put(bits, n ^ 0xFFFF ^ (wrong ? 1u << any(16) : 0), 16);
    put(bits, 0x4241, 8 * any(3));
}

/* Lengths are written by codes of code lengths: 0 and 1 of two bits, 2, 3, 16 and 18 of three. */
static void put_length(Bits *bits, unsigned length)
{
    static const uint8_t code[] = {0, 2, 1, 5}; /* the first bit lowest */
    put(bits, code[length], length < 2 ? 2 : 3);
}

/* missing: 16 has no code, so that of 18 is one less. */
static void put_zeros(Bits *bits, unsigned n, unsigned missing)
{
    put(bits, missing ? 3 : 7, 3); /* 18 */
    put(bits, n - 11, 7);
}

static void put_coded(Bits *bits)
{
    static const uint8_t of_code[19] = {3, 0, 3, 2, 0, 0, 0, 0, 0, 0,
                                        0, 0, 0, 3, 0, 3, 0, 2, 0}; /* 16, 17, 18, 0, 8 ... */
    const unsigned lengths = any(2), distances = any(2), most = bound(3, 4);
    const unsigned missing = lengths + distances == 0 ? any(2) : 0;
    put(bits, 1 | 2 << 1, 3);
    put(bits, lengths, 5);
    put(bits, distances, 5);
    put(bits, 15, 4);
    for (unsigned i = 0; i < 19; i++)
        put(bits, i < missing ? 0 : of_code[i], 3);
    put_zeros(bits, 65, missing);
    put_length(bits, any(most)); /* A */
    put_length(bits, any(most));
    put_zeros(bits, 138, missing);
    put_zeros(bits, 51, missing);
    put_length(bits, any(most)); /* the end */
    if (lengths)
        put_length(bits, any(3));
    put_length(bits, any(3));
    if (distances)
        put_length(bits, any(3));
    put(bits, any(1u << bound(4, 10)), bound(4, 10));
}

void prove(void)
{
    Bits bits = {.n = 8 * PROOF_HEAD};
    switch (any(3)) {
    case 0:
        put_stored(&bits);
        break;
    case 1:
        if (any(2)) {    /* behind a stored block of two bytes */
            bits.n += 8; /* that is not the last */
            put(&bits, 2 | (0xFFFFu ^ 2) << 16, 32);
            put(&bits, 0x4241, 16);
        }
        put(&bits, any(2) | 1 << 1, 3);
        put(&bits, any(1u << bound(12, MOST_BITS)), bound(12, MOST_BITS));
        break;
    default:
        put_coded(&bits);
    }
    const unsigned surplus = any(2);
    const size_t size = (bits.n + 7) / 8 + surplus;
    if (PROOF_HEAD >
        0) { /* how much output there should be: as much as there is, one more or less */
        bits.bytes[0] = (uint8_t)any(surplus ? 2 : 3);
        bits.bytes[PROOF_HEAD / 2] = bits.bytes[0] & 1;
    }
    LLVMFuzzerTestOneInput(bits.bytes, size);
}
