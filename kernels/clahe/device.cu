/* SPDX-License-Identifier: MIT */
/* clahe/device.cu: adaptive equalization by the CUDA device: what it keeps in device memory, and
 * its slots.
 */
#include "clahe/clahe.cuh"

extern "C" {
#include "transfer/transfer.h"
}

#include <stdlib.h>

/* Where the parts lie in device memory: what is sent first, then what is made there. */
struct ClaheLayout {
    size_t unchanged, position, passthrough, rescale, observed, blend[2], weight[2], part[2];
    size_t sent, counts, share, bytes;
};

/* False if that overflows. */
static bool place(size_t *at, size_t *bytes, size_t n, size_t size)
{
    size_t all;
    if (!size_product(n, size, &all) || all > SIZE_MAX / 2 || *bytes > SIZE_MAX / 2 - 256)
        return false;
    *at = *bytes;
    *bytes += cuda_padded(all);
    return true;
}

static bool layout_of(const ClahePage *page, ClaheLayout *l)
{
    const Clahe *const first = page->clahe[0];
    const size_t entries = sample_record_bins(first->sample);
    const uint32_t length[2] = {first->x.length, first->y.length};
    size_t tiles, counters;
    *l = ClaheLayout{};
    bool fits = size_product((size_t)first->x.tiles * first->y.tiles, page->n, &tiles) &&
                size_product(tiles, first->bins, &counters) &&
                place(&l->unchanged, &l->bytes, page->n, sizeof(uint32_t)) &&
                place(&l->position, &l->bytes, page->n * entries, sizeof(uint32_t)) &&
                place(&l->passthrough, &l->bytes, entries, sizeof(uint32_t)) &&
                place(&l->rescale, &l->bytes, entries, sizeof(uint32_t)) &&
                place(&l->observed, &l->bytes, page->n * 2u, sizeof(uint32_t));
    for (int a = 0; a < 2; a++)
        fits = fits && place(&l->blend[a], &l->bytes, length[a], sizeof(ClaheBlend)) &&
               place(&l->weight[a], &l->bytes, length[a], sizeof(float)) &&
               place(&l->part[a], &l->bytes, length[a], sizeof(double));
    l->sent = l->bytes;
    return fits && place(&l->counts, &l->bytes, counters, sizeof(uint64_t)) &&
           place(&l->share, &l->bytes, counters, sizeof(uint32_t));
}

static ClaheSide side_of(const ClaheAxis *axis, const char *memory, const ClaheLayout *l, int a)
{
    return ClaheSide{axis->length,
                     axis->tiles,
                     axis->tile,
                     axis->padded,
                     (const ClaheBlend *)(memory + l->blend[a]),
                     (const float *)(memory + l->weight[a]),
                     (const double *)(memory + l->part[a])};
}

static ClaheWork work_of(const ClahePage *page, const ClaheLayout *l)
{
    const Clahe *const first = page->clahe[0];
    char *const memory = (char *)(uintptr_t)page->there.address;
    ClaheWork w;
    memset(&w, 0, sizeof w);
    w.like = first->like;
    w.from = first->sample;
    w.to = page->rescale->rescale.to.sample;
    w.n = page->n;
    w.luma = page->luma;
    w.channels = page->shape.channels;
    w.alpha = page->shape.alpha;
    w.has_nodata = first->has_nodata;
    w.nodata_key = first->nodata_key;
    w.nano = first->nano;
    w.bins = first->bins;
    w.entries = sample_record_bins(first->sample);
    w.by_key = first->like == IMGSTAT_LIKE_IMGSTAT && w.entries == CLAHE_NODES;
    w.x = side_of(&first->x, memory, l, 0);
    w.y = side_of(&first->y, memory, l, 1);
    w.range = first->to;
    w.colours = page->rescale->range;
    w.unchanged = (const uint32_t *)(memory + l->unchanged);
    w.position = (const uint32_t *)(memory + l->position);
    w.passthrough = (const uint32_t *)(memory + l->passthrough);
    w.rescale = (const uint32_t *)(memory + l->rescale);
    w.counts = (uint64_t *)(memory + l->counts);
    w.share = (uint32_t *)(memory + l->share);
    w.observed = (uint32_t *)(memory + l->observed);
    return w;
}

/* What is sent, as it lies in device memory. */
static void pack(const ClahePage *page, const ClaheLayout *l, char *to)
{
    const Clahe *const first = page->clahe[0];
    const uint32_t entries = sample_record_bins(first->sample);
    const Map *const passthrough = &page->rescale->passthrough;
    for (uint32_t k = 0; k < page->n; k++) {
        ((uint32_t *)(to + l->unchanged))[k] = page->clahe[k]->unchanged;
        ((uint32_t *)(to + l->observed))[2 * k] = UINT32_MAX;
        memcpy(to + l->position + (size_t)k * entries * sizeof(uint32_t), page->clahe[k]->position,
               entries * sizeof(uint32_t));
    }
    for (uint32_t key = 0; key < entries; key++)
        ((uint32_t *)(to + l->passthrough))[key] =
            (uint32_t)sample_raw(passthrough->to.sample, map_sample(passthrough, key));
    memcpy(to + l->rescale, page->rescale->rescale_table, entries * sizeof(uint32_t));
    const ClaheAxis *const axes[2] = {&first->x, &first->y};
    for (int a = 0; a < 2; a++) {
        memcpy(to + l->blend[a], axes[a]->blend, axes[a]->length * sizeof(ClaheBlend));
        memcpy(to + l->weight[a], axes[a]->weight, axes[a]->length * sizeof(float));
        memcpy(to + l->part[a], axes[a]->part, axes[a]->length * sizeof(double));
    }
}

static ImgstatResult prepare(CudaDevice *device, ClahePage *page, ClaheWork *out, ImgstatError *err)
{
    ClaheLayout l;
    if (!layout_of(page, &l))
        return error_set(err, IMGSTAT_ERR_MEMORY, "the tiles are too many");
    if (!page->there.address) {
        const DeviceOps *const ops = device->base.ops;
        char *const memory = (char *)calloc(1, l.sent);
        if (!memory)
            return error_memory(err, l.sent, "adaptive equalization");
        pack(page, &l, memory);
        ImgstatResult res = ops->alloc(&device->base, l.bytes, &page->there, err);
        if (res == IMGSTAT_OK)
            res = ops->upload(&device->base, page->there, 0, memory, l.sent, err);
        free(memory);
        IMGSTAT_TRY(res);
    }
    *out = work_of(page, &l);
    return IMGSTAT_OK;
}

ImgstatResult cuda_clahe_read(Device *base, ClahePage *page, const ImagePro *band,
                              ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    ClaheWork w;
    CUDA_ENTER(device, err);
    IMGSTAT_TRY(prepare(device, page, &w, err));
    const auto read = [&](const ImagePro &part) {
        if (part.width == 0 || part.height == 0)
            return IMGSTAT_OK;
        return page->finished ? launch_clahe_observe(device, &w, &part, err)
                              : launch_clahe_count(device, &w, &part, err);
    };
    return cuda_stage_bands(device, band, read, err);
}

/* The tables of other programs are made by the processor from the counts. */
static ImgstatResult finish_like(CudaDevice *device, ClahePage *page, ImgstatError *err)
{
    const DeviceOps *const ops = device->base.ops;
    ClaheLayout l;
    (void)layout_of(page, &l);
    const size_t n =
        (size_t)page->clahe[0]->x.tiles * page->clahe[0]->y.tiles * page->clahe[0]->bins;
    for (uint32_t k = 0; k < page->n; k++) {
        Clahe *const clahe = page->clahe[k];
        const size_t counts = n * sizeof *clahe->counts, share = n * sizeof *clahe->share;
        IMGSTAT_TRY(ops->download(&device->base, clahe->counts, page->there, l.counts + k * counts,
                                  counts, err));
        clahe_finish(clahe);
        IMGSTAT_TRY(
            ops->upload(&device->base, page->there, l.share + k * share, clahe->share, share, err));
    }
    return IMGSTAT_OK;
}

ImgstatResult cuda_clahe_finish(Device *base, ClahePage *page, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    ClaheWork w;
    CUDA_ENTER(device, err);
    IMGSTAT_TRY(prepare(device, page, &w, err));
    if (w.like != IMGSTAT_LIKE_IMGSTAT)
        return finish_like(device, page, err);
    return launch_clahe_tables(device, &w, err);
}

static ImgstatResult launch_map(const void *context, CudaDevice *device, const ImagePro *from,
                                const ImagePro *to, ImgstatError *err)
{
    return launch_clahe_map(device, (const ClaheMapping *)context, from, to, err);
}

ImgstatResult cuda_clahe_apply(Device *base, const ClahePage *page, const ImagePro *from,
                               ImagePro *to, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    ClaheLayout l;
    CUDA_ENTER(device, err);
    IMGSTAT_TRY(transfer_check_output(from, page->rescale->rescale.to.sample, to, err));
    if (from->width == 0 || from->height == 0)
        return IMGSTAT_OK;
    if (!page->there.address || !layout_of(page, &l))
        return error_set(err, IMGSTAT_ERR_ARG, "adaptive equalization has not been finished");
    const ClaheMapping mapping = {work_of(page, &l), page->rescale->holes};
    return cuda_apply_images(device, from, to, launch_map, &mapping, err);
}
