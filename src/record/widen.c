/* SPDX-License-Identifier: MIT */
/* widen.c: counts of 8-bit samples on the scale of 16 bits, exactly. */
#include "record/widen.h"

ImgstatResult record_widen(BufferCache *cache, Record **record, ImgstatError *err)
{
    enum { FROM = 256, TO = 65536 };
    const Record *const from = *record;
    Record *to = NULL;
    IMGSTAT_TRY(record_create(cache, IMGSTAT_U16, from->channels, from->parts, &to, err));
    for (uint16_t c = 0; c < from->channels; c++) {
        to->tally[c] = from->tally[c];
        to->tally[c].min_key *= WIDEN_FACTOR;
        to->tally[c].max_key *= WIDEN_FACTOR;
        for (size_t v = 0; v < FROM; v++)
            to->bins[c * (size_t)TO + v * WIDEN_FACTOR] = from->bins[c * (size_t)FROM + v];
    }
    record_destroy(*record);
    *record = to;
    return IMGSTAT_OK;
}
