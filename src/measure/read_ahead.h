/* SPDX-License-Identifier: MIT */
/* read_ahead.h: reads the bands of a page in order, while a thread decodes the next ones. */
#ifndef IMGSTAT_MEASURE_READ_AHEAD_H
#define IMGSTAT_MEASURE_READ_AHEAD_H

#include "codec/codec.h"

typedef struct ReadAhead ReadAhead;

/* Begins reading the page selected in bands of `rows` rows. first: the first row, which is the
 * decoder's next. last: the row behind the last one wanted. buffer: a host image for the page; it
 * has a slot for each band that fits, and band k goes to slot k % slots. threaded: a thread decodes
 * ahead if there are two slots or more. Only that thread uses the decoder until read_ahead_stop.
 * The caller's thread reports warnings, in read_ahead_next and read_ahead_stop. */
ImgstatResult read_ahead_start(Decoder *decoder, const ImagePro *buffer, uint32_t first,
                               uint32_t last, uint32_t rows, bool threaded, ReadAhead **out,
                               ImgstatError *err);

/* Returns the next band, which shares the buffer's memory. Call it once a band: the next band may
 * replace the one before. */
ImgstatResult read_ahead_next(ReadAhead *ahead, ImagePro *band, ImgstatError *err);

/* Accepts NULL. */
void read_ahead_stop(ReadAhead *ahead);

#endif
