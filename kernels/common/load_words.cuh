/* SPDX-License-Identifier: MIT */
/* common/load_words.cuh: 16 bytes from an address on no boundary. */
#ifndef IMGSTAT_KERNELS_COMMON_LOAD_WORDS_CUH
#define IMGSTAT_KERNELS_COMMON_LOAD_WORDS_CUH

#include "common/inline.cuh"

#include <stdint.h>

/* Loads them by words of 4 bytes, all of which can be read: up to 3 bytes farther on both sides. */
DEVICE uint4 load_words(const uint8_t *from)
{
    const unsigned over = (uintptr_t)from % 4;
    const uint32_t *const words = (const uint32_t *)(from - over);
    const uint32_t a = __ldg(words), b = __ldg(words + 1), c = __ldg(words + 2),
                   d = __ldg(words + 3), e = over > 0 ? __ldg(words + 4) : 0;
    return make_uint4(__funnelshift_r(a, b, 8 * over), __funnelshift_r(b, c, 8 * over),
                      __funnelshift_r(c, d, 8 * over), __funnelshift_r(d, e, 8 * over));
}

#endif
