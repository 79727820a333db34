/* SPDX-License-Identifier: MIT */
/* byteswap.h: conversion between byte orders. */
#ifndef IMGSTAT_BASE_BYTESWAP_H
#define IMGSTAT_BASE_BYTESWAP_H

#include "base/cpu_features.h"
#include "base/isa.h"

typedef void SwapWords(const uint8_t *from, uint8_t *to, size_t n, size_t word);
extern SwapWords swap_words_portable, swap_words_avx2, swap_words_avx512;

/* Copies n bytes and reverses the bytes of each word of `word` bytes (2, 4 or 8). `to` is `from` or
 * does not overlap it. Trailing bytes that do not fill a word are not written. */
static inline void swap_words(const uint8_t *from, uint8_t *to, size_t n, size_t word)
{
    static SwapWords *const of[] = ISA_TABLE(swap_words);
    of[cpu_features_level()](from, to, n, word);
}

#endif
