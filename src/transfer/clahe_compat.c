/* SPDX-License-Identifier: MIT */
/* clahe_compat.c: how OpenCV and scikit-image limit the counts of a tile and make its table. */
#include "transfer/clahe.h"

#include "cpu/clahe_levels.h"

#define BODY static inline __attribute__((always_inline))

/* No bin holds more than the tile's area, so no more limits nothing; at least one. */
static uint64_t whole_limit(double limit, uint64_t area)
{
    if (!(limit < (double)area))
        return area;
    return limit > 1.0 ? (uint64_t)limit : 1;
}

/* A tile's counts: other keys than [begin, end) have none, and their levels are not asked for. As
 * int64_t, which more processors have vectors for; they hold at most `area`. */
typedef struct Tile {
    const int64_t *counts;
    int64_t begin, end;
    int64_t area, limit, bins;
} Tile;

/* How OpenCV shares out what is beyond the limit: once, evenly, and the rest in equal steps. */
typedef struct Sharing {
    int64_t batch;
    int64_t rest, step; /* one more for so many bins: 0, step, 2 * step ... */
} Sharing;

/* Bins that are worked on at once. */
enum { SOME = 64 };

BODY int64_t some(const Tile *tile, int64_t k)
{
    return tile->end - k < SOME ? tile->end - k : SOME;
}

BODY Sharing share_out(const Tile *tile)
{
    enum { AHEAD = 512 }; /* the counters of all tiles are in no near cache */
    const int64_t *const counts = tile->counts, limit = tile->limit, bins = tile->bins;
    int64_t clipped = 0;
    for (int64_t k = tile->begin, n; k < tile->end; k += n) {
        n = some(tile, k);
        for (int64_t i = 0; i < n; i += 8)
            __builtin_prefetch(counts + k + i + AHEAD);
        for (int64_t i = 0; i < n; i++)
            clipped += counts[k + i] > limit ? counts[k + i] - limit : 0;
    }
    const int64_t rest = clipped % bins;
    return (Sharing){clipped / bins, rest, rest && bins / rest > 1 ? bins / rest : 1};
}

/* The counts of n bins from k on, shared out, each with those before it; `next` of the rest goes to
 * the first bin from k on that gets one; sum: of the bins before k. */
BODY void cumulate(const Tile *tile, const Sharing *sharing, int64_t k, int64_t n, int64_t *next,
                   int64_t *sum, int64_t *count)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t has = tile->counts[k + i];
        count[i] = (has < tile->limit ? has : tile->limit) + sharing->batch;
    }
    for (; *next < sharing->rest && *next * sharing->step < k + n; ++*next)
        count[*next * sharing->step - k]++;
    for (int64_t i = 0; i < n; i++)
        count[i] = *sum += count[i];
}

BODY void opencv_shares(const Tile *tile, uint32_t *share)
{
    const Sharing sharing = share_out(tile);
    const float top = (float)(tile->bins - 1), scale = top / (float)tile->area;
    int64_t next = (tile->begin + sharing.step - 1) / sharing.step;
    int64_t sum = tile->begin * sharing.batch + (next < sharing.rest ? next : sharing.rest);
    for (int64_t k = tile->begin, n; k < tile->end; k += n) {
        int64_t count[SOME];
        float level[SOME];
        n = some(tile, k);
        cumulate(tile, &sharing, k, n, &next, &sum, count);
        for (int64_t i = 0; tile->area > INT32_MAX && i < n; i++)
            level[i] = (float)count[i];
        for (int64_t i = 0; tile->area <= INT32_MAX && i < n; i++) /* many at once */
            level[i] = (float)(int32_t)count[i];
        for (int64_t i = 0; i < n; i++) {
            const float whole = clahe_rounded(level[i] * scale);
            share[k + i] = (uint32_t)(int)(whole > top ? top : whole);
        }
    }
}

static void opencv_shares_portable(const Tile *tile, uint32_t *share)
{
    opencv_shares(tile, share);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void opencv_shares_avx2(const Tile *tile, uint32_t *share)
{
    opencv_shares(tile, share);
}
#endif

void clahe_opencv_shares(const Clahe *clahe, uint64_t *counts, uint32_t *share)
{
    const uint64_t area = (uint64_t)clahe->x.tile * clahe->y.tile;
    const double limit = clahe->clip_limit * (double)area / clahe->bins;
    const Tile tile = {.counts = (const int64_t *)counts,
                       .begin = (int64_t)clahe->black,
                       .end = (int64_t)clahe->white + 1,
                       .area = (int64_t)area,
                       .limit = (int64_t)whole_limit(limit, area),
                       .bins = clahe->bins};
#if defined(__x86_64__)
    if (cpu_features_level() >= PROCESSOR_AVX2) {
        opencv_shares_avx2(&tile, share);
        return;
    }
#endif
    opencv_shares_portable(&tile, share);
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
