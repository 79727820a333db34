/* SPDX-License-Identifier: MIT */
/* pixel.h: loads, stores and unpacks samples in host memory; rows of images and of masks. */
#ifndef IMGSTAT_BASE_PIXEL_H
#define IMGSTAT_BASE_PIXEL_H

#include "base/image.h"

#include <string.h>

/* Loads a sample of 1, 2, 4 or 8 bytes, zero-extended. */
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

/* Stores the low 1, 2, 4 or 8 bytes of raw. */
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

/* Copies every `step`th of n samples of 1, 2, 4 or 8 bytes to every `to_step`th; `to` may be
 * `from`.
 */
static inline void copy_samples(size_t bytes, const unsigned char *from, size_t step, size_t n,
                                unsigned char *to, size_t to_step)
{
    switch (bytes) { /* sizes that compilers know */
    case 1:
        for (size_t i = 0; i < n; i++)
            to[i * to_step] = from[i * step];
        break;
    case 2:
        for (size_t i = 0; i < n; i++)
            store_raw(to + i * to_step * 2, 2, load_raw(from + i * step * 2, 2));
        break;
    case 4:
        for (size_t i = 0; i < n; i++)
            store_raw(to + i * to_step * 4, 4, load_raw(from + i * step * 4, 4));
        break;
    default:
        for (size_t i = 0; i < n; i++)
            store_raw(to + i * to_step * 8, 8, load_raw(from + i * step * 8, 8));
    }
}

/* Unpacks n samples of 1, 2 or 4 bits, first bit highest, to a byte each. */
static inline void unpack_bits(unsigned bits, const uint8_t *from, uint8_t *to, size_t n)
{
    switch (bits) {
    case 1:
        for (size_t i = 0; i < n; i++)
            to[i] = from[i / 8] >> (7 - i % 8) & 1;
        break;
    case 2:
        for (size_t i = 0; i < n; i++)
            to[i] = from[i / 4] >> (6 - 2 * (i % 4)) & 3;
        break;
    default:
        for (size_t i = 0; i < n; i++)
            to[i] = (uint8_t)(i % 2 ? from[i / 2] & 15 : from[i / 2] >> 4);
    }
}

/* Returns row y of a host image, for writing. */
static inline unsigned char *row_of(ImagePro *image, size_t y)
{
    return (unsigned char *)image->host + y * image->pitch;
}

/* Returns row y of the mask of a host image. Returns NULL if the image has no mask. */
static inline const uint8_t *mask_row(const ImagePro *image, size_t y)
{
    return image->mask ? image->mask + y * image->mask_pitch : NULL;
}

#endif
