/* SPDX-License-Identifier: MIT */
/* block_search.h: finds places in a deflate stream where a block may begin. */
#ifndef IMGSTAT_CODEC_BLOCK_SEARCH_H
#define IMGSTAT_CODEC_BLOCK_SEARCH_H

#include "codec/bit_reader.h"

/* A block that may begin at `place`. The head of a stored block is followed by up to 7 bits without
 * meaning: where these are 0, it may begin at any place from `least` on. */
typedef struct BlockStart {
    uint64_t least, place;
} BlockStart;

/* Finds the first block from place *at on, before `end`, whose head is valid: one with codes of its
 * own, or a stored one that is empty or that such a block follows. Not found are the last block,
 * blocks of fixed codes and those that begin within the last 16 bytes. *at becomes where to search
 * on. at and end lie in one piece. Returns false if there is none, or *cancelled is set. */
bool block_search(const PieceRing *ring, uint64_t *at, uint64_t end, const atomic_bool *cancelled,
                  BlockStart *found);

#endif
