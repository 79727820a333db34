/* SPDX-License-Identifier: MIT */
/* clahe_compat.c: how OpenCV and scikit-image limit the counts of a tile and make its table. */
#include "transfer/clahe.h"

/* Returns the limit as a whole count: at least 1, at most the area of the tile, which limits
 * nothing. */
static uint64_t whole_limit(double limit, uint64_t area)
{
    if (!(limit < (double)area))
        return area;
    return limit > 1.0 ? (uint64_t)limit : 1;
}

void clahe_opencv_shares(const Clahe *clahe, const uint64_t *counts, uint32_t *share)
{
    const uint64_t area = (uint64_t)clahe->x.tile * clahe->y.tile, bins = clahe->bins;
    const uint64_t limit = whole_limit(clahe->clip_limit * (double)area / clahe->bins, area);
    const float top = (float)(clahe->bins - 1), scale = top / (float)area;
    uint64_t clipped = 0;
    for (uint64_t k = clahe->black; k <= clahe->white; k++)
        clipped += counts[k] > limit ? counts[k] - limit : 0;
    /* The excess is shared out once: evenly, and the remainder as one more for the bins 0, step, 2
     * * step ... */
    const uint64_t batch = clipped / bins, rest = clipped % bins;
    const uint64_t step = rest && bins / rest > 1 ? bins / rest : 1;
    uint64_t next = (clahe->black + step - 1) / step;
    uint64_t sum = clahe->black * batch + (next < rest ? next : rest);
    for (uint64_t k = clahe->black; k <= clahe->white; k++) {
        const bool more = next < rest && k == next * step;
        next += more;
        sum += (counts[k] < limit ? counts[k] : limit) + batch + more;
        const float level = rintf((float)sum * scale);
        share[k] = (uint32_t)(level > top ? top : level);
    }
}

/* Shares the excess out again and again, as scikit-image does, until none is left or no bin takes
 * any. */
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
        /* bins that the gift raised to `upper` are filled up as those that were there before */
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
