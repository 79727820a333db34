/* SPDX-License-Identifier: MIT */
/* clahe_map16.h: 16-bit keys of a row between the tables of four tiles: the bits of clahe_position,
 * clahe_share and clahe_key, many at a time. */
#ifndef IMGSTAT_CPU_CLAHE_MAP16_H
#define IMGSTAT_CPU_CLAHE_MAP16_H

#include "transfer/clahe_math.h"

/* Pixels of a row that lie between the same four tiles. */
typedef struct ClaheWords {
    const uint32_t *table[4]; /* upper left, upper right, lower left, lower right: of CLAHE_NODES,
                                 and one more that is read, and weighs nothing */
    const uint64_t *row[2];   /* left, right; clahe_words_key does not need them */
    uint32_t black, white;    /* black < white: at most 65,535; keys beyond are taken for these */
    uint64_t step;            /* clahe_step of them */
    uint32_t y_weight;
    uint64_t lo_key, span; /* of the output; span <= 65,535 */
} ClaheWords;

/* Makes a row's table of CLAHE_NODES from the shares of two tiles: in the lower 32 bits what the
 * two weigh together, in units of 2^-31 of all, in the upper ones what the next node has more; the
 * last node: 0. */
typedef void ClaheRow16(const uint32_t *upper, const uint32_t *lower, uint32_t y_weight,
                        uint64_t *row);
/* Maps n keys by clahe_words_key, from the tables of the row; where these are too coarse, from the
 * four. blend: where each lies across. */
typedef void ClaheMap16(const ClaheWords *words, const ClaheBlend *blend, const uint16_t *key,
                        size_t n, uint16_t *out);

/* Computes clahe_position by a product in units of 2^-32. The product is too large by less than
 * 2^16 units; every quotient by a number below 2^16 lies farther than that below the next integer.
 */
static inline uint32_t clahe_words_position(const ClaheWords *words, uint32_t key)
{
    key = key < words->black ? words->black : key > words->white ? words->white : key;
    return (uint32_t)((key - words->black) * words->step >> 32);
}

/* clahe_share: shares rise from node to node, and after the last one the part is 0. */
static inline uint64_t clahe_words_share(const uint32_t *node, uint64_t part)
{
    const uint64_t rise = node[1] - node[0];
    return node[0] + ((rise * part + CLAHE_WEIGHT / 2) / CLAHE_WEIGHT);
}

/* The output of one key, from the four tables. */
static inline uint16_t clahe_words_key(const ClaheWords *w, uint32_t x_weight, uint32_t key)
{
    const uint32_t position = clahe_words_position(w, key);
    uint64_t share[4];
    for (int t = 0; t < 4; t++)
        share[t] =
            clahe_words_share(w->table[t] + position / CLAHE_WEIGHT, position % CLAHE_WEIGHT);
    return (uint16_t)clahe_key(share, x_weight, w->y_weight, w->lo_key, w->span);
}

#endif
