/* SPDX-License-Identifier: MIT */
/* widen.c: moves counts to the scale of more bits, exactly. */
#include "record/widen.h"

/* 2^n - 1 divides 2^m - 1 exactly if n divides m. */
unsigned widen_common_bits(unsigned bits, unsigned other)
{
    for (unsigned common = bits > other ? bits : other; common <= WIDEN_MOST_BITS; common++)
        if (common % bits == 0 && common % other == 0)
            return common;
    return 0;
}

ImgstatResult record_widen(BufferCache *cache, Record **record, unsigned from_bits,
                           unsigned to_bits, ImgstatError *err)
{
    const Record *const from = *record;
    const uint32_t factor = widen_factor(from_bits, to_bits);
    const size_t n_from = sample_record_bins(from->sample);
    Record *to = NULL;
    IMGSTAT_TRY(record_create(cache, widen_sample(to_bits), from->channels, from->parts, &to, err));
    const size_t n_to = sample_record_bins(to->sample);
    for (uint16_t c = 0; c < from->channels; c++) {
        to->tally[c] = from->tally[c];
        to->tally[c].min_key *= factor;
        to->tally[c].max_key *= factor;
        for (size_t v = 0; v < (size_t)1 << from_bits; v++)
            to->bins[c * n_to + v * factor] = from->bins[c * n_from + v];
    }
    record_destroy(*record);
    *record = to;
    return IMGSTAT_OK;
}
