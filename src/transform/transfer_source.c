/* SPDX-License-Identifier: MIT */
/* transfer_source.c: measures images for a transfer: by channel, jointly, or their luma. */
#include "transform/transfer_source.h"

#include "measure/page_reads.h"
#include "measure/percentile.h"
#include "measure/quantiles.h"
#include "record/kind.h"
#include "record/statistics.h"

#include <stdlib.h>

static bool is_rgb(uint16_t channels, const char *photometric, const char *const *names)
{
    return channels >= 3 && strcmp(photometric, "gray") != 0 && strcmp(names[0], "red") == 0 &&
           strcmp(names[1], "green") == 0 && strcmp(names[2], "blue") == 0;
}

TransferShape shape_of_page(const Decoder *decoder)
{
    const ImgstatPage *const page = &decoder->page;
    TransferShape shape = {.sample = page->sample,
                           .bits = page->bits,
                           .channels = page->channels,
                           .alpha = page->alpha,
                           .rgb =
                               is_rgb(page->channels, page->photometric, decoder->channel_names)};
    shape.has_nodata =
        page->has_nodata && sample_key_of(page->sample, page->nodata, &shape.nodata_key);
    return shape;
}

/* Colours in memory have no names. */
static bool is_rgb_in_memory(uint16_t channels, int16_t alpha)
{
    const int colours = channels - (alpha >= 0);
    return colours == 3 && (alpha < 0 || alpha == 3);
}

TransferShape shape_of_kind(const ImgstatKind *kind)
{
    TransferShape shape = {.sample = kind->sample,
                           .bits = kind->bits,
                           .channels = kind->channels,
                           .alpha = kind->alpha,
                           .rgb = kind_is_bare(kind)
                                      ? is_rgb_in_memory(kind->channels, kind->alpha)
                                      : is_rgb(kind->channels, kind->photometric, kind->names)};
    shape.has_nodata =
        kind->has_nodata && sample_key_of(kind->sample, kind->nodata, &shape.nodata_key);
    return shape;
}

PageToMeasure page_to_measure(const Decoder *decoder)
{
    return (PageToMeasure){.width = decoder->page.width,
                           .height = decoder->page.height,
                           .shape = shape_of_page(decoder),
                           .band_bytes = page_reader_band_bytes(decoder),
                           .held_bytes = decoder->caps.held_bytes};
}

TransferShape shape_of_image(const ImagePro *image, int16_t alpha)
{
    return (TransferShape){.sample = image->sample,
                           .bits = image->bits,
                           .channels = image->channels,
                           .alpha = alpha,
                           .rgb = is_rgb_in_memory(image->channels, alpha),
                           .has_nodata = image->has_nodata,
                           .nodata_key = image->nodata_key};
}

TransferShape shape_of_input(const ImgstatMethod *method, const ImagePro *image, int16_t alpha)
{
    TransferShape shape = shape_of_image(image, alpha);
    uint8_t bits;
    shape_set_hole_in_memory(&shape, transfer_output(method, &shape, &bits));
    return shape;
}

/* ---- First read ------------------------------------------------------------------------------ */

static unsigned parts_of(const ImgstatMethod *method, ImgstatSample sample)
{
    if (method->transform == IMGSTAT_STRETCH)
        return RECORD_EXTREMA;
    return transfer_input_reads_again(method, sample) ? RECORD_BINS : 0;
}

bool transfer_input_reads_again(const ImgstatMethod *method, ImgstatSample sample)
{
    return !sample_is_narrow(sample) &&
           (method->transform == IMGSTAT_PERCENTILE || method->transform == IMGSTAT_EQUALIZE ||
            method->transform == IMGSTAT_MATCH);
}

ImgstatResult transfer_input_measure(const TransferInput *input, PageReader *reader,
                                     const TransferShape *shape, Record **out, ImgstatError *err)
{
    const bool luma = input->channels == IMGSTAT_LUMA;
    const PixelView view = {.channels = luma ? VIEW_LUMA : VIEW_EACH};
    const uint16_t channels = luma ? 1 : shape->channels;
    const unsigned parts = parts_of(input->method, shape->sample);
    BufferCache *const cache = reader->device->cache;
    Record *record = NULL;
    *out = NULL;
    if (!transfer_measures(input->method))
        IMGSTAT_TRY(record_create(cache, shape->sample, channels, parts, &record, err));
    else {
        IMGSTAT_TRY(page_reader_set_region(reader, &input->method->region, err));
        const ImgstatResult measured = page_measure(reader, view, parts, &record, err);
        reader->region = (ImgstatRegion){0}; /* all is mapped */
        IMGSTAT_TRY(measured);
    }
    if (input->n_sources > 1 || channels == 1) {
        *out = record;
        return IMGSTAT_OK;
    }
    const ImgstatResult res = record_joint(cache, record, shape->alpha, out, err);
    record_destroy(record);
    return res;
}

void transfer_input_merge(TransferInput *input, Record **record)
{
    if (!input->record) {
        input->record = *record;
    } else {
        record_merge(input->record, *record);
        record_destroy(*record);
    }
    *record = NULL;
}

/* ---- Further reads --------------------------------------------------------------------------- */

ImgstatResult transfer_input_read(const TransferInput *input, PageReader *reader,
                                  const TransferShape *shape, const ReadRequest *request,
                                  ImgstatError *err)
{
    enum { COUNTER_BYTES = 4 << 20 }; /* of a thread */
    PixelView view = {.channels = VIEW_EACH};
    if (input->channels == IMGSTAT_LUMA)
        view.channels = VIEW_LUMA;
    else if (input->n_sources == 1 && shape->channels > 1)
        view = (PixelView){.channels = VIEW_JOINT, .alpha = shape->alpha};
    ReadRequest bounded = *request;
    bounded.counter_bytes = (size_t)COUNTER_BYTES * reader->device->threads;
    IMGSTAT_TRY(page_reader_set_region(reader, &input->method->region, err));
    const ImgstatResult res = page_read(reader, view, &bounded, err);
    reader->region = (ImgstatRegion){0};
    return res;
}

/* Channel of the record, and of the pixels that are read again, of source m. */
static uint16_t source_channel(const TransferInput *input, uint16_t m)
{
    const bool after_alpha =
        input->n_sources > 1 && input->shape.alpha >= 0 && m >= input->shape.alpha;
    return (uint16_t)(m + after_alpha);
}

/* Black and white of every source, in as few reads as one of them needs. */
static ImgstatResult find_clips(TransferInput *input, FurtherReads reads, ImgstatError *err)
{
    OrderStat *const stat = calloc(2 * (size_t)input->n_sources, sizeof *stat);
    if (!stat)
        return error_memory(err, 2 * input->n_sources * sizeof *stat, "order statistics");
    size_t n = 0;
    for (uint16_t m = 0; m < input->n_sources; m++) {
        MapSource *const source = &input->sources[m];
        uint64_t black, white;
        if (source->n == 0)
            continue;
        transfer_clip_ranks(input->method, source->n, &black, &white);
        stat[n++] = (OrderStat){.channel = source_channel(input, m), .rank = black};
        stat[n++] = (OrderStat){.channel = source_channel(input, m), .rank = white};
    }
    PercentileSearch search = {0};
    ImgstatResult res =
        n ? percentile_search_start(reads.cache, &search, input->record, stat, n, err) : IMGSTAT_OK;
    for (bool more = n > 0; res == IMGSTAT_OK && more;) {
        ReadRequest request = {0};
        res = percentile_search_prepare(&search, &request, &more, err);
        if (res != IMGSTAT_OK || !more)
            break;
        res = reads.read(reads.context, &request, err);
        if (res == IMGSTAT_OK)
            res = percentile_search_advance(&search, err);
    }
    n = 0;
    for (uint16_t m = 0; res == IMGSTAT_OK && m < input->n_sources; m++) {
        MapSource *const source = &input->sources[m];
        if (source->n == 0)
            continue;
        source->black = stat[n++].key;
        source->white = stat[n++].key;
    }
    percentile_search_release(&search);
    free(stat);
    return res;
}

static ImgstatResult find_ranks(TransferInput *input, uint16_t m, FurtherReads reads,
                                ImgstatError *err)
{
    MapSource *const source = &input->sources[m];
    const uint16_t channel = source_channel(input, m);
    const ImgstatSample sample = input->shape.sample;
    if (source->n == 0)
        return IMGSTAT_OK;
    RankBuilder builder;
    IMGSTAT_TRY(rank_builder_init(reads.cache, &builder, source->n, err));
    ImgstatResult res =
        quantiles_build(sample, channel, input->record->bins + channel * sample_record_bins(sample),
                        input->memory / (2 * sizeof(uint64_t)), reads, &builder, err);
    if (res == IMGSTAT_OK && !(input->ranks[m] = rank_builder_finish(&builder, err)))
        res = IMGSTAT_ERR_MEMORY;
    rank_builder_release(&builder);
    source->ranks = input->ranks[m];
    return res;
}

static void set_moments(TransferInput *input, uint16_t m)
{
    ImgstatStats stats;
    char sum[48];
    statistics_fill(input->record, source_channel(input, m), 0, false, NULL, &stats, sum);
    MapSource *const source = &input->sources[m];
    source->mean = stats.mean;
    source->stddev = stats.stddev;
    if (source->n > 0 && sample_exceeds_double(input->record->sample))
        source->mean = statistics_origin(input->record, source_channel(input, m), &source->origin);
}

ImgstatResult transfer_input_finish(TransferInput *input, FurtherReads reads, ImgstatError *err)
{
    const ImgstatSample sample = input->shape.sample;
    const bool narrow = sample_is_narrow(sample);
    const size_t n = input->n_sources, bins = narrow ? sample_record_bins(sample) : 0;
    input->sources = calloc(n, sizeof *input->sources);
    input->cdf = buffer_cache_acquire(reads.cache, n * bins * sizeof *input->cdf);
    input->ranks = calloc(n, sizeof *input->ranks);
    if (!input->sources || !input->cdf || !input->ranks)
        return error_memory(err, n * bins * sizeof *input->cdf, "a transfer");
    for (uint16_t m = 0; m < input->n_sources; m++) {
        const Tally *const tally = &input->record->tally[source_channel(input, m)];
        input->sources[m] =
            narrow
                ? map_source_counts(input->record, source_channel(input, m), input->cdf + m * bins)
                : (MapSource){.n = tally->n, .min_key = tally->min_key, .max_key = tally->max_key};
        if (input->method->transform == IMGSTAT_MEANSTD)
            set_moments(input, m);
    }
    if (!transfer_input_reads_again(input->method, sample))
        return IMGSTAT_OK;
    if (input->method->transform == IMGSTAT_PERCENTILE)
        return find_clips(input, reads, err);
    for (uint16_t m = 0; m < input->n_sources; m++)
        IMGSTAT_TRY(find_ranks(input, m, reads, err));
    return IMGSTAT_OK;
}

/* ---- Making ---------------------------------------------------------------------------------- */

ImgstatResult transfer_input_create(const ImgstatMethod *method, const TransferShape *shape,
                                    size_t memory, TransferInput **out, ImgstatError *err)
{
    enum { LEAST = 1 << 20 };
    *out = NULL;
    IMGSTAT_TRY(transfer_check(method, shape, err));
    const ImgstatChannels mode = transfer_channels(method, shape);
    IMGSTAT_TRY(record_check_bytes(shape->sample, mode == IMGSTAT_LUMA ? 1 : shape->channels,
                                   parts_of(method, shape->sample), err));
    TransferInput *const input = calloc(1, sizeof *input);
    if (!input)
        return error_memory(err, sizeof *input, "statistics");
    input->method = method;
    input->shape = *shape;
    input->channels = mode;
    input->n_sources = transfer_maps(method, shape);
    input->memory = memory > LEAST ? memory : LEAST;
    *out = input;
    return IMGSTAT_OK;
}

void transfer_input_destroy(TransferInput *input)
{
    if (!input)
        return;
    for (uint16_t m = 0; input->ranks && m < input->n_sources; m++)
        rank_table_destroy(input->ranks[m]);
    free(input->ranks);
    buffer_cache_release(input->cdf);
    free(input->sources);
    record_destroy(input->record);
    free(input);
}

static ImgstatResult misfit(const char *name, const char *what, ImgstatError *err)
{
    return error_file(err, IMGSTAT_ERR_ARG, name,
                      "has other %s than the first image; together they must be equal", what);
}

ImgstatResult transfer_shapes_check(const ImgstatMethod *method, const TransferShape *first,
                                    const TransferShape *shape, const char *name, ImgstatError *err)
{
    if (shape->sample != first->sample)
        return error_file(err, IMGSTAT_ERR_ARG, name,
                          "has %s samples, the first image %s; together they must be equal",
                          imgstat_sample_name(shape->sample), imgstat_sample_name(first->sample));
    if (shape->bits != first->bits)
        return misfit(name, "significant bits", err);
    if (shape->has_nodata != first->has_nodata ||
        (shape->has_nodata && shape->nodata_key != first->nodata_key))
        return misfit(name, "nodata values", err);
    const ImgstatChannels channels = transfer_channels(method, shape),
                          expected = transfer_channels(method, first);
    const uint16_t maps = transfer_maps(method, first);
    if ((channels == IMGSTAT_LUMA) != (expected == IMGSTAT_LUMA) ||
        transfer_maps(method, shape) != maps ||
        (maps > 1 && (shape->channels != first->channels || shape->alpha != first->alpha)))
        return misfit(name, "channels", err);
    return IMGSTAT_OK;
}

typedef struct OneImage {
    const TransferInput *input;
    PageReader *reader;
    const TransferShape *shape;
} OneImage;

static ImgstatResult read_one(void *context, const ReadRequest *request, ImgstatError *err)
{
    const OneImage *const one = context;
    return transfer_input_read(one->input, one->reader, one->shape, request, err);
}

ImgstatResult transfer_input_image(const ImgstatMethod *method, PageReader *reader,
                                   const TransferShape *shape, size_t memory, TransferInput **out,
                                   ImgstatError *err)
{
    *out = NULL;
    TransferInput *input = NULL;
    Record *record = NULL;
    IMGSTAT_TRY(transfer_input_create(method, shape, memory, &input, err));
    ImgstatResult res = transfer_input_measure(input, reader, shape, &record, err);
    if (res == IMGSTAT_OK)
        transfer_input_merge(input, &record);
    OneImage one = {.input = input, .reader = reader, .shape = shape};
    const FurtherReads reads = {.read = read_one,
                                .context = &one,
                                .threads = reader->device->threads,
                                .cache = reader->device->cache,
                                .sorter = reader->device};
    if (res == IMGSTAT_OK)
        res = transfer_input_finish(input, reads, err);
    if (res != IMGSTAT_OK) {
        transfer_input_destroy(input);
        input = NULL;
    }
    *out = input;
    return res;
}
