/* SPDX-License-Identifier: MIT */
/* map_rows.h: a transfer over the pixels of host memory. */
#ifndef IMGSTAT_CPU_MAP_ROWS_H
#define IMGSTAT_CPU_MAP_ROWS_H

#include "base/pixel.h"
#include "transfer/transfer.h"

/* Maps a whole image or a band of it. `to` has from's geometry and the transfer's output type; it
 * may be `from` itself where the types are equal. Undefined and masked samples and alpha keep their
 * values. */
ImgstatResult transfer_apply(const Transfer *transfer, const ImagePro *from, int16_t alpha,
                             ImagePro *to, ImgstatError *err);

/* The luma of a band of at least three channels: one channel of the same sample type, made here,
 * with a mask that leaves out pixels with an undefined or masked colour sample. Any device can
 * measure it. */
ImgstatResult luma_plane(BufferCache *scratch, const ImagePro *from, ImagePro *out,
                         ImgstatError *err);

/* Gives the colours of `from` a new luma: `luma` is one channel of to's type, and where its mask is
 * 0 a pixel stays as it is. transfer: its range is that of the colours, and it tells what becomes
 * of what stays. alpha: -1 where there is none. */
ImgstatResult luma_apply(const ImagePro *from, const ImagePro *luma, const Transfer *transfer,
                         int16_t alpha, ImagePro *to, ImgstatError *err);

/* ---- Shared within cpu/ ---------------------------------------------------------------------- */

/* transfer_check_output for two images in host memory. */
ImgstatResult apply_check_pair(const ImagePro *from, ImgstatSample sample, const ImagePro *to,
                               ImgstatError *err);
/* cpu/map_linear.c: n samples, every `step`th, of a straight line, none of them masked: the bits of
 * map_raw. False, and nothing done, where the map is no line, or one of types that doubles do not
 * hold. */
bool apply_line(const Map *map, const unsigned char *from, size_t step, size_t n,
                unsigned char *to);
/* cpu/map_knots.c: of any type to any through knots, whose table Transfer has. */
void apply_knots(const KnotTable *table, const unsigned char *from, size_t step, size_t n,
                 unsigned char *to);
/* cpu/map_power.c: of a power law; false for other maps, and types that doubles do not hold. */
bool apply_power(const Map *map, const unsigned char *from, size_t step, size_t n,
                 unsigned char *to);
typedef void ApplyPower(const Map *map, const unsigned char *from, size_t step, size_t n,
                        unsigned char *to);
ApplyPower apply_power_portable;
#if defined(__x86_64__)
ApplyPower apply_power_avx2, apply_power_avx512;
#endif
/* Whichever of these does map m of a transfer; false, and nothing done, where none does. */
bool apply_loops(const Transfer *transfer, size_t m, const unsigned char *from, size_t step,
                 size_t n, unsigned char *to);
/* transfer_apply of a luma transfer, once everything is checked. */
void luma_transfer(const Transfer *transfer, const ImagePro *from, int16_t alpha, ImagePro *to);

#endif
