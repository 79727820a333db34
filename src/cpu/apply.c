/* SPDX-License-Identifier: MIT */
/* apply.c: a transfer over pixels by the threads of the CPU device. */
#include "cpu/cpu.h"
#include "cpu/map_rows.h"

#include <stdatomic.h>

/* An image, cut into slices of rows for the threads. */
typedef struct Slices {
    const ImagePro *from;
    ImagePro *to;
    CpuSlice *use;
    const void *context;
    uint32_t rows; /* of a slice */
    atomic_int result;
    ImgstatError error; /* of whoever set result first */
} Slices;

static void use_slice(void *context, size_t task, unsigned thread)
{
    Slices *const s = context;
    (void)thread;
    const uint32_t first = (uint32_t)task * s->rows;
    const uint32_t left = s->from->height - first;
    const ImagePro from = image_band(s->from, first, left < s->rows ? left : s->rows);
    ImagePro to = image_band(s->to, first, from.height);
    ImgstatError error;
    const ImgstatResult res = s->use(s->context, &from, &to, &error);
    int none = IMGSTAT_OK;
    if (res != IMGSTAT_OK && atomic_compare_exchange_strong(&s->result, &none, (int)res))
        s->error = error;
}

ImgstatResult cpu_slices(Device *base, const ImagePro *from, ImagePro *to, CpuSlice *use,
                         const void *context, ImgstatError *err)
{
    /* Of a thread, so that the last ones even out; samples of a slice, so that it is worth a task;
     * and of a slice with tables of its own, as signed types and f16 have. */
    enum { SLICES = 4, LEAST_SAMPLES = 1 << 15, TABLE_SAMPLES = 1 << 18 };
    const bool tables = sample_is_narrow(from->sample) &&
                        (sample_is_signed(from->sample) || sample_is_float(from->sample));
    const size_t samples = tables ? TABLE_SAMPLES : LEAST_SAMPLES;
    ThreadPool *const pool = ((CpuDevice *)base)->pool;
    if (from->width == 0 || from->height == 0)
        return IMGSTAT_OK;
    const uint32_t rows = from->height / (SLICES * thread_pool_threads(pool)) + 1;
    const size_t least = samples / ((size_t)from->width * from->channels) + 1;
    Slices slices = {.from = from,
                     .to = to,
                     .use = use,
                     .context = context,
                     .rows = rows < least ? (uint32_t)least : rows};
    thread_pool_run(pool, (from->height - 1) / slices.rows + 1, use_slice, &slices);
    const ImgstatResult res = (ImgstatResult)atomic_load(&slices.result);
    return res == IMGSTAT_OK ? res : error_set(err, res, "%s", slices.error.message);
}

typedef struct Applying {
    const Transfer *transfer;
    int16_t alpha;
} Applying;

static ImgstatResult apply_slice(const void *context, const ImagePro *from, ImagePro *to,
                                 ImgstatError *err)
{
    const Applying *const a = context;
    return transfer_apply(a->transfer, from, a->alpha, to, err);
}

ImgstatResult cpu_apply(Device *device, const ImgstatTransfer *transfer, const ImagePro *from,
                        int16_t alpha, ImagePro *to, ImgstatError *err)
{
    const Applying applying = {.transfer = transfer, .alpha = alpha};
    IMGSTAT_TRY(transfer_check_image(transfer, from, alpha, err));
    IMGSTAT_TRY(apply_check_pair(from, transfer->rescale.to.sample, to, err));
    return cpu_slices(device, from, to, apply_slice, &applying, err);
}
