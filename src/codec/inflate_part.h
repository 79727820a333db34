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

/* Copies the last DEFLATE_WINDOW bytes up to the end of a part to `window`. before: those up to its
 * beginning. */
void inflate_part_window(const InflatePart *part, const uint8_t *before, uint8_t *window);

/* Copies at most n bytes, from byte `at` on, and fewer where words end. Returns how many; 0: there
 * are no more. before: as in inflate_part_window. */
size_t inflate_part_copy(const InflatePart *part, size_t at, const uint8_t *before, uint8_t *to,
                         size_t n);

#endif
