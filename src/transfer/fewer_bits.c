/* SPDX-License-Identifier: MIT */
/* fewer_bits.c: the entries of the tables that samples of fewer bits stand for. */
#include "transfer/fewer_bits.h"

#include "record/widen.h"

ImgstatResult transfer_fewer_bits(BufferCache *buffers, const Transfer *wide, unsigned bits,
                                  Transfer **out, ImgstatError *err)
{
    const ImgstatSample sample = widen_sample(bits);
    const uint32_t factor = widen_factor(bits, wide->from_bits);
    const size_t from = sample_record_bins(wide->from), to = sample_record_bins(sample);
    Transfer *transfer;
    *out = NULL;
    IMGSTAT_TRY(transfer_begin(buffers, sample, (uint8_t)bits, &wide->range, wide->to_bits,
                               wide->n_maps, wide->passthrough.has_nodata, 0, wide->luma, &transfer,
                               err));
    transfer->transform = wide->transform;
    transfer->like = wide->like;
    for (size_t m = 0; m < wide->n_maps; m++) {
        if (wide->maps[m].passthrough) {
            map_unchanged_image(&transfer->maps[m]);
            transfer_unchanged(transfer, &transfer->maps[m]);
        }
        for (size_t v = 0; v < to; v++) { /* no sample is above full scale */
            const size_t at = v >> bits ? ((size_t)1 << wide->from_bits) - 1 : v * factor;
            transfer->tables[m * to + v] = wide->tables[m * from + at];
        }
    }
    transfer_prepare(buffers, transfer);
    *out = transfer;
    return IMGSTAT_OK;
}
