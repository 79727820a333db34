/* SPDX-License-Identifier: MIT */
/* cpu_adapt.c: luma and adaptive equalization by the threads of the CPU device. */
#include "adapt.h"
#include "apply.h"
#include "cpu.h"

#include <stdatomic.h>

ImgstatResult cpu_measure_luma(Device *device, const ImagePro *image, const DeviceRecord *record,
                               ImgstatError *err)
{
    ImagePro luma;
    IMGSTAT_TRY(cpu_check_image(image, err));
    IMGSTAT_TRY(luma_plane(image, &luma, err));
    const ImgstatResult res = cpu_measure(device, &luma, record, 1, err);
    imgstat_image_release(&luma);
    return res;
}

/* One read: every instance counts, or observes, a band; instances side by side. */
typedef struct Reading {
    const Adapt *adapt;
    const ImagePro *band;
} Reading;

static void read_channel(void *context, size_t k, unsigned thread)
{
    const Reading *const reading = context;
    const Adapt *const adapt = reading->adapt;
    const uint16_t channel = adapt->luma ? 0 : adapt_channel(adapt, k);
    (void)thread;
    if (adapt->finished)
        clahe_observe(adapt->clahe[k], reading->band, channel);
    else
        clahe_count(adapt->clahe[k], reading->band, channel);
}

ImgstatResult cpu_adapt_read(Device *base, Adapt *adapt, const ImagePro *band, ImgstatError *err)
{
    ImagePro luma = {0};
    Reading reading = {.adapt = adapt, .band = band};
    IMGSTAT_TRY(cpu_check_image(band, err));
    if (adapt->luma) {
        IMGSTAT_TRY(luma_plane(band, &luma, err));
        reading.band = &luma;
    }
    pool_run(((CpuDevice *)base)->pool, adapt->n, read_channel, &reading);
    imgstat_image_release(&luma);
    return IMGSTAT_OK;
}

ImgstatResult cpu_adapt_finish(Device *device, Adapt *adapt, ImgstatError *err)
{
    (void)device;
    (void)err;
    for (size_t k = 0; k < adapt->n; k++)
        clahe_finish(adapt->clahe[k]);
    return IMGSTAT_OK;
}

/* A band, cut into slices of rows for the threads. */
typedef struct Mapping {
    const Adapt *adapt;
    const ImagePro *from;
    ImagePro *to;
    uint32_t slice; /* rows */
    atomic_int result;
    ImgstatError error; /* of whoever set result first */
} Mapping;

static void map_slice(void *context, size_t task, unsigned thread)
{
    Mapping *const m = context;
    (void)thread;
    const uint32_t first = (uint32_t)task * m->slice;
    const uint32_t left = m->from->height - first;
    const ImagePro from = image_band(m->from, first, left < m->slice ? left : m->slice);
    ImagePro to = image_band(m->to, first, from.height);
    ImgstatError error;
    const ImgstatResult res = adapt_apply(m->adapt, &from, &to, &error);
    int none = IMGSTAT_OK;
    if (res != IMGSTAT_OK && atomic_compare_exchange_strong(&m->result, &none, (int)res))
        m->error = error;
}

ImgstatResult cpu_adapt_apply(Device *base, const Adapt *adapt, const ImagePro *from, ImagePro *to,
                              ImgstatError *err)
{
    enum { SLICES = 4, LEAST_ROWS = 16 }; /* a thread: the last ones even out */
    Pool *const pool = ((CpuDevice *)base)->pool;
    IMGSTAT_TRY(apply_check_pair(from, adapt->rescale->rescale.to.sample, to, err));
    if (from->width == 0 || from->height == 0)
        return IMGSTAT_OK;
    const uint32_t slices = SLICES * pool_threads(pool);
    Mapping mapping = {.adapt = adapt, .from = from, .to = to};
    mapping.slice = from->height / slices + 1;
    if (mapping.slice < LEAST_ROWS)
        mapping.slice = LEAST_ROWS;
    pool_run(pool, (from->height - 1) / mapping.slice + 1, map_slice, &mapping);
    const ImgstatResult res = (ImgstatResult)atomic_load(&mapping.result);
    return res == IMGSTAT_OK ? res : error_set(err, res, "%s", mapping.error.message);
}
