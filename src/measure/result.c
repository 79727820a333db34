/* SPDX-License-Identifier: MIT */
/* result.c: what callers ask of struct ImgstatRecord. */
#include "measure/result.h"

#include "record/statistics.h"

#include <stdlib.h>

void imgstat_record_destroy(ImgstatRecord *record)
{
    if (!record)
        return;
    for (uint16_t c = 0; record->channel && c < record->record->channels; c++) {
        free(record->channel[c].percentile);
        free(record->channel[c].rank);
        histogram_release(&record->channel[c].histogram);
    }
    free(record->channel);
    record_destroy(record->record);
    free(record);
}

uint16_t imgstat_record_channels(const ImgstatRecord *record)
{
    return record->record->channels;
}

/* NULL where the record has no such channel. */
static const ChannelResult *find_channel(const ImgstatRecord *record, uint16_t channel)
{
    return channel < record->record->channels ? &record->channel[channel] : NULL;
}

void imgstat_record_stats(const ImgstatRecord *record, uint16_t channel, ImgstatStats *out)
{
    const ChannelResult *const found = find_channel(record, channel);
    *out = found ? found->stats : statistics_undefined(record->record->sample);
}

double imgstat_record_percentile(const ImgstatRecord *record, uint16_t channel, size_t k)
{
    const ChannelResult *const found = find_channel(record, channel);
    return found && k < record->n_percentiles ? found->percentile[k] : (double)NAN;
}

bool imgstat_record_exact(const ImgstatRecord *record, uint16_t channel, size_t k,
                          ImgstatValue *out)
{
    const ChannelResult *const found = find_channel(record, channel);
    const size_t at = k == IMGSTAT_MEDIAN ? record->n_percentiles : k;
    if (!found || at > record->n_percentiles || !found->rank[at].exact)
        return false;
    *out = sample_value(record->record->sample, found->rank[at].key);
    return true;
}

bool imgstat_record_histogram(const ImgstatRecord *record, uint16_t channel, ImgstatHistogram *out)
{
    const ChannelResult *const found = find_channel(record, channel);
    if (!found || !record->has_histogram)
        return false;
    const Histogram *const h = &found->histogram;
    *out = (ImgstatHistogram){
        .lo = h->lo, .hi = h->hi, .bins = h->bins, .per_value = h->per_value, .counts = h->counts};
    return true;
}

bool imgstat_record_edge(const ImgstatRecord *record, uint16_t channel, uint32_t k,
                         ImgstatValue *out)
{
    const ChannelResult *const found = find_channel(record, channel);
    if (!found || !record->has_histogram || k > found->histogram.bins)
        return false;
    const Histogram *const h = &found->histogram;
    if (!h->outgrown)
        *out = (ImgstatValue){.sample = IMGSTAT_F64, .as.f = histogram_edge(h, k)};
    else
        *out = k == h->bins ? found->stats.max : sample_value(record->record->sample, h->edge[k]);
    return true;
}

void imgstat_record_sum(const ImgstatRecord *record, uint16_t channel, char text[48])
{
    const ChannelResult *const found = find_channel(record, channel);
    memcpy(text, found ? found->sum : "null", found ? sizeof found->sum : sizeof "null");
}
