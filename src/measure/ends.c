/* SPDX-License-Identifier: MIT */
/* ends.c: of narrow types the bins have the counts; of others a further read of the pixels. */
#include "measure/ends.h"

#include "base/sample.h"

size_t ends_list(const Record *record, uint8_t bits, uint16_t channel, EndCount *ends,
                 RangeCount *ranges)
{
    const Tally *const tally = &record->tally[channel];
    uint64_t key[2];
    size_t n = 0;
    sample_full_scale(record->sample, bits, &key[0], &key[1]);
    for (int k = 0; k < 2 && tally->min_key < tally->max_key; k++) {
        EndCount *const end = &ends[k];
        end->read = key[k] >= tally->min_key && key[k] <= tally->max_key;
        if (!end->read)
            continue;
        const bool last = key[k] == UINT64_MAX;
        end->edge[0] = last ? tally->min_key : key[k];
        end->edge[1] = last ? key[k] : key[k] + 1;
        ranges[n++] = (RangeCount){.channel = channel,
                                   .n_bins = 1,
                                   .edge = end->edge,
                                   .per_bin = 1, /* any guess is right */
                                   .bins = &end->bin};
    }
    return n;
}

static uint64_t count_at(const Record *record, uint16_t channel, uint64_t end, const EndCount *read)
{
    const Tally *const tally = &record->tally[channel];
    if (end < tally->min_key || end > tally->max_key)
        return 0;
    if (sample_is_narrow(record->sample))
        return record->bins[channel * sample_record_bins(record->sample) + end];
    if (tally->min_key == tally->max_key)
        return tally->n;
    if (!read || !read->read)
        return IMGSTAT_COUNT_UNKNOWN;
    return end == UINT64_MAX ? tally->n - read->bin : read->bin;
}

void ends_fill(const Record *record, uint8_t bits, uint16_t channel, const EndCount *ends,
               ImgstatStats *stats)
{
    uint64_t low, high;
    sample_full_scale(record->sample, bits, &low, &high);
    stats->low = count_at(record, channel, low, ends);
    stats->high = count_at(record, channel, high, ends ? ends + 1 : NULL);
}
