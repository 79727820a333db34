/* SPDX-License-Identifier: MIT */
/* percentile.c: radix select over order keys. The bins of the leading 16 bits show in which bin a
 * rank lies. Counting the next 16 bits of the samples there narrows it, until the whole key is
 * known, or the samples are so few that gathering and sorting them is less work than to clear and
 * sum 65,536 counters. */
#include "measure/percentile.h"

#include "measure/key_stream.h"
#include "record/radix_sort.h"

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
    const uint8_t shift = (uint8_t)(width > DIGIT_BITS ? width - DIGIT_BITS : 0);
    size_t bin = 0;
    uint64_t below = 0; /* samples in the bins before that */
    for (size_t i = 0; i < n; i++) {
        const uint64_t *const from = record->bins + stat[i].channel * bins;
        /* Ranks mostly rise: the search goes on where the last one ended. */
        if (i == 0 || stat[i].channel != stat[i - 1].channel || stat[i].rank < below) {
            bin = (size_t)(record->tally[stat[i].channel].min_key >> shift);
            below = 0;
        }
        const uint64_t rank = stat[i].rank;
        stat[i].rank -= below;
        bin += find_rank(from + bin, bins - bin, &stat[i].rank);
        if (bin == bins)
            return error_set(err, IMGSTAT_ERR_ARG, "a rank beyond the number of samples");
        below = rank - stat[i].rank;
        stat[i].key = bin;
        stat[i].within = from[bin];
        stat[i].shift = shift;
    }
    size_t bytes;
    if (!size_product(n ? n : 1, sizeof *search->found_by, &bytes) ||
        !(search->found_by = malloc(bytes)))
        return error_memory(err, n, "order statistics");
    return IMGSTAT_OK;
}

static bool is_gathered(const OrderStat *stat)
{
    return stat->within <= PERCENTILE_FEW;
}

/* Returns the index of the count that narrows `stat`, and adds it if it is missing. Returns
 * SIZE_MAX if there is no room for it. */
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

/* Returns the index of the gather that finds `stat`, and adds it if it is missing. Returns SIZE_MAX
 * if there is no room for it. */
static size_t gather_for(PercentileSearch *search, const OrderStat *stat)
{
    const uint64_t lo = stat->key << stat->shift;
    for (size_t i = 0; i < search->n_gathers; i++)
        if (search->gathers[i].channel == stat->channel && search->gathers[i].lo == lo)
            return i;
    if (search->n_gathers == PERCENTILE_COUNTS)
        return SIZE_MAX;
    search->gathers[search->n_gathers] = (KeyGather){.channel = stat->channel,
                                                     .lo = lo,
                                                     .hi = lo + (((uint64_t)1 << stat->shift) - 1),
                                                     .capacity = (size_t)stat->within};
    return search->n_gathers++;
}

/* Allocates the list of gathers, and as many counters as the statistics that need some can use, for
 * all reads. */
static ImgstatResult reserve(PercentileSearch *search, ImgstatError *err)
{
    size_t counted = 0;
    for (size_t i = 0; i < search->n; i++)
        counted += search->stat[i].shift && !is_gathered(&search->stat[i]);
    const size_t capacity = counted < PERCENTILE_COUNTS ? counted : PERCENTILE_COUNTS;
    search->gathers = calloc(PERCENTILE_COUNTS, sizeof *search->gathers);
    search->counts = calloc(capacity ? capacity : 1, sizeof *search->counts);
    if (!search->gathers || !search->counts)
        return error_memory(err, capacity * sizeof *search->counts, "counters");
    for (; search->capacity < capacity; search->capacity++) {
        uint64_t *const bins = buffer_cache_acquire(search->cache, DIGIT_BINS * sizeof *bins);
        if (!bins)
            return error_memory(err, DIGIT_BINS * sizeof *bins, "counters");
        search->counts[search->capacity].bins = bins;
    }
    return IMGSTAT_OK;
}

/* Gives each gather room for its keys and as many more, for sorting. */
static ImgstatResult reserve_keys(PercentileSearch *search, ImgstatError *err)
{
    size_t keys = 0;
    for (size_t i = 0; i < search->n_gathers; i++)
        keys += 2 * search->gathers[i].capacity;
    buffer_cache_release(search->keys);
    search->keys = keys ? buffer_cache_acquire(search->cache, keys * sizeof *search->keys) : NULL;
    if (keys && !search->keys)
        return error_memory(err, keys * sizeof *search->keys, "keys");
    uint64_t *next = search->keys;
    for (size_t i = 0; i < search->n_gathers; i++) {
        search->gathers[i].keys = next;
        next += 2 * search->gathers[i].capacity;
    }
    return IMGSTAT_OK;
}

ImgstatResult percentile_search_prepare(PercentileSearch *search, ReadRequest *request, bool *more,
                                        ImgstatError *err)
{
    search->n_counts = search->n_gathers = 0;
    for (size_t i = 0; i < search->n; i++) {
        const OrderStat *const stat = &search->stat[i];
        search->found_by[i] = SIZE_MAX;
        if (stat->shift == 0)
            continue;
        if (!search->counts)
            IMGSTAT_TRY(reserve(search, err));
        search->found_by[i] =
            is_gathered(stat) ? gather_for(search, stat) : count_for(search, stat);
    }
    IMGSTAT_TRY(reserve_keys(search, err));
    request->digits = search->counts;
    request->n_digits = search->n_counts;
    request->gathers = search->gathers;
    request->n_gathers = search->n_gathers;
    *more = search->n_counts || search->n_gathers;
    return IMGSTAT_OK;
}

/* Sorts the keys of each gather. */
static ImgstatResult sort_gathers(PercentileSearch *search, ImgstatError *err)
{
    for (size_t i = 0; i < search->n_gathers; i++) {
        KeyGather *const gather = &search->gathers[i];
        if (gather->n != gather->capacity)
            return pixels_changed(err);
        gather->keys = keys_sort(gather->keys, gather->keys + gather->n, gather->n);
    }
    return IMGSTAT_OK;
}

static ImgstatResult narrow(OrderStat *stat, const uint64_t *bins, ImgstatError *err)
{
    uint64_t total = 0;
    for (size_t k = 0; k < DIGIT_BINS; k++)
        total += bins[k];
    const size_t digit = find_rank(bins, DIGIT_BINS, &stat->rank);
    if (digit == DIGIT_BINS || total != stat->within)
        return pixels_changed(err);
    stat->within = bins[digit];
    stat->key = stat->key << DIGIT_BITS | digit;
    stat->shift = (uint8_t)(stat->shift - DIGIT_BITS);
    return IMGSTAT_OK;
}

ImgstatResult percentile_search_advance(PercentileSearch *search, ImgstatError *err)
{
    IMGSTAT_TRY(sort_gathers(search, err));
    for (size_t i = 0; i < search->n; i++) {
        const size_t by = search->found_by[i];
        OrderStat *const stat = &search->stat[i];
        if (by == SIZE_MAX)
            continue;
        if (is_gathered(stat)) {
            stat->key = search->gathers[by].keys[stat->rank];
            stat->shift = 0;
        } else {
            IMGSTAT_TRY(narrow(stat, search->counts[by].bins, err));
        }
    }
    return IMGSTAT_OK;
}

void percentile_search_release(PercentileSearch *search)
{
    for (size_t i = 0; i < search->capacity; i++)
        buffer_cache_release(search->counts[i].bins);
    buffer_cache_release(search->keys);
    free(search->counts);
    free(search->gathers);
    free(search->found_by);
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
