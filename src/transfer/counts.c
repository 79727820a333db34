/* SPDX-License-Identifier: MIT */
/* counts.c: transfers of narrow types, straight from the bins of a record. */
#include "transfer/transfer.h"

#include <stdlib.h>

MapSource map_source_counts(const Record *record, uint16_t channel, uint64_t *cdf)
{
    const size_t n_bins = sample_record_bins(record->sample);
    const uint64_t *const bins = record->bins + channel * n_bins;
    uint64_t sum = 0;
    for (size_t k = 0; k < n_bins; k++) {
        sum += bins[k];
        cdf[k] = sum;
    }
    const Tally *const tally = &record->tally[channel];
    return (MapSource){.n = sum, .min_key = tally->min_key, .max_key = tally->max_key, .cdf = cdf};
}

ImgstatResult transfer_create_counts(const ImgstatMethod *method, const TransferShape *shape,
                                     const Record *record, const double *mean, const double *stddev,
                                     Transfer **out, ImgstatError *err)
{
    *out = NULL;
    const ImgstatChannels mode = transfer_channels(method, shape);
    const uint16_t n_maps = transfer_maps(method, shape);
    const size_t bins = sample_record_bins(shape->sample);
    Record *joint = NULL;
    if (mode == IMGSTAT_JOINT)
        IMGSTAT_TRY(record_joint(NULL, record, shape->alpha, &joint, err));
    const Record *const from = joint ? joint : record;
    MapSource *const sources = calloc(n_maps, sizeof *sources);
    uint64_t *const cdf = calloc(n_maps * bins, sizeof *cdf);
    ImgstatResult result =
        sources && cdf ? IMGSTAT_OK : error_memory(err, n_maps * bins * sizeof *cdf, "a transfer");
    for (uint16_t m = 0, c = 0; result == IMGSTAT_OK && m < n_maps; m++, c++) {
        if (mode == IMGSTAT_EACH && c == shape->alpha && c + 1 < from->channels)
            c++;
        sources[m] = map_source_counts(from, c, cdf + m * bins);
        sources[m].mean = mean ? mean[m] : NAN;
        sources[m].stddev = stddev ? stddev[m] : NAN;
    }
    if (result == IMGSTAT_OK)
        result = transfer_create(NULL, method, shape, sources, NULL, out, err);
    free(sources);
    free(cdf);
    record_destroy(joint);
    return result;
}
