/* SPDX-License-Identifier: MIT */
/* ranks/read.cu: a further read of images: one after another, all that a request asks for. */
#include "device/cuda_device.h"

#include <stdlib.h>

/* What a channel of a request is in the image: `from + c` is channel c, or all are channel `to`. */
struct ChannelMap {
    bool joint;
    unsigned from, channels; /* of the image; */
    unsigned to;             /* of a joint view */
};

/* False where it is another plane's. */
static bool map_channel(const ChannelMap &map, uint16_t *channel)
{
    if (!map.joint && (*channel < map.from || *channel - map.from >= map.channels))
        return false;
    *channel = (uint16_t)(map.joint ? map.to : *channel - map.from);
    return true;
}

/* Gathers what is asked of the channels of an image, in one pass over its bands. */
static ImgstatResult gather_mapped(CudaDevice *device, const ImagePro *image, const ChannelMap &map,
                                   const ReadRequest *request, ImgstatError *err)
{
    KeyGather *const own = (KeyGather *)calloc(request->n_gathers + 1, sizeof *own);
    if (!own)
        return error_memory(err, request->n_gathers * sizeof *own, "what to gather");
    size_t n = 0;
    for (size_t i = 0; i < request->n_gathers; i++) {
        own[n] = request->gathers[i];
        n += map_channel(map, &own[n].channel);
    }
    const ImgstatResult res = n ? cuda_gather(device, image, own, n, err) : IMGSTAT_OK;
    for (size_t i = 0, k = 0; i < request->n_gathers; i++) {
        uint16_t channel = request->gathers[i].channel;
        if (map_channel(map, &channel))
            request->gathers[i].n = own[k++].n;
    }
    free(own);
    return res;
}

static ImgstatResult read_mapped(CudaDevice *device, const ImagePro *image, const ChannelMap &map,
                                 const ReadRequest *request, DigitCount *digits, ImgstatError *err)
{
    size_t n_digits = 0;
    for (size_t i = 0; i < request->n_digits; i++) {
        digits[n_digits] = request->digits[i];
        n_digits += map_channel(map, &digits[n_digits].channel);
    }
    if (n_digits)
        IMGSTAT_TRY(cuda_count_digits(device, image, digits, n_digits, err));
    for (size_t i = 0; i < request->n_ranges; i++) {
        RangeCount range = request->ranges[i];
        if (map_channel(map, &range.channel) && range.n_bins > 0)
            IMGSTAT_TRY(cuda_count_range(device, image, &range, err));
    }
    IMGSTAT_TRY(gather_mapped(device, image, map, request, err));
    uint16_t sorted = request->sort ? *request->sort : 0;
    if (request->sort && map_channel(map, &sorted))
        IMGSTAT_TRY(cuda_sort_add(device, image, sorted, err));
    if (request->central)
        IMGSTAT_TRY(cuda_central(device, image, request->center + map.from,
                                 request->central + map.from, err));
    return IMGSTAT_OK;
}

static ImgstatResult check_channels(const ReadRequest *request, unsigned channels,
                                    ImgstatError *err)
{
    unsigned most = request->sort ? *request->sort : 0;
    for (size_t i = 0; i < request->n_digits; i++)
        most = request->digits[i].channel > most ? request->digits[i].channel : most;
    for (size_t i = 0; i < request->n_ranges; i++)
        most = request->ranges[i].channel > most ? request->ranges[i].channel : most;
    for (size_t i = 0; i < request->n_gathers; i++)
        most = request->gathers[i].channel > most ? request->gathers[i].channel : most;
    if (most >= channels)
        return error_set(err, IMGSTAT_ERR_ARG, "channel %u of an image with %u", most, channels);
    return IMGSTAT_OK;
}

static ImgstatResult read_each(CudaDevice *device, const ImagePro *image, PixelView view,
                               const ReadRequest *request, DigitCount *digits, ImgstatError *err)
{
    const ChannelMap map = {false, view.first, image->channels, 0};
    IMGSTAT_TRY(check_channels(request, view.of_plane ? view.of_plane : image->channels, err));
    return read_mapped(device, image, map, request, digits, err);
}

/* Where nothing lies between the samples of all channels they are one channel; else each channel
 * but alpha adds to what is asked of the one. */
static ImgstatResult read_joint(CudaDevice *device, const ImagePro *image, PixelView view,
                                const ReadRequest *request, DigitCount *digits, ImgstatError *err)
{
    IMGSTAT_TRY(check_channels(request, 1, err));
    if (view.alpha < 0 && !image->mask && image->width <= UINT32_MAX / image->channels) {
        ImagePro flat = *image;
        flat.width *= image->channels;
        flat.channels = 1;
        return read_each(device, &flat, PixelView{VIEW_EACH, -1, 0, 0}, request, digits, err);
    }
    for (unsigned c = 0; c < image->channels; c++) {
        const ChannelMap map = {true, 0, image->channels, c};
        if ((int)c != view.alpha)
            IMGSTAT_TRY(read_mapped(device, image, map, request, digits, err));
    }
    return IMGSTAT_OK;
}

ImgstatResult cuda_read(Device *base, const PixelSource *source, PixelView view,
                        const ReadRequest *request, ImgstatError *err)
{
    CudaDevice *const device = (CudaDevice *)base;
    CUDA_ENTER(device, err);
    if (request->central && view.channels != VIEW_EACH)
        return error_set(err, IMGSTAT_ERR_ARG, "moments are those of single channels");
    DigitCount *const digits = (DigitCount *)calloc(request->n_digits + 1, sizeof *digits);
    if (!digits)
        return error_memory(err, request->n_digits * sizeof *digits, "what to count");
    ImgstatResult res = IMGSTAT_OK;
    for (size_t i = 0; res == IMGSTAT_OK && i < source->n; i++) {
        const ImagePro *const image = &source->images[i];
        const auto read = [&](const ImagePro &plane) {
            return read_each(device, &plane, PixelView{VIEW_EACH, -1, 0, 0}, request, digits, err);
        };
        if (view.channels == VIEW_LUMA)
            res = cuda_read_luma(device, image, read, err);
        else if (view.channels == VIEW_JOINT)
            res = read_joint(device, image, view, request, digits, err);
        else
            res = read_each(device, image, view, request, digits, err);
    }
    free(digits);
    return res;
}
