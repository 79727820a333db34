/* SPDX-License-Identifier: MIT */
/* cpu_apply.c: a transfer over pixels by the threads of the CPU device. */
#include "apply.h"
#include "cpu.h"

#include <stdatomic.h>

/* An image, cut into slices of rows for the threads. */
typedef struct Applying {
    const Transfer *transfer;
    const ImagePro *from;
    ImagePro *to;
    int16_t alpha;
    uint32_t slice; /* rows */
    atomic_int result;
    ImgstatError error; /* of whoever set result first */
} Applying;

static void apply_slice(void *context, size_t task, unsigned thread)
{
    Applying *const a = context;
    (void)thread;
    const uint32_t first = (uint32_t)task * a->slice;
    const uint32_t left = a->from->height - first;
    const ImagePro from = image_band(a->from, first, left < a->slice ? left : a->slice);
    ImagePro to = image_band(a->to, first, from.height);
    ImgstatError error;
    const ImgstatResult res = transfer_apply(a->transfer, &from, a->alpha, &to, &error);
    int none = IMGSTAT_OK;
    if (res != IMGSTAT_OK && atomic_compare_exchange_strong(&a->result, &none, (int)res))
        a->error = error;
}

ImgstatResult cpu_apply(Device *base, const ImgstatTransfer *transfer, const ImagePro *from,
                        int16_t alpha, ImagePro *to, ImgstatError *err)
{
    enum { SLICES = 4, LEAST_ROWS = 16 }; /* a thread: the last ones even out */
    Pool *const pool = ((CpuDevice *)base)->pool;
    IMGSTAT_TRY(apply_check(transfer, from, alpha, err));
    IMGSTAT_TRY(apply_check_pair(from, transfer->rescale.to.sample, to, err));
    if (from->width == 0 || from->height == 0)
        return IMGSTAT_OK;
    const uint32_t slices = SLICES * pool_threads(pool);
    Applying applying = {.transfer = transfer, .from = from, .to = to, .alpha = alpha};
    applying.slice = from->height / slices + 1;
    if (applying.slice < LEAST_ROWS)
        applying.slice = LEAST_ROWS;
    pool_run(pool, (from->height - 1) / applying.slice + 1, apply_slice, &applying);
    const ImgstatResult res = (ImgstatResult)atomic_load(&applying.result);
    return res == IMGSTAT_OK ? res : error_set(err, res, "%s", applying.error.message);
}
