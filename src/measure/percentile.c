/* SPDX-License-Identifier: MIT */
/* percentile.c: radix descent over order keys. The bins of the leading 16 bits say in which of them
 * a rank lies; counting the next 16 bits of the samples there narrows it, until the whole key is
 * known. */
#include "measure/percentile.h"

#include <stdlib.h>

enum { DIGIT_BITS = 16, DIGIT_BINS = 65536 };

/* Key bin of the sample of rank *rank among bins; *rank becomes that within the bin. n if there are
 * too few samples. */
static size_t find_rank(const uint64_t *bins, size_t n, uint64_t *rank)
{
    for (size_t k = 0; k < n; k++) {
        if (*rank < bins[k])
            return k;
        *rank -= bins[k];
    }
    return n;
}

static ImgstatResult changed(ImgstatError *err)
{
    return error_set(err, IMGSTAT_ERR_IO, "the pixels changed between two reads");
}

ImgstatResult percentile_search_start(BufferCache *cache, PercentileSearch *search,
                                      const Record *record, OrderStat *stat, size_t n,
                                      ImgstatError *err)
{
    *search = (PercentileSearch){.cache = cache, .sample = record->sample, .stat = stat, .n = n};
    const size_t bins = sample_record_bins(record->sample);
    const uint32_t width = sample_bits(record->sample);
    for (size_t i = 0; i < n; i++) {
        const uint64_t *const from = record->bins + stat[i].channel * bins;
        const size_t bin = find_rank(from, bins, &stat[i].rank);
        if (bin == bins)
            return error_set(err, IMGSTAT_ERR_ARG, "a rank beyond the number of samples");
        stat[i].key = bin;
        stat[i].shift = (uint8_t)(width > DIGIT_BITS ? width - DIGIT_BITS : 0);
    }
    size_t bytes;
    if (!size_product(n ? n : 1, sizeof *search->count_of, &bytes) ||
        !(search->count_of = malloc(bytes)))
        return error_memory(err, n, "order statistics");
    return IMGSTAT_OK;
}

/* The count that narrows `stat`, made if there is none and room is left; SIZE_MAX if not. */
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

/* As many counters as the statistics can use, for all reads. */
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
        const size_t digit =
            find_rank(search->counts[search->count_of[i]].bins, DIGIT_BINS, &stat->rank);
        if (digit == DIGIT_BINS)
            return changed(err);
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
