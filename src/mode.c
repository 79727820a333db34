/* SPDX-License-Identifier: MIT */
/* mode.c: counts by leading key bits bound every value's count from above, so only bins that may
 * hold the mode are looked into: gathered and sorted, or, if too many samples share one, split by
 * 16 more bits. */
#include "mode.h"

#include <stdlib.h>

enum {
    DIGIT_BITS = 16,
    DIGIT_BINS = 65536,
    MAX_RANGES = 16, /* a device looks at each sample once per range */
    SORT_BITS = 11,
    SORT_VALUES = 1 << SORT_BITS,
    SORT_DIGITS = (64 + SORT_BITS - 1) / SORT_BITS
};

typedef struct Search {
    Reader reader;
    uint16_t channel;
    uint64_t best_count, best_key;
    size_t capacity;
    uint64_t *keys, *spare; /* capacity each */
} Search;

/* One table of counts: bin k holds the keys with key >> shift == base + k. */
typedef struct Table {
    uint64_t base;
    unsigned shift;
    const uint64_t *counts;
    bool *done;
} Table;

static void offer(Search *search, uint64_t key, uint64_t count)
{
    if (count > search->best_count || (count == search->best_count && key < search->best_key)) {
        search->best_count = count;
        search->best_key = key;
    }
}

static uint64_t lowest_key(const Table *table, size_t k)
{
    return (table->base + k) << table->shift;
}

/* Whether a value in bin k could be the mode: all of the bin's samples could be equal. */
static bool is_candidate(const Search *search, const Table *table, size_t k)
{
    const uint64_t count = table->counts[k];
    return count > 0 && !table->done[k] &&
           (count > search->best_count ||
            (count == search->best_count && lowest_key(table, k) < search->best_key));
}

/* By 11 bits, least significant first, each digit's counts taken beforehand in one go; digits that
 * all keys share are skipped. */
uint64_t *keys_sort(uint64_t *keys, uint64_t *spare, size_t n)
{
    uint32_t start[SORT_DIGITS][SORT_VALUES] = {0}; /* n <= MODE_KEYS */
    for (size_t i = 0; i < n; i++)
        for (unsigned d = 0; d < SORT_DIGITS; d++)
            start[d][keys[i] >> (SORT_BITS * d) & (SORT_VALUES - 1)]++;
    for (unsigned d = 0; d < SORT_DIGITS; d++) {
        const unsigned shift = SORT_BITS * d;
        if (n == 0 || start[d][keys[0] >> shift & (SORT_VALUES - 1)] == n)
            continue;
        uint32_t before = 0;
        for (unsigned v = 0; v < SORT_VALUES; v++) {
            const uint32_t count = start[d][v];
            start[d][v] = before;
            before += count;
        }
        for (size_t i = 0; i < n; i++)
            spare[start[d][keys[i] >> shift & (SORT_VALUES - 1)]++] = keys[i];
        uint64_t *const swap = keys;
        keys = spare;
        spare = swap;
    }
    return keys;
}

static void offer_runs(Search *search, size_t n)
{
    const uint64_t *const sorted = keys_sort(search->keys, search->spare, n);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && sorted[end] == sorted[i]; end++) {
        }
        offer(search, sorted[i], end - i);
    }
}

/* Reads the ranges, which hold `expected` keys. */
static ImgstatResult gather(Search *search, KeyGather *ranges, size_t n, uint64_t expected,
                            ImgstatError *err)
{
    const Pass pass = {.gathers = ranges, .n_gathers = n};
    IMGSTAT_TRY(search->reader.read(search->reader.context, &pass, err));
    uint64_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += ranges[i].n;
    if (found != expected)
        return error_set(err, IMGSTAT_ERR_IO, "the pixels changed between two reads");
    offer_runs(search, (size_t)expected);
    return IMGSTAT_OK;
}

/* Ascending ranges that cover candidates, from the first bin not done on, within the capacity.
 * Small bins between candidates ride along, so that few ranges cover many bins. Marks what it
 * covers. */
static size_t plan_ranges(Search *search, const Table *table, KeyGather *ranges, uint64_t *total)
{
    size_t n = 0;
    uint64_t used = 0;
    bool open = false; /* whether the last range may grow */
    for (size_t k = 0; k < DIGIT_BINS; k++) {
        const uint64_t count = table->counts[k];
        if (count == 0)
            continue;
        const bool fits = count <= search->capacity - used;
        const bool candidate = is_candidate(search, table, k);
        if (!candidate && !(open && fits && !table->done[k] && count <= search->capacity / 256)) {
            open = false;
            continue;
        }
        if (!fits || (!open && n == MAX_RANGES))
            break;
        if (!open)
            ranges[n++] = (KeyGather){.channel = search->channel,
                                      .lo = lowest_key(table, k),
                                      .keys = search->keys + used};
        open = true;
        ranges[n - 1].hi = lowest_key(table, k) + (((uint64_t)1 << table->shift) - 1);
        ranges[n - 1].capacity += count;
        table->done[k] = true;
        used += count;
    }
    *total = used;
    return n;
}

static ImgstatResult search_table(Search *search, const uint64_t *counts, uint64_t base,
                                  unsigned shift, ImgstatError *err);

/* Splits one bin by its next 16 bits. */
static ImgstatResult split(Search *search, const Table *table, size_t k, ImgstatError *err)
{
    uint64_t *const bins = calloc(DIGIT_BINS, sizeof *bins);
    if (!bins)
        return error_memory(err, DIGIT_BINS * sizeof *bins, "counters");
    const unsigned shift = table->shift - DIGIT_BITS;
    DigitCount count = {.channel = search->channel,
                        .shift = (uint8_t)shift,
                        .prefix = table->base + k,
                        .bins = bins};
    const Pass pass = {.digits = &count, .n_digits = 1};
    ImgstatResult res = search->reader.read(search->reader.context, &pass, err);
    if (res == IMGSTAT_OK)
        res = search_table(search, bins, (table->base + k) << DIGIT_BITS, shift, err);
    free(bins);
    table->done[k] = true;
    return res;
}

/* The bin with most samples first: what it holds rules out most others. */
static ImgstatResult search_largest(Search *search, const Table *table, ImgstatError *err)
{
    size_t largest = 0;
    uint64_t total = 0;
    for (size_t k = 0; k < DIGIT_BINS; k++) {
        total += table->counts[k];
        if (table->counts[k] > table->counts[largest])
            largest = k;
    }
    const uint64_t count = table->counts[largest];
    if (total <= search->capacity || count > search->capacity ||
        !is_candidate(search, table, largest))
        return IMGSTAT_OK; /* the sweep takes all at once, or it is split */
    const uint64_t lo = lowest_key(table, largest);
    KeyGather range = {.channel = search->channel,
                       .lo = lo,
                       .hi = lo + (((uint64_t)1 << table->shift) - 1),
                       .keys = search->keys,
                       .capacity = count};
    table->done[largest] = true;
    return gather(search, &range, 1, count, err);
}

static ImgstatResult sweep(Search *search, const Table *table, ImgstatError *err)
{
    IMGSTAT_TRY(search_largest(search, table, err));
    for (size_t k = 0; k < DIGIT_BINS; k++)
        if (table->counts[k] > search->capacity && is_candidate(search, table, k))
            IMGSTAT_TRY(split(search, table, k, err));
    for (;;) {
        KeyGather ranges[MAX_RANGES];
        uint64_t total;
        const size_t n = plan_ranges(search, table, ranges, &total);
        if (n == 0)
            return IMGSTAT_OK;
        IMGSTAT_TRY(gather(search, ranges, n, total, err));
    }
}

/* Depth 3 at most: 64-bit keys less the 16 bits of the record's bins. */
static ImgstatResult search_table(Search *search, const uint64_t *counts, uint64_t base,
                                  unsigned shift, ImgstatError *err)
{
    if (shift == 0) {
        for (size_t k = 0; k < DIGIT_BINS; k++)
            if (counts[k])
                offer(search, base + k, counts[k]);
        return IMGSTAT_OK;
    }
    Table table = {.base = base, .shift = shift, .counts = counts};
    table.done = calloc(DIGIT_BINS, sizeof *table.done);
    if (!table.done)
        return error_memory(err, DIGIT_BINS, "marks");
    const ImgstatResult res = sweep(search, &table, err);
    free(table.done);
    return res;
}

ImgstatResult mode_find(const Record *record, uint16_t channel, size_t capacity, Reader reader,
                        uint64_t *key, ImgstatError *err)
{
    const uint64_t n = record->tally[channel].n;
    if (capacity > MODE_KEYS)
        capacity = MODE_KEYS;
    if (n < capacity)
        capacity = (size_t)n;
    Search search = {
        .reader = reader, .channel = channel, .best_key = UINT64_MAX, .capacity = capacity};
    uint64_t *const keys = malloc(2 * capacity * sizeof *keys);
    if (!keys)
        return error_memory(err, 2 * capacity * sizeof *keys, "keys");
    search.keys = keys;
    search.spare = keys + capacity;
    const size_t bins = sample_record_bins(record->sample);
    const unsigned shift = sample_bits(record->sample) - DIGIT_BITS;
    const ImgstatResult res = search_table(&search, record->bins + channel * bins, 0, shift, err);
    *key = search.best_key;
    free(keys);
    return res;
}
