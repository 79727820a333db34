/* SPDX-License-Identifier: MIT */
/* clahe.c: adaptive equalization by the threads of the CPU device. */
#include "transfer/clahe.h"
#include "cpu/cpu.h"
#include "cpu/map_rows.h"

#include <stdlib.h>

/* One read: threads count different tiles, or observe with different instances. */
typedef struct Reading {
    Device *device;
    const ClahePage *page;
    const ImagePro *band;
    size_t first, tiles; /* tiles of an instance */
} Reading;

static uint16_t channel_of(const ClahePage *page, size_t k)
{
    return page->luma ? 0 : clahe_page_channel(page, k);
}

static void count_tile(void *context, size_t i, unsigned thread)
{
    const Reading *const r = context;
    const size_t k = i / r->tiles;
    (void)thread;
    clahe_count(r->page->clahe[k], r->first + i % r->tiles, r->band, channel_of(r->page, k));
}

static void observe(void *context, size_t k, unsigned thread)
{
    const Reading *const r = context;
    (void)thread;
    clahe_observe(r->page->clahe[k], r->band, channel_of(r->page, k));
}

/* Finds the tiles that a band may have pixels of. */
static void set_tiles(Reading *reading)
{
    const Clahe *const clahe = reading->page->clahe[0];
    const ImagePro *const band = reading->band;
    uint32_t first = 0, last = clahe->y.tiles - 1;
    if (clahe->like == IMGSTAT_LIKE_IMGSTAT) {
        first = clahe_tile(band->first_row, clahe->y.tiles, clahe->y.length);
        last = clahe_tile(band->first_row + band->height - 1, clahe->y.tiles, clahe->y.length);
    }
    reading->first = (size_t)first * clahe->x.tiles;
    reading->tiles = (size_t)(last - first + 1) * clahe->x.tiles;
}

static ImgstatResult read_band(void *context, const ImagePro *band, ImgstatError *err)
{
    Reading *const reading = context;
    CpuDevice *const device = (CpuDevice *)reading->device;
    const ClahePage *const page = reading->page;
    reading->band = band;
    if (page->finished)
        return cpu_run(device, page->n, observe, reading, err);
    set_tiles(reading);
    return cpu_run(device, page->n * reading->tiles, count_tile, reading, err);
}

ImgstatResult cpu_clahe_read(Device *device, ClahePage *page, const ImagePro *band,
                             ImgstatError *err)
{
    Reading reading = {.device = device, .page = page};
    IMGSTAT_TRY(cpu_check_image(band, err));
    if (band->width == 0 || band->height == 0)
        return IMGSTAT_OK;
    return page->luma ? cpu_luma_bands(device, band, read_band, &reading, err)
                      : read_band(&reading, band, err);
}

ImgstatResult cpu_clahe_finish(Device *device, ClahePage *page, ImgstatError *err)
{
    (void)device;
    (void)err;
    for (size_t k = 0; k < page->n; k++)
        clahe_finish(page->clahe[k]);
    return IMGSTAT_OK;
}

/* Arguments of mapping a slice, shared by threads. */
typedef struct Mapping {
    const ClahePage *page;
    BufferCache *buffers;
} Mapping;

/* Maps alpha. */
static void rescale_alpha(const ClahePage *page, const ImagePro *band, ImagePro *to)
{
    const size_t c = (size_t)page->shape.alpha;
    const size_t in = imgstat_sample_bytes(band->sample), out = imgstat_sample_bytes(to->sample);
    for (size_t y = 0; y < band->height; y++)
        for (size_t x = 0; x < band->width; x++) {
            const size_t at = x * band->channels + c;
            const uint64_t key =
                sample_key(band->sample, load_raw(image_row(band, y) + at * in, in));
            store_raw(row_of(to, y) + at * out, out, page->rescale->rescale_table[key]);
        }
}

/* Maps the luma of the band through the tables, then gives the colours that luma. */
static ImgstatResult map_luma(const Mapping *mapping, const ImagePro *band, ImagePro *to,
                              ImgstatError *err)
{
    BufferCache *const buffers = mapping->buffers;
    const ClahePage *const page = mapping->page;
    ImagePro luma = {0}, mapped = {0};
    uint8_t *none = NULL;
    void *pixels = NULL;
    ImgstatResult res = luma_plane(buffers, band, &luma, err);
    const size_t pitch = luma.width * imgstat_sample_bytes(to->sample);
    if (res == IMGSTAT_OK && !(pixels = buffer_cache_acquire(buffers, pitch * luma.height)))
        res = error_memory(err, pitch * luma.height, "luma");
    if (res == IMGSTAT_OK)
        res = imgstat_image_wrap(IMGSTAT_HOST, 0, pixels, pitch, luma.width, luma.height, 1,
                                 to->sample, 0, NULL, NULL, &mapped, err);
    if (res == IMGSTAT_OK) {
        clahe_apply(page->clahe[0], &luma, 0, &mapped);
        mapped.mask = luma.mask;
        mapped.mask_pitch = luma.mask_pitch;
        if (page->clahe[0]->unchanged) { /* colours stay as they are, not only their luma */
            none = calloc(luma.width, 1);
            if (!none)
                res = error_memory(err, luma.width, "a mask");
            mapped.mask = none;
            mapped.mask_pitch = 0;
        }
    }
    if (res == IMGSTAT_OK)
        res = luma_apply(band, &mapped, page->rescale, page->shape.alpha, to, err);
    free(none);
    buffer_cache_release(pixels);
    imgstat_image_release(&luma);
    return res;
}

static ImgstatResult map_slice(const void *context, const ImagePro *band, ImagePro *to,
                               ImgstatError *err)
{
    const Mapping *const mapping = context;
    const ClahePage *const page = mapping->page;
    if (page->luma)
        IMGSTAT_TRY(map_luma(mapping, band, to, err));
    for (size_t k = 0; !page->luma && k < page->n; k++)
        clahe_apply(page->clahe[k], band, clahe_page_channel(page, k), to);
    if (!page->luma && page->shape.alpha >= 0)
        rescale_alpha(page, band, to);
    holes_fill(&page->rescale->holes, band, page->shape.alpha, to);
    return IMGSTAT_OK;
}

ImgstatResult cpu_clahe_apply(Device *device, const ClahePage *page, const ImagePro *from,
                              ImagePro *to, ImgstatError *err)
{
    IMGSTAT_TRY(apply_check_pair(from, page->rescale->rescale.to.sample, to, err));
    const Mapping mapping = {.page = page, .buffers = device->cache};
    return cpu_slices(device, from, to, map_slice, &mapping, err);
}
