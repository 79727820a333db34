/* SPDX-License-Identifier: MIT */
/* inflate_part.h: a part of a deflate stream, decoded before what precedes it is known. */
#ifndef IMGSTAT_CODEC_INFLATE_PART_H
#define IMGSTAT_CODEC_INFLATE_PART_H

#include "codec/deflate_decode.h"

enum { INFLATE_PART_ROOM = 1 << 20 /* bytes of memory of a part */ };

/* What a part decodes to: words, then bytes. */
typedef struct InflatePart {
    uint8_t *memory; /* INFLATE_PART_ROOM bytes */
    uint16_t *words; /* in memory, behind those of the window */
    size_t n_words;
    bool resolved;  /* in the place of words are their bytes */
    uint8_t *bytes; /* behind the words; the window lies before them. NULL: none */
    size_t n_bytes;
    DeflateDecoder decoder; /* where decoding ended */
} InflatePart;

/* Decodes from a place on up to the first block that begins at place `end` or later, or as far as
 * memory and input go. Returns false if no block begins there, or *cancelled is set. */
bool inflate_part_decode(InflatePart *part, const PieceRing *ring, uint64_t place, uint64_t end,
                         const atomic_bool *cancelled);

/* Returns how many bytes a part decodes to. */
size_t inflate_part_size(const InflatePart *part);

/* Gives a part the DEFLATE_WINDOW bytes before it. The functions below need them. */
void inflate_part_follow(InflatePart *part, const uint8_t *window);

/* Copies the last DEFLATE_WINDOW bytes up to the end of a part to `window`. Not once it is
 * resolved. */
void inflate_part_window(const InflatePart *part, uint8_t *window);

/* Puts the bytes of words in their place. */
void inflate_part_resolve(InflatePart *part);

/* Copies at most n bytes, from byte `at` on, and fewer where words end. Returns how many; 0: there
 * are no more. */
size_t inflate_part_copy(const InflatePart *part, size_t at, uint8_t *to, size_t n);

#endif
