/* SPDX-License-Identifier: MIT */
/* read_ahead.h: the bands of a page one after the other, the next one decoded meanwhile. */
#ifndef IMGSTAT_MEASURE_READ_AHEAD_H
#define IMGSTAT_MEASURE_READ_AHEAD_H

#include "codec/codec.h"

typedef struct ReadAhead ReadAhead;

/* Bands of `rows` rows of the page that `decoder` has selected, from the row `first` on, which is
 * the decoder's next, until one has the row before `last`, into `buffer`, a host image made for the
 * page: band k goes to the rows from k % slots * rows on, where slots is how many bands fit. With
 * two slots or more, and if `threaded`, a thread decodes what comes next; until read_ahead_stop the
 * decoder is that thread's. The caller's thread reports its warnings, in read_ahead_next and
 * read_ahead_stop. */
ImgstatResult read_ahead_start(Decoder *decoder, const ImagePro *buffer, uint32_t first,
                               uint32_t last, uint32_t rows, bool threaded, ReadAhead **out,
                               ImgstatError *err);
/* The next band, which shares the buffer's memory. The one given before is done with: its slot may
 * be decoded into from now on. Called once a band. */
ImgstatResult read_ahead_next(ReadAhead *ahead, ImagePro *band, ImgstatError *err);
void read_ahead_stop(ReadAhead *ahead); /* accepts NULL */

#endif
