/* SPDX-License-Identifier: MIT */
/* measure.c: the reads of an image or of a page of a file, band by band. */
#include "measure/direct_read.h"
#include "measure/page_reads.h"
#include "measure/plan.h"

enum {
    KEEP_BYTES = 64 << 20,    /* pages up to this stay in memory where they are read again */
    SCRATCH_BYTES = 48 << 20, /* what is kept between two pages */
    RECORD_BYTES = 1 << 30 /* of counters: 2,047 channels of 16 bits. A hostile file has 65,535 */
};

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
    IMGSTAT_TRY(page_measure(reader, every_channel, plan_parts(how), &record, err));
    const FurtherReads reads = {.read = read_further,
                                .context = reader,
                                .threads = reader->device->threads,
                                .cache = reader->device->scratch};
    return plan_run(record, reader->page.bits, how, reads, out, err);
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
    IMGSTAT_TRY(plan_check(how, err));
    PageReader reader;
    page_reader_of_image(device, image, &reader);
    return measure_page(&reader, how, out, err);
}

static ImgstatResult measure_selected(Device *device, Decoder *decoder, const ImgstatMeasure *how,
                                      ImgstatRecord **out, ImgstatError *err)
{
    const ImgstatSample sample = decoder->page.sample;
    /* Reading such a page twice takes less than keeping it. */
    const bool fetch = plan_ranks_only(how, sample) && direct_rows(device, decoder);
    const bool keep =
        plan_reads_again(how, sample) && page_reader_whole_bytes(decoder) <= KEEP_BYTES && !fetch;
    BandMemory memory = {0};
    PageReader reader;
    ImgstatResult res = page_reader_open(device, decoder, keep, &memory, NULL, &reader, err);
    reader.direct = true;
    if (res == IMGSTAT_OK)
        res = measure_page(&reader, how, out, err);
    band_memory_release(device, &memory);
    decoder_finish(decoder); /* the file may outlive the device */
    if (device->scratch)
        buffer_cache_trim(device->scratch, SCRATCH_BYTES);
    return res;
}

/* Selects a page and measures it. Whether planes are read one by one depends on the threads; the
 * fault that is reported does not: a damaged page is read again with its planes together. */
static ImgstatResult measure_decoded(Device *device, ImgstatFile *file, uint32_t page,
                                     const ImgstatMeasure *how, ImgstatRecord **out,
                                     ImgstatError *err)
{
    DecodeOptions options = {.threads = device->threads, .planes = true};
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
    IMGSTAT_TRY(plan_check(how, err));
    const Decoder *const decoder = file->decoder;
    const bool reading = decoder->channel_names && decoder->next_row > 0 && !file->measured;
    const ImgstatResult res = reading ? measure_beside(device, file, page, how, out, err)
                                      : measure_instead(device, file, page, how, out, err);
    return error_add_file(err, res, decoder->source->name);
}
