/* SPDX-License-Identifier: MIT */
/* clahe_map16.h: 16-bit keys of a row between the tables of four tiles: the bits of clahe_position,
 * clahe_share and clahe_key, many at a time. */
#ifndef IMGSTAT_CPU_CLAHE_MAP16_H
#define IMGSTAT_CPU_CLAHE_MAP16_H

#include "base/cpu_features.h"
#include "transfer/clahe_math.h"

/* Pixels of a row that lie between the same four tiles. */
typedef struct ClaheWords {
    const uint32_t *table[4]; /* upper left, upper right, lower left, lower right: of CLAHE_NODES,
                                 and one more that is read, and weighs nothing */
    const uint64_t *row[2];   /* left, right; clahe_words_exact does not need them */
    uint32_t black, white;    /* black < white: at most 65,535; keys beyond are taken for these */
    uint64_t step;            /* clahe_words_step of them */
    uint32_t y_weight;
    uint64_t lo_key, span; /* of the output; span <= 65,535 */
} ClaheWords;

/* Maps n keys one after another; blend: where each lies across. */
void clahe_words_exact(const ClaheWords *words, const ClaheBlend *blend, const uint16_t *key,
                       size_t n, uint16_t *out);

/* Makes a row's table of CLAHE_NODES from the shares of two tiles. */
typedef void ClaheWordsRow(const uint32_t *upper, const uint32_t *lower, uint32_t y_weight,
                           uint64_t *row);

typedef struct ClaheWordsLoops {
    /* What the two weigh together, of which 2^31 are all, and 2^32 times what the next node has
     * more; the last: 0. */
    ClaheWordsRow *row;
    /* clahe_words_exact, from the tables of the row; where these are too coarse, from the four. */
    void (*map)(const ClaheWords *words, const ClaheBlend *blend, const uint16_t *key, size_t n,
                uint16_t *out);
} ClaheWordsLoops;

const ClaheWordsLoops *clahe_words_of(CpuLevel level);
/* Those for cpu_features_level(). */
const ClaheWordsLoops *clahe_words(void);

/* From key to key the position rises by so many 2^-32, rounded up: at most 255 * 2^48. */
static inline uint64_t clahe_words_step(uint32_t black, uint32_t white)
{
    const uint64_t range = white - black;
    return (((uint64_t)(CLAHE_NODES - 1) * CLAHE_WEIGHT << 32) + range - 1) / range;
}

/* clahe_position. The product is too large by less than 2^16, of which 2^32 are one, and so by less
 * than what any quotient by a number below 2^16 is below the next integer. */
static inline uint32_t clahe_words_position(const ClaheWords *words, uint32_t key)
{
    key = key < words->black ? words->black : key > words->white ? words->white : key;
    return (uint32_t)((key - words->black) * words->step >> 32);
}

#endif
