/* SPDX-License-Identifier: MIT */
/* page_memory.c: what is held at once while one page is transformed. */
#include "transform/file.h"

#include "codec/page_mask.h"
#include "codec/salvage.h"
#include "measure/page_reader.h"
#include "record/quantile_table.h"
#include "transform/clahe_page.h"
#include "transform/group_transfer.h"
#include "transform/level_maker.h"
#include "transform/page.h"

enum {
    FILE_BYTES = 9 << 20,    /* decoder, encoder, their libraries, a band of the output */
    THREAD_BYTES = 5 << 20,  /* counters, a compressor, blocks of rows */
    TILE_COPIES = 6,         /* of a strip or tile that libtiff compresses */
    THREAD_TILES = 3,        /* a thread's: as in the file, as decoded, compressed anew */
    DIGIT_BYTES = 512 << 10, /* 65,536 counters of a percentile */
    KEY_BYTES = 16           /* a key and its place while it is sorted */
};

/* A reader of several threads decodes a band while another is used. */
static uint64_t bands(const Decoder *decoder)
{
    return decoder->options.threads == 1 ? 1 : 2;
}

static uint64_t bins_bytes(const TransferShape *shape)
{
    return record_bytes(shape->sample, shape->channels, RECORD_BINS);
}

/* What measuring a page holds, its threads aside. n: bands of the reader. */
static uint64_t measured_bytes(const Pipeline *pipeline, const PageToMeasure *page, uint64_t n)
{
    const ImgstatMethod *const method = pipeline->method;
    const TransferShape *const shape = &page->shape;
    const uint64_t band = n * page->band_bytes + page->held_bytes;
    if (pipeline->transfer)
        return band;
    const uint64_t records = 2 * bins_bytes(shape);
    if (method->transform == IMGSTAT_CLAHE)
        return band + records + clahe_page_bytes(method, shape, page->width, page->height) +
               level_maker_bytes(page->width, shape->channels);
    if (!transfer_input_reads_again(method, shape->sample))
        return band + records;
    if (method->transform == IMGSTAT_PERCENTILE)
        return band + records + 2 * (uint64_t)shape->channels * DIGIT_BYTES;
    const uint64_t keys = KEY_BYTES * (uint64_t)page->width * page->height * shape->channels;
    const uint64_t most = 2 * (uint64_t)sort_bytes(pipeline->memory);
    return band + records + (keys < most ? keys : most);
}

/* What images are matched to: counts or ranks. */
static uint64_t matched_bytes(const TransferShape *shape)
{
    return sample_is_narrow(shape->sample) ? bins_bytes(shape)
                                           : shape->channels * (RANK_STEPS + 1) * sizeof(RankKnot);
}

/* The output has the input's tiles, and its strips unless they are larger than a strip may be. */
static uint64_t compressed_bytes(const Pipeline *pipeline, const Decoder *decoder)
{
    const uint64_t most = strip_bytes(pipeline->memory);
    const uint64_t tile =
        decoder->caps.tiled || decoder->caps.tile_bytes < most ? decoder->caps.tile_bytes : most;
    return TILE_COPIES * tile + (decoder->options.threads - 1) * THREAD_TILES * tile;
}

PageMemory page_memory(const Pipeline *pipeline, const Decoder *decoder)
{
    const uint64_t least = page_reader_band_bytes(decoder),
                   whole = page_reader_whole_bytes(decoder);
    const PageToMeasure page = page_to_measure(decoder), *reference = NULL;
    if (!pipeline->transfer && pipeline->method->transform == IMGSTAT_MATCH && pipeline->reference)
        reference = reference_page(pipeline->reference, decoder->options.threads);
    if (least > UINT64_MAX / 16 || (reference && reference->band_bytes > UINT64_MAX / 16))
        return (PageMemory){.bytes = UINT64_MAX / 2};
    const uint64_t n = bands(decoder), own = measured_bytes(pipeline, &page, n),
                   other = reference ? measured_bytes(pipeline, reference, n) : 0;
    const uint64_t bytes = FILE_BYTES + decoder->options.threads * (uint64_t)THREAD_BYTES +
                           (own > other ? own : other) + /* one after the other */
                           (reference ? matched_bytes(&reference->shape) : 0) +
                           compressed_bytes(pipeline, decoder) + page_mask_bytes(decoder) +
                           salvage_bytes(decoder);
    const bool reads_once = pipeline->transfer || !transfer_measures(pipeline->method);
    const uint64_t kept = whole > n * least ? whole - n * least : 0; /* beside its bands */
    const bool keep = !reads_once && whole <= kept_page_bytes(pipeline->memory) &&
                      bytes + kept <= pipeline->memory;
    return (PageMemory){.bytes = bytes + (keep ? kept : 0), .keep = keep};
}
