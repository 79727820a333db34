/* SPDX-License-Identifier: MIT */
/* clahe_map16.h: 16-bit keys of a row between the tables of four tiles: the bits of clahe_position,
 * clahe_share and clahe_key, many at a time. */
#ifndef IMGSTAT_CPU_CLAHE_MAP16_H
#define IMGSTAT_CPU_CLAHE_MAP16_H

#include "transfer/clahe_math.h"

/* Pixels of a row that lie between the same four tiles. */
typedef struct ClaheWords {
    const uint32_t *table[4]; /* upper left, upper right, lower left, lower right: CLAHE_NODES
                                 entries and one more, which is read with weight 0 */
    const uint64_t *row[2];   /* tables of the row, left and right; not used by clahe_words_key */
    uint32_t black, white;    /* black < white <= 65,535; keys beyond are clamped to these */
    uint64_t step;            /* clahe_step(black, white) */
    uint32_t y_weight;
    uint64_t lo_key, span; /* output range; span <= 65,535 */
} ClaheWords;

/* Makes a row's table of CLAHE_NODES entries from the shares of two tiles. Lower 32 bits: their
 * weighted sum, in units of 2^-31. Upper 32 bits: the difference to the next node; 0 for the
 * last. */
typedef void ClaheRow16(const uint32_t *upper, const uint32_t *lower, uint32_t y_weight,
                        uint64_t *row);
/* Maps n keys as clahe_words_key does: from the tables of the row, or from the four tables where
 * these are too coarse. blend: weight of each pixel across. */
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

/* Computes clahe_share. Shares rise from node to node, and the fraction behind the last node is
 * 0. */
static inline uint64_t clahe_words_share(const uint32_t *node, uint64_t part)
{
    const uint64_t rise = node[1] - node[0];
    return node[0] + ((rise * part + CLAHE_WEIGHT / 2) / CLAHE_WEIGHT);
}

/* Returns the output of one key, from the four tables. */
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
