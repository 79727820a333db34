/* SPDX-License-Identifier: MIT */
/* luma/measure.cu: the luma of images as planes that are measured or read, in bands where the
 * images are on the host. */
#include "maps/apply.cuh"

ImagePro luma_plane_image(const ImagePro *image, const unsigned char *luma,
                          const unsigned char *valid)
{
    ImagePro plane = *image;
    plane.channels = 1;
    plane.device.address = (uint64_t)(uintptr_t)luma;
    plane.pitch = image->width * (size_t)(sample_bits(image->sample) / 8);
    plane.has_nodata = false;
    plane.mask = valid;
    plane.mask_pitch = valid ? image->width : 0;
    return plane;
}

ImgstatResult cuda_luma_bands(CudaDevice *device, const ImagePro *image, CudaRead read,
                              void *context, ImgstatError *err)
{
    CUDA_ENTER(device, err);
    if (image->channels < 3)
        return error_set(err, IMGSTAT_ERR_ARG, "luma needs red, green and blue channels");
    const auto make = [&](const ImagePro &band) {
        if (band.width == 0 || band.height == 0)
            return IMGSTAT_OK;
        const bool masked = band.mask || band.has_nodata || sample_is_float(band.sample);
        const size_t pixels = (size_t)band.width * band.height;
        const size_t bytes = sample_bits(band.sample) / 8;
        IMGSTAT_TRY(cuda_reserve(device, &device->luma, pixels * (bytes + masked), false, err));
        unsigned char *const luma = (unsigned char *)device->luma.memory;
        unsigned char *const valid = masked ? luma + pixels * bytes : NULL;
        const ApplyPixels from = apply_pixels(&band, -1, &band);
        IMGSTAT_TRY(
            launch_luma_plane(device, device->stream, band.sample, &from, luma, valid, err));
        const ImagePro plane = luma_plane_image(&band, luma, valid);
        const uint32_t origin = 0;
        return read(context, device, &plane, &origin, 1, err);
    };
    return cuda_stage_bands(device, image, make, err);
}
