/* SPDX-License-Identifier: MIT */
/* map_rows.h: a transfer over the pixels of host memory. */
#ifndef IMGSTAT_CPU_MAP_ROWS_H
#define IMGSTAT_CPU_MAP_ROWS_H

#include "base/pixel.h"
#include "transfer/transfer.h"

/* Maps a whole image or a band of it. `to` has from's geometry and the transfer's output type; it
 * may be `from` itself where the types are equal. Undefined and masked samples and alpha keep their
 * values, or become what transfer->holes makes of them. */
ImgstatResult transfer_apply(const Transfer *transfer, const ImagePro *from, int16_t alpha,
                             ImagePro *to, ImgstatError *err);

/* The luma of a band of at least three channels: one channel of the same sample type, made here,
 * with a mask that leaves out pixels with an undefined or masked colour sample. Any device can
 * measure it. */
ImgstatResult luma_plane(BufferCache *scratch, const ImagePro *from, ImagePro *out,
                         ImgstatError *err);

/* Gives the colours of `from` a new luma: `luma` is one channel of to's type, and where its mask is
 * 0 a pixel stays as it is. transfer: its range is that of the colours, and it maps the samples
 * that pass. alpha: -1 where there is none. */
ImgstatResult luma_apply(const ImagePro *from, const ImagePro *luma, const Transfer *transfer,
                         int16_t alpha, ImagePro *to, ImgstatError *err);

/* ---- Shared within cpu/ ---------------------------------------------------------------------- */

/* transfer_check_output for two images in host memory. */
ImgstatResult apply_check_pair(const ImagePro *from, ImgstatSample sample, const ImagePro *to,
                               ImgstatError *err);
/* Maps n samples, every `step`th, of any type to any through knots, whose table Transfer has. */
void apply_knots(const KnotTable *table, const unsigned char *from, size_t step, size_t n,
                 unsigned char *to);
/* Whether cpu/map_power.c maps samples of this map: a power law, of types that doubles hold. */
bool map_power_fits(const Map *map);
/* Maps n samples, every `step`th, many at a time; knots: the table of a map that has one, else
 * NULL. Returns false, and does nothing, where no loop does that. */
bool map_samples(const Map *map, const KnotTable *knots, const unsigned char *from, size_t step,
                 size_t n, unsigned char *to);
/* transfer_apply of a luma transfer, once everything is checked. */
void luma_transfer(const Transfer *transfer, const ImagePro *from, int16_t alpha, ImagePro *to);

#endif
