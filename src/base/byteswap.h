/* SPDX-License-Identifier: MIT */
/* byteswap.h: words of the other byte order. */
#ifndef IMGSTAT_BASE_BYTESWAP_H
#define IMGSTAT_BASE_BYTESWAP_H

#include <stddef.h>
#include <stdint.h>

/* The words of `word` bytes (2, 4 or 8) among n bytes, their bytes reversed; `to` is `from` or does
 * not overlap it. Bytes that make no whole word are left alone. */
void swap_words(const uint8_t *from, uint8_t *to, size_t n, size_t word);

#endif
