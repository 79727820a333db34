/* SPDX-License-Identifier: MIT */
/* eight_bits.c: every 257th entry of the tables. */
#include "transfer/eight_bits.h"

#include "record/widen.h"

ImgstatResult transfer_eight_bits(BufferCache *buffers, const Transfer *wide, Transfer **out,
                                  ImgstatError *err)
{
    enum { FROM = 65536, TO = 256 };
    Transfer *transfer;
    *out = NULL;
    IMGSTAT_TRY(transfer_begin(buffers, IMGSTAT_U8, 8, &wide->range, wide->to_bits, wide->n_maps,
                               false, 0, wide->luma, &transfer, err));
    transfer->transform = wide->transform;
    transfer->like = wide->like;
    for (size_t m = 0; m < wide->n_maps; m++) {
        if (wide->maps[m].passthrough) {
            map_unchanged_image(&transfer->maps[m]);
            transfer_unchanged(transfer, &transfer->maps[m]);
        }
        for (size_t v = 0; v < TO; v++)
            transfer->tables[m * TO + v] = wide->tables[m * FROM + v * WIDEN_FACTOR];
    }
    transfer_prepare(buffers, transfer);
    *out = transfer;
    return IMGSTAT_OK;
}
