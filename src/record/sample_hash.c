/* SPDX-License-Identifier: MIT */
/* sample_hash.c: XXH3 of 128 bits, by xxHash (docs/statistics.md). */
#include "record/sample_hash.h"

#include "base/byteswap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct SampleHash {
    XXH3_state_t state;
};

ImgstatResult sample_hash_create(SampleHash **out, ImgstatError *err)
{
    *out = aligned_alloc(_Alignof(SampleHash), sizeof **out);
    if (!*out)
        return error_memory(err, sizeof **out, "a hash");
    sample_hash_reset(*out);
    return IMGSTAT_OK;
}

void sample_hash_destroy(SampleHash *hash)
{
    free(hash);
}

void sample_hash_reset(SampleHash *hash)
{
    (void)XXH3_128bits_reset(&hash->state);
}

void sample_hash_begin(SampleHash *hash, const ImagePro *like, uint32_t width, uint32_t height)
{
    char text[64];
    const int n = snprintf(text, sizeof text, "%" PRIu32 " %" PRIu32 " %u %s\n", width, height,
                           like->channels, imgstat_sample_name(like->sample));
    (void)XXH3_128bits_update(&hash->state, text, (size_t)n);
}

/* Adds samples of `size` bytes, little-endian on every machine. */
static void add_bytes(SampleHash *hash, const unsigned char *samples, size_t bytes, size_t size)
{
    unsigned char swapped[4096];
    if (!host_big_endian || size == 1) {
        (void)XXH3_128bits_update(&hash->state, samples, bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += sizeof swapped) {
        const size_t n = bytes - at < sizeof swapped ? bytes - at : sizeof swapped;
        swap_words(samples + at, swapped, n, size);
        (void)XXH3_128bits_update(&hash->state, swapped, n);
    }
}

void sample_hash_add(SampleHash *hash, const ImagePro *rows)
{
    const size_t size = imgstat_sample_bytes(rows->sample);
    const size_t row_bytes = image_samples_per_row(rows) * size;
    const uint32_t alike = rows->pitch == row_bytes ? rows->height : 1; /* rows without gaps */
    for (uint32_t y = 0; y < rows->height; y += alike)
        add_bytes(hash, image_row(rows, y), alike * row_bytes, size);
}

void sample_hash_write(const SampleHash *hash, uint8_t out[SAMPLE_HASH_BYTES])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&hash->state));
    memcpy(out, canonical.digest, SAMPLE_HASH_BYTES);
}
