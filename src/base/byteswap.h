/* SPDX-License-Identifier: MIT */
/* byteswap.h: conversion between byte orders; numbers stored in a given byte order. */
#ifndef IMGSTAT_BASE_BYTESWAP_H
#define IMGSTAT_BASE_BYTESWAP_H

#include "base/cpu_features.h"
#include "base/isa.h"

static const bool host_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

typedef void SwapWords(const uint8_t *from, uint8_t *to, size_t n, size_t word);
extern SwapWords swap_words_portable, swap_words_avx2, swap_words_avx512;

/* Copies n bytes and reverses the bytes of each word of `word` bytes (2, 4 or 8). `to` is `from` or
 * does not overlap it. Trailing bytes that do not fill a word are not written. */
static inline void swap_words(const uint8_t *from, uint8_t *to, size_t n, size_t word)
{
    static SwapWords *const of[] = ISA_TABLE(swap_words);
    of[cpu_features_level()](from, to, n, word);
}

/* Returns the number that `bytes` <= 8 bytes hold. */
static inline uint64_t load_number(const uint8_t *at, unsigned bytes, bool big_endian)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | at[big_endian ? i : bytes - 1 - i];
    return value;
}

/* Stores the low `bytes` <= 8 bytes of a number. */
static inline void store_number(uint8_t *at, uint64_t value, unsigned bytes, bool big_endian)
{
    for (unsigned i = 0; i < bytes; i++)
        at[big_endian ? bytes - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

#endif
