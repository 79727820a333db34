/* SPDX-License-Identifier: MIT */
/* pack.c: rows of samples as PNG stores them. */
#include "png/encoder.h"

#include "base/byteswap.h"

#include <string.h>

/* A sample of `bits` bits at `depth` bits, its bits repeated: 0 and full scale stay what they are.
 */
static unsigned widened(unsigned v, unsigned bits, unsigned depth)
{
    unsigned out = 0;
    for (int shift = (int)depth - (int)bits; shift > -(int)bits; shift -= (int)bits)
        out |= shift >= 0 ? v << shift : v >> -shift;
    return out;
}

static void pack_bytes(const PngPacking *how, const uint8_t *from, uint8_t *to, size_t n)
{
    const EncodePage *const page = how->page;
    const unsigned full = (1u << page->bits) - 1;
    for (size_t i = 0; i < n; i++) {
        const bool alpha = page->alpha >= 0 && i % page->channels == (size_t)page->alpha;
        unsigned v = from[i] < full ? from[i] : full;
        v = how->invert && !alpha ? full - v : v;
        to[i] = (uint8_t)(how->widen ? widened(v, page->bits, 8) : v);
    }
}

static void pack_words(const PngPacking *how, const uint8_t *from, uint8_t *to, size_t n)
{
    const EncodePage *const page = how->page;
    const unsigned full = (1u << page->bits) - 1;
    for (size_t i = 0; i < n; i++) {
        const bool alpha = page->alpha >= 0 && i % page->channels == (size_t)page->alpha;
        uint16_t word;
        memcpy(&word, from + 2 * i, 2);
        unsigned v = word < full ? word : full;
        v = how->invert && !alpha ? full - v : v;
        v = how->widen ? widened(v, page->bits, 16) : v;
        to[2 * i] = (uint8_t)(v >> 8);
        to[2 * i + 1] = (uint8_t)v;
    }
}

/* Gray or indices of 1, 2 or 4 bits. */
static void pack_bits(const PngPacking *how, const uint8_t *from, uint8_t *to, size_t n)
{
    const unsigned bits = how->depth, per_byte = 8 / bits, full = (1u << bits) - 1;
    memset(to, 0, (n + per_byte - 1) / per_byte);
    for (size_t i = 0; i < n; i++) {
        unsigned v = from[i] < full ? from[i] : full;
        v = how->invert ? full - v : v;
        to[i / per_byte] =
            (uint8_t)(to[i / per_byte] | v << (8 - bits - bits * (unsigned)(i % per_byte)));
    }
}

/* A row of samples as PNG stores it. */
void png_pack_row(const void *context, const uint8_t *from, uint8_t *to)
{
    const PngPacking *const how = context;
    const size_t n = (size_t)how->page->width * how->page->channels;
    if (how->depth == 16 && !how->widen && !how->invert)
        swap_words(from, to, 2 * n, 2); /* from little-endian */
    else if (how->depth == 16)
        pack_words(how, from, to, n);
    else if (how->depth < 8)
        pack_bits(how, from, to, n);
    else if (how->widen || how->invert)
        pack_bytes(how, from, to, n);
    else
        memcpy(to, from, n);
}
