/* SPDX-License-Identifier: MIT */
/* transfer_source.c: measures images for a transfer: by channel, jointly, or their luma. */
#include "transform/transfer_source.h"

#include "cpu/map_rows.h"
#include "measure/percentile.h"
#include "measure/quantiles.h"
#include "record/statistics.h"

#include <stdlib.h>

TransferShape shape_of_page(const Decoder *decoder)
{
    const ImgstatPage *const page = &decoder->page;
    const char *const *const names = decoder->channel_names;
    TransferShape shape = {.sample = page->sample,
                           .bits = page->bits,
                           .channels = page->channels,
                           .alpha = page->alpha,
                           .rgb = page->channels >= 3 && strcmp(names[0], "red") == 0 &&
                                  strcmp(names[1], "green") == 0 && strcmp(names[2], "blue") == 0};
    shape.has_nodata =
        page->has_nodata && sample_key_of(page->sample, page->nodata, &shape.nodata_key);
    return shape;
}

PageToMeasure page_to_measure(const Decoder *decoder)
{
    return (PageToMeasure){.width = decoder->page.width,
                           .height = decoder->page.height,
                           .shape = shape_of_page(decoder),
                           .band_bytes =
                               2 * (uint64_t)bands_least(decoder) + decoder->caps.held_bytes};
}

TransferShape shape_of_image(const ImagePro *image, int16_t alpha)
{
    const int colours = image->channels - (alpha >= 0);
    return (TransferShape){.sample = image->sample,
                           .bits = image->bits,
                           .channels = image->channels,
                           .alpha = alpha,
                           .rgb = colours == 3 && (alpha < 0 || alpha == 3),
                           .has_nodata = image->has_nodata,
                           .nodata_key = image->nodata_key};
}

/* ---- First read ------------------------------------------------------------------------------ */

typedef struct Measuring {
    const TransferInput *survey;
    Device *device;
    DeviceRecord record;
} Measuring;

static ImgstatResult measure_band(void *context, const ImagePro *band, ImgstatError *err)
{
    Measuring *const m = context;
    const DeviceOps *const ops = m->device->ops;
    if (m->survey->channels != IMGSTAT_LUMA)
        return ops->measure(m->device, band, &m->record, 1, err);
    return ops->measure_luma(m->device, band, &m->record, err);
}

static unsigned parts_of(const ImgstatMethod *method, ImgstatSample sample)
{
    return transfer_input_reads_again(method, sample) ? RECORD_BINS : 0;
}

bool transfer_input_reads_again(const ImgstatMethod *method, ImgstatSample sample)
{
    return !sample_is_narrow(sample) &&
           (method->transform == IMGSTAT_PERCENTILE || method->transform == IMGSTAT_EQUALIZE ||
            method->transform == IMGSTAT_MATCH);
}

ImgstatResult transfer_input_measure(const TransferInput *survey, Bands *bands,
                                     const TransferShape *shape, Record **out, ImgstatError *err)
{
    *out = NULL;
    Device *const device = bands->device;
    const bool luma = survey->channels == IMGSTAT_LUMA;
    const uint16_t channels = luma ? 1 : shape->channels;
    const unsigned parts = parts_of(survey->method, shape->sample);
    const size_t bytes = record_bytes(shape->sample, channels, parts);
    Measuring m = {.survey = survey,
                   .device = device,
                   .record = {.sample = shape->sample, .channels = channels, .parts = parts}};
    Record *record = NULL, *joint = NULL;
    ImgstatResult res =
        record_create(device->scratch, shape->sample, channels, parts, &record, err);
    if (res == IMGSTAT_OK)
        res = device->ops->alloc(device, bytes, &m.record.mem, err);
    if (res == IMGSTAT_OK && survey->method->transform != IMGSTAT_GAMMA) /* needs no statistics */
        res = bands_each(bands, measure_band, &m, err);
    if (res == IMGSTAT_OK)
        res = device->ops->download(device, record->tally, m.record.mem, 0, bytes, err);
    else if (m.record.mem.bytes) /* the device may still be reading a band */
        (void)(device->ops->wait(device, NULL) == IMGSTAT_OK);
    device->ops->release(device, &m.record.mem);
    if (res == IMGSTAT_OK) {
        record_finalize(record, shape->has_nodata && !luma, shape->nodata_key);
        if (survey->n_sources == 1 && channels > 1)
            res = record_joint(device->scratch, record, shape->alpha, &joint, err);
    }
    if (joint || res != IMGSTAT_OK) {
        record_destroy(record);
        record = joint;
    }
    *out = record;
    return res;
}

void transfer_input_merge(TransferInput *survey, Record **record)
{
    if (!survey->record) {
        survey->record = *record;
    } else {
        record_merge(survey->record, *record);
        record_destroy(*record);
    }
    *record = NULL;
}

/* ---- Further reads --------------------------------------------------------------------------- */

typedef struct Passing {
    const TransferInput *survey;
    Device *device;
    const TransferShape *shape;
    const ReadRequest *pass;
} Passing;

/* Of whose channels one is made. */
static ImgstatResult pass_piece(void *context, const ImagePro *piece, ImgstatError *err)
{
    const Passing *const p = context;
    ImagePro view;
    if (p->survey->channels == IMGSTAT_LUMA)
        IMGSTAT_TRY(luma_plane(p->device->scratch, piece, &view, err));
    else
        IMGSTAT_TRY(
            transfer_input_flat_view(p->device->scratch, piece, p->shape->alpha, &view, err));
    const ImgstatResult res = p->device->ops->read(p->device, &view, p->pass, err);
    if (view.release)
        imgstat_image_release(&view);
    return res;
}

static ImgstatResult pass_band(void *context, const ImagePro *band, ImgstatError *err)
{
    const Passing *const p = context;
    if (p->survey->n_sources == 1 && band->channels > 1)
        return image_pieces(band, pass_piece, context, err);
    return p->device->ops->read(p->device, band, p->pass, err);
}

ImgstatResult transfer_input_pass(const TransferInput *survey, Bands *bands,
                                  const TransferShape *shape, const ReadRequest *pass,
                                  ImgstatError *err)
{
    Passing passing = {.survey = survey, .device = bands->device, .shape = shape, .pass = pass};
    return bands_each(bands, pass_band, &passing, err);
}

/* Channel of the record, and of the pixels that are read again, of source m. */
static uint16_t source_channel(const TransferInput *survey, uint16_t m)
{
    const bool after_alpha =
        survey->n_sources > 1 && survey->shape.alpha >= 0 && m >= survey->shape.alpha;
    return (uint16_t)(m + after_alpha);
}

/* Black and white of every source, in as few reads as one of them needs. */
static ImgstatResult find_clips(TransferInput *survey, FurtherReads reader, ImgstatError *err)
{
    OrderStat *const stat = calloc(2 * (size_t)survey->n_sources, sizeof *stat);
    if (!stat)
        return error_memory(err, 2 * survey->n_sources * sizeof *stat, "order statistics");
    size_t n = 0;
    for (uint16_t m = 0; m < survey->n_sources; m++) {
        MapSource *const source = &survey->sources[m];
        uint64_t black, white;
        if (source->n == 0)
            continue;
        transfer_clip_ranks(survey->method, source->n, &black, &white);
        if (black >= source->n) /* nothing is left: no contrast */
            black = source->n - 1;
        stat[n++] = (OrderStat){.channel = source_channel(survey, m), .rank = black};
        stat[n++] = (OrderStat){.channel = source_channel(survey, m), .rank = white};
    }
    Select select = {0};
    ImgstatResult res =
        n ? select_start(reader.cache, &select, survey->record, stat, n, err) : IMGSTAT_OK;
    while (n && res == IMGSTAT_OK) {
        res = select_prepare(&select, err);
        if (res != IMGSTAT_OK || select.n_counts == 0)
            break;
        const ReadRequest pass = {.digits = select.counts, .n_digits = select.n_counts};
        res = reader.read(reader.context, &pass, err);
        if (res == IMGSTAT_OK)
            res = select_advance(&select, err);
    }
    n = 0;
    for (uint16_t m = 0; res == IMGSTAT_OK && m < survey->n_sources; m++) {
        MapSource *const source = &survey->sources[m];
        if (source->n == 0)
            continue;
        source->black = stat[n++].key;
        source->white = stat[n++].key;
    }
    select_release(&select);
    free(stat);
    return res;
}

static ImgstatResult find_ranks(TransferInput *survey, uint16_t m, FurtherReads reader,
                                ImgstatError *err)
{
    MapSource *const source = &survey->sources[m];
    const uint16_t channel = source_channel(survey, m);
    const ImgstatSample sample = survey->shape.sample;
    if (source->n == 0)
        return IMGSTAT_OK;
    RankBuilder builder;
    IMGSTAT_TRY(rank_builder_init(reader.cache, &builder, source->n, err));
    ImgstatResult res = quantiles_build(
        sample, channel, survey->record->bins + channel * sample_record_bins(sample),
        survey->memory / (2 * sizeof(uint64_t)), reader, &builder, err);
    if (res == IMGSTAT_OK && !(survey->ranks[m] = rank_builder_finish(&builder, err)))
        res = IMGSTAT_ERR_MEMORY;
    rank_builder_release(&builder);
    source->ranks = survey->ranks[m];
    return res;
}

static void set_moments(TransferInput *survey, uint16_t m)
{
    ImgstatStats stats;
    char sum[48];
    statistics_fill(survey->record, source_channel(survey, m), 0, false, NULL, &stats, sum);
    MapSource *const source = &survey->sources[m];
    source->mean = stats.mean;
    source->stddev = stats.stddev;
    if (source->n > 0 && sample_exceeds_double(survey->record->sample))
        source->mean =
            statistics_origin(survey->record, source_channel(survey, m), &source->origin);
}

ImgstatResult transfer_input_finish(TransferInput *survey, FurtherReads reader, ImgstatError *err)
{
    const ImgstatSample sample = survey->shape.sample;
    const bool narrow = sample_is_narrow(sample);
    const size_t n = survey->n_sources, bins = narrow ? sample_record_bins(sample) : 0;
    survey->sources = calloc(n, sizeof *survey->sources);
    survey->cdf = buffer_cache_acquire(reader.cache, n * bins * sizeof *survey->cdf);
    survey->ranks = calloc(n, sizeof *survey->ranks);
    if (!survey->sources || !survey->cdf || !survey->ranks)
        return error_memory(err, n * bins * sizeof *survey->cdf, "a transfer");
    for (uint16_t m = 0; m < survey->n_sources; m++) {
        const Tally *const tally = &survey->record->tally[source_channel(survey, m)];
        survey->sources[m] =
            narrow
                ? map_source_counts(survey->record, source_channel(survey, m),
                                    survey->cdf + m * bins)
                : (MapSource){.n = tally->n, .min_key = tally->min_key, .max_key = tally->max_key};
        if (survey->method->transform == IMGSTAT_MEANSTD)
            set_moments(survey, m);
    }
    if (!transfer_input_reads_again(survey->method, sample))
        return IMGSTAT_OK;
    if (survey->method->transform == IMGSTAT_PERCENTILE)
        return find_clips(survey, reader, err);
    for (uint16_t m = 0; m < survey->n_sources; m++)
        IMGSTAT_TRY(find_ranks(survey, m, reader, err));
    return IMGSTAT_OK;
}

/* ---- Making ---------------------------------------------------------------------------------- */

ImgstatResult transfer_input_create(const ImgstatMethod *method, const TransferShape *shape,
                                    size_t memory, TransferInput **out, ImgstatError *err)
{
    enum { COUNTER_BYTES = 1 << 30, LEAST = 1 << 20 };
    *out = NULL;
    IMGSTAT_TRY(transfer_check(method, shape, err));
    const ImgstatChannels mode = transfer_channels(method, shape);
    const size_t bytes = record_bytes(shape->sample, mode == IMGSTAT_LUMA ? 1 : shape->channels,
                                      parts_of(method, shape->sample));
    if (bytes > COUNTER_BYTES)
        return error_set(err, IMGSTAT_ERR_LIMIT,
                         "%u channels of %s samples need %zu bytes of counters, more than %d",
                         shape->channels, imgstat_sample_name(shape->sample), bytes, COUNTER_BYTES);
    TransferInput *const survey = calloc(1, sizeof *survey);
    if (!survey)
        return error_memory(err, sizeof *survey, "statistics");
    survey->method = method;
    survey->shape = *shape;
    survey->channels = mode;
    survey->n_sources = transfer_maps(method, shape);
    survey->memory = memory > LEAST ? memory : LEAST;
    *out = survey;
    return IMGSTAT_OK;
}

void transfer_input_destroy(TransferInput *survey)
{
    if (!survey)
        return;
    for (uint16_t m = 0; survey->ranks && m < survey->n_sources; m++)
        rank_table_destroy(survey->ranks[m]);
    free(survey->ranks);
    buffer_cache_release(survey->cdf);
    free(survey->sources);
    record_destroy(survey->record);
    free(survey);
}

static ImgstatResult misfit(const char *name, const char *what, ImgstatError *err)
{
    return error_set(err, IMGSTAT_ERR_ARG,
                     "%s: has other %s than the first image; together they must be equal", name,
                     what);
}

ImgstatResult transfer_input_check(const TransferInput *survey, const TransferShape *shape,
                                   const char *name, ImgstatError *err)
{
    const TransferShape *const first = &survey->shape;
    if (shape->sample != first->sample)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "%s: has %s samples, the first image %s; together they must be equal",
                         name, imgstat_sample_name(shape->sample),
                         imgstat_sample_name(first->sample));
    if (shape->bits != first->bits)
        return misfit(name, "significant bits", err);
    if (shape->has_nodata != first->has_nodata ||
        (shape->has_nodata && shape->nodata_key != first->nodata_key))
        return misfit(name, "nodata values", err);
    const bool luma = transfer_channels(survey->method, shape) == IMGSTAT_LUMA;
    if (luma != (survey->channels == IMGSTAT_LUMA) ||
        transfer_maps(survey->method, shape) != survey->n_sources ||
        (survey->n_sources > 1 &&
         (shape->channels != first->channels || shape->alpha != first->alpha)))
        return misfit(name, "channels", err);
    return IMGSTAT_OK;
}

typedef struct OneImage {
    const TransferInput *survey;
    Bands *bands;
    const TransferShape *shape;
} OneImage;

static ImgstatResult read_one(void *context, const ReadRequest *pass, ImgstatError *err)
{
    const OneImage *const one = context;
    return transfer_input_pass(one->survey, one->bands, one->shape, pass, err);
}

ImgstatResult transfer_input_image(const ImgstatMethod *method, Bands *bands,
                                   const TransferShape *shape, size_t memory, TransferInput **out,
                                   ImgstatError *err)
{
    *out = NULL;
    TransferInput *survey = NULL;
    Record *record = NULL;
    IMGSTAT_TRY(transfer_input_create(method, shape, memory, &survey, err));
    ImgstatResult res = transfer_input_measure(survey, bands, shape, &record, err);
    if (res == IMGSTAT_OK)
        transfer_input_merge(survey, &record);
    OneImage one = {.survey = survey, .bands = bands, .shape = shape};
    const FurtherReads reader = {.read = read_one,
                                 .context = &one,
                                 .threads = bands->device->threads,
                                 .cache = bands->device->scratch,
                                 .sorter = bands->device};
    if (res == IMGSTAT_OK)
        res = transfer_input_finish(survey, reader, err);
    if (res != IMGSTAT_OK) {
        transfer_input_destroy(survey);
        survey = NULL;
    }
    *out = survey;
    return res;
}
