/* SPDX-License-Identifier: MIT */
/* clahe_like.c: how OpenCV and scikit-image limit the counts of a tile and make its table. */
#include "clahe.h"

/* No bin holds more than the tile's area, so no more limits nothing; at least one. */
static uint64_t whole_limit(double limit, uint64_t area)
{
    if (!(limit < (double)area))
        return area;
    return limit > 1.0 ? (uint64_t)limit : 1;
}

/* OpenCV cuts once, shares the excess out evenly and the rest in equal steps. */
void clahe_opencv_shares(const Clahe *clahe, uint64_t *counts, uint32_t *share)
{
    const uint32_t bins = clahe->bins;
    const uint64_t area = (uint64_t)clahe->x.tile * clahe->y.tile;
    const uint64_t limit = whole_limit(clahe->clip_limit * (double)area / bins, area);
    uint64_t clipped = 0;
    for (uint32_t k = 0; k < bins; k++)
        if (counts[k] > limit) {
            clipped += counts[k] - limit;
            counts[k] = limit;
        }
    const uint64_t batch = clipped / bins;
    uint64_t rest = clipped - batch * bins;
    for (uint32_t k = 0; k < bins; k++)
        counts[k] += batch;
    if (rest) {
        const uint32_t step = bins / rest > 1 ? (uint32_t)(bins / rest) : 1;
        for (uint32_t k = 0; k < bins && rest > 0; k += step, rest--)
            counts[k]++;
    }
    const float scale = (float)(bins - 1) / (float)area;
    uint64_t sum = 0;
    for (uint32_t k = 0; k < bins; k++) {
        sum += counts[k];
        const float level = rintf((float)sum * scale);
        share[k] = level > (float)(bins - 1) ? bins - 1 : (uint32_t)level;
    }
}

/* scikit-image shares the excess out until there is none, or nothing takes it. */
static void clip_skimage(int64_t *h, int64_t limit)
{
    int64_t excess = 0;
    for (int k = 0; k < SKIMAGE_BINS; k++)
        if (h[k] > limit) {
            excess += h[k] - limit;
            h[k] = limit;
        }
    const int64_t gift = excess / SKIMAGE_BINS, upper = limit - gift;
    int64_t low = 0, middle = 0;
    for (int k = 0; k < SKIMAGE_BINS; k++) {
        const int64_t before = h[k];
        if (before < upper) {
            h[k] += gift;
            low++;
        }
        /* what the gift has brought to `upper` is filled up like what was there */
        if (h[k] >= upper && h[k] < limit) {
            middle += limit - h[k];
            h[k] = limit;
        }
    }
    excess -= low * gift + middle;
    while (excess > 0) {
        const int64_t before = excess;
        for (int first = 0; first < SKIMAGE_BINS; first++) {
            int64_t under = 0;
            for (int k = 0; k < SKIMAGE_BINS; k++)
                under += h[k] < limit;
            const int64_t step = under / excess > 1 ? under / excess : 1;
            for (int64_t k = first; k < SKIMAGE_BINS; k += step)
                if (h[k] < limit) {
                    h[k]++;
                    excess--;
                }
            if (excess <= 0)
                break;
        }
        if (before == excess)
            break;
    }
}

void clahe_skimage_shares(const Clahe *clahe, const uint64_t *counts, uint32_t *share)
{
    const uint64_t pixels = (uint64_t)clahe->x.tile * clahe->y.tile;
    const double area = (double)pixels;
    int64_t h[SKIMAGE_BINS];
    for (int k = 0; k < SKIMAGE_BINS; k++)
        h[k] = (int64_t)counts[k];
    clip_skimage(h, (int64_t)whole_limit(clahe->clip_limit * area, pixels));
    const double scale = (SKIMAGE_GRAYS - 1) / area;
    int64_t sum = 0;
    for (int k = 0; k < SKIMAGE_BINS; k++) {
        sum += h[k];
        const double level = (double)sum * scale;
        share[k] = level > SKIMAGE_GRAYS - 1 ? SKIMAGE_GRAYS - 1 : (uint32_t)level;
    }
}
