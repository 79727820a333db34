/* SPDX-License-Identifier: MIT */
/* unfilter.h: from differences back to samples: PNG's row filters and TIFF's predictors. */
#ifndef IMGSTAT_PNG_UNFILTER_H
#define IMGSTAT_PNG_UNFILTER_H

#include <stddef.h>
#include <stdint.h>

/* Each of n bytes, or host words of n / 2, 4, 8, becomes the sum of itself and of what precedes it
 * in steps of `step` words: PNG's Sub, TIFF's predictor 2. */
void undo_sub8(uint8_t *row, size_t n, size_t step);
void undo_sub16(uint8_t *row, size_t n, size_t step);
void undo_sub32(uint8_t *row, size_t n, size_t step);
void undo_sub64(uint8_t *row, size_t n, size_t step);

/* TIFF's predictor 3: a row of n bytes, floats of `bytes` bytes whose bytes lie in planes, highest
 * first. scratch: n bytes. */
void undo_float(uint8_t *row, size_t n, size_t bytes, size_t step, uint8_t *scratch);

/* One row of a PNG of n bytes: `from` to `to`, which do not overlap, by filter 0 to 4. above: the
 * row above as it was given, zeros for none. pixel_bytes: 1, 2, 3, 4, 6 or 8. */
void undo_png(unsigned filter, const uint8_t *from, const uint8_t *above, uint8_t *to, size_t n,
              size_t pixel_bytes);

#endif
