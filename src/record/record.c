/* SPDX-License-Identifier: MIT */
/* record.c: records on the host: creates and merges them, and finalizes what follows from bins. */
#include "record/record.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The most bytes of counters: those of 2,047 channels of 16 bits. A hostile file has 65,535. */
enum { RECORD_BYTES = 1 << 30 };

ImgstatResult record_check_bytes(ImgstatSample sample, uint16_t channels, unsigned parts,
                                 ImgstatError *err)
{
    const size_t bytes = record_bytes(sample, channels, parts);
    if (bytes > RECORD_BYTES)
        return error_set(err, IMGSTAT_ERR_LIMIT,
                         "%u channels of %s samples need %zu bytes of counters, more than %d",
                         channels, imgstat_sample_name(sample), bytes, RECORD_BYTES);
    return IMGSTAT_OK;
}

ImgstatResult record_reserve(BufferCache *cache, ImgstatSample sample, uint16_t channels,
                             unsigned parts, Record **out, ImgstatError *err)
{
    *out = NULL;
    const size_t bytes = record_bytes(sample, channels, parts); /* < 2^16 * 2^20: no overflow */
    Record *const record = calloc(1, sizeof *record);
    Tally *const tally = buffer_cache_acquire(cache, bytes);
    if (!record || !tally) {
        free(record);
        buffer_cache_release(tally);
        return error_memory(err, bytes, "statistics");
    }
    *record = (Record){.sample = sample, .channels = channels, .parts = parts, .tally = tally};
    if (record_parts_bins(sample, parts))
        record->bins = (uint64_t *)(void *)(tally + channels);
    *out = record;
    return IMGSTAT_OK;
}

ImgstatResult record_create(BufferCache *cache, ImgstatSample sample, uint16_t channels,
                            unsigned parts, Record **out, ImgstatError *err)
{
    IMGSTAT_TRY(record_reserve(cache, sample, channels, parts, out, err));
    memset((*out)->tally, 0, record_bytes(sample, channels, parts));
    return IMGSTAT_OK;
}

ImgstatResult record_create_sparse(ImgstatSample sample, uint16_t channels, Record **out,
                                   ImgstatError *err)
{
    *out = NULL;
    Record *const record = calloc(1, sizeof *record);
    Tally *const tally = buffer_cache_acquire_zeroed(NULL, channels, sizeof *tally);
    SparseBins *const sparse = calloc(channels, sizeof *sparse);
    if (!record || !tally || !sparse) {
        free(record);
        buffer_cache_release(tally);
        free(sparse);
        return error_memory(err, channels * sizeof *tally, "statistics");
    }
    *record = (Record){.sample = sample,
                       .channels = channels,
                       .parts = RECORD_BINS,
                       .tally = tally,
                       .sparse = sparse};
    *out = record;
    return IMGSTAT_OK;
}

void record_destroy(Record *record)
{
    if (!record)
        return;
    for (uint16_t c = 0; record->sparse && c < record->channels; c++)
        free(record->sparse[c].count);
    free(record->sparse);
    buffer_cache_release(record->tally); /* and the bins behind it */
    free(record);
}

static void words_add(uint64_t *into, const uint64_t *from, size_t n)
{
    unsigned carry = 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned __int128 sum = (unsigned __int128)into[i] + from[i] + carry;
        into[i] = (uint64_t)sum;
        carry = (unsigned)(sum >> 64);
    }
}

static bool has_extrema(const Tally *tally)
{
    return tally->n > 0 && tally->min_key <= tally->max_key;
}

static void merge_extrema(Tally *into, const Tally *from)
{
    if (!has_extrema(from)) {
        if (!has_extrema(into)) { /* the one form of "none", so that merging commutes */
            into->min_key = into->n || from->n;
            into->max_key = into->min_at = into->max_at = 0;
        }
        return;
    }
    const bool first = !has_extrema(into);
    if (first || from->min_key < into->min_key ||
        (from->min_key == into->min_key && from->min_at < into->min_at)) {
        into->min_key = from->min_key;
        into->min_at = from->min_at;
    }
    if (first || from->max_key > into->max_key ||
        (from->max_key == into->max_key && from->max_at < into->max_at)) {
        into->max_key = from->max_key;
        into->max_at = from->max_at;
    }
}

static void merge_counts(Tally *into, const Tally *from)
{
    merge_extrema(into, from);
    into->n += from->n;
    into->nan += from->nan;
    into->pinf += from->pinf;
    into->ninf += from->ninf;
    into->nodata += from->nodata;
    into->masked += from->masked;
}

static void merge_sums(Tally *into, const Tally *from)
{
    words_add(into->sum, from->sum, 2);
    words_add(into->sum2, from->sum2, 3);
    into->sum_overflow += from->sum_overflow;
    into->sum2_overflow += from->sum2_overflow;
    exact_merge(&into->fsum, &from->fsum);
    exact_merge(&into->fsum2, &from->fsum2);
}

void tally_merge(Tally *into, const Tally *from)
{
    merge_counts(into, from);
    merge_sums(into, from);
}

static void merge_sparse(uint64_t *into, const SparseBins *from)
{
    for (size_t i = 0; i < from->n; i++)
        into[from->bin[i]] += from->count[i];
}

void record_merge_channel(Record *into, const Record *from, uint16_t channel)
{
    const ImgstatSample sample = into->sample;
    const Tally *const tally = &from->tally[channel];
    const size_t first = (size_t)channel * sample_record_bins(sample);
    const unsigned shift = sample_bin_shift(sample);
    if (from->sparse)
        merge_sparse(into->bins + first, &from->sparse[channel]);
    else if (into->bins && tally->n > 0)
        for (size_t k = first + (tally->min_key >> shift); k <= first + (tally->max_key >> shift);
             k++)
            into->bins[k] += from->bins[k];
    merge_counts(&into->tally[channel], tally);
    if (!sample_is_narrow(sample))
        merge_sums(&into->tally[channel], tally);
}

void record_merge(Record *into, const Record *from)
{
    assert(into->sample == from->sample && into->channels == from->channels &&
           !into->bins == !from->bins);
    for (uint16_t c = 0; c < into->channels; c++)
        tally_merge(&into->tally[c], &from->tally[c]);
    if (!into->bins)
        return;
    const size_t n = (size_t)into->channels * sample_record_bins(into->sample);
    for (size_t i = 0; i < n; i++)
        into->bins[i] += from->bins[i];
}

void central_merge(Central *into, Central *from)
{
    for (int power = 0; power < 4; power++) {
        exact_normalize(&from->power[power]);
        exact_merge(&into->power[power], &from->power[power]);
    }
    into->overflow += from->overflow;
}

/* Empties bins [first, last] and returns what they held. */
static uint64_t drain(uint64_t *bins, uint64_t first, uint64_t last)
{
    uint64_t total = 0;
    for (uint64_t k = first; k <= last; k++) {
        total += bins[k];
        bins[k] = 0;
    }
    return total;
}

/* Whether eight bins are empty. */
static bool eight_empty(const uint64_t *bins)
{
    uint64_t any = 0;
    for (unsigned k = 0; k < 8; k++)
        any |= bins[k];
    return any == 0;
}

static void settle_tally(ImgstatSample sample, Tally *tally, uint64_t *bins, bool has_nodata,
                         uint64_t nodata_key)
{
    const uint64_t last = sample_record_bins(sample) - 1;
    if (has_nodata && nodata_key <= last) /* before infinities: nodata may be one */
        tally->nodata += drain(bins, nodata_key, nodata_key);
    if (sample_is_float(sample)) {
        const uint64_t ninf = sample_key_infinity(sample, true),
                       pinf = sample_key_infinity(sample, false);
        tally->ninf += drain(bins, ninf, ninf);
        tally->pinf += drain(bins, pinf, pinf);
        tally->nan += drain(bins, 0, ninf - 1);
        tally->nan += drain(bins, pinf + 1, last);
    }
    uint64_t low = 0, high = last; /* there are a multiple of eight */
    while (low + 8 < last && eight_empty(bins + low))
        low += 8;
    while (low < last && !bins[low])
        low++;
    while (high > low + 8 && eight_empty(bins + high - 7))
        high -= 8;
    while (high > low && !bins[high])
        high--;
    tally->n = 0;
    for (uint64_t k = low; k <= high; k++)
        tally->n += bins[k];
    tally->min_key = tally->n > 0 ? low : 0;
    tally->max_key = tally->n > 0 ? high : 0;
    if (tally->n == 0)
        tally->min_at = tally->max_at = 0;
}

void record_finalize(Record *record, bool has_nodata, uint64_t nodata_key)
{
    if (!sample_is_narrow(record->sample))
        return;
    const size_t bins = sample_record_bins(record->sample);
    for (uint16_t c = 0; c < record->channels; c++)
        settle_tally(record->sample, &record->tally[c], record->bins + c * bins, has_nodata,
                     nodata_key);
}

void record_place_extrema(Record *record, const ImgstatRegion *region, uint32_t page_width)
{
    const uint64_t width = region->width;
    for (uint16_t c = 0; width > 0 && c < record->channels; c++) {
        Tally *const tally = &record->tally[c];
        uint64_t *const places[2] = {&tally->min_at, &tally->max_at};
        for (int i = 0; tally->n > 0 && i < 2; i++)
            *places[i] =
                (*places[i] / width + region->y) * page_width + *places[i] % width + region->x;
    }
}

ImgstatResult record_joint(BufferCache *cache, const Record *record, int16_t alpha, Record **out,
                           ImgstatError *err)
{
    IMGSTAT_TRY(record_create(cache, record->sample, 1, record->parts, out, err));
    const size_t bins = record->bins ? sample_record_bins(record->sample) : 0;
    for (uint16_t c = 0; c < record->channels; c++) {
        if (c == alpha)
            continue;
        tally_merge(&(*out)->tally[0], &record->tally[c]);
        for (size_t k = 0; k < bins; k++)
            (*out)->bins[k] += record->bins[c * bins + k];
    }
    return IMGSTAT_OK;
}
