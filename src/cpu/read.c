/* SPDX-License-Identifier: MIT */
/* read.c: a further read: searches every rectangle of an image for all that is requested. */
#include "cpu/read.h"

static void read_task(void *context, size_t task, unsigned thread)
{
    CpuRead *const read = context;
    CpuRect rect = cpu_rect(read->image, &read->grid, task);
    ImagePro rows;
    if (!cpu_rect_fetch(read->source, thread, &rect, &rows))
        return;
    if (read->n > 0)
        cpu_counts_rect(read, &rect, thread);
    if (read->request->central)
        cpu_central_rect(read, &rect, thread);
}

static ImgstatResult read_image(CpuDevice *device, const PixelSource *source, const ImagePro *image,
                                PixelView view, const ReadRequest *request, ImgstatError *err)
{
    CpuRead read = {.device = device,
                    .source = source,
                    .image = image,
                    .view = view,
                    .request = request,
                    .grid = cpu_source_grid(source, image)};
    IMGSTAT_TRY(cpu_counts_begin(&read, err));
    ImgstatResult res = IMGSTAT_OK;
    if (read.n > 0 || request->central)
        res = cpu_run(device, (size_t)read.grid.segments * read.grid.bands, read_task, &read, err);
    const ImgstatResult end = cpu_counts_end(&read, res == IMGSTAT_OK ? err : NULL);
    return res == IMGSTAT_OK ? end : res;
}

typedef struct LumaRead {
    CpuDevice *device;
    const ReadRequest *request;
} LumaRead;

static ImgstatResult read_luma(void *context, const ImagePro *luma, ImgstatError *err)
{
    const LumaRead *const read = context;
    const PixelSource source = pixels_of(luma);
    return read_image(read->device, &source, luma, (PixelView){.channels = VIEW_EACH},
                      read->request, err);
}

/* Whether the samples of all channels follow each other as those of one channel do. */
static bool is_flat(const ImagePro *image, PixelView view)
{
    return view.alpha < 0 && !image->mask && image->host &&
           image->width <= UINT32_MAX / image->channels;
}

static ImgstatResult read_joint(CpuDevice *device, const PixelSource *source, const ImagePro *image,
                                PixelView view, const ReadRequest *request, ImgstatError *err)
{
    if (!is_flat(image, view))
        return read_image(device, source, image, view, request, err);
    ImagePro flat = *image;
    flat.width *= image->channels;
    flat.channels = 1;
    return read_image(device, source, &flat, (PixelView){.channels = VIEW_EACH}, request, err);
}

ImgstatResult cpu_read(Device *base, const PixelSource *source, PixelView view,
                       const ReadRequest *request, ImgstatError *err)
{
    CpuDevice *const device = (CpuDevice *)base;
    if (request->sort)
        return error_set(err, IMGSTAT_ERR_ARG, "no sort has begun");
    if (request->central && view.channels != VIEW_EACH)
        return error_set(err, IMGSTAT_ERR_ARG, "moments are those of single channels");
    IMGSTAT_TRY(cpu_check_source(source, err));
    for (size_t i = 0; i < source->n; i++) {
        const ImagePro *const image = &source->images[i];
        LumaRead luma = {.device = device, .request = request};
        if (view.channels == VIEW_LUMA)
            IMGSTAT_TRY(cpu_luma_bands(base, image, read_luma, &luma, err));
        else if (view.channels == VIEW_JOINT)
            IMGSTAT_TRY(read_joint(device, source, image, view, request, err));
        else
            IMGSTAT_TRY(read_image(device, source, image, view, request, err));
    }
    return IMGSTAT_OK;
}
