/* SPDX-License-Identifier: MIT */
/* reference.h: measuring sample by sample, the specification of every faster loop. */
#ifndef IMGSTAT_CPU_REFERENCE_H
#define IMGSTAT_CPU_REFERENCE_H

#include "base/pixel.h"
#include "cpu/cpu.h"

/* Returns whether a sample is finite and not nodata. */
static inline bool cpu_valid(const ImagePro *image, uint64_t key)
{
    if (image->has_nodata && key == image->nodata_key)
        return false;
    return !sample_is_float(image->sample) || (key > sample_key_infinity(image->sample, true) &&
                                               key < sample_key_infinity(image->sample, false));
}

/* Empties a tally, for adding to it: its extrema become the identities of min and max. */
void tally_begin(Tally *tally);

/* Normalizes the sums, and gives an empty tally the extrema that records have. */
void tally_end(Tally *tally);

/* Adds the terms of a piece with n > 0 valid samples (docs/float-sums.md, step 5). */
void piece_add(Tally *tally, uint32_t n, double pivot, double d, double q);

/* Adds a rectangle to one tally a channel (begun) and, where bins is not NULL, to channels *
 * sample_record_bins(sample) bins by key. */
void reference_measure(const CpuRect *rect, Tally *tally, uint64_t *bins);

#endif
