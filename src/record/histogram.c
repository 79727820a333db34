/* SPDX-License-Identifier: MIT */
/* histogram.c: which bins a histogram has; their edges; counting narrow types from their bins. */
#include "record/histogram.h"

ImgstatResult histogram_check(const ImgstatMeasure *how, ImgstatError *err)
{
    if (how->bins > HISTOGRAM_MAX_BINS)
        return error_set(err, IMGSTAT_ERR_ARG, "%u bins are more than %d", how->bins,
                         HISTOGRAM_MAX_BINS);
    if (!how->has_range)
        return IMGSTAT_OK;
    if (!isfinite(how->lo) || !isfinite(how->hi))
        return error_set(err, IMGSTAT_ERR_ARG, "the range of a histogram must be finite");
    if (how->lo > how->hi)
        return error_set(err, IMGSTAT_ERR_ARG, "the range %g to %g of a histogram is reversed",
                         how->lo, how->hi);
    return IMGSTAT_OK;
}

/* The values that samples of `bits` bits can have; all of the type if a sample has more. */
static void value_range(const Record *record, uint16_t channel, uint8_t bits, double *lo,
                        double *hi)
{
    const ImgstatSample sample = record->sample;
    const Tally *const tally = &record->tally[channel];
    if (bits == 0 || bits > sample_bits(sample))
        bits = (uint8_t)sample_bits(sample);
    for (;; bits = (uint8_t)sample_bits(sample)) {
        const double span = ldexp(1, bits);
        *lo = sample_is_signed(sample) ? -span / 2 : 0;
        *hi = *lo + span - 1;
        if (tally->n == 0 || bits == sample_bits(sample) ||
            (sample_double(sample, tally->min_key) >= *lo &&
             sample_double(sample, tally->max_key) <= *hi))
            return;
    }
}

/* Sets lo, hi, bins and per_value; true if the range is that of the samples. */
static bool choose(const Record *record, uint16_t channel, uint8_t bits, const ImgstatMeasure *how,
                   Histogram *h)
{
    const ImgstatSample sample = record->sample;
    const Tally *const tally = &record->tally[channel];
    const bool values = sample_is_narrow(sample) && !sample_is_float(sample);
    h->bins = how->bins ? how->bins : HISTOGRAM_BINS;
    h->per_value = false;
    if (how->has_range) {
        const double first = ceil(how->lo), last = floor(how->hi);
        h->lo = how->lo;
        h->hi = how->hi;
        if (values && !how->bins && first <= last && last - first < HISTOGRAM_MAX_VALUES &&
            fabs(first) < 0x1p62) {
            h->lo = first;
            h->hi = last;
            h->bins = (uint32_t)(last - first) + 1;
            h->per_value = true;
        }
        return false;
    }
    if (values) {
        value_range(record, channel, bits, &h->lo, &h->hi);
        h->per_value = !how->bins;
        if (h->per_value)
            h->bins = (uint32_t)(h->hi - h->lo) + 1;
        else
            h->hi += 1; /* so that 16 bins over 256 values have 16 values each */
        return false;
    }
    h->lo = tally->n ? sample_double(sample, tally->min_key) : (double)NAN;
    h->hi = tally->n ? sample_double(sample, tally->max_key) : (double)NAN;
    return true;
}

/* One past the largest key whose value is <= hi, as far as there is one past it; has_top if not. */
static uint64_t end_key(ImgstatSample sample, double hi, bool *has_top)
{
    if (sample_is_float(sample)) {
        const double past = nextafter(hi, (double)INFINITY);
        return isfinite(past) ? sample_key_ceil(sample, past) : sample_key_infinity(sample, false);
    }
    const ImgstatValue floored = {.sample = IMGSTAT_F64, .as.f = floor(hi)};
    uint64_t key;
    if (sample_key_of(sample, floored, &key))
        return key + 1; /* no double is the largest 64-bit integer */
    if (hi < 0)
        return 0;
    const uint64_t end = sample_key_ceil(sample, hi);
    *has_top = end == UINT64_MAX;
    return end;
}

/* Whether bins are narrower than two steps of double at the larger end of the range. */
static bool is_fine(const Histogram *h)
{
    const double largest = fmax(fabs(h->lo), fabs(h->hi));
    const double step = largest - nextafter(largest, 0);
    return (h->hi - h->lo) / h->bins < 2 * step;
}

/* The smallest double at or above lo + k w of fine bins, where the rounding of lo + k w could leave
 * even lo out of bin 0. hi - lo is at most 2^25 steps and there are at most 2^24 bins, so every
 * difference and product is exact. */
static double edge_of_fine(const Histogram *h, uint32_t k)
{
    const double wanted = k * (h->hi - h->lo);
    double edge = h->lo + wanted / h->bins;
    while ((edge - h->lo) * h->bins < wanted)
        edge = nextafter(edge, (double)INFINITY);
    for (double below = edge; (below - h->lo) * h->bins >= wanted;) {
        edge = below;
        below = nextafter(below, -(double)INFINITY);
    }
    return edge;
}

double histogram_edge(const Histogram *h, uint32_t k)
{
    const double apart = h->hi - h->lo;
    if (k == h->bins)
        return h->hi;
    if (h->per_value)
        return h->lo + k;
    if (!isfinite(apart))
        return 2 * (h->lo / 2 + k * ((h->hi / 2 - h->lo / 2) / h->bins));
    return h->fine ? edge_of_fine(h, k) : h->lo + k * (apart / h->bins);
}

/* Edges ascend from first to end. Where all are one value, the last bin holds it, also if double
 * has rounded that value. */
static void fill_edges(ImgstatSample sample, Histogram *h, uint64_t first, uint64_t end)
{
    h->edge[0] = first;
    for (uint32_t k = 1; k < h->bins; k++) {
        const uint64_t key = h->lo < h->hi ? sample_key_ceil(sample, histogram_edge(h, k)) : first;
        h->edge[k] = key < h->edge[k - 1] ? h->edge[k - 1] : key > end ? end : key;
    }
    h->edge[h->bins] = end;
}

/* The same for integers between their own extrema, as fractions: from 2^53 on doubles may be
 * further apart than bins are wide. Keys differ as the values do. */
static void fill_integer_edges(const Tally *tally, uint64_t end, Histogram *h)
{
    const unsigned __int128 apart = tally->max_key - tally->min_key;
    for (uint32_t k = 0; k < h->bins; k++)
        h->edge[k] = tally->min_key + (uint64_t)((apart * k + h->bins - 1) / h->bins);
    h->edge[h->bins] = end;
}

/* The bin of the largest 64-bit integer: the last that begins at or below it. */
static uint32_t find_top_bin(ImgstatSample sample, const Histogram *h)
{
    const double past = sample_is_signed(sample) ? 0x1p63 : 0x1p64;
    uint32_t k = h->bins - 1;
    while (h->lo < h->hi && k > 0 && histogram_edge(h, k) >= past)
        k--;
    return k;
}

/* A guess by arithmetic in double is good to a bin if bins are wider than the steps of double. */
static double guess_scale(const Histogram *h)
{
    const double apart = h->hi - h->lo;
    const double scale = h->bins / apart;
    return isfinite(apart) && isfinite(scale) && !h->fine ? scale : 0;
}

static void make_edges(const Record *record, uint16_t channel, bool by_samples, Histogram *h)
{
    const ImgstatSample sample = record->sample;
    const Tally *const tally = &record->tally[channel];
    if (isnan(h->lo))
        return; /* edges stay 0, and nothing is counted */
    uint64_t first, end;
    if (by_samples) { /* by their keys: lo and hi are rounded for 64-bit integers */
        first = tally->min_key;
        h->has_top = tally->max_key == UINT64_MAX;
        end = h->has_top ? UINT64_MAX : tally->max_key + 1;
    } else {
        const bool past_integers = sample_bits(sample) == 64 && !sample_is_float(sample) &&
                                   h->lo >= (sample_is_signed(sample) ? 0x1p63 : 0x1p64);
        first = sample_key_ceil(sample, h->lo);
        end = end_key(sample, h->hi, &h->has_top);
        if (past_integers)
            h->has_top = false;
        if (end < first)
            end = first;
    }
    h->fine = is_fine(h);
    h->per_bin = guess_scale(h);
    if (by_samples && !sample_is_float(sample) && fmax(fabs(h->lo), fabs(h->hi)) >= 0x1p53) {
        h->outgrown = true;
        h->top_bin = h->bins - 1;
        fill_integer_edges(tally, end, h);
        return;
    }
    if (h->has_top)
        h->top_bin = find_top_bin(sample, h);
    fill_edges(sample, h, first, end);
}

/* Narrow types: adds up the record's bins. */
static void count_bins(const Record *record, uint16_t channel, Histogram *h)
{
    const size_t n = sample_record_bins(record->sample);
    const uint64_t *const bins = record->bins + channel * n;
    for (uint32_t k = 0; k < h->bins; k++)
        for (uint64_t key = h->edge[k]; key < h->edge[k + 1] && key < n; key++)
            h->counts[k] += bins[key];
}

/* One bin a value: the same bins, from lo on. */
static void copy_bins(const Record *record, uint16_t channel, Histogram *h)
{
    const Tally *const tally = &record->tally[channel];
    const int64_t n = (int64_t)sample_record_bins(record->sample);
    const uint64_t *const bins = record->bins + channel * n;
    const int64_t first = (int64_t)h->lo + (sample_is_signed(record->sample) ? n / 2 : 0);
    const int64_t low = (int64_t)tally->min_key, high = (int64_t)tally->max_key;
    for (int64_t key = low < first ? first : low; key <= high && key - first < h->bins; key++)
        h->counts[key - first] = bins[key];
}

ImgstatResult histogram_create(BufferCache *cache, const Record *record, uint16_t channel,
                               uint8_t bits, const ImgstatMeasure *how, Histogram *out,
                               ImgstatError *err)
{
    *out = (Histogram){0};
    const bool by_samples = choose(record, channel, bits, how, out);
    const size_t bytes = ((size_t)out->bins + 1) * sizeof(uint64_t); /* bins <= 2^24 */
    out->counts = buffer_cache_acquire_zeroed(cache, 1, bytes);
    if (!out->counts)
        return error_memory(err, bytes, "a histogram");
    if (out->per_value) {
        copy_bins(record, channel, out);
        return IMGSTAT_OK;
    }
    out->edge = buffer_cache_acquire_zeroed(cache, 1, bytes);
    if (!out->edge) {
        histogram_release(out);
        return error_memory(err, bytes, "a histogram");
    }
    make_edges(record, channel, by_samples, out);
    if (sample_is_narrow(record->sample))
        count_bins(record, channel, out);
    return IMGSTAT_OK;
}

void histogram_release(Histogram *histogram)
{
    buffer_cache_release(histogram->edge);
    buffer_cache_release(histogram->counts);
    *histogram = (Histogram){0};
}
