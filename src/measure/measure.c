/* SPDX-License-Identifier: MIT */
/* measure.c: one way through the pixels for statistics and transforms alike: directly, where the
 * threads of the device can read for themselves, else band by band; plane by plane, where a page is
 * read so. */
#include "measure/measure.h"

#include "measure/deviation.h"
#include "measure/result.h"

enum {
    KEEP_BYTES = 64 << 20,    /* pages up to this stay in memory where they are read again */
    SCRATCH_BYTES = 48 << 20, /* what is kept between two pages */
    RECORD_BYTES = 1 << 30 /* of counters: 2,047 channels of 16 bits. A hostile file has 65,535 */
};

/* ---- The first read ---------------------------------------------------------------------- */

typedef struct Measure {
    Device *device;
    PixelView view;
    DeviceRecord record;
} Measure;

static ImgstatResult measure_source(void *context, const PixelSource *source, ImgstatError *err)
{
    const Measure *const m = context;
    return m->device->ops->measure(m->device, source, m->view, &m->record, err);
}

static ImgstatResult measure_band(void *context, const ImagePro *band, ImgstatError *err)
{
    const PixelSource source = pixels_of(band);
    return measure_source(context, &source, err);
}

/* Measures a plane into a record of `bytes` on the device. Where a direct read fails, the decoder
 * that reads the bands knows the reason. */
static ImgstatResult measure_plane(PageReader *reader, Measure *m, size_t bytes, ImgstatError *err)
{
    const DeviceOps *const ops = m->device->ops;
    DirectRead done;
    IMGSTAT_TRY(ops->alloc(m->device, bytes, &m->record.mem, err));
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
        (void)(device->ops->wait(device, NULL) == IMGSTAT_OK);
    device->ops->release(device, &m.record.mem);
    return res;
}

ImgstatResult page_measure_check(ImgstatSample sample, uint16_t channels, unsigned parts,
                                 ImgstatError *err)
{
    const size_t bytes = record_bytes(sample, channels, parts);
    if (bytes > RECORD_BYTES)
        return error_set(err, IMGSTAT_ERR_LIMIT,
                         "%u channels of %s samples need %zu bytes of counters, more than %d",
                         channels, imgstat_sample_name(sample), bytes, RECORD_BYTES);
    return IMGSTAT_OK;
}

ImgstatResult page_measure(PageReader *reader, PixelView view, unsigned parts, Record **out,
                           ImgstatError *err)
{
    const ImagePro *const page = &reader->page;
    const bool luma = view.channels == VIEW_LUMA;
    const uint16_t channels = luma ? 1 : page_reader_channels(reader);
    Record *record = NULL;
    *out = NULL;
    IMGSTAT_TRY(page_measure_check(page->sample, channels, parts, err));
    ImgstatResult res =
        record_create(reader->device->cache, page->sample, channels, parts, &record, err);
    for (uint16_t c = 0; res == IMGSTAT_OK && c < reader->planes; c++) {
        page_reader_set_plane(reader, c);
        res = read_plane(reader, view, c, record, err);
    }
    if (res != IMGSTAT_OK) {
        record_destroy(record);
        return res;
    }
    record_finalize(record, page->has_nodata && !luma, page->nodata_key);
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
    return done == DIRECT_COMPLETE ? IMGSTAT_OK : page_reader_each(reader, read_band, further, err);
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

/* ---- Statistics of an image or a page of a file ---- */

/* No statistic looks at the channels of a pixel together. */
static const PixelView every_channel = {.channels = VIEW_EACH};

static ImgstatResult read_further(void *context, const ReadRequest *request, ImgstatError *err)
{
    return page_read(context, every_channel, request, err);
}

static ImgstatResult measure_page(PageReader *reader, const ImgstatMeasure *how,
                                  ImgstatRecord **out, ImgstatError *err)
{
    Record *record = NULL;
    unsigned parts = result_parts(how);
    IMGSTAT_TRY(page_measure(reader, every_channel, parts, &record, err));
    if (deviation_needs_bins(record) && !(parts & RECORD_BINS)) {
        record_destroy(record);
        parts |= RECORD_BINS;
        IMGSTAT_TRY(page_measure(reader, every_channel, parts, &record, err));
    }
    const FurtherReads reads = {.read = read_further,
                                .context = reader,
                                .threads = reader->device->threads,
                                .cache = reader->device->cache};
    return result_create(record, reader->page.bits, how, reads, out, err);
}

ImgstatResult imgstat_measure_image(ImgstatDevice *device, const ImagePro *image,
                                    const ImgstatMeasure *how, ImgstatRecord **out,
                                    ImgstatError *err)
{
    static const ImgstatMeasure nothing_more = {0};
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(device && image && out, __func__, err));
    IMGSTAT_TRY(image_check_mask(image, err));
    if (!how)
        how = &nothing_more;
    IMGSTAT_TRY(result_check(how, err));
    PageReader reader;
    page_reader_of_image(device, image, &reader);
    return measure_page(&reader, how, out, err);
}

static ImgstatResult measure_selected(Device *device, Decoder *decoder, const ImgstatMeasure *how,
                                      ImgstatRecord **out, ImgstatError *err)
{
    const ImgstatSample sample = decoder->page.sample;
    /* Reading such a page twice takes less than keeping it. */
    const bool fetch = result_ranks_only(how, sample) && page_reader_direct_rows(device, decoder);
    const bool keep =
        result_reads_again(how, sample) && page_reader_whole_bytes(decoder) <= KEEP_BYTES && !fetch;
    BandMemory memory = {0};
    PageReader reader;
    ImgstatResult res = page_reader_open(device, decoder, keep, &memory, NULL, &reader, err);
    reader.direct = true;
    if (res == IMGSTAT_OK)
        res = measure_page(&reader, how, out, err);
    band_memory_release(device, &memory);
    decoder_finish(decoder); /* the file may outlive the device */
    if (device->cache)
        buffer_cache_trim(device->cache, SCRATCH_BYTES);
    return res;
}

/* Selects a page and measures it. Whether planes are read one by one depends on the threads; the
 * fault that is reported does not: a damaged page is read again with its planes together. */
static ImgstatResult measure_decoded(Device *device, ImgstatFile *file, uint32_t page,
                                     const ImgstatMeasure *how, ImgstatRecord **out,
                                     ImgstatError *err)
{
    /* Alpha masks the other channels: it is read with them. */
    DecodeOptions options = {.threads = device->threads, .planes = !file->decoder->how.alpha_masks};
    IMGSTAT_TRY(file_select(file, page, &options, err));
    const bool planes = file->decoder->caps.planes > 0;
    const ImgstatResult res = measure_selected(device, file->decoder, how, out, err);
    if (!planes || (res != IMGSTAT_ERR_FORMAT && res != IMGSTAT_ERR_TRUNCATED))
        return res;
    options.planes = false;
    IMGSTAT_TRY(file_select(file, page, &options, err));
    return measure_selected(device, file->decoder, how, out, err);
}

/* Measures by a decoder of its own, which has the warnings of the file's meanwhile. */
static ImgstatResult measure_beside(Device *device, ImgstatFile *file, uint32_t page,
                                    const ImgstatMeasure *how, ImgstatRecord **out,
                                    ImgstatError *err)
{
    Decoder *const own = file->decoder;
    ImgstatFile beside = {.source = file->source};
    ImgstatOpen quiet = own->how;
    quiet.warn = NULL; /* opening has warned once */
    IMGSTAT_TRY(decoder_open(own->codec, own->source, &quiet, own->mode, &beside.decoder, err));
    beside.decoder->warnings = own->warnings;
    own->warnings = (Warnings){.name = own->warnings.name};
    const ImgstatResult res = measure_decoded(device, &beside, page, how, out, err);
    own->warnings = beside.decoder->warnings;
    beside.decoder->warnings = (Warnings){.name = own->warnings.name};
    decoder_close(beside.decoder);
    return res;
}

/* Measures by the file's decoder, of which no row was read. The page that was selected is selected
 * again: at once if it is another, else when its rows are asked for. */
static ImgstatResult measure_instead(Device *device, ImgstatFile *file, uint32_t page,
                                     const ImgstatMeasure *how, ImgstatRecord **out,
                                     ImgstatError *err)
{
    const Decoder *const decoder = file->decoder;
    const bool selected = decoder->channel_names != NULL;
    const uint32_t before = decoder->page.page;
    const ImgstatResult res = measure_decoded(device, file, page, how, out, err);
    file->measured = true;
    if (selected && before != page) /* a failure shows when the page is used */
        (void)(imgstat_file_page(file, before, NULL, NULL) == IMGSTAT_OK);
    return res;
}

ImgstatResult imgstat_measure_file(ImgstatDevice *device, ImgstatFile *file, uint32_t page,
                                   const ImgstatMeasure *how, ImgstatRecord **out,
                                   ImgstatError *err)
{
    static const ImgstatMeasure nothing_more = {0};
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(device && file && out, __func__, err));
    if (!how)
        how = &nothing_more;
    IMGSTAT_TRY(result_check(how, err));
    const Decoder *const decoder = file->decoder;
    const bool reading = decoder->channel_names && decoder->next_row > 0 && !file->measured;
    const ImgstatResult res = reading ? measure_beside(device, file, page, how, out, err)
                                      : measure_instead(device, file, page, how, out, err);
    return error_add_file(err, res, decoder->source->name);
}
