/* SPDX-License-Identifier: MIT */
/* extrema_position.c: where the extrema of an image first occur. */
#include "cpu/extrema_position.h"

#include "base/sample.h"
#include "cpu/loop_common.h"
#include "cpu/reference.h"

/* Samples that are searched at once for one that is there. */
enum { FIND_BLOCK = 256 };

/* The raster index of pixel i of a block. */
static uint64_t place(const CpuBlock *block, size_t i)
{
    if (block->gap == 0 || i < block->left)
        return block->at + i;
    return block->at + i + ((i - block->left) / block->width + 1) * block->gap;
}

CpuBlock block_part(const CpuBlock *block, size_t i, size_t n, size_t pixel_bytes)
{
    CpuBlock part = *block;
    part.pixels += i * pixel_bytes;
    part.mask = block->mask ? block->mask + i : NULL;
    part.at = place(block, i);
    part.n = n;
    if (block->gap)
        part.left = i < block->left ? block->left - (uint32_t)i
                                    : block->width - (uint32_t)((i - block->left) % block->width);
    return part;
}

/* The index of the first of n bytes, `stride` apart, that equals `byte` and is not masked; n if
 * none does. */
static size_t find_byte(const unsigned char *at, size_t n, size_t stride, const uint8_t *mask,
                        unsigned char byte)
{
    size_t i = 0;
    if (stride == 1 && !mask) {
        const unsigned char *const found = memchr(at, byte, n);
        return found ? (size_t)(found - at) : n;
    }
    while (i < n && (at[i * stride] != byte || (mask && !mask[i])))
        i++;
    return i;
}

/* Some of the first samples at x, n at most, that do not have this key. */
static size_t skip_words(ImgstatSample sample, const Mem16 *x, size_t n, uint64_t key)
{
    const uint16_t word = (uint16_t)sample_raw(sample, key);
    /* -0 has the key of +0 */
    const uint16_t care = sample == IMGSTAT_F16 && word == 0 ? 0x7FFF : 0xFFFF;
    size_t done = 0;
    for (; n - done >= FIND_BLOCK; done += FIND_BLOCK) {
        uint16_t found = 0;
        for (size_t i = 0; i < FIND_BLOCK; i++)
            found |= ((x[done + i] ^ word) & care) == 0;
        if (found)
            break;
    }
    return done;
}

/* The raster index of the first sample of the block with this key; there is one. */
static uint64_t find(const ImagePro *image, const CpuBlock *block, uint16_t channel, uint64_t key)
{
    const size_t bytes = sample_bits(image->sample) / 8, stride = bytes * image->channels;
    const unsigned char *const at = block->pixels + channel * bytes;
    const size_t last = block->n - 1;
    size_t i = 0;
    if (bytes == 1)
        return place(block, find_byte(at, block->n, stride, block->mask,
                                      (unsigned char)sample_raw(image->sample, key)));
    while (i < last) {
        if (bytes == 2)
            i += skip_words(image->sample, (const Mem16 *)(const void *)(at + i * stride),
                            (last - i) * image->channels, key) /
                 image->channels;
        const size_t end = i + least(last - i, FIND_BLOCK);
        for (; i < end; i++)
            if (sample_key(image->sample, load_raw(at + i * stride, bytes)) == key &&
                (!block->mask || block->mask[i]))
                return place(block, i);
    }
    return place(block, i);
}

void extrema_begin(CpuExtrema *extrema, uint16_t channels)
{
    for (uint16_t c = 0; c < channels; c++)
        extrema[c] = (CpuExtrema){.min = UINT64_MAX};
}

void extrema_add(CpuExtrema *extrema, const CpuBlock *block, uint64_t min, uint64_t max)
{
    if (min > max)
        return;
    if (extrema->min_block.n == 0 || min < extrema->min) {
        extrema->min = min;
        extrema->min_block = *block;
    }
    if (extrema->max_block.n == 0 || max > extrema->max) {
        extrema->max = max;
        extrema->max_block = *block;
    }
}

void extrema_end(CpuExtrema *extrema, const ImagePro *image, Tally *tally)
{
    for (uint16_t c = 0; c < image->channels; c++, extrema++, tally++) {
        const uint64_t min = extrema->min, max = extrema->max;
        if (extrema->max_block.n == 0)
            continue;
        if (min < tally->min_key ||
            (min == tally->min_key && extrema->min_block.at < tally->min_at)) {
            const uint64_t at = find(image, &extrema->min_block, c, min);
            tally->min_at = min < tally->min_key || at < tally->min_at ? at : tally->min_at;
            tally->min_key = min;
        }
        if (max > tally->max_key ||
            (max == tally->max_key && extrema->max_block.at < tally->max_at)) {
            const uint64_t at = find(image, &extrema->max_block, c, max);
            tally->max_at = max > tally->max_key || at < tally->max_at ? at : tally->max_at;
            tally->max_key = max;
        }
        extrema_begin(extrema, 1);
    }
}
