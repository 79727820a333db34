/* SPDX-License-Identifier: MIT */
/* page_reads.c: reads pixels, for statistics and for transforms: directly if the threads of the
 * device can read for themselves, else band by band; plane by plane where planes are stored apart.
 */
#include "measure/page_reads.h"

#include "measure/extras.h"

/* ---- The first read ---------------------------------------------------------------------- */

typedef struct Measure {
    Device *device;
    PixelView view;
    DeviceRecord record;
    Extras *extras; /* NULL: none are wanted */
} Measure;

static ImgstatResult measure_source(void *context, const PixelSource *source, ImgstatError *err)
{
    const Measure *const m = context;
    return m->device->ops->measure(m->device, source, m->view, &m->record, err);
}

static ImgstatResult measure_band(void *context, const ImagePro *band, ImgstatError *err)
{
    const Measure *const m = context;
    const PixelSource source = pixels_of(band);
    if (m->extras)
        extras_add(m->extras, band);
    return measure_source(context, &source, err);
}

/* Measures a plane into a record of `bytes` bytes on the device. If a direct read fails, reading
 * the bands reports the reason. */
static ImgstatResult measure_plane(PageReader *reader, Measure *m, size_t bytes, ImgstatError *err)
{
    const DeviceOps *const ops = m->device->ops;
    DirectRead done = DIRECT_NONE;
    IMGSTAT_TRY(ops->alloc(m->device, bytes, &m->record.mem, err));
    if (!m->extras) /* which are made of rows in their order */
        IMGSTAT_TRY(page_reader_direct(reader, true, measure_source, m, &done, err));
    if (done == DIRECT_COMPLETE)
        return IMGSTAT_OK;
    if (done == DIRECT_FAILED) {
        ops->release(m->device, &m->record.mem);
        IMGSTAT_TRY(ops->alloc(m->device, bytes, &m->record.mem, err));
    }
    return page_reader_each(reader, measure_band, m, err);
}

/* Measures the plane that is next into the channels of the record from `channel` on. */
static ImgstatResult read_plane(PageReader *reader, PixelView view, uint16_t channel,
                                Record *record, ImgstatError *err)
{
    Device *const device = reader->device;
    const uint16_t channels = view.channels == VIEW_LUMA ? 1 : reader->page.channels;
    Measure m = {
        .device = device,
        .view = view,
        .extras = reader->extras,
        .record = {.sample = record->sample, .channels = channels, .parts = record->parts}};
    const size_t tallies = channels * sizeof *record->tally;
    const size_t bytes = record_bytes(record->sample, channels, record->parts);
    const bool all = channels == record->channels; /* tallies and bins follow each other */
    ImgstatResult res = measure_plane(reader, &m, bytes, err);
    if (res == IMGSTAT_OK)
        res = device->ops->download(device, record->tally + channel, m.record.mem, 0,
                                    all ? bytes : tallies, err);
    if (res == IMGSTAT_OK && !all && bytes > tallies)
        res = device->ops->download(
            device, record->bins + (size_t)channel * sample_record_bins(record->sample),
            m.record.mem, tallies, bytes - tallies, err);
    if (res != IMGSTAT_OK) /* it may still be reading a band; its own error is the one to report */
        (void)(device_wait(device, NULL) == IMGSTAT_OK);
    device->ops->release(device, &m.record.mem);
    return res;
}

/* Begins the extras of what the reader passes on. */
static ImgstatResult begin_extras(const PageReader *reader, ImgstatError *err)
{
    const ImgstatRegion *const region = &reader->region;
    const bool whole = region->width == 0;
    const uint32_t rows = reader->decoder ? reader->decoder->page.height : reader->page.height;
    if (!reader->decoder && !reader->page.host && reader->page.width > 0 && rows > 0)
        return error_set(err, IMGSTAT_ERR_UNSUPPORTED,
                         "of pixels in device memory there is no hash, preview or clipped count: "
                         "copy them to host memory");
    return extras_begin(reader->extras, &reader->page, whole ? reader->page.width : region->width,
                        whole ? rows : region->height,
                        reader->decoder ? reader->decoder->page.alpha : -1, err);
}

ImgstatResult page_measure(PageReader *reader, PixelView view, unsigned parts, Record **out,
                           ImgstatError *err)
{
    const ImagePro *const page = &reader->page;
    const bool luma = view.channels == VIEW_LUMA;
    const uint16_t channels = luma ? 1 : reader->planes > 1 ? reader->planes : page->channels;
    Record *record = NULL;
    *out = NULL;
    if (reader->extras)
        IMGSTAT_TRY(begin_extras(reader, err));
    IMGSTAT_TRY(record_check_bytes(page->sample, channels, parts, err));
    ImgstatResult res =
        record_reserve(reader->device->cache, page->sample, channels, parts, &record, err);
    reader->measures = true;
    for (uint16_t c = 0; res == IMGSTAT_OK && c < reader->planes; c++) {
        page_reader_set_plane(reader, c);
        res = read_plane(reader, view, c, record, err);
    }
    reader->measures = false;
    if (res != IMGSTAT_OK) {
        record_destroy(record);
        return res;
    }
    record_finalize(record, page->has_nodata && !luma, page->nodata_key);
    record_place_extrema(record, &reader->region, page->width);
    *out = record;
    return IMGSTAT_OK;
}

/* ---- Further reads ----------------------------------------------------------------------- */

typedef struct Further {
    Device *device;
    PixelView view;
    const ReadRequest *request;
} Further;

static ImgstatResult read_source(void *context, const PixelSource *source, ImgstatError *err)
{
    const Further *const further = context;
    return further->device->ops->read(further->device, source, further->view, further->request,
                                      err);
}

static ImgstatResult read_band(void *context, const ImagePro *band, ImgstatError *err)
{
    const PixelSource source = pixels_of(band);
    return read_source(context, &source, err);
}

static ImgstatResult read_again(PageReader *reader, Further *further, ImgstatError *err)
{
    DirectRead done;
    IMGSTAT_TRY(page_reader_direct(reader, false, read_source, further, &done, err));
    if (done == DIRECT_FAILED) /* they could be read a moment ago */
        return decoder_changed(reader->decoder, err);
    if (done == DIRECT_COMPLETE)
        return IMGSTAT_OK;
    reader->measures = true;
    const ImgstatResult res = page_reader_each(reader, read_band, further, err);
    reader->measures = false;
    return res;
}

static bool asks_for(const ReadRequest *request, uint16_t channel)
{
    bool asks = request->central || (request->sort && *request->sort == channel);
    for (size_t i = 0; i < request->n_digits && !asks; i++)
        asks = request->digits[i].channel == channel;
    for (size_t i = 0; i < request->n_ranges && !asks; i++)
        asks = request->ranges[i].channel == channel;
    for (size_t i = 0; i < request->n_gathers && !asks; i++)
        asks = request->gathers[i].channel == channel;
    return asks;
}

ImgstatResult page_read(PageReader *reader, PixelView view, const ReadRequest *request,
                        ImgstatError *err)
{
    Further further = {.device = reader->device, .view = view, .request = request};
    if (reader->planes == 1)
        return read_again(reader, &further, err);
    for (uint16_t c = 0; c < reader->planes; c++) {
        if (!asks_for(request, c))
            continue;
        page_reader_set_plane(reader, c);
        further.view = (PixelView){.first = c, .of_plane = reader->planes};
        IMGSTAT_TRY(read_again(reader, &further, err));
    }
    return IMGSTAT_OK;
}
