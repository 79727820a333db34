/* SPDX-License-Identifier: MIT */
/* cpu_adapt.c: luma and adaptive equalization by the threads of the CPU device. */
#include "adapt.h"
#include "apply.h"
#include "cpu.h"

ImgstatResult cpu_measure_luma(Device *device, const ImagePro *image, const DeviceRecord *record,
                               ImgstatError *err)
{
    ImagePro luma;
    IMGSTAT_TRY(cpu_check_image(image, err));
    IMGSTAT_TRY(luma_plane(device->scratch, image, &luma, err));
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
        IMGSTAT_TRY(luma_plane(base->scratch, band, &luma, err));
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

static ImgstatResult map_slice(const void *adapt, const ImagePro *from, ImagePro *to,
                               ImgstatError *err)
{
    return adapt_apply(adapt, from, to, err);
}

ImgstatResult cpu_adapt_apply(Device *device, const Adapt *adapt, const ImagePro *from,
                              ImagePro *to, ImgstatError *err)
{
    IMGSTAT_TRY(apply_check_pair(from, adapt->rescale->rescale.to.sample, to, err));
    return cpu_slices(device, from, to, map_slice, adapt, err);
}
