/* SPDX-License-Identifier: MIT */
/* luma/measure.cu: the luma of images as planes that are measured or read, in chunks where the
 * images are on the host. */
#include "maps/apply.cuh"

struct LumaBands {
    CudaRead read;
    void *context;
};

static ImgstatResult make_bands(void *context, CudaDevice *device, const ImagePro *images,
                                const uint32_t *, size_t n, ImgstatError *err)
{
    const LumaBands *const to = (const LumaBands *)context;
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
        const uint32_t origin = 0;
        IMGSTAT_TRY(to->read(to->context, device, &plane, &origin, 1, err));
    }
    return IMGSTAT_OK;
}

ImgstatResult cuda_luma_bands(CudaDevice *device, const ImagePro *image, CudaRead read,
                              void *context, ImgstatError *err)
{
    CUDA_ENTER(device, err);
    if (image->channels < 3)
        return error_set(err, IMGSTAT_ERR_ARG, "luma needs red, green and blue channels");
    LumaBands to = {read, context};
    return cuda_stage(device, image, 1, make_bands, &to, err);
}
