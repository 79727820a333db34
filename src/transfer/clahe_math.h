/* SPDX-License-Identifier: MIT */
/* clahe_math.h: the integer arithmetic of contrast-limited adaptive equalization; compiled by C and
 * CUDA C. docs/transforms.md has the definition. */
#ifndef IMGSTAT_TRANSFER_CLAHE_MATH_H
#define IMGSTAT_TRANSFER_CLAHE_MATH_H

#include "transfer/map.h"

/* The distance from the smallest to the largest sample has 256 nodes, whatever the bit depth; a
 * sample counts for the node nearest to it and is mapped between the two around it. */
enum {
    CLAHE_NODES = 256,
    CLAHE_UNIT = 1 << 24,   /* what a node's share of the range is counted in */
    CLAHE_COUNT_SHIFT = 16, /* counts are limited and shared out in 65,536ths of a pixel */
    CLAHE_WEIGHT = 1 << 16
};

/* First pixel of tile k of `tiles` along `length` pixels: tiles differ by at most one pixel. */
IMGSTAT_INLINE uint32_t clahe_edge(uint32_t k, uint32_t tiles, uint32_t length)
{
    return (uint32_t)((uint64_t)k * length / tiles);
}

/* The tile of pixel p: the last one that begins at or before it. */
IMGSTAT_INLINE uint32_t clahe_tile(uint32_t p, uint32_t tiles, uint32_t length)
{
    return (uint32_t)((((uint64_t)p + 1) * tiles - 1) / length);
}

/* Twice the center of tile k. */
IMGSTAT_INLINE uint64_t clahe_center(uint32_t k, uint32_t tiles, uint32_t length)
{
    return (uint64_t)clahe_edge(k, tiles, length) + clahe_edge(k + 1, tiles, length) - 1;
}

/* The pixel that padding by reflection without repeating the edge puts at p. */
IMGSTAT_INLINE uint32_t clahe_reflect(uint32_t p, uint32_t length)
{
    if (p < length)
        return p;
    if (length == 1)
        return 0;
    const uint32_t period = 2 * (length - 1), at = p % period;
    return at < length ? at : period - at;
}

/* Two tiles around a pixel and the weight of the second, 0 .. CLAHE_WEIGHT. */
typedef struct ClaheBlend {
    uint32_t first, second, weight;
} ClaheBlend;

IMGSTAT_INLINE ClaheBlend clahe_blend(uint32_t p, uint32_t tiles, uint32_t length)
{
    const uint32_t tile = clahe_tile(p, tiles, length);
    const uint64_t at = 2 * (uint64_t)p, center = clahe_center(tile, tiles, length);
    ClaheBlend blend = {tile, tile, 0};
    if (at == center || (at < center && tile == 0) || (at > center && tile + 1 == tiles))
        return blend;
    blend.first = at < center ? tile - 1 : tile;
    blend.second = blend.first + 1;
    const uint64_t left = clahe_center(blend.first, tiles, length);
    const uint64_t right = clahe_center(blend.second, tiles, length);
    blend.weight = (uint32_t)ratio_even64((at - left) * CLAHE_WEIGHT, right - left);
    return blend;
}

/* Where a key lies among the nodes: node * 65536 + fraction. black < white. */
IMGSTAT_INLINE uint32_t clahe_position(uint64_t key, uint64_t black, uint64_t white)
{
    key = key < black ? black : key > white ? white : key;
    return (uint32_t)((key - black) * ((CLAHE_NODES - 1) * (uint64_t)CLAHE_WEIGHT) /
                      (white - black));
}

IMGSTAT_INLINE uint32_t clahe_node(uint32_t position)
{
    return (position + CLAHE_WEIGHT / 2) / CLAHE_WEIGHT;
}

/* The largest count of one node: nano billionths of the n pixels, in 65,536ths; nano < 10^9. */
IMGSTAT_INLINE uint64_t clahe_limit(uint64_t n, uint64_t nano)
{
    return (uint64_t)(((Wide128)n << CLAHE_COUNT_SHIFT) * nano / 1000000000u);
}

/* What every node holds after `gift` was added to it and it was cut at limit. */
IMGSTAT_INLINE uint64_t clahe_clipped(uint64_t count, uint64_t gift, uint64_t limit)
{
    const uint64_t sum = (count << CLAHE_COUNT_SHIFT) + gift;
    return sum < limit ? sum : limit;
}

IMGSTAT_INLINE uint64_t clahe_clipped_sum(const uint64_t *counts, uint64_t gift, uint64_t limit)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < CLAHE_NODES; k++)
        sum += clahe_clipped(counts[k], gift, limit);
    return sum;
}

/* Whether a tile of n pixels has no contrast to give, or none is allowed: then its shares rise
 * evenly. */
IMGSTAT_INLINE bool clahe_is_even(uint64_t n, uint64_t limit)
{
    return n == 0 || (Wide128)limit * CLAHE_NODES <= (Wide128)n << CLAHE_COUNT_SHIFT;
}

IMGSTAT_INLINE uint32_t clahe_even_share(uint32_t node)
{
    return (uint32_t)ratio_even64((uint64_t)node * CLAHE_UNIT, CLAHE_NODES - 1);
}

/* Turns the counts of one tile into shares of CLAHE_UNIT. The smallest equal gift to all nodes is
 * found with which, cut at the limit, they hold all n pixels: nothing exceeds the limit and nothing
 * is lost. */
IMGSTAT_INLINE void clahe_shares(const uint64_t *counts, uint64_t nano, uint32_t *share)
{
    uint64_t n = 0;
    for (uint32_t k = 0; k < CLAHE_NODES; k++)
        n += counts[k];
    const uint64_t all = n << CLAHE_COUNT_SHIFT;
    const uint64_t limit = nano >= 1000000000u ? all : clahe_limit(n, nano);
    if (clahe_is_even(n, limit)) {
        for (uint32_t k = 0; k < CLAHE_NODES; k++)
            share[k] = clahe_even_share(k);
        return;
    }
    uint64_t low = 0, high = limit;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (clahe_clipped_sum(counts, middle, limit) >= all)
            high = middle;
        else
            low = middle + 1;
    }
    const uint64_t total = clahe_clipped_sum(counts, low, limit);
    uint64_t sum = 0;
    for (uint32_t k = 0; k < CLAHE_NODES; k++) {
        sum += clahe_clipped(counts[k], low, limit);
        share[k] = (uint32_t)ratio_even(sum, CLAHE_UNIT, total);
    }
}

/* A tile's share at a position: at most 2^24. */
IMGSTAT_INLINE uint64_t clahe_share(const uint32_t *share, uint32_t position)
{
    const uint32_t node = position / CLAHE_WEIGHT, part = position % CLAHE_WEIGHT;
    const uint32_t next = node + 1 < CLAHE_NODES ? node + 1 : node;
    return ((uint64_t)share[node] * (CLAHE_WEIGHT - part) + (uint64_t)share[next] * part +
            CLAHE_WEIGHT / 2) /
           CLAHE_WEIGHT;
}

/* The key of a pixel from the shares of the four tiles around it (upper left, upper right, lower
 * left, lower right), span = hi_key - lo_key <= 65535. 2^24 * 2^16 * 2^16 = 2^56; then 2^32 * 2^16.
 */
IMGSTAT_INLINE uint64_t clahe_key(const uint64_t share[4], uint32_t x_weight, uint32_t y_weight,
                                  uint64_t lo_key, uint64_t span)
{
    const uint64_t upper = share[0] * (CLAHE_WEIGHT - x_weight) + share[1] * x_weight;
    const uint64_t lower = share[2] * (CLAHE_WEIGHT - x_weight) + share[3] * x_weight;
    const uint64_t sum = upper * (CLAHE_WEIGHT - y_weight) + lower * y_weight;
    const uint64_t unit = (sum + ((uint64_t)1 << 23)) >> 24;
    return lo_key + ((unit * span + ((uint64_t)1 << 31)) >> 32);
}

/* ---- The other programs ---------------------------------------------------------------------- */

/* OpenCV's level of a pixel from the levels of the four tiles around it, in the order of clahe_key.
 * xa, ya: weights of the second tile. */
IMGSTAT_INLINE uint64_t clahe_opencv(const uint32_t level[4], float xa, float ya, uint32_t bins)
{
    const float xb = 1.0f - xa, yb = 1.0f - ya;
    const float upper = (float)level[0] * xb + (float)level[1] * xa;
    const float lower = (float)level[2] * xb + (float)level[3] * xa;
    const float mixed = rintf(upper * yb + lower * ya);
    return mixed > (float)(bins - 1) ? bins - 1 : (uint64_t)mixed;
}

/* scikit-image's gray of a pixel before its last rescaling; arguments as in clahe_opencv. */
IMGSTAT_INLINE uint32_t clahe_skimage(const uint32_t level[4], double xa, double ya)
{
    const double xb = 1.0 - xa, yb = 1.0 - ya;
    float sum = 0.0f;
    sum += (float)((double)level[0] * (xb * yb));
    sum += (float)((double)level[1] * (xa * yb));
    sum += (float)((double)level[2] * (xb * ya));
    sum += (float)((double)level[3] * (xa * ya));
    return (uint32_t)sum;
}

/* scikit-image's last rescaling. lo, hi: the extreme grays of the mapped image; top: the largest
 * key. */
IMGSTAT_INLINE uint64_t clahe_skimage_key(uint32_t gray, uint32_t lo, uint32_t hi, uint64_t top)
{
    if (lo >= hi)
        return top;
    return (uint64_t)rint((double)(gray - lo) / (double)(hi - lo) * (double)top);
}

/* The lesser of two. */
IMGSTAT_INLINE uint32_t clahe_at_most(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* From key to key the position rises by so many 2^-32, rounded up: at most 255 * 2^48. */
IMGSTAT_INLINE uint64_t clahe_step(uint32_t black, uint32_t white)
{
    const uint64_t range = white - black;
    return (((uint64_t)(CLAHE_NODES - 1) * CLAHE_WEIGHT << 32) + range - 1) / range;
}

#endif
