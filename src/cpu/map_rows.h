/* SPDX-License-Identifier: MIT */
/* map_rows.h: a transfer over the pixels of host memory. */
#ifndef IMGSTAT_CPU_MAP_ROWS_H
#define IMGSTAT_CPU_MAP_ROWS_H

#include "base/image.h"
#include "transfer/check.h"

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

/* ---- Shared by cpu/map_rows.c, luma.c and the devices
 * --------------------------------------------- */

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

static inline uint64_t load_raw(const unsigned char *at, size_t bytes)
{
    uint64_t raw = 0;
    switch (bytes) {
    case 1:
        return *at;
    case 2: {
        uint16_t v;
        memcpy(&v, at, sizeof v);
        return v;
    }
    case 4: {
        uint32_t v;
        memcpy(&v, at, sizeof v);
        return v;
    }
    default:
        memcpy(&raw, at, sizeof raw);
        return raw;
    }
}

static inline void store_raw(unsigned char *at, size_t bytes, uint64_t raw)
{
    switch (bytes) {
    case 1:
        *at = (unsigned char)raw;
        return;
    case 2: {
        const uint16_t v = (uint16_t)raw;
        memcpy(at, &v, sizeof v);
        return;
    }
    case 4: {
        const uint32_t v = (uint32_t)raw;
        memcpy(at, &v, sizeof v);
        return;
    }
    default:
        memcpy(at, &raw, sizeof raw);
    }
}

static inline unsigned char *row_of(ImagePro *image, size_t y)
{
    return (unsigned char *)image->host + y * image->pitch;
}

static inline const uint8_t *mask_row(const ImagePro *image, size_t y)
{
    return image->mask ? image->mask + y * image->mask_pitch : NULL;
}

#endif
