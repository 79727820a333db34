/* SPDX-License-Identifier: MIT */
/* match_gain.h: estimates whether a search for matches would compress bytes better than runs and
 * Huffman codes do. On filtered rows of photographs it does not; on drawings it does, by far. */
#ifndef IMGSTAT_CODEC_MATCH_GAIN_H
#define IMGSTAT_CODEC_MATCH_GAIN_H

#include "codec/deflate_coder.h"

/* What a thread needs. */
typedef struct MatchGain {
    uint32_t bits[(8 << 10) + 1]; /* of the sample's first bytes, coded by runs */
    uint16_t last[4096];          /* by the hash of four bytes: where they last began; 0 at first */
} MatchGain;

/* Returns whether matches would save a twelfth or more of what runs take, judging by up to 8 KiB
 * in the middle of n bytes; fast: a fifth or more, by up to 2 KiB. docs/deflate-coder.md has the
 * rule. */
bool match_gain_pays(MatchGain *gain, DeflateCoder *coder, const uint8_t *from, size_t n,
                     bool fast);

#endif
