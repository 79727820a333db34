/* SPDX-License-Identifier: MIT */
/* deflate_decode.h: decodes a deflate stream block by block, from any block on. What a block refers
 * to before its first byte may be unknown: then bytes are decoded as words. */
#ifndef IMGSTAT_CODEC_DEFLATE_DECODE_H
#define IMGSTAT_CODEC_DEFLATE_DECODE_H

#include "base/cpu_features.h"
#include "base/isa.h"
#include "codec/deflate_codes.h"

enum {
    DEFLATE_WINDOW = 1 << 15, /* the largest distance */
    DECODE_MARGIN = 320       /* room that decoding may use beyond what it returns */
};

typedef enum DecodeStop {
    DECODE_BLOCK, /* a block that is not the last has ended */
    DECODE_END,   /* the last block has ended */
    DECODE_ROOM,  /* there is no room for more */
    DECODE_INPUT, /* the rest of the input is not there yet */
    DECODE_WRONG  /* damaged, or unusual */
} DecodeStop;

/* The state of one decoder. */
typedef struct DeflateDecoder {
    BitReader reader;
    enum { BLOCK_HEAD, BLOCK_STORED, BLOCK_CODED } inside;
    bool last;         /* block */
    unsigned n_stored; /* bytes left of a stored block */
    DeflateCodes codes;
} DeflateDecoder;

/* A word is a byte below 256, or this and a place in the window before the first word. */
enum { DEFLATE_MARKER = 1 << 15 };

/* Decodes on to *out, up to the end of a block, and advances *out. start: the first byte that the
 * stream may refer to. end: the end of the room. It stops where less than DECODE_MARGIN is left. */
typedef DecodeStop DecodeBytes(DeflateDecoder *decoder, const uint8_t *start, uint8_t **out,
                               uint8_t *end);
extern DecodeBytes deflate_decode_bytes_portable, deflate_decode_bytes_avx2,
    deflate_decode_bytes_avx512;

/* Works as DecodeBytes for words. DEFLATE_WINDOW words lie before the first. */
typedef DecodeStop DecodeWords(DeflateDecoder *decoder, const uint16_t *start, uint16_t **out,
                               uint16_t *end);
extern DecodeWords deflate_decode_words_portable, deflate_decode_words_avx2,
    deflate_decode_words_avx512;

static inline DecodeStop deflate_decode_bytes(DeflateDecoder *decoder, const uint8_t *start,
                                              uint8_t **out, uint8_t *end)
{
    static DecodeBytes *const of[] = ISA_TABLE(deflate_decode_bytes);
    return of[cpu_features_level()](decoder, start, out, end);
}

static inline DecodeStop deflate_decode_words(DeflateDecoder *decoder, const uint16_t *start,
                                              uint16_t **out, uint16_t *end)
{
    static DecodeWords *const of[] = ISA_TABLE(deflate_decode_words);
    return of[cpu_features_level()](decoder, start, out, end);
}

#endif
