/* SPDX-License-Identifier: MIT */
/* clahe_page.c: creates what adaptive equalization of a page needs, from its pixels. */
#include "transform/clahe_page.h"

#include <stdlib.h>

typedef struct Reading {
    Device *device;
    ClahePage *page;
} Reading;

static ImgstatResult read_band(void *context, const ImagePro *band, ImgstatError *err)
{
    const Reading *const r = context;
    return r->device->ops->clahe_read(r->device, r->page, band, err);
}

static bool observes(const ClahePage *page)
{
    for (size_t k = 0; k < page->n; k++)
        if (clahe_observes(page->clahe[k]))
            return true;
    return false;
}

static ImgstatResult read_all(ClahePage *page, PageReader *reader, ImgstatError *err)
{
    Reading reading = {.device = reader->device, .page = page};
    reader->measures = true;
    ImgstatResult res = page_reader_each(reader, read_band, &reading, err);
    if (res == IMGSTAT_OK)
        res = reader->device->ops->clahe_finish(reader->device, page, err);
    if (res == IMGSTAT_OK) {
        page->finished = true;
        res = observes(page) ? page_reader_each(reader, read_band, &reading, err) : IMGSTAT_OK;
    }
    reader->measures = false;
    return res;
}

/* Instances from the extrema of the channels, or of luma. */
static ImgstatResult make(ClahePage *page, const ImgstatMethod *method, const PageReader *reader,
                          const Record *record, ImgstatError *err)
{
    const uint32_t height = reader->decoder ? reader->decoder->page.height : reader->page.height;
    TransferShape shape = page->shape;
    if (page->luma) {
        shape.channels = 1;
        shape.alpha = -1;
        shape.rgb = shape.has_nodata = false;
    }
    page->clahe = calloc(page->n, sizeof(Clahe *));
    if (!page->clahe)
        return error_memory(err, page->n * sizeof(Clahe *), "adaptive equalization");
    for (size_t k = 0; k < page->n; k++) {
        const Tally *const tally = &record->tally[page->n > 1 ? clahe_page_channel(page, k) : 0];
        IMGSTAT_TRY(clahe_create(reader->device->cache, method, &shape, reader->page.width, height,
                                 tally->n ? tally->min_key : 1, tally->n ? tally->max_key : 0,
                                 &page->clahe[k], err));
    }
    uint8_t bits;
    (void)transfer_output(method, &page->shape, &bits);
    const MapRange range = transfer_range(method, &page->shape);
    return transfer_begin(reader->device->cache, shape.sample, shape.bits, &range, bits, 1,
                          page->shape.has_nodata, page->shape.nodata_key, page->luma,
                          &page->rescale, err);
}

ImgstatResult clahe_page_create(const ImgstatMethod *method, const TransferShape *shape,
                                PageReader *reader, ClahePage **out, ImgstatError *err)
{
    *out = NULL;
    IMGSTAT_TRY(transfer_check(method, shape, err));
    const ImgstatChannels mode = transfer_channels(method, shape);
    if (mode == IMGSTAT_JOINT)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "adaptive equalization takes channels each by itself, or luma");
    if (!sample_is_narrow(shape->sample) || sample_is_float(shape->sample))
        return error_set(err, IMGSTAT_ERR_UNSUPPORTED,
                         "adaptive equalization takes integers of at most 16 bits, not %s",
                         imgstat_sample_name(shape->sample));
    ClahePage *const page = calloc(1, sizeof *page);
    if (!page)
        return error_memory(err, sizeof *page, "adaptive equalization");
    page->shape = *shape;
    page->luma = mode == IMGSTAT_LUMA;
    page->n = transfer_maps(method, shape);
    TransferInput *input = NULL;
    ImgstatResult res = transfer_input_image(method, reader, shape, 0, &input, err);
    if (res == IMGSTAT_OK)
        res = make(page, method, reader, input->record, err);
    transfer_input_destroy(input);
    if (res == IMGSTAT_OK)
        res = read_all(page, reader, err);
    if (res != IMGSTAT_OK) {
        clahe_page_destroy(reader->device, page);
        return res;
    }
    *out = page;
    return IMGSTAT_OK;
}

void clahe_page_destroy(Device *device, ClahePage *page)
{
    if (!page)
        return;
    device->ops->release(device, &page->there);
    for (size_t k = 0; page->clahe && k < page->n; k++)
        clahe_destroy(page->clahe[k]);
    free(page->clahe);
    transfer_destroy(page->rescale);
    free(page);
}

size_t clahe_page_bytes(const ImgstatMethod *method, const TransferShape *shape, uint32_t width,
                        uint32_t height)
{
    const bool opencv = method->like == IMGSTAT_LIKE_OPENCV;
    size_t tiles_x = method->tiles_x ? method->tiles_x : 8;
    size_t tiles_y = method->tiles_y ? method->tiles_y : 8;
    if (!opencv) { /* OpenCV pads the image where tiles outnumber pixels */
        tiles_x = tiles_x < width ? tiles_x : width;
        tiles_y = tiles_y < height ? tiles_y : height;
    }
    enum { TILE_BIN_BYTES = sizeof(uint64_t) + sizeof(uint32_t) }; /* a count and a share */
    const size_t bins = opencv ? sample_record_bins(shape->sample) : CLAHE_NODES;
    size_t tiles, counters, bytes;
    return size_product(tiles_x, tiles_y, &tiles) && size_product(tiles, bins, &counters) &&
                   size_product(counters, TILE_BIN_BYTES * (size_t)transfer_maps(method, shape),
                                &bytes)
               ? bytes
               : SIZE_MAX / 4;
}
