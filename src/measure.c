/* SPDX-License-Identifier: MIT */
/* measure.c: the reads of an image or of a page of a file, band by band. */
#include "codec.h"
#include "device.h"
#include "findings.h"

enum {
    BAND_BYTES = 4 << 20,  /* near the cache, and work enough for every thread */
    KEEP_BYTES = 64 << 20, /* pages up to this stay in memory where they are read again */
    RECORD_BYTES = 1 << 30 /* of counters: 2,047 channels of 16 bits. A hostile file has 65,535 */
};

/* Where pixels come from: an image, or a page that is decoded anew for every read. */
typedef struct Pixels {
    Device *device;
    const ImagePro *image; /* the whole image; NULL: by bands of a page */
    Decoder *decoder;
    ImagePro band; /* buffer of a band; of the whole page where it is kept */
} Pixels;

typedef ImgstatResult (*UseBand)(void *context, const ImagePro *band, ImgstatError *err);

static ImgstatResult each_band(Pixels *pixels, UseBand use, void *context, ImgstatError *err)
{
    if (pixels->image)
        return use(context, pixels->image, err);
    Decoder *const decoder = pixels->decoder;
    const uint32_t height = decoder->page.height;
    if (decoder->next_row != 0)
        IMGSTAT_TRY(decoder->codec->select(decoder, decoder->page.page, err));
    for (uint32_t row = 0; row < height;) {
        const uint32_t rows =
            height - row < pixels->band.height ? height - row : pixels->band.height;
        ImagePro band = image_band(&pixels->band, 0, rows);
        band.first_row = row;
        if (row > 0) /* the device may still be reading the band before */
            IMGSTAT_TRY(pixels->device->ops->wait(pixels->device, err));
        IMGSTAT_TRY(decoder->codec->read_rows(decoder, band.host, band.pitch, rows, err));
        IMGSTAT_TRY(use(context, &band, err));
        row += rows;
    }
    return IMGSTAT_OK;
}

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

static ImgstatResult read_first(Pixels *pixels, ImgstatSample sample, uint16_t channels,
                                unsigned parts, Record **out, ImgstatError *err)
{
    *out = NULL;
    Device *const device = pixels->device;
    const size_t bytes = record_bytes(sample, channels, parts);
    if (bytes > RECORD_BYTES)
        return error_set(err, IMGSTAT_ERR_LIMIT,
                         "%u channels of %s samples need %zu bytes of counters, more than %d",
                         channels, imgstat_sample_name(sample), bytes, RECORD_BYTES);
    First first = {.device = device,
                   .record = {.sample = sample, .channels = channels, .parts = parts}};
    Record *record = NULL;
    ImgstatResult res = record_create(sample, channels, parts, &record, err);
    if (res == IMGSTAT_OK)
        res = device->ops->alloc(device, bytes, &first.record.mem, err);
    if (res == IMGSTAT_OK)
        res = each_band(pixels, measure_band, &first, err);
    if (res == IMGSTAT_OK)
        res = device->ops->download(device, record->tally, first.record.mem, 0, bytes, err);
    device->ops->release(device, &first.record.mem);
    if (res != IMGSTAT_OK) {
        record_destroy(record);
        record = NULL;
    }
    *out = record;
    return res;
}

/* ---- Further reads ----------------------------------------------------------------------- */

typedef struct Further {
    Device *device;
    const Pass *pass;
} Further;

static ImgstatResult pass_band(void *context, const ImagePro *band, ImgstatError *err)
{
    const Further *const further = context;
    Device *const device = further->device;
    const DeviceOps *const ops = device->ops;
    const Pass *const pass = further->pass;
    if (pass->n_digits)
        IMGSTAT_TRY(ops->count_digits(device, band, pass->digits, pass->n_digits, err));
    if (pass->n_ranges)
        IMGSTAT_TRY(ops->count_range(device, band, pass->ranges, pass->n_ranges, err));
    if (pass->n_gathers)
        IMGSTAT_TRY(ops->gather(device, band, pass->gathers, pass->n_gathers, err));
    if (pass->central)
        IMGSTAT_TRY(ops->central(device, band, pass->center, pass->central, err));
    return IMGSTAT_OK;
}

static ImgstatResult read_further(void *context, const Pass *pass, ImgstatError *err)
{
    Pixels *const pixels = context;
    Further further = {.device = pixels->device, .pass = pass};
    return each_band(pixels, pass_band, &further, err);
}

/* ---- Both -------------------------------------------------------------------------------- */

static ImgstatResult measure_pixels(Pixels *pixels, const ImagePro *like, const ImgstatMeasure *how,
                                    ImgstatRecord **out, ImgstatError *err)
{
    Record *record = NULL;
    IMGSTAT_TRY(
        read_first(pixels, like->sample, like->channels, findings_parts(how), &record, err));
    record_settle(record, like->has_nodata, like->nodata_key);
    const Reader reader = {.read = read_further, .context = pixels};
    return findings_create(record, like->bits, how, reader, out, err);
}

ImgstatResult imgstat_measure_image(ImgstatDevice *device, const ImagePro *image,
                                    const ImgstatMeasure *how, ImgstatRecord **out,
                                    ImgstatError *err)
{
    static const ImgstatMeasure nothing_more = {0};
    *out = NULL;
    if (!how)
        how = &nothing_more;
    IMGSTAT_TRY(findings_check(how, err));
    Pixels pixels = {.device = device, .image = image};
    return measure_pixels(&pixels, image, how, out, err);
}

/* Rows of a band: all of a page that is kept, else about BAND_BYTES in whole units of the decoder,
 * even where one unit is larger: half units would be decoded twice. */
static uint32_t band_height(const Decoder *decoder, size_t row_bytes, bool keep)
{
    const uint32_t height = decoder->page.height;
    if (row_bytes == 0 || (keep && height <= KEEP_BYTES / row_bytes))
        return height;
    const uint64_t unit = decoder->band_rows ? decoder->band_rows : 1;
    const uint64_t wanted = BAND_BYTES / row_bytes;
    const uint64_t rows = wanted > unit ? wanted - wanted % unit : unit;
    return rows < height ? (uint32_t)rows : height;
}

/* Describes the band buffer; its memory comes from the device. */
static ImgstatResult make_band(Pixels *pixels, const ImgstatMeasure *how, ImgstatError *err)
{
    const Decoder *const decoder = pixels->decoder;
    const ImgstatPage *const page = &decoder->page;
    size_t row_bytes, bytes;
    if (!size_product(page->width, page->channels * imgstat_sample_bytes(page->sample), &row_bytes))
        return error_set(err, IMGSTAT_ERR_LIMIT, "%s: rows are too large", decoder->source->name);
    const uint32_t rows = band_height(decoder, row_bytes, findings_read_again(how, page->sample));
    if (!size_product(row_bytes, rows, &bytes))
        return error_set(err, IMGSTAT_ERR_LIMIT, "%s: rows are too large", decoder->source->name);
    void *memory = NULL;
    IMGSTAT_TRY(pixels->device->ops->host_alloc(pixels->device, bytes ? bytes : 1, &memory, err));
    const ImgstatResult res =
        imgstat_image_wrap(IMGSTAT_HOST, 0, memory, 0, page->width, rows, page->channels,
                           page->sample, page->bits, NULL, NULL, &pixels->band, err);
    if (res != IMGSTAT_OK) {
        pixels->device->ops->host_release(pixels->device, memory);
        return res;
    }
    if (page->has_nodata)
        imgstat_image_set_nodata(&pixels->band, page->nodata);
    return IMGSTAT_OK;
}

/* Decodes the page once for all reads, if the band holds all of it and there will be several. */
static ImgstatResult keep_page(Pixels *pixels, const ImgstatMeasure *how, ImgstatError *err)
{
    Decoder *const decoder = pixels->decoder;
    const ImagePro *const band = &pixels->band;
    if (band->height != decoder->page.height || !findings_read_again(how, band->sample))
        return IMGSTAT_OK;
    if (band->height > 0)
        IMGSTAT_TRY(decoder->codec->read_rows(decoder, band->host, band->pitch, band->height, err));
    pixels->image = band;
    return IMGSTAT_OK;
}

ImgstatResult imgstat_measure_file(ImgstatDevice *device, ImgstatFile *file, uint32_t page,
                                   const ImgstatMeasure *how, ImgstatRecord **out,
                                   ImgstatError *err)
{
    static const ImgstatMeasure nothing_more = {0};
    *out = NULL;
    if (!how)
        how = &nothing_more;
    IMGSTAT_TRY(findings_check(how, err));
    Pixels pixels = {.device = device, .decoder = file->decoder};
    IMGSTAT_TRY(file->decoder->codec->select(file->decoder, page, err));
    IMGSTAT_TRY(make_band(&pixels, how, err));
    ImgstatResult res = keep_page(&pixels, how, err);
    if (res == IMGSTAT_OK)
        res = measure_pixels(&pixels, &pixels.band, how, out, err);
    /* After a failure the device may still be reading the band; its own error is the one to tell.
     */
    if (res != IMGSTAT_OK)
        (void)(device->ops->wait(device, NULL) == IMGSTAT_OK);
    device->ops->host_release(device, pixels.band.host);
    return res;
}
