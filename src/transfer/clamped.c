/* SPDX-License-Identifier: MIT */
/* clamped.c: counts the samples that a transfer limits. Each map is monotonic, so these are the
 * samples with keys below one key and above another. */
#include "transfer/clamped.h"

#include "base/pixel.h"
#include "transfer/luma.h"

/* Defined samples have keys from `first` to `last`; those with keys below `least` or above `most`
 * are limited, where least <= most + 1. */
typedef struct KeyLimits {
    uint64_t first, last, least, most;
    bool all_low, all_high; /* no key is within the range */
} KeyLimits;

bool transfer_clamps(const Transfer *transfer)
{
    const ImgstatTransform transform = transfer->transform;
    const bool limits = transform == IMGSTAT_STRETCH || transform == IMGSTAT_PERCENTILE ||
                        transform == IMGSTAT_MEANSTD || transform == IMGSTAT_GAMMA;
    return limits && (transfer->has_parameters || !sample_is_narrow(transfer->from));
}

/* The output of a MAP_LINEAR before it is limited. */
static double linear_output(const Map *map, uint64_t key)
{
    if (map->divisor == 0.0)
        return map->offset;
    const double x = sample_exceeds_double(map->from) ? key_distance(key, map->origin)
                                                      : map_value(map->from, key);
    return map_add(map_mul(map_sub(x, map->center) / map->divisor, map->factor), map->offset);
}

static KeyLimits linear_limits(const Map *map, KeyLimits limits)
{
    const double lo = map->to.lo, hi = map->to.hi;
    limits.all_low = linear_output(map, limits.last) < lo;
    limits.all_high = linear_output(map, limits.first) > hi;
    if (limits.all_low || limits.all_high)
        return limits;
    uint64_t low = limits.first, high = limits.last; /* the first key that is not too low */
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (linear_output(map, middle) < lo)
            low = middle + 1;
        else
            high = middle;
    }
    limits.least = low;
    high = limits.last; /* the last key that is not too high */
    for (low = limits.first; low < high;) {
        const uint64_t middle = high - (high - low) / 2;
        if (linear_output(map, middle) > hi)
            high = middle - 1;
        else
            low = middle;
    }
    limits.most = low;
    return limits;
}

static KeyLimits limits_of(const Map *map)
{
    const uint32_t unused = 64 - sample_bits(map->from);
    KeyLimits limits = {.first = 0, .last = UINT64_MAX >> unused};
    if (sample_is_float(map->from)) {
        limits.first = sample_key_infinity(map->from, true) + 1;
        limits.last = sample_key_infinity(map->from, false) - 1;
    }
    limits.least = limits.first;
    limits.most = limits.last;
    if (map->passthrough)
        return limits;
    if (map->kind == MAP_LINEAR)
        return linear_limits(map, limits);
    if (map->kind == MAP_AFFINE || map->kind == MAP_POWER) {
        limits.least = map->black + (map->black_part > 0);
        limits.most = map->white;
    }
    return limits;
}

/* Counts defined samples of at most 16 bits, in blocks small enough for 32-bit counters. */
static inline void count_narrow(ImgstatSample sample, const unsigned char *at, size_t n,
                                size_t stride, uint32_t least, uint32_t most, uint64_t *low,
                                uint64_t *high)
{
    enum { BLOCK = 1 << 20 };
    const size_t bytes = sample_bits(sample) / 8;
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t end = n - first < BLOCK ? n : first + BLOCK;
        uint32_t below = 0, above = 0;
        for (size_t i = first; i < end; i++) {
            const uint32_t key =
                (uint32_t)sample_key(sample, load_raw(at + i * stride * bytes, bytes));
            below += key < least;
            above += key > most;
        }
        *low += below;
        *high += above;
    }
}

/* Counts the samples of a row that one map serves: every `stride`th. `sample` is a constant where
 * this is inlined. */
static inline void count_row(ImgstatSample sample, const ImagePro *band, const KeyLimits *limits,
                             const unsigned char *at, size_t n, size_t stride, const uint8_t *mask,
                             size_t per_pixel, ImgstatClamped *counts)
{
    const size_t bytes = sample_bits(sample) / 8;
    const uint64_t first = limits->first, last = limits->last;
    const uint64_t least = limits->least, most = limits->most;
    const bool has_nodata = band->has_nodata;
    const uint64_t nodata = band->nodata_key;
    uint64_t low = 0, high = 0, all = 0;
    if (!mask && !has_nodata && sample_is_narrow(sample) && !sample_is_float(sample)) {
        count_narrow(sample, at, n, stride, (uint32_t)least, (uint32_t)most, &low, &high);
        all = n;
    } else if (!mask && !has_nodata && !sample_is_float(sample)) {
        for (size_t i = 0; i < n; i++) {
            const uint64_t key = sample_key(sample, load_raw(at + i * stride * bytes, bytes));
            low += key < least;
            high += key > most;
        }
        all = n;
    } else {
        for (size_t i = 0; i < n; i++) {
            const uint64_t key = sample_key(sample, load_raw(at + i * stride * bytes, bytes));
            const bool mapped = key >= first && key <= last && !(has_nodata && key == nodata) &&
                                !(mask && !mask[i / per_pixel]);
            all += mapped;
            low += mapped && key < least;
            high += mapped && key > most;
        }
    }
    counts->n += all;
    counts->low += limits->all_low ? all : limits->all_high ? 0 : low;
    counts->high += limits->all_high ? all : limits->all_low ? 0 : high;
}

static void count_samples(const ImagePro *band, const KeyLimits *limits, const unsigned char *at,
                          size_t n, size_t stride, const uint8_t *mask, size_t per_pixel,
                          ImgstatClamped *counts)
{
    switch (band->sample) {
    case IMGSTAT_U8:
        count_row(IMGSTAT_U8, band, limits, at, n, stride, mask, per_pixel, counts);
        return;
    case IMGSTAT_I8:
        count_row(IMGSTAT_I8, band, limits, at, n, stride, mask, per_pixel, counts);
        return;
    case IMGSTAT_U16:
        count_row(IMGSTAT_U16, band, limits, at, n, stride, mask, per_pixel, counts);
        return;
    case IMGSTAT_I16:
        count_row(IMGSTAT_I16, band, limits, at, n, stride, mask, per_pixel, counts);
        return;
    case IMGSTAT_F16:
        count_row(IMGSTAT_F16, band, limits, at, n, stride, mask, per_pixel, counts);
        return;
    case IMGSTAT_U32:
        count_row(IMGSTAT_U32, band, limits, at, n, stride, mask, per_pixel, counts);
        return;
    case IMGSTAT_I32:
        count_row(IMGSTAT_I32, band, limits, at, n, stride, mask, per_pixel, counts);
        return;
    case IMGSTAT_F32:
        count_row(IMGSTAT_F32, band, limits, at, n, stride, mask, per_pixel, counts);
        return;
    case IMGSTAT_U64:
        count_row(IMGSTAT_U64, band, limits, at, n, stride, mask, per_pixel, counts);
        return;
    case IMGSTAT_I64:
        count_row(IMGSTAT_I64, band, limits, at, n, stride, mask, per_pixel, counts);
        return;
    case IMGSTAT_F64:
        count_row(IMGSTAT_F64, band, limits, at, n, stride, mask, per_pixel, counts);
        return;
    }
}

static void count_luma(const ImagePro *band, const KeyLimits *limits, const unsigned char *row,
                       const uint8_t *mask, ImgstatClamped *counts)
{
    const ImgstatSample sample = band->sample;
    const size_t bytes = sample_bits(sample) / 8;
    for (size_t x = 0; x < band->width; x++) {
        const unsigned char *const at = row + x * band->channels * bytes;
        uint64_t key[3];
        bool mapped = !(mask && !mask[x]);
        for (size_t c = 0; c < 3; c++) {
            key[c] = sample_key(sample, load_raw(at + c * bytes, bytes));
            mapped = mapped && !map_undefined(sample, key[c]) &&
                     !(band->has_nodata && key[c] == band->nodata_key);
        }
        if (!mapped)
            continue;
        const uint64_t luma = luma_of_keys(sample, key);
        counts->n++;
        counts->low += limits->all_low || (!limits->all_high && luma < limits->least);
        counts->high += limits->all_high || (!limits->all_low && luma > limits->most);
    }
}

void transfer_count_clamped(const Transfer *transfer, const ImagePro *band, int16_t alpha,
                            ImgstatClamped *counts)
{
    const size_t bytes = imgstat_sample_bytes(band->sample), channels = band->channels;
    const bool alike = !transfer->luma && transfer->n_maps == 1 && alpha < 0;
    for (uint16_t c = 0, m = 0; c < channels; c++) {
        if (c == alpha)
            continue;
        const KeyLimits limits = limits_of(&transfer->maps[transfer->n_maps > 1 ? m : 0]);
        m++;
        for (size_t y = 0; y < band->height; y++) {
            const unsigned char *const row = image_row(band, y);
            const uint8_t *const mask = mask_row(band, y);
            if (transfer->luma)
                count_luma(band, &limits, row, mask, counts);
            else if (alike)
                count_samples(band, &limits, row, band->width * channels, 1, mask, channels,
                              counts);
            else
                count_samples(band, &limits, row + c * bytes, band->width, channels, mask, 1,
                              counts);
        }
        if (transfer->luma || alike)
            return;
    }
}
