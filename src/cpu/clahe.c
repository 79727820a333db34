/* SPDX-License-Identifier: MIT */
/* clahe.c: luma and adaptive equalization by the threads of the CPU device. */
#include "cpu/cpu.h"
#include "cpu/map_rows.h"
#include "transform/clahe_page.h"

typedef struct LumaUse {
    Device *device;
    UseBand use;
    void *context;
} LumaUse;

static ImgstatResult use_luma(void *context, const ImagePro *piece, ImgstatError *err)
{
    const LumaUse *const of = context;
    ImagePro luma;
    IMGSTAT_TRY(luma_plane(of->device->scratch, piece, &luma, err));
    const ImgstatResult res = of->use(of->context, &luma, err);
    imgstat_image_release(&luma);
    return res;
}

ImgstatResult cpu_luma_pieces(Device *device, const ImagePro *image, UseBand use, void *context,
                              ImgstatError *err)
{
    LumaUse of = {.device = device, .use = use, .context = context};
    return image_pieces(image, use_luma, &of, err);
}

/* One read: threads count different tiles, or observe with different instances. */
typedef struct Reading {
    Device *device;
    const ClahePage *adapt;
    const ImagePro *band;
    size_t first, tiles; /* of an instance */
} Reading;

static uint16_t channel_of(const ClahePage *adapt, size_t k)
{
    return adapt->luma ? 0 : clahe_page_channel(adapt, k);
}

static void count_tile(void *context, size_t i, unsigned thread)
{
    const Reading *const r = context;
    const size_t k = i / r->tiles;
    (void)thread;
    clahe_count(r->adapt->clahe[k], r->first + i % r->tiles, r->band, channel_of(r->adapt, k));
}

static void observe(void *context, size_t k, unsigned thread)
{
    const Reading *const r = context;
    (void)thread;
    clahe_observe(r->adapt->clahe[k], r->band, channel_of(r->adapt, k));
}

/* The tiles that a band may have pixels of. */
static void set_tiles(Reading *reading)
{
    const Clahe *const clahe = reading->adapt->clahe[0];
    const ImagePro *const band = reading->band;
    uint32_t first = 0, last = clahe->y.tiles - 1;
    if (clahe->like == IMGSTAT_LIKE_IMGSTAT) {
        first = clahe_tile(band->first_row, clahe->y.tiles, clahe->y.length);
        last = clahe_tile(band->first_row + band->height - 1, clahe->y.tiles, clahe->y.length);
    }
    reading->first = (size_t)first * clahe->x.tiles;
    reading->tiles = (size_t)(last - first + 1) * clahe->x.tiles;
}

static void read_band(Reading *reading, const ImagePro *band)
{
    ThreadPool *const pool = ((CpuDevice *)reading->device)->pool;
    const ClahePage *const adapt = reading->adapt;
    reading->band = band;
    if (adapt->finished) {
        thread_pool_run(pool, adapt->n, observe, reading);
    } else {
        set_tiles(reading);
        thread_pool_run(pool, adapt->n * reading->tiles, count_tile, reading);
    }
}

static ImgstatResult read_luma(void *context, const ImagePro *luma, ImgstatError *err)
{
    (void)err;
    read_band(context, luma);
    return IMGSTAT_OK;
}

ImgstatResult cpu_clahe_read(Device *device, ClahePage *adapt, const ImagePro *band,
                             ImgstatError *err)
{
    Reading reading = {.device = device, .adapt = adapt};
    IMGSTAT_TRY(cpu_check_image(band, err));
    if (band->width == 0 || band->height == 0)
        return IMGSTAT_OK;
    if (adapt->luma)
        return cpu_luma_pieces(device, band, read_luma, &reading, err);
    read_band(&reading, band);
    return IMGSTAT_OK;
}

ImgstatResult cpu_clahe_finish(Device *device, ClahePage *adapt, ImgstatError *err)
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
    return clahe_page_apply(adapt, from, to, err);
}

ImgstatResult cpu_clahe_apply(Device *device, const ClahePage *adapt, const ImagePro *from,
                              ImagePro *to, ImgstatError *err)
{
    IMGSTAT_TRY(apply_check_pair(from, adapt->rescale->rescale.to.sample, to, err));
    return cpu_slices(device, from, to, map_slice, adapt, err);
}
