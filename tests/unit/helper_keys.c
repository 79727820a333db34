/* SPDX-License-Identifier: MIT */
/* helper_keys.c: counting without any cleverness, to compare cleverer code with. */
#include "helper_keys.h"

#include <stdlib.h>

double random_unit(Random *random)
{
    return (double)(random_next(random) >> 11) / 0x1p53;
}

double random_normal(Random *random)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += random_unit(random);
    return sum;
}

int keys_compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

uint64_t key_of_double(double value)
{
    uint64_t raw;
    memcpy(&raw, &value, sizeof raw);
    if (value == 0)
        raw = 0;
    return raw >> 63 ? ~raw : raw | (uint64_t)1 << 63;
}

uint64_t key_of_float(float value)
{
    uint32_t raw;
    memcpy(&raw, &value, sizeof raw);
    if (value == 0)
        raw = 0;
    return raw >> 31 ? (uint32_t)~raw : raw | (uint32_t)1 << 31;
}

static void count_one(const ReadRequest *pass, uint16_t channel, uint64_t key, bool *overflow)
{
    for (size_t i = 0; i < pass->n_digits; i++) {
        const DigitCount *const d = &pass->digits[i];
        const unsigned above = d->shift + 16u;
        if (d->channel == channel && (above == 64 ? 0 : key >> above) == d->prefix)
            d->bins[key >> d->shift & 0xFFFF]++;
    }
    for (size_t i = 0; i < pass->n_ranges; i++) {
        const RangeCount *const r = &pass->ranges[i];
        for (uint32_t k = 0; r->channel == channel && k < r->n_bins; k++)
            if (r->edge[k] <= key && key < r->edge[k + 1])
                r->bins[k]++;
    }
    for (size_t i = 0; i < pass->n_gathers; i++) {
        KeyGather *const g = &pass->gathers[i];
        if (g->channel != channel || key < g->lo || key > g->hi)
            continue;
        if (g->n < g->capacity)
            g->keys[g->n++] = key;
        else
            *overflow = true;
    }
}

static ImgstatResult read_keys(void *context, const ReadRequest *pass, ImgstatError *err)
{
    Keys *const keys = context;
    bool overflow = false;
    keys->reads++;
    for (uint16_t c = 0; c < keys->channels; c++)
        for (size_t i = 0; i < keys->n; i++)
            count_one(pass, c, keys->keys[c * keys->n + i], &overflow);
    size_t gathered = 0;
    for (size_t i = 0; i < pass->n_gathers; i++)
        gathered += pass->gathers[i].n;
    if (gathered > keys->gathered_most)
        keys->gathered_most = gathered;
    if (pass->n_gathers > keys->ranges_most)
        keys->ranges_most = pass->n_gathers;
    return overflow ? pixels_changed(err) : IMGSTAT_OK;
}

FurtherReads keys_reader(Keys *keys)
{
    return (FurtherReads){.read = read_keys, .context = keys};
}

Record *keys_record(const Keys *keys)
{
    Record *record = NULL;
    if (record_create(NULL, keys->sample, keys->channels, RECORD_BINS, &record, NULL) != IMGSTAT_OK)
        abort();
    const uint32_t width = sample_bits(keys->sample);
    for (uint16_t c = 0; c < keys->channels; c++) {
        Tally *const tally = &record->tally[c];
        uint64_t *const bins = record->bins + (size_t)c * sample_record_bins(keys->sample);
        for (size_t i = 0; i < keys->n; i++) {
            const uint64_t key = keys->keys[c * keys->n + i];
            bins[width > 16 ? key >> (width - 16) : key]++;
            if (tally->n == 0 || key < tally->min_key) {
                tally->min_key = key;
                tally->min_at = i;
            }
            if (tally->n == 0 || key > tally->max_key) {
                tally->max_key = key;
                tally->max_at = i;
            }
            tally->n++;
        }
    }
    return record;
}
