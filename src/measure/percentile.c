/* SPDX-License-Identifier: MIT */
/* percentile.c: radix select over order keys. The bins of the leading 16 bits show in which bin a
 * rank lies. Counting the next 16 bits of the samples there narrows it, until the whole key is
 * known. */
#include "measure/percentile.h"

#include "measure/key_stream.h"

#include <stdlib.h>

/* Returns the bin that holds the sample of rank *rank. *rank becomes the rank within the bin.
 * Returns n if there are too few samples. */
static size_t find_rank(const uint64_t *bins, size_t n, uint64_t *rank)
{
    for (size_t k = 0; k < n; k++) {
        if (*rank < bins[k])
            return k;
        *rank -= bins[k];
    }
    return n;
}

ImgstatResult percentile_search_start(BufferCache *cache, PercentileSearch *search,
                                      const Record *record, OrderStat *stat, size_t n,
                                      ImgstatError *err)
{
    *search = (PercentileSearch){.cache = cache, .sample = record->sample, .stat = stat, .n = n};
    const size_t bins = sample_record_bins(record->sample);
    const uint32_t width = sample_bits(record->sample);
    size_t bin = 0;
    uint64_t below = 0; /* samples in the bins before that */
    for (size_t i = 0; i < n; i++) {
        const uint64_t *const from = record->bins + stat[i].channel * bins;
        /* Ranks mostly rise: the search goes on where the last one ended. */
        if (i == 0 || stat[i].channel != stat[i - 1].channel || stat[i].rank < below)
            bin = below = 0;
        const uint64_t rank = stat[i].rank;
        stat[i].rank -= below;
        bin += find_rank(from + bin, bins - bin, &stat[i].rank);
        if (bin == bins)
            return error_set(err, IMGSTAT_ERR_ARG, "a rank beyond the number of samples");
        below = rank - stat[i].rank;
        stat[i].key = bin;
        stat[i].within = from[bin];
        stat[i].shift = (uint8_t)(width > DIGIT_BITS ? width - DIGIT_BITS : 0);
    }
    size_t bytes;
    if (!size_product(n ? n : 1, sizeof *search->count_of, &bytes) ||
        !(search->count_of = malloc(bytes)))
        return error_memory(err, n, "order statistics");
    return IMGSTAT_OK;
}

/* Returns the count that narrows `stat`, and adds it if it is missing. Returns SIZE_MAX if there is
 * no room for it. */
static size_t count_for(PercentileSearch *search, const OrderStat *stat)
{
    const uint8_t shift = (uint8_t)(stat->shift - DIGIT_BITS);
    for (size_t i = 0; i < search->n_counts; i++) {
        const DigitCount *const count = &search->counts[i];
        if (count->channel == stat->channel && count->prefix == stat->key && count->shift == shift)
            return i;
    }
    if (search->n_counts == search->capacity)
        return SIZE_MAX;
    DigitCount *const count = &search->counts[search->n_counts];
    count->channel = stat->channel;
    count->shift = shift;
    count->prefix = stat->key;
    memset(count->bins, 0, DIGIT_BINS * sizeof *count->bins);
    return search->n_counts++;
}

/* Allocates as many counters as the statistics can use, for all reads. */
static ImgstatResult reserve(PercentileSearch *search, ImgstatError *err)
{
    const size_t capacity = search->n < PERCENTILE_COUNTS ? search->n : PERCENTILE_COUNTS;
    search->counts = calloc(capacity, sizeof *search->counts);
    if (!search->counts)
        return error_memory(err, capacity * sizeof *search->counts, "counters");
    for (; search->capacity < capacity; search->capacity++) {
        uint64_t *const bins = buffer_cache_acquire(search->cache, DIGIT_BINS * sizeof *bins);
        if (!bins)
            return error_memory(err, DIGIT_BINS * sizeof *bins, "counters");
        search->counts[search->capacity].bins = bins;
    }
    return IMGSTAT_OK;
}

ImgstatResult percentile_search_prepare(PercentileSearch *search, ImgstatError *err)
{
    search->n_counts = 0;
    for (size_t i = 0; i < search->n; i++) {
        search->count_of[i] = SIZE_MAX;
        if (search->stat[i].shift == 0)
            continue;
        if (!search->counts)
            IMGSTAT_TRY(reserve(search, err));
        search->count_of[i] = count_for(search, &search->stat[i]);
    }
    return IMGSTAT_OK;
}

ImgstatResult percentile_search_advance(PercentileSearch *search, ImgstatError *err)
{
    for (size_t i = 0; i < search->n; i++) {
        if (search->count_of[i] == SIZE_MAX)
            continue;
        OrderStat *const stat = &search->stat[i];
        const uint64_t *const bins = search->counts[search->count_of[i]].bins;
        uint64_t total = 0;
        for (size_t k = 0; k < DIGIT_BINS; k++)
            total += bins[k];
        const size_t digit = find_rank(bins, DIGIT_BINS, &stat->rank);
        if (digit == DIGIT_BINS || total != stat->within)
            return pixels_changed(err);
        stat->within = bins[digit];
        stat->key = stat->key << DIGIT_BITS | digit;
        stat->shift = (uint8_t)(stat->shift - DIGIT_BITS);
    }
    return IMGSTAT_OK;
}

void percentile_search_release(PercentileSearch *search)
{
    for (size_t i = 0; i < search->capacity; i++)
        buffer_cache_release(search->counts[i].bins);
    free(search->counts);
    free(search->count_of);
    *search = (PercentileSearch){0};
}

/* ---- Values ---- */

double percentile_at(ImgstatSample sample, uint64_t low, uint64_t high, const PercentileRank *rank,
                     ExactPercentile *exact)
{
    double value;
    if (sample_is_float(sample)) {
        *exact = (ExactPercentile){.exact = low == high || rank->rest == 0, .key = low};
        return percentile_value(sample, low, high, rank->t);
    }
    exact->exact = percentile_between(sample, low, high, rank->rest, &exact->key, &value);
    return value;
}

/* The keys between which a sample lies. */
typedef struct KeyBounds {
    uint64_t lo, hi;
} KeyBounds;

/* rank: that of the sample whose leading bits are in stat. */
static KeyBounds key_bounds(const Tally *tally, const OrderStat *stat, uint64_t rank)
{
    if (rank == 0 || rank == tally->n - 1) {
        const uint64_t key = rank == 0 ? tally->min_key : tally->max_key;
        return (KeyBounds){key, key};
    }
    const uint64_t first = stat->key << stat->shift;
    const uint64_t last = first + (((uint64_t)1 << stat->shift) - 1);
    return (KeyBounds){first > tally->min_key ? first : tally->min_key,
                       last < tally->max_key ? last : tally->max_key};
}

/* Integers beyond 2^53 were rounded to double. */
static double outward(ImgstatSample sample, double x, double toward)
{
    const double exact_double = 9007199254740992.0;
    if (!sample_exceeds_double(sample) || fabs(x) < exact_double)
        return x;
    return nextafter(x, toward);
}

double percentile_bounded(const Record *record, uint16_t channel, PercentileRank rank,
                          const OrderStat stat[2], ExactPercentile *exact, PercentileBounds *bounds)
{
    const ImgstatSample sample = record->sample;
    const Tally *const tally = &record->tally[channel];
    const KeyBounds low = key_bounds(tally, &stat[0], rank.low);
    const KeyBounds high = key_bounds(tally, &stat[1], rank.high);
    const double least = percentile_at(sample, low.lo, high.lo, &rank, exact);
    if (low.lo == low.hi && high.lo == high.hi)
        return least;
    const double most = percentile_at(sample, low.hi, high.hi, &rank, exact);
    *exact = (ExactPercentile){0};
    *bounds = (PercentileBounds){.only = true,
                                 .lo = outward(sample, least, -(double)INFINITY),
                                 .hi = outward(sample, most, (double)INFINITY)};
    return (double)NAN;
}
