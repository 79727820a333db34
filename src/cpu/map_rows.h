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

/* Creates the luma of a band of at least three channels: one channel of the same sample type. Its
 * mask leaves out pixels with an undefined or masked colour sample. */
ImgstatResult luma_plane(BufferCache *scratch, const ImagePro *from, ImagePro *out,
                         ImgstatError *err);

/* Scales the colours of `from` to a new luma. luma: one channel of to's type; pixels where its mask
 * is 0 stay. transfer: its range is that of the colours, and it maps samples that pass. alpha: -1:
 * none. */
ImgstatResult luma_apply(const ImagePro *from, const ImagePro *luma, const Transfer *transfer,
                         int16_t alpha, ImagePro *to, ImgstatError *err);

/* ---- Shared within cpu/ ---------------------------------------------------------------------- */

/* Works as transfer_check_output, and fails if an image is not in host memory. */
ImgstatResult apply_check_pair(const ImagePro *from, ImgstatSample sample, const ImagePro *to,
                               ImgstatError *err);

/* Maps n samples, every `step`th, through knots. All types are possible. */
void apply_knots(const KnotTable *table, const unsigned char *from, size_t step, size_t n,
                 unsigned char *to);

/* Returns whether cpu/map_power.c maps samples of this map: a power law, of types that doubles
 * hold. */
bool map_power_fits(const Map *map);

/* Maps n samples, every `step`th, by a fast loop. knots: the table of the map, or NULL if it has
 * none. Returns false, and does nothing, if there is no such loop. */
bool map_samples(const Map *map, const KnotTable *knots, const unsigned char *from, size_t step,
                 size_t n, unsigned char *to);

/* The same by any loop. */
void map_all_samples(const Map *map, const KnotTable *knots, const unsigned char *from, size_t step,
                     size_t n, unsigned char *to);

/* Applies a luma transfer. The arguments have been checked. */
void luma_transfer(const Transfer *transfer, const ImagePro *from, int16_t alpha, ImagePro *to);

#endif
