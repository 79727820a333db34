/* SPDX-License-Identifier: MIT */
/* byteswap.h: conversion between byte orders. */
#ifndef IMGSTAT_BASE_BYTESWAP_H
#define IMGSTAT_BASE_BYTESWAP_H

#include <stddef.h>
#include <stdint.h>

/* Copies n bytes and reverses the bytes of each word of `word` bytes (2, 4 or 8). `to` is `from` or
 * does not overlap it. Trailing bytes that do not fill a word are not written. */
void swap_words(const uint8_t *from, uint8_t *to, size_t n, size_t word);

#endif
