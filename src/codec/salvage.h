/* SPDX-License-Identifier: MIT */
/* salvage.h: decodes damaged pages as far as possible, and notes what is lost. */
#ifndef IMGSTAT_CODEC_SALVAGE_H
#define IMGSTAT_CODEC_SALVAGE_H

#include "codec/codec.h"

/* Clears the notes about a page. The number of rows in all pages stays. */
void salvage_forget(Salvage *salvage);

/* Fills rows as Codec.read_rows does. Samples that cannot be decoded become nodata, or 0 if the
 * page has no nodata value. */
ImgstatResult salvage_read_rows(Decoder *decoder, void *to, size_t pitch, uint32_t rows,
                                ImgstatError *err);

/* Warns of what has been lost. */
void salvage_warn(Decoder *decoder);

/* ---- For codecs that continue behind damage, while salvage_read_rows calls them ---- */

/* Returns whether a failure is damage of the file. */
bool salvage_is_damage(ImgstatResult result);

/* Fills `pixels` pixels from column x on of `rows` rows with the value of lost samples, in n
 * channels from `channel` on. The rows begin at `to` and have decoder_channels(decoder) channels.
 */
void salvage_fill(const Decoder *decoder, void *to, size_t pitch, uint32_t x, uint32_t pixels,
                  uint32_t rows, uint16_t channel, uint16_t n);

/* Notes that rows of a plane are lost. Planes are counted among all of the file. */
void salvage_lose_rows(Decoder *decoder, uint16_t plane, uint32_t row, uint32_t rows);

/* Notes that a tile of a plane is lost: tile k of those that begin in a row. */
void salvage_lose_tile(Decoder *decoder, uint16_t plane, uint32_t row, uint32_t k);

/* Notes that rows have samples that the decoder completed. */
void salvage_damage_rows(Decoder *decoder, uint32_t row, uint32_t rows);

/* ---- For those who use rows that were read ---- */

/* Returns whether samples of a band are lost. */
bool salvage_lost(const Decoder *decoder, const ImagePro *band);

/* Returns the band with a mask that leaves out pixels with a lost sample as well. mask: memory for
 * it, width bytes a row. */
ImagePro salvage_masked(const Decoder *decoder, const ImagePro *band, uint8_t *mask);

/* Overwrites lost samples of a band of whole pixels, alpha included. raw: the bits of the new
 * value.
 */
void salvage_overwrite(const Decoder *decoder, ImagePro *band, uint64_t raw);

/* Returns the bytes of the notes about the page selected. */
uint64_t salvage_bytes(const Decoder *decoder);

#endif
