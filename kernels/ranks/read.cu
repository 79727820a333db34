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

/* Copies the items that are the image's; `at`: where each comes from. */
template <typename Item>
static size_t map_items(const ChannelMap &map, const Item *items, size_t n, Item *out, size_t *at)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        out[kept] = items[i];
        at[kept] = i;
        kept += map_channel(map, &out[kept].channel);
    }
    return kept;
}

/* Memory for one item of each list at least. */
struct Items {
    DigitCount *digits;
    RangeCount *ranges;
    KeyGather *gathers;
    size_t *at;
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool items_create(const ReadRequest *request, Items *items)
{
    const size_t most =
        larger(request->n_digits, larger(request->n_ranges, request->n_gathers)) + 1;
    items->digits = (DigitCount *)calloc(request->n_digits + 1, sizeof *items->digits);
    items->ranges = (RangeCount *)calloc(request->n_ranges + 1, sizeof *items->ranges);
    items->gathers = (KeyGather *)calloc(request->n_gathers + 1, sizeof *items->gathers);
    items->at = (size_t *)calloc(most, sizeof *items->at);
    return items->digits && items->ranges && items->gathers && items->at;
}

static void items_release(Items *items)
{
    free(items->digits);
    free(items->ranges);
    free(items->gathers);
    free(items->at);
}

static ImgstatResult read_mapped(CudaDevice *device, const ImagePro *image, const ChannelMap &map,
                                 const ReadRequest *request, Items *items, ImgstatError *err)
{
    Device *const base = &device->base;
    const size_t n_digits =
        map_items(map, request->digits, request->n_digits, items->digits, items->at);
    if (n_digits)
        IMGSTAT_TRY(cuda_count_digits(base, image, items->digits, n_digits, err));
    const size_t n_ranges =
        map_items(map, request->ranges, request->n_ranges, items->ranges, items->at);
    if (n_ranges)
        IMGSTAT_TRY(cuda_count_range(base, image, items->ranges, n_ranges, err));
    const size_t n_gathers =
        map_items(map, request->gathers, request->n_gathers, items->gathers, items->at);
    if (n_gathers)
        IMGSTAT_TRY(cuda_gather(base, image, items->gathers, n_gathers, err));
    for (size_t i = 0; i < n_gathers; i++)
        request->gathers[items->at[i]].n = items->gathers[i].n;
    uint16_t sorted = request->sort ? *request->sort : 0;
    if (request->sort && map_channel(map, &sorted))
        IMGSTAT_TRY(cuda_sort_add(base, image, sorted, err));
    if (request->central)
        IMGSTAT_TRY(cuda_central(base, image, request->center + map.from,
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
                               const ReadRequest *request, Items *items, ImgstatError *err)
{
    const ChannelMap map = {false, view.first, image->channels, 0};
    IMGSTAT_TRY(check_channels(request, view.of_plane ? view.of_plane : image->channels, err));
    return read_mapped(device, image, map, request, items, err);
}

/* Where nothing lies between the samples of all channels they are one channel; else each channel
 * but alpha adds to what is asked of the one. */
static ImgstatResult read_joint(CudaDevice *device, const ImagePro *image, PixelView view,
                                const ReadRequest *request, Items *items, ImgstatError *err)
{
    IMGSTAT_TRY(check_channels(request, 1, err));
    if (view.alpha < 0 && !image->mask && image->width <= UINT32_MAX / image->channels) {
        ImagePro flat = *image;
        flat.width *= image->channels;
        flat.channels = 1;
        return read_each(device, &flat, PixelView{VIEW_EACH, -1, 0, 0}, request, items, err);
    }
    for (unsigned c = 0; c < image->channels; c++) {
        const ChannelMap map = {true, 0, image->channels, c};
        if ((int)c != view.alpha)
            IMGSTAT_TRY(read_mapped(device, image, map, request, items, err));
    }
    return IMGSTAT_OK;
}

ImgstatResult cuda_read(Device *base, const PixelSource *source, PixelView view,
                        const ReadRequest *request, ImgstatError *err)
{
    CudaDevice *const device = (CudaDevice *)base;
    Items items = {};
    if (request->central && view.channels != VIEW_EACH)
        return error_set(err, IMGSTAT_ERR_ARG, "moments are those of single channels");
    ImgstatResult res = items_create(request, &items)
                            ? IMGSTAT_OK
                            : error_memory(err, sizeof items, "what to count");
    for (size_t i = 0; res == IMGSTAT_OK && i < source->n; i++) {
        const ImagePro *const image = &source->images[i];
        const auto read = [&](const ImagePro &plane) {
            return read_each(device, &plane, PixelView{VIEW_EACH, -1, 0, 0}, request, &items, err);
        };
        if (view.channels == VIEW_LUMA)
            res = cuda_read_luma(device, image, read, err);
        else if (view.channels == VIEW_JOINT)
            res = read_joint(device, image, view, request, &items, err);
        else
            res = read_each(device, image, view, request, &items, err);
    }
    items_release(&items);
    return res;
}
