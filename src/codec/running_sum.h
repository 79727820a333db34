/* SPDX-License-Identifier: MIT */
/* running_sum.h: from differences to samples: PNG's filter Sub and TIFF's predictor 2. Each word of
 * a row of n bytes becomes the sum of itself and of all words before it in steps of `step` words.
 */
#ifndef IMGSTAT_CODEC_RUNNING_SUM_H
#define IMGSTAT_CODEC_RUNNING_SUM_H

#include <stddef.h>
#include <stdint.h>

/* Words of one byte. */
void running_sum8(uint8_t *row, size_t n, size_t step);

/* Words of two bytes, in host order, at any address. */
void running_sum16(uint8_t *row, size_t n, size_t step);

/* Words of four bytes, in host order, at any address. */
void running_sum32(uint8_t *row, size_t n, size_t step);

/* Words of eight bytes, in host order, at any address. */
void running_sum64(uint8_t *row, size_t n, size_t step);

#endif
