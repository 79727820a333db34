/* SPDX-License-Identifier: MIT */
/* codec/adler.cuh: the two sums of Adler-32 over a vector. */
#ifndef IMGSTAT_KERNELS_CODEC_ADLER_CUH
#define IMGSTAT_KERNELS_CODEC_ADLER_CUH

#include "common/inline.cuh"

#include <stdint.h>

DEVICE uint32_t word_of(const uint4 &v, int w)
{
    return w == 0 ? v.x : w == 1 ? v.y : w == 2 ? v.z : v.w;
}

/* The sum of 16 bytes; *inside: of each times its number, 0 to 15. */
DEVICE unsigned byte_sums(const uint4 &v, unsigned *inside)
{
    unsigned plain = 0;
    *inside = 0;
#pragma unroll
    for (int w = 0; w < 4; w++) {
        const unsigned own = __dp4a(word_of(v, w), 0x01010101u, 0u);
        plain += own;
        *inside += 4u * (unsigned)w * own + __dp4a(word_of(v, w), 0x03020100u, 0u);
    }
    return plain;
}

#endif
