/* SPDX-License-Identifier: MIT */
/* measure.c: the reads of an image or of a page of a file, band by band. */
#include "codec.h"
#include "device.h"
#include "findings.h"
#include "read_ahead.h"

enum {
    BAND_BYTES = 4 << 20,   /* near the cache, and work enough for every thread */
    AHEAD_BYTES = 32 << 20, /* two bands up to this: the next is decoded meanwhile */
    KEEP_BYTES = 64 << 20,  /* pages up to this stay in memory where they are read again */
    RECORD_BYTES = 1 << 30  /* of counters: 2,047 channels of 16 bits. A hostile file has 65,535 */
};

/* Where pixels come from: an image, or a page that is decoded anew for every read. */
typedef struct Pixels {
    Device *device;
    const ImagePro *image; /* the whole image; NULL: by bands of a page */
    Decoder *decoder;
    ImagePro buffer; /* holds one band or two; the whole page where it is kept */
    uint32_t rows;   /* of a band */
    bool keep;
} Pixels;

typedef ImgstatResult (*UseBand)(void *context, const ImagePro *band, ImgstatError *err);

static ImgstatResult each_band(Pixels *pixels, UseBand use, void *context, ImgstatError *err)
{
    if (pixels->image)
        return use(context, pixels->image, err);
    Device *const device = pixels->device;
    Decoder *const decoder = pixels->decoder;
    if (decoder->next_row != 0)
        IMGSTAT_TRY(decoder->codec->select(decoder, decoder->page.page, err));
    ReadAhead *ahead = NULL;
    ImgstatResult res =
        read_ahead_start(decoder, &pixels->buffer, pixels->rows, device->threads > 1, &ahead, err);
    for (uint64_t row = 0; res == IMGSTAT_OK && row < decoder->page.height; row += pixels->rows) {
        ImagePro band;
        if (row > 0) /* the device may still be reading the band before */
            res = device->ops->wait(device, err);
        if (res == IMGSTAT_OK)
            res = read_ahead_next(ahead, &band, err);
        if (res == IMGSTAT_OK)
            res = use(context, &band, err);
    }
    read_ahead_stop(ahead);
    if (res == IMGSTAT_OK && pixels->keep)
        pixels->image = &pixels->buffer;
    return res;
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

/* About BAND_BYTES in whole units of the decoder, even where one unit is larger: half units would
 * be decoded twice. */
static uint32_t band_height(const Decoder *decoder, size_t row_bytes)
{
    const uint64_t height = decoder->page.height ? decoder->page.height : 1;
    const uint64_t unit = decoder->band_rows ? decoder->band_rows : 1;
    const uint64_t wanted = row_bytes ? BAND_BYTES / row_bytes : height;
    const uint64_t rows = wanted > unit ? wanted - wanted % unit : unit;
    return (uint32_t)(rows < height ? rows : height);
}

/* Rows of the buffer: all of a page that is kept, else those of two bands or of one. */
static uint32_t buffer_height(const Pixels *pixels, size_t row_bytes)
{
    const uint32_t height = pixels->decoder->page.height;
    if (pixels->keep)
        return height;
    const bool two =
        pixels->device->threads > 1 && row_bytes > 0 && pixels->rows <= AHEAD_BYTES / 2 / row_bytes;
    const uint64_t rows = (uint64_t)pixels->rows * (two ? 2 : 1);
    return rows < height ? (uint32_t)rows : height;
}

/* Describes the buffer of bands; its memory comes from the device. */
static ImgstatResult make_buffer(Pixels *pixels, const ImgstatMeasure *how, ImgstatError *err)
{
    const Decoder *const decoder = pixels->decoder;
    const ImgstatPage *const page = &decoder->page;
    size_t row_bytes, bytes;
    if (!size_product(page->width, page->channels * imgstat_sample_bytes(page->sample), &row_bytes))
        return error_set(err, IMGSTAT_ERR_LIMIT, "%s: rows are too large", decoder->source->name);
    pixels->keep = findings_read_again(how, page->sample) &&
                   (row_bytes == 0 || page->height <= KEEP_BYTES / row_bytes);
    pixels->rows = band_height(decoder, row_bytes);
    const uint32_t rows = buffer_height(pixels, row_bytes);
    if (!size_product(row_bytes, rows, &bytes))
        return error_set(err, IMGSTAT_ERR_LIMIT, "%s: rows are too large", decoder->source->name);
    void *memory = NULL;
    IMGSTAT_TRY(pixels->device->ops->host_alloc(pixels->device, bytes ? bytes : 1, &memory, err));
    const ImgstatResult res =
        imgstat_image_wrap(IMGSTAT_HOST, 0, memory, 0, page->width, rows, page->channels,
                           page->sample, page->bits, NULL, NULL, &pixels->buffer, err);
    if (res != IMGSTAT_OK) {
        pixels->device->ops->host_release(pixels->device, memory);
        return res;
    }
    if (page->has_nodata)
        imgstat_image_set_nodata(&pixels->buffer, page->nodata);
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
    file->decoder->threads = device->threads;
    IMGSTAT_TRY(file->decoder->codec->select(file->decoder, page, err));
    IMGSTAT_TRY(make_buffer(&pixels, how, err));
    const ImgstatResult res = measure_pixels(&pixels, &pixels.buffer, how, out, err);
    /* After a failure the device may still be reading a band; its own error is the one to tell.
     */
    if (res != IMGSTAT_OK)
        (void)(device->ops->wait(device, NULL) == IMGSTAT_OK);
    device->ops->host_release(device, pixels.buffer.host);
    return res;
}
