/* SPDX-License-Identifier: MIT */
/* guess.h: where the order statistics of a page will lie, guessed from a few of its rows, so that
 * the first read can set aside the keys that a further read would look for. */
#ifndef IMGSTAT_GUESS_H
#define IMGSTAT_GUESS_H

#include "pass.h"

typedef struct Guess {
    KeyAside aside;
    uint64_t *keys; /* room for all of them */
    size_t room;
} Guess;

/* Whether what is asked of such pages is order statistics alone, which a guess can save reads. */
bool guess_helps(const ImgstatMeasure *how, ImgstatSample sample, uint16_t channels);
/* sample: the settled record of one in `every` rows. An empty guess where too many keys lie near an
 * order statistic, or memory is out. */
void guess_make(Guess *guess, const Record *sample, uint32_t every, const ImgstatMeasure *how,
                Scratch *scratch);
void guess_release(Guess *guess); /* contents only */

/* Does what the pass asks for with the keys that were set aside; false, and nothing done, where
 * they do not hold all of it. */
bool guess_answer(const Guess *guess, ImgstatSample sample, const Pass *pass);

#endif
