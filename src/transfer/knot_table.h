/* SPDX-License-Identifier: MIT */
/* knot_table.h: where samples lie among the knots of a map. */
#ifndef IMGSTAT_TRANSFER_KNOT_TABLE_H
#define IMGSTAT_TRANSFER_KNOT_TABLE_H

#include "transfer/map_values.h"
#include "transfer/transfer.h"

typedef struct KnotValues {
    float before, at;
} KnotValues;

/* A search table for the knots of a map. The keys from the first knot to the last are divided into
 * intervals of equal length. The table has the number of knots below each interval; halving finds
 * how many knots of the interval are below a sample, in the same number of steps for every sample.
 */
struct KnotTable {
    const Map *map;
    uint64_t first, last; /* keys of these knots */
    unsigned shift;       /* an interval has 2^shift keys */
    uint32_t half;        /* the first step: the largest power of two that is not above the most
                             knots of an interval */
    uint32_t *below;      /* one an interval */
    bool is_float;        /* from 32-bit floats to what such hold: */
    float *x;             /* a knot each, then infinities for steps beyond */
    KnotValues *y;        /* a knot each, then one that continues the last */
    float least, most;    /* first and last knot */
    double lo, hi;        /* of the output range */
    OutputType output;
    double nodata; /* that stays; NaN: none */
};

#endif
