/* SPDX-License-Identifier: MIT */
/* fewer_bits.c: the entries of the tables that samples of fewer bits stand for. */
#include "transfer/fewer_bits.h"

#include "record/widen.h"

/* Gives a map the parameters of another one that has a scale `factor` times as fine. */
static void divide_parameters(const Map *wide, uint32_t factor, Map *map)
{
    map->kind = wide->kind;
    map->black = wide->black / factor;
    map->white = wide->white / factor;
    map->black_part = (double)(wide->black % factor) / factor;
    map->white_part = (double)(wide->white % factor) / factor;
    map->center = wide->center / factor;
    map->divisor = wide->divisor / factor;
    map->factor = wide->factor;
    map->offset = wide->offset;
}

ImgstatResult transfer_fewer_bits(const Transfer *wide, unsigned bits, Transfer **out,
                                  ImgstatError *err)
{
    const ImgstatSample sample = widen_sample(bits);
    const uint32_t factor = widen_factor(bits, wide->from_bits);
    const size_t from = sample_record_bins(wide->from), to = sample_record_bins(sample);
    Transfer *transfer;
    *out = NULL;
    IMGSTAT_TRY(transfer_begin(NULL, sample, (uint8_t)bits, &wide->range, wide->to_bits,
                               wide->n_maps, wide->passthrough.has_nodata, 0, wide->luma, &transfer,
                               err));
    transfer->transform = wide->transform;
    transfer->like = wide->like;
    transfer->has_parameters = wide->has_parameters;
    transfer->has_hole = wide->has_hole;
    transfer->hole_key = wide->hole_key;
    for (size_t m = 0; m < wide->n_maps; m++) {
        divide_parameters(&wide->maps[m], factor, &transfer->maps[m]);
        if (wide->maps[m].passthrough) {
            map_unchanged_image(&transfer->maps[m]);
            transfer_unchanged(transfer, &transfer->maps[m]);
        }
        for (size_t v = 0; v < to; v++) { /* no sample is above full scale */
            const size_t at = v >> bits ? ((size_t)1 << wide->from_bits) - 1 : v * factor;
            transfer->tables[m * to + v] = wide->tables[m * from + at];
        }
    }
    transfer_prepare(NULL, transfer);
    *out = transfer;
    return IMGSTAT_OK;
}
