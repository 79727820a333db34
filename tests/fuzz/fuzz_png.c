/* SPDX-License-Identifier: MIT */
/* fuzz_png: the PNG decoder on any bytes. Every input is tried as it is and with the checksums of
 * its chunks put right, as nothing else gets past them. */
#include "decode_twice.h"

#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void correct_checksums(uint8_t *data, size_t size)
{
    for (size_t at = 8; size - at >= 12;) {
        const size_t length = big_endian(data + at);
        if (length > size - at - 12)
            return;
        const uint32_t sum = (uint32_t)crc32(0, data + at + 4, (uInt)length + 4);
        for (size_t i = 0; i < 4; i++)
            data[at + 8 + length + i] = (uint8_t)(sum >> (24 - 8 * i));
        at += 12 + length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!png_codec.probe(data, size))
        return -1; /* nothing to learn from it */
    decode_twice(&png_codec, data, size, false);
    uint8_t *const corrected = malloc(size);
    if (!corrected)
        return 0;
    memcpy(corrected, data, size);
    correct_checksums(corrected, size);
    decode_twice(&png_codec, corrected, size, false);
    decode_twice(&png_codec, corrected, size, true);
    free(corrected);
    return 0;
}
