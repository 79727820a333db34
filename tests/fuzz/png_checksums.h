/* SPDX-License-Identifier: MIT */
/* png_checksums.h: puts the checksums of a PNG file's chunks right, since nothing else gets past
 * them. */
#ifndef IMGSTAT_PNG_CHECKSUMS_H
#define IMGSTAT_PNG_CHECKSUMS_H

#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

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

#endif
