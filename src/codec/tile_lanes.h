/* SPDX-License-Identifier: MIT */
/* tile_lanes.h: rows of strips and tiles of TIFF, decompressed, to rows of an image, and back, by
 * 32 lanes: what kernels do, and the same in C. tiff/predictor.c, tiff/unpack.c and
 * tiff/tile_writer.c are what the processor does. */
#ifndef IMGSTAT_CODEC_TILE_LANES_H
#define IMGSTAT_CODEC_TILE_LANES_H

#include "codec/lanes.h"
#include "codec/tiled_page.h"

enum {
    TILE_EACH = 4,  /* neighbouring samples of a channel that a lane adds before lanes are added */
    TILE_SUMS = 3,  /* sums of lanes at once */
    TILE_UNIT = 16, /* bytes of neighbouring pixels that a lane adds, at most */
    TILE_CHANNELS = 4 /* of pixels that are added side by side */
};

/* What the lanes share. */
typedef struct TileLanes {
    uint32_t sum[TILE_SUMS][LANES];
} TileLanes;

/* Where a tile's pixels are in its image. */
typedef struct TilePlace {
    uint32_t x, y, pixels, rows; /* pixels and rows within the image */
    uint16_t plane;
} TilePlace;

LANES_INLINE TilePlace tile_place(const TiledPage *page, uint32_t number)
{
    const uint32_t beside = number % page->across, row = number / page->across;
    const uint32_t x = beside * page->tile_width, y = row % page->down * page->tile_height;
    TilePlace place;
    place.x = x;
    place.y = y;
    place.plane = (uint16_t)(row / page->down);
    place.pixels = page->width - x < page->tile_width ? page->width - x : page->tile_width;
    place.rows = page->height - y < page->tile_height ? page->height - y : page->tile_height;
    return place;
}

/* Returns a word whose lowest `bytes` bytes are in the other order. */
LANES_INLINE uint64_t tile_swapped(uint64_t word, unsigned bytes)
{
    uint64_t swapped = 0;
    for (unsigned i = 0; i < bytes; i++)
        swapped = swapped << 8 | (word >> 8 * i & 0xFF);
    return swapped;
}

LANES_INLINE uint64_t tile_load(const uint8_t *at, unsigned bytes, bool swapped)
{
    const uint64_t word = lanes_load(at, bytes);
    return swapped ? tile_swapped(word, bytes) : word;
}

/* Writes the sums of the differences of a row to every to_step-th place: n < 2^31 words of 1, 2 or
 * 4 bytes, each the difference to that `step` words before it. `to` may be `from`. */
LANES_INLINE void tile_sum_words(TileLanes *s, const uint8_t *from, uint32_t n, uint32_t step,
                                 unsigned bytes, bool swapped, uint8_t *to, uint32_t to_step)
{
    uint32_t *const sums = s->sum[0];
    for (uint32_t channel = 0; channel < step; channel++) {
        uint32_t before = 0;
        for (uint32_t first = channel; first < n; first += LANES * TILE_EACH * step) {
            for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
                uint32_t sum = 0;
                for (unsigned k = 0; k < TILE_EACH; k++) {
                    const uint32_t i = first + (lane * TILE_EACH + k) * step;
                    if (i < n)
                        sum += (uint32_t)tile_load(from + (size_t)i * bytes, bytes, swapped);
                }
                sums[lane] = sum;
            }
            lanes_meet(); /* the sums of lanes are there */
            const uint32_t all = lanes_before(sums);
            for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
                uint32_t sum = before + sums[lane];
                for (unsigned k = 0; k < TILE_EACH; k++) {
                    const uint32_t i = first + (lane * TILE_EACH + k) * step;
                    if (i >= n)
                        break;
                    sum += (uint32_t)tile_load(from + (size_t)i * bytes, bytes, swapped);
                    lanes_store(to + (size_t)i * to_step * bytes, bytes, sum);
                }
            }
            lanes_meet(); /* the sums of lanes have been read */
            before += all;
        }
    }
}

/* Samples of neighbouring pixels. */
typedef struct TileUnit {
    uint32_t sample[TILE_UNIT];
} TileUnit;

/* Reads samples of `unit` bytes. Behind n bytes they are 0. */
LANES_INLINE TileUnit tile_load_unit(const uint8_t *from, uint32_t n, unsigned unit, unsigned bytes,
                                     bool swapped)
{
    const unsigned in_word = 4 / bytes, mask = bytes == 1 ? 0xFF : 0xFFFF;
    TileUnit u;
    for (unsigned w = 0; w < unit / 4; w++) {
        uint32_t word = 0;
        if (n >= 4 * w + 4)
            word = (uint32_t)lanes_load(from + 4 * w, 4);
        else
            for (unsigned i = 4 * w; i < n; i++)
                word |= (uint32_t)from[i] << 8 * (i % 4);
        if (swapped)
            word = (word >> 8 & 0x00FF00FF) | (word & 0x00FF00FF) << 8;
        for (unsigned i = 0; i < in_word; i++)
            u.sample[w * in_word + i] = word >> 8 * bytes * i & mask;
    }
    return u;
}

LANES_INLINE void tile_store_unit(const TileUnit *u, uint32_t n, unsigned unit, unsigned bytes,
                                  uint8_t *to)
{
    const unsigned in_word = 4 / bytes, mask = bytes == 1 ? 0xFF : 0xFFFF;
    for (unsigned w = 0; w < unit / 4; w++) {
        uint32_t word = 0;
        for (unsigned i = 0; i < in_word; i++)
            word |= (u->sample[w * in_word + i] & mask) << 8 * bytes * i;
        if (n >= 4 * w + 4)
            lanes_store(to + 4 * w, 4, word);
        else
            for (unsigned i = 4 * w; i < n; i++)
                to[i] = (uint8_t)(word >> 8 * (i % 4));
    }
}

/* The same for n bytes of samples of 8 or 16 bits of `step` channels, which stay side by side: all
 * channels at once. bytes and step are constants in each call. Of bytes, a sum of all lanes has no
 * more than 13 bits, so two channels share a word. */
LANES_INLINE void tile_sum_pixels(TileLanes *s, const uint8_t *from, uint32_t n, unsigned step,
                                  unsigned bytes, bool swapped, uint8_t *to)
{
    const unsigned unit = step == 3 ? 12 : TILE_UNIT, each = unit / bytes;
    const unsigned pair = bytes == 1 ? 2 : 1, sums = (step + pair - 1) / pair;
    const unsigned mask = bytes == 1 ? 0xFF : 0xFFFF;
    uint32_t before[TILE_CHANNELS] = {0};
    for (uint32_t first = 0; first < n; first += LANES * unit) {
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
            const uint32_t at = first + lane * unit;
            uint32_t sum[TILE_CHANNELS] = {0};
            const TileUnit u = tile_load_unit(from + at, at < n ? n - at : 0, unit, bytes, swapped);
            for (unsigned i = 0; i < each; i++)
                sum[i % step] += u.sample[i];
            for (unsigned k = 0; k < sums; k++)
                s->sum[k][lane] =
                    pair == 1 ? sum[k] & mask : (sum[2 * k] & mask) | (sum[2 * k + 1] & mask) << 16;
        }
        lanes_meet(); /* the sums of lanes are there */
        uint32_t all[TILE_SUMS];
        for (unsigned k = 0; k < sums; k++)
            all[k] = lanes_before(s->sum[k]);
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
            const uint32_t at = first + lane * unit, left = at < n ? n - at : 0;
            uint32_t sum[TILE_CHANNELS];
            TileUnit u = tile_load_unit(from + at, left, unit, bytes, swapped);
            for (unsigned c = 0; c < step; c++)
                sum[c] = before[c] + (s->sum[c / pair][lane] >> 16 * (c % pair));
            for (unsigned i = 0; i < each; i++)
                u.sample[i] = sum[i % step] += u.sample[i];
            tile_store_unit(&u, left, unit, bytes, to + at);
        }
        lanes_meet(); /* the sums of lanes have been read */
        for (unsigned c = 0; c < step; c++)
            before[c] += all[c / pair] >> 16 * (c % pair);
    }
}

/* Undoes the prediction of a row of floats in place: the differences of their bytes. */
LANES_INLINE void tile_unpredict_floats(TileLanes *s, const TiledPage *page, uint8_t *row)
{
    tile_sum_words(s, row, page->row_bytes, page->per_tile, 1, false, row, 1);
}

/* Writes the sums of n differences of samples. */
LANES_INLINE void tile_store_sums(TileLanes *s, const TiledPage *page, const uint8_t *row,
                                  uint32_t n, uint8_t *to, uint32_t to_step)
{
    const unsigned bytes = page->sample_bytes, step = page->per_tile;
    const bool swapped = page->swapped;
    switch (to_step > 1 || bytes > 2 || step > TILE_CHANNELS ? 0 : 8 * bytes + step) {
    case 8 + 1:
        tile_sum_pixels(s, row, n, 1, 1, false, to);
        return;
    case 8 + 3:
        tile_sum_pixels(s, row, n, 3, 1, false, to);
        return;
    case 8 + 4:
        tile_sum_pixels(s, row, n, 4, 1, false, to);
        return;
    case 16 + 1:
        tile_sum_pixels(s, row, 2 * n, 1, 2, swapped, to);
        return;
    case 16 + 3:
        tile_sum_pixels(s, row, 2 * n, 3, 2, swapped, to);
        return;
    default:
        break;
    }
    switch (bytes) { /* a constant in each call */
    case 1:
        tile_sum_words(s, row, n, step, 1, false, to, to_step);
        return;
    case 2:
        tile_sum_words(s, row, n, step, 2, swapped, to, to_step);
        return;
    default:
        tile_sum_words(s, row, n, step, 4, swapped, to, to_step);
        return;
    }
}

/* Returns sample i of a row: a float whose bytes lie in planes, their prediction undone, or bits.
 */
LANES_INLINE uint64_t tile_sample(const TiledPage *page, const uint8_t *row, uint32_t i)
{
    const unsigned bytes = page->sample_bytes;
    if (page->prediction == TILE_FLOATS) {
        const uint32_t words = page->row_bytes / bytes;
        uint64_t word = 0;
        for (unsigned b = 0; b < bytes; b++)
            word = word << 8 | row[(size_t)b * words + i];
        return word;
    }
    uint64_t word = 0; /* bits of a stream, the first one highest */
    for (uint64_t at = (uint64_t)i * page->bits, end = at + page->bits; at < end;) {
        const unsigned here = 8 - (unsigned)(at % 8);
        const unsigned take = end - at < here ? (unsigned)(end - at) : here;
        word = word << take | ((unsigned)row[at / 8] >> (here - take) & ((1u << take) - 1));
        at += take;
    }
    const uint64_t sign = page->is_signed ? (uint64_t)1 << (page->bits - 1) : 0;
    return (word ^ sign) - sign;
}

/* Copies n words of a row, in the other order if swapped, to every step-th place. */
LANES_INLINE void tile_copy_row(const uint8_t *row, uint32_t n, uint32_t step, unsigned bytes,
                                bool swapped, uint8_t *to)
{
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
        for (uint32_t i = lane; i < n; i += LANES)
            lanes_store(to + (size_t)i * step * bytes, bytes,
                        tile_load(row + (size_t)i * bytes, bytes, swapped));
}

/* Copies n bytes of a row, a word a lane. */
LANES_INLINE void tile_copy_bytes(const uint8_t *row, uint32_t n, uint8_t *to)
{
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP) {
        for (uint32_t i = lane; i < n / 4; i += LANES)
            lanes_store(to + 4 * (size_t)i, 4, lanes_load(row + 4 * (size_t)i, 4));
        for (uint32_t i = n / 4 * 4 + lane; i < n; i += LANES)
            to[i] = row[i];
    }
}

/* Writes row y of a tile to its place in the image's pixels: of floats, one whose prediction is
 * undone. */
LANES_INLINE void tile_store_row(TileLanes *s, const TiledPage *page, const TilePlace *place,
                                 uint32_t y, const uint8_t *row, uint8_t *pixels)
{
    const unsigned bytes = page->sample_bytes;
    const uint32_t n = place->pixels * page->per_tile, step = page->planes > 1 ? page->channels : 1;
    const bool whole = page->prediction != TILE_FLOATS && page->bits == 8 * bytes;
    const bool swapped = page->swapped && bytes > 1;
    uint8_t *const to = pixels + (place->y + (uint64_t)y) * page->pitch +
                        ((uint64_t)place->x * page->channels + place->plane) * bytes;
    if (page->prediction == TILE_DIFFERENCES) {
        tile_store_sums(s, page, row, n, to, step);
        return;
    }
    if (whole && step == 1 && !swapped) {
        tile_copy_bytes(row, n * bytes, to);
        return;
    }
    switch (whole ? bytes : 0) { /* a constant in each call */
    case 1:
        tile_copy_row(row, n, step, 1, false, to);
        return;
    case 2:
        tile_copy_row(row, n, step, 2, swapped, to);
        return;
    case 4:
        tile_copy_row(row, n, step, 4, swapped, to);
        return;
    case 8:
        tile_copy_row(row, n, step, 8, swapped, to);
        return;
    default:
        break;
    }
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
        for (uint32_t i = lane; i < n; i += LANES)
            lanes_store(to + (size_t)i * step * bytes, bytes, tile_sample(page, row, i));
}

/* ---- From pixels to tiles ---- */

/* Samples of a row of a tile: those within the image; what lies right of them is 0. */
typedef struct TileRow {
    const uint8_t *from;
    uint32_t inside, step; /* samples; from one to the next */
} TileRow;

LANES_INLINE uint64_t tile_row_sample(const TileRow *row, unsigned bytes, uint32_t i)
{
    return i < row->inside ? lanes_load(row->from + (size_t)i * row->step * bytes, bytes) : 0;
}

LANES_INLINE void tile_predict_samples(const TiledPage *page, const TileRow *row, unsigned bytes,
                                       uint8_t *to)
{
    const uint32_t n = page->row_bytes / bytes, before = page->per_tile;
    const bool differences = page->prediction == TILE_DIFFERENCES;
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
        for (uint32_t i = lane; i < n; i += LANES) {
            uint64_t word = tile_row_sample(row, bytes, i);
            if (differences && i >= before)
                word -= tile_row_sample(row, bytes, i - before);
            lanes_store(to + (size_t)i * bytes, bytes,
                        page->swapped ? tile_swapped(word, bytes) : word);
        }
}

/* Returns byte i of plane k of a row of floats. */
LANES_INLINE unsigned tile_float_byte(const TileRow *row, unsigned bytes, unsigned k, uint32_t i)
{
    return (unsigned)(tile_row_sample(row, bytes, i) >> 8 * (bytes - 1 - k));
}

LANES_INLINE void tile_predict_floats(const TiledPage *page, const TileRow *row, unsigned bytes,
                                      uint8_t *to)
{
    const uint32_t n = page->row_bytes / bytes, before = page->per_tile;
    for (unsigned k = 0; k < bytes; k++)
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
            for (uint32_t i = lane; i < n; i += LANES) {
                const unsigned left = i >= before ? tile_float_byte(row, bytes, k, i - before)
                                      : k > 0 ? tile_float_byte(row, bytes, k - 1, n + i - before)
                                              : 0;
                to[(size_t)k * n + i] = (uint8_t)(tile_float_byte(row, bytes, k, i) - left);
            }
}

/* Writes row y of a tile as it is before compression: whole samples of 8 to 64 bits of an image, 0
 * outside of it, predicted, in the order of the file. */
LANES_INLINE void tile_predict_row(const TiledPage *page, const TilePlace *place, uint32_t y,
                                   const uint8_t *pixels, uint8_t *to)
{
    const unsigned bytes = page->sample_bytes;
    const TileRow row = {pixels + (place->y + (uint64_t)y) * page->pitch +
                             ((uint64_t)place->x * page->channels + place->plane) * bytes,
                         y < place->rows ? place->pixels * page->per_tile : 0,
                         page->planes > 1 ? page->channels : 1u};
    const bool floats = page->prediction == TILE_FLOATS;
    switch (bytes) { /* a constant in each call */
    case 1:
        tile_predict_samples(page, &row, 1, to);
        return;
    case 2:
        if (floats)
            tile_predict_floats(page, &row, 2, to);
        else
            tile_predict_samples(page, &row, 2, to);
        return;
    case 4:
        if (floats)
            tile_predict_floats(page, &row, 4, to);
        else
            tile_predict_samples(page, &row, 4, to);
        return;
    default:
        if (floats)
            tile_predict_floats(page, &row, 8, to);
        else
            tile_predict_samples(page, &row, 8, to);
    }
}

#endif
