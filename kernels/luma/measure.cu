/* SPDX-License-Identifier: MIT */
/* luma/measure.cu: measures the luma of images, in chunks where they are on the host. */
#include "maps/apply.cuh"

struct LumaRecord {
    const DeviceRecord *record;
};

static ImgstatResult measure_bands(void *context, CudaDevice *device, const ImagePro *images,
                                   const uint32_t *origin, size_t n, ImgstatError *err)
{
    const LumaRecord *const to = (const LumaRecord *)context;
    (void)origin; /* one image */
    for (size_t i = 0; i < n; i++) {
        const ImagePro *const band = &images[i];
        if (band->width == 0 || band->height == 0)
            continue;
        const bool masked = band->mask || band->has_nodata || sample_is_float(band->sample);
        const size_t pixels = (size_t)band->width * band->height;
        const size_t bytes = sample_bits(band->sample) / 8;
        IMGSTAT_TRY(cuda_reserve(device, &device->luma, pixels * (bytes + masked), false, err));
        unsigned char *const luma = (unsigned char *)device->luma.memory;
        unsigned char *const valid = masked ? luma + pixels * bytes : NULL;
        const ApplyPixels from = apply_pixels(band, -1, band);
        IMGSTAT_TRY(
            launch_luma_plane(device, device->stream, band->sample, &from, luma, valid, err));
        ImagePro plane = *band;
        plane.channels = 1;
        plane.device.address = (uint64_t)(uintptr_t)luma;
        plane.pitch = band->width * bytes;
        plane.has_nodata = false;
        plane.mask = valid;
        plane.mask_pitch = masked ? band->width : 0;
        IMGSTAT_TRY(cuda_measure(&device->base, &plane, to->record, 1, err));
    }
    return IMGSTAT_OK;
}

ImgstatResult cuda_measure_luma(Device *base, const ImagePro *image, const DeviceRecord *record,
                                ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    CUDA_ENTER(device, err);
    if (image->channels < 3)
        return error_set(err, IMGSTAT_ERR_ARG, "luma needs red, green and blue channels");
    LumaRecord to = {record};
    return cuda_stage(device, image, 1, measure_bands, &to, err);
}
