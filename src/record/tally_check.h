/* SPDX-License-Identifier: MIT */
/* tally_check.h: whether what a file says can be the tally of any samples. */
#ifndef IMGSTAT_RECORD_TALLY_CHECK_H
#define IMGSTAT_RECORD_TALLY_CHECK_H

#include "record/image_record.h"

/* Whether counts, extrema and sums do not contradict each other. Sums of tallies that pass do not
 * wrap around while these count at most RECORD_MOST_SAMPLES samples together; those of floats are
 * checked again when records merge. */
bool tally_is_possible(ImgstatSample sample, const Tally *tally);

#endif
