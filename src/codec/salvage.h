/* SPDX-License-Identifier: MIT */
/* salvage.h: samples of damaged pages. */
#ifndef IMGSTAT_CODEC_SALVAGE_H
#define IMGSTAT_CODEC_SALVAGE_H

#include "codec/codec.h"

/* Forgets what is lost of a page, but not the number of rows of all pages. */
void salvage_forget(Salvage *salvage);

/* Fills rows from next_row on, which stays, as Codec.read_rows does. Samples that cannot be decoded
 * become nodata, or 0 where the page has none. */
ImgstatResult salvage_read_rows(Decoder *decoder, void *to, size_t pitch, uint32_t rows,
                                ImgstatError *err);

/* Warns of what is lost so far. */
void salvage_warn(Decoder *decoder);

/* ---- For codecs that go on behind damage themselves, while salvage_read_rows calls them ---- */

/* Returns whether a failure is damage of the file. */
bool salvage_is_damage(ImgstatResult result);

/* Fills pixels from column x on with what lost samples are: n channels of `rows` rows that begin at
 * `to`, which have decoder_channels(decoder). */
void salvage_fill(const Decoder *decoder, void *to, size_t pitch, uint32_t x, uint32_t pixels,
                  uint32_t rows, uint16_t channel, uint16_t n);

/* Notes that rows of a plane, counted among all of the file, are lost. */
void salvage_lose_rows(Decoder *decoder, uint16_t plane, uint32_t row, uint32_t rows);

/* Notes that a tile of a plane is lost: that of column k of the tiles which begin in that row. */
void salvage_lose_tile(Decoder *decoder, uint16_t plane, uint32_t row, uint32_t k);

/* Notes that rows have samples that the decoder made up. */
void salvage_damage_rows(Decoder *decoder, uint32_t row, uint32_t rows);

/* ---- For those who use rows that were read ---- */

/* Returns whether samples of a band are lost. */
bool salvage_lost(const Decoder *decoder, const ImagePro *band);

/* Clears the mask of a band, width bytes a row, where a sample of a pixel is lost. */
void salvage_mask(const Decoder *decoder, const ImagePro *band, uint8_t *mask);

/* Gives lost samples of a band of whole pixels that value, as bytes of its sample type; alpha
 * as well. */
void salvage_overwrite(const Decoder *decoder, ImagePro *band, uint64_t raw);

/* Returns the bytes that notes about the page selected take. */
uint64_t salvage_bytes(const Decoder *decoder);

#endif
