/* SPDX-License-Identifier: MIT */
/* unpack.c: from samples of any width in a decoded row to whole samples in an image row. */
#include "base/byteswap.h"
#include "base/compiler.h"
#include "base/pixel.h"
#include "base/sample.h"
#include "tiff/decoder.h"

#include <string.h>

void tiff_swap(const TiffLayout *layout, uint8_t *bytes, size_t n)
{
    if (layout->reversed)
        TIFFReverseBits(bytes, (tmsize_t)n);
    if (!layout->swapped)
        return;
    /* Packed samples of other widths are a stream of bits, whatever the byte order. */
    switch (layout->bits) {
    case 24:
        TIFFSwabArrayOfTriples(bytes, (tmsize_t)(n / 3));
        break;
    case 16:
    case 32:
    case 64:
        swap_words(bytes, bytes, n, layout->bits / 8u);
        break;
    default:
        break;
    }
}

/* ---- Packed samples ---- */

/* Quicker than unpack_any. */
static void unpack_twelves(const uint8_t *from, uint16_t *to, size_t n)
{
    size_t i = 0;
    for (; i + 1 < n; i += 2, from += 3) {
        to[i] = (uint16_t)(from[0] << 4 | from[1] >> 4);
        to[i + 1] = (uint16_t)((from[1] & 15) << 8 | from[2]);
    }
    if (i < n)
        to[i] = (uint16_t)(from[0] << 4 | from[1] >> 4);
}

/* Sample i of `bits` bits of a stream, first bit highest. */
static uint64_t stream_bits(const uint8_t *from, size_t i, unsigned bits)
{
    size_t at = i * bits;
    uint64_t value = 0;
    for (unsigned left = bits; left > 0;) {
        const unsigned here = 8 - (unsigned)(at % 8);
        const unsigned take = left < here ? left : here;
        value = value << take | ((unsigned)from[at / 8] >> (here - take) & ((1u << take) - 1));
        at += take;
        left -= take;
    }
    return value;
}

/* 24-bit floats: 1 bit of sign, 7 of exponent (bias 63), 16 of fraction; all of them are float32.
 */
static uint32_t widen_float24(uint32_t raw)
{
    const uint32_t sign = raw >> 23 << 31;
    uint32_t exponent = raw >> 16 & 0x7F, fraction = raw & 0xFFFF;
    if (exponent == 0x7F)
        return sign | 0x7F800000u | fraction << 7;
    if (exponent == 0 && fraction == 0)
        return sign;
    if (exponent == 0) { /* subnormal: normalize */
        int shift = 0;
        while (!(fraction & 0x10000u)) {
            fraction <<= 1;
            shift++;
        }
        return sign | (uint32_t)(127 - 63 + 1 - shift) << 23 | (fraction & 0xFFFFu) << 7;
    }
    return sign | (exponent + 127 - 63) << 23 | fraction << 7;
}

/* 24 bits, whose bytes libtiff reversed if the file has the other byte order. Integers are a
 * stream of bits, first bit highest, in either order; floats are words in the order of the file. */
static uint32_t triple(const uint8_t *at, bool highest_first)
{
    if (highest_first)
        return (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
}

static void unpack_triples(const TiffLayout *layout, ImgstatSample sample, const uint8_t *from,
                           uint32_t *to, size_t n)
{
    const bool big_endian = host_big_endian;
    const bool highest_first = sample == IMGSTAT_F32 ? big_endian : !layout->swapped;
    for (size_t i = 0; i < n; i++) {
        const uint32_t raw = triple(from + 3 * i, highest_first);
        if (sample == IMGSTAT_F32)
            to[i] = widen_float24(raw);
        else if (sample == IMGSTAT_I32)
            to[i] = (raw ^ 0x800000u) - 0x800000u; /* extends the sign */
        else
            to[i] = raw;
    }
}

/* Unpacks samples to `bytes` bytes each, a constant where this is inlined. Those in the last 8
 * bytes are read bit by bit, since no more of them may be read. */
FORCE_INLINE void unpack_to(size_t bytes, unsigned bits, uint64_t sign, const uint8_t *from,
                            uint8_t *to, size_t n)
{
    enum { WINDOW = 8, WIDEST = 57 /* bits within 8 bytes, wherever they begin */ };
    const size_t all = (n * bits + 7) / 8;
    const size_t quick = bits <= WIDEST && all >= WINDOW ? (8 * (all - WINDOW) + 7) / bits : 0;
    size_t i = 0;
    for (size_t at = 0; i < quick; i++, at += bits) {
        uint64_t window;
        memcpy(&window, from + at / 8, WINDOW);
        window = host_big_endian ? window : __builtin_bswap64(window);
        store_raw(to + i * bytes, bytes, ((window << at % 8 >> (64 - bits)) ^ sign) - sign);
    }
    for (; i < n; i++)
        store_raw(to + i * bytes, bytes, (stream_bits(from, i, bits) ^ sign) - sign);
}

static void unpack_any(unsigned bits, ImgstatSample sample, const uint8_t *from, void *to, size_t n)
{
    const uint64_t sign = sample_is_signed(sample) ? (uint64_t)1 << (bits - 1) : 0;
    switch (sample_bits(sample)) {
    case 8:
        unpack_to(1, bits, sign, from, to, n);
        break;
    case 16:
        unpack_to(2, bits, sign, from, to, n);
        break;
    case 32:
        unpack_to(4, bits, sign, from, to, n);
        break;
    default:
        unpack_to(8, bits, sign, from, to, n);
    }
}

void tiff_unpack(const TiffLayout *layout, ImgstatSample sample, const uint8_t *from, void *to,
                 size_t n)
{
    const bool plain = !sample_is_signed(sample);
    if ((layout->bits == 1 || layout->bits == 2 || layout->bits == 4) && plain)
        unpack_bits(layout->bits, from, to, n);
    else if (layout->bits == 12 && plain)
        unpack_twelves(from, to, n);
    else if (layout->bits == 24)
        unpack_triples(layout, sample, from, to, n);
    else
        unpack_any(layout->bits, sample, from, to, n);
}

/* ---- Placing ---- */

static void place_colors(const TiffDecoder *td, const uint8_t *from, uint32_t pixels, uint8_t *to)
{
    const size_t channels = td->base.page.channels, samples = td->layout.samples;
    const bool wide = td->layout.bits > 8;
    for (size_t x = 0; x < pixels; x++) {
        uint16_t index = from[x * samples];
        if (wide)
            memcpy(&index, from + 2 * x * samples, sizeof index);
        if (td->map16) {
            memcpy(to + 6 * x, td->map16 + 3 * (size_t)index, 6);
            continue;
        }
        memcpy(to + x * channels, td->map8 + 3 * (size_t)index, 3);
        for (size_t c = 1; c < samples; c++)
            to[x * channels + 2 + c] = from[x * samples + c];
    }
}

/* One plane of a palette image with further samples, which come behind the three colours. */
static void place_color_plane(const TiffDecoder *td, const uint8_t *from, uint16_t plane,
                              uint32_t pixels, uint8_t *to)
{
    const size_t channels = td->base.page.channels;
    if (plane > 0) {
        copy_samples(1, from, 1, pixels, to + 2 + plane, channels);
        return;
    }
    for (size_t x = 0; x < pixels; x++)
        memcpy(to + x * channels, td->map8 + 3 * (size_t)from[x], 3);
}

/* Brings an alpha of fewer bits to the 8 of the colours. */
static void widen_alpha(const TiffDecoder *td, uint32_t pixels, uint8_t *to)
{
    const unsigned top = (1u << td->layout.bits) - 1;
    to += td->base.page.alpha;
    for (uint32_t x = 0; x < pixels; x++, to += td->base.page.channels)
        *to = (uint8_t)((*to * 255u + top / 2) / top);
}

void tiff_place(const TiffDecoder *td, const uint8_t *from, uint16_t plane, uint32_t x,
                uint32_t pixels, uint8_t *to)
{
    const ImgstatPage *const page = &td->base.page;
    const size_t bytes = imgstat_sample_bytes(page->sample), channels = decoder_channels(&td->base);
    uint8_t *const at = to + (size_t)x * channels * bytes;
    const bool colors = td->map8 || td->map16, together = td->layout.planes == 1;
    if (colors && together)
        place_colors(td, from, pixels, at);
    else if (colors) /* such a map is of 8 bits: see tiff_page_palette */
        place_color_plane(td, from, plane, pixels, at);
    else if (tiff_planes_together(td) == 1)
        memcpy(at, from, (size_t)pixels * channels * bytes);
    else
        copy_samples(bytes, from, 1, pixels, at + plane * bytes, channels);
    if (colors && page->alpha >= 0 && td->layout.bits < 8 && (together || page->alpha == plane + 2))
        widen_alpha(td, pixels, at);
}
