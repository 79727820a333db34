/* SPDX-License-Identifier: MIT */
/* helper_plain_device.c: the processor does what a GPU does, piece after piece. */
#include "helper_plain_device.h"

#include "codec/deflate.h"
#include "codec/match_gain.h"
#include "codec/tile_lanes.h"
#include "png/filter.h"

#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void filter_image(const FilterImage *image)
{
    const size_t row_bytes = image->row_bytes;
    uint8_t *const above = calloc(2, row_bytes), *const row = above + row_bytes;
    for (uint32_t y = 0; y < image->height; y++) {
        const uint8_t *const from = (const uint8_t *)(uintptr_t)image->pixels + y * image->pitch;
        uint8_t *const to = (uint8_t *)(uintptr_t)image->to +
                            y / image->piece_rows * image->piece_pitch +
                            y % image->piece_rows * (1 + row_bytes);
        for (size_t i = 0; i < row_bytes; i++)
            row[i] = from[image->swap ? i ^ 1 : i];
        png_filter_row(png_filters(), row, above, row_bytes, image->pixel_bytes,
                       (PngChoice)image->choice, to);
        memcpy(above, row, row_bytes);
    }
    free(above);
}

static void predict_image(const TiledImage *image)
{
    const TiledPage *const page = &image->page;
    for (uint32_t t = 0; t < page->n_tiles; t++) {
        const TilePlace place = tile_place(page, t);
        uint8_t *const to = (uint8_t *)(uintptr_t)image->to + t * image->tile_pitch;
        for (uint32_t y = 0; y < page->tile_height; y++)
            tile_predict_row(page, &place, y, (const uint8_t *)(uintptr_t)page->pixels,
                             to + (size_t)y * page->row_bytes);
    }
}

static void make_pieces(const DeviceEncode *call)
{
    DeflateCoder *const coder = deflate_coder_create();
    const DeflatePiece *const pieces =
        (const DeflatePiece *)(const void *)((const uint8_t *)call->lists + call->pieces_at);
    DeflatedPiece *const results = call->results;
    MatchGain *const gain = malloc(sizeof *gain);
    for (size_t i = 0; i < call->n_images; i++)
        if (call->tiled)
            predict_image((const TiledImage *)call->lists + i);
        else
            filter_image((const FilterImage *)call->lists + i);
    uint32_t block = 0;
    for (size_t i = 0; i < call->n_pieces; i++) {
        const uint8_t *const from = (const uint8_t *)(uintptr_t)pieces[i].from;
        const size_t n = pieces[i].n;
        require(pieces[i].first_block == block);
        require(pieces[i].from % 16 == 0 && pieces[i].to % 4 == 0);
        block += (uint32_t)deflate_pieces_blocks(n, deflate_pieces_block(call->coding));
        const bool fast = call->coding == DEFLATE_RUNS_FAST;
        const DeflateCoding coding = !match_gain_pays(gain, coder, from, n, fast) ? call->coding
                                     : fast ? DEFLATE_SEARCH_FAST
                                            : DEFLATE_SEARCH;
        uint8_t *const room = malloc(deflate_coder_bound(n)); /* a GPU tries nothing in vain */
        results[i].bytes = deflate_coder_write(coder, coding, from, n, pieces[i].last, room);
        require(results[i].bytes <= deflate_pieces_bound(n));
        memcpy((uint8_t *)(uintptr_t)pieces[i].to, room, results[i].bytes);
        free(room);
        results[i].adler = deflate_adler(from, n);
    }
    require(block == call->n_blocks);
    free(gain);
    deflate_coder_destroy(coder);
}

ImgstatResult plain_encode(Device *device, void *stream, const DeviceEncode *call,
                           const DeviceCopies *copies, ImgstatError *err)
{
    if (call)
        make_pieces(call);
    return cpu_device_ops.encode_async(device, stream, call, copies, err);
}

DeviceOps plain_device_ops(void)
{
    DeviceOps ops = cpu_device_ops;
    ops.fetches = false;
    ops.encode_async = plain_encode;
    return ops;
}
