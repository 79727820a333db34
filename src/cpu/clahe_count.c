/* SPDX-License-Identifier: MIT */
/* clahe_count.c: contrast-limited adaptive equalization: counting the pixels of a tile. */
#include "transfer/clahe.h"

#include "base/buffer_cache.h"
#include "base/pixel.h"
#include "cpu/clahe_rows.h"

/* Neighbours are often equal. They add to different tables, so that no addition waits for the one
 * before. */
enum { COUNT_TABLES = 4 };
typedef uint32_t CountTables[COUNT_TABLES]
                            [CLAHE_NODES + 16]; /* 16: not all at one place of a page */

/* valid: NULL, or 1 for each pixel that counts, else 0; a constant where this is inlined. */
static inline void count_all(const uint8_t *bin, const uint8_t *valid, const unsigned char *at,
                             size_t n, size_t step, size_t bytes, CountTables tables)
{
    size_t i = 0;
    for (; i + COUNT_TABLES <= n; i += COUNT_TABLES)
        for (size_t k = 0; k < COUNT_TABLES; k++)
            tables[k][bin[clahe_bits_at(at, i + k, step, bytes)]] += valid ? valid[i + k] : 1;
    for (; i < n; i++)
        tables[0][bin[clahe_bits_at(at, i, step, bytes)]] += valid ? valid[i] : 1;
}

/* Counts pixels some of which may be nodata or masked. mask: a byte a pixel, or NULL. */
static void count_valid(const Clahe *clahe, const unsigned char *at, const uint8_t *mask, size_t n,
                        size_t step, size_t bytes, CountTables tables)
{
    enum { BLOCK = 1024 };
    uint8_t valid[BLOCK];
    const uint32_t none = UINT32_MAX;
    const uint32_t nodata =
        clahe->has_nodata ? (uint32_t)sample_raw(clahe->sample, clahe->nodata_key) : none;
    for (size_t first = 0, here; first < n; first += here, at += here * step * bytes) {
        here = n - first < BLOCK ? n - first : BLOCK;
        for (size_t i = 0; i < here; i++)
            valid[i] = (!mask || mask[first + i]) & (clahe_bits_at(at, i, step, bytes) != nodata);
        count_all(clahe->bin, valid, at, here, step, bytes, tables);
    }
}

/* Counts words, each with a counter of its own. */
static void count_words(const Clahe *clahe, const unsigned char *at, size_t n, size_t step,
                        uint64_t *counts)
{
    const uint32_t flip = (uint32_t)sample_key(clahe->sample, 0); /* the sign bit of integers */
    for (size_t i = 0; i < n; i++)
        counts[clahe->position[clahe_bits_at(at, i, step, 2) ^ flip]]++;
}

/* Counts one sample after the other; some may be padding, undefined or masked. */
static void count_any(const Clahe *clahe, const ImagePro *band, uint16_t channel, size_t y,
                      uint32_t begin, uint32_t end, uint64_t *counts)
{
    const size_t bytes = sample_bits(clahe->sample) / 8;
    for (uint32_t p = begin; p < end; p++) {
        const uint32_t x = clahe_reflect(p, clahe->x.length);
        const uint32_t raw = clahe_bits_at(clahe_sample_at(band, channel, x, y), 0, 1, bytes);
        const uint32_t key = (uint32_t)sample_key(clahe->sample, raw);
        if (clahe_is_valid(clahe, band, x, y, key))
            counts[clahe->bin ? clahe->bin[raw] : clahe->position[key]]++;
    }
}

/* Finds the pixels of tile k of an axis, padding included. */
static void tile_span(const Clahe *clahe, const ClaheAxis *axis, uint32_t k, uint32_t *begin,
                      uint32_t *end)
{
    const bool even = clahe->like == IMGSTAT_LIKE_IMGSTAT;
    *begin = even ? clahe_edge(k, axis->tiles, axis->length) : k * axis->tile;
    *end = even ? clahe_edge(k + 1, axis->tiles, axis->length) : *begin + axis->tile;
}

void clahe_count(Clahe *clahe, size_t tile, const ImagePro *band, uint16_t channel)
{
    const size_t bytes = sample_bits(clahe->sample) / 8;
    uint64_t *const counts = clahe->counts + tile * clahe->bins;
    uint32_t left, right, top, bottom;
    CountTables tables;
    bool used = false;
    if (clahe->unchanged)
        return;
    tile_span(clahe, &clahe->x, (uint32_t)(tile % clahe->x.tiles), &left, &right);
    tile_span(clahe, &clahe->y, (uint32_t)(tile / clahe->x.tiles), &top, &bottom);
    const uint32_t width = right - left;
    const uint64_t most = (uint64_t)width * band->height;
    const bool inside = right <= clahe->x.length;
    const bool all = inside && !clahe->has_nodata && !band->mask;
    /* For a few pixels, emptying and adding up tables takes longer than counting. */
    const bool many = inside && clahe->bin && most >= 8 * CLAHE_NODES;
    for (uint32_t p = top; p < bottom; p++) {
        const uint32_t y = clahe_reflect(p, clahe->y.length) - band->first_row;
        if (y >= band->height) /* or above the band */
            continue;
        if (!many && (!all || clahe->bin)) {
            count_any(clahe, band, channel, y, left, right, counts);
            continue;
        }
        const unsigned char *const at = clahe_sample_at(band, channel, left, y);
        clahe_prefetch(band, left, (size_t)y + 2, width);
        if (many && !used)
            memset(tables, 0, sizeof tables);
        used = many;
        const uint8_t *const mask = mask_row(band, y);
        if (many && !all)
            count_valid(clahe, at, mask ? mask + left : NULL, width, band->channels, bytes, tables);
        else if (many && bytes == 1 && band->channels == 1)
            count_all(clahe->bin, NULL, at, width, 1, 1, tables);
        else if (many && bytes == 1)
            count_all(clahe->bin, NULL, at, width, band->channels, 1, tables);
        else if (many)
            count_all(clahe->bin, NULL, at, width, band->channels, 2, tables);
        else
            count_words(clahe, at, width, band->channels, counts);
    }
    for (uint32_t k = 0; used && k < CLAHE_NODES; k++)
        for (size_t t = 0; t < COUNT_TABLES; t++)
            counts[k] += tables[t][k];
}
