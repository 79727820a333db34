/* SPDX-License-Identifier: MIT */
/* predictor.h: TIFF's predictors, from differences to samples and back (TIFF 6.0 section 14; Adobe
 * Photoshop TIFF Technical Note 3). */
#ifndef IMGSTAT_TIFF_PREDICTOR_H
#define IMGSTAT_TIFF_PREDICTOR_H

#include "codec/tiled_page.h"
#include "tiff/encoder.h"
#include "tiff/layout.h"

/* Returns a TilePrediction. */
static inline uint8_t tiff_prediction(uint16_t predictor)
{
    return predictor == PREDICTOR_HORIZONTAL      ? TILE_DIFFERENCES
           : predictor == PREDICTOR_FLOATINGPOINT ? TILE_FLOATS
                                                  : TILE_SAMPLES;
}

/* Returns whether decompressed bytes of a page can be made the samples that libtiff makes of them.
 */
bool tiff_predictor_known(const TiffLayout *layout);

/* Makes rows of decompressed bytes samples of this machine, in place. *scratch begins as NULL; the
 * caller frees it. Returns false if memory runs out. */
bool tiff_predictor_decode(const TiffLayout *layout, uint8_t *to, size_t bytes, uint8_t **scratch);

/* Predictor 3: makes a row of n bytes, floats of `bytes` bytes whose bytes lie in planes, highest
 * first, floats. scratch: n bytes. */
void tiff_predictor_join_floats(uint8_t *row, size_t n, size_t bytes, size_t step,
                                uint8_t *scratch);

/* Returns whether tiles can be written with the shape's predictor without libtiff. */
bool tiff_predictor_writable(const TiffShape *shape);

/* Puts differences in place of the samples of a row, both in host order. scratch: row_bytes,
 * aligned as the row is. */
void tiff_predictor_encode(const TiffShape *shape, uint8_t *row, uint8_t *scratch);

#endif
