/* SPDX-License-Identifier: MIT */
/* memory_estimate.c: the memory that files are given, and what transforming one takes of it. */
#include "transform/clahe_page.h"
#include "transform/file.h"

enum {
    MOST_SAMPLE = 8,
    KEEP_SHARE = 4,
    SORT_SHARE = 8,
    COUNTER_SHARE = 16,
    STRIP_SHARE = 16 /* a strip that libtiff compresses is in memory six times */
};

void pipeline_set_memory(Pipeline *pipeline, uint64_t memory)
{
    pipeline->for_files = memory - pipeline->other_bytes;
    pipeline->keep_bytes = memory / KEEP_SHARE;
    pipeline->sort_bytes = (size_t)(memory / SORT_SHARE);
    pipeline->strip_bytes = (size_t)(memory / STRIP_SHARE);
    pipeline->counter_bytes = (size_t)(memory / COUNTER_SHARE);
}

static bool reads_once(const Pipeline *pipeline)
{
    return pipeline->transfer || pipeline->method->transform == IMGSTAT_GAMMA;
}

/* What order statistics of wide samples take: counters, or keys and room to sort them. */
static uint64_t order_bytes(const Pipeline *pipeline, const TransferShape *shape,
                            const ImgstatPage *page)
{
    enum { DIGIT_BYTES = 65536 * sizeof(uint64_t), KEY_BYTES = 2 * sizeof(uint64_t), CLIPS = 2 };
    const ImgstatMethod *const method = pipeline->method;
    if (pipeline->transfer || !transfer_input_reads_again(method, shape->sample))
        return 0;
    const uint64_t maps = transfer_maps(method, shape);
    if (method->transform == IMGSTAT_PERCENTILE)
        return maps * CLIPS * DIGIT_BYTES + pipeline->counter_bytes;
    const bool flat = maps == 1 && transfer_channels(method, shape) != IMGSTAT_LUMA;
    const uint64_t pixels = (uint64_t)page->width * page->height;
    const uint64_t each = KEY_BYTES * (uint64_t)(flat ? page->channels : 1);
    return pixels < pipeline->sort_bytes / each
               ? pixels * each
               : 2 * pipeline->sort_bytes + pipeline->counter_bytes;
}

/* Counters of a page of that kind, and what its order statistics take. */
static uint64_t counting_bytes(const Pipeline *pipeline, const TransferShape *shape,
                               const ImgstatPage *page)
{
    if (pipeline->transfer)
        return 0;
    return 2 * (uint64_t)record_bytes(shape->sample, shape->channels, RECORD_BINS) +
           order_bytes(pipeline, shape, page);
}

/* Of so many bytes of pixels, what is made of them at once where one channel of all is measured:
 * their luma, or all without alpha. */
static uint64_t view_bytes(const Pipeline *pipeline, const TransferShape *shape, uint64_t pixels)
{
    const ImgstatMethod *const method = pipeline->method;
    if (pipeline->transfer || shape->channels == 1)
        return 0;
    const ImgstatChannels channels = transfer_channels(method, shape);
    const uint64_t n = pixels < IMAGE_PIECE_BYTES ? pixels : IMAGE_PIECE_BYTES;
    const uint64_t masks = n / imgstat_sample_bytes(shape->sample);
    if (channels == IMGSTAT_LUMA)
        return (n + masks) / shape->channels;
    const bool copied = channels == IMGSTAT_JOINT && shape->alpha >= 0;
    return copied && transfer_input_reads_again(method, shape->sample) ? n + masks : 0;
}

/* Whoever comes first reads the reference beside the page at hand, with as many threads. */
static uint64_t reference_bytes(const Pipeline *pipeline, unsigned threads)
{
    const bool matches = !pipeline->transfer && pipeline->method->transform == IMGSTAT_MATCH;
    if (!matches || !pipeline->reference)
        return 0;
    Decoder *const decoder = reference_decoder(pipeline->reference);
    const TransferShape shape = shape_of_page(decoder);
    return counting_bytes(pipeline, &shape, &decoder->page) + 2 * (uint64_t)bands_least(decoder) +
           view_bytes(pipeline, &shape, bands_least(decoder)) + threads * decoder->held_bytes;
}

PipelineBytes pipeline_bytes(const Pipeline *pipeline, const TransformWorker *worker,
                             Decoder *decoder, const EncodeFormat *format)
{
    const TransferShape shape = shape_of_page(decoder);
    const EncodeOptions how = pipeline_how(pipeline, worker, decoder->threads);
    uint8_t bits;
    const ImgstatSample sample = pipeline->transfer
                                     ? imgstat_transfer_output(pipeline->transfer, &bits)
                                     : transfer_output(pipeline->method, &shape, &bits);
    const uint64_t band = bands_least(decoder), whole = bands_whole(decoder);
    const DeviceOps *const device = worker->device->ops;
    uint64_t bytes = PIPELINE_CODEC_BYTES + counting_bytes(pipeline, &shape, &decoder->page) +
                     reference_bytes(pipeline, decoder->threads) +
                     decoder->threads * device->thread_bytes(shape.sample, shape.channels);
    if (!pipeline->transfer && pipeline->method->transform == IMGSTAT_CLAHE)
        bytes +=
            clahe_page_bytes(pipeline->method, &shape, decoder->page.width, decoder->page.height);
    if (band > UINT64_MAX / 16)
        return (PipelineBytes){.all = UINT64_MAX / 2};
    bytes += view_bytes(pipeline, &shape, whole <= pipeline->keep_bytes ? whole : band);
    const uint64_t row = decoder->page.width * (uint64_t)decoder_channels(decoder) * MOST_SAMPLE;
    bytes += (row > PIPELINE_OUT_BYTES ? row : PIPELINE_OUT_BYTES) + decoder->held_bytes +
             (format ? format->bytes(&how, decoder, sample) : 0);
    const bool keep = !reads_once(pipeline) && whole <= pipeline->keep_bytes &&
                      bytes + whole <= pipeline->for_files;
    if (keep)
        return (PipelineBytes){.kept = whole, .all = bytes + whole};
    return (PipelineBytes){.all = bytes + (decoder->threads > 1 ? 2 : 1) * band};
}
