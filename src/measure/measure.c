/* SPDX-License-Identifier: MIT */
/* measure.c: statistics of an image, of a page of a file, and of several pages as one. */
#include "measure/measure.h"

#include "measure/deviation.h"
#include "measure/extras.h"
#include "measure/mode.h"
#include "measure/result.h"
#include "record/kind.h"

enum {
    KEEP_BYTES = 64 << 20,   /* pages up to this, and to what a tile may take, stay in memory where
                              * they are read again */
    SCRATCH_BYTES = 48 << 20 /* what is kept between two pages */
};

/* No statistic combines the channels of a pixel. */
static const PixelView every_channel = {.channels = VIEW_EACH};

static ImgstatResult read_further(void *context, const ReadRequest *request, ImgstatError *err)
{
    return page_read(context, every_channel, request, err);
}

/* The first read of an image or a page. */
static ImgstatResult count_page(PageReader *reader, const ImgstatMeasure *how, Record **out,
                                ImgstatError *err)
{
    const unsigned parts = result_parts(how);
    IMGSTAT_TRY(page_measure(reader, every_channel, parts, out, err));
    reader->extras = NULL; /* they are complete */
    if (!deviation_needs_bins(*out) || (parts & RECORD_BINS))
        return IMGSTAT_OK;
    record_destroy(*out);
    return page_measure(reader, every_channel, parts | RECORD_BINS, out, err);
}

static FurtherReads reads_of(Device *device,
                             ImgstatResult (*read)(void *, const ReadRequest *, ImgstatError *),
                             void *context)
{
    return (FurtherReads){
        .read = read, .context = context, .threads = device->threads, .cache = device->cache};
}

ImgstatResult measure_finish_image(Device *device, const ImagePro *image, const ImgstatMeasure *how,
                                   Record *record, ImgstatRecord **out, ImgstatError *err)
{
    PageReader reader;
    page_reader_of_image(device, image, &reader);
    return result_of_image(record, image->bits, how, reads_of(device, read_further, &reader), out,
                           err);
}

ImgstatResult imgstat_measure_image(ImgstatDevice *device, const ImagePro *image,
                                    const ImgstatMeasure *how, ImgstatRecord **out,
                                    ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(device && image && out, __func__, err));
    IMGSTAT_TRY(image_check(image, err));
    how = how ? how : &result_least;
    IMGSTAT_TRY(result_check(how, err));
    PageReader reader;
    page_reader_of_image(device, image, &reader);
    IMGSTAT_TRY(page_reader_set_region(&reader, &how->region, err));
    Extras extras;
    IMGSTAT_TRY(extras_create(how, &extras, err));
    reader.extras = extras.wanted ? &extras : NULL;
    Record *record = NULL;
    ImgstatResult res = count_page(&reader, how, &record, err);
    if (res == IMGSTAT_OK)
        res = result_of_image(record, image->bits, how, reads_of(device, read_further, &reader),
                              out, err);
    if (res == IMGSTAT_OK)
        extras_keep(&extras, *out);
    extras_release(&extras);
    return res;
}

/* ---- Pages of a file ---- */

/* Pages that are measured as one. */
typedef struct PageSet {
    Device *device;
    ImgstatFile *file;
    const uint32_t *pages; /* n of them */
    uint32_t n;
    const ImgstatMeasure *how;
    SharedText *name; /* of the file */
    DecodeOptions options;
    BandMemory memory;
    Record *counted; /* NULL, or what the first read of the page finds */
    Extras extras;
} PageSet;

static ImgstatResult select_page(PageSet *set, uint32_t i, ImgstatError *err)
{
    return file_select(set->file, set->pages[i], &set->options, err);
}

ImgstatKind page_kind(const Decoder *decoder, const ImgstatRegion *region)
{
    const ImgstatPage *const page = &decoder->page;
    ImgstatKind kind = {.sample = page->sample,
                        .bits = page->bits,
                        .channels = page->channels,
                        .alpha = page->alpha,
                        .photometric = page->photometric,
                        .names = decoder->channel_names,
                        .ignore_masks = decoder->how.ignore_masks,
                        .alpha_masks = decoder->how.alpha_masks,
                        .mask = decoder->how.mask != NULL,
                        .indices =
                            decoder->how.indices && strcmp(page->photometric, "palette") == 0,
                        .region = *region};
    kind_set_nodata(&kind, decoder->how.has_nodata, decoder->how.nodata);
    return kind;
}

/* Makes the record of the page that is selected, without statistics. */
static ImgstatResult page_record(PageSet *set, Record *record, ImgstatRecord **out,
                                 ImgstatError *err)
{
    const Decoder *const decoder = set->file->decoder;
    const ImgstatPage *const page = &decoder->page;
    const ImgstatKind kind = page_kind(decoder, &set->how->region);
    return image_record_create(&kind, record, (ImagePlace){set->name, page->page, page->width}, out,
                               err);
}

/* Returns how many keys are sorted at a time: with copies, 1 MiB or what a tile may take. */
static size_t room_for_keys(const Decoder *decoder)
{
    enum { LEAST_KEYS = 65536 };
    const uint64_t keys = decoder->how.limits.max_tile_bytes / (2 * sizeof(uint64_t));
    return keys == 0 || keys > MODE_KEYS ? MODE_KEYS : keys > LEAST_KEYS ? keys : LEAST_KEYS;
}

/* Computes the statistics of a record of pages. Destroys the record after a failure. */
static ImgstatResult compute(PageSet *set, ImgstatRecord *record, FurtherReads reads,
                             ImgstatRecord **out, ImgstatError *err)
{
    reads.room = room_for_keys(set->file->decoder);
    const ImgstatResult res =
        set->how->mergeable ? IMGSTAT_OK : result_compute(record, set->how, &reads, err);
    extras_keep(&set->extras, record);
    image_record_count_file(record, shared_text_of(set->name));
    if (res == IMGSTAT_OK)
        *out = record;
    else
        imgstat_record_destroy(record);
    return res;
}

/* An error names the page. */
static ImgstatResult set_region(const PageSet *set, PageReader *reader, ImgstatError *err)
{
    const Decoder *const decoder = set->file->decoder;
    const ImgstatResult res = error_add_file(
        err, page_reader_set_region(reader, &set->how->region, err), decoder->source->name);
    return decoder->list.n > 1 ? decoder_add_page(decoder, decoder->page.page, res, err) : res;
}

/* Measures the page selected, which may stay in memory. */
static ImgstatResult measure_one(PageSet *set, ImgstatRecord **out, ImgstatError *err)
{
    Decoder *const decoder = set->file->decoder;
    const ImgstatSample sample = decoder->page.sample;
    ImgstatRecord *made = NULL;
    if (set->counted) {
        const FurtherReads none = {.threads = set->device->threads, .cache = set->device->cache};
        Record *const counted = set->counted;
        set->counted = NULL;
        IMGSTAT_TRY(page_record(set, counted, &made, err));
        return compute(set, made, none, out, err);
    }
    /* Reading such a page twice takes less than keeping it. */
    const bool fetch =
        result_ranks_only(set->how, sample) && page_reader_direct_rows(set->device, decoder);
    const bool keep = result_reads_again(set->how, sample) && set->how->region.width == 0 &&
                      page_reader_whole_bytes(decoder) <= KEEP_BYTES &&
                      (decoder->how.limits.max_tile_bytes == 0 ||
                       page_reader_whole_bytes(decoder) <= decoder->how.limits.max_tile_bytes) &&
                      !fetch;
    PageReader reader;
    IMGSTAT_TRY(page_reader_open(set->device, decoder, keep, &set->memory, &reader, err));
    IMGSTAT_TRY(set_region(set, &reader, err));
    reader.direct = reader.tiles_there = true;
    reader.extras = set->extras.wanted ? &set->extras : NULL;
    Record *record = NULL;
    IMGSTAT_TRY(count_page(&reader, set->how, &record, err));
    IMGSTAT_TRY(page_record(set, record, &made, err));
    return compute(set, made, reads_of(set->device, read_further, &reader), out, err);
}

/* Opens page i for one read. */
static ImgstatResult open_reader(PageSet *set, uint32_t i, PageReader *reader, ImgstatError *err)
{
    IMGSTAT_TRY(select_page(set, i, err));
    IMGSTAT_TRY(
        page_reader_open(set->device, set->file->decoder, false, &set->memory, reader, err));
    reader->direct = reader->tiles_there = true;
    return set_region(set, reader, err);
}

/* Reads page i for a request. */
static ImgstatResult read_page(PageSet *set, uint32_t i, const ReadRequest *request,
                               ImgstatError *err)
{
    PageReader reader;
    IMGSTAT_TRY(open_reader(set, i, &reader, err));
    IMGSTAT_TRY(page_read(&reader, every_channel, request, err));
    return device_wait(set->device, err); /* the next page comes into the same memory */
}

static ImgstatResult check_alike(const Decoder *decoder, const ImgstatPage *first,
                                 ImgstatError *err)
{
    const char *const file = decoder->source->name;
    const char *const unlike = "; pages that are measured as one have equal ones";
    const ImgstatPage *const page = &decoder->page;
    char text[PAGE_NAME_BYTES];
    const char *const name = decoder_page_name(decoder, first->page, text);
    if (page->sample != first->sample)
        return error_file(err, IMGSTAT_ERR_ARG, file, "has %s samples, page %s %s%s",
                          imgstat_sample_name(page->sample), name,
                          imgstat_sample_name(first->sample), unlike);
    if (page->bits != first->bits)
        return error_file(err, IMGSTAT_ERR_ARG, file, "has %u significant bits, page %s %u%s",
                          page->bits, name, first->bits, unlike);
    if (page->channels != first->channels)
        return error_file(err, IMGSTAT_ERR_ARG, file, "has %u channels, page %s %u%s",
                          page->channels, name, first->channels, unlike);
    return IMGSTAT_OK;
}

/* Measures page i and adds it to *total. The first page's record becomes *total. */
static ImgstatResult add_page(PageSet *set, uint32_t i, unsigned parts, ImgstatPage *first,
                              ImgstatRecord **total, ImgstatError *err)
{
    PageReader reader;
    Record *record = NULL;
    ImgstatRecord *page = NULL;
    IMGSTAT_TRY(open_reader(set, i, &reader, err));
    if (i == 0)
        *first = set->file->decoder->page;
    IMGSTAT_TRY(check_alike(set->file->decoder, first, err));
    reader.extras = set->extras.wanted ? &set->extras : NULL;
    IMGSTAT_TRY(page_measure(&reader, every_channel, parts, &record, err));
    IMGSTAT_TRY(page_record(set, record, &page, err));
    if (!*total) {
        *total = page;
        return IMGSTAT_OK;
    }
    const ImgstatResult res = image_record_check(*total, page, err);
    if (res == IMGSTAT_OK)
        image_record_add(*total, page);
    imgstat_record_destroy(page);
    return res;
}

/* The first read of all pages. */
static ImgstatResult count_set(PageSet *set, unsigned parts, ImgstatRecord **total,
                               ImgstatError *err)
{
    ImgstatPage first = {.page = 0};
    *total = NULL;
    extras_reset(&set->extras);
    for (uint32_t i = 0; i < set->n; i++) {
        const ImgstatResult res = add_page(set, i, parts, &first, total, err);
        if (res != IMGSTAT_OK) {
            imgstat_record_destroy(*total);
            *total = NULL;
            return decoder_add_page(set->file->decoder, set->pages[i], res, err);
        }
    }
    return IMGSTAT_OK;
}

/* Returns whether planes are read one by one. An alpha channel that masks others is read with them.
 */
static bool reads_planes(const Decoder *decoder)
{
    return !decoder->how.alpha_masks && !decoder->how.salvage;
}

ImgstatResult page_read_again(Device *device, ImgstatFile *file, uint32_t page,
                              const ImgstatRegion *region, const ReadRequest *request,
                              BandMemory *memory, ImgstatError *err)
{
    const ImgstatMeasure how = {.region = *region};
    PageSet set = {.device = device,
                   .file = file,
                   .pages = &page,
                   .n = 1,
                   .how = &how,
                   .options = {.threads = device->threads, .planes = reads_planes(file->decoder)},
                   .memory = *memory};
    const ImgstatResult res = read_page(&set, 0, request, err);
    *memory = set.memory;
    decoder_finish(file->decoder);
    return res;
}

static ImgstatResult read_set(void *context, const ReadRequest *request, ImgstatError *err)
{
    PageSet *const set = context;
    for (uint32_t i = 0; i < set->n; i++) {
        const ImgstatResult res = read_page(set, i, request, err);
        if (res != IMGSTAT_OK)
            return decoder_add_page(set->file->decoder, set->pages[i], res, err);
    }
    return IMGSTAT_OK;
}

static ImgstatResult measure_several(PageSet *set, ImgstatRecord **out, ImgstatError *err)
{
    const unsigned parts = result_parts(set->how);
    ImgstatRecord *record = NULL;
    IMGSTAT_TRY(count_set(set, parts, &record, err));
    if (deviation_needs_bins(record->record) && !(parts & RECORD_BINS)) {
        imgstat_record_destroy(record);
        IMGSTAT_TRY(count_set(set, parts | RECORD_BINS, &record, err));
    }
    return compute(set, record, reads_of(set->device, read_set, set), out, err);
}

static ImgstatResult measure_selected(PageSet *set, ImgstatRecord **out, ImgstatError *err)
{
    Device *const device = set->device;
    *out = NULL;
    ImgstatResult res = set->n == 1 ? measure_one(set, out, err) : measure_several(set, out, err);
    res = decoder_settle(set->file->decoder, res, err);
    if (res != IMGSTAT_OK) {
        imgstat_record_destroy(*out);
        *out = NULL;
    }
    band_memory_release(device, &set->memory);
    decoder_finish(set->file->decoder); /* the file may outlive the device */
    if (device->cache)
        buffer_cache_trim(device->cache, SCRATCH_BYTES);
    return res;
}

/* Selects the pages and measures them. The number of threads decides whether planes are read one by
 * one, but not which fault is reported: damaged pages are read again with all planes together. */
static ImgstatResult measure_decoded(PageSet *set, ImgstatRecord **out, ImgstatError *err)
{
    set->options =
        (DecodeOptions){.threads = set->device->threads,
                        .planes = !set->extras.wanted && reads_planes(set->file->decoder)};
    IMGSTAT_TRY(select_page(set, 0, err));
    const bool planes = set->n > 1 || set->file->decoder->caps.planes > 0;
    const ImgstatResult res = measure_selected(set, out, err);
    if (!planes || (res != IMGSTAT_ERR_FORMAT && res != IMGSTAT_ERR_TRUNCATED))
        return res;
    set->options.planes = false;
    IMGSTAT_TRY(select_page(set, 0, err));
    return measure_selected(set, out, err);
}

/* Measures by a second decoder, which has the warnings of the file's decoder meanwhile. */
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

/* Measures by the file's decoder, whose rows were not read. Then selects the page again that was
 * selected before: at once if it is another, else when its rows are read. */
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

/* Measures the pages of a set, whose request has been checked. */
static ImgstatResult measure_set(PageSet *set, ImgstatRecord **out, ImgstatError *err)
{
    const Decoder *const decoder = set->file->decoder;
    const char *const name = decoder->source->name;
    set->name = shared_text_create(name, strlen(name));
    if (!set->name)
        return error_memory(err, strlen(name), "the name of a file");
    const bool reading = decoder->channel_names && decoder->next_row > 0 && !set->file->measured;
    ImgstatResult res = extras_create(set->how, &set->extras, err);
    if (res == IMGSTAT_OK)
        res = reading ? measure_beside(set, out, err) : measure_instead(set, out, err);
    extras_release(&set->extras);
    shared_text_release(set->name);
    return error_add_file(err, res, name);
}

ImgstatResult measure_pages(Device *device, ImgstatFile *file, const uint32_t *pages, uint32_t n,
                            const ImgstatMeasure *how, Record *counted, ImgstatRecord **out,
                            ImgstatError *err)
{
    PageSet set = {.device = device,
                   .file = file,
                   .pages = pages,
                   .n = n,
                   .how = how ? how : &result_least,
                   .counted = counted};
    ImgstatResult res = result_check(set.how, err);
    if (res == IMGSTAT_OK)
        res = measure_set(&set, out, err);
    record_destroy(set.counted);
    return res;
}

unsigned measure_parts(const ImgstatMeasure *how)
{
    return result_parts(how ? how : &result_least);
}

ImgstatResult imgstat_measure_pages(ImgstatDevice *device, ImgstatFile *file, const uint32_t *pages,
                                    uint32_t n, const ImgstatMeasure *how, ImgstatRecord **out,
                                    ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(device && file && pages && out, __func__, err));
    if (n == 0)
        return error_set(err, IMGSTAT_ERR_ARG, "no pages to measure");
    return measure_pages(device, file, pages, n, how, NULL, out, err);
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
