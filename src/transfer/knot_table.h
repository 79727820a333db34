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
    uint64_t first, last; /* keys of the first and the last knot */
    unsigned shift;       /* an interval has 2^shift keys */
    uint32_t half;        /* the first step: the largest power of two that is not above the most
                             knots of an interval */
    uint32_t *below;      /* number of knots below each interval */
    bool is_float;        /* 32-bit floats mapped to values of that type; then: */
    float *x;             /* value of each knot, then infinities that the last steps may read */
    KnotValues *y;        /* output of each knot, then one that continues the last */
    float least, most;    /* values of the first and the last knot */
    double lo, hi;        /* output range */
    OutputType output;
    double nodata; /* nodata value, which passes through; NaN: none */
};

#endif
