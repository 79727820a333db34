/* SPDX-License-Identifier: MIT */
/* ends.h: how many integers lie at the ends of full scale: clipped ones, say. */
#ifndef IMGSTAT_MEASURE_ENDS_H
#define IMGSTAT_MEASURE_ENDS_H

#include "device/read_request.h"
#include "record/record.h"

/* Samples of a wide type at an end: those between the edges. The largest key has no edge behind it:
 * then the others are counted. */
typedef struct EndCount {
    uint64_t edge[2], bin;
    bool read;
} EndCount;

/* Adds to ranges what counts the ends at which a channel of wide integers may have samples. ends:
 * two, zeroed, that live until the pixels were read. Returns how many were added, at most two. */
size_t ends_list(const Record *record, uint8_t bits, uint16_t channel, EndCount *ends,
                 RangeCount *ranges);

/* Sets stats->low and stats->high of a channel of integers with samples. ends: NULL, or what was
 * read. */
void ends_fill(const Record *record, uint8_t bits, uint16_t channel, const EndCount *ends,
               ImgstatStats *stats);

#endif
