/* SPDX-License-Identifier: MIT */
/* measure.c: the reads of an image or of a page of a file, band by band. */
#include "measure/page_reader.h"
#include "measure/percentile_estimate.h"
#include "measure/result.h"

enum {
    KEEP_BYTES = 64 << 20,    /* pages up to this stay in memory where they are read again */
    SCRATCH_BYTES = 48 << 20, /* what is kept between two pages */
    RECORD_BYTES = 1 << 30, /* of counters: 2,047 channels of 16 bits. A hostile file has 65,535 */
    GUESS_PIXELS = 1 << 18, /* what a guess looks at, about, */
    GUESS_ROWS = 32,        /* in as many rows at least, */
    GUESS_PART = 8          /* but no more than this part of the page */
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

/* Of one row in `every`, or with keys set aside: only where rows can be fetched. Where rows that
 * should only need reading cannot be read, the decoder says what there is; a guess is given up. */
static ImgstatResult measure_all(Bands *bands, uint32_t every, First *first, size_t bytes,
                                 ImgstatError *err)
{
    Device *const device = bands->device;
    IMGSTAT_TRY(device->ops->alloc(device, bytes, &first->record.mem, err));
    if (bands_fetchable(bands) || (every == 1 && bands_chunks_begin(bands))) {
        bool complete;
        IMGSTAT_TRY(bands_fetch(bands, every, measure_band, first, &complete, err));
        if (complete || every > 1 || device->aside)
            return IMGSTAT_OK;
        device->ops->release(device, &first->record.mem);
        IMGSTAT_TRY(device->ops->alloc(device, bytes, &first->record.mem, err));
    }
    return bands_measure(bands, measure_band, first, err);
}

/* Measures one row in `every` of the plane that is next into the channels of the record from
 * `channel` on. */
static ImgstatResult read_plane(Bands *bands, uint32_t every, uint16_t channel, Record *record,
                                ImgstatError *err)
{
    Device *const device = bands->device;
    const uint16_t channels = bands->page.channels;
    First first = {
        .device = device,
        .record = {.sample = record->sample, .channels = channels, .parts = record->parts}};
    const size_t tallies = channels * sizeof *record->tally;
    const size_t bytes = record_bytes(record->sample, channels, record->parts);
    const bool all = channels == record->channels; /* tallies and bins are one stretch */
    ImgstatResult res = measure_all(bands, every, &first, bytes, err);
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

/* The same of one plane among several, with the keys set aside that are wanted of it. */
static ImgstatResult read_plane_aside(Bands *bands, uint16_t channel, CandidateKeys *aside,
                                      Record *record, ImgstatError *err)
{
    Device *const device = bands->device;
    const ReadRequest wanted = {.gathers = aside->gathers, .n_gathers = aside->n};
    PlanePass plane;
    IMGSTAT_TRY(pass_of_plane(&wanted, channel, &plane, err));
    CandidateKeys own = {
        .gathers = plane.pass.gathers, .n = plane.pass.n_gathers, .full = aside->full};
    device->aside = &own;
    const ImgstatResult res = read_plane(bands, 1, channel, record, err);
    device->aside = NULL;
    aside->full = own.full;
    pass_of_plane_end(&plane);
    return res;
}

/* aside: NULL, or keys to set aside; every is 1 then, and the record is of no value if the rows are
 * not fetchable any more. */
static ImgstatResult read_first(Bands *bands, uint32_t every, unsigned parts, CandidateKeys *aside,
                                Record **out, ImgstatError *err)
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
    bands->device->aside = bands->planes == 1 ? aside : NULL;
    for (uint16_t c = 0; res == IMGSTAT_OK && c < bands->planes; c++) {
        if (aside && bands->unfetchable)
            break;
        bands_plane(bands, c);
        res = aside && bands->planes > 1 ? read_plane_aside(bands, c, aside, record, err)
                                         : read_plane(bands, every, c, record, err);
    }
    bands->device->aside = NULL;
    if (res == IMGSTAT_OK) {
        record_finalize(record, like->has_nodata, like->nodata_key);
    } else {
        record_destroy(record);
        record = NULL;
    }
    *out = record;
    return res;
}

/* Looks at a few rows of a large page, if that can save reading all of them again. */
static ImgstatResult look(Bands *bands, const ImgstatMeasure *how, Guess *guess, ImgstatError *err)
{
    const ImagePro *const page = &bands->page;
    if (page->width == 0 || !bands_fetchable(bands) ||
        !guess_helps(how, page->sample, bands_channels(bands)))
        return IMGSTAT_OK;
    const uint32_t least = GUESS_PIXELS / page->width, height = bands->decoder->page.height;
    const uint32_t every = height / (least > GUESS_ROWS ? least : GUESS_ROWS);
    if (every < GUESS_PART)
        return IMGSTAT_OK;
    Record *record;
    IMGSTAT_TRY(read_first(bands, every, findings_parts(how), NULL, &record, err));
    if (bands_fetchable(bands))
        guess_make(guess, record, every, how, bands->device->scratch);
    record_destroy(record);
    return IMGSTAT_OK;
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
    IMGSTAT_TRY(bands_fetch(bands, 1, pass_band, further, &complete, err));
    if (!complete) /* they could be read a moment ago */
        return decoder_changed(bands->decoder, err);
    return IMGSTAT_OK;
}

static ImgstatResult read_pass(Bands *bands, const ReadRequest *pass, ImgstatError *err)
{
    Device *const device = bands->device;
    Further further = {.device = device, .pass = pass};
    if (!pass->n_windows)
        return read_all(bands, &further, err);
    ImgstatResult res = device->ops->windows_begin(device, bands->page.sample, bands->page.channels,
                                                   pass->windows, pass->n_windows, err);
    if (res == IMGSTAT_OK)
        res = read_all(bands, &further, err);
    if (res == IMGSTAT_OK)
        return device->ops->windows_end(device, pass->windows, pass->n_windows, err);
    (void)(device->ops->windows_end(device, NULL, 0, NULL) == IMGSTAT_OK);
    return res;
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

/* The first read by the guess, which is released where that was wrong; *out is NULL then. */
static ImgstatResult read_guessed(Bands *bands, const ImgstatMeasure *how, Guess *guess,
                                  Record **out, ImgstatError *err)
{
    IMGSTAT_TRY(read_first(bands, 1, 0, &guess->aside, out, err));
    if (!bands->unfetchable && guess_holds(guess, *out, how))
        return IMGSTAT_OK;
    record_destroy(*out);
    *out = NULL;
    guess_release(guess);
    return IMGSTAT_OK;
}

static ImgstatResult measure_bands(Bands *bands, const ImgstatMeasure *how, ImgstatRecord **out,
                                   ImgstatError *err)
{
    Guess guess = {0};
    Record *record = NULL;
    ImgstatResult res = look(bands, how, &guess, err);
    if (res == IMGSTAT_OK && guess.aside.n > 0)
        res = read_guessed(bands, how, &guess, &record, err);
    if (res == IMGSTAT_OK && !record)
        res = read_first(bands, 1, findings_parts(how), NULL, &record, err);
    const PixelSource reader = {.read = read_further,
                                .context = bands,
                                .threads = bands->device->threads,
                                .scratch = bands->device->scratch,
                                .guess = guess.aside.n > 0 ? &guess : NULL};
    if (res == IMGSTAT_OK)
        res = findings_create(record, bands->page.bits, how, reader, out, err);
    guess_release(&guess);
    return res;
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
    decoder->scratch = NULL; /* the file may outlive the device */
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
    decoder->threads = device->threads;
    decoder->separate = true; /* no statistic looks at the channels of a pixel together */
    ImgstatResult res = file_select(file, page, err);
    if (res == IMGSTAT_OK)
        res = measure_selected(device, decoder, how, out, err);
    decoder->separate = false;
    if (decoder->planes) /* whose rows are for nobody else */
        decoder->next_row = decoder->page.height;
    return error_name(err, res, decoder->source->name);
}
