/* SPDX-License-Identifier: MIT */
/* byteswap.c: reverses bytes, in plain C that compilers vectorize. */
#include "base/byteswap.h"

#include "base/compiler.h"

/* `word` is a constant where this is inlined; `to` may be `from`. The checks of memcpy that
 * _FORTIFY_SOURCE adds would keep clang from vectorizing. */
FORCE_INLINE void swap_all(const uint8_t *from, uint8_t *to, size_t n, size_t word)
{
    const size_t words = n / word;
    LOOP_INDEPENDENT
    for (size_t i = 0; i < words; i++) {
        uint64_t bits = 0;
        __builtin_memcpy(&bits, from + i * word, word);
        bits = __builtin_bswap64(bits) >> (64 - 8 * word); /* little-endian */
        __builtin_memcpy(to + i * word, &bits, word);
    }
}

void ISA(swap_words)(const uint8_t *from, uint8_t *to, size_t n, size_t word)
{
    if (word == 2)
        swap_all(from, to, n, 2);
    else if (word == 4)
        swap_all(from, to, n, 4);
    else
        swap_all(from, to, n, 8);
}
