/* SPDX-License-Identifier: MIT */
/* measure.c: statistics of an image, of a page of a file, and of several pages as one. */
#include "measure/deviation.h"
#include "measure/page_reads.h"
#include "measure/result.h"

#include <stdlib.h>

enum {
    KEEP_BYTES = 64 << 20,   /* pages up to this stay in memory where they are read again */
    SCRATCH_BYTES = 48 << 20 /* what is kept between two pages */
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
    IMGSTAT_TRY(page_reader_set_region(&reader, &how->region, err));
    return measure_page(&reader, how, out, err);
}

/* ---- Pages of a file ---- */

/* Pages that are measured as one. */
typedef struct PageSet {
    Device *device;
    ImgstatFile *file;
    const uint32_t *pages; /* n of them */
    uint32_t n;
    const ImgstatMeasure *how;
    DecodeOptions options;
    BandMemory memory;
} PageSet;

static ImgstatResult select_page(PageSet *set, uint32_t i, ImgstatError *err)
{
    return file_select(set->file, set->pages[i], &set->options, err);
}

/* The page selected by itself: it may stay in memory. */
static ImgstatResult measure_one(PageSet *set, ImgstatRecord **out, ImgstatError *err)
{
    Decoder *const decoder = set->file->decoder;
    const ImgstatSample sample = decoder->page.sample;
    /* Reading such a page twice takes less than keeping it. */
    const bool fetch =
        result_ranks_only(set->how, sample) && page_reader_direct_rows(set->device, decoder);
    const bool keep = result_reads_again(set->how, sample) && set->how->region.width == 0 &&
                      page_reader_whole_bytes(decoder) <= KEEP_BYTES && !fetch;
    PageReader reader;
    IMGSTAT_TRY(page_reader_open(set->device, decoder, keep, &set->memory, NULL, &reader, err));
    IMGSTAT_TRY(page_reader_set_region(&reader, &set->how->region, err));
    reader.direct = true;
    return measure_page(&reader, set->how, out, err);
}

/* Opens page i, whose pixels are asked for once. */
static ImgstatResult open_reader(PageSet *set, uint32_t i, PageReader *reader, ImgstatError *err)
{
    IMGSTAT_TRY(select_page(set, i, err));
    IMGSTAT_TRY(
        page_reader_open(set->device, set->file->decoder, false, &set->memory, NULL, reader, err));
    reader->direct = true;
    return page_reader_set_region(reader, &set->how->region, err);
}

static ImgstatResult check_alike(const Decoder *decoder, const ImgstatPage *first,
                                 ImgstatError *err)
{
    const char *const file = decoder->source->name;
    const char *const unlike = "; pages that are measured as one have equal ones";
    const ImgstatPage *const page = &decoder->page;
    if (page->sample != first->sample)
        return error_file(err, IMGSTAT_ERR_ARG, file, "has %s samples, page %u %s%s",
                          imgstat_sample_name(page->sample), first->page,
                          imgstat_sample_name(first->sample), unlike);
    if (page->bits != first->bits)
        return error_file(err, IMGSTAT_ERR_ARG, file, "has %u significant bits, page %u %u%s",
                          page->bits, first->page, first->bits, unlike);
    if (page->channels != first->channels)
        return error_file(err, IMGSTAT_ERR_ARG, file, "has %u channels, page %u %u%s",
                          page->channels, first->page, first->channels, unlike);
    return IMGSTAT_OK;
}

/* The pages with the extrema of each channel. */
typedef struct ExtremaPages {
    uint32_t min, max;
} ExtremaPages;

/* Merges the record of a page that comes after all of *total, which it becomes where there is none.
 * Positions on different pages do not compare: an earlier page keeps an extremum. */
static void merge_page(Record **total, Record *record, uint32_t page, ExtremaPages *on)
{
    for (uint16_t c = 0; c < record->channels; c++) {
        Tally *const tally = &record->tally[c];
        const Tally *const before = *total ? &(*total)->tally[c] : NULL;
        const bool none = !before || before->n == 0;
        if (tally->n > 0 && (none || tally->min_key < before->min_key))
            on[c].min = page;
        else if (tally->n > 0)
            tally->min_at = UINT64_MAX;
        if (tally->n > 0 && (none || tally->max_key > before->max_key))
            on[c].max = page;
        else if (tally->n > 0)
            tally->max_at = UINT64_MAX;
    }
    if (!*total) {
        *total = record;
        return;
    }
    record_merge(*total, record);
    record_destroy(record);
}

/* The first read of all pages. */
static ImgstatResult measure_set(PageSet *set, unsigned parts, Record **total, uint8_t *bits,
                                 ExtremaPages *on, ImgstatError *err)
{
    ImgstatPage first = {.page = 0};
    *total = NULL;
    for (uint32_t i = 0; i < set->n; i++) {
        PageReader reader;
        Record *record = NULL;
        ImgstatResult res = open_reader(set, i, &reader, err);
        if (i == 0)
            first = set->file->decoder->page;
        if (res == IMGSTAT_OK)
            res = check_alike(set->file->decoder, &first, err);
        if (res == IMGSTAT_OK)
            res = page_measure(&reader, every_channel, parts, &record, err);
        if (res != IMGSTAT_OK) {
            record_destroy(*total);
            *total = NULL;
            return error_add_page(err, res, set->pages[i]);
        }
        merge_page(total, record, set->pages[i], on);
    }
    *bits = first.bits;
    return IMGSTAT_OK;
}

static ImgstatResult read_set(void *context, const ReadRequest *request, ImgstatError *err)
{
    PageSet *const set = context;
    for (uint32_t i = 0; i < set->n; i++) {
        PageReader reader;
        ImgstatResult res = open_reader(set, i, &reader, err);
        if (res == IMGSTAT_OK)
            res = page_read(&reader, every_channel, request, err);
        if (res == IMGSTAT_OK) /* the next page comes into the same memory */
            res = set->device->ops->wait(set->device, err);
        if (res != IMGSTAT_OK)
            return error_add_page(err, res, set->pages[i]);
    }
    return IMGSTAT_OK;
}

static ImgstatResult measure_several(PageSet *set, ImgstatRecord **out, ImgstatError *err)
{
    unsigned parts = result_parts(set->how);
    Record *record = NULL;
    uint8_t bits;
    IMGSTAT_TRY(select_page(set, 0, err));
    ExtremaPages *const on = calloc(set->file->decoder->page.channels, sizeof *on);
    if (!on)
        return error_memory(err, sizeof *on, "statistics");
    ImgstatResult res = measure_set(set, parts, &record, &bits, on, err);
    if (res == IMGSTAT_OK && deviation_needs_bins(record) && !(parts & RECORD_BINS)) {
        record_destroy(record);
        res = measure_set(set, parts | RECORD_BINS, &record, &bits, on, err);
    }
    const FurtherReads reads = {.read = read_set,
                                .context = set,
                                .threads = set->device->threads,
                                .cache = set->device->cache};
    if (res == IMGSTAT_OK)
        res = result_create(record, bits, set->how, reads, out, err);
    for (uint16_t c = 0; res == IMGSTAT_OK && c < (*out)->record->channels; c++) {
        (*out)->channel[c].stats.min_page = on[c].min;
        (*out)->channel[c].stats.max_page = on[c].max;
    }
    free(on);
    return res;
}

static ImgstatResult measure_selected(PageSet *set, ImgstatRecord **out, ImgstatError *err)
{
    Device *const device = set->device;
    ImgstatResult res = set->n == 1 ? measure_one(set, out, err) : measure_several(set, out, err);
    for (uint16_t c = 0; res == IMGSTAT_OK && set->n == 1 && c < (*out)->record->channels; c++)
        (*out)->channel[c].stats.min_page = (*out)->channel[c].stats.max_page = set->pages[0];
    band_memory_release(device, &set->memory);
    decoder_finish(set->file->decoder); /* the file may outlive the device */
    if (device->cache)
        buffer_cache_trim(device->cache, SCRATCH_BYTES);
    return res;
}

/* Selects the pages and measures them. Whether planes are read one by one depends on the threads;
 * the fault that is reported does not: damaged pages are read again with their planes together. */
static ImgstatResult measure_decoded(PageSet *set, ImgstatRecord **out, ImgstatError *err)
{
    /* Alpha masks the other channels: it is read with them. */
    set->options = (DecodeOptions){.threads = set->device->threads,
                                   .planes = !set->file->decoder->how.alpha_masks &&
                                             !set->file->decoder->how.salvage};
    IMGSTAT_TRY(select_page(set, 0, err));
    const bool planes = set->n > 1 || set->file->decoder->caps.planes > 0;
    const ImgstatResult res = measure_selected(set, out, err);
    if (!planes || (res != IMGSTAT_ERR_FORMAT && res != IMGSTAT_ERR_TRUNCATED))
        return res;
    set->options.planes = false;
    IMGSTAT_TRY(select_page(set, 0, err));
    return measure_selected(set, out, err);
}

/* Measures by a decoder of its own, which has the warnings of the file's meanwhile. */
static ImgstatResult measure_beside(PageSet *set, ImgstatRecord **out, ImgstatError *err)
{
    Decoder *const own = set->file->decoder;
    ImgstatFile beside = {.source = set->file->source};
    ImgstatOpen quiet = own->how;
    quiet.warn = NULL; /* opening has warned once */
    IMGSTAT_TRY(decoder_open(own->codec, own->source, &quiet, own->mode, &beside.decoder, err));
    beside.decoder->warnings = own->warnings;
    own->warnings = (Warnings){.name = own->warnings.name};
    set->file = &beside;
    const ImgstatResult res = measure_decoded(set, out, err);
    own->warnings = beside.decoder->warnings;
    beside.decoder->warnings = (Warnings){.name = own->warnings.name};
    decoder_close(beside.decoder);
    return res;
}

/* Measures by the file's decoder, of which no row was read. The page that was selected is selected
 * again: at once if it is another, else when its rows are asked for. */
static ImgstatResult measure_instead(PageSet *set, ImgstatRecord **out, ImgstatError *err)
{
    ImgstatFile *const file = set->file;
    const Decoder *const decoder = file->decoder;
    const bool selected = decoder->channel_names != NULL;
    const uint32_t before = selected ? decoder->page.page : set->pages[0];
    const ImgstatResult res = measure_decoded(set, out, err);
    file->measured = true;
    if (before != set->pages[set->n - 1]) /* a failure shows when the page is used */
        (void)(imgstat_file_page(file, before, NULL, NULL) == IMGSTAT_OK);
    return res;
}

ImgstatResult imgstat_measure_pages(ImgstatDevice *device, ImgstatFile *file, const uint32_t *pages,
                                    uint32_t n, const ImgstatMeasure *how, ImgstatRecord **out,
                                    ImgstatError *err)
{
    static const ImgstatMeasure nothing_more = {0};
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(device && file && pages && out, __func__, err));
    if (n == 0)
        return error_set(err, IMGSTAT_ERR_ARG, "no pages to measure");
    if (!how)
        how = &nothing_more;
    IMGSTAT_TRY(result_check(how, err));
    PageSet set = {.device = device, .file = file, .pages = pages, .n = n, .how = how};
    const Decoder *const decoder = file->decoder;
    const bool reading = decoder->channel_names && decoder->next_row > 0 && !file->measured;
    const ImgstatResult res =
        reading ? measure_beside(&set, out, err) : measure_instead(&set, out, err);
    return error_add_file(err, res, decoder->source->name);
}

ImgstatResult imgstat_measure_file(ImgstatDevice *device, ImgstatFile *file, uint32_t page,
                                   const ImgstatMeasure *how, ImgstatRecord **out,
                                   ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(device && file && out, __func__, err));
    return imgstat_measure_pages(device, file, &page, 1, how, out, err);
}
