/* SPDX-License-Identifier: MIT */
/* measure.c: the reads of an image or of a page of a file, band by band. */
#include "measure/page_reader.h"
#include "measure/result.h"

enum {
    KEEP_BYTES = 64 << 20,    /* pages up to this stay in memory where they are read again */
    SCRATCH_BYTES = 48 << 20, /* what is kept between two pages */
    RECORD_BYTES = 1 << 30 /* of counters: 2,047 channels of 16 bits. A hostile file has 65,535 */
};

/* ---- The first read ---------------------------------------------------------------------- */

typedef struct First {
    Device *device;
    DeviceRecord record;
} First;

static ImgstatResult measure_band(void *context, const ImagePro *band, ImgstatError *err)
{
    First *const first = context;
    return first->device->ops->measure(first->device, band, &first->record, 1, err);
}

/* Where rows that should only need reading cannot be read, the decoder says what there is. */
static ImgstatResult measure_all(Bands *bands, First *first, size_t bytes, ImgstatError *err)
{
    Device *const device = bands->device;
    IMGSTAT_TRY(device->ops->alloc(device, bytes, &first->record.mem, err));
    if (bands_fetchable(bands) || bands_chunks_begin(bands)) {
        bool complete;
        IMGSTAT_TRY(bands_fetch(bands, measure_band, first, &complete, err));
        if (complete)
            return IMGSTAT_OK;
        device->ops->release(device, &first->record.mem);
        IMGSTAT_TRY(device->ops->alloc(device, bytes, &first->record.mem, err));
    }
    return bands_each(bands, measure_band, first, err);
}

/* Measures the plane that is next into the channels of the record from `channel` on. */
static ImgstatResult read_plane(Bands *bands, uint16_t channel, Record *record, ImgstatError *err)
{
    Device *const device = bands->device;
    const uint16_t channels = bands->page.channels;
    First first = {
        .device = device,
        .record = {.sample = record->sample, .channels = channels, .parts = record->parts}};
    const size_t tallies = channels * sizeof *record->tally;
    const size_t bytes = record_bytes(record->sample, channels, record->parts);
    const bool all = channels == record->channels; /* tallies and bins are one stretch */
    ImgstatResult res = measure_all(bands, &first, bytes, err);
    if (res == IMGSTAT_OK)
        res = device->ops->download(device, record->tally + channel, first.record.mem, 0,
                                    all ? bytes : tallies, err);
    if (res == IMGSTAT_OK && !all && bytes > tallies)
        res = device->ops->download(
            device, record->bins + (size_t)channel * sample_record_bins(record->sample),
            first.record.mem, tallies, bytes - tallies, err);
    device->ops->release(device, &first.record.mem);
    return res;
}

static ImgstatResult read_first(Bands *bands, unsigned parts, Record **out, ImgstatError *err)
{
    *out = NULL;
    const ImagePro *const like = &bands->page;
    const ImgstatSample sample = like->sample;
    const uint16_t channels = bands_channels(bands);
    const size_t bytes = record_bytes(sample, channels, parts);
    if (bytes > RECORD_BYTES)
        return error_set(err, IMGSTAT_ERR_LIMIT,
                         "%u channels of %s samples need %zu bytes of counters, more than %d",
                         channels, imgstat_sample_name(sample), bytes, RECORD_BYTES);
    Record *record = NULL;
    ImgstatResult res =
        record_create(bands->device->scratch, sample, channels, parts, &record, err);
    for (uint16_t c = 0; res == IMGSTAT_OK && c < bands->planes; c++) {
        bands_plane(bands, c);
        res = read_plane(bands, c, record, err);
    }
    if (res == IMGSTAT_OK) {
        record_finalize(record, like->has_nodata, like->nodata_key);
    } else {
        record_destroy(record);
        record = NULL;
    }
    *out = record;
    return res;
}

/* ---- Further reads ----------------------------------------------------------------------- */

typedef struct Further {
    Device *device;
    const ReadRequest *pass;
} Further;

static ImgstatResult pass_band(void *context, const ImagePro *band, ImgstatError *err)
{
    const Further *const further = context;
    return further->device->ops->read(further->device, band, further->pass, err);
}

static ImgstatResult read_all(Bands *bands, Further *further, ImgstatError *err)
{
    if (!bands_fetchable(bands))
        return bands_each(bands, pass_band, further, err);
    bool complete;
    IMGSTAT_TRY(bands_fetch(bands, pass_band, further, &complete, err));
    if (!complete) /* they could be read a moment ago */
        return decoder_changed(bands->decoder, err);
    return IMGSTAT_OK;
}

static ImgstatResult read_pass(Bands *bands, const ReadRequest *pass, ImgstatError *err)
{
    Device *const device = bands->device;
    Further further = {.device = device, .pass = pass};
    return read_all(bands, &further, err);
}

/* Planes of which nothing is wanted are not read. */
static ImgstatResult read_further(void *context, const ReadRequest *pass, ImgstatError *err)
{
    Bands *const bands = context;
    if (bands->planes == 1)
        return read_pass(bands, pass, err);
    ImgstatResult res = IMGSTAT_OK;
    for (uint16_t c = 0; res == IMGSTAT_OK && c < bands->planes; c++) {
        PlanePass plane;
        res = pass_of_plane(pass, c, &plane, err);
        bands_plane(bands, c);
        if (res == IMGSTAT_OK && !plane.empty)
            res = read_pass(bands, &plane.pass, err);
        pass_of_plane_end(&plane);
    }
    return res;
}

/* ---- Both -------------------------------------------------------------------------------- */

static ImgstatResult measure_bands(Bands *bands, const ImgstatMeasure *how, ImgstatRecord **out,
                                   ImgstatError *err)
{
    Record *record = NULL;
    IMGSTAT_TRY(read_first(bands, findings_parts(how), &record, err));
    const FurtherReads reads = {.read = read_further,
                                .context = bands,
                                .threads = bands->device->threads,
                                .cache = bands->device->scratch};
    return findings_create(record, bands->page.bits, how, reads, out, err);
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
    IMGSTAT_TRY(findings_check(how, err));
    Bands bands;
    bands_of_image(device, image, &bands);
    return measure_bands(&bands, how, out, err);
}

static ImgstatResult measure_selected(Device *device, Decoder *decoder, const ImgstatMeasure *how,
                                      ImgstatRecord **out, ImgstatError *err)
{
    const ImgstatSample sample = decoder->page.sample;
    /* Reading such a page twice takes less than keeping it. */
    const bool fetch = findings_ranks_only(how, sample) && bands_fetches(device, decoder);
    const bool keep =
        findings_read_again(how, sample) && bands_whole(decoder) <= KEEP_BYTES && !fetch;
    BandMemory memory = {0};
    Bands bands;
    ImgstatResult res = bands_open(device, decoder, keep, &memory, NULL, &bands, err);
    if (res == IMGSTAT_OK)
        res = measure_bands(&bands, how, out, err);
    /* After a failure the device may still be reading a band; its own error is the one to tell. */
    if (res != IMGSTAT_OK)
        (void)(device->ops->wait(device, NULL) == IMGSTAT_OK);
    band_memory_release(device, &memory);
    decoder_finish(decoder); /* the file may outlive the device */
    if (device->scratch)
        buffer_cache_trim(device->scratch, SCRATCH_BYTES);
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
    IMGSTAT_TRY(findings_check(how, err));
    Decoder *const decoder = file->decoder;
    /* No statistic looks at the channels of a pixel together. */
    const DecodeOptions options = {.threads = device->threads, .planes = true};
    ImgstatResult res = file_select(file, page, &options, err);
    if (res == IMGSTAT_OK)
        res = measure_selected(device, decoder, how, out, err);
    return error_name(err, res, decoder->source->name);
}
