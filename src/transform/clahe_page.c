/* SPDX-License-Identifier: MIT */
/* clahe_page.c: adaptive equalization of a page, band by band. */
#include "transform/clahe_page.h"

#include "cpu/map_rows.h"

#include <stdlib.h>

uint16_t clahe_page_channel(const ClahePage *adapt, size_t k)
{
    return (uint16_t)(k + (adapt->shape.alpha >= 0 && (int)k >= adapt->shape.alpha));
}

static void rescale_channel(const ClahePage *adapt, const ImagePro *band, ImagePro *to)
{
    const size_t c = (size_t)adapt->shape.alpha;
    const size_t in = imgstat_sample_bytes(band->sample), out = imgstat_sample_bytes(to->sample);
    for (size_t y = 0; y < band->height; y++)
        for (size_t x = 0; x < band->width; x++) {
            const size_t at = x * band->channels + c;
            const uint64_t key =
                sample_key(band->sample, load_raw(image_row(band, y) + at * in, in));
            store_raw(row_of(to, y) + at * out, out, adapt->rescale->rescale_table[key]);
        }
}

/* The luma of the band goes through the tables, then the colours take it over. */
static ImgstatResult apply_luma(const ClahePage *adapt, const ImagePro *band, ImagePro *to,
                                ImgstatError *err)
{
    BufferCache *const scratch = adapt->device->scratch;
    ImagePro luma = {0}, mapped = {0};
    uint8_t *none = NULL;
    void *pixels = NULL;
    ImgstatResult res = luma_plane(scratch, band, &luma, err);
    const size_t pitch = luma.width * imgstat_sample_bytes(to->sample);
    if (res == IMGSTAT_OK && !(pixels = buffer_cache_acquire(scratch, pitch * luma.height)))
        res = error_memory(err, pitch * luma.height, "luma");
    if (res == IMGSTAT_OK)
        res = imgstat_image_wrap(IMGSTAT_HOST, 0, pixels, pitch, luma.width, luma.height, 1,
                                 to->sample, 0, NULL, NULL, &mapped, err);
    if (res == IMGSTAT_OK) {
        clahe_apply(adapt->clahe[0], &luma, 0, &mapped);
        mapped.mask = luma.mask;
        mapped.mask_pitch = luma.mask_pitch;
        if (adapt->clahe[0]->unchanged) { /* the colours stay, not only their luma */
            none = calloc(luma.width, 1);
            if (!none)
                res = error_memory(err, luma.width, "a mask");
            mapped.mask = none;
            mapped.mask_pitch = 0;
        }
    }
    if (res == IMGSTAT_OK)
        res = luma_apply(band, &mapped, adapt->rescale, adapt->shape.alpha, to, err);
    free(none);
    buffer_cache_release(pixels);
    imgstat_image_release(&luma);
    return res;
}

ImgstatResult clahe_page_apply(const ClahePage *adapt, const ImagePro *band, ImagePro *to,
                               ImgstatError *err)
{
    if (adapt->luma)
        return apply_luma(adapt, band, to, err);
    for (size_t k = 0; k < adapt->n; k++)
        clahe_apply(adapt->clahe[k], band, clahe_page_channel(adapt, k), to);
    if (adapt->shape.alpha >= 0)
        rescale_channel(adapt, band, to);
    return IMGSTAT_OK;
}

/* ---- Making ---------------------------------------------------------------------------------- */

static ImgstatResult read_band(void *context, const ImagePro *band, ImgstatError *err)
{
    ClahePage *const adapt = context;
    return adapt->device->ops->clahe_read(adapt->device, adapt, band, err);
}

static bool observes(const ClahePage *adapt)
{
    for (size_t k = 0; k < adapt->n; k++)
        if (clahe_observes(adapt->clahe[k]))
            return true;
    return false;
}

static ImgstatResult read_all(ClahePage *adapt, PageReader *reader, ImgstatError *err)
{
    IMGSTAT_TRY(page_reader_each(reader, read_band, adapt, err));
    IMGSTAT_TRY(adapt->device->ops->clahe_finish(adapt->device, adapt, err));
    adapt->finished = true;
    return observes(adapt) ? page_reader_each(reader, read_band, adapt, err) : IMGSTAT_OK;
}

/* Instances from the extrema of the channels, or of luma. */
static ImgstatResult make(ClahePage *adapt, const ImgstatMethod *method, const PageReader *reader,
                          const Record *record, ImgstatError *err)
{
    const uint32_t height = reader->decoder ? reader->decoder->page.height : reader->page.height;
    TransferShape shape = adapt->shape;
    if (adapt->luma) {
        shape.channels = 1;
        shape.alpha = -1;
        shape.rgb = shape.has_nodata = false;
    }
    adapt->clahe = calloc(adapt->n, sizeof(Clahe *));
    if (!adapt->clahe)
        return error_memory(err, adapt->n * sizeof(Clahe *), "adaptive equalization");
    for (size_t k = 0; k < adapt->n; k++) {
        const Tally *const tally = &record->tally[adapt->n > 1 ? clahe_page_channel(adapt, k) : 0];
        IMGSTAT_TRY(clahe_create(adapt->device->scratch, method, &shape, reader->page.width, height,
                                 tally->n ? tally->min_key : 1, tally->n ? tally->max_key : 0,
                                 &adapt->clahe[k], err));
    }
    uint8_t bits;
    (void)transfer_output(method, &adapt->shape, &bits);
    const MapRange range = transfer_range(method, &adapt->shape);
    return transfer_begin(adapt->device->scratch, shape.sample, shape.bits, &range, bits, 1,
                          adapt->shape.has_nodata, adapt->shape.nodata_key, adapt->luma,
                          &adapt->rescale, err);
}

ImgstatResult clahe_page_create(const ImgstatMethod *method, const TransferShape *shape,
                                PageReader *reader, ClahePage **out, ImgstatError *err)
{
    *out = NULL;
    const ImgstatChannels mode = transfer_channels(method, shape);
    if (mode == IMGSTAT_JOINT)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "adaptive equalization takes channels each by itself, or luma");
    if (!sample_is_narrow(shape->sample) || sample_is_float(shape->sample))
        return error_set(err, IMGSTAT_ERR_UNSUPPORTED,
                         "adaptive equalization takes integers of at most 16 bits, not %s",
                         imgstat_sample_name(shape->sample));
    ClahePage *const adapt = calloc(1, sizeof *adapt);
    if (!adapt)
        return error_memory(err, sizeof *adapt, "adaptive equalization");
    adapt->device = reader->device;
    adapt->shape = *shape;
    adapt->luma = mode == IMGSTAT_LUMA;
    adapt->n = transfer_maps(method, shape);
    TransferInput *survey = NULL;
    ImgstatResult res = transfer_input_image(method, reader, shape, 0, &survey, err);
    if (res == IMGSTAT_OK)
        res = make(adapt, method, reader, survey->record, err);
    transfer_input_destroy(survey);
    if (res == IMGSTAT_OK)
        res = read_all(adapt, reader, err);
    if (res != IMGSTAT_OK) {
        clahe_page_destroy(adapt);
        return res;
    }
    *out = adapt;
    return IMGSTAT_OK;
}

void clahe_page_destroy(ClahePage *adapt)
{
    if (!adapt)
        return;
    adapt->device->ops->release(adapt->device, &adapt->there);
    for (size_t k = 0; adapt->clahe && k < adapt->n; k++)
        clahe_destroy(adapt->clahe[k]);
    free(adapt->clahe);
    transfer_destroy(adapt->rescale);
    free(adapt);
}

size_t clahe_page_bytes(const ImgstatMethod *method, const TransferShape *shape, uint32_t width,
                        uint32_t height)
{
    const bool opencv = method->like == IMGSTAT_LIKE_OPENCV;
    size_t tiles_x = method->tiles_x ? method->tiles_x : 8;
    size_t tiles_y = method->tiles_y ? method->tiles_y : 8;
    if (!opencv) { /* which makes as many as it is told; others at most one a pixel */
        tiles_x = tiles_x < width ? tiles_x : width;
        tiles_y = tiles_y < height ? tiles_y : height;
    }
    const size_t bins = opencv ? sample_record_bins(shape->sample) : CLAHE_NODES;
    return tiles_x * tiles_y * bins * 12 * transfer_maps(method, shape);
}
