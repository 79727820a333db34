/* SPDX-License-Identifier: MIT */
/* mode.c: counts by leading key bits bound every value's count from above, so only bins that may
 * hold the mode are looked into. Of 32-bit keys full bins are windows, whose every key is counted;
 * the others are gathered and sorted, or, if too many samples share one, split by 16 more bits. */
#include "measure/mode.h"
#include "record/radix_sort.h"

#include <stdlib.h>

enum {
    DIGIT_BITS = 16,
    DIGIT_BINS = 65536,
    MAX_RANGES = 16,     /* a device looks at each sample once per range */
    MAX_SPLITS = 16,     /* 8 MiB of counters, at each of at most three depths */
    FEW_RANGES = 4,      /* cost no more than windows do */
    WINDOWS_DENSE = 1024 /* a window costs about as much as sorting MODE_KEYS / this keys */
};

typedef struct Search {
    PixelSource reader;
    uint16_t channel;
    uint64_t best_count, best_key;
    size_t capacity;
    uint64_t *keys, *spare; /* capacity each */
    ThreadPool *pool;       /* to sort with; NULL: this thread alone */
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

static void offer_runs(Search *search, size_t n)
{
    const uint64_t *const sorted =
        keys_sort_together(search->pool, search->reader.scratch, search->keys, search->spare, n);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && sorted[end] == sorted[i]; end++) {
        }
        offer(search, sorted[i], end - i);
    }
}

/* ---- Gathering and splitting ----------------------------------------------------------------- */

/* Reads the ranges, which hold `expected` keys. */
static ImgstatResult gather(Search *search, KeyGather *ranges, size_t n, uint64_t expected,
                            ImgstatError *err)
{
    const ReadRequest pass = {.gathers = ranges, .n_gathers = n};
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
        if (!fits || (!open && n == MAX_RANGES)) { /* for the next read; smaller ones may fit */
            open = false;
            continue;
        }
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

/* Splits a few bins by their next 16 bits in one read, and looks into each. */
static ImgstatResult split(Search *search, const Table *table, const size_t *bin, size_t n,
                           ImgstatError *err)
{
    uint64_t *const bins =
        buffer_cache_acquire_zeroed(search->reader.scratch, n * DIGIT_BINS, sizeof *bins);
    if (!bins)
        return error_memory(err, n * DIGIT_BINS * sizeof *bins, "counters");
    const unsigned shift = table->shift - DIGIT_BITS;
    DigitCount count[MAX_SPLITS];
    for (size_t i = 0; i < n; i++)
        count[i] = (DigitCount){.channel = search->channel,
                                .shift = (uint8_t)shift,
                                .prefix = table->base + bin[i],
                                .bins = bins + i * DIGIT_BINS};
    const ReadRequest pass = {.digits = count, .n_digits = n};
    ImgstatResult res = search->reader.read(search->reader.context, &pass, err);
    for (size_t i = 0; res == IMGSTAT_OK && i < n; i++) {
        table->done[bin[i]] = true;
        res = search_table(search, count[i].bins, count[i].prefix << DIGIT_BITS, shift, err);
    }
    buffer_cache_release(bins);
    return res;
}

/* Bins that cannot be gathered at once. */
static ImgstatResult split_large(Search *search, const Table *table, ImgstatError *err)
{
    for (;;) {
        size_t bin[MAX_SPLITS], n = 0;
        for (size_t k = 0; k < DIGIT_BINS && n < MAX_SPLITS; k++)
            if (table->counts[k] > search->capacity && is_candidate(search, table, k))
                bin[n++] = k;
        if (n == 0)
            return IMGSTAT_OK;
        IMGSTAT_TRY(split(search, table, bin, n, err));
    }
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
    IMGSTAT_TRY(split_large(search, table, err));
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
    table.done =
        buffer_cache_acquire_zeroed(search->reader.scratch, DIGIT_BINS, sizeof *table.done);
    if (!table.done)
        return error_memory(err, DIGIT_BINS, "marks");
    const ImgstatResult res = sweep(search, &table, err);
    buffer_cache_release(table.done);
    return res;
}

/* ---- Windows --------------------------------------------------------------------------------- */

/* Bins of one channel, or of all, that windows may be made of. */
typedef struct Choice {
    const Record *record;
    const Search *search; /* NULL: nothing is known yet */
    const Table *table;   /* of search's channel, with the bins done */
    uint64_t least;       /* samples that a window pays for */
} Choice;

static bool is_window(const Choice *choice, uint64_t count, size_t k)
{
    return count >= choice->least && count <= UINT32_MAX &&
           (!choice->search || is_candidate(choice->search, choice->table, k));
}

static uint64_t window_least(size_t capacity)
{
    return capacity / WINDOWS_DENSE + 1;
}

/* Fullest first; of equal ones the smaller keys. */
static int compare_windows(const void *a, const void *b)
{
    const KeyWindow *const x = a, *const y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return x->channel != y->channel ? (x->channel > y->channel ? 1 : -1)
                                    : (x->lead > y->lead) - (x->lead < y->lead);
}

/* The fullest bins of channels [first, end) as windows. */
static ImgstatResult choose_windows(BufferCache *scratch, const Choice *choice, uint16_t first,
                                    uint16_t end, KeyWindow *windows, size_t *n, ImgstatError *err)
{
    const uint64_t *const bins = choice->record->bins;
    size_t found = 0;
    *n = 0;
    for (size_t i = (size_t)first * DIGIT_BINS; i < (size_t)end * DIGIT_BINS; i++)
        found += is_window(choice, bins[i], i % DIGIT_BINS);
    KeyWindow *const all = buffer_cache_acquire(scratch, (found + 1) * sizeof *all);
    if (!all)
        return error_memory(err, (found + 1) * sizeof *all, "windows");
    found = 0;
    for (size_t i = (size_t)first * DIGIT_BINS; i < (size_t)end * DIGIT_BINS; i++)
        if (is_window(choice, bins[i], i % DIGIT_BINS))
            all[found++] = (KeyWindow){.channel = (uint16_t)(i / DIGIT_BINS),
                                       .lead = (uint16_t)(i % DIGIT_BINS),
                                       .count = bins[i]};
    qsort(all, found, sizeof *all, compare_windows);
    *n = found < WINDOWS_MOST ? found : WINDOWS_MOST;
    memcpy(windows, all, *n * sizeof *all);
    buffer_cache_release(all);
    return IMGSTAT_OK;
}

ImgstatResult mode_windows(BufferCache *scratch, const Record *record, size_t capacity,
                           KeyWindow *windows, size_t *n, ImgstatError *err)
{
    const Choice choice = {.record = record, .least = window_least(capacity)};
    *n = 0;
    if (sample_bits(record->sample) != 2 * DIGIT_BITS)
        return IMGSTAT_OK;
    return choose_windows(scratch, &choice, 0, record->channels, windows, n, err);
}

static void take_windows(Search *search, const Table *table, const KeyWindow *windows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (windows[i].channel != search->channel)
            continue;
        table->done[windows[i].lead] = true;
        if (windows[i].count)
            offer(search, lowest_key(table, windows[i].lead) | windows[i].digit, windows[i].count);
    }
}

/* What may be the mode still: how many samples, and how many ranges hold them. */
static uint64_t candidates(const Search *search, const Table *table, size_t *ranges)
{
    uint64_t samples = 0;
    bool open = false;
    *ranges = 0;
    for (size_t k = 0; k < DIGIT_BINS; k++) {
        if (table->counts[k] == 0)
            continue;
        const bool candidate = is_candidate(search, table, k);
        *ranges += candidate && !open;
        open = candidate;
        samples += candidate ? table->counts[k] : 0;
    }
    return samples;
}

/* Reads windows until gathering what is left takes one read that looks for few ranges. */
static ImgstatResult read_windows(Search *search, const Record *record, const Table *table,
                                  ImgstatError *err)
{
    Choice choice = {record, search, table, 1};
    KeyWindow *const windows =
        buffer_cache_acquire(search->reader.scratch, WINDOWS_MOST * sizeof *windows);
    if (!windows)
        return error_memory(err, WINDOWS_MOST * sizeof *windows, "windows");
    ImgstatResult res = IMGSTAT_OK;
    for (;;) {
        size_t ranges;
        const uint64_t left = candidates(search, table, &ranges);
        if (left <= search->capacity && ranges <= FEW_RANGES)
            break;
        choice.least = ranges <= FEW_RANGES ? window_least(search->capacity) : 1;
        ReadRequest pass = {.windows = windows};
        res = choose_windows(search->reader.scratch, &choice, search->channel,
                             (uint16_t)(search->channel + 1), windows, &pass.n_windows, err);
        if (res != IMGSTAT_OK || pass.n_windows == 0)
            break;
        res = search->reader.read(search->reader.context, &pass, err);
        if (res != IMGSTAT_OK)
            break;
        take_windows(search, table, windows, pass.n_windows);
    }
    buffer_cache_release(windows);
    return res;
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* Leading bins first. */
static ImgstatResult search_record(Search *search, const Record *record, const KeyWindow *windows,
                                   size_t n, ImgstatError *err)
{
    Table table = {.shift = sample_bits(record->sample) - DIGIT_BITS,
                   .counts = record->bins + (size_t)search->channel * DIGIT_BINS};
    table.done =
        buffer_cache_acquire_zeroed(search->reader.scratch, DIGIT_BINS, sizeof *table.done);
    if (!table.done)
        return error_memory(err, DIGIT_BINS, "marks");
    take_windows(search, &table, windows, n);
    ImgstatResult res = IMGSTAT_OK;
    if (table.shift == DIGIT_BITS)
        res = read_windows(search, record, &table, err);
    if (res == IMGSTAT_OK)
        res = sweep(search, &table, err);
    buffer_cache_release(table.done);
    return res;
}

ImgstatResult mode_find(const Record *record, uint16_t channel, size_t capacity,
                        const KeyWindow *windows, size_t n, PixelSource reader, uint64_t *key,
                        ImgstatError *err)
{
    const Tally *const tally = &record->tally[channel];
    if (tally->min_key == tally->max_key) {
        *key = tally->min_key;
        return IMGSTAT_OK;
    }
    if (capacity > MODE_KEYS)
        capacity = MODE_KEYS;
    if (tally->n < capacity)
        capacity = (size_t)tally->n;
    Search search = {
        .reader = reader, .channel = channel, .best_key = UINT64_MAX, .capacity = capacity};
    uint64_t *const keys = buffer_cache_acquire(reader.scratch, 2 * capacity * sizeof *keys);
    if (!keys)
        return error_memory(err, 2 * capacity * sizeof *keys, "keys");
    search.keys = keys;
    search.spare = keys + capacity;
    if (reader.threads > 1 && thread_pool_create(reader.threads, &search.pool, NULL) != IMGSTAT_OK)
        search.pool = NULL;
    const ImgstatResult res = search_record(&search, record, windows, n, err);
    *key = search.best_key;
    thread_pool_destroy(search.pool);
    buffer_cache_release(keys);
    return res;
}
