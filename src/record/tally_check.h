/* SPDX-License-Identifier: MIT */
/* tally_check.h: whether numbers from a file can be the tally of some samples. */
#ifndef IMGSTAT_RECORD_TALLY_CHECK_H
#define IMGSTAT_RECORD_TALLY_CHECK_H

#include "record/image_record.h"

/* Whether counts, extrema and sums can belong together. Sums of tallies that pass do not overflow
 * for RECORD_MOST_SAMPLES samples in all. Those of floats are checked again when records merge. */
bool tally_is_possible(ImgstatSample sample, const Tally *tally);

#endif
