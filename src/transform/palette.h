/* SPDX-License-Identifier: MIT */
/* palette.h: palette images: colours are changed, indices copied. */
#ifndef IMGSTAT_TRANSFORM_PALETTE_H
#define IMGSTAT_TRANSFORM_PALETTE_H

#include "codec/codec.h"
#include "device/device.h"
#include "transfer/transfer.h"

/* A second decoder of the same file that gives indices, and the colours by index. */
typedef struct Palette {
    Decoder *indices;
    ImagePro colours;  /* a row of 2^bits pixels of what the file's decoder gives */
    unsigned n_colors; /* of these, so many that the file has */
} Palette;

/* Whether the page selected is a palette image that `decoder` gives as colours. */
bool palette_used(const Decoder *decoder);
/* *out stays NULL where the page's indices cannot be copied as they are. */
ImgstatResult palette_open(Decoder *decoder, Palette **out, ImgstatError *err);
void palette_close(Palette *palette); /* accepts NULL */
/* Fails where an index of the band has no colour, as the decoder of colours does. */
ImgstatResult palette_check(const Palette *palette, const ImagePro *band, ImgstatError *err);
/* Maps the colours on `device`: *out becomes 2^bits reds, greens, blues, 0..65535, which the caller
 * frees; NULL where nothing changes. */
ImgstatResult palette_transfer(Device *device, const Palette *palette, const Transfer *transfer,
                               int16_t alpha, uint16_t **out, ImgstatError *err);

#endif
