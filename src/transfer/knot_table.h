/* SPDX-License-Identifier: MIT */
/* knot_table.h: where samples lie among the knots of a map. */
#ifndef IMGSTAT_TRANSFER_KNOT_TABLE_H
#define IMGSTAT_TRANSFER_KNOT_TABLE_H

#include "transfer/map_values.h"
#include "transfer/transfer.h"

typedef struct KnotValues {
    float before, at;
} KnotValues;

/* The keys from the first knot to the last are cut into stretches of equal length. A sample's
 * stretch says how many knots lie below it; how many of the stretch's own do, halving finds, in as
 * many steps for each sample. */
struct KnotTable {
    const Map *map;
    uint64_t first, last; /* keys of these knots */
    unsigned shift;       /* of a stretch, 2^shift keys */
    uint32_t half;        /* the first step: the largest power of two up to the most knots that
                             a stretch has */
    uint32_t *below;      /* a stretch each */
    bool is_float;        /* from 32-bit floats to what such hold: */
    float *x;             /* a knot each, then infinities for steps beyond */
    KnotValues *y;        /* a knot each, then one that continues the last */
    float least, most;    /* first and last knot */
    double lo, hi;        /* of the output range */
    OutputType output;
    double nodata; /* that stays; NaN: none */
};

#endif
