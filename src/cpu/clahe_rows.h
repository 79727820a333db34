/* SPDX-License-Identifier: MIT */
/* clahe_rows.h: access to the samples of a channel in a band, for counting and mapping. */
#ifndef IMGSTAT_CPU_CLAHE_ROWS_H
#define IMGSTAT_CPU_CLAHE_ROWS_H

#include "transfer/clahe.h"

#include <string.h>

/* Returns the bits of sample i * step at `at`. bytes: 1 or 2 a sample. */
static inline uint32_t clahe_bits_at(const unsigned char *at, size_t i, size_t step, size_t bytes)
{
    uint16_t word;
    if (bytes == 1)
        return at[i * step];
    memcpy(&word, at + 2 * i * step, sizeof word);
    return word;
}

/* Returns the place of sample x of a channel in row y of a band. */
static inline const unsigned char *clahe_sample_at(const ImagePro *band, uint16_t channel, size_t x,
                                                   size_t y)
{
    return image_row(band, y) + (x * band->channels + channel) * (sample_bits(band->sample) / 8);
}

/* Prefetches pixels [x, x + n) of row y, as far as the image has them: hardware prefetchers miss
 * short parts of many rows, and pixels that will be written. Forced inline, because compilers
 * remove calls of functions that only prefetch. */
static inline __attribute__((always_inline)) void clahe_prefetch(const ImagePro *image, size_t x,
                                                                 size_t y, size_t n)
{
    enum { CACHE_LINE = 64 };
    if (y >= image->height || x >= image->width)
        return;
    const size_t pixel = image->channels * (sample_bits(image->sample) / 8);
    const unsigned char *const at = image_row(image, y) + x * pixel;
    const size_t bytes = (n < image->width - x ? n : image->width - x) * pixel;
    for (size_t i = 0; i < bytes; i += CACHE_LINE)
        __builtin_prefetch(at + i);
}

static inline bool clahe_is_masked(const ImagePro *band, size_t x, size_t y)
{
    return band->mask && !band->mask[y * band->mask_pitch + x];
}

static inline bool clahe_is_valid(const Clahe *clahe, const ImagePro *band, size_t x, size_t y,
                                  uint32_t key)
{
    if (clahe->has_nodata && key == clahe->nodata_key)
        return false;
    return !clahe_is_masked(band, x, y);
}

#endif
