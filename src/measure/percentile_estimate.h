/* SPDX-License-Identifier: MIT */
/* percentile_estimate.h: where the order statistics of a page will lie, guessed from a few of its
 * rows, so that the first read need not count by leading bits: it sets the keys there aside, and
 * counts those below them. */
#ifndef IMGSTAT_MEASURE_PERCENTILE_ESTIMATE_H
#define IMGSTAT_MEASURE_PERCENTILE_ESTIMATE_H

#include "device/read_request.h"

typedef struct Guess {
    CandidateKeys aside;
    uint64_t *keys; /* room for all of them */
} Guess;

/* Whether what is asked of such pages is order statistics alone, which a guess can save reads. */
bool guess_helps(const ImgstatMeasure *how, ImgstatSample sample, uint16_t channels);
/* sample: the settled record of one in `every` rows, with bins. An empty guess where too many keys
 * lie near an order statistic, or memory is out. */
void guess_make(Guess *guess, const Record *sample, uint32_t every, const ImgstatMeasure *how,
                BufferCache *scratch);
void guess_release(Guess *guess); /* contents only */

/* After the read that set keys aside, of which `record` is: whether they hold every order statistic
 * that is asked for. Where they do not, the read is to be made again, with bins. */
bool guess_holds(const Guess *guess, const Record *record, const ImgstatMeasure *how);
/* The keys of the samples of two ranks (0: smallest), of those that a guess which holds has. */
void guess_keys(const Guess *guess, uint16_t channel, uint64_t low, uint64_t high,
                uint64_t keys[2]);

#endif
