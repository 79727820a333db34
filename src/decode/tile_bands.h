/* SPDX-License-Identifier: MIT */
/* tile_bands.h: a large page of compressed tiles that a device decodes in pieces: only compressed
 * bytes move to it. */
#ifndef IMGSTAT_DECODE_TILE_BANDS_H
#define IMGSTAT_DECODE_TILE_BANDS_H

#include "codec/codec.h"
#include "device/device.h"

typedef struct TileBands TileBands;

/* Whether the page that is selected is large, and such as devices decode. */
bool tile_bands_possible(Decoder *decoder, uint32_t unit);

/* Begins to decode the page that is selected, in bands whose rows are a multiple of unit, and of
 * the rows of a tile. *out becomes NULL if the processor is to decode it. */
ImgstatResult tile_bands_open(Device *device, Decoder *decoder, uint32_t unit, TileBands **out,
                              ImgstatError *err);

/* Returns the next band, in the device's memory: it stays until the call after the next one. Its
 * height is 0 behind the last band. *decoded becomes false if the processor must decode these rows:
 * then the band has no pixels. */
ImgstatResult tile_bands_next(TileBands *bands, ImagePro *band, bool *decoded, ImgstatError *err);

/* Waits until the device is done with it. Accepts NULL. */
void tile_bands_close(TileBands *bands);

#endif
