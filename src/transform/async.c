/* SPDX-License-Identifier: MIT */
/* async.c: the public calls that transform images in the order of a stream, without waiting. */
#include "imgstat_async.h"

#include "device/device.h"
#include "transform/transfer_source.h"

#include <stdlib.h>

struct ImgstatChain {
    Device *device;
    DeviceTransform *transform;
    ImgstatSample output;
    uint8_t bits;
};

ImgstatResult imgstat_chain_create(ImgstatDevice *device, const ImgstatMethod *method,
                                   const ImagePro *like, int16_t alpha, ImgstatChain **out,
                                   ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(device && method && like && out, __func__, err));
    IMGSTAT_TRY(image_check_alpha(like, alpha, err));
    const TransferShape shape = shape_of_input(method, like, alpha);
    ImgstatChain *const chain = calloc(1, sizeof *chain);
    if (!chain)
        return error_memory(err, sizeof *chain, "a transform");
    chain->device = device;
    const ImgstatResult res = device->ops->transform_create(
        device, method, &shape, (uint64_t)like->width * like->height, &chain->transform, err);
    if (res != IMGSTAT_OK) {
        free(chain);
        return res;
    }
    chain->output = transfer_output(method, &shape, &chain->bits);
    if (chain->bits == 0)
        chain->bits = (uint8_t)sample_bits(chain->output);
    *out = chain;
    return IMGSTAT_OK;
}

void imgstat_chain_destroy(ImgstatChain *chain)
{
    if (!chain)
        return;
    chain->device->ops->transform_destroy(chain->transform);
    free(chain);
}

ImgstatSample imgstat_chain_output(const ImgstatChain *chain, uint8_t *bits)
{
    if (bits)
        *bits = chain->bits;
    return chain->output;
}

ImgstatResult imgstat_transform_async(ImgstatChain *chain, const ImagePro *from, ImagePro *to,
                                      void *stream, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(chain && from && to, __func__, err));
    return imgstat_transform_series_async(chain, from, 0, to, 0, 1, stream, err);
}

ImgstatResult imgstat_transform_series_async(ImgstatChain *chain, const ImagePro *from,
                                             int64_t from_step, ImagePro *to, int64_t to_step,
                                             size_t n, void *stream, ImgstatError *err)
{
    const DeviceSeries series = {n, from_step, to_step};
    IMGSTAT_TRY(error_if_null(chain && from && to, __func__, err));
    IMGSTAT_TRY(image_check_series(from, n, from_step, false, err));
    IMGSTAT_TRY(image_check_series(to, n, to_step, true, err));
    return chain->device->ops->transform_async(chain->transform, stream, from, to, &series, err);
}
